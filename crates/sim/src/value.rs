//! What the workload stores: every value names the write that made it and the one it replaced, and proves itself whole.
//!
//! ```text
//! 0 op u32   4 replaced op u32   8 sequence u32   12 op of the payload u32   16 payload bytes u16   18 zero u16   20 check u32   24 payload
//! ```
//! The payload follows from the op that made it (a patch leaves an older one's), except in the catalog, where it is the
//! table's trees.

use crate::random::{Random, mix};

/// Number of a write. 0: nothing was written yet.
pub type Op = u32;

/// Bytes before the payload.
pub const HEADER: usize = 24;

/// A place that holds a value: a key of a tree. In the catalog, a table's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// The tree.
    pub tree: u32,
    /// The key's number.
    pub key: u32,
}

/// A decoded value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The write.
    pub op: Op,
    /// The write that it replaced.
    pub replaced: Op,
    /// How many came before.
    pub sequence: u32,
    /// The write that made the payload.
    pub payload_op: Op,
    /// The payload.
    pub payload: Vec<u8>,
}

/// The payload of a row that `op` made.
pub fn filler(op: Op, length: usize) -> Vec<u8> {
    let mut random = Random::new(op.into());
    let words = (0..length.div_ceil(8)).flat_map(|_| random.number().to_le_bytes());
    words.take(length).collect()
}

impl Version {
    /// The bytes to store.
    pub fn encode(&self, register: Register) -> Vec<u8> {
        let mut bytes = self.header(register);
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The first bytes, which alone change when a value is patched.
    pub fn header(&self, register: Register) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        let words = [self.op, self.replaced, self.sequence, self.payload_op, self.payload.len() as u32];
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let check = check(&bytes, register);
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes
    }

    /// What bytes read back mean; what is wrong with them.
    pub fn decode(bytes: &[u8], register: Register) -> Result<Version, String> {
        if bytes.len() < HEADER {
            return Err(format!("{} bytes under {register:?}", bytes.len()));
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let payload = bytes[HEADER..].to_vec();
        let version = Version { op: word(0), replaced: word(4), sequence: word(8), payload_op: word(12), payload };
        if word(20) != check(&bytes[..20], register) || word(16) as usize != version.payload.len() {
            return Err(format!("bytes under {register:?} that nobody wrote"));
        }
        if register.tree != 1 && version.payload != filler(version.payload_op, version.payload.len()) {
            return Err(format!("a payload under {register:?} that is not write {}'s", version.payload_op));
        }
        Ok(version)
    }
}

fn check(bytes: &[u8], register: Register) -> u32 {
    let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole words")));
    words.fold(mix(u64::from(register.tree) << 32 | u64::from(register.key)), |hash, word| mix(hash ^ u64::from(word)))
        as u32
}

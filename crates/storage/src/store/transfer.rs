//! A copy on its way: what the process that has a database open sends to another one, which makes a file of it.
//!
//! ```text
//! "CAIRNCPY" version: u32 page_size: u32
//! then any number of       1 tree: u32                                    the entries behind it are of this tree
//!                          2 key: u32 value: u32, so many bytes of both
//! and at the end either    3 next_tree: u32 entries: u64
//! or                       4 length: u32, and why it ends, in words
//! ```
//!
//! What must hold: who receives has a whole copy or none. A copy without its end, or with another number of entries, is none:
//! the sender was closed or killed meanwhile.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::backup::{NewCopy, Target, send};
use super::handle::Store;
use crate::broken::{self, Broken};
use crate::env::Environment;
use crate::{Error, Options, Result, TreeId};

const MAGIC: [u8; 8] = *b"CAIRNCPY";
const VERSION: u32 = 1;

const TREE: u8 = 1;
const ENTRY: u8 = 2;
const END: u8 = 3;
const FAILURE: u8 = 4;

/// The longest explanation that is read.
const WORDS: u64 = 4096;

/// Sends a copy of the newest state. Where it can not be read to its end, the other side is told so.
pub(super) fn send_copy(store: &Store, to: &mut dyn Write) -> Result<()> {
    let mut sending = Sending { to, entries: 0 };
    let begun = sending.begin(store.page_size()).and_then(|()| check_name(store));
    let sent = begun.and_then(|()| send(store, &mut sending));
    if let Err(error) = &sent {
        let words = error.to_string();
        let length = (words.len() as u32).to_le_bytes();
        // It may be what failed.
        let _ = sending.write(&[&[FAILURE], &length, words.as_bytes()]);
    }
    sent.and(sending.to.flush().map_err(Error::io(SEND)))
}

/// Whoever asks for a copy asks by name: it may be another database's by now.
fn check_name(store: &Store) -> Result<()> {
    match store.has_its_name()? {
        true => Ok(()),
        false => {
            let why = "the process that answers has another database open, whose files were moved away from there";
            Err(Error::CannotOpen { path: store.path().to_path_buf(), error: Arc::new(io::Error::other(why)) })
        }
    }
}

const SEND: &str = "send a copy of the database";
const RECEIVE: &str = "receive a copy of the database";

struct Sending<'a> {
    to: &'a mut dyn Write,
    entries: u64,
}

impl Sending<'_> {
    fn write(&mut self, parts: &[&[u8]]) -> Result<()> {
        parts.iter().try_for_each(|part| self.to.write_all(part)).map_err(Error::io(SEND))
    }

    fn begin(&mut self, page_size: usize) -> Result<()> {
        self.write(&[&MAGIC, &VERSION.to_le_bytes(), &(page_size as u32).to_le_bytes()])
    }
}

impl Target for Sending<'_> {
    fn tree(&mut self, tree: TreeId) -> Result<()> {
        self.write(&[&[TREE], &tree.0.to_le_bytes()])
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.entries += 1;
        let lengths = [sent_length(key.len())?, sent_length(value.len())?];
        self.write(&[&[ENTRY], &lengths[0], &lengths[1], key, value])
    }

    fn end(&mut self, next_tree: u32) -> Result<()> {
        let entries = self.entries.to_le_bytes();
        self.write(&[&[END], &next_tree.to_le_bytes(), &entries])
    }
}

/// The stream has four bytes for a length: nothing longer is sent as something shorter.
fn sent_length(bytes: usize) -> Result<[u8; 4]> {
    let length = u32::try_from(bytes).map_err(|_| {
        Error::io(SEND)(io::Error::other(format!(
            "it has a value of {bytes} bytes, and a copy's may have {} at most",
            u32::MAX
        )))
    });
    length.map(u32::to_le_bytes)
}

/// Makes a new database file of what [`send_copy`] sent. The file has its name once it is whole.
pub(super) fn receive_copy(from: &mut dyn Read, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let mut from = Receiving { from, key_max: 0, value_max: 0 };
    let page_size = from.begin()?;
    let (env, options) = (Environment::real(), Options { page_size, ..Options::default() });
    (from.key_max, from.value_max) = (page_size as u64, options.log_limit_bytes);
    let mut copy = NewCopy::begin(&env, path, options, progress)?;
    from.all(&mut copy)?;
    copy.finish()
}

struct Receiving<'a> {
    from: &'a mut dyn Read,
    /// Bytes that a key, and a value, may have: more is not read.
    key_max: u64,
    value_max: u64,
}

impl Receiving<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(ended)?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// So many bytes, for which no room is made before they come.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: u32, most: u64, too_long: fn(u64, u64) -> Error) -> Result<()> {
        bytes.clear();
        let length = u64::from(length);
        if length > most {
            return Err(too_long(length, most));
        }
        self.from.take(length).read_to_end(bytes).map_err(ended)?;
        if bytes.len() as u64 == length { Ok(()) } else { Err(ended(io::ErrorKind::UnexpectedEof.into())) }
    }

    /// The page size.
    fn begin(&mut self) -> Result<usize> {
        let (magic, version) = (self.bytes::<8>()?, self.number()?);
        if magic != MAGIC || version != VERSION {
            let why = "the process that has it open speaks of it otherwise: it has another version of CairnDB";
            return Err(Error::io(RECEIVE)(io::Error::other(why)));
        }
        Ok(self.number()? as usize)
    }

    fn all(&mut self, copy: &mut dyn Target) -> Result<()> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut entries = 0;
        loop {
            match self.bytes::<1>()? {
                [TREE] => copy.tree(self.tree()?)?,
                [ENTRY] => {
                    let lengths = (self.number()?, self.number()?);
                    self.fill(&mut key, lengths.0, self.key_max, no_key)?;
                    self.fill(&mut value, lengths.1, self.value_max, too_large)?;
                    copy.entry(&key, &value)?;
                    entries += 1;
                }
                [END] => {
                    let next_tree = self.next_tree()?;
                    let sent = u64::from_le_bytes(self.bytes()?);
                    return match sent == entries {
                        true => copy.end(next_tree),
                        false => Err(Error::corrupt(format!("{entries} entries of {sent} came with a copy"))),
                    };
                }
                [FAILURE] => return Err(self.failure()?),
                [other] => return Err(Error::corrupt(format!("a copy has a part of the unknown kind {other}"))),
            }
        }
    }

    fn tree(&mut self) -> Result<TreeId> {
        let tree = TreeId(self.number()?);
        match tree.is_possible() {
            true => Ok(tree),
            false => Err(Error::corrupt(format!("a copy has a tree of the number {}", tree.0))),
        }
    }

    fn next_tree(&mut self) -> Result<u32> {
        let next = self.number()?;
        match next <= TreeId::NUMBERS || broken::is(Broken::TreesUnchecked) {
            true => Ok(next),
            false => Err(Error::corrupt(format!("a copy says that the next tree is {next}"))),
        }
    }

    fn failure(&mut self) -> Result<Error> {
        let length = u64::from(self.number()?).min(WORDS);
        let mut words = Vec::new();
        self.from.take(length).read_to_end(&mut words).map_err(ended)?;
        Ok(Error::io(RECEIVE)(io::Error::other(String::from_utf8_lossy(&words).into_owned())))
    }
}

/// No database has such a key.
fn no_key(bytes: u64, most: u64) -> Error {
    Error::corrupt(format!("a copy has a key of {bytes} bytes, where {most} are the most"))
}

/// One that has a larger log may well have it.
fn too_large(bytes: u64, most: u64) -> Error {
    Error::io(RECEIVE)(io::Error::other(format!(
        "it has a value of {bytes} bytes, and one that comes from another process may have {most} at most; have the process \
         that has it open make the copy itself"
    )))
}

fn ended(error: io::Error) -> Error {
    let is_end = matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset);
    let error = match is_end {
        true => io::Error::other("the process that has it open stopped sending: it closed the database, or ended"),
        false => error,
    };
    Error::io(RECEIVE)(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::TempDir;

    fn filled() -> Store {
        let store = Store::open_in_memory(Options { page_size: 1024, ..Options::default() }).unwrap();
        let transaction = store.begin().unwrap();
        let other = transaction.create_tree().unwrap();
        for number in 0..20_000_u32 {
            transaction.put(TreeId::CATALOG, &number.to_be_bytes(), &[7; 50]).unwrap();
        }
        transaction.put(other, b"long", &vec![9; 100_000]).unwrap();
        transaction.commit(None).unwrap();
        store
    }

    fn sent(store: &Store) -> Vec<u8> {
        let mut bytes = Vec::new();
        store.send_copy(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_sent_is_the_same_database() {
        let (dir, store) = (TempDir::new(), filled());
        let path = dir.path().join("copy");
        let mut told = 0;
        Store::receive_copy(&mut sent(&store).as_slice(), &path, &mut |bytes| told = bytes).unwrap();
        assert!(told > 20_000 * 54 + 100_000, "{told}");
        let copy = Store::open(&path, Options::default()).unwrap();
        assert_eq!(copy.page_size(), 1024);
        assert!(sent(&copy) == sent(&store), "trees, entries and the next tree");
        copy.verify().unwrap();
    }

    #[test]
    fn a_copy_that_was_cut_off_anywhere_or_changed_is_none() {
        let dir = TempDir::new();
        let path = dir.path().join("copy");
        let bytes = sent(&filled());
        let mut wrong_count = bytes.clone();
        *wrong_count.last_mut().unwrap() ^= 1;
        let mut other_version = bytes.clone();
        other_version[8] += 1;
        let cut = [0, 5, 16, 17, 40, 1000, bytes.len() / 2, bytes.len() - 1].map(|at| bytes[..at].to_vec());
        for bytes in cut.into_iter().chain([wrong_count, other_version, b"not a copy at all".to_vec()]) {
            let error = Store::receive_copy(&mut bytes.as_slice(), &path, &mut |_| {}).unwrap_err();
            assert!(matches!(error.sqlstate(), "58030" | "XX001"), "{error}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{error}");
        }
    }

    /// Nothing is read of it, and no memory taken.
    #[test]
    fn lengths_that_no_copy_has_are_refused() {
        let dir = TempDir::new();
        let head = sent(&filled())[..16].to_vec();
        for (key, value) in [(1025, 1), (u32::MAX, 1), (4, (1 << 30) + 1), (4, u32::MAX)] {
            let entry =
                [&[TREE][..], &1_u32.to_le_bytes(), &[ENTRY], &key.to_le_bytes(), &value.to_le_bytes(), b"keys"];
            let endless = [&head[..], &entry.concat()].concat();
            let mut from = endless.as_slice().chain(io::repeat(7));
            let error = Store::receive_copy(&mut from, dir.path().join("copy"), &mut |_| {}).unwrap_err();
            match key > 1024 {
                true => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
                // It may well have one: that it is too large is told, and of what size.
                false => {
                    let (is, most) = (format!("a value of {value} bytes"), format!("{} at most", 1 << 30));
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                    assert!(error.to_string().contains(&is) && error.to_string().contains(&most), "{error}");
                }
            }
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{error}");
        }
        assert_eq!(sent_length(u32::MAX as usize).unwrap(), [255; 4]);
        assert!(sent_length(1 << 32).unwrap_err().to_string().contains("4294967296 bytes"));
    }

    #[test]
    fn what_the_sender_can_not_read_is_told() {
        let dir = TempDir::new();
        let mut bytes = sent(&filled())[..16].to_vec();
        bytes.extend([&[FAILURE][..], &4_u32.to_le_bytes(), b"ouch"].concat());
        let error = Store::receive_copy(&mut bytes.as_slice(), dir.path().join("copy"), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "could not receive a copy of the database: ouch");
    }
}

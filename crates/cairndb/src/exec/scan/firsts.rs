//! Of entries that begin with the same parts, the first one.

use super::key_range::KeyPart;
use crate::Result;

/// So many entries that begin as the last one did are gone through before the next beginning is looked for.
const ALIKE_MAX: usize = 128;

/// What entries begin with: see the module.
pub(crate) struct Firsts {
    parts: Box<[KeyPart]>,
    /// What the last entry began with; empty: there was none. (No encoded value is empty.)
    last: Vec<u8>,
    /// How many entries in a row began so.
    alike: usize,
}

impl Firsts {
    /// By the first `count` of the parts.
    pub(crate) fn new(parts: &[KeyPart], count: usize) -> Firsts {
        Firsts { parts: parts[..count.min(parts.len())].into(), last: Vec::new(), alike: 0 }
    }

    /// How much of what the last entry began with is in what the next ones have in common; `None`: they begin otherwise.
    pub(crate) fn shared(&self, common: &[u8]) -> Option<usize> {
        let shared = common.len().min(self.last.len());
        (!self.last.is_empty() && common.starts_with(&self.last[..shared])).then_some(shared)
    }

    /// Whether an entry begins as the last one did, of whose beginning so much is known to be the same. (Encoded values end by
    /// themselves: what begins with the bytes of some begins with those values.)
    #[inline]
    pub(crate) fn is_alike(&mut self, shared: usize, rest: &[u8]) -> bool {
        let is_alike = self.last.get(shared..).is_some_and(|behind| rest.starts_with(behind));
        self.alike += usize::from(is_alike);
        is_alike
    }

    /// Notes an entry that begins otherwise than the one before; how much of it is its beginning.
    #[inline]
    pub(crate) fn begin(&mut self, key: &[u8]) -> Result<usize> {
        let mut rest = key;
        self.parts.iter().try_for_each(|part| part.skip(&mut rest))?;
        self.last.clear();
        self.last.extend_from_slice(&key[..key.len() - rest.len()]);
        self.alike = 0;
        Ok(self.last.len())
    }

    /// What is to be passed at once, if so many entries began with it that there may be many more.
    pub(crate) fn passed(&mut self) -> Option<&[u8]> {
        if self.alike < ALIKE_MAX {
            return None;
        }
        self.alike = 0;
        Some(&self.last)
    }

    pub(crate) fn start_over(&mut self) {
        self.last.clear();
        self.alike = 0;
    }
}

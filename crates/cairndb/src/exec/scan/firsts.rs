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

    /// What of an entry's key has to follow, behind a beginning that it has in common with others, where it begins as the one
    /// before; `None`: it begins otherwise. (Encoded values end by themselves: what begins with the bytes of some begins with
    /// those values.)
    pub(crate) fn behind(&self, common: &[u8]) -> Option<&[u8]> {
        let (shared, rest) = self.last.split_at(common.len().min(self.last.len()));
        (!self.last.is_empty() && common.starts_with(shared)).then_some(rest)
    }

    /// So many more entries began as the one before.
    pub(crate) fn add_alike(&mut self, count: usize) {
        self.alike += count;
    }

    /// Whether the entry begins otherwise than the one before.
    pub(crate) fn is_first(&mut self, key: &[u8]) -> Result<bool> {
        if !self.last.is_empty() && key.starts_with(&self.last) {
            self.alike += 1;
            return Ok(false);
        }
        let mut rest = key;
        self.parts.iter().try_for_each(|part| part.skip(&mut rest))?;
        self.last.clear();
        self.last.extend_from_slice(&key[..key.len() - rest.len()]);
        self.alike = 0;
        Ok(true)
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

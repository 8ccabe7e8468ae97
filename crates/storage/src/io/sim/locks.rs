//! Locks of the simulated machine, made as the real ones are: one that has a name, as a lock file has, and may lose it, and
//! one of the database file itself, whatever its names are.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::broken::{self, Broken};

/// A lock that is held.
#[derive(Debug)]
pub(super) struct Held {
    number: u64,
    /// What it was called when it was taken.
    name: Option<Arc<Path>>,
    file: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Locks {
    names: HashMap<Arc<Path>, u64>,
    files: HashSet<u64>,
    numbers: u64,
}

impl Locks {
    /// `None`: somebody has the name's or the file's.
    pub(super) fn take(&mut self, path: &Path, file: Option<u64>) -> Option<Held> {
        if self.names.contains_key(path) || file.is_some_and(|file| self.files.contains(&file)) {
            return None;
        }
        self.numbers += 1;
        let name: Arc<Path> = path.into();
        self.names.insert(name.clone(), self.numbers);
        self.files.extend(file);
        Some(Held { number: self.numbers, name: Some(name), file })
    }

    /// As `take`, of the file alone.
    pub(super) fn take_file(&mut self, file: u64) -> Option<Held> {
        self.files.insert(file).then_some(Held { number: 0, name: None, file: Some(file) })
    }

    /// Ends it, wherever the name is by now.
    pub(super) fn give_back(&mut self, held: &Held) {
        match &held.name {
            Some(name) if broken::is(Broken::LockRemovedByName) => drop(self.names.remove(name)),
            _ => self.names.retain(|_, number| *number != held.number),
        }
        if let Some(file) = held.file {
            self.files.remove(&file);
        }
    }

    /// Whether somebody has the lock of this name.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.names.contains_key(path)
    }

    /// Somebody removes what marks the lock, or moves it.
    pub(super) fn rename(&mut self, from: &Path, to: Option<&Path>) {
        if let (Some(number), Some(to)) = (self.names.remove(from), to) {
            self.names.insert(to.into(), number);
        }
    }
}

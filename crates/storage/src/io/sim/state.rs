//! The simulated disk as a function of its operations: the same for the living machine and for a replay.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::crash::{Chooser, CrashStrategy, DiskImage};
use super::file::SimContent;

/// A file, apart from its names. `path` is the name it was opened by, for messages.
#[derive(Clone, Debug)]
pub(super) struct FileRef {
    pub(super) id: u64,
    pub(super) path: Arc<Path>,
}

/// An operation that changes something, and whether it failed; the seed then decides what became of it.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Name(NameChange),
    SyncDirectory { directory: Arc<Path>, failed: Option<u64> },
    Write { file: FileRef, offset: u64, bytes: Arc<[u8]> },
    WriteDurable { file: FileRef, offset: u64, bytes: Arc<[u8]>, failed: Option<u64> },
    SetLen { file: FileRef, len: u64 },
    GiveBack { file: FileRef, offset: u64, length: u64 },
    Sync { file: FileRef, failed: Option<u64> },
}

#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Create { path: Arc<Path>, id: u64 },
    Remove { path: Arc<Path> },
    Rename { from: Arc<Path>, to: Arc<Path> },
}

type Names = BTreeMap<Arc<Path>, u64>;

impl NameChange {
    /// A removal or rename whose file is not there (its creation was lost) does nothing.
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Create { path, id } => drop(names.insert(path.clone(), *id)),
            NameChange::Remove { path } => drop(names.remove(path)),
            NameChange::Rename { from, to } => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
        }
    }

    fn is_in(&self, directory: &Path) -> bool {
        let parent_is = |path: &Path| directory_of(path) == directory;
        match self {
            NameChange::Create { path, .. } | NameChange::Remove { path } => parent_is(path),
            NameChange::Rename { from, to } => parent_is(from) || parent_is(to),
        }
    }
}

pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[derive(Clone, Debug, Default)]
pub(super) struct DiskState {
    pub(super) files: BTreeMap<u64, SimContent>,
    pub(super) names: Names,
    durable_names: Names,
    pending_names: Vec<(u64, NameChange)>,
}

impl DiskState {
    pub(super) fn from_image(image: &DiskImage) -> DiskState {
        let mut state = DiskState::default();
        for (id, (path, content)) in image.files.iter().enumerate() {
            state.files.insert(id as u64, SimContent::at_rest(content.clone()));
            state.names.insert(path.clone(), id as u64);
        }
        state.durable_names = state.names.clone();
        state
    }

    /// An operation that returned.
    pub(super) fn apply(&mut self, number: u64, operation: &Operation) {
        match operation {
            Operation::Name(change) => self.change_name(number, change),
            Operation::SyncDirectory { directory, failed } => self.sync_directory(directory, *failed),
            Operation::Write { file, offset, bytes } => self.file(file).write(number, *offset, bytes),
            Operation::WriteDurable { file, offset, bytes, failed: None } => {
                self.file(file).write_durable(number, *offset, bytes);
            }
            Operation::WriteDurable { file, offset, bytes, failed: Some(seed) } => {
                self.file(file).fail_write_durable(number, *offset, bytes, *seed);
            }
            Operation::SetLen { file, len } => self.file(file).set_len(number, *len),
            Operation::GiveBack { file, offset, length } => self.file(file).give_back(number, *offset, *length),
            Operation::Sync { file, failed: None } => self.file(file).sync(),
            Operation::Sync { file, failed: Some(seed) } => self.file(file).fail_sync(file.id, *seed),
        }
    }

    /// An operation that a crash interrupts: whatever it was to make durable may be lost as well.
    pub(super) fn begin(&mut self, number: u64, operation: &Operation) {
        match operation {
            Operation::WriteDurable { file, offset, bytes, .. } => self.file(file).write(number, *offset, bytes),
            Operation::Sync { .. } | Operation::SyncDirectory { .. } => {}
            other => self.apply(number, other),
        }
    }

    /// What a crash now leaves.
    pub(super) fn crash(&self, strategy: CrashStrategy) -> DiskImage {
        let chooser = Chooser::new(strategy, || self.unsynced());
        let mut names = self.durable_names.clone();
        for (number, change) in &self.pending_names {
            if chooser.keeps(*number) {
                change.apply(&mut names);
            }
        }
        let content = |id: u64| self.files.get(&id).map(|file| file.after_crash(id, chooser)).unwrap_or_default();
        DiskImage { files: names.into_iter().map(|(path, id)| (path, content(id))).collect() }
    }

    /// The operations that a crash may undo, in order.
    pub(super) fn unsynced(&self) -> Vec<u64> {
        let names = self.pending_names.iter().map(|(number, _)| *number);
        let mut numbers: Vec<u64> = names.chain(self.files.values().flat_map(SimContent::unsynced)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    pub(super) fn file(&mut self, file: &FileRef) -> &mut SimContent {
        self.files.entry(file.id).or_default()
    }

    fn change_name(&mut self, number: u64, change: &NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push((number, change.clone()));
    }

    /// After a failed sync some of the changes are durable, and the others never will be.
    fn sync_directory(&mut self, directory: &Path, failed: Option<u64>) {
        let chooser = failed.map_or(Chooser::All, |seed| Chooser::Random { seed });
        let durable_names = &mut self.durable_names;
        self.pending_names.retain(|(number, change)| {
            let synced = change.is_in(directory);
            if synced && chooser.keeps(*number) {
                change.apply(durable_names);
            }
            !synced
        });
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = |failed: &Option<u64>| if failed.is_some() { " (failed)" } else { "" };
        match self {
            Operation::Name(NameChange::Create { path, .. }) => write!(f, "create {}", path.display()),
            Operation::Name(NameChange::Remove { path }) => write!(f, "remove {}", path.display()),
            Operation::Name(NameChange::Rename { from, to }) => {
                write!(f, "rename {} to {}", from.display(), to.display())
            }
            Operation::SyncDirectory { directory, failed: error } => {
                write!(f, "sync directory {:?}{}", directory, failed(error))
            }
            Operation::Write { file, offset, bytes } => {
                write!(f, "write {} bytes to {} at {offset}", bytes.len(), file.path.display())
            }
            Operation::WriteDurable { file, offset, bytes, failed: error } => {
                let (path, length) = (file.path.display(), bytes.len());
                write!(f, "write {length} bytes durably to {path} at {offset}{}", failed(error))
            }
            Operation::SetLen { file, len } => write!(f, "set length of {} to {len}", file.path.display()),
            Operation::GiveBack { file, offset, length } => {
                write!(f, "give back {length} bytes of {} at {offset}", file.path.display())
            }
            Operation::Sync { file, failed: error } => write!(f, "sync {}{}", file.path.display(), failed(error)),
        }
    }
}

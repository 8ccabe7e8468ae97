//! Making a new database: whole, durable and locked before it has its name.
//!
//! What must hold: nothing is overwritten or removed but what this module made, or the empty file that it was asked to make a
//! database of; whoever comes in between keeps his file, and the opening fails.

use std::path::Path;
use std::sync::Arc;

use super::open::write_new;
use crate::broken::{self, Broken};
use crate::engine::meta::{META_BYTES, Meta, MetaPage};
use crate::env::Environment;
use crate::io::{AlignedBuf, Create, File, FileSystem, LockGuard, LockOutcome, OpenHow};
use crate::log::log_path;
use crate::{Error, Options, Result};

/// Bytes of the largest page.
const LARGEST_PAGE: u64 = 1 << 15;

/// The file, if somebody made it, but not yet a database of it, as programs do that ask for the name of a temporary file.
/// An empty file with a log beside it was a database once.
pub(super) fn unused(path: &Path, files: &dyn FileSystem) -> Result<Option<Arc<dyn File>>> {
    if files.exists(&log_path(path)).map_err(Error::io("look for the log"))? {
        return Ok(None);
    }
    let how = OpenHow { create: Create::Never, read_only: true, direct: false };
    let file = files.open(path, how).map_err(cannot_open(path))?;
    Ok(is_empty(&*file)?.then_some(file))
}

fn is_empty(file: &dyn File) -> Result<bool> {
    file.is_empty().map_err(Error::io("read the file's length"))
}

pub(super) fn cannot_open(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |error| Error::CannotOpen { path, error: Arc::new(error) }
}

/// Of a file that another took the place of while it was opened or made.
pub(super) fn replaced(path: &Path) -> Error {
    let why = "it was moved, replaced or removed meanwhile; try again";
    cannot_open(path)(std::io::Error::other(why))
}

/// Makes an empty, cleanly closed database; it appears under its name only when it is whole, and locked. In the place of
/// `empty` or of nothing, not of what another puts there meanwhile.
pub(super) fn create(path: &Path, empty: Option<&dyn File>, options: &Options, env: &Environment) -> Result<LockGuard> {
    let mut unfinished = path.as_os_str().to_os_string();
    unfinished.push("-new");
    let unfinished = Path::new(&unfinished);
    let files = env.files.as_ref();
    remove_begun(unfinished, files)?;
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    let file = files.open(unfinished, how).map_err(cannot_open(path))?;
    let made = lock_made(unfinished, files).and_then(|lock| {
        write_new(&*file, options, env)?;
        give_name(&*file, unfinished, path, empty, files)?;
        Ok(lock)
    });
    if made.is_err() && file.has_name(unfinished).unwrap_or(false) {
        // What can not be removed now the next one removes.
        let _ = files.remove(unfinished);
    }
    made
}

/// Nobody else knows of the file yet, or another has it under this name by now.
fn lock_made(unfinished: &Path, files: &dyn FileSystem) -> Result<LockGuard> {
    if broken::is(Broken::FreshUnlocked) {
        return Ok(Box::new(()));
    }
    match files.lock_made(unfinished).map_err(Error::io("lock the new database"))? {
        LockOutcome::Held(guard) => Ok(guard),
        LockOutcome::Busy { pid } => Err(Error::Busy { path: unfinished.to_path_buf(), pid, is_read: false }),
    }
}

fn give_name(
    made: &dyn File,
    unfinished: &Path,
    path: &Path,
    empty: Option<&dyn File>,
    files: &dyn FileSystem,
) -> Result<()> {
    match empty {
        None => files.rename_new(unfinished, path).map_err(cannot_open(path))?,
        Some(empty) => {
            if !empty.has_name(path).map_err(cannot_open(path))? || !is_empty(empty)? {
                return Err(replaced(path));
            }
            files.take_place(unfinished, path).map_err(Error::io("name the new database"))?;
        }
    }
    files.sync_directory(path).map_err(|error| {
        // No later sync says that its name is durable.
        if made.has_name(path).unwrap_or(false) {
            let _ = files.remove(path);
        }
        Error::io("sync the new database's directory")(error)
    })
}

/// Removes what a crash left of an earlier creation: nobody has it locked. A database may have such a name, too.
fn remove_begun(unfinished: &Path, files: &dyn FileSystem) -> Result<()> {
    if !files.exists(unfinished).map_err(cannot_open(unfinished))? {
        return Ok(());
    }
    let _lock = (!broken::is(Broken::BegunTaken)).then(|| lock_made(unfinished, files)).transpose()?;
    let how = OpenHow { create: Create::Never, read_only: true, direct: false };
    let file = files.open(unfinished, how).map_err(cannot_open(unfinished))?;
    if !is_begun(&*file)? {
        let why = "a new database is made under this name first, and something else has it; give that another name";
        return Err(cannot_open(unfinished)(std::io::Error::new(std::io::ErrorKind::AlreadyExists, why)));
    }
    files.remove(unfinished).map_err(cannot_open(unfinished))?;
    // Or a crash could keep the renaming that follows, and not this: the old file would have the database's name.
    files.sync_directory(unfinished).map_err(Error::io("sync the new database's directory"))
}

/// Whether a file is what `write_new` makes, or as much of it as a crash left.
fn is_begun(file: &dyn File) -> Result<bool> {
    let length = file.len().map_err(Error::io("read the file's length"))?;
    if length > 2 * LARGEST_PAGE {
        return Ok(false);
    }
    let mut bytes = AlignedBuf::zeroed((length as usize).next_multiple_of(META_BYTES));
    file.read_at(&mut bytes[..length as usize], 0).map_err(Error::io("read what an earlier creation left"))?;
    let is_first = |meta: &[u8]| matches!(Meta::decode(meta), MetaPage::Whole(meta) if meta.sequence == 1);
    Ok(bytes.chunks(META_BYTES).all(|sector| sector.iter().all(|&byte| byte == 0) || is_first(sector)))
}

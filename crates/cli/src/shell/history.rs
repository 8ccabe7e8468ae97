//! The prompt's history: a file in the user's state folder that only the user can read.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;

use crate::report::warn;

/// The history file, created with its folder if need be; `None` where the user has no such place.
pub fn file() -> Option<PathBuf> {
    let folder = state_folder()?.join("cairn");
    let path = folder.join("history");
    match create(&folder, &path) {
        Ok(()) => Some(path),
        Err(error) => {
            warn(format_args!("WARNING:  no history: {}: {error}", path.display()));
            None
        }
    }
}

/// What an interactive shell runs first: `CAIRNRC`, or `.cairnrc` in the user's folder; none where there is none.
pub fn rc_file() -> Option<PathBuf> {
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let named = std::env::var_os("CAIRNRC").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os(home)?).join(".cairnrc"))).filter(|path| path.is_file())
}

fn state_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return variable("LOCALAPPDATA");
    }
    variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local").join("state")))
}

fn create(folder: &PathBuf, path: &PathBuf) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

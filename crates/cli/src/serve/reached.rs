//! How the server of a folder is reached: written down in the folder, for `cairn console`.
//!
//! - The file is its owner's alone (0600). It gets its name when all of it is written, and goes when the server ends.
//! - It is never believed alone. Whoever reads it is the user who owns the folder, which nobody else may write; the file is that user's own, and
//!   no link; and the process that it names is the one that has the folder's own database: the system's lock says that somebody has it, and the lock's file who.
//!   So what a server that was killed has left is not believed, nor what somebody else has put there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

/// What the file is called.
const NAME: &str = ".cairn-server";

/// How a server is reached.
#[derive(Debug, PartialEq, Eq)]
pub struct Reached {
    /// Its process.
    pub process: u32,
    /// Its Unix socket, by which who owns the folder comes in without a password.
    pub socket: Option<PathBuf>,
    /// Where it is reached over HTTP.
    pub http: Vec<SocketAddr>,
    pub is_tls: bool,
    /// It has a console there.
    pub has_console: bool,
}

/// The file of a server that runs, which goes with this.
pub struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        // What stays is not believed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Reached {
    /// Writes it down in the folder that is served.
    pub fn write(&self, folder: &Path) -> std::io::Result<Written> {
        let http: Vec<String> = self.http.iter().map(SocketAddr::to_string).collect();
        let said = json!({
            "process": self.process, "socket": self.socket, "http": http, "tls": self.is_tls, "console": self.has_console,
        });
        let (name, new) = (folder.join(NAME), folder.join(format!("{NAME}.new")));
        // (One that is there was begun by a server that was killed: this one has the folder's own database.)
        let _ = std::fs::remove_file(&new);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        std::io::Write::write_all(&mut options.open(&new)?, said.to_string().as_bytes())?;
        std::fs::rename(&new, &name)?;
        Ok(Written(name))
    }
}

#[cfg(not(unix))]
impl Reached {
    /// There are no Unix sockets here, over which who owns the folder would come in.
    pub fn read(_: &Path) -> Result<Option<Reached>, String> {
        Ok(None)
    }
}

#[cfg(unix)]
mod reading {
    use std::fs::{File, OpenOptions};
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};

    use cairndb::{Database, Options, SqlState};
    use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
    use nix::unistd::geteuid;
    use serde_json::Value;

    use super::{NAME, Reached};

    /// The most that such a file has.
    const BYTES_MAX: u64 = 16 << 10;

    impl Reached {
        /// The server that runs on a folder of this user's, if there is one; why what is there is not believed.
        pub fn read(folder: &Path) -> Result<Option<Reached>, String> {
            let me = geteuid().as_raw();
            let path = folder.join(NAME);
            if path.symlink_metadata().is_err() {
                return Ok(None);
            }
            let wrong = |why: &str| Err(format!("{}: {why}, so it is not believed", path.display()));
            match folder.metadata() {
                Ok(of) if of.uid() != me => return wrong("the folder is another user's"),
                Ok(of) if of.mode() & 0o022 != 0 => return wrong("others may write the folder"),
                Ok(_) => {}
                Err(error) => return Err(format!("{}: {error}", folder.display())),
            }
            // (No pipe is waited for.)
            let opened = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(&path);
            let Ok(file) = opened else { return wrong("it is a link, or can not be read") };
            match file.metadata() {
                Ok(of) if !of.is_file() || of.uid() != me || of.mode() & 0o077 != 0 => {
                    return wrong("it is not this user's alone");
                }
                Ok(_) => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
            let mut text = String::new();
            let is_read = file.take(BYTES_MAX).read_to_string(&mut text).is_ok();
            let Some(reached) = Reached::of(&text).filter(|_| is_read) else {
                return wrong("it says nothing that is known");
            };
            // One that was killed has left it.
            Ok((holder(&folder.join("cairn.cairn")) == Some(reached.process)).then_some(reached))
        }

        /// Of what the file says.
        fn of(text: &str) -> Option<Reached> {
            let said: Value = serde_json::from_str(text).ok()?;
            let address = |address: &Value| address.as_str()?.parse().ok();
            Some(Reached {
                process: said["process"].as_u64()?.try_into().ok()?,
                socket: said["socket"].as_str().map(PathBuf::from),
                http: said["http"].as_array()?.iter().map(address).collect::<Option<_>>()?,
                is_tls: said["tls"].as_bool()?,
                has_console: said["console"].as_bool()?,
            })
        }
    }

    /// The process that has a database open, as its lock says.
    fn holder(database: &Path) -> Option<u32> {
        match Database::open_with(database, Options::default().read_only(true)) {
            Err(error) if error.sqlstate() == SqlState::OBJECT_IN_USE => {}
            _ => return None,
        }
        let mut name = database.as_os_str().to_owned();
        name.push("-lock");
        let mut text = String::new();
        File::open(Path::new(&name)).ok()?.take(20).read_to_string(&mut text).ok()?;
        text.trim_end().parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::fs::{PermissionsExt, symlink};

        use super::*;

        fn reached(process: u32) -> Reached {
            let http = vec!["127.0.0.1:8080".parse().unwrap()];
            let socket = Some("/tmp/.s.PGSQL.5432".into());
            Reached { process, socket, http, is_tls: false, has_console: true }
        }

        fn set_mode(path: &Path, mode: u32) {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn a_server_is_believed_whose_process_has_the_folders_own_database() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            assert_eq!(Reached::read(path), Ok(None));
            let own = Database::open(path.join("cairn.cairn")).unwrap();
            let me = std::process::id();
            let written = reached(me).write(path).unwrap();
            assert_eq!(Reached::read(path), Ok(Some(reached(me))));
            assert_eq!(path.join(NAME).metadata().unwrap().mode() & 0o777, 0o600);
            // Of another process, of one that was killed, of none.
            let other = reached(me + 1).write(path).unwrap();
            assert_eq!(Reached::read(path), Ok(None));
            drop(other);
            assert_eq!(Reached::read(path), Ok(None));
            let again = reached(me).write(path).unwrap();
            own.close().unwrap();
            assert_eq!(Reached::read(path), Ok(None), "nobody has the database");
            drop((written, again));
        }

        #[test]
        fn what_others_may_have_put_there_is_not_believed() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            let _own = Database::open(path.join("cairn.cairn")).unwrap();
            let me = std::process::id();
            let _written = reached(me).write(path).unwrap();
            let not_believed = |why: &str| {
                let told = Reached::read(path).unwrap_err();
                assert!(told.contains(why), "{told}");
            };
            for mode in [0o777, 0o775, 0o702] {
                set_mode(path, mode);
                not_believed("others may write the folder");
            }
            set_mode(path, 0o755);
            for mode in [0o644, 0o640, 0o606] {
                set_mode(&path.join(NAME), mode);
                not_believed("not this user's alone");
            }
            set_mode(&path.join(NAME), 0o600);
            assert!(Reached::read(path).unwrap().is_some());
            // A link to a file that would be right.
            std::fs::rename(path.join(NAME), path.join("elsewhere")).unwrap();
            symlink(path.join("elsewhere"), path.join(NAME)).unwrap();
            not_believed("a link");
            std::fs::remove_file(path.join(NAME)).unwrap();
            std::fs::create_dir(path.join(NAME)).unwrap();
            not_believed("not this user's alone");
            std::fs::remove_dir(path.join(NAME)).unwrap();
            for text in ["", "{", "{}", "[1]", &format!("{{\"process\": {me}, \"http\": [\"nowhere\"]}}")] {
                std::fs::write(path.join(NAME), text).unwrap();
                set_mode(&path.join(NAME), 0o600);
                not_believed("says nothing that is known");
            }
        }
    }
}

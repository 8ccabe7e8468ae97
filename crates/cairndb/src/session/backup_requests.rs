//! Backups for other processes: one has the database open for writing, and another one asks it for a copy.
//!
//! Who has it open listens on a Unix socket beside the file (`x.cairn-socket`), in a thread that sleeps in the system's `accept`;
//! nothing else of the database knows of it. Whoever asks gets the copy's entries over the socket and makes the file itself.
//! So the copy lies where the asker may write and belongs to him, and the owner writes nothing, whatever paths it is told.
//!
//! What must hold:
//! - Only the owner's user (and root) can connect: the socket gets its name when it has the rights 0600.
//! - Only the process that holds the database's lock makes or replaces the socket, so one that nobody answers is one that a
//!   killed process left. It is removed by who made it, if the name still is its socket's: the files may have been moved, and
//!   another database be there, whose socket that is. For the same reason nobody is sent a copy of a database that does
//!   not have its name any more, and the thread is woken through the socket itself, not through its name.
//! - The thread keeps the database open for as long as it sends, and sends no longer than until the database is closed.
//! - One is served at a time; the others wait. One that takes nothing for a while is sent away.
//!
//! A file with requests, which an owner looks for, lost: somebody would have to look.

use std::path::Path;

use cairn_storage::Store;

use crate::{Error, Result, SqlState};

fn nobody_answers(path: &Path) -> Error {
    let message =
        format!("database \"{}\" is in use, and who has it open answers no requests for backups", path.display());
    Error::new(SqlState::OBJECT_IN_USE, message).with_hint(
        "An application answers after Database::answer_backups, or copies it itself by Database::backup_to; the shell answers.",
    )
}

pub(crate) use system::{Answers, request as request_backup};

#[cfg(unix)]
mod system {
    use std::fs::{self, DirBuilder, File, Metadata, Permissions};
    use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
    use std::net::Shutdown;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use cairn_storage::Join;

    use super::*;
    use crate::sync::{self, Mutex};

    /// What is asked for, in the first bytes. Another version of it has another number.
    const REQUEST: [u8; 8] = *b"backup 1";
    /// How long an asker may take nothing of what is sent.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// Bytes of a socket's path that every system takes.
    const LONGEST: usize = 100;
    /// Bytes that are sent at once.
    const BUFFER: usize = 256 << 10;

    /// The answers of one database.
    #[derive(Default)]
    pub(crate) struct Answers(Mutex<Option<Answering>>);

    struct Answering {
        socket: Socket,
        state: Arc<Mutex<State>>,
        join: Join,
    }

    /// A socket that listens under a name.
    struct Socket {
        listener: UnixListener,
        place: PathBuf,
        /// Device and number of what has the name.
        identity: (u64, u64),
    }

    impl Socket {
        fn has_its_name(&self) -> bool {
            fs::symlink_metadata(&self.place).is_ok_and(|found| identity(&found) == self.identity)
        }

        /// Wakes who sleeps in `accept`; false where that can not be done.
        fn wake(&self) -> bool {
            let end = |listener: UnixListener| UnixStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
            // Linux wakes him by that; elsewhere a socket that listens can not be shut.
            let is_shut = cfg!(target_os = "linux") && self.listener.try_clone().and_then(end).is_ok();
            let connect = || reach(&self.place).and_then(|at| UnixStream::connect(&at.path));
            is_shut || self.has_its_name() && connect().is_ok()
        }

        fn remove(&self) {
            if self.has_its_name() {
                let _ = fs::remove_file(&self.place);
            }
        }
    }

    fn identity(found: &Metadata) -> (u64, u64) {
        (found.dev(), found.ino())
    }

    /// What the thread may use.
    struct State {
        /// `None`: it is over.
        store: Option<Store>,
        /// Who is served.
        stream: Option<UnixStream>,
    }

    impl Answers {
        /// Begins, unless it has.
        pub(crate) fn begin(&self, store: &Store) -> Result<()> {
            let mut answering = self.0.lock();
            if answering.is_some() {
                return Ok(());
            }
            // That of a database in memory is no path.
            if !store.path().is_absolute() {
                return Err(Error::unsupported("a request for a backup of a database in memory"));
            }
            let socket = listen(place_of(store.path())?)?;
            let listener = socket.listener.try_clone().map_err(failed("listen for requests for backups"))?;
            let state = Arc::new(Mutex::new(State { store: Some(store.clone()), stream: None }));
            let work = state.clone();
            let join = store.spawn("cairn-backups", Box::new(move || answer(&listener, &work)))?;
            *answering = Some(Answering { socket, state, join });
            Ok(())
        }

        /// Ends, also what is being sent, and waits for the end.
        pub(crate) fn stop(&self) {
            let Some(Answering { socket, state, join }) = self.0.lock().take() else { return };
            {
                let mut state = state.lock();
                state.store = None;
                if let Some(stream) = state.stream.take() {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            // The thread sleeps until somebody comes. Where nobody can, it sleeps on, with nothing.
            let is_awake = socket.wake();
            socket.remove();
            if is_awake {
                join();
            }
        }
    }

    /// A path to a socket that is short enough.
    struct Reached {
        path: PathBuf,
        _folder: Option<File>,
    }

    fn reach(place: &Path) -> io::Result<Reached> {
        if place.as_os_str().len() <= LONGEST {
            return Ok(Reached { path: place.to_path_buf(), _folder: None });
        }
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        if !cfg!(target_os = "linux") || path.as_os_str().len() > LONGEST {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the path is too long for a socket"));
        }
        Ok(Reached { path, _folder: Some(folder) })
    }

    /// Makes the socket. The caller holds the database's lock: what is there is nobody's.
    fn listen(place: PathBuf) -> Result<Socket> {
        if fs::symlink_metadata(&place).is_ok_and(|found| !found.file_type().is_socket()) {
            let message = format!("\"{}\", where requests for backups would come, is something else", place.display());
            return Err(Error::new(SqlState::DUPLICATE_FILE, message).with_hint("Give that file another name."));
        }
        bind(place).map_err(failed("make a socket for requests for backups"))
    }

    /// Until it has its rights, the socket is in a folder that nobody else may enter.
    fn bind(place: PathBuf) -> io::Result<Socket> {
        let mut name = place.as_os_str().to_os_string();
        name.push("-new");
        let (folder, new) = (PathBuf::from(&name), PathBuf::from(&name).join("s"));
        let clear = || {
            let _ = fs::remove_file(&new);
            let _ = fs::remove_dir(&folder);
        };
        // Whether others could.
        reach(&place)?;
        // What a crash left.
        clear();
        DirBuilder::new().mode(0o700).create(&folder)?;
        let bound = reach(&new).and_then(|at| UnixListener::bind(&at.path)).and_then(|listener| {
            fs::set_permissions(&new, Permissions::from_mode(0o600))?;
            let identity = identity(&fs::symlink_metadata(&new)?);
            fs::rename(&new, &place)?;
            Ok(Socket { listener, place, identity })
        });
        clear();
        bound
    }

    fn answer(listener: &UnixListener, state: &Mutex<State>) {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // It is over, or there are too many open files, as a rule: others may close theirs.
                Err(_) => {
                    if state.lock().store.is_none() {
                        return;
                    }
                    sync::sleep(Duration::from_millis(100));
                    continue;
                }
            };
            let store = {
                let mut state = state.lock();
                let Some(store) = state.store.clone() else { return };
                state.stream = stream.try_clone().ok();
                store
            };
            // Whoever asked is told of what fails, or is gone.
            let _ = serve(&store, &stream);
            state.lock().stream = None;
        }
    }

    fn serve(store: &Store, mut stream: &UnixStream) -> Result<()> {
        let failed = || failed("answer a request for a backup");
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed())?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed())?;
        let mut request = [0; REQUEST.len()];
        stream.read_exact(&mut request).map_err(failed())?;
        if request != REQUEST {
            return Err(Error::unsupported("such a request"));
        }
        Ok(store.send_copy(&mut BufWriter::with_capacity(BUFFER, stream))?)
    }

    /// The socket of the database `path`.
    fn place_of(path: &Path) -> Result<PathBuf> {
        let mut name = path.canonicalize().map_err(failed("find the database"))?.into_os_string();
        name.push("-socket");
        Ok(name.into())
    }

    fn failed(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        move |error| Error::new(SqlState::IO_ERROR, format!("could not {what}: {error}"))
    }

    pub(crate) fn request(path: &Path, target: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let stream = reach(&place_of(path)?).and_then(|at| UnixStream::connect(&at.path));
        let mut stream = stream.map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => nobody_answers(path),
            ErrorKind::PermissionDenied => Error::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to ask for a backup of \"{}\"", path.display()),
            )
            .with_hint("Only the user whose process has it open may ask."),
            _ => failed("ask for a backup")(error),
        })?;
        stream.write_all(&REQUEST).map_err(failed("ask for a backup"))?;
        Ok(Store::receive_copy(&mut BufReader::with_capacity(BUFFER, stream), target, progress)?)
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    /// There are none: std knows no such sockets here.
    #[derive(Default)]
    pub(crate) struct Answers;

    impl Answers {
        pub(crate) fn begin(&self, _: &Store) -> Result<()> {
            let error = Error::unsupported("a request for a backup on this operating system");
            Err(error.with_hint("Make the copy in the process that has it open, by Database::backup_to."))
        }

        pub(crate) fn stop(&self) {}
    }

    pub(crate) fn request(path: &Path, _: &Path, _: &mut dyn FnMut(u64)) -> Result<()> {
        Err(nobody_answers(path))
    }
}

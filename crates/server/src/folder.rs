//! The databases of a folder.
//!
//! - A database is opened when somebody who is authenticated asks for it, once however many ask (who comes later waits for who opens), and
//!   closed again when nobody has used it for a while.
//! - A name is a file of the folder, `NAME.cairn`: names are letters in lower case, digits, `_`, `-` and `$`, so that none leaves the folder and no two
//!   are one file where upper and lower case are the same.
//! - One that can not be opened is refused by name, and disturbs no other.
//! - The server's own database is open as long as the server: so a second server on the folder finds it in use.
//! - What is done to a database as a whole is done under its slot's lock, while nobody uses it. Crashes: a database is its file; a log without
//!   one is what was left of a database that was dropped, and goes when another of the name is made.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cairndb::{Database, Error, Options, SqlState, Stats};

use crate::kept_settings::KeptSettings;

/// The server's own database, and its other name, to which tools connect first.
pub(crate) const OWN: &str = "cairn";
pub(crate) const OWN_ALIAS: &str = "postgres";
/// What a file's name ends with.
const ENDING: &str = "cairn";
/// The longest name, as of everything in SQL.
const NAME_BYTES_MAX: usize = 63;

pub(crate) struct Folder {
    path: PathBuf,
    options: Options,
    own: Database,
    kept: KeptSettings,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

/// Where a database is, whether it is open or not.
#[derive(Default)]
struct Slot(Mutex<State>);

#[derive(Default)]
struct State {
    open: Option<Database>,
    users: usize,
    /// When the last one left.
    idle_since: Option<Instant>,
}

/// A database that is open for as long as this is there: see [`Services::lease`](crate::Services::lease).
pub struct Lease {
    database: Option<Database>,
    slot: Option<Arc<Slot>>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// SQLSTATE 55006 where somebody uses it; closes it else.
    fn close(&mut self, name: &str) -> Result<(), Error> {
        if self.users > 0 {
            let (verb, sessions) = if self.users == 1 { ("is", "session") } else { ("are", "sessions") };
            let message = format!("database \"{name}\" is being accessed by other users");
            let detail = format!("There {verb} {} other {sessions} using the database.", self.users);
            return Err(Error::new(SqlState::OBJECT_IN_USE, message).with_detail(detail));
        }
        self.open.take().map_or(Ok(()), Database::close)
    }
}

impl Lease {
    /// The database.
    ///
    /// # Errors
    ///
    /// None as long as the lease is there.
    pub fn database(&self) -> Result<&Database, Error> {
        self.database.as_ref().ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "a lease that is over"))
    }
}

impl From<Database> for Lease {
    /// Of a database that is not the server's to close.
    fn from(database: Database) -> Lease {
        Lease { database: Some(database), slot: None }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Before it may be closed.
        self.database = None;
        if let Some(slot) = &self.slot {
            let mut state = slot.lock();
            state.users -= 1;
            state.idle_since = Some(Instant::now());
        }
    }
}

impl Folder {
    /// The folder's own database is made, where there is none. All are opened so.
    pub(crate) fn open(path: &Path, options: Options) -> Result<Folder, Error> {
        let own = answering(Database::open_with(path.join(format!("{OWN}.{ENDING}")), options.clone().name(OWN))?)?;
        let kept = KeptSettings::read(&own)?;
        Ok(Folder { path: path.to_owned(), options, own, kept, slots: Mutex::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn own(&self) -> &Database {
        &self.own
    }

    /// What the sessions of a database begin with.
    pub(crate) fn settings(&self, name: &str) -> Vec<(String, String)> {
        self.kept.of(name)
    }

    /// They begin with this, too, from now on. SQLSTATE 3D000.
    pub(crate) fn set(&self, name: &str, setting: &str, value: &str) -> Result<(), Error> {
        self.kept.set(self.known(name)?, setting, value)
    }

    /// They begin without it; `None`: without any. SQLSTATE 3D000.
    pub(crate) fn reset(&self, name: &str, setting: Option<&str>) -> Result<(), Error> {
        self.kept.reset(self.known(name)?, setting)
    }

    /// The one name of a database that is there. SQLSTATE 3D000.
    fn known<'n>(&self, name: &'n str) -> Result<&'n str, Error> {
        match is_own(name) {
            true => Ok(OWN),
            false if self.is_there(name) => Ok(name),
            false => Err(no_database(name)),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.{ENDING}"))
    }

    fn open_database(&self, name: &str) -> Result<Database, Error> {
        answering(Database::open_with(self.file(name), self.options.clone().name(name))?)
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(name.to_owned()).or_default().clone()
    }

    fn is_there(&self, name: &str) -> bool {
        check_name(name).is_ok() && self.file(name).is_file()
    }

    /// A database for who is authenticated. SQLSTATE 3D000 where there is none of the name; its own error where it can not be opened.
    pub(crate) fn lease(&self, name: &str) -> Result<Lease, Error> {
        if is_own(name) {
            return Ok(self.own.clone().into());
        }
        if !self.is_there(name) {
            return Err(no_database(name));
        }
        let slot = self.slot(name);
        let mut state = slot.lock();
        // It may have been dropped meanwhile.
        if !self.is_there(name) {
            return Err(no_database(name));
        }
        let database = match &state.open {
            Some(database) => database.clone(),
            None => self.open_database(name).map_err(|error| named(name, &error))?,
        };
        state.open = Some(database.clone());
        state.users += 1;
        drop(state);
        Ok(Lease { database: Some(database), slot: Some(slot) })
    }

    /// SQLSTATE 42P04 where there is one of the name, 42602 where it can not be one's.
    pub(crate) fn create(&self, name: &str) -> Result<(), Error> {
        let exists = || Error::new(SqlState::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"));
        if is_own(name) {
            return Err(exists());
        }
        check_name(name)?;
        let slot = self.slot(name);
        let mut state = slot.lock();
        let file = self.file(name);
        if file.exists() {
            return Err(exists());
        }
        // What is left of another of the name is none of its.
        self.kept.reset(name, None)?;
        remove(&log_of(&file)).map_err(|error| failed(name, &error))?;
        state.open = Some(self.open_database(name)?);
        state.idle_since = Some(Instant::now());
        Ok(())
    }

    /// SQLSTATE 3D000, 55006, 42501 for the server's own.
    pub(crate) fn drop_database(&self, name: &str) -> Result<(), Error> {
        refuse_own(name, "drop")?;
        if !self.is_there(name) {
            return Err(no_database(name));
        }
        let slot = self.slot(name);
        let mut state = slot.lock();
        state.close(name)?;
        // One that can not be opened any more can be dropped, but not under another program that has it open.
        if let Err(error) = self.settle(name)
            && error.sqlstate() == SqlState::OBJECT_IN_USE
        {
            return Err(error);
        }
        let file = self.file(name);
        let gone = [&file, &log_of(&file)].into_iter().try_for_each(|path| remove(path)).and_then(|()| self.sync());
        gone.map_err(|error| failed(name, &error))?;
        self.kept.reset(name, None)
    }

    /// SQLSTATE 3D000, 42P04, 42602, 55006, 42501 for the server's own.
    pub(crate) fn rename(&self, name: &str, to: &str) -> Result<(), Error> {
        refuse_own(name, "rename")?;
        if !self.is_there(name) {
            return Err(no_database(name));
        }
        let exists = || Error::new(SqlState::DUPLICATE_DATABASE, format!("database \"{to}\" already exists"));
        if is_own(to) || name == to {
            return Err(exists());
        }
        check_name(to)?;
        // In the order of their names: two that are renamed at once do not wait for each other.
        let (one, other) = (self.slot(name.min(to)), self.slot(name.max(to)));
        let (mut one, mut other) = (one.lock(), other.lock());
        let (old, new) = if name < to { (&mut *one, &mut *other) } else { (&mut *other, &mut *one) };
        let (from_file, to_file) = (self.file(name), self.file(to));
        if new.open.is_some() || to_file.exists() {
            return Err(exists());
        }
        old.close(name)?;
        // What is only in the log goes into the file first: the two can not change their names as one.
        self.settle(name)?;
        let moved = || {
            remove(&log_of(&to_file))?;
            fs::rename(&from_file, &to_file)?;
            // (It holds nothing any more.)
            remove(&log_of(&from_file))?;
            self.sync()
        };
        moved().map_err(|error| failed(name, &error))?;
        self.kept.rename(name, to)
    }

    /// What files are called is on the disk from here on. (Where folders can not be opened the system sees to that.)
    fn sync(&self) -> io::Result<()> {
        if cfg!(unix) { fs::File::open(&self.path)?.sync_all() } else { Ok(()) }
    }

    /// Has all of a database that is closed in its file, be it that it was not closed well the last time. SQLSTATE 55006 where
    /// another program has it open.
    fn settle(&self, name: &str) -> Result<(), Error> {
        self.open_database(name).map_err(|error| named(name, &error))?.close()
    }

    /// Closes what nobody has used for so long, but what is being opened or used just now; what did not go well.
    pub(crate) fn close_idle(&self, time: Duration) -> Vec<(String, Error)> {
        let slots: Vec<(String, Arc<Slot>)> = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // What is neither open nor asked for by anybody needs no place.
            slots.retain(|_, slot| {
                Arc::strong_count(slot) > 1 || slot.0.try_lock().map_or(true, |state| state.open.is_some())
            });
            slots.iter().map(|(name, slot)| (name.clone(), slot.clone())).collect()
        };
        let mut wrong = Vec::new();
        for (name, slot) in slots {
            let Ok(mut state) = slot.0.try_lock() else { continue };
            let is_idle = state.users == 0 && state.idle_since.is_some_and(|since| since.elapsed() >= time);
            if is_idle && let Err(error) = state.close(&name) {
                wrong.push((name, error));
            }
        }
        wrong
    }

    /// All that there are, by name: the bytes of its files, and what it has counted, if it is open. A folder that can not be read has
    /// what is open.
    pub(crate) fn listed(&self) -> Vec<(String, u64, Option<Stats>)> {
        let mut names = self.names();
        let open: HashMap<String, Stats> = {
            let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // One that is being opened or closed has counted nothing that could be told.
            let stats = |slot: &Slot| slot.0.try_lock().ok()?.open.as_ref().map(Database::stats);
            slots.iter().filter_map(|(name, slot)| Some((name.clone(), stats(slot)?))).collect()
        };
        names.extend(open.keys().cloned().chain([OWN.to_owned()]));
        names.sort_unstable();
        names.dedup();
        let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let told = |name: String| {
            let stats = if name == OWN { Some(self.own.stats()) } else { open.get(&name).copied() };
            let file = self.file(&name);
            (name, size(&file) + size(&log_of(&file)), stats)
        };
        names.into_iter().map(told).collect()
    }

    /// The names of the folder's files that are databases'.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let name = |entry: fs::DirEntry| {
            let file = entry.file_name().into_string().ok()?;
            let name = file.strip_suffix(ENDING)?.strip_suffix('.')?;
            self.is_there(name).then(|| name.to_owned())
        };
        entries.filter_map(name).collect()
    }

    /// How many are open, the own one not counted.
    pub(crate) fn count_open(&self) -> usize {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.values().filter(|slot| slot.lock().open.is_some()).count()
    }

    /// Closes all, whose sessions have ended; the first error.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let slots: Vec<(String, Arc<Slot>)> = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.drain().collect()
        };
        let closed: Vec<Result<(), Error>> = slots.iter().map(|(name, slot)| slot.lock().close(name)).collect();
        self.own.clone().close().and(closed.into_iter().collect())
    }
}

/// It can be copied while it is open (`cairn backup`). Where there can be no socket for that, who asks for a copy is told.
fn answering(database: Database) -> Result<Database, Error> {
    match database.answer_backups() {
        Err(error) if !matches!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED | SqlState::IO_ERROR) => Err(error),
        _ => Ok(database),
    }
}

pub(crate) fn is_own(name: &str) -> bool {
    [OWN, OWN_ALIAS].contains(&name)
}

pub(crate) fn no_database(name: &str) -> Error {
    Error::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}

fn refuse_own(name: &str, what: &str) -> Result<(), Error> {
    match is_own(name) {
        true => Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("cannot {what} the server's own database"))),
        false => Ok(()),
    }
}

/// SQLSTATE 42602 for what can not be a file's name everywhere, or would lead out of the folder.
fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |ch: char| ch.is_alphanumeric() && ch.to_lowercase().eq([ch]) || "_-$".contains(ch);
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain) && !name.starts_with('-') {
        return Ok(());
    }
    let message = format!("invalid database name \"{name}\"");
    let hint = "A database's name is letters in lower case, digits, _, - and $, at most 63 bytes: it names a file.";
    Err(Error::new(SqlState::INVALID_NAME, message).with_hint(hint))
}

/// An error of opening a database, with whose it is.
fn named(name: &str, error: &Error) -> Error {
    let message = format!("database \"{name}\" can not be opened: {}", error.message());
    let told = Error::new(error.sqlstate(), message);
    match error.hint() {
        Some(hint) => told.with_hint(hint.to_owned()),
        None => told,
    }
}

fn failed(name: &str, error: &io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not change the files of database \"{name}\": {error}"))
}

fn log_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-log");
    name.into()
}

/// What is not there is removed.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;

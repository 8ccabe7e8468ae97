//! The connections that there are, and the sessions that some of them are: for who cancels a statement, and for who ends them all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::{Error, InterruptHandle, SqlState, Waits};

use crate::activity::{Activity, State, clock};
use crate::options::Options;
use crate::stream::Stream;

/// What is held is never locked while anything is waited for.
#[derive(Default)]
pub(crate) struct Registry {
    /// By process number.
    sessions: Mutex<HashMap<i32, Arc<Entry>>>,
    connections: Mutex<Connections>,
    is_stopping: AtomicBool,
}

/// Of whom nobody knows yet who he is, too.
#[derive(Default)]
struct Connections {
    next: u64,
    streams: HashMap<u64, Stream>,
}

/// Whose a session is.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) user: Arc<str>,
    pub(crate) database: Arc<str>,
    /// Where from, as it is told.
    pub(crate) from: String,
}

/// A session that can be reached from outside.
pub(crate) struct Entry {
    pub(crate) who: Who,
    /// When it began: microseconds since 2000-01-01 UTC.
    pub(crate) begun: i64,
    pub(crate) activity: Activity,
    /// Of its thread.
    pub(crate) waits: Waits,
    /// The number of its connection.
    connection: u64,
    secret: [u8; 32],
    interrupt: InterruptHandle,
    /// It is to end: its client is not there any more, or somebody wants it to.
    is_gone: AtomicBool,
}

/// A connection; it is forgotten when its thread ends.
pub(crate) struct Present {
    registry: Arc<Registry>,
    pub(crate) number: u64,
}

/// A session's place; it is given back when the session ends.
pub(crate) struct Place<'r> {
    registry: &'r Registry,
    pub(crate) process: i32,
    pub(crate) entry: Arc<Entry>,
}

impl Entry {
    /// On the session's own thread.
    pub(crate) fn new(who: Who, connection: u64, secret: [u8; 32], interrupt: InterruptHandle) -> Entry {
        let (begun, activity, is_gone) = (clock(), Activity::default(), AtomicBool::new(false));
        activity.end(State::Idle, begun);
        Entry { who, begun, activity, waits: Waits::of_this_thread(), connection, secret, interrupt, is_gone }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Stops what it runs, if it runs something.
    pub(crate) fn stop_statement(&self) {
        self.interrupt.interrupt();
    }

    /// It is to end, and ends what it runs.
    fn let_go(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
        self.interrupt.interrupt();
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Arc<Entry>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections there are.
    pub(crate) fn count_connections(&self) -> usize {
        self.connections().streams.len()
    }

    pub(crate) fn count_sessions(&self) -> usize {
        self.lock().len()
    }

    /// A connection is there, with another handle to its socket.
    pub(crate) fn arrive(self: &Arc<Registry>, stream: Stream) -> Present {
        let mut connections = self.connections();
        let number = connections.next;
        connections.next += 1;
        connections.streams.insert(number, stream);
        Present { registry: self.clone(), number }
    }

    /// A place under a number that no other session has. SQLSTATE 53300 where there are as many sessions as there may be.
    pub(crate) fn enter(&self, entry: Entry, options: &Options) -> Result<Place<'_>, Error> {
        let entry = Arc::new(entry);
        let mut sessions = self.lock();
        check_counts(&sessions, &entry.who, options)?;
        loop {
            let number = getrandom::u32()
                .map_err(|error| Error::new(SqlState::IO_ERROR, format!("could not get random bytes: {error}")))?;
            let process = (number >> 1).cast_signed();
            if process > 0 && !sessions.contains_key(&process) {
                sessions.insert(process, entry.clone());
                return Ok(Place { registry: self, process, entry });
            }
        }
    }

    /// Ends the sessions whose clients are not there any more, which those do not notice that run a statement: to be called again and
    /// again, for a statement that begins meanwhile misses the call.
    #[cfg(unix)]
    pub(crate) fn end_gone(&self) {
        let gone: Vec<u64> = {
            let connections = self.connections();
            let (numbers, sockets): (Vec<u64>, Vec<_>) =
                connections.streams.iter().map(|(number, stream)| (*number, stream.as_fd())).unzip();
            let gone = crate::stream::who_is_gone(&sockets);
            numbers.into_iter().zip(gone).filter_map(|(number, is_gone)| is_gone.then_some(number)).collect()
        };
        if gone.is_empty() {
            return;
        }
        for entry in self.lock().values().filter(|entry| gone.contains(&entry.connection)) {
            entry.let_go();
        }
    }

    /// Stops the statement that this session runs, if who asks knows its secret.
    pub(crate) fn cancel(&self, process: i32, secret: &[u8]) {
        if let Some(entry) = self.session(process).filter(|entry| is_secret(&entry.secret, secret)) {
            entry.stop_statement();
        }
    }

    /// Ends the sessions of a database; to be called again and again, as [`stop`](Registry::stop).
    pub(crate) fn end_of_database(&self, name: &str) {
        let sessions = self.sessions();
        sessions.iter().filter(|(_, entry)| *entry.who.database == *name).for_each(|(_, entry)| self.end(entry));
    }

    /// Ends a session; to be called again and again, as [`stop`](Registry::stop).
    pub(crate) fn end(&self, entry: &Entry) {
        entry.let_go();
        self.connections().streams.get(&entry.connection).into_iter().for_each(Stream::stop_reading);
    }

    pub(crate) fn session(&self, process: i32) -> Option<Arc<Entry>> {
        self.lock().get(&process).cloned()
    }

    /// All, by process number.
    pub(crate) fn sessions(&self) -> Vec<(i32, Arc<Entry>)> {
        self.lock().iter().map(|(process, entry)| (*process, entry.clone())).collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Ends all sessions; to be called until there are none, for a statement that begins meanwhile misses the call.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let sessions: Vec<Arc<Entry>> = self.lock().values().cloned().collect();
        sessions.iter().for_each(|entry| entry.stop_statement());
        self.connections().streams.values().for_each(Stream::stop_reading);
    }

    /// Leaves those alone who do not take what they are told.
    pub(crate) fn shut(&self) {
        self.connections().streams.values().for_each(Stream::shut);
    }
}

/// SQLSTATE 53300.
fn check_counts(sessions: &HashMap<i32, Arc<Entry>>, who: &Who, options: &Options) -> Result<(), Error> {
    let refused = |message: String| Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
    if sessions.len() >= options.connections_max {
        return Err(crate::door::too_many());
    }
    let count = |is_it: &dyn Fn(&Who) -> bool| sessions.values().filter(|entry| is_it(&entry.who)).count();
    if options.connections_max_by_user.is_some_and(|most| count(&|of| of.user == who.user) >= most) {
        return refused(format!("too many connections for role \"{}\"", who.user));
    }
    if options.connections_max_by_database.is_some_and(|most| count(&|of| of.database == who.database) >= most) {
        return refused(format!("too many connections for database \"{}\"", who.database));
    }
    Ok(())
}

impl Drop for Present {
    fn drop(&mut self) {
        self.registry.connections().streams.remove(&self.number);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.process);
    }
}

/// In the same time wherever they differ. In protocol 3.0 only the first 4 bytes are known.
fn is_secret(own: &[u8; 32], given: &[u8]) -> bool {
    let fits = matches!(given.len(), 4 | 32);
    let differs = own.iter().zip(given).fold(0, |differs, (own, given)| differs | (own ^ given));
    fits && std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_whole_or_not_at_all() {
        let own: [u8; 32] = std::array::from_fn(|at| at as u8 + 1);
        assert!(is_secret(&own, &own) && is_secret(&own, &own[..4]));
        assert!(!is_secret(&own, &[]) && !is_secret(&own, &own[..3]) && !is_secret(&own, &own[..31]));
        assert!(!is_secret(&own, &[1, 2, 3, 5]));
    }
}

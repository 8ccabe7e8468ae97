//! The connections that there are, and the sessions that some of them are: for who cancels a statement, and for who ends them all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::InterruptHandle;

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

/// A session that can be reached from outside.
pub(crate) struct Entry {
    secret: [u8; 32],
    interrupt: InterruptHandle,
}

/// A connection; it is forgotten when its thread ends.
pub(crate) struct Present {
    registry: Arc<Registry>,
    number: u64,
}

/// A session's place; it is given back when the session ends.
pub(crate) struct Place<'r> {
    registry: &'r Registry,
    pub(crate) process: i32,
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

    /// A connection is there, with another handle to its socket.
    pub(crate) fn arrive(self: &Arc<Registry>, stream: Stream) -> Present {
        let mut connections = self.connections();
        let number = connections.next;
        connections.next += 1;
        connections.streams.insert(number, stream);
        Present { registry: self.clone(), number }
    }

    /// A place under a number that no other session has; `None`: there are `most` sessions.
    pub(crate) fn enter(
        &self,
        secret: [u8; 32],
        interrupt: InterruptHandle,
        most: usize,
    ) -> Result<Option<Place<'_>>, getrandom::Error> {
        let entry = Arc::new(Entry { secret, interrupt });
        let mut sessions = self.lock();
        if sessions.len() >= most {
            return Ok(None);
        }
        loop {
            let process = (getrandom::u32()? >> 1).cast_signed();
            if process > 0 && !sessions.contains_key(&process) {
                sessions.insert(process, entry);
                return Ok(Some(Place { registry: self, process }));
            }
        }
    }

    /// Stops the statement that this session runs, if who asks knows its secret.
    pub(crate) fn cancel(&self, process: i32, secret: &[u8]) {
        let entry = self.lock().get(&process).cloned();
        if let Some(entry) = entry.filter(|entry| is_secret(&entry.secret, secret)) {
            entry.interrupt.interrupt();
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Ends all sessions; to be called until there are none, for a statement that begins meanwhile misses the call.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let sessions: Vec<Arc<Entry>> = self.lock().values().cloned().collect();
        sessions.iter().for_each(|entry| entry.interrupt.interrupt());
        self.connections().streams.values().for_each(Stream::stop_reading);
    }
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

//! The database's file while its log is replayed: nothing is written to it before it is known that the two belong together.
//!
//! A replay that fills the cache writes pages early, over those that its checkpoint does not use. If that checkpoint is an
//! older one, because the newest meta page could not be read this once, they are the newest one's, and the database is
//! gone. So whoever writes first has the log read to its end, and what it says compared. A replay that fits into the cache
//! writes nothing, compares at its own end, and reads the log once.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::path::Path;
use std::sync::Arc;

use crate::broken::{self, Broken};
use crate::io::{File, SyncMethod};
use crate::sync::Mutex;
use crate::{Error, Result};

/// What has to succeed before the first write.
type Ask = Box<dyn FnOnce(&dyn File) -> Result<()> + Send>;

/// See the module's text.
pub(super) struct Gate {
    file: Arc<dyn File>,
    state: Mutex<State>,
}

enum State {
    Asks(Ask),
    Open,
    Refused(Error),
}

impl Gate {
    /// Before the first write to `file`, `ask` has to succeed.
    pub(super) fn before(file: Arc<dyn File>, ask: impl FnOnce(&dyn File) -> Result<()> + Send + 'static) -> Gate {
        Gate { file, state: Mutex::new(State::Asks(Box::new(ask))) }
    }

    /// Whether something could be written.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.state.lock(), State::Open)
    }

    /// Why nothing may be written, once somebody has asked.
    pub(super) fn check(&self) -> Result<()> {
        match &*self.state.lock() {
            State::Refused(error) => Err(error.clone()),
            State::Asks(_) | State::Open => Ok(()),
        }
    }

    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        let answer = match std::mem::replace(&mut *state, State::Open) {
            State::Asks(_) if broken::is(Broken::WrittenUnchecked) => Ok(()),
            State::Asks(ask) => ask(&*self.file),
            State::Open => Ok(()),
            State::Refused(error) => Err(error),
        };
        answer.map_err(|error| {
            let told = io::Error::other(error.to_string());
            *state = State::Refused(error);
            told
        })
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("file", &self.file).field("is_open", &self.is_open()).finish()
    }
}

impl File for Gate {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }

    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()> {
        self.file.read_vectored_at(bufs, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.pass()?;
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.pass()?;
        self.file.write_durable_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.pass()?;
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        self.file.has_name(path)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.pass()?;
        self.file.set_len(len)
    }

    fn give_back(&self, offset: u64, length: u64) -> io::Result<()> {
        self.pass()?;
        self.file.give_back(offset, length)
    }

    fn room(&self) -> io::Result<u64> {
        self.file.room()
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.file.sync_method()
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        self.pass()?;
        self.file.choose_sync_method(wanted, block, offset)
    }
}

//! What a transaction says to channels: what it notifies, and to which it listens from its commit on.
//!
//! What must hold: nothing of it is done before the commit, and nothing of what was said behind a savepoint that is rolled back
//! to; the same payload for the same channel is told once.

use std::collections::HashSet;
use std::sync::Arc;

use crate::state::SaidMark;
use crate::{Error, Result, SqlState};

/// A transaction may say so many bytes.
const SAID_BYTES_MAX: usize = 64 << 20;
/// What a notification takes beside its texts.
pub(super) const NOTE_BYTES: usize = 96;
/// Payloads are shorter than this, and channels' names than that: PostgreSQL's limits.
const PAYLOAD_BYTES: usize = 8000;
const CHANNEL_BYTES: usize = 64;

/// A notification before it is anybody's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Note {
    pub(super) channel: Arc<str>,
    pub(super) payload: Arc<str>,
}

/// What LISTEN and UNLISTEN say.
#[derive(Clone, Debug)]
pub(super) enum Wish {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) wishes: Vec<Wish>,
    pub(super) notes: Vec<Note>,
    told: HashSet<Note>,
    bytes: usize,
}

impl Note {
    /// SQLSTATE 22023 for what PostgreSQL does not take.
    pub(super) fn new(channel: &str, payload: &str) -> Result<Note> {
        let refused = match () {
            () if channel.is_empty() => "channel name cannot be empty",
            () if channel.len() >= CHANNEL_BYTES => "channel name too long",
            () if payload.len() >= PAYLOAD_BYTES => "payload string too long",
            () => return Ok(Note { channel: channel.into(), payload: payload.into() }),
        };
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, refused))
    }

    pub(super) fn bytes(&self) -> usize {
        NOTE_BYTES + self.channel.len() + self.payload.len()
    }
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        self.wishes.is_empty() && self.notes.is_empty()
    }

    /// SQLSTATE 54000 beyond what a transaction may say.
    pub(super) fn note(&mut self, note: Note) -> Result<()> {
        if self.told.contains(&note) {
            return Ok(());
        }
        self.bytes += note.bytes();
        if self.bytes > SAID_BYTES_MAX {
            let error = Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many notifications in one transaction");
            return Err(error.with_hint("Notify in several transactions, or once for all that changed."));
        }
        self.told.insert(note.clone());
        self.notes.push(note);
        Ok(())
    }

    pub(super) fn mark(&self) -> SaidMark {
        SaidMark { wishes: self.wishes.len(), notes: self.notes.len(), ..SaidMark::default() }
    }

    pub(super) fn go_back(&mut self, mark: SaidMark) {
        self.wishes.truncate(mark.wishes);
        for note in self.notes.drain(mark.notes.min(self.notes.len())..) {
            self.bytes -= note.bytes();
            self.told.remove(&note);
        }
    }
}

//! A conversation and the socket that it is held over.

use std::io;
use std::time::{Duration, Instant};

use cairn_wire::{Conversation, Limits};

use crate::stream::Stream;
#[cfg(unix)]
use crate::stream::Waited;

/// Output is written when it is at least so long, before more of it is made.
const OUTPUT_BYTES: usize = 64 << 10;
/// Room for bytes that come.
const INPUT_BYTES: usize = 16 << 10;
/// Buffers that grew beyond this are given back.
const KEPT_BYTES: usize = 256 << 10;

pub(crate) struct Line {
    pub(crate) conversation: Conversation,
    pub(crate) stream: Stream,
    buffer: Box<[u8]>,
}

impl Line {
    pub(crate) fn new(stream: Stream, limits: Limits) -> Line {
        Line { conversation: Conversation::new(limits), stream, buffer: vec![0; INPUT_BYTES].into_boxed_slice() }
    }

    /// Writes all that there is to write.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let output = self.conversation.output();
        if !output.is_empty() {
            self.stream.write_all(output)?;
            output.clear();
            output.shrink_to(KEPT_BYTES);
        }
        Ok(())
    }

    /// Writes what there is, if that is worth it.
    pub(crate) fn flush_much(&mut self) -> io::Result<()> {
        if self.conversation.output().len() >= OUTPUT_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what there is, and waits for what comes.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.flush()?;
        self.read()
    }

    /// The same, no longer than until then; whether something came, or the end.
    #[cfg(unix)]
    pub(crate) fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        self.flush()?;
        match self.stream.wait_with(None, Some(until))? {
            Waited::Nothing => Ok(false),
            _ => self.read().map(|()| true),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        let left = until.saturating_duration_since(Instant::now());
        self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let waited = self.wait();
        self.stream.set_read_timeout(None)?;
        match waited {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
            waited => waited.map(|()| true),
        }
    }

    /// Waits for what comes.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        let count = loop {
            match self.stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        match count {
            0 => self.conversation.end_of_input(),
            count => self.conversation.receive(&self.buffer[..count]),
        }
        Ok(())
    }

    pub(crate) fn set_times(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(read)?;
        self.stream.set_write_timeout(write)
    }
}

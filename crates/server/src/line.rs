//! A conversation and the socket that it is held over.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use cairn_wire::{Conversation, Limits};
use cairndb::Wait;

use crate::stream::Stream;
#[cfg(unix)]
use crate::stream::Waited;
use crate::tls::{Channel, Tls};

/// Output is written when it is at least so long, before more of it is made.
const OUTPUT_BYTES: usize = 64 << 10;
/// Room for bytes that come.
const INPUT_BYTES: usize = 16 << 10;
/// The same, while little comes: most questions are short, and most connections idle.
const IDLE_INPUT_BYTES: usize = 2 << 10;
/// Buffers that grew beyond this are given back.
const KEPT_BYTES: usize = 256 << 10;
/// What TLS begins with, and no message does.
const HANDSHAKE: u8 = 0x16;

pub(crate) struct Line {
    pub(crate) conversation: Conversation,
    pub(crate) stream: Stream,
    buffer: Box<[u8]>,
    /// What everything goes through once it is there.
    tls: Option<Box<Channel>>,
}

impl Line {
    pub(crate) fn new(stream: Stream, limits: Limits) -> Line {
        let buffer = vec![0; IDLE_INPUT_BYTES].into_boxed_slice();
        Line { conversation: Conversation::new(limits), stream, buffer, tls: None }
    }

    /// Waits for the first that comes: a message, or TLS without a word before.
    pub(crate) fn greet(&mut self, tls: Option<&Tls>) -> io::Result<()> {
        let count = self.read_some()?;
        if let Some(tls) = tls.filter(|_| count > 0 && self.buffer[0] == HANDSHAKE) {
            self.tls = Some(Box::new(tls.accept(true)?));
        }
        self.take(count)
    }

    /// From here on TLS is spoken, of which the client has been told.
    pub(crate) fn secure(&mut self, tls: &Tls) -> io::Result<()> {
        self.flush()?;
        self.tls = Some(Box::new(tls.accept(false)?));
        Ok(())
    }

    /// TLS is spoken.
    pub(crate) fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// What binds an authentication to the TLS that is spoken.
    pub(crate) fn binding(&self) -> Option<Vec<u8>> {
        self.tls.as_ref().and_then(|tls| tls.binding())
    }

    /// Writes all that there is to write.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let output = self.conversation.output();
        if !output.is_empty() {
            Wait::ClientWrite.during(|| match &mut self.tls {
                Some(tls) => tls.write_all(output, &self.stream),
                None => (&self.stream).write_all(output),
            })?;
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

    /// Writes what there is; then nothing is there to do, and memory is given back that is needed only while there is.
    pub(crate) fn rest(&mut self) -> io::Result<()> {
        self.flush()?;
        self.conversation.rest();
        self.have_room(IDLE_INPUT_BYTES);
        Ok(())
    }

    fn have_room(&mut self, bytes: usize) {
        if self.buffer.len() != bytes {
            self.buffer = vec![0; bytes].into_boxed_slice();
        }
    }

    /// Waits for what comes.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        let count = self.read_some()?;
        self.take(count)
    }

    fn read_some(&mut self) -> io::Result<usize> {
        loop {
            match (&self.stream).read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// So many bytes have come into the buffer; none: the end.
    fn take(&mut self, count: usize) -> io::Result<()> {
        let bytes = &self.buffer[..count];
        match &mut self.tls {
            _ if bytes.is_empty() => self.conversation.end_of_input(),
            None => self.conversation.receive(bytes),
            Some(tls) => {
                let is_over = tls.receive(bytes, |plain| self.conversation.receive(plain));
                // Also where it has failed: the other end is told why.
                tls.write_all(&[], &self.stream)?;
                if is_over? {
                    self.conversation.end_of_input();
                }
            }
        }
        if count == self.buffer.len() {
            self.have_room(INPUT_BYTES);
        }
        Ok(())
    }

    pub(crate) fn set_times(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(read)?;
        self.stream.set_write_timeout(write)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.stream);
        }
    }
}

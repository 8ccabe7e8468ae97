//! COPY: data of the client's, in and out, while its statement runs.
//!
//! The driver begins it ([`copy_in`](Conversation::copy_in)) when the statement asks for its first byte, so that what is wrong before
//! is told in place of it; then it asks for data until there is no more. What comes of an extended query meanwhile (Sync, Flush) is
//! passed over, as PostgreSQL does.

use cairndb::{CopyShape, Error, Result, SqlState};

use crate::conversation::Conversation;
use crate::error::violation;
use crate::input::Body;

/// What there is of a client's data.
#[derive(Debug)]
pub enum CopyInput<'a> {
    /// The next bytes.
    Data(&'a [u8]),
    /// There is no more.
    End,
    /// No whole message is there: write the output, wait for the client, and receive what comes.
    Wait,
}

impl Conversation {
    /// The statement waits for the client's data.
    pub fn copy_in(&mut self, shape: CopyShape) {
        self.output.copy(b'G', shape.is_binary, shape.columns);
    }

    /// The next of the client's data.
    ///
    /// # Errors
    ///
    /// 57014 where the client gives up; 08P01 where it sends something else, or has gone.
    pub fn copy_input(&mut self) -> Result<CopyInput<'_>> {
        loop {
            let Some(frame) = self.input.frame(self.limits.message_bytes)? else {
                return if self.has_ended() { Err(gone()) } else { Ok(CopyInput::Wait) };
            };
            match frame.kind {
                b'd' => {
                    self.input.consume(&frame);
                    return Ok(CopyInput::Data(self.input.body(&frame)));
                }
                b'c' => {
                    self.input.consume(&frame);
                    return Ok(CopyInput::End);
                }
                b'f' => {
                    self.input.consume(&frame);
                    let why = Body(self.input.body(&frame)).text()?;
                    return Err(Error::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {why}")));
                }
                b'H' | b'S' => self.input.consume(&frame),
                // It is handled once the statement has failed.
                b'X' => return Err(gone()),
                other => {
                    self.is_lost = true;
                    let message = format!("unexpected message type 0x{other:02X} during COPY from stdin");
                    return Err(violation(message));
                }
            }
        }
    }

    /// Data is to follow for the client.
    pub fn copy_out(&mut self, shape: CopyShape) {
        self.output.copy(b'H', shape.is_binary, shape.columns);
    }

    /// A row of it.
    pub fn copy_row(&mut self, row: &[u8]) {
        self.output.copy_data(row);
    }

    /// There is no more; the tag follows.
    pub fn copy_done(&mut self) {
        self.output.empty(b'c');
    }
}

/// SQLSTATE 08006.
fn gone() -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, "the client has gone while its COPY waited for data")
}

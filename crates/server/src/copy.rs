//! COPY from and to the client.

use std::io::{self, Read};

use cairn_wire::CopyInput;
use cairndb::{Connection, CopyShape, Error, SqlState, Wait};

use crate::line::Line;
use crate::results::{Broken, tell_notices};

/// Runs it; its tag.
pub(crate) fn copy(line: &mut Line, connection: &Connection, text: &str) -> Result<String, Broken> {
    let shape = connection.copy_shape(text)?;
    let rows = match shape.is_in {
        true => copy_in(line, connection, text, shape),
        false => copy_out(line, connection, text, shape),
    }?;
    tell_notices(line, connection);
    Ok(cairndb::command_tag("COPY", rows, None))
}

fn copy_in(line: &mut Line, connection: &Connection, text: &str, shape: CopyShape) -> Result<u64, Broken> {
    let mut incoming = Incoming { line, shape: Some(shape), piece: Vec::new(), at: 0, is_over: false, failed: None };
    let copied = connection.copy_in(text, &mut incoming);
    match incoming.failed {
        Some(Broken::Failed(said)) => {
            let context = copied.as_ref().err().and_then(Error::context).map(str::to_owned);
            let error = match context {
                Some(context) => said.with_context(context),
                None => said,
            };
            Err(Broken::Failed(error))
        }
        Some(gone) => Err(gone),
        None => Ok(copied?),
    }
}

/// The client's data, asked for when the statement asks for it.
struct Incoming<'l> {
    line: &'l mut Line,
    /// Until the client was told that it may send.
    shape: Option<CopyShape>,
    /// What came and was not read so far.
    piece: Vec<u8>,
    at: usize,
    is_over: bool,
    failed: Option<Broken>,
}

impl Incoming<'_> {
    /// Comes to the next piece, if there is one.
    fn advance(&mut self) -> Result<(), Broken> {
        loop {
            match self.line.conversation.copy_input()? {
                CopyInput::Data([]) => {}
                CopyInput::Data(bytes) => {
                    self.piece.clear();
                    self.piece.extend_from_slice(bytes);
                    self.at = 0;
                    return Ok(());
                }
                CopyInput::End => {
                    self.is_over = true;
                    return Ok(());
                }
                CopyInput::Wait => Wait::ClientRead.during(|| self.line.wait())?,
            }
        }
    }
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(shape) = self.shape.take() {
            self.line.conversation.copy_in(shape);
        }
        if self.at == self.piece.len() && !self.is_over {
            self.advance().map_err(|broken| {
                self.failed = Some(broken);
                self.is_over = true;
                io::Error::other("the client's data ended")
            })?;
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

fn copy_out(line: &mut Line, connection: &Connection, text: &str, shape: CopyShape) -> Result<u64, Broken> {
    let (mut has_begun, mut gone) = (false, None);
    let copied = connection.copy_out_rows(text, |row| {
        if !std::mem::replace(&mut has_begun, true) {
            line.conversation.copy_out(shape);
        }
        line.conversation.copy_row(row);
        line.flush_much().map_err(|error| {
            let told = Error::new(SqlState::CONNECTION_FAILURE, format!("the client took no more: {error}"));
            gone = Some(error);
            told
        })
    });
    if let Some(error) = gone {
        return Err(Broken::Gone(error));
    }
    let rows = copied?;
    if !has_begun {
        line.conversation.copy_out(shape);
    }
    line.conversation.copy_done();
    Ok(rows)
}

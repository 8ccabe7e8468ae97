//! What goes over the wire with a COPY: its shape before its data, and its rows one by one.

use super::{Copied, positions, source, target};
use super::{Executed, Runnable};
use crate::catalog::Table;
use crate::command;
use crate::session::Session;
use crate::{Error, Result, SqlState};

/// From [`Connection::copy_shape`](crate::Connection::copy_shape).
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let shape: cairndb::CopyShape = conn.copy_shape("COPY (SELECT 1, 2) TO STDOUT")?;
/// assert_eq!((shape.columns, shape.is_binary), (2, false));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyShape {
    /// Whether the data is the client's (COPY FROM); else it is for the client.
    pub is_in: bool,
    /// Whether its data is in the binary format.
    pub is_binary: bool,
    /// How many columns its rows have.
    pub columns: usize,
}

impl Session {
    pub(crate) fn copy_shape(&self, sql: &str) -> Result<CopyShape> {
        let parsed = self.runnable(sql)?.parsed;
        let mut shape = CopyShape { is_in: false, is_binary: false, columns: 0 };
        self.run_as_statement(false, || {
            let copy = self.client_copy(&parsed)?;
            let (is_in, columns) = match &copy.what {
                Copied::Into { table, columns } => {
                    let table = target(table, &*self.catalog()?)?;
                    (true, count(&table, columns)?)
                }
                Copied::From { table, columns } => {
                    let table = source(table, &*self.catalog()?)?;
                    (false, count(&table, columns)?)
                }
                Copied::Query(query) => {
                    let statement = parsed.within(*query, Vec::new());
                    command::refuse_into(&statement, "COPY (SELECT INTO)")?;
                    let mut runnable = Runnable::new(statement.into());
                    self.prepare_now(&mut runnable)?;
                    (false, runnable.prepared.as_ref().map_or(0, |prepared| prepared.fields().len()))
                }
            };
            shape = CopyShape { is_in, is_binary: copy.is_binary, columns };
            Ok(Executed::tag("COPY"))
        })?;
        Ok(shape)
    }

    /// See the connection's.
    pub(crate) fn copy_out_rows(&self, sql: &str, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let parsed = self.runnable(sql)?.parsed;
        self.copy_out_parsed(&parsed, each).map(|executed| executed.affected)
    }
}

fn count(table: &Table, columns: &[String]) -> Result<usize> {
    positions(table, columns).map(|positions| positions.len())
}

/// Rows as they come, put together to pieces that are worth a write.
pub(super) struct Pieces<'w> {
    output: &'w mut dyn std::io::Write,
    piece: Vec<u8>,
}

impl<'w> Pieces<'w> {
    pub(super) fn new(output: &'w mut dyn std::io::Write) -> Pieces<'w> {
        Pieces { output, piece: Vec::with_capacity(2 * super::BUFFER_BYTES) }
    }

    pub(super) fn add(&mut self, row: &[u8]) -> Result<()> {
        self.piece.extend_from_slice(row);
        if self.piece.len() >= super::BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    /// SQLSTATE 58030 where it can not be written.
    pub(super) fn write(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.piece);
        self.piece.clear();
        written.map_err(|error| Error::new(SqlState::IO_ERROR, format!("could not write COPY data: {error}")))
    }
}

//! What goes over the wire with a COPY: its shape before its data, and its rows one by one.

use super::{Copied, positions, source, target};
use crate::api::execute::{Executed, Runnable};
use crate::api::{ClientCopy, Connection};
use crate::catalog::Table;
use crate::command;
use crate::{Error, Result, SqlState};

/// From [`Connection::copy_shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyShape {
    /// Which way it goes.
    pub direction: ClientCopy,
    /// Whether its data is in the binary format.
    pub is_binary: bool,
    /// How many columns its rows have.
    pub columns: usize,
}

impl Connection {
    /// What the data of a COPY from or to the client is, which is not run for that.
    ///
    /// ```
    /// use cairndb::{ClientCopy, CopyShape};
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE planet (id int PRIMARY KEY, name text)", ())?;
    /// let shape = conn.copy_shape("COPY planet FROM STDIN (FORMAT binary)")?;
    /// assert_eq!(shape, CopyShape { direction: ClientCopy::In, is_binary: true, columns: 2 });
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of running it, as far as they can be told before; they fail the open transaction.
    pub fn copy_shape(&self, sql: &str) -> Result<CopyShape> {
        let parsed = self.runnable(sql)?.parsed;
        let mut shape = CopyShape { direction: ClientCopy::Out, is_binary: false, columns: 0 };
        self.run_as_statement(false, || {
            let copy = self.client_copy(&parsed)?;
            let (direction, columns) = match &copy.what {
                Copied::Into { table, columns } => {
                    let table = target(table, &*self.catalog()?)?;
                    (ClientCopy::In, count(&table, columns)?)
                }
                Copied::From { table, columns } => {
                    let table = source(table, &*self.catalog()?)?;
                    (ClientCopy::Out, count(&table, columns)?)
                }
                Copied::Query(query) => {
                    let statement = parsed.within(*query, Vec::new());
                    command::refuse_into(&statement, "COPY (SELECT INTO)")?;
                    let mut runnable = Runnable::new(statement.into());
                    self.prepare_now(&mut runnable)?;
                    (ClientCopy::Out, runnable.prepared.as_ref().map_or(0, |prepared| prepared.fields().len()))
                }
            };
            shape = CopyShape { direction, is_binary: copy.is_binary, columns };
            Ok(Executed::tag("COPY"))
        })?;
        Ok(shape)
    }

    /// As [`Connection::copy_out`], each of whose rows is handed to `each` with its end of line; so are the header and what ends
    /// binary data, the beginning of binary data together with the first row.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut rows = Vec::new();
    /// conn.copy_out_rows("COPY (VALUES (1), (2)) TO STDOUT", |row| Ok(rows.push(row.to_vec())))?;
    /// assert_eq!(rows, [b"1\n", b"2\n"]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The statement's, and those of `each`, which end it.
    pub fn copy_out_rows(&self, sql: &str, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let parsed = self.runnable(sql)?.parsed;
        self.copy_out_parsed(&parsed, &mut each).map(|executed| executed.affected)
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

//! COPY from and to the client.

use std::io::{Read, Write};

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders};

use super::{Connection, Params};
use crate::Result;
use crate::columns::Batch;
use crate::command::{self, Command, Endpoint};
use crate::session::CopyShape;
use crate::sql::parse_one;

/// Which way a COPY goes whose other end is the client.
///
/// ```
/// use cairndb::ClientCopy;
///
/// assert_eq!(ClientCopy::of("COPY t FROM STDIN"), Some(ClientCopy::In));
/// assert_eq!(ClientCopy::of("COPY t TO STDOUT"), Some(ClientCopy::Out));
/// assert_eq!(ClientCopy::of("SELECT 1"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCopy {
    /// `COPY .. FROM STDIN`, for [`Connection::copy_in`](crate::Connection::copy_in).
    In,
    /// `COPY .. TO STDOUT`, for [`Connection::copy_out`](crate::Connection::copy_out).
    Out,
}

impl ClientCopy {
    /// What a statement is; `None`: something else.
    pub fn of(sql: &str) -> Option<ClientCopy> {
        // Most statements are not read for this.
        let first = Lexer::new(sql, 0, Placeholders::default()).next_token();
        let parsed = (first.kind == TokenKind::Copy).then(|| parse_one(sql).ok()).flatten()?;
        if command::reads_data(&parsed) {
            // Whatever else is wrong with it, its data is no statement.
            return Some(ClientCopy::In);
        }
        match Command::of(&parsed).ok()? {
            Command::Copy(copy) if copy.endpoint == Endpoint::Client => Some(ClientCopy::Out),
            _ => None,
        }
    }
}

impl Connection {
    /// Runs a `COPY table FROM STDIN`, whose data is what `input` gives, as one statement; the number of rows. The data is read
    /// up to its end, or to a line of `\.`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE planet (id int PRIMARY KEY, name text)", ())?;
    /// let rows = conn.copy_in("COPY planet FROM STDIN (FORMAT csv, HEADER)", &b"id,name\n3,Earth\n4,\n"[..])?;
    /// assert_eq!(rows, 2);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// With the line, and the column where it is known, as [`Error::context`](crate::Error::context). Outside a transaction it runs in one of its own,
    /// once: 40001 is the caller's to answer, for the data is read.
    pub fn copy_in(&self, sql: &str, input: impl Read) -> Result<u64> {
        self.session.copy_in(sql, input)
    }

    /// Inserts rows as fast as can be, as one statement: as `COPY` does, without text in between; the number of rows. `table`: its
    /// name, or its schema's and its own with a dot between; `columns`: those that each of the rows has a value for, or none for
    /// all but generated ones. Names are as they are, in upper and lower case.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE reading (id bigint PRIMARY KEY, sensor text, value float8 DEFAULT 0)", ())?;
    /// let readings = (0..1000i64).map(|n| (n, format!("sensor {}", n % 10)));
    /// assert_eq!(conn.append("reading", &["id", "sensor"], readings)?, 1000);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// With the row, and the column where it is known, as [`Error::context`](crate::Error::context); nothing of it stays then. Outside a transaction it
    /// runs in one of its own, once, as [`Connection::copy_in`](crate::Connection::copy_in). The iterator is asked while the statement runs: it can not use
    /// the same connection.
    pub fn append<P: Params>(&self, table: &str, columns: &[&str], rows: impl IntoIterator<Item = P>) -> Result<u64> {
        self.session.append(table, columns, rows)
    }

    /// As [`Connection::append`], of rows by column: what a program has as arrays of numbers and strings goes in without a value
    /// each in between. Columns may be of other types than the table's, as parameters may; of the same, they go in
    /// as they are.
    ///
    /// ```
    /// use cairndb::{Batch, ByteStrings, Data, DataType, Vector};
    ///
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE reading (id bigint PRIMARY KEY, sensor text, value float8 DEFAULT 0)", ())?;
    /// let sensors = ByteStrings::from_parts(vec![4, 8], b"roofdoor".to_vec())?;
    /// let batch = Batch::of(vec![
    ///     Vector::from_data(DataType::Integer, Data::I32(vec![1, 2]), None)?,
    ///     Vector::from_data(DataType::Text, Data::Bytes(sensors), None)?,
    /// ])?;
    /// assert_eq!(conn.append_batches("reading", &["id", "sensor"], [Ok(batch)])?, 2);
    /// assert_eq!(conn.query_row_as::<String>("SELECT sensor FROM reading WHERE id = 2", ())?, "door");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Connection::append`]'s, and those that the iterator gives, which end the statement.
    pub fn append_batches(
        &self,
        table: &str,
        columns: &[&str],
        batches: impl IntoIterator<Item = Result<Batch>>,
    ) -> Result<u64> {
        self.session.append_batches(table, columns, batches)
    }

    /// Runs a `COPY .. TO STDOUT`, whose data `output` takes; the number of rows.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut out = Vec::new();
    /// conn.copy_out("COPY (SELECT 1, 'a b', NULL) TO STDOUT (FORMAT csv)", &mut out)?;
    /// assert_eq!(out, b"1,a b,\n");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn copy_out(&self, sql: &str, output: impl Write) -> Result<u64> {
        self.session.copy_out(sql, output)
    }

    /// What the data of a COPY from or to the client is, which is not run for that.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE planet (id int PRIMARY KEY, name text)", ())?;
    /// let shape = conn.copy_shape("COPY planet FROM STDIN (FORMAT binary)")?;
    /// assert_eq!(shape, cairndb::CopyShape { is_in: true, is_binary: true, columns: 2 });
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of running it, as far as they can be told before; they fail the open transaction.
    pub fn copy_shape(&self, sql: &str) -> Result<CopyShape> {
        self.session.copy_shape(sql)
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
        self.session.copy_out_rows(sql, &mut each)
    }
}

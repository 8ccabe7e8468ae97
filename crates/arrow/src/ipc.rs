//! Arrow's stream format, piece by piece.

use arrow_ipc::writer::StreamWriter;
use cairndb::{Batch, Error, Result, SqlState};

use crate::Shape;

/// What the format is called in headers of HTTP.
pub const MEDIA_TYPE: &str = "application/vnd.apache.arrow.stream";

/// Writes rows as a stream: after each call the bytes that are there can be taken.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let mut rows = conn.query("SELECT 1 AS one", ())?;
/// let first = rows.next_batch(1)?;
/// let shape = cairndb_arrow::Shape::of(rows.columns(), first.as_ref(), true);
/// let mut encoder = cairndb_arrow::Encoder::new(shape)?;
/// encoder.write(first.expect("one row"))?;
/// assert!(!encoder.take().is_empty() && !encoder.finish()?.is_empty());
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Encoder {
    shape: Shape,
    writer: StreamWriter<Vec<u8>>,
}

impl Encoder {
    /// A stream of such rows, which begins with what they are.
    ///
    /// # Errors
    ///
    /// Internal ones.
    pub fn new(shape: Shape) -> Result<Encoder> {
        let writer = StreamWriter::try_new(Vec::new(), shape.schema()).map_err(|error| unwritten(&error))?;
        Ok(Encoder { shape, writer })
    }

    /// Appends rows.
    ///
    /// # Errors
    ///
    /// As [`Shape::record_batch`].
    pub fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = self.shape.record_batch(batch)?;
        self.writer.write(&batch).map_err(|error| unwritten(&error))
    }

    /// What was written and not taken.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }

    /// Ends the stream; what was not taken of it.
    ///
    /// # Errors
    ///
    /// Internal ones.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.writer.finish().map_err(|error| unwritten(&error))?;
        Ok(self.take())
    }
}

fn unwritten(error: &arrow_schema::ArrowError) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "rows could not be written as Arrow's").with_detail(error.to_string())
}

//! A stream of Arrow's batches as rows.
//!
//! What hands it over is another library, whose pointers have to be believed: there is no other way to tell how much memory
//! stands behind one. All else is looked at before it is used: how many buffers and children there are, lengths, offsets,
//! what is text and what a dictionary has.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use cairndb::{Batch, Result};

use crate::error::malformed;
use crate::import::batch_of;
use crate::table::sql_fields;

/// So many rows are made of a batch at a time: as many as are inserted together.
const ROWS: usize = 1024;

/// Rows that come as Arrow's batches, for [`Connection::append_batches`](cairndb::Connection::append_batches). An error ends them.
pub struct Incoming {
    reader: Box<dyn RecordBatchReader + Send>,
    columns: Vec<cairndb::Field>,
    current: Option<RecordBatch>,
    is_over: bool,
}

impl Incoming {
    /// Those that a reader gives.
    ///
    /// # Errors
    ///
    /// 0A000 for types that no column has.
    pub fn of_reader(reader: impl RecordBatchReader + Send + 'static) -> Result<Incoming> {
        let columns = sql_fields(&reader.schema())?;
        Ok(Incoming { reader: Box::new(reader), columns, current: None, is_over: false })
    }

    /// Those that another library of the process gives (Arrow's C stream interface).
    ///
    /// # Safety
    ///
    /// `stream` points to a stream that nobody else uses, or that is released. It is empty afterwards.
    ///
    /// # Errors
    ///
    /// As [`Incoming::of_reader`]; 22P03 where it is no stream of rows.
    pub unsafe fn of_stream(stream: *mut FFI_ArrowArrayStream) -> Result<Incoming> {
        // SAFETY: the caller's.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
        Incoming::of_reader(Foreign::new(stream).map_err(|error| malformed(&error))?)
    }

    /// Names and types of the columns of a table that takes all that comes.
    pub fn columns(&self) -> &[cairndb::Field] {
        &self.columns
    }

    fn pull(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(current) = self.current.take().filter(|current| current.num_rows() > 0) {
                let count = current.num_rows().min(ROWS);
                self.current = Some(current.slice(count, current.num_rows() - count));
                return batch_of(&current.slice(0, count)).map(Some);
            }
            match self.reader.next().transpose().map_err(|error| malformed(&error))? {
                Some(batch) => self.current = Some(batch),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for Incoming {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.is_over {
            return None;
        }
        let pulled = self.pull();
        self.is_over = !matches!(pulled, Ok(Some(_)));
        pulled.transpose()
    }
}

/// Another library's stream.
struct Foreign {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
}

impl Foreign {
    fn new(mut stream: FFI_ArrowArrayStream) -> std::result::Result<Foreign, ArrowError> {
        let get_schema = stream.get_schema().filter(|_| stream.release().is_some());
        let get_schema = get_schema.ok_or_else(|| foul("the stream was used up, or has no schema"))?;
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the callback is the stream's own, which is not released.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(last_error(&mut stream, code));
        }
        if schema.release().is_none() {
            return Err(foul("the stream's schema is none"));
        }
        let schema = guarded(|| Schema::try_from(&schema))?;
        Ok(Foreign { stream, schema: Arc::new(schema) })
    }

    fn pull(&mut self) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        let get_next = self.stream.get_next().ok_or_else(|| foul("the stream has no batches"))?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Err(last_error(&mut self.stream, code));
        }
        if array.is_released() {
            return Ok(None);
        }
        let of = DataType::Struct(self.schema.fields().clone());
        guarded(|| {
            // SAFETY: its pointers are what the module says; what they point to is looked at before it is used.
            let data = unsafe { from_ffi_and_data_type(array, of) }?;
            data.validate_full()?;
            let options = RecordBatchOptions::new().with_row_count(Some(data.len()));
            let rows = StructArray::from(data);
            if rows.null_count() > 0 {
                return Err(foul("rows that are NULL as a whole"));
            }
            RecordBatch::try_new_with_options(self.schema.clone(), rows.into_parts().1, &options).map(Some)
        })
    }
}

impl Iterator for Foreign {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pull().transpose()
    }
}

impl RecordBatchReader for Foreign {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Arrow's library asserts some of what it is given.
fn guarded<T>(read: impl FnOnce() -> std::result::Result<T, ArrowError>) -> std::result::Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(foul("an array that is not of the schema's type")))
}

fn foul(message: &str) -> ArrowError {
    ArrowError::CDataInterface(message.to_owned())
}

/// What the stream says of its last call, which failed.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let said = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the stream's own callback, after a call that failed; the text lives until the next call.
        unsafe {
            let text = get_last_error(&raw mut *stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    ArrowError::CDataInterface(said.unwrap_or_else(|| format!("error {code}")))
}

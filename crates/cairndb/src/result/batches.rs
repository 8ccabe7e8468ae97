//! Result rows by column.

use std::sync::Arc;

use super::Rows;
use super::rows::RowSource;
use crate::columns::{Batch, Vector};
use crate::{DataType, Result, Value};

/// A batch has not many more bytes, however many rows were asked for.
const BYTES: usize = 16 << 20;

impl Rows {
    /// The next rows by column: at least `rows_min`, or as many as there are, or what takes 16 MiB or more; not empty. `None`: there are
    /// no more. With 1, they are as they were worked out, a thousand or so, and nothing is copied. Text is UTF-8.
    ///
    /// It may be mixed with [`Rows::next`]: each row is given once.
    ///
    /// ```
    /// use cairndb::{Data, DataType};
    ///
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let mut rows = conn.query("SELECT n, n::text FROM generate_series(1, 5000) AS n", ())?;
    /// let mut sum = 0;
    /// while let Some(batch) = rows.next_batch(1)? {
    ///     let numbers = &batch.columns()[0];
    ///     let Data::I32(items) = numbers.data() else { panic!("integers are such") };
    ///     assert!(numbers.data_type() == DataType::Integer && numbers.validity().is_none(), "no NULLs");
    ///     sum += items.iter().sum::<i32>();
    /// }
    /// assert_eq!((sum, rows.count_so_far()), (12_502_500, 5000));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The query's; rows that were worked out in the same call before it are not given then.
    pub fn next_batch(&mut self, rows_min: usize) -> Result<Option<Batch>> {
        let Some(mut batch) = self.next_columns()? else { return Ok(None) };
        let mut bytes = batch.memory_bytes();
        while batch.len() < rows_min && bytes < BYTES && !self.is_endless() {
            let Some(more) = self.next_columns()? else { break };
            bytes += more.memory_bytes();
            batch.append_alike(&more)?;
        }
        batch.mend_text();
        self.count += batch.len() as u64;
        Ok(Some(batch))
    }

    /// The next rows, as they lie.
    fn next_columns(&mut self) -> Result<Option<Batch>> {
        self.check_part()?;
        if let RowSource::Stream { current, .. }
        | RowSource::Ready { current, .. }
        | RowSource::Collected { current, .. } = &mut self.source
            && let Some(rest) = current.rest()
        {
            return Ok(Some(rest));
        }
        if !self.advance()? {
            return Ok(None);
        }
        let types: Vec<DataType> = self.columns().iter().map(|field| field.data_type).collect();
        match &mut self.source {
            RowSource::Few { rows, next } => {
                let first = std::mem::replace(next, rows.len()) - 1;
                batch_of(&types, (first..rows.len()).map(|row| rows.row(row))).map(Some)
            }
            RowSource::Endless(rows) => batch_of(&types, std::iter::once(rows.row())).map(Some),
            RowSource::Stream { current, .. }
            | RowSource::Ready { current, .. }
            | RowSource::Collected { current, .. } => Ok(current.batch.take()),
        }
    }
}

fn batch_of<'r>(types: &[DataType], rows: impl ExactSizeIterator<Item = &'r [Value]>) -> Result<Batch> {
    let count = rows.len();
    let mut columns: Vec<Vector> = types.iter().map(|&of| Vector::with_capacity(of, count)).collect();
    for row in rows {
        columns.iter_mut().zip(row).try_for_each(|(column, value)| column.push(value))?;
    }
    Ok(Batch::new(columns.into_iter().map(Arc::new).collect(), count))
}

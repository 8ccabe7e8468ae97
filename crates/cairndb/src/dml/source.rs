//! The input rows of a data-changing statement.

use crate::catalog::IndexColumn;
use cairn_storage::{KeyList, TransactionWriter};

use super::row::{BatchRow, LentRow, Target, Trees};
use crate::columns::{Batch, Data};
use crate::exec::{BatchList, Cx, ExecContext, Shared, Step, Turn};
use crate::plan::Columns;
use crate::state::{Transaction, row_number_key};
use crate::types::{ValueRef, key};
use crate::{Error, Result};

/// All rows of a statement's source, read before the first write so that the statement never sees its own changes. They stay in
/// columns: compact, and values are made one row at a time; on disk, where they are too many.
pub(super) struct Source<'s> {
    batches: &'s BatchList,
    shared: &'s Shared,
}

/// Where the next row of a source is.
#[derive(Default)]
pub(super) struct Place {
    pub(super) batch: usize,
    pub(super) row: usize,
}

impl<'s> Source<'s> {
    /// Their text is known to be text.
    pub(super) fn new(batches: &'s BatchList, shared: &'s Shared) -> Source<'s> {
        Source { batches, shared }
    }

    /// What a change keeps of them is charged to.
    pub(super) fn shared(&self) -> &'s Shared {
        self.shared
    }

    /// The rows from a place on, each with the position of its batch, and with a check against cancellation before each batch.
    /// Where the turn is over, the place is that of the next one.
    pub(super) fn for_each_row(
        &self,
        (context, turn): (&ExecContext, &Turn),
        place: &mut Place,
        mut each: impl FnMut(usize, BatchRow<'_>) -> Result<()>,
    ) -> Step<()> {
        self.for_each_batch((context, turn), place, |batch, place| {
            for row in rows_of(batch, place.row) {
                each(place.batch, row)?;
                place.row = row.row + 1;
                turn.take()?;
            }
            Ok(())
        })
    }

    /// As `for_each_row`, a batch at a time, of which it goes on in the row that `each` has put in the place.
    pub(super) fn for_each_batch(
        &self,
        (context, turn): (&ExecContext, &Turn),
        place: &mut Place,
        mut each: impl FnMut(&Batch, &mut Place) -> Step<()>,
    ) -> Step<()> {
        while place.batch < self.batches.len() {
            turn.take()?;
            context.check()?;
            match self.batches.kept(place.batch) {
                Some(batch) => each(batch, place)?,
                None => each(&self.batch(place.batch)?, place)?,
            }
            *place = Place { batch: place.batch + 1, row: 0 };
        }
        Ok(())
    }

    /// Whether there are at most so many rows.
    pub(super) fn has_at_most(&self, rows: usize) -> bool {
        self.batches.has_at_most(rows)
    }

    /// How many batches there are.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// One of the batches.
    pub(super) fn batch(&self, at: usize) -> Result<Batch> {
        let cx = Cx { shared: self.shared, outer: None, writes: None };
        self.batches.get(at, cx)?.ok_or_else(|| Error::internal("no such batch of a statement's rows"))
    }
}

/// A batch's rows from one on.
pub(super) fn rows_of(batch: &Batch, from: usize) -> impl Iterator<Item = BatchRow<'_>> {
    (from..batch.len()).map(|row| BatchRow { columns: batch.columns(), row })
}

/// Where a batch's rows are changed. Who asks nobody else anything holds the transaction for all of them.
pub(super) fn held_trees<'t, 'a>(
    hold: &'t mut Option<TransactionWriter<'a>>,
    transaction: &'t mut &'a Transaction,
) -> &'t mut dyn Trees {
    match hold {
        Some(writer) => writer,
        None => transaction,
    }
}

/// Writes the tree key of the row that a source row begins with over `out`.
pub(super) fn source_key(target: &Target, row: BatchRow<'_>, out: &mut Vec<u8>) -> Result<()> {
    let Target { table, layout, .. } = target;
    out.clear();
    if layout.has_row_numbers() {
        let Some(ValueRef::BigInt(number)) = row.lend(table.columns.len()) else {
            return Err(Error::internal("a source row lacks its row number"));
        };
        out.extend_from_slice(&row_number_key(number.cast_unsigned()));
    }
    for (column, data_type) in layout.key_columns() {
        match row.lend(column) {
            Some(value) => key::encode_ref(value, data_type, false, false, out),
            None => key::encode_ref(row.column(column)?.get(), data_type, false, false, out),
        }
    }
    Ok(())
}

/// Appends the tree keys of the rows that the rows of a batch begin with to `keys`; false, and nothing appended, where they are
/// more than a number.
pub(super) fn source_numbers(target: &Target, batch: &Batch, keys: &mut KeyList) -> bool {
    let Target { table, layout, .. } = target;
    let &[IndexColumn { column, .. }] = table.row_key() else { return false };
    let Some(numbers) = batch.columns().get(column) else { return false };
    if layout.has_row_numbers()
        || numbers.validity().is_some()
        || !layout.key_types().iter().all(|&of| key::is_integer(of))
    {
        return false;
    }
    let mut push = |number: i64| keys.push_with(|out| key::encode_integer(number, out));
    match numbers.data() {
        Data::I16(numbers) => numbers.iter().for_each(|&number| push(number.into())),
        Data::I32(numbers) => numbers.iter().for_each(|&number| push(number.into())),
        Data::I64(numbers) => numbers.iter().for_each(|&number| push(number)),
        _ => return false,
    }
    true
}

//! Changed rows as batches, and the plans that read them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::catalog::{Index, Table};
use crate::exec::batch::{Batch, row_number};
use crate::exec::context::ExecContext;
use crate::exec::scan::{KeyPart, RowReader, row_key};
use crate::exec::stream::{Kept, execute_over};
use crate::exec::vector::{Data, Vector};
use crate::plan::Term;
use crate::types::DataType;
use crate::{Error, Result, Value};

/// Columns of rows that changed, and the weight: what was there -1, what is there 1. By the number that plans read it under.
pub(crate) type Changed = [(usize, Arc<RowChanges>)];

/// See [`changed_rows`].
#[derive(Debug)]
pub(crate) struct RowChanges {
    batch: Batch,
    /// The same row by row, made when it is first asked for.
    rows: OnceLock<Vec<Vec<Value>>>,
}

impl RowChanges {
    fn new(batch: Batch) -> RowChanges {
        RowChanges { batch, rows: OnceLock::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    pub(super) fn rows(&self) -> &[Vec<Value>] {
        self.rows.get_or_init(|| (0..self.batch.len()).map(|row| self.batch.row(row)).collect())
    }
}

/// What is kept between changes is not kept of larger ones.
const MANY: usize = 1024;

/// Reads columns of a table's changed rows. Made once for a plan: it takes longer than to read a row.
pub(crate) struct ChangedReader {
    reader: Mutex<RowReader>,
    columns: usize,
}

impl ChangedReader {
    pub(crate) fn new(table: &Table, columns: &[usize]) -> ChangedReader {
        ChangedReader { reader: Mutex::new(RowReader::new(table, columns)), columns: columns.len() }
    }
}

/// Columns of rows that changed, and the weight: what was there -1, what is there 1. `None`: none differs in these columns.
pub(crate) fn changed_rows<'e>(
    reader: &ChangedReader,
    entries: impl Iterator<Item = (&'e [u8], Option<&'e [u8]>, Option<&'e [u8]>)>,
) -> Result<Option<RowChanges>> {
    let columns = reader.columns;
    let (mut keys, mut rows, mut weights) = (vec![], vec![], vec![]);
    for (key, older, newer) in entries {
        for (row, weight) in [(older, -1i64), (newer, 1)] {
            if let Some(row) = row {
                keys.push(key);
                rows.push(row);
                weights.push(weight);
            }
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let mut reader = reader.reader.lock().unwrap_or_else(PoisonError::into_inner);
    let mut vectors = reader.vectors(rows.len());
    let is_read = reader.read(&keys, &rows, &mut vectors);
    if rows.len() > MANY {
        reader.let_go();
    }
    is_read?;
    vectors.push(Vector::from_parts(DataType::BigInt, Data::I64(weights), None));
    let batch = Batch::new(vectors.into_iter().map(Arc::new).collect(), rows.len());
    // A row as it was and as it is stand side by side: what is the same here did not change.
    let is_same = |at: usize| {
        at + 1 < batch.len()
            && keys[at] == keys[at + 1]
            && batch.columns()[..columns].iter().all(|column| looks_same(column, at))
    };
    let (mut kept, mut at) = (vec![], 0);
    while at < batch.len() {
        if is_same(at) {
            at += 2;
            continue;
        }
        kept.push(row_number(at));
        at += 1;
    }
    Ok(match kept.len() {
        0 => None,
        all if all == batch.len() => Some(RowChanges::new(batch)),
        _ => Some(RowChanges::new(batch.gather(&kept))),
    })
}

/// Whether a value and the next one are the same and look the same.
fn looks_same(column: &Vector, at: usize) -> bool {
    match column.data() {
        Data::I32(values) if column.validity().is_none() => values[at] == values[at + 1],
        Data::I64(values) if column.validity().is_none() => values[at] == values[at + 1],
        Data::Bytes(values) if column.validity().is_none() => values.get(at) == values.get(at + 1),
        _ => {
            let (older, newer) = (column.value(at), column.value(at + 1));
            // (1.0 is 1.00, and looks different.)
            older == newer && older.to_string() == newer.to_string()
        }
    }
}

/// The key of the row that an index's entry is of.
pub(crate) fn entry_row_key<'k>(table: &Table, index: &Index, key: &'k [u8], value: &'k [u8]) -> Result<&'k [u8]> {
    row_key(&KeyPart::of_index(table, index), key, value)
}

/// Runs a plan of a part of the change; `each` gets its rows, whose last column is the weight.
pub(crate) fn run_term(
    term: &Term,
    kept: &Kept,
    context: &ExecContext,
    changed: &Changed,
    each: &mut dyn FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    let (mut read, mut missing) = (vec![], vec![]);
    for id in &term.reads {
        match changed.iter().find(|(known, _)| known == id) {
            Some((id, rows)) => read.push((*id, rows.batch.clone())),
            None => missing.push(*id),
        }
    }
    if read.is_empty() {
        return Ok(());
    }
    let mut stream = execute_over(term.plan.clone(), context.clone(), kept, &read, &missing)?;
    while let Some(batch) = stream.next_batch()? {
        each(&batch)?;
    }
    Ok(())
}

/// The weight of a row, which is its last column.
pub(crate) fn weight_of(batch: &Batch, row: usize) -> Result<i64> {
    match batch.columns().last().map(|column| (column.data(), column.is_null(row))) {
        Some((Data::I64(weights), false)) => Ok(weights[row]),
        _ => Err(Error::internal("a changed row without weight")),
    }
}

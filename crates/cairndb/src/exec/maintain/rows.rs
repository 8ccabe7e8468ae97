//! Changed rows as batches, and the plans that read them.

use std::sync::{Arc, OnceLock};

use crate::catalog::{Index, Table, TableLayout};
use crate::columns::{Batch, Data, Vector, row_number};
use crate::exec::context::ExecContext;
use crate::exec::scan::{KeyPart, RowReader, column_type, row_key};
use crate::exec::stored::Stored;
use crate::exec::stream::{Kept, execute_over};
use crate::plan::{CteId, Term};
use crate::sync::Mutex;
use crate::types::DataType;
use crate::{Error, Result, Value};

/// Columns of rows that changed, and the weight: what was there -1, what is there 1. By the number that plans read it under.
pub(crate) type Changed = [(CteId, Arc<RowChanges>)];

/// See [`changed_rows`]: row by row or as a batch, whichever it came as; the other form is made when it is first asked for.
#[derive(Debug)]
pub(crate) struct RowChanges {
    len: usize,
    types: Arc<[DataType]>,
    batch: OnceLock<Batch>,
    rows: OnceLock<Vec<Vec<Value>>>,
}

impl RowChanges {
    fn of_batch(batch: Batch, types: &Arc<[DataType]>) -> RowChanges {
        RowChanges { len: batch.len(), types: types.clone(), batch: OnceLock::from(batch), rows: OnceLock::new() }
    }

    fn of_rows(rows: Vec<Vec<Value>>, types: &Arc<[DataType]>) -> RowChanges {
        RowChanges { len: rows.len(), types: types.clone(), batch: OnceLock::new(), rows: OnceLock::from(rows) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether some row has NULL in the column.
    fn has_null(&self, column: usize) -> bool {
        match (self.rows.get(), self.batch.get()) {
            (Some(rows), _) => rows.iter().any(|row| row[column] == Value::Null),
            (None, Some(batch)) => (0..batch.len()).any(|row| batch.columns()[column].is_null(row)),
            (None, None) => false,
        }
    }

    pub(super) fn rows(&self) -> &[Vec<Value>] {
        let rows = || self.batch.get().map(|batch| (0..batch.len()).map(|row| batch.row(row)).collect());
        self.rows.get_or_init(|| rows().unwrap_or_default())
    }

    fn batch(&self) -> Result<&Batch> {
        if let Some(batch) = self.batch.get() {
            return Ok(batch);
        }
        let rows = self.rows();
        let column = |(at, data_type): (usize, &DataType)| {
            let mut vector = Vector::with_capacity(*data_type, rows.len());
            rows.iter().try_for_each(|row| vector.push(&row[at]))?;
            Ok(Arc::new(vector))
        };
        let columns = self.types.iter().enumerate().map(column).collect::<Result<_>>()?;
        Ok(self.batch.get_or_init(|| Batch::new(columns, rows.len())))
    }
}

/// More changed rows are worth vectors.
pub(super) const FEW_ROWS: usize = 64;
/// What is kept between changes is not kept of larger ones.
const MANY: usize = 1024;

/// Reads columns of a table's changed rows. Made once for a plan: it takes longer than to read a row.
pub(crate) struct ChangedReader {
    reader: Mutex<RowReader>,
    layout: TableLayout,
    columns: Vec<usize>,
    /// Of the columns, and of the weight.
    types: Arc<[DataType]>,
}

impl ChangedReader {
    pub(crate) fn new(table: &Table, columns: &[usize]) -> ChangedReader {
        let types = columns.iter().map(|&column| column_type(table, column));
        ChangedReader {
            reader: Mutex::new(RowReader::new(table, columns)),
            layout: TableLayout::new(table),
            columns: columns.to_vec(),
            types: types.chain([DataType::BigInt]).collect(),
        }
    }

    /// Whether rows can be read one by one: hidden row numbers are no columns.
    fn reads_rows(&self) -> bool {
        self.columns.iter().all(|&column| column != Table::ROW_NUMBER)
    }

    /// A row, and its weight behind it.
    fn row(&self, Version { key, row, weight }: &Version<'_>) -> Result<Vec<Value>> {
        let stored = Stored { layout: &self.layout, key, value: row };
        let mut values = Vec::with_capacity(self.columns.len() + 1);
        for &column in &self.columns {
            values.push(stored.datum(column)?.into_value());
        }
        values.push(Value::BigInt(*weight));
        Ok(values)
    }

    /// These rows row by row, without those that did not change.
    fn rows(&self, versions: &[Version<'_>]) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::<Vec<Value>>::with_capacity(versions.len());
        for (at, version) in versions.iter().enumerate() {
            let row = self.row(version)?;
            let is_newer = at > 0 && versions[at - 1].key == version.key;
            let columns = self.columns.len();
            match rows.last() {
                Some(older) if is_newer && older[..columns].iter().zip(&row).all(|(a, b)| look_same(a, b)) => {
                    rows.pop();
                }
                _ => rows.push(row),
            }
        }
        Ok(rows)
    }

    /// These rows as a batch, without those that did not change.
    fn batch(&self, versions: &[Version<'_>]) -> Result<Batch> {
        let keys: Vec<&[u8]> = versions.iter().map(|version| version.key).collect();
        let rows: Vec<&[u8]> = versions.iter().map(|version| version.row).collect();
        let weights = versions.iter().map(|version| version.weight).collect();
        let mut reader = self.reader.lock();
        let mut vectors = reader.vectors(rows.len());
        let is_read = reader.read(&keys, &rows, &mut vectors);
        if rows.len() > MANY {
            reader.let_go();
        }
        is_read?;
        vectors.push(Vector::from_parts(DataType::BigInt, Data::I64(weights), None));
        let batch = Batch::new(vectors.into_iter().map(Arc::new).collect(), rows.len());
        let is_same = |at: usize| {
            at + 1 < batch.len()
                && keys[at] == keys[at + 1]
                && batch.columns()[..self.columns.len()].iter().all(|column| looks_same(column, at))
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
        Ok(if kept.len() == batch.len() { batch } else { batch.gather(&kept) })
    }
}

/// A row as it was, with weight -1, or as it is, with 1. The two stand side by side.
struct Version<'e> {
    key: &'e [u8],
    row: &'e [u8],
    weight: i64,
}

/// Columns of rows that changed, and the weight: what was there -1, what is there 1. `None`: none differs in these columns.
pub(crate) fn changed_rows<'e>(
    reader: &ChangedReader,
    entries: impl Iterator<Item = (&'e [u8], Option<&'e [u8]>, Option<&'e [u8]>)>,
) -> Result<Option<RowChanges>> {
    let mut versions = vec![];
    for (key, older, newer) in entries {
        versions.extend(older.map(|row| Version { key, row, weight: -1 }));
        versions.extend(newer.map(|row| Version { key, row, weight: 1 }));
    }
    let changes = match versions.len() <= FEW_ROWS && reader.reads_rows() {
        true => RowChanges::of_rows(reader.rows(&versions)?, &reader.types),
        false => RowChanges::of_batch(reader.batch(&versions)?, &reader.types),
    };
    Ok((changes.len > 0).then_some(changes))
}

/// Whether a value and the next one are the same and look the same.
fn looks_same(column: &Vector, at: usize) -> bool {
    match column.data() {
        Data::I32(values) if column.validity().is_none() => values[at] == values[at + 1],
        Data::I64(values) if column.validity().is_none() => values[at] == values[at + 1],
        Data::Bytes(values) if column.validity().is_none() => values.get(at) == values.get(at + 1),
        _ => look_same(&column.value(at), &column.value(at + 1)),
    }
}

fn look_same(older: &Value, newer: &Value) -> bool {
    use Value as V;
    match (older, newer) {
        (V::Integer(a), V::Integer(b)) => a == b,
        (V::BigInt(a), V::BigInt(b)) => a == b,
        (V::Text(a), V::Text(b)) => a == b,
        // (1.0 is 1.00, and looks different.)
        _ => older == newer && older.to_string() == newer.to_string(),
    }
}

/// The key of the row that an index's entry is of.
pub(crate) fn entry_row_key<'k>(table: &Table, index: &Index, key: &'k [u8], value: &'k [u8]) -> Result<&'k [u8]> {
    row_key(&KeyPart::of_index(table, index), key, value)
}

impl Term {
    /// Whether it may give rows, where these are what changed.
    pub(crate) fn is_concerned(&self, changed: &Changed) -> bool {
        let rows_of = |id: CteId| changed.iter().find(|(known, _)| *known == id).map(|(_, rows)| rows);
        let needs = |nulls: &Vec<(CteId, usize)>| {
            nulls.iter().any(|(id, column)| rows_of(*id).is_some_and(|rows| rows.has_null(*column)))
        };
        self.reads.iter().any(|id| rows_of(*id).is_some()) && self.nulls.as_ref().is_none_or(needs)
    }
}

/// Runs a plan of a part of the change, which reads some of the changed rows; `each` gets its rows, whose last column is the weight.
pub(super) fn run_term(
    term: &Term,
    kept: &Kept,
    context: &ExecContext,
    changed: &Changed,
    each: &mut dyn FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    let (mut read, mut missing) = (vec![], vec![]);
    for id in &term.reads {
        match changed.iter().find(|(known, _)| known == id) {
            Some((id, rows)) => read.push((*id, rows.batch()?.clone())),
            None => missing.push(*id),
        }
    }
    let mut stream = execute_over(term.plan.clone(), context.clone(), kept, &read, &missing)?;
    while let Some(batch) = stream.next_batch()? {
        each(&batch)?;
    }
    Ok(())
}

/// The weight of a row, which is its last column.
pub(super) fn weight_of(batch: &Batch, row: usize) -> Result<i64> {
    match batch.columns().last().map(|column| (column.data(), column.is_null(row))) {
        Some((Data::I64(weights), false)) => Ok(weights[row]),
        _ => Err(Error::internal("a changed row without weight")),
    }
}

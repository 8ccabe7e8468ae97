//! Rows that are collected and then handed over: what RETURNING and FETCH give.
//!
//! Few are kept as they are. Of more than a batch, or [`FEW_BYTES`], a list of batches is made, which is charged to the statement and
//! lies on disk beyond `work_mem`. They are read once, in their order; what is left of them is held as long as they are.

use std::sync::Arc;

use super::context::{Cx, ExecContext, Shared};
use super::spill::BatchList;
use crate::columns::{Batch, Vector};
use crate::plan::Field;
use crate::{DataType, Error, Result, SqlState, Value};

/// What is kept as it is has at most so many bytes.
const FEW_BYTES: usize = 256 << 10;

/// See the module. Without a statement they are kept as they are, however many there are.
#[derive(Default)]
pub(crate) struct Collected {
    /// Those behind the list.
    few: Vec<Vec<Value>>,
    few_bytes: usize,
    listed: Option<Box<Listed>>,
}

/// Those that are not kept as they are.
struct Listed {
    shared: Shared,
    types: Vec<DataType>,
    list: BatchList,
    rows: usize,
    /// How many batches were read.
    read: usize,
}

impl std::fmt::Debug for Collected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.len())
    }
}

impl Collected {
    /// None yet, with these columns, of the statement that this is the context of.
    pub(crate) fn of(context: &ExecContext, fields: &[Field]) -> Collected {
        let shared = Shared::new(context.clone(), 0);
        let types = fields.iter().map(|field| field.data_type).collect();
        let listed = Listed { shared, types, list: BatchList::default(), rows: 0, read: 0 };
        Collected { few: Vec::new(), few_bytes: 0, listed: Some(Box::new(listed)) }
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) -> Result<()> {
        if let Some(listed) = &mut self.listed {
            self.few_bytes += row.iter().map(bytes_of).sum::<usize>();
            if self.few_bytes >= FEW_BYTES || self.few.len() >= listed.shared.context.batch_sizes.max {
                listed.add(&std::mem::take(&mut self.few))?;
                self.few_bytes = 0;
            }
        }
        self.few.push(row);
        Ok(())
    }

    /// The same, from here on as [`Collected::of`] has them.
    pub(crate) fn listed(self, context: &ExecContext, fields: &[Field]) -> Result<Collected> {
        let mut listed = Collected::of(context, fields);
        self.few.into_iter().try_for_each(|row| listed.push(row))?;
        Ok(listed)
    }

    /// Whether they are kept as they are, however many come.
    pub(crate) fn is_plain(&self) -> bool {
        self.listed.is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first of them.
    pub(crate) fn into_first(mut self) -> Result<Option<Vec<Value>>> {
        if let Some(listed) = &mut self.listed
            && let Some(batch) = listed.next()?
        {
            return Ok(Some(batch.row(0)));
        }
        Ok(self.few.into_iter().next())
    }

    /// The row that was pushed last.
    pub(crate) fn pop(&mut self) -> Option<Vec<Value>> {
        self.few.pop()
    }

    /// All are there: from here on they depend on nothing that ends with their statement.
    pub(crate) fn finish(mut self) -> Collected {
        match &mut self.listed {
            Some(listed) if listed.rows > 0 => listed.shared.context.end_statement(),
            _ => self.listed = None,
        }
        self
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.few.len() + self.listed.as_ref().map_or(0, |listed| listed.rows)
    }

    /// All of them, where there is no list.
    pub(crate) fn into_few(self) -> std::result::Result<Vec<Vec<Value>>, Collected> {
        match self.listed {
            None => Ok(self.few),
            Some(_) => Err(self),
        }
    }

    /// All of them, in memory; SQLSTATE 53200 where that is more than so many bytes.
    pub(crate) fn into_rows_within(mut self, budget: usize) -> Result<Vec<Vec<Value>>> {
        let (mut rows, mut held) = (Vec::new(), 0);
        if let Some(listed) = &mut self.listed {
            while let Some(batch) = listed.next()? {
                held += batch.memory_bytes();
                if held > budget {
                    return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory"));
                }
                rows.extend((0..batch.len()).map(|row| batch.row(row)));
            }
        }
        rows.append(&mut self.few);
        Ok(rows)
    }

    /// All of them, in memory.
    pub(crate) fn into_rows(self) -> Result<Vec<Vec<Value>>> {
        self.into_rows_within(usize::MAX)
    }

    /// The next ones, with columns of these types.
    pub(crate) fn next_batch(&mut self, types: &[DataType]) -> Result<Option<Batch>> {
        if let Some(listed) = &mut self.listed
            && let Some(batch) = listed.next()?
        {
            return Ok(Some(batch));
        }
        self.listed = None;
        match std::mem::take(&mut self.few) {
            few if few.is_empty() => Ok(None),
            few => batch_of(types, &few).map(Some),
        }
    }
}

impl From<Vec<Vec<Value>>> for Collected {
    fn from(few: Vec<Vec<Value>>) -> Collected {
        Collected { few, ..Collected::default() }
    }
}

impl Listed {
    fn add(&mut self, rows: &[Vec<Value>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.shared.context.check()?;
        let batch = batch_of(&self.types, rows)?;
        self.list.push(&batch, Cx { shared: &self.shared, outer: None, writes: None })?;
        self.rows += batch.len();
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let batch = self.list.get(self.read, Cx { shared: &self.shared, outer: None, writes: None })?;
        if let Some(batch) = &batch {
            (self.read, self.rows) = (self.read + 1, self.rows - batch.len());
        }
        Ok(batch)
    }
}

/// About how many bytes a value takes.
fn bytes_of(value: &Value) -> usize {
    let all = |values: &[Value]| values.iter().map(bytes_of).sum();
    let beside = match value {
        Value::Text(text) | Value::Json(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        Value::Jsonb(document) => document.as_bytes().len(),
        Value::Array(array) => all(array.values()),
        Value::Composite(row) => all(row.values()),
        _ => 0,
    };
    size_of::<Value>() + beside
}

fn batch_of(types: &[DataType], rows: &[Vec<Value>]) -> Result<Batch> {
    let mut columns: Vec<Vector> = types.iter().map(|&data_type| Vector::new(data_type)).collect();
    for row in rows {
        columns.iter_mut().zip(row).try_for_each(|(column, value)| column.push(value))?;
    }
    Ok(Batch::new(columns.into_iter().map(Arc::new).collect(), rows.len()))
}

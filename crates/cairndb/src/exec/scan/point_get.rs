//! One row by its whole key.

use std::sync::Arc;

use super::key_range::{KeyPart, encode_prefix};
use super::row_reader::RowReader;
use super::table_scan::{filtered, note_removed};
use crate::catalog::{Index, Table};
use crate::columns::Batch;
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, rebind_all};
use crate::exec::operator::{Operator, Step};
use crate::types::Uses;
use crate::{Result, Value};

/// At most one row of a table, by its primary key or a unique index.
pub(crate) struct PointGet {
    table: Arc<Table>,
    index: Option<Arc<Index>>,
    parts: Vec<KeyPart>,
    key: Vec<Evaluator>,
    reader: RowReader,
    filter: Option<Evaluator>,
    done: bool,
}

impl PointGet {
    pub(crate) fn new(
        table: &Arc<Table>,
        index: Option<&Arc<Index>>,
        columns: &[usize],
        key: Vec<Evaluator>,
        filter: Option<Evaluator>,
    ) -> PointGet {
        let parts = index.map_or_else(|| KeyPart::of_table(table), |index| KeyPart::of_index(table, index));
        let reader = RowReader::new(table, columns);
        PointGet { table: table.clone(), index: index.cloned(), parts, key, reader, filter, done: false }
    }

    fn note(&self, uses: Uses, cx: Cx<'_>) {
        cx.shared.uses.note(self.table.used_by(self.index.as_deref()), uses);
    }

    /// The row's key in the table's tree.
    fn row_key(&mut self, cx: Cx<'_>) -> Result<Option<Vec<u8>>> {
        let values = self.key.iter_mut().map(|value| value.scalar(cx)).collect::<Result<Vec<_>>>()?;
        let mut key = Vec::new();
        if !encode_prefix(values.into_iter(), &self.parts, &mut key) {
            return Ok(None);
        }
        self.note(Uses { scans: 1, ..Uses::default() }, cx);
        match &self.index {
            Some(index) => Ok(cx.context().reader.get(index.tree, &key)?),
            None => Ok(Some(key)),
        }
    }
}

impl Operator for PointGet {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        cx.check()?;
        let Some(key) = self.row_key(cx)? else { return Ok(None) };
        let mut vectors = self.reader.vectors(1);
        let reader = &mut self.reader;
        let found =
            cx.context().reader.get_with(self.table.tree, &key, |row| reader.read(&[&key], &[row], &mut vectors))?;
        match found {
            Some(read) => {
                read?;
                self.note(Uses { scans: 0, read: 1, fetched: 1 }, cx);
                let batch = filtered(vectors, 1, self.filter.as_mut(), cx)?;
                note_removed(1, batch.as_ref(), cx);
                Ok(batch)
            }
            None => Ok(None),
        }
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.done = false;
    }

    fn park(&mut self) -> bool {
        self.done = false;
        true
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(self.key.iter_mut().chain(&mut self.filter), parameters)
    }
}

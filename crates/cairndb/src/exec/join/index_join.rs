//! Index join: for each left row, the rows of a table under a key computed from it.

use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::Cursor;

use super::pairs::{Chunk, Pairing};
use crate::catalog::{Index, Table};
use crate::exec::batch::{Batch, row_number};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::exec::scan::{EntryReader, KeyPart, RowReader, encode_prefix};
use crate::exec::vector::Vector;
use crate::types::key;
use crate::{Result, Value};

/// How a looked-up row is read.
enum Lookup {
    Table(Box<RowReader>),
    Index(Arc<Index>, EntryReader),
}

/// See the module.
pub(crate) struct IndexJoin {
    left: BoxOperator,
    table: Arc<Table>,
    lookup: Lookup,
    parts: Vec<KeyPart>,
    keys: Vec<Evaluator>,
    /// The keys are a whole unique key.
    unique: bool,
    pairing: Pairing,
    batch: Option<(Batch, Vec<Arc<Vector>>)>,
    row: usize,
    /// The entries of `row` that are still to come.
    cursor: Option<Cursor>,
}

impl IndexJoin {
    pub(crate) fn new(
        left: BoxOperator,
        table: &Arc<Table>,
        index: Option<&Arc<Index>>,
        (columns, covering): (&[usize], bool),
        (keys, unique): (Vec<Evaluator>, bool),
        pairing: Pairing,
    ) -> IndexJoin {
        let (parts, lookup) = match index {
            None => (KeyPart::of_table(table), Lookup::Table(Box::new(RowReader::new(table, columns)))),
            Some(index) => {
                let reader = EntryReader::new(table, index, columns, covering);
                (KeyPart::of_index(table, index), Lookup::Index(index.clone(), reader))
            }
        };
        // Only a whole key names one entry; a shorter one is a prefix of many, however few rows it has.
        let unique = unique && keys.len() == parts.len();
        IndexJoin {
            left,
            table: table.clone(),
            lookup,
            parts,
            keys,
            unique,
            pairing,
            batch: None,
            row: 0,
            cursor: None,
        }
    }

    fn load(&mut self, cx: Cx<'_>) -> Step<bool> {
        if self.batch.is_none() {
            let Some(batch) = self.left.next(cx)? else { return Ok(false) };
            let frame = Frame::from(&batch);
            let keys = self.keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<_>>()?;
            self.batch = Some((batch, keys));
            self.row = 0;
        }
        Ok(true)
    }

    /// The candidates of the next left rows, `count` at most, whose right rows are appended to `out`.
    fn chunk(&mut self, count: usize, out: &mut [Vector], cx: Cx<'_>) -> Result<Chunk> {
        let Some((batch, keys)) = self.batch.take() else { return Ok(Chunk::default()) };
        let mut chunk = Chunk { rows: self.row..self.row, complete: true, ..Chunk::default() };
        let mut encoded = Vec::new();
        while self.row < batch.len() && chunk.left.len() < count && chunk.complete {
            chunk.rows.end = self.row + 1;
            if self.cursor.is_none() {
                encoded.clear();
                let values = keys.iter().map(|key| key.value(self.row));
                if !encode_prefix(values, &self.parts, &mut encoded) {
                    self.row += 1;
                    continue;
                }
            }
            let found = if self.unique {
                usize::from(self.get(&encoded, out, cx)?)
            } else {
                self.scan(&encoded, count - chunk.left.len(), out, cx)?
            };
            let start = chunk.right.len();
            chunk.left.extend(std::iter::repeat_n(row_number(self.row), found));
            chunk.right.extend((start..start + found).map(row_number));
            chunk.complete = self.cursor.is_none();
            self.row += usize::from(chunk.complete);
        }
        self.batch = Some((batch, keys));
        Ok(chunk)
    }

    /// Reads the one row under a whole unique key.
    fn get(&mut self, encoded: &[u8], out: &mut [Vector], cx: Cx<'_>) -> Result<bool> {
        let storage = &cx.context().reader;
        let read = match &mut self.lookup {
            Lookup::Table(reader) => {
                storage.get_with(self.table.tree, encoded, |row| reader.read(&[encoded], &[row], out))?
            }
            Lookup::Index(index, reader) => {
                let value = storage.get(index.tree, encoded)?;
                value.map(|value| reader.read_one(encoded, &value, out, cx))
            }
        };
        read.transpose().map(|found| found.is_some())
    }

    /// Reads up to `count` rows whose keys begin with `encoded`; the cursor is kept if there may be more.
    fn scan(&mut self, encoded: &[u8], count: usize, out: &mut [Vector], cx: Cx<'_>) -> Result<usize> {
        let mut cursor = match self.cursor.take() {
            Some(cursor) => cursor,
            None => {
                let tree = match &self.lookup {
                    Lookup::Table(_) => self.table.tree,
                    Lookup::Index(index, _) => index.tree,
                };
                let end = key::prefix_end(encoded);
                let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                cx.context().reader.cursor(tree, Bound::Included(encoded), upper)?
            }
        };
        let count = if self.pairing.first_is_enough() { 1 } else { count };
        let mut found = 0;
        while found < count {
            let Some((key, value)) = cursor.next()? else { return Ok(found) };
            match &mut self.lookup {
                Lookup::Table(reader) => reader.read(&[key], &[value], out)?,
                Lookup::Index(_, reader) => reader.read_one(key, value, out, cx)?,
            }
            found += 1;
        }
        if !self.pairing.first_is_enough() {
            self.cursor = Some(cursor);
        }
        Ok(found)
    }

    fn vectors(&self) -> Vec<Vector> {
        match &self.lookup {
            Lookup::Table(reader) => reader.vectors(0),
            Lookup::Index(_, reader) => reader.vectors(0),
        }
    }
}

impl Operator for IndexJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        while self.load(cx)? {
            cx.check()?;
            cx.take_turn()?;
            let mut vectors = self.vectors();
            let chunk = self.chunk(max, &mut vectors, cx)?;
            let columns: Vec<Arc<Vector>> = vectors.into_iter().map(Arc::new).collect();
            let Some((batch, keys)) = self.batch.take() else { return Ok(None) };
            let output = self.pairing.join(&batch, &columns, chunk, None, cx)?;
            if self.row < batch.len() {
                self.batch = Some((batch, keys));
            }
            if output.is_some() {
                return Ok(output);
            }
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.left.reset(cx);
        self.batch = None;
        self.cursor = None;
        self.row = 0;
        self.pairing.reset();
    }

    fn park(&mut self) -> bool {
        (self.batch, self.cursor, self.row) = (None, None, 0);
        self.pairing.reset();
        if let Lookup::Index(_, reader) = &mut self.lookup {
            reader.park();
        }
        self.left.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.keys, parameters) && self.pairing.rebind(parameters) && self.left.rebind(parameters)
    }
}

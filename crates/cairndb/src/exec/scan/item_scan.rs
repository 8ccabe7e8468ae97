//! Scans an inverted index.

use std::sync::Arc;

use cairn_storage::{KeyList, Lookup};

use super::index_scan::{made, missing_row, of_rows};
use super::row_reader::RowReader;
use super::table_scan::{ScanSizes, filtered, note_removed};
use crate::catalog::{Index, Table};
use crate::columns::{Batch, Vector};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, rebind_all};
use crate::exec::operator::{Operator, Step};
use crate::inverted::{ItemOperator, Query, Stream};
use crate::plan::Items;
use crate::types::Uses;
use crate::{Error, Result, Value};

/// One of the index's columns, what it is asked, and with which value.
type Asked = ((usize, ItemOperator), Evaluator);

/// The rows that an inverted index finds, in key order.
pub(crate) struct ItemScan {
    table: Arc<Table>,
    index: Arc<Index>,
    asked: Items<Asked>,
    filter: Option<Evaluator>,
    /// `None`: not started.
    rows: Option<Stream>,
    /// Behind which the next row is looked for.
    from: Vec<u8>,
    keys: KeyList,
    reader: RowReader,
    lookup: Option<Lookup>,
    sizes: ScanSizes,
}

impl ItemScan {
    pub(crate) fn new(
        table: &Arc<Table>,
        index: &Arc<Index>,
        columns: &[usize],
        asked: Items<Asked>,
        filter: Option<Evaluator>,
    ) -> ItemScan {
        ItemScan {
            table: table.clone(),
            index: index.clone(),
            asked,
            filter,
            rows: None,
            from: Vec::new(),
            keys: KeyList::default(),
            reader: RowReader::new(table, columns),
            lookup: None,
            sizes: ScanSizes::default(),
        }
    }

    /// What the index is asked, all together.
    fn query(&mut self, cx: Cx<'_>) -> Result<Query> {
        let ItemScan { table, index, asked, .. } = self;
        query_of(asked, &mut |((column, operator), value)| {
            let class = index.inverted.as_ref().and_then(|inverted| inverted.classes.get(*column));
            let data_type = index.columns.get(*column).and_then(|part| table.key_type(part.column));
            let (Some(class), Some(data_type)) = (class, data_type) else {
                return Err(Error::internal("an inverted index without such a column"));
            };
            Query::of((*class, *column, data_type), *operator, &value.scalar(cx)?)
        })
    }

    /// The keys of the next rows, at most so many, fewer only at the end.
    fn find(&mut self, count: usize, cx: Cx<'_>) -> Result<()> {
        self.keys.clear();
        if self.rows.is_none() {
            let query = self.query(cx)?;
            self.rows = Some(Stream::of(&query, &cx.context().reader, (self.table.tree, self.index.tree))?);
            self.note(Uses { scans: 1, ..Uses::default() }, cx);
        }
        let Some(rows) = &mut self.rows else { return Ok(()) };
        while self.keys.len() < count && rows.seek(&self.from)? {
            self.from.clear();
            self.from.extend_from_slice(rows.row());
            self.keys.push(&self.from);
            self.from.push(0);
        }
        Ok(())
    }

    fn read(&mut self, out: &mut [Vector], cx: Cx<'_>) -> Result<()> {
        let ItemScan { table, index, keys, reader, lookup, .. } = self;
        let tree = cx.context().reader.known_as(table.tree);
        let found = made(lookup, table, cx)?.get_each(tree, keys, 0, |first, rows| {
            reader.read(of_rows(keys, first, rows.len(), &mut [&[][..]; Lookup::AT_ONCE]), rows, out)
        })?;
        if found == keys.len() { Ok(()) } else { Err(missing_row(table, index.id)) }
    }

    fn note(&self, uses: Uses, cx: Cx<'_>) {
        cx.shared.uses.note(self.table.used_by(Some(&self.index)), uses);
    }

    fn start_over(&mut self) {
        self.rows = None;
        self.from.clear();
        self.sizes = ScanSizes::default();
    }
}

fn query_of(asked: &mut Items<Asked>, one: &mut dyn FnMut(&mut Asked) -> Result<Query>) -> Result<Query> {
    let mut all =
        |parts: &mut [Items<Asked>]| parts.iter_mut().map(|part| query_of(part, one)).collect::<Result<Vec<Query>>>();
    Ok(match asked {
        Items::And(parts) => Query::and(all(parts)?),
        Items::Or(parts) => Query::or(all(parts)?),
        Items::One(asked) => one(asked)?,
    })
}

impl Operator for ItemScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            cx.take_turn()?;
            let size = self.sizes.next(cx);
            self.find(size, cx)?;
            let len = self.keys.len();
            if len == 0 {
                return Ok(None);
            }
            let mut vectors = self.reader.vectors(len);
            self.read(&mut vectors, cx)?;
            self.note(Uses { scans: 0, read: len as u64, fetched: len as u64 }, cx);
            let batch = filtered(vectors, len, self.filter.as_mut(), cx)?;
            note_removed(len, batch.as_ref(), cx);
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn want(&mut self, rows: usize) {
        if self.filter.is_none() {
            self.sizes.want(rows);
        }
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.start_over();
    }

    fn park(&mut self) -> bool {
        self.start_over();
        self.lookup = None;
        true
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(self.asked.each_mut().into_iter().map(|(_, value)| value), parameters)
            && rebind_all(&mut self.filter, parameters)
    }
}

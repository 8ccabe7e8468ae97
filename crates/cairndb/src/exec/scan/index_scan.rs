//! Scans an index, with or without reading the table.

use std::sync::Arc;

use cairn_storage::{KeyList, Lookup};

use super::both::Both;
use super::firsts::Firsts;
use super::key_range::{KeyPart, KeyRanges};
use super::row_reader::RowReader;
use super::table_scan::{PASSED_MAX, ScanSizes, filtered, note_removed, note_uses};
use crate::catalog::{Index, IndexColumn, ObjectId, Table};
use crate::columns::{Batch, Vector};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, rebind_all};
use crate::exec::operator::{Operator, Step};
use crate::types::Used;
use crate::{Error, Result, Value};

/// Reads rows by their index entries.
pub(crate) struct EntryReader {
    table: Arc<Table>,
    index: ObjectId,
    used: Used,
    index_parts: Vec<KeyPart>,
    source: Source,
    /// Finds the table's rows; made when the first one is asked for.
    lookup: Option<Lookup>,
}

enum Source {
    /// The table's rows, found by these keys.
    Table { reader: Box<RowReader>, keys: KeyList },
    /// The entries themselves.
    Entry { types: Vec<crate::DataType>, columns: EntryColumns },
}

/// By index column and by key column, which output columns each is.
struct EntryColumns {
    index: Vec<Vec<usize>>,
    key: Vec<(KeyPart, Vec<usize>)>,
}

impl EntryReader {
    pub(crate) fn new(table: &Arc<Table>, index: &Index, columns: &[usize], covering: bool) -> EntryReader {
        // The hidden row number is not among the key's columns: such scans read the table.
        let told =
            |column: &usize| index.columns.iter().any(|part| part.column == *column) || table.is_in_row_key(*column);
        let source = if covering && columns.iter().all(told) {
            Source::entry(table, index, columns)
        } else {
            Source::Table { reader: Box::new(RowReader::new(table, columns)), keys: KeyList::default() }
        };
        let index_parts = KeyPart::of_index(table, index);
        let used = table.used_by(Some(index));
        EntryReader { table: table.clone(), index: index.id, used, index_parts, source, lookup: None }
    }

    /// Empty vectors for the columns.
    pub(crate) fn vectors(&self, capacity: usize) -> Vec<Vector> {
        match &self.source {
            Source::Table { reader, .. } => reader.vectors(capacity),
            Source::Entry { types, .. } => types.iter().map(|&t| Vector::with_capacity(t, capacity)).collect(),
        }
    }

    /// What is counted; and whether rows of the table are read.
    pub(crate) fn used(&self) -> (Used, bool) {
        (self.used, matches!(self.source, Source::Table { .. }))
    }

    /// Lets go of the state that was read.
    pub(crate) fn park(&mut self) {
        self.lookup = None;
        if let Source::Table { keys, .. } = &mut self.source {
            keys.clear();
        }
    }

    /// Takes an entry: its row is appended to the vectors now, or by [`EntryReader::read_rest`]. It may be called while the
    /// entry's page is held.
    pub(crate) fn take(&mut self, key: &[u8], value: &[u8], out: &mut [Vector]) -> Result<()> {
        match &mut self.source {
            Source::Table { keys, .. } => {
                keys.push(row_key(&self.index_parts, key, value)?);
                Ok(())
            }
            Source::Entry { columns, .. } => columns.read(&self.index_parts, key, value, out),
        }
    }

    /// Appends the rows that lie in the table to the vectors, in the order of the entries that were taken.
    pub(crate) fn read_rest(&mut self, out: &mut [Vector], cx: Cx<'_>) -> Result<()> {
        let EntryReader { table, index, source, lookup, .. } = self;
        let Source::Table { reader, keys } = source else { return Ok(()) };
        let tree = cx.context().reader.known_as(table.tree);
        let found = made(lookup, table, cx)?.get_each(tree, keys, 0, |first, rows| {
            reader.read(of_rows(keys, first, rows.len(), &mut [&[][..]; Lookup::AT_ONCE]), rows, out)
        })?;
        let all = keys.len();
        keys.clear();
        if found == all { Ok(()) } else { Err(missing_row(table, *index)) }
    }

    /// Appends the rows of up to `count` entries to the vectors, fewer only at the end; how many there were.
    fn read(&mut self, ranges: &mut KeyRanges, count: usize, out: &mut [Vector], cx: Cx<'_>) -> Result<usize> {
        if out.is_empty() && matches!(self.source, Source::Entry { .. }) {
            return ranges.pass(count, cx);
        }
        let visited = ranges.visit_lent(count, cx, |key, value| self.take(key, value, out))?;
        self.read_rest(out, cx)?;
        Ok(visited)
    }

    /// As [`EntryReader::read`], of entries whose rows another index may name, too; how many there were of all, and of those.
    fn read_both(
        &mut self,
        (ranges, both): (&mut KeyRanges, &mut Both),
        count: usize,
        out: &mut [Vector],
        cx: Cx<'_>,
    ) -> Result<(usize, usize)> {
        let mut taken = 0;
        let visited = ranges.visit_lent(count, cx, |key, value| {
            if !both.may_have(row_key(&self.index_parts, key, value)?) {
                return Ok(());
            }
            taken += 1;
            self.take(key, value, out)
        })?;
        both.note(taken);
        self.read_rest(out, cx)?;
        Ok((visited, taken))
    }

    /// As [`EntryReader::read`], of entries that begin otherwise than the one before; how many there were of all, and of those.
    fn read_firsts(
        &mut self,
        (ranges, firsts): (&mut KeyRanges, &mut Firsts),
        count: usize,
        out: &mut [Vector],
        cx: Cx<'_>,
    ) -> Result<(usize, usize)> {
        let mut taken = 0;
        let visited = ranges.visit_firsts(count, cx, firsts, |key, value| {
            taken += 1;
            self.take(key, value, out)
        })?;
        self.read_rest(out, cx)?;
        if let Some(prefix) = firsts.passed() {
            ranges.go_past(prefix, cx)?;
        }
        Ok((visited, taken))
    }
}

/// The keys of `len` rows, from the one at `first` on.
#[inline]
pub(crate) fn of_rows<'o, 'k>(
    keys: &'k KeyList,
    first: usize,
    len: usize,
    into: &'o mut [&'k [u8]; Lookup::AT_ONCE],
) -> &'o [&'k [u8]] {
    into[..len].iter_mut().enumerate().for_each(|(at, key)| *key = keys.get(first + at));
    &into[..len]
}

/// What finds the table's rows.
pub(super) fn made<'l>(lookup: &'l mut Option<Lookup>, table: &Table, cx: Cx<'_>) -> Result<&'l mut Lookup> {
    match lookup {
        Some(lookup) => Ok(lookup),
        None => Ok(lookup.insert(cx.context().reader.lookup(table.tree)?)),
    }
}

impl EntryColumns {
    /// Appends what an entry says to the vectors.
    fn read(&self, index_parts: &[KeyPart], key: &[u8], value: &[u8], out: &mut [Vector]) -> Result<()> {
        let mut rest = key;
        for (part, outputs) in index_parts.iter().zip(&self.index) {
            push_part(part, outputs, &mut rest, out)?;
        }
        // The row's key is the entry's value, or follows.
        let mut rest = if value.is_empty() { rest } else { value };
        for (part, outputs) in &self.key {
            push_part(part, outputs, &mut rest, out)?;
        }
        Ok(())
    }
}

/// The row key of an entry.
#[inline]
pub(crate) fn row_key<'k>(index_parts: &[KeyPart], key: &'k [u8], value: &'k [u8]) -> Result<&'k [u8]> {
    if !value.is_empty() {
        return Ok(value);
    }
    let mut rest = key;
    index_parts.iter().try_for_each(|part| part.skip(&mut rest))?;
    Ok(rest)
}

impl Source {
    fn entry(table: &Table, index: &Index, columns: &[usize]) -> Source {
        let wanted = |column: usize| (0..columns.len()).filter(move |&output| columns[output] == column);
        // A column may be in the index twice.
        let is_first = |at: usize| index.columns[..at].iter().all(|part| part.column != index.columns[at].column);
        let outputs_of = |at: usize| wanted(index.columns[at].column).filter(|_| is_first(at)).collect();
        let mut in_index: Vec<Vec<usize>> = (0..index.columns.len()).map(outputs_of).collect();
        let indexed = |column: usize| index.columns.iter().any(|part| part.column == column);
        let outputs_of_key =
            |part: &IndexColumn| if indexed(part.column) { vec![] } else { wanted(part.column).collect() };
        let mut key: Vec<(KeyPart, Vec<usize>)> =
            KeyPart::of_table(table).into_iter().zip(table.row_key().iter().map(outputs_of_key)).collect();
        // Behind the last part that is wanted nothing is read.
        key.truncate(key.iter().rposition(|(_, outputs)| !outputs.is_empty()).map_or(0, |last| last + 1));
        if key.is_empty() {
            in_index.truncate(in_index.iter().rposition(|outputs| !outputs.is_empty()).map_or(0, |last| last + 1));
        }
        let types = columns.iter().map(|&column| super::row_reader::column_type(table, column)).collect();
        Source::Entry { types, columns: EntryColumns { index: in_index, key } }
    }
}

fn push_part(part: &KeyPart, outputs: &[usize], rest: &mut &[u8], out: &mut [Vector]) -> Result<()> {
    if outputs.is_empty() {
        return part.skip(rest);
    }
    if let [output] = outputs {
        return super::row_reader::push_key(rest, part.shape(), &mut out[*output]);
    }
    let value: Value = part.decode(rest)?;
    outputs.iter().try_for_each(|&output| out[output].push(&value))
}

pub(super) fn missing_row(table: &Table, index: ObjectId) -> Error {
    let index = table.indexes.iter().find(|other| other.id == index).map_or("", |index| &index.name);
    let hint = format!(
        "REINDEX INDEX {index} makes it anew of the rows that there are; \"cairn verify FILE\" tells whether anything else is damaged."
    );
    Error::damaged(format!("index \"{index}\" of table \"{}\" points to a missing row", table.name)).with_hint(hint)
}

/// Rows of a table in index order.
pub(crate) struct IndexScan {
    ranges: KeyRanges,
    reader: EntryReader,
    filter: Option<Evaluator>,
    firsts: Option<Firsts>,
    both: Option<Both>,
    sizes: ScanSizes,
}

impl IndexScan {
    pub(crate) fn new(
        ranges: KeyRanges,
        reader: EntryReader,
        filter: Option<Evaluator>,
        (firsts, both): (Option<Firsts>, Option<Both>),
    ) -> IndexScan {
        IndexScan { ranges, reader, filter, firsts, both, sizes: ScanSizes::default() }
    }

    /// Counts entries, and rows that were read by them.
    fn note_uses(&mut self, entries: usize, rows: usize, cx: Cx<'_>) {
        let (used, reads_table) = self.reader.used();
        note_uses((used, &mut self.ranges), (entries, if reads_table { rows } else { 0 }), cx);
    }

    /// Reads entries, about as many; how many there were, and how many rows that made.
    fn read(&mut self, size: usize, vectors: &mut [Vector], cx: Cx<'_>) -> Result<(usize, usize)> {
        let IndexScan { ranges, reader, firsts, both, .. } = self;
        match (firsts, both) {
            (Some(firsts), _) => reader.read_firsts((ranges, firsts), size, vectors, cx),
            (None, Some(both)) => reader.read_both((ranges, both), size, vectors, cx),
            (None, None) => reader.read(ranges, size, vectors, cx).map(|read| (read, read)),
        }
    }
}

impl Operator for IndexScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            cx.take_turn()?;
            if let Some(both) = &mut self.both {
                both.read(cx)?;
            }
            let size = self.sizes.next(cx);
            let mut vectors = self.reader.vectors(size);
            let (visited, len) = self.read(size, &mut vectors, cx)?;
            self.note_uses(visited, len, cx);
            if visited == 0 {
                return Ok(None);
            }
            if len == 0 {
                continue;
            }
            let batch = filtered(vectors, len, self.filter.as_mut(), cx)?;
            note_removed(len, batch.as_ref(), cx);
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn want(&mut self, rows: usize) {
        if self.filter.is_none() && self.firsts.is_none() && self.both.is_none() {
            self.sizes.want(rows);
        }
    }

    fn skip(&mut self, rows: usize, cx: Cx<'_>) -> Step<usize> {
        if self.filter.is_some() || self.firsts.is_some() || self.both.is_some() {
            return Ok(0);
        }
        cx.check()?;
        cx.take_turn()?;
        let passed = self.ranges.pass(rows.min(PASSED_MAX), cx)?;
        self.note_uses(passed, 0, cx);
        self.sizes.passed(passed);
        Ok(passed)
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.both.iter_mut().for_each(Both::start_over);
        self.ranges.reset();
        self.firsts.iter_mut().for_each(Firsts::start_over);
        self.sizes = ScanSizes::default();
    }

    fn park(&mut self) -> bool {
        self.ranges.park();
        self.reader.park();
        self.firsts.iter_mut().for_each(Firsts::start_over);
        self.sizes = ScanSizes::default();
        // (What is charged for the other index's rows is this execution's.)
        self.both.is_none()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.both.iter_mut().all(|both| both.rebind(parameters))
            && self.ranges.rebind(parameters)
            && rebind_all(&mut self.filter, parameters)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_missing_row_is_told_with_the_index_that_points_to_it_and_what_to_do() {
        let connection = crate::Database::open_in_memory().expect("opens").connect().expect("connects");
        connection
            .execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX i ON t (n)")
            .expect("a table");
        let catalog = connection.catalog().expect("a catalog");
        let table = catalog.tables().find(|table| table.name == "t").expect("a table");
        let error = super::missing_row(table, table.indexes[0].id);
        assert_eq!(error.sqlstate().0, "XX001");
        assert!(error.message().contains("index \"i\" of table \"t\""), "{error:?}");
        assert!(error.hint().is_some_and(|hint| hint.contains("REINDEX INDEX i ")), "{error:?}");
    }
}

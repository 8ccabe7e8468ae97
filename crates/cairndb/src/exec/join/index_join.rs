//! Index join: for each left row, the rows of a table under a key computed from it.
//!
//! What finds them, a cursor or a lookup, is kept from row to row, and rows of the table are looked up together, for as many
//! left rows as a batch takes. Where several of the key's values equal the left's (large integers, a float) they are a range, which
//! is one value for most rows. Where pages are not in memory, those for several left rows are read at the same time. A semi or anti
//! join without further condition reads no row: it asks whether there is one.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Cursor, KeyList, Lookup};

use super::pairs::{Chunk, Pairing};
use crate::catalog::{Index, Table};
use crate::columns::{Batch, Vector, row_number};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::exec::scan::{EntryReader, KeyPart, RowReader, encode_prefix, of_rows};
use crate::types::{Used, Uses, key};
use crate::{Result, Value};

/// How a looked-up row is read.
enum Found {
    Table(Box<RowReader>),
    Index(Arc<Index>, EntryReader),
}

/// A key that is not there ends a search for several at once: so many are looked for one by one then.
const SINGLE: usize = 16;

/// See the module.
pub(crate) struct IndexJoin {
    left: BoxOperator,
    table: Arc<Table>,
    found: Found,
    parts: Vec<KeyPart>,
    /// With the last value of the range that the last of them begins behind them, if `is_span`.
    keys: Vec<Evaluator>,
    is_span: bool,
    /// The keys are a whole unique key, where they are of one value.
    unique: bool,
    /// What is counted, and whether rows of the table are read.
    used: (Used, bool),
    pairing: Pairing,
    batch: Option<(Batch, Vec<Arc<Vector>>)>,
    row: usize,
    /// Walks the entries under a key.
    cursor: Option<Cursor>,
    /// The cursor is among the entries of `row`, of which there may be more.
    is_within: bool,
    /// Finds what a whole unique key names.
    lookup: Option<Lookup>,
    /// The whole keys that are looked for together, and whose they are.
    wanted: (KeyList, Vec<u32>),
    coming: Coming,
    /// How many are looked for one by one.
    single: usize,
    encoded: Vec<u8>,
    /// Where the range that begins with `encoded` ends; empty: it is of one value.
    last: Vec<u8>,
    entry_key: Vec<u8>,
}

/// The keys that the cursor will go to, if it lacked pages for those before them.
#[derive(Default)]
struct Coming {
    /// The pages that it has lacked so far.
    misses: u64,
    /// Of the batch; none before it lacked some.
    keys: KeyList,
    /// Whose they are.
    rows: Vec<u32>,
    /// For so many of the keys pages were read.
    gathered: usize,
}

/// What a left row asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    One,
    Span,
}

impl IndexJoin {
    pub(crate) fn new(
        left: BoxOperator,
        table: &Arc<Table>,
        index: Option<&Arc<Index>>,
        (columns, covering): (&[usize], bool),
        (mut keys, to, unique): (Vec<Evaluator>, Option<Evaluator>, bool),
        pairing: Pairing,
    ) -> IndexJoin {
        let (parts, found) = match index {
            None => (KeyPart::of_table(table), Found::Table(Box::new(RowReader::new(table, columns)))),
            Some(index) => {
                let reader = EntryReader::new(table, index, columns, covering);
                (KeyPart::of_index(table, index), Found::Index(index.clone(), reader))
            }
        };
        // Only a whole key names one entry; a shorter one is a prefix of many, however few rows it has.
        let used = match &found {
            Found::Table(_) => (table.used_by(None), true),
            Found::Index(_, reader) => reader.used(),
        };
        let is_span = to.is_some();
        let is_unique = unique || (is_span && index.is_none_or(|index| index.unique));
        let unique = is_unique && keys.len() == parts.len();
        keys.extend(to);
        IndexJoin {
            left,
            table: table.clone(),
            found,
            parts,
            keys,
            is_span,
            unique,
            used: (used.0, used.1 && !pairing.first_is_enough()),
            pairing,
            batch: None,
            row: 0,
            cursor: None,
            is_within: false,
            lookup: None,
            wanted: (KeyList::default(), vec![]),
            coming: Coming::default(),
            single: 0,
            encoded: vec![],
            last: vec![],
            entry_key: vec![],
        }
    }

    fn load(&mut self, cx: Cx<'_>) -> Step<bool> {
        if self.batch.is_none() {
            let Some(batch) = self.left.next(cx)? else { return Ok(false) };
            let frame = Frame::from(&batch);
            let keys = self.keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<_>>()?;
            self.batch = Some((batch, keys));
            self.row = 0;
            self.coming.rows.clear();
        }
        Ok(true)
    }

    /// The candidates of the next left rows, `count` at most, whose right rows are appended to `out`.
    fn chunk(&mut self, count: usize, out: &mut [Vector], cx: Cx<'_>) -> Result<Chunk> {
        let Some((batch, keys)) = self.batch.take() else { return Ok(Chunk::default()) };
        let is_point = self.unique && !self.is_within && (!self.is_span || self.ask(&keys, self.row) != Asked::Span);
        let chunk = match is_point {
            true => self.points(&batch, &keys, count, out, cx),
            false => self.ranges(&batch, &keys, count, out, cx),
        };
        self.batch = Some((batch, keys));
        chunk
    }

    /// Encodes what the left row asks for.
    fn ask(&mut self, keys: &[Arc<Vector>], row: usize) -> Asked {
        self.encoded.clear();
        self.last.clear();
        let (to, keys) = match keys.split_last() {
            Some((to, keys)) if self.is_span => (Some(to), keys),
            _ => (None, keys),
        };
        if !encode_prefix(keys.iter().map(|key| key.value(row)), &self.parts, &mut self.encoded) {
            return Asked::Nothing;
        }
        let (Some(to), Some((from, before))) = (to, keys.split_last()) else { return Asked::One };
        let to = to.value(row);
        match from.value(row).compare(&to) {
            Ordering::Equal => Asked::One,
            Ordering::Less if !to.is_null() => {
                let values = before.iter().map(|key| key.value(row)).chain([to]);
                encode_prefix(values, &self.parts, &mut self.last);
                if self.last < self.encoded {
                    std::mem::swap(&mut self.last, &mut self.encoded);
                }
                Asked::Span
            }
            _ => Asked::Nothing,
        }
    }

    /// Of a whole unique key, as far as rows ask for one value.
    fn points(
        &mut self,
        batch: &Batch,
        keys: &[Arc<Vector>],
        count: usize,
        out: &mut [Vector],
        cx: Cx<'_>,
    ) -> Result<Chunk> {
        let (mut wanted, mut rows) = std::mem::take(&mut self.wanted);
        wanted.clear();
        rows.clear();
        let mut chunk = Chunk { rows: self.row..self.row, complete: true, ..Chunk::default() };
        while self.row < batch.len() && rows.len() < count {
            match self.ask(keys, self.row) {
                Asked::One => {
                    wanted.push(&self.encoded);
                    rows.push(row_number(self.row));
                }
                Asked::Nothing => {}
                Asked::Span => break,
            }
            self.row += 1;
        }
        chunk.rows.end = self.row;
        let mut at = 0;
        while at < wanted.len() {
            let found = self.next_point(&wanted, at, out, cx)?;
            chunk.left.extend_from_slice(&rows[at..found]);
            // The one behind them is not there.
            at = found + 1;
        }
        self.read_rest(out, cx)?;
        self.note(wanted.len(), chunk.left.len(), cx);
        chunk.right = (0..chunk.left.len()).map(row_number).collect();
        self.wanted = (wanted, rows);
        Ok(chunk)
    }

    /// The first of the keys from `at` on that is not there, or that is just not looked for yet; `at` is looked for.
    fn next_point(&mut self, wanted: &KeyList, at: usize, out: &mut [Vector], cx: Cx<'_>) -> Result<usize> {
        let tree = self.tree();
        let IndexJoin { lookup, found, pairing, single, .. } = self;
        let lookup = match lookup {
            Some(lookup) => lookup,
            None => lookup.insert(cx.context().reader.lookup(tree)?),
        };
        let tree = cx.context().reader.known_as(tree);
        let mut read = |first: usize, values: &[&[u8]]| match found {
            _ if pairing.first_is_enough() => Ok(()),
            Found::Table(reader) => {
                reader.read(of_rows(wanted, first, values.len(), &mut [&[][..]; Lookup::AT_ONCE]), values, out)
            }
            Found::Index(_, reader) => {
                let mut entries = values.iter().enumerate();
                entries.try_for_each(|(at, value)| reader.take(wanted.get(first + at), value, out))
            }
        };
        let mut at = at;
        while *single > 0 && at < wanted.len() {
            match lookup.get_with(tree, wanted.get(at), |value| read(at, &[value]))? {
                Some(read) => read?,
                None => {
                    *single = SINGLE;
                    return Ok(at);
                }
            }
            *single -= 1;
            at += 1;
        }
        if at < wanted.len() {
            at = lookup.get_each(tree, wanted, at, read)?;
            *single = if at < wanted.len() { SINGLE } else { 0 };
        }
        Ok(at)
    }

    /// Of keys under which there may be many rows.
    fn ranges(
        &mut self,
        batch: &Batch,
        keys: &[Arc<Vector>],
        count: usize,
        out: &mut [Vector],
        cx: Cx<'_>,
    ) -> Result<Chunk> {
        let mut chunk = Chunk { rows: self.row..self.row, complete: true, ..Chunk::default() };
        let mut begun = 0;
        while self.row < batch.len() && chunk.left.len() < count && chunk.complete {
            chunk.rows.end = self.row + 1;
            if !self.is_within {
                if self.cursor.as_ref().is_some_and(|cursor| cursor.misses() != self.coming.misses) {
                    self.gather(batch, keys, cx)?;
                }
                if self.ask(keys, self.row) == Asked::Nothing {
                    self.row += 1;
                    continue;
                }
                self.begin(cx)?;
                begun += 1;
            }
            let found = self.scan(count - chunk.left.len(), out)?;
            chunk.left.extend(std::iter::repeat_n(row_number(self.row), found));
            chunk.complete = !self.is_within;
            self.row += usize::from(chunk.complete);
        }
        self.read_rest(out, cx)?;
        self.note(begun, chunk.left.len(), cx);
        chunk.right = (0..chunk.left.len()).map(row_number).collect();
        Ok(chunk)
    }

    /// The entries of the row before were not in memory: reads what is needed for those of the rows that come, as far as that was not
    /// done.
    #[cold]
    fn gather(&mut self, batch: &Batch, keys: &[Arc<Vector>], cx: Cx<'_>) -> Result<()> {
        let mut coming = std::mem::take(&mut self.coming);
        coming.misses = self.cursor.as_ref().map_or(0, Cursor::misses);
        if coming.rows.is_empty() {
            coming.keys.clear();
            coming.gathered = 0;
            for row in self.row..batch.len() {
                if self.ask(keys, row) != Asked::Nothing {
                    coming.keys.push(&self.encoded);
                    coming.rows.push(row_number(row));
                }
            }
        }
        let at = coming.rows.partition_point(|row| (*row as usize) < self.row);
        if at >= coming.gathered && at < coming.keys.len() {
            let tree = self.tree();
            let lookup = match &mut self.lookup {
                Some(lookup) => lookup,
                None => self.lookup.insert(cx.context().reader.lookup(tree)?),
            };
            coming.gathered = lookup.gather(cx.context().reader.known_as(tree), &coming.keys, at)?;
        }
        self.coming = coming;
        Ok(())
    }

    /// Goes to the entries whose keys begin with the one that is encoded, or lie between it and the last.
    fn begin(&mut self, cx: Cx<'_>) -> Result<()> {
        let tree = self.tree();
        let end = key::prefix_end(if self.last.is_empty() { &self.encoded } else { &self.last });
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let lower = Bound::Included(self.encoded.as_slice());
        match &mut self.cursor {
            Some(cursor) => cursor.restart(cx.context().reader.known_as(tree), lower, upper)?,
            None => self.cursor = Some(cx.context().reader.cursor(tree, lower, upper)?),
        }
        self.is_within = true;
        Ok(())
    }

    /// Takes up to `count` of the entries.
    fn scan(&mut self, count: usize, out: &mut [Vector]) -> Result<usize> {
        let IndexJoin { cursor, found, pairing, entry_key, is_within, .. } = self;
        let Some(cursor) = cursor else { return Ok(0) };
        let first_is_enough = pairing.first_is_enough();
        let count = if first_is_enough { 1 } else { count };
        let mut take = |key: &[u8], value: &[u8]| match found {
            _ if first_is_enough => Ok(()),
            Found::Table(reader) => reader.read(&[key], &[value], out),
            Found::Index(_, reader) => reader.take(key, value, out),
        };
        let mut taken = 0;
        while taken < count && *is_within {
            let lent = cursor.next_entries(count - taken, |entries| {
                for at in 0..entries.len() {
                    // A value outside its leaf comes on its own.
                    let Some(value) = entries.value(at) else { return (at, Ok(at)) };
                    entries.key_into(at, entry_key);
                    if let Err(error) = take(entry_key, value) {
                        return (at, Err(error));
                    }
                }
                (entries.len(), Ok(entries.len()))
            })?;
            match lent.transpose()? {
                None => *is_within = false,
                Some(0) => match cursor.next()? {
                    Some((key, value)) => {
                        take(key, value)?;
                        taken += 1;
                    }
                    None => *is_within = false,
                },
                Some(lent) => taken += lent,
            }
        }
        *is_within &= !first_is_enough;
        Ok(taken)
    }

    /// Counts keys that were looked for, and what was found.
    fn note(&self, keys: usize, found: usize, cx: Cx<'_>) {
        let (used, reads_table) = self.used;
        let fetched = if reads_table { found as u64 } else { 0 };
        cx.shared.uses.note(used, Uses { scans: keys as u64, read: found as u64, fetched });
    }

    fn read_rest(&mut self, out: &mut [Vector], cx: Cx<'_>) -> Result<()> {
        match &mut self.found {
            Found::Index(_, reader) if !self.pairing.first_is_enough() => reader.read_rest(out, cx),
            _ => Ok(()),
        }
    }

    fn tree(&self) -> cairn_storage::TreeId {
        match &self.found {
            Found::Table(_) => self.table.tree,
            Found::Index(index, _) => index.tree,
        }
    }

    fn vectors(&self) -> Vec<Vector> {
        match &self.found {
            Found::Table(reader) => reader.vectors(0),
            Found::Index(_, reader) => reader.vectors(0),
        }
    }
}

impl Operator for IndexJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = self.pairing.pairs_max(cx);
        while self.load(cx)? {
            cx.check()?;
            cx.take_turn()?;
            let mut vectors = self.vectors();
            let chunk = cx.shared.looked_up(|| self.chunk(max, &mut vectors, cx), |chunk| chunk.left.len())?;
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
        (self.row, self.is_within) = (0, false);
        self.pairing.reset();
    }

    fn park(&mut self) -> bool {
        (self.batch, self.cursor, self.lookup) = (None, None, None);
        (self.row, self.is_within) = (0, false);
        self.coming = Coming::default();
        self.pairing.reset();
        if let Found::Index(_, reader) = &mut self.found {
            reader.park();
        }
        self.left.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.keys, parameters) && self.pairing.rebind(parameters) && self.left.rebind(parameters)
    }
}

//! Key ranges of a scan, as bytes.

use std::ops::Bound;

use cairn_storage::{Cursor, LeafEntries, TreeId};

use super::firsts::Firsts;
use super::row_reader::RowReader;
use crate::catalog::{Index, Table};
use crate::columns::Vector;
use crate::exec::context::{Cx, ExecContext};
use crate::exec::expr::{Evaluator, compile, rebind_all};
use crate::plan::{Expr, KeyBound, KeyRange};
use crate::types::{DataType, key};
use crate::{Result, Value};

/// How a key column is encoded.
#[derive(Clone, Copy)]
pub(crate) struct KeyPart {
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

impl KeyPart {
    /// The primary key's columns.
    pub(crate) fn of_table(table: &Table) -> Vec<KeyPart> {
        table.primary.as_ref().map_or_else(Vec::new, |index| KeyPart::of_index(table, index))
    }

    /// The index's columns.
    pub(crate) fn of_index(table: &Table, index: &Index) -> Vec<KeyPart> {
        let part = |part: &crate::catalog::IndexColumn| KeyPart {
            data_type: super::row_reader::column_type(table, part.column),
            descending: part.descending,
            nulls_first: part.nulls_first,
        };
        index.columns.iter().map(part).collect()
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) {
        key::encode_value(value, self.data_type, self.descending, self.nulls_first, out);
    }

    /// Reads a value and moves `bytes` past it.
    pub(crate) fn decode(&self, bytes: &mut &[u8]) -> Result<Value> {
        key::decode_value(bytes, self.data_type, self.descending, self.nulls_first)
    }

    /// The type, whether it is descending, and whether NULLs come first.
    pub(super) fn shape(&self) -> (DataType, bool, bool) {
        (self.data_type, self.descending, self.nulls_first)
    }

    /// Moves `bytes` past a value.
    pub(crate) fn skip(&self, bytes: &mut &[u8]) -> Result<()> {
        key::skip_value(bytes, self.data_type, self.descending, self.nulls_first)
    }
}

/// Appends the encoded values to `out`; false if one of them is NULL, so that nothing matches.
pub(crate) fn encode_prefix(values: impl Iterator<Item = Value>, parts: &[KeyPart], out: &mut Vec<u8>) -> bool {
    for (value, part) in values.zip(parts) {
        if value.is_null() {
            return false;
        }
        part.encode(&value, out);
    }
    true
}

struct Range {
    prefix: Vec<Part>,
    lower: Option<(Evaluator, bool)>,
    upper: Option<(Evaluator, bool)>,
}

/// A value of a prefix, or what stands for several.
struct Part {
    value: Evaluator,
    /// It gives two ends for each range of values.
    is_spans: bool,
}

/// From one key (included) to another (not included); `None`: to the end.
type Bytes = (Vec<u8>, Option<Vec<u8>>);

/// Entries as they come.
enum Entries<'e> {
    /// Those of a leaf, where they lie.
    Lent(&'e LeafEntries<'e>),
    /// Key and value.
    One(&'e [u8], &'e [u8]),
}

/// Visits the entries of a tree whose keys lie in some ranges, in key order or its reverse.
pub(crate) struct KeyRanges {
    tree: TreeId,
    parts: Vec<KeyPart>,
    ranges: Vec<Range>,
    reverse: bool,
    /// Those left to visit, the next one last; `None`: not started.
    pending: Option<Vec<Bytes>>,
    cursor: Option<Cursor>,
    /// Where the range of the cursor begins and ends.
    current: Bytes,
    /// A cursor that came to its end, for the next range.
    spare: Option<Cursor>,
    /// Ranges that were begun, since somebody asked.
    begun: u64,
    /// Of the entry that is visited.
    key: Vec<u8>,
}

impl KeyRanges {
    pub(crate) fn new(
        tree: TreeId,
        parts: Vec<KeyPart>,
        ranges: &[KeyRange],
        reverse: bool,
        context: &ExecContext,
    ) -> Result<KeyRanges> {
        let bound = |bound: &Option<KeyBound>| {
            bound
                .as_ref()
                .map(|bound| Ok::<_, crate::Error>((compile(&bound.value, context)?, bound.inclusive)))
                .transpose()
        };
        let part = |expr: &Expr| {
            let is_spans = matches!(expr, Expr::Call { function, .. } if function.is_spans());
            Ok(Part { value: compile(expr, context)?, is_spans })
        };
        let range = |range: &KeyRange| {
            Ok(Range {
                prefix: range.prefix.iter().map(part).collect::<Result<_>>()?,
                lower: bound(&range.lower)?,
                upper: bound(&range.upper)?,
            })
        };
        let ranges = ranges.iter().map(range).collect::<Result<_>>()?;
        Ok(KeyRanges {
            tree,
            parts,
            ranges,
            reverse,
            pending: None,
            cursor: None,
            current: Bytes::default(),
            spare: None,
            begun: 0,
            key: Vec::new(),
        })
    }

    /// Lets go of the state that was read.
    pub(crate) fn park(&mut self) {
        (self.pending, self.cursor, self.spare) = (None, None, None);
    }

    /// As [`Operator::rebind`](crate::exec::operator::Operator::rebind).
    pub(crate) fn rebind(&mut self, parameters: &[Value]) -> bool {
        let bounds = |range: &mut Range| {
            let limits = range.lower.iter_mut().chain(&mut range.upper).map(|(value, _)| value);
            rebind_all(range.prefix.iter_mut().map(|part| &mut part.value).chain(limits), parameters)
        };
        self.ranges.iter_mut().all(bounds)
    }

    /// Starts over; bounds are evaluated anew.
    pub(crate) fn reset(&mut self) {
        self.pending = None;
        self.end_range();
    }

    /// Visits up to `count` entries, fewer only at the end; how many there were.
    pub(crate) fn visit(
        &mut self,
        count: usize,
        cx: Cx<'_>,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut visited = 0;
        while visited < count {
            let Some(cursor) = &mut self.cursor else {
                if self.open_next(cx)? {
                    continue;
                }
                break;
            };
            let entry = if self.reverse { cursor.prev()? } else { cursor.next()? };
            match entry {
                Some((key, value)) => {
                    each(key, value)?;
                    visited += 1;
                }
                None => self.end_range(),
            }
        }
        Ok(visited)
    }

    /// As [`KeyRanges::visit`], for an `each` that does not use the store: it may run while the entries' page is held, or
    /// under the transaction's lock.
    pub(crate) fn visit_lent(
        &mut self,
        count: usize,
        cx: Cx<'_>,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut key = std::mem::take(&mut self.key);
        let visited = self.visit_leaves(count, cx, |entries| match entries {
            Entries::Lent(entries) => {
                let prefix = entries.key_prefix();
                key.clear();
                key.extend_from_slice(prefix);
                for at in 0..entries.len() {
                    let Some(value) = entries.value(at) else { return Ok(at) };
                    key.truncate(prefix.len());
                    key.extend_from_slice(entries.key_rest(at));
                    each(&key, value)?;
                }
                Ok(entries.len())
            }
            Entries::One(key, value) => each(key, value).map(|()| 1),
        });
        self.key = key;
        visited
    }

    /// As [`KeyRanges::visit_lent`], of the entries that begin otherwise than the one before.
    pub(crate) fn visit_firsts(
        &mut self,
        count: usize,
        cx: Cx<'_>,
        firsts: &mut Firsts,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut key = std::mem::take(&mut self.key);
        let visited = self.visit_leaves(count, cx, |entries| match entries {
            Entries::Lent(entries) => {
                let prefix = entries.key_prefix();
                key.clear();
                key.extend_from_slice(prefix);
                let mut shared = firsts.shared(prefix);
                for at in 0..entries.len() {
                    let rest = entries.key_rest(at);
                    if shared.is_some_and(|shared| firsts.is_alike(shared, rest)) {
                        continue;
                    }
                    let Some(value) = entries.value(at) else { return Ok(at) };
                    key.truncate(prefix.len());
                    key.extend_from_slice(rest);
                    shared = Some(firsts.begin(&key)?.min(prefix.len()));
                    each(&key, value)?;
                }
                Ok(entries.len())
            }
            Entries::One(key, value) => {
                if !firsts.shared(key).is_some_and(|shared| firsts.is_alike(shared, &key[shared..])) {
                    firsts.begin(key)?;
                    each(key, value)?;
                }
                Ok(1)
            }
        });
        self.key = key;
        visited
    }

    /// Goes through up to `count` rows of a table's tree, fewer only at the end, and reads those within the reader's
    /// limits into vectors; how many it went through.
    pub(crate) fn read_rows(
        &mut self,
        count: usize,
        cx: Cx<'_>,
        reader: &mut RowReader,
        out: &mut [Vector],
    ) -> Result<usize> {
        self.visit_leaves(count, cx, |entries| match entries {
            Entries::Lent(entries) => reader.read_entries(entries, out),
            Entries::One(key, row) => reader.read(&[key], &[row], out).map(|()| 1),
        })
    }

    /// Goes past up to `count` entries, fewer only at the end; how many there were.
    pub(crate) fn pass(&mut self, count: usize, cx: Cx<'_>) -> Result<usize> {
        self.visit_leaves(count, cx, |entries| match entries {
            Entries::Lent(entries) => Ok(entries.len()),
            Entries::One(..) => Ok(1),
        })
    }

    /// Goes through up to `count` entries, fewer only at the end; how many there were. `read` says how many it took.
    fn visit_leaves(
        &mut self,
        count: usize,
        cx: Cx<'_>,
        mut read: impl FnMut(Entries<'_>) -> Result<usize>,
    ) -> Result<usize> {
        let one = |count, ranges: &mut KeyRanges, read: &mut dyn FnMut(Entries<'_>) -> Result<usize>| {
            ranges.visit(count, cx, |key, value| read(Entries::One(key, value)).map(drop))
        };
        if self.reverse {
            return one(count, self, &mut read);
        }
        let mut visited = 0;
        while visited < count {
            let Some(cursor) = &mut self.cursor else {
                if self.open_next(cx)? {
                    continue;
                }
                break;
            };
            let taken = cursor.next_entries(count - visited, |entries| match read(Entries::Lent(entries)) {
                Ok(taken) => (taken, Ok(taken)),
                Err(error) => (0, Err(error)),
            })?;
            match taken.transpose()? {
                None => self.end_range(),
                // A value outside its leaf comes on its own.
                Some(0) => visited += one(1, self, &mut read)?,
                Some(taken) => visited += taken,
            }
        }
        Ok(visited)
    }

    fn open_next(&mut self, cx: Cx<'_>) -> Result<bool> {
        if self.pending.is_none() {
            self.pending = Some(self.evaluate(cx)?);
        }
        let Some(range) = self.pending.as_mut().and_then(Vec::pop) else { return Ok(false) };
        self.current = range;
        self.begun += 1;
        self.open_current(cx)?;
        Ok(true)
    }

    fn open_current(&mut self, cx: Cx<'_>) -> Result<()> {
        let (start, end) = &self.current;
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let lower = Bound::Included(start.as_slice());
        self.cursor = Some(match self.spare.take() {
            Some(mut cursor) => {
                cursor.restart(cx.context().reader.known_as(self.tree), lower, upper)?;
                cursor
            }
            None => cx.context().reader.cursor(self.tree, lower, upper)?,
        });
        Ok(())
    }

    /// How many ranges were begun since this was asked.
    pub(crate) fn take_begun(&mut self) -> u64 {
        std::mem::take(&mut self.begun)
    }

    /// Goes on, forwards, behind all entries of the range that begin with `prefix`, if there is still a range to go on in.
    pub(crate) fn go_past(&mut self, prefix: &[u8], cx: Cx<'_>) -> Result<()> {
        if self.cursor.is_none() {
            return Ok(());
        }
        self.end_range();
        match key::prefix_end(prefix) {
            Some(start) if self.current.1.as_ref().is_none_or(|end| start < *end) => {
                self.current.0 = start;
                self.open_current(cx)
            }
            _ => Ok(()),
        }
    }

    fn end_range(&mut self) {
        if self.cursor.is_some() {
            self.spare = self.cursor.take();
        }
    }

    /// The ranges in visiting order, the first one last.
    fn evaluate(&mut self, cx: Cx<'_>) -> Result<Vec<Bytes>> {
        let mut all = Vec::with_capacity(self.ranges.len());
        for range in &mut self.ranges {
            range.evaluate(&self.parts, cx, &mut all)?;
        }
        all.sort_unstable();
        // (Each begins where the one before it does, or behind that.)
        all.dedup_by(|next, before| {
            let is_within = *next == *before || before.1.as_ref().is_none_or(|end| next.0 < *end);
            if is_within && before.1.is_some() && (next.1.is_none() || next.1 > before.1) {
                before.1 = next.1.take();
            }
            is_within
        });
        if !self.reverse {
            all.reverse();
        }
        Ok(all)
    }
}

impl Range {
    /// Appends the range, or those of an array's elements or spans; none where it is empty.
    fn evaluate(&mut self, parts: &[KeyPart], cx: Cx<'_>, out: &mut Vec<Bytes>) -> Result<()> {
        let (mut prefix, mut others) = (Vec::new(), vec![]);
        for (Part { value, is_spans }, part) in self.prefix.iter_mut().zip(parts) {
            match value.scalar(cx)? {
                Value::Null => return Ok(()),
                Value::Array(array) if !part.data_type.is_array() => {
                    let before = std::iter::once(prefix).chain(others);
                    others = match is_spans {
                        true => with_spans(before, part, array.values(), out),
                        false => with_elements(before, part, array.values()),
                    };
                    let Some(last) = others.pop() else { return Ok(()) };
                    prefix = last;
                }
                value => {
                    part.encode(&value, &mut prefix);
                    others.iter_mut().for_each(|prefix| part.encode(&value, prefix));
                }
            }
        }
        let prefixes = std::iter::once(prefix).chain(others);
        match parts.get(self.prefix.len()).filter(|_| self.lower.is_some() || self.upper.is_some()) {
            Some(part) => self.evaluate_bounds(prefixes, part, cx, out),
            None => {
                out.extend(prefixes.map(|prefix| {
                    let end = key::prefix_end(&prefix);
                    (prefix, end)
                }));
                Ok(())
            }
        }
    }

    /// Appends what lies between the bounds behind each of the prefixes.
    fn evaluate_bounds(
        &mut self,
        prefixes: impl Iterator<Item = Vec<u8>>,
        part: &KeyPart,
        cx: Cx<'_>,
        out: &mut Vec<Bytes>,
    ) -> Result<()> {
        let bound = |bound: &mut Option<(Evaluator, bool)>| match bound {
            Some((value, inclusive)) => Ok::<_, crate::Error>(Some((value.scalar(cx)?, *inclusive))),
            None => Ok(None),
        };
        let (lower, upper) = (bound(&mut self.lower)?, bound(&mut self.upper)?);
        if [&lower, &upper].into_iter().flatten().any(|(value, _)| value.is_null()) {
            return Ok(());
        }
        let (first, last) = if part.descending { (upper, lower) } else { (lower, upper) };
        out.extend(
            prefixes.map(|prefix| (start_of(&prefix, part, first.as_ref()), end_of(&prefix, part, last.as_ref()))),
        );
        Ok(())
    }
}

/// Each prefix with each of the values behind it.
fn with_elements(prefixes: impl Iterator<Item = Vec<u8>>, part: &KeyPart, values: &[Value]) -> Vec<Vec<u8>> {
    let values = || values.iter().filter(|value| !value.is_null());
    prefixes.flat_map(|prefix| values().map(move |value| with_value(&prefix, part, value))).collect()
}

/// Each prefix with each of the values behind it that are a span of their own. Longer spans are ranges in `out`, whatever follows.
fn with_spans(
    prefixes: impl Iterator<Item = Vec<u8>>,
    part: &KeyPart,
    ends: &[Value],
    out: &mut Vec<Bytes>,
) -> Vec<Vec<u8>> {
    let mut found = vec![];
    for prefix in prefixes {
        for span in ends.chunks_exact(2) {
            let (from, to) = (with_value(&prefix, part, &span[0]), with_value(&prefix, part, &span[1]));
            match from == to {
                true => found.push(from),
                false => {
                    let end = key::prefix_end(std::cmp::max(&from, &to));
                    out.push((std::cmp::min(from, to), end));
                }
            }
        }
    }
    found
}

fn with_value(prefix: &[u8], part: &KeyPart, value: &Value) -> Vec<u8> {
    let mut bytes = prefix.to_vec();
    part.encode(value, &mut bytes);
    bytes
}

/// The first key past all that begin with `bytes`. Encoded values never are all 0xff, so there is one.
fn past(bytes: Vec<u8>) -> Vec<u8> {
    key::prefix_end(&bytes).unwrap_or(bytes)
}

/// Where keys begin, NULLs left out.
fn start_of(prefix: &[u8], part: &KeyPart, bound: Option<&(Value, bool)>) -> Vec<u8> {
    match bound {
        Some((value, true)) => with_value(prefix, part, value),
        Some((value, false)) => past(with_value(prefix, part, value)),
        None if part.nulls_first => past(with_value(prefix, part, &Value::Null)),
        None => prefix.to_vec(),
    }
}

/// Where keys end (not included), NULLs left out.
fn end_of(prefix: &[u8], part: &KeyPart, bound: Option<&(Value, bool)>) -> Option<Vec<u8>> {
    match bound {
        Some((value, true)) => key::prefix_end(&with_value(prefix, part, value)),
        Some((value, false)) => Some(with_value(prefix, part, value)),
        None if part.nulls_first => key::prefix_end(prefix),
        None => Some(with_value(prefix, part, &Value::Null)),
    }
}

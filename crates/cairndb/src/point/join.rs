//! Plans that read one row by key, and others by unique keys made of its columns; one of them may read the rows that begin
//! with a key instead.

use std::ops::Range;
use std::sync::Arc;

use cairn_storage::{PointReader, Reader, TreeId, WriteError};

use super::Miss;
use super::key::key_columns;
use super::limit::Limit;
use super::shape::{project, substitute};
use crate::Error;
use crate::catalog::{Catalog, Index, IndexColumn, Table, TableLayout};
use crate::dml::row::{Env, Operand, Stop, eval, has_columns, same_key_bytes};
use crate::exec::Stored;
use crate::plan::{Columns, Datum, Expr, JoinKind, KeyRange, KeyedRow, PhysicalNode, PhysicalPlan, walk};
use crate::types::Params;
use crate::types::{DataType, FewUses, SessionUses, Used, ValueRef, key};

/// Rows that are read together, at most.
pub(super) const STEPS_MAX: usize = 4;

/// The rows read so far; `None`: an outer join found no partner.
pub(super) type Rows<'a> = [Option<Stored<'a>>; STEPS_MAX];

/// The buffers of one step.
#[derive(Debug, Default)]
pub(super) struct StepBuffers {
    pub(super) key: Vec<u8>,
    row_key: Vec<u8>,
    row: Vec<u8>,
    /// What the execution has used so far.
    pub(super) uses: FewUses,
}

/// Where rows are read: in the newest durable state, or in the open transaction.
pub(super) trait State<'r> {
    /// The value under `key`, lent by the state or copied into `buffer`.
    fn value(&self, tree: TreeId, key: &[u8], buffer: &'r mut Vec<u8>) -> cairn_storage::Result<Option<&'r [u8]>>;
}

impl<'r> State<'r> for PointReader<'r> {
    #[inline]
    fn value(&self, tree: TreeId, key: &[u8], _buffer: &'r mut Vec<u8>) -> cairn_storage::Result<Option<&'r [u8]>> {
        self.get(tree, key)
    }
}

impl<'r> State<'r> for &Reader {
    fn value(&self, tree: TreeId, key: &[u8], buffer: &'r mut Vec<u8>) -> cairn_storage::Result<Option<&'r [u8]>> {
        let copied = self.get_with(tree, key, |value| {
            buffer.clear();
            buffer.extend_from_slice(value);
        })?;
        Ok(copied.map(|()| buffer.as_slice()))
    }
}

/// Reads one row.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) table: Arc<Table>,
    pub(super) layout: Arc<TableLayout>,
    /// The unique index's tree that leads to the row's key; `None`: the key is the primary key.
    pub(super) index: Option<TreeId>,
    key: Box<[Part]>,
    /// Position of the table's first column among all steps' columns.
    first: usize,
    /// LEFT JOIN: where there is no such row its columns are NULL.
    outer: bool,
    /// What else an outer join asks of the row, over all steps' columns.
    on: Option<Expr>,
    /// Other rows may follow: the key is what theirs begin with. The columns behind it, in the index if there is one.
    pub(super) rest: Option<Box<[Place]>>,
    /// What is counted.
    used: Used,
}

/// A column of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

/// The parts of a key that are known, and the columns behind them.
type Key = (Box<[Part]>, Box<[Place]>);

#[derive(Debug)]
struct Part {
    source: Source,
    place: Place,
}

#[derive(Debug)]
enum Source {
    Operand(Operand),
    /// A column of the row that an earlier step reads.
    Column {
        step: usize,
        column: usize,
    },
}

/// A plan that qualifies: expressions are over all steps' columns, side by side.
#[derive(Default)]
pub(super) struct JoinSource {
    pub(super) steps: Vec<Step>,
    pub(super) outputs: Vec<Expr>,
    pub(super) filters: Vec<Expr>,
    /// How many rows there are at most: nothing above may take one away, or join it.
    pub(super) limit: Option<Limit>,
}

impl JoinSource {
    pub(super) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Option<JoinSource> {
        match &plan.node {
            PhysicalNode::Project { input, exprs } => {
                let mut source = JoinSource::of(input, catalog)?;
                source.outputs = project(exprs, &source.outputs)?;
                Some(source)
            }
            PhysicalNode::Filter { input, predicate } => {
                let mut source = JoinSource::of(input, catalog)?.unlimited()?;
                source.filters.push(substitute(predicate, &source.outputs)?);
                Some(source)
            }
            PhysicalNode::Limit { input, limit: Some(limit), offset: None, ties } if ties.is_empty() => {
                let source = JoinSource::of(input, catalog)?.unlimited()?;
                Some(JoinSource { limit: Some(Limit::of(limit)?), ..source })
            }
            // No table at all: `SELECT 1`.
            PhysicalNode::Values { rows } => match rows.as_slice() {
                [row] if !row.iter().any(has_columns) => {
                    Some(JoinSource { outputs: row.clone(), ..JoinSource::default() })
                }
                _ => None,
            },
            PhysicalNode::PointGet { table, index, columns, key, filter } => {
                let source = JoinSource::default();
                source.with((table, index.as_deref(), columns), key, (JoinKind::Inner, filter.as_ref()), catalog)
            }
            PhysicalNode::IndexJoin { kind, left, table, index, columns, keys, unique: true, residual, .. } => {
                let left = JoinSource::of(left, catalog)?;
                left.with((table, index.as_deref(), columns), keys, (*kind, residual.as_ref()), catalog)
            }
            PhysicalNode::IndexJoin {
                kind: JoinKind::Inner,
                left,
                table,
                index,
                columns,
                keys,
                to: None,
                residual,
                covering: false,
                ..
            } => {
                let left = JoinSource::of(left, catalog)?;
                left.with_several((table, index.as_deref(), columns), keys, residual.as_ref(), catalog)
            }
            PhysicalNode::IndexScan {
                table,
                index,
                columns,
                ranges,
                filter,
                reverse: false,
                firsts: 0,
                both: None,
                ..
            } => {
                let (source, index) = (JoinSource::default(), Some(&**index));
                source.with_several((table, index, columns), only_prefix(ranges)?, filter.as_ref(), catalog)
            }
            PhysicalNode::TableScan { table, columns, fields, ranges, filter, reverse: false } if fields.is_empty() => {
                let source = JoinSource::default();
                source.with_several((table, None, columns), only_prefix(ranges)?, filter.as_ref(), catalog)
            }
            PhysicalNode::NestedLoopJoin { kind: JoinKind::Inner, left, right, on, lateral: false } => {
                JoinSource::of(left, catalog)?.beside(JoinSource::of(right, catalog)?, on.as_ref())
            }
            _ => None,
        }
    }

    /// The parts of a key, from one expression for each of its first columns over the outputs so far; and the columns behind.
    fn parts(&self, table: &Table, index: Option<&Index>, keys: &[Expr]) -> Option<Key> {
        let columns = key_columns(table, index);
        if columns.len() < keys.len() {
            return None;
        }
        let part = |(column, expr): (&IndexColumn, &Expr)| {
            let place = Place::of(table, column)?;
            Some(Part { source: self.source(&substitute(expr, &self.outputs)?, place.data_type)?, place })
        };
        let parts = columns.iter().zip(keys).map(part).collect::<Option<_>>()?;
        let rest = columns[keys.len()..].iter().map(|column| Place::of(table, column));
        Some((parts, rest.collect::<Option<_>>()?))
    }

    /// With one more step. `keys`: over the outputs so far; `on`: over those and the new table's `columns`.
    fn with(
        self,
        of: (&Arc<Table>, Option<&Index>, &[usize]),
        keys: &[Expr],
        (kind, on): (JoinKind, Option<&Expr>),
        catalog: &Catalog,
    ) -> Option<JoinSource> {
        let (key, rest) = self.parts(of.0, of.1, keys)?;
        if !rest.is_empty() || !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            return None;
        }
        self.with_step(of, (key, None), (kind, on), catalog)
    }

    /// With one more step, which reads the rows that begin with a key.
    fn with_several(
        self,
        of: (&Arc<Table>, Option<&Index>, &[usize]),
        keys: &[Expr],
        on: Option<&Expr>,
        catalog: &Catalog,
    ) -> Option<JoinSource> {
        let (key, rest) = self.parts(of.0, of.1, keys)?;
        if key.is_empty() || self.several().is_some() {
            return None;
        }
        self.with_step(of, (key, Some(rest)), (JoinKind::Inner, on), catalog)
    }

    /// Itself, if all of its rows are wanted.
    fn unlimited(self) -> Option<JoinSource> {
        self.limit.is_none().then_some(self)
    }

    /// The step that reads the rows that begin with a key.
    pub(super) fn several(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.rest.is_some())
    }

    fn with_step(
        mut self,
        (table, index, columns): (&Arc<Table>, Option<&Index>, &[usize]),
        (key, rest): (Box<[Part]>, Option<Box<[Place]>>),
        (kind, on): (JoinKind, Option<&Expr>),
        catalog: &Catalog,
    ) -> Option<JoinSource> {
        if self.steps.len() == STEPS_MAX || self.limit.is_some() {
            return None;
        }
        let first = self.width();
        for &column in columns {
            let data_type = table.columns.get(column)?.data_type;
            self.outputs.push(Expr::Column { index: first + column, data_type });
        }
        let mut on = match on {
            Some(on) => Some(substitute(on, &self.outputs)?),
            None => None,
        };
        let outer = kind == JoinKind::Left;
        if !outer {
            self.filters.extend(on.take());
        }
        let used = table.used_by(index);
        let (layout, index) = (catalog.layout(table), index.map(|index| index.tree));
        self.steps.push(Step { table: table.clone(), layout, index, key, first, outer, on, rest, used });
        Some(self)
    }

    /// The pairs of two sources, which do not look at each other. What is one row is read before what is several.
    fn beside(self, right: JoinSource, on: Option<&Expr>) -> Option<JoinSource> {
        let mut both = match (self.several(), right.several()) {
            (Some(_), Some(_)) => return None,
            (Some(_), None) => {
                let of_right = right.outputs.len();
                let mut both = right.followed_by(self)?;
                both.outputs.rotate_left(of_right);
                both
            }
            (None, _) => self.followed_by(right)?,
        };
        if let Some(on) = on {
            both.filters.push(substitute(on, &both.outputs)?);
        }
        Some(both)
    }

    /// The steps of both, and their outputs side by side.
    fn followed_by(mut self, right: JoinSource) -> Option<JoinSource> {
        let (width, steps) = (self.width(), self.steps.len());
        if steps + right.steps.len() > STEPS_MAX || self.limit.is_some() || right.limit.is_some() {
            return None;
        }
        let shift = |expr: &mut Expr| {
            walk::rewrite(expr, 0, &mut |expr, _| match expr {
                Expr::Column { index, data_type } => Some(Expr::Column { index: index + width, data_type: *data_type }),
                _ => None,
            });
        };
        for mut step in right.steps {
            step.first += width;
            step.on.iter_mut().for_each(shift);
            for part in &mut step.key {
                if let Source::Column { step, .. } = &mut part.source {
                    *step += steps;
                }
            }
            self.steps.push(step);
        }
        let shifted = |mut expr: Expr| {
            shift(&mut expr);
            expr
        };
        self.outputs.extend(right.outputs.into_iter().map(shifted));
        self.filters.extend(right.filters.into_iter().map(shifted));
        Some(self)
    }

    fn width(&self) -> usize {
        self.steps.last().map_or(0, |step| step.first + step.table.columns.len())
    }

    /// A part of a key: an operand, or a column whose values are the same bytes in the key.
    fn source(&self, expr: &Expr, to: DataType) -> Option<Source> {
        if let Some(operand) = Operand::of(expr, to) {
            return Some(Source::Operand(operand));
        }
        let column = match expr {
            Expr::Cast { input, to: cast } if same_key_bytes(input.data_type(), *cast) => input,
            // (One that is beyond the key's type has bytes that no key has.)
            Expr::Call { function, args } if function.is_equal_integer() => args.first()?,
            expr => expr,
        };
        let Expr::Column { index, data_type } = column else { return None };
        let (step, column) = place(&self.steps, *index)?;
        same_key_bytes(*data_type, to).then_some(Source::Column { step, column })
    }
}

impl Place {
    fn of(table: &Table, column: &IndexColumn) -> Option<Place> {
        let data_type = table.key_type(column.column)?;
        Some(Place { data_type, descending: column.descending, nulls_first: column.nulls_first })
    }
}

/// The values that the keys of a scan begin with, if nothing else is asked of them.
fn only_prefix(ranges: &[KeyRange]) -> Option<&[Expr]> {
    match ranges {
        [KeyRange { prefix, lower: None, upper: None }] => Some(prefix),
        _ => None,
    }
}

/// All of them, if each is there: in room for as many from the beginning, which `collect` does not know to make.
fn all<T>(parts: impl ExactSizeIterator<Item = Option<T>>) -> Option<Box<[T]>> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        all.push(part?);
    }
    Some(all.into())
}

/// The step and the column of its table.
pub(super) fn place(steps: &[Step], index: usize) -> Option<(usize, usize)> {
    let at = steps.iter().rposition(|step| step.first <= index)?;
    Some((at, index - steps[at].first))
}

/// The rows of all steps side by side.
pub(super) struct Joined<'a> {
    pub(super) steps: &'a [Step],
    pub(super) rows: &'a Rows<'a>,
}

impl Columns<Stop> for Joined<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        let (step, column) =
            place(self.steps, index).ok_or_else(|| Error::internal("no such column of joined rows"))?;
        match &self.rows[step] {
            Some(row) => Ok(row.datum(column)?),
            None => Ok(Datum::Lent(ValueRef::Null)),
        }
    }
}

impl Step {
    /// The only step of a source that reads this row.
    pub(super) fn of_row(row: &KeyedRow, catalog: &Catalog) -> Option<Step> {
        let KeyedRow { table, index, key, .. } = row;
        let mut values = key.iter();
        let part = |column: &IndexColumn| {
            let place = Place::of(table, column)?;
            Some(Part { source: Source::Operand(Operand::of(values.next()?, place.data_type)?), place })
        };
        let key = all(key_columns(table, index.as_deref()).iter().map(part))?;
        let used = table.used_by(index.as_deref());
        let (layout, index) = (catalog.layout(table), index.as_ref().map(|index| index.tree));
        Some(Step { table: table.clone(), layout, index, key, first: 0, outer: false, on: None, rest: None, used })
    }

    /// The columns of earlier steps' rows that its key is made of, each with its step.
    pub(super) fn columns_asked(&self) -> impl Iterator<Item = (usize, usize)> {
        self.key.iter().filter_map(|part| match &part.source {
            Source::Column { step, column } => Some((*step, *column)),
            Source::Operand(_) => None,
        })
    }

    /// What else an outer join asks of the row.
    pub(super) fn condition(&self) -> Option<&Expr> {
        self.on.as_ref()
    }

    /// Writes the row's key (in the index, where there is one) over `out`; whether it has no NULL.
    #[inline]
    pub(super) fn encode(&self, params: &dyn Params, rows: &Rows<'_>, out: &mut Vec<u8>) -> Result<bool, Miss> {
        out.clear();
        for part in &self.key {
            let column;
            let value = match &part.source {
                Source::Operand(operand) => operand.value(params).ok_or(Miss::General)?,
                Source::Column { step, column: at } => match &rows[*step] {
                    Some(row) => {
                        column = row.datum(*at)?;
                        column.get()
                    }
                    None => ValueRef::Null,
                },
            };
            if value.is_null() {
                return Ok(false);
            }
            let Place { data_type, descending, nulls_first } = part.place;
            key::encode_ref(value, data_type, descending, nulls_first, out);
        }
        Ok(true)
    }

    /// The row's key, of an entry whose key goes on so behind what was looked for.
    #[inline(always)]
    pub(super) fn row_key<'k>(&self, mut rest: &'k [u8], value: &'k [u8]) -> crate::Result<&'k [u8]> {
        if value.is_empty() {
            for place in self.rest.iter().flatten() {
                key::skip_value(&mut rest, place.data_type, place.descending, place.nulls_first)?;
            }
            return Ok(rest);
        }
        Ok(value)
    }

    /// Reads the row; `None`: there is none.
    #[inline]
    fn get<'r>(
        &'r self,
        state: &impl State<'r>,
        env: Env<'_>,
        rows: &Rows<'r>,
        buffers: &'r mut StepBuffers,
    ) -> Result<Option<Stored<'r>>, WriteError<Miss>> {
        let StepBuffers { key, row_key, row, uses } = buffers;
        if !self.encode(env.params, rows, key).map_err(WriteError::Caller)? {
            return Ok(None);
        }
        let key = match self.index {
            None => key.as_slice(),
            Some(index) => match state.value(index, key, row_key)? {
                Some(key) => key,
                None => {
                    uses.add(FewUses::NOTHING);
                    return Ok(None);
                }
            },
        };
        let value = state.value(self.table.tree, key, row)?;
        uses.add(if value.is_some() { FewUses::ROW } else { FewUses::NOTHING });
        Ok(value.map(|value| Stored { layout: &self.layout, key, value }))
    }

    /// The operand of the column at this place of the primary key, where the row was found by it.
    pub(super) fn key_operand<'v>(&'v self, at: usize, params: &'v dyn Params) -> Option<ValueRef<'v>> {
        match &self.key.get(at)?.source {
            Source::Operand(operand) if self.index.is_none() => operand.value(params),
            _ => None,
        }
    }

    /// Whether text of the primary key can be lent from an operand.
    pub(super) fn lends_key(&self, at: usize) -> bool {
        self.index.is_none() && self.key.get(at).is_some_and(|part| matches!(part.source, Source::Operand(_)))
    }
}

/// What steps use is counted from here on.
#[inline]
pub(super) fn begin_uses(buffers: &mut [StepBuffers]) {
    buffers.iter_mut().for_each(|buffer| buffer.uses = FewUses::default());
}

/// Counts what the steps have used.
#[inline]
pub(super) fn note_uses(steps: &[Step], buffers: &[StepBuffers], uses: &mut SessionUses) {
    for (step, used) in steps.iter().zip(buffers.iter().map(|buffer| buffer.uses)) {
        if used != FewUses::default() {
            uses.note(step.used, used);
        }
    }
}

/// Reads the rows of some steps; `false`: an inner join found no partner.
#[inline]
pub(super) fn read_steps<'r>(
    (steps, range): (&'r [Step], Range<usize>),
    state: &impl State<'r>,
    env: Env<'_>,
    buffers: &'r mut [StepBuffers],
    rows: &mut Rows<'r>,
) -> Result<bool, WriteError<Miss>> {
    for ((at, step), buffer) in range.clone().zip(&steps[range]).zip(buffers) {
        rows[at] = step.get(state, env, rows, buffer)?;
        if rows[at].is_some()
            && let Some(on) = &step.on
        {
            let holds = eval(on, &Joined { steps, rows }, env).map(|value| value.is_true());
            if !holds.map_err(Stop::in_write)? {
                rows[at] = None;
            }
        }
        if rows[at].is_none() && !step.outer {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the filters accept the rows.
pub(super) fn accepts(filters: &[Expr], row: &Joined<'_>, env: Env<'_>) -> Result<bool, WriteError<Miss>> {
    for filter in filters {
        if !eval(filter, row, env).map_err(Stop::in_write)?.is_true() {
            return Ok(false);
        }
    }
    Ok(true)
}

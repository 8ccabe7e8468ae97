//! What a row counts for in a materialized view that commits keep: numbers that are added to the counters of its group.
//!
//! They follow from the row alone (see [`Groups`]), so nothing is read for them. It is evaluated while the row is written, under
//! the transaction's lock or the commit's: nothing that waits, or asks the catalog, is part of it.

use std::sync::LazyLock;

use cairn_storage::{COUNTERS_MAX, Error as StorageError, OVERFLOWED, TreeId};

use super::derive::Raw;
use super::{Env, Stop, Stored, Trees, eval};
use crate::catalog::{Table, TableLayout};
use crate::functions::Tally;
use crate::plan::{Columns, Expr, Groups, Part};
use crate::types::row::RowLayout;
use crate::types::{DataType, EvalContext, NumericRef, ValueRef, key};
use crate::{Error, SqlState, Value};

/// See the module.
#[derive(Debug)]
pub(crate) struct Addition {
    /// Of the view's groups.
    tree: TreeId,
    /// The view's name.
    view: Box<str>,
    /// What stands before a group's counters.
    front: Box<[u8]>,
    filter: Option<Expr>,
    keys: Box<[(Expr, DataType)]>,
    parts: Box<[Part]>,
    counters: usize,
}

/// The counters of a group, or what is added to them.
type Deltas = [i128; COUNTERS_MAX];

/// The entry of a group of which [`Groups::states`] gave this row; of all rows, of which there are none, where there are only NULLs.
pub(crate) fn group_entry(groups: &Groups, row: impl Fn(usize) -> Value, key: &mut Vec<u8>, value: &mut Vec<u8>) {
    key.clear();
    if groups.is_of_all() {
        key::encode_ref(ValueRef::SmallInt(0), DataType::SmallInt, false, false, key);
    }
    for (at, expr) in groups.keys.iter().enumerate() {
        key::encode_ref((&row(at)).into(), expr.data_type(), false, false, key);
    }
    value.clear();
    value.extend(front());
    let first = groups.keys.len();
    let count = |at: usize| row(first + at).as_i64().map_or(0, i128::from);
    let mut push = |counter: i128| value.extend_from_slice(&counter.to_le_bytes());
    // The row that stands for no rows counts for one.
    push(count(0) + i128::from(groups.is_of_all()));
    for part in &groups.parts {
        let last = part.at + part.tally.width() - 1;
        (part.at..last).for_each(|at| push(count(at)));
        push(if part.tally == Tally::Count { count(last) } else { sum(&row(first + last), part.scale) });
    }
}

/// SQLSTATE 54000 instead of a key that is too long, of the view's groups.
pub(crate) fn long_group(view: &str, error: StorageError) -> Error {
    let StorageError::KeyTooLong { length, limit } = error else { return error.into() };
    let message = format!(
        "a group of {length} bytes exceeds the limit of {limit} bytes in materialized view \"{view}\", which commits keep current"
    );
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("Have the view group by less of it: by the beginning, or by a hash, such as md5().")
}

/// In units of so many digits behind the point.
fn sum(sum: &Value, scale: u16) -> i128 {
    let Value::Numeric(sum) = sum else { return 0 };
    units(NumericRef::Whole(sum), scale).unwrap_or(OVERFLOWED)
}

/// Bytes before the counters, in rows of a table of groups.
fn front() -> Vec<u8> {
    let mut front = Vec::new();
    RowLayout::new(&[DataType::Bytea]).encode_with(|_| ValueRef::Bytea(&[]), &mut front);
    front
}

impl Addition {
    /// To the groups of `view`.
    pub(crate) fn new(groups: &Groups, view: &Table) -> Addition {
        let key = |key: &Expr| (key.clone(), key.data_type());
        let mut keys: Vec<_> = groups.keys.iter().map(key).collect();
        if groups.is_of_all() {
            let zero = Expr::Literal { value: Value::SmallInt(0), data_type: DataType::SmallInt };
            keys.push((zero, DataType::SmallInt));
        }
        Addition {
            tree: view.tree,
            view: view.name.as_str().into(),
            front: front().into(),
            filter: groups.filter.clone(),
            keys: keys.into(),
            parts: groups.parts.clone().into(),
            counters: groups.counters(),
        }
    }

    /// What is evaluated of a row.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> + Clone {
        let of_parts = self.parts.iter().flat_map(|part| part.argument.iter().chain(&part.filter));
        self.filter.iter().chain(self.keys.iter().map(|(key, _)| key)).chain(of_parts)
    }

    /// The table's row changes from `old` to `new`; `None`: there is none.
    pub(super) fn add(
        &self,
        trees: &mut dyn Trees,
        layout: &TableLayout,
        old: Option<Raw<'_>>,
        new: Option<Raw<'_>>,
    ) -> Result<(), Stop> {
        let (was, is) = (self.of_row(layout, old, -1)?, self.of_row(layout, new, 1)?);
        match (was, is) {
            (Some((key, mut deltas)), Some((new_key, new))) if key == new_key => {
                deltas.iter_mut().zip(new).for_each(|(delta, new)| *delta += new);
                if deltas.iter().any(|delta| *delta != 0) { self.put(trees, &key, &deltas) } else { Ok(()) }
            }
            (was, is) => was.into_iter().chain(is).try_for_each(|(key, deltas)| self.put(trees, &key, &deltas)),
        }
    }

    fn put(&self, trees: &mut dyn Trees, key: &[u8], deltas: &Deltas) -> Result<(), Stop> {
        let added = trees.add(self.tree, key, &self.front, &deltas[..self.counters]);
        added.map_err(|error| match error {
            StorageError::KeyTooLong { .. } => long_group(&self.view, error).into(),
            error => error.into(),
        })
    }

    /// The group of a row, and what the row counts for in it.
    fn of_row(
        &self,
        layout: &TableLayout,
        row: Option<Raw<'_>>,
        sign: i128,
    ) -> Result<Option<(Vec<u8>, Deltas)>, Stop> {
        let Some((key, value)) = row else { return Ok(None) };
        let row = Stored { layout, key, value };
        if !is_true(self.filter.as_ref(), &row)? {
            return Ok(None);
        }
        let mut group = Vec::new();
        for (expr, data_type) in &self.keys {
            key::encode_ref(eval(expr, &row, env())?.get(), *data_type, false, false, &mut group);
        }
        let mut deltas = [0; COUNTERS_MAX];
        deltas[0] = sign;
        for part in &self.parts {
            part.count(&row, sign, &mut deltas[part.at..])?;
        }
        Ok(Some((group, deltas)))
    }
}

impl Part {
    fn count(&self, row: &dyn Columns<Stop>, sign: i128, deltas: &mut [i128]) -> Result<(), Stop> {
        if !is_true(self.filter.as_ref(), row)? {
            return Ok(());
        }
        let argument = self.argument.as_ref().map(|argument| eval(argument, row, env())).transpose()?;
        match (self.tally, argument.as_ref().map(|argument| argument.get())) {
            (_, Some(ValueRef::Null)) => {}
            (Tally::Count, _) => deltas[0] = sign,
            (Tally::IntegerSum | Tally::BigIntSum | Tally::IntegerMean, Some(value)) => {
                let value = value.as_i64().ok_or_else(|| Error::internal("a sum of what is no integer"))?;
                (deltas[0], deltas[1]) = (sign, sign * i128::from(value));
            }
            (Tally::DecimalSum | Tally::DecimalMean, Some(ValueRef::Numeric(value))) => {
                deltas[0] = sign;
                match units(value, self.scale) {
                    Some(units) => deltas[2] = sign * units,
                    None => deltas[1] = sign,
                }
            }
            _ => return Err(Error::internal("a sum of what is no number").into()),
        }
        Ok(())
    }
}

/// A number in units of so many digits behind the point; `None`: NaN, for others of the column's type have no more digits.
fn units(value: NumericRef<'_>, scale: u16) -> Option<i128> {
    let (mantissa, own) = value.parts()?;
    mantissa.checked_mul(10_i128.checked_pow(scale.checked_sub(own)?.into())?)
}

fn is_true(condition: Option<&Expr>, row: &dyn Columns<Stop>) -> Result<bool, Stop> {
    match condition {
        Some(condition) => Ok(eval(condition, row, env())?.is_true()),
        None => Ok(true),
    }
}

/// No parameters, and the style that everything stored is computed in.
fn env() -> Env<'static> {
    static EVAL: LazyLock<EvalContext> = LazyLock::new(EvalContext::default);
    Env::of_point(&(), &EVAL)
}

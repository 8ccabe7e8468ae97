//! How many rows: statistics of columns, and the selectivity of conditions.
//!
//! Of a small table that nobody analyzed nothing but its size is known, which is taken to be [`ROWS_UNKNOWN`] at least: it may
//! grow. A unique column has as many different values, any other column PostgreSQL's 200.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::catalog::{ColumnStatistics, Table, TableStatistics};
use crate::functions::{self, EvalContext, Function, Matched, Nearest, Operator, after, nearness};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::is_boolean;
use crate::plan::scans::keys::{elements_of, known_text};
use crate::types::{DataType, Value, ValueRef};

const ROWS_UNKNOWN: f64 = 1000.0;
const DISTINCT_UNKNOWN: f64 = 200.0;
const RANGE_UNKNOWN: f64 = 1.0 / 3.0;
const RANGE_PAIR_UNKNOWN: f64 = 0.05;
/// What is taken for a range at least: statistics tell no less.
const RANGE_LEAST: f64 = 0.0005;
/// Rows that have certain keys, values or elements: PostgreSQL's guess where it knows nothing of the column.
const ITEMS_UNKNOWN: f64 = 0.01;
const MATCH_PREFIX: f64 = 0.02;
const MATCH_ANYWHERE: f64 = 0.05;

/// What is known of a column of some intermediate result.
#[derive(Clone, Debug)]
pub(in crate::plan) struct ColumnInfo {
    /// Different values.
    pub(in crate::plan) distinct: f64,
    /// Share of NULLs.
    pub(in crate::plan) null_fraction: f64,
    /// Bytes.
    pub(in crate::plan) width: f64,
    /// The table's column that it shows, if it does, and what is known of the table.
    pub(in crate::plan) source: Option<(Arc<Table>, usize, Option<Arc<TableStatistics>>)>,
}

impl ColumnInfo {
    /// A computed column.
    pub(in crate::plan) fn computed(data_type: DataType, rows: f64) -> ColumnInfo {
        let distinct = rows.clamp(1.0, DISTINCT_UNKNOWN);
        ColumnInfo { distinct, null_fraction: 0.0, width: default_width(data_type), source: None }
    }

    /// A table's column, or an expression in the key of one of its indexes; [`Table::ROW_NUMBER`] is the hidden row number.
    pub(in crate::plan) fn of_table(table: &Arc<Table>, column: usize) -> ColumnInfo {
        let rows = table_rows(table);
        let Some(definition) = table.columns.get(column) else {
            return match table.key_type(column) {
                Some(data_type) => ColumnInfo::of_expression(table, column, data_type),
                None => ColumnInfo { distinct: rows, null_fraction: 0.0, width: 8.0, source: None },
            };
        };
        let all = statistics(table);
        let known = all.as_ref().and_then(|all| all.columns.get(column));
        let width = known.map(|known| known.average_width).filter(|&width| width > 0.0);
        ColumnInfo {
            distinct: match known {
                Some(known) if known.distinct > 0.0 => grown(known.distinct, all.as_deref(), rows),
                _ if is_unique(table, column) => rows,
                _ => DISTINCT_UNKNOWN.min(rows),
            },
            null_fraction: known.map_or(0.0, |known| known.null_fraction),
            width: width.unwrap_or_else(|| default_width(definition.data_type)),
            source: Some((table.clone(), column, all)),
        }
    }

    /// An expression in the key of an index: of the rows that have an entry.
    fn of_expression(table: &Arc<Table>, column: usize, data_type: DataType) -> ColumnInfo {
        let rows = table_rows(table);
        let unknown = ColumnInfo::computed(data_type, rows);
        let Some(all) = statistics_of_expression(table, column) else { return unknown };
        let Some((known, _)) = table.key_statistics(column, &all) else { return unknown };
        ColumnInfo {
            distinct: if known.distinct > 0.0 { grown(known.distinct, Some(&all), rows) } else { unknown.distinct },
            null_fraction: known.null_fraction,
            width: if known.average_width > 0.0 { known.average_width } else { unknown.width },
            source: Some((table.clone(), column, Some(all))),
        }
    }

    /// The same column of a result of `rows` rows.
    pub(in crate::plan) fn within(mut self, rows: f64) -> ColumnInfo {
        self.distinct = self.distinct.min(rows).max(1.0);
        self
    }

    /// Whether somebody has looked at its values.
    pub(super) fn has_statistics(&self) -> bool {
        self.statistics().is_some()
    }

    fn statistics(&self) -> Option<(&ColumnStatistics, DataType)> {
        let (table, column, known) = self.source.as_ref()?;
        let known = known.as_ref()?;
        match table.columns.get(*column) {
            Some(definition) => Some((known.columns.get(*column)?, definition.data_type)),
            None => table.key_statistics(*column, known),
        }
    }
}

/// As [`statistics`], of an index's expression: of one that came after ANALYZE a sample may know.
fn statistics_of_expression(table: &Table, column: usize) -> Option<Arc<TableStatistics>> {
    let knows = |known: &Arc<TableStatistics>| table.key_statistics(column, known).is_some();
    let sample = || table.live.sample().map(|sample| sample.statistics);
    statistics(table)
        .filter(knows)
        .or_else(|| sample().filter(knows))
        .or_else(|| table.statistics.clone().filter(knows))
}

/// What ANALYZE found, or what was found since in a table that has become another.
fn statistics(table: &Table) -> Option<Arc<TableStatistics>> {
    let is_now = |known: &TableStatistics| table.live.rows().is_none_or(|rows| is_near(known.rows, rows));
    let analyzed = table.statistics.as_ref();
    match analyzed.filter(|known| is_now(known)) {
        Some(known) => Some(known.clone()),
        None => table.live.sample().map(|sample| sample.statistics).or_else(|| analyzed.cloned()),
    }
}

/// Whether a number of rows is another's within what may be wrong with either.
pub(super) fn is_near(a: f64, b: f64) -> bool {
    a.max(b) <= 1.5 * a.min(b)
}

/// Where many of the values differ, more rows have more of them.
fn grown(distinct: f64, known: Option<&TableStatistics>, rows: f64) -> f64 {
    match known {
        Some(known) if distinct > 0.1 * known.rows => distinct * (rows / known.rows.max(1.0)),
        _ => distinct,
    }
}

/// Rows of a table, as far as is known; at least one.
pub(in crate::plan) fn table_rows(table: &Table) -> f64 {
    let rows = match (&table.statistics, table.live.rows()) {
        (Some(known), Some(rows)) if !is_near(known.rows, rows) => rows,
        (Some(known), _) => known.rows,
        (None, Some(rows)) => rows.max(ROWS_UNKNOWN),
        (None, None) => ROWS_UNKNOWN,
    };
    rows.max(1.0)
}

fn is_unique(table: &Table, column: usize) -> bool {
    unique_keys(table).any(|key| key == [column])
}

/// The column sets of which no two rows share values (where none is NULL).
pub(in crate::plan) fn unique_keys(table: &Table) -> impl Iterator<Item = Vec<usize>> + '_ {
    table.unique_indexes().map(|index| index.positions().collect())
}

fn default_width(data_type: DataType) -> f64 {
    match data_type {
        DataType::Varchar(Some(length)) | DataType::Char(length) => f64::from(length).clamp(1.0, 64.0),
        DataType::Numeric(_) => 8.0,
        other => other.width().map_or(32.0, |width| width as f64),
    }
}

/// A column that a condition bounds by a value, if that is known.
pub(in crate::plan) type RangeBound<'e> = (Operator, Option<&'e Value>);

/// The share of rows that satisfy all conditions. Two bounds of one column are seen as a range.
pub(in crate::plan) fn selectivity_of_all(conditions: &[Expr], columns: &[ColumnInfo]) -> f64 {
    let mut share = 1.0;
    let mut ranges: Vec<(usize, Vec<RangeBound<'_>>)> = vec![];
    for condition in conditions {
        match range_bound(condition) {
            Some((column, op, value)) => {
                let bound = (op, literal(value));
                match ranges.iter_mut().find(|range| range.0 == column) {
                    Some((_, bounds)) => bounds.push(bound),
                    None => ranges.push((column, vec![bound])),
                }
            }
            None => share *= selectivity(condition, columns),
        }
    }
    for (column, bounds) in ranges {
        share *= range_share(columns.get(column), &bounds);
    }
    share.clamp(0.0, 1.0)
}

/// The share of rows whose value lies within all of the bounds.
pub(in crate::plan) fn range_share(info: Option<&ColumnInfo>, bounds: &[RangeBound<'_>]) -> f64 {
    let share = |(op, value): &RangeBound<'_>| info.map_or(RANGE_UNKNOWN, |info| comparison(*op, info, *value));
    let is_lower = |(op, _): &&RangeBound<'_>| matches!(op, Operator::Greater | Operator::GreaterEqual);
    let lower = bounds.iter().filter(is_lower).map(share).reduce(f64::min);
    let upper = bounds.iter().filter(|bound| !is_lower(bound)).map(share).reduce(f64::min);
    match (lower, upper) {
        (Some(RANGE_UNKNOWN), Some(RANGE_UNKNOWN)) => RANGE_PAIR_UNKNOWN,
        (Some(lower), Some(upper)) => {
            let known = 1.0 - info.map_or(0.0, |info| info.null_fraction);
            let least = whole_numbers(bounds).zip(info).map(|(count, info)| count / info.distinct.max(1.0));
            (lower + upper - known).max(least.map_or(RANGE_LEAST, |least| least.min(RANGE_LEAST)))
        }
        (lower, upper) => lower.or(upper).unwrap_or(1.0),
    }
}

/// How many whole numbers, or days, lie between these bounds, where both are such: no more values than that can be in the range.
fn whole_numbers(bounds: &[RangeBound<'_>]) -> Option<f64> {
    let (mut first, mut last) = (None, None);
    for (op, value) in bounds {
        let number = match value {
            Some(Value::SmallInt(number)) => i64::from(*number),
            Some(Value::Integer(number)) => i64::from(*number),
            Some(Value::BigInt(number)) => *number,
            Some(Value::Date(day)) => i64::from(*day),
            _ => continue,
        };
        match op {
            Operator::Greater | Operator::GreaterEqual => first = first.max(Some(number)),
            _ => last = Some(last.map_or(number, |last: i64| last.min(number))),
        }
    }
    Some((last? as f64 - first? as f64 + 1.0).max(1.0))
}

/// The share of rows that satisfy the condition.
pub(in crate::plan) fn selectivity(condition: &Expr, columns: &[ColumnInfo]) -> f64 {
    let share = match condition {
        Expr::And(parts) => selectivity_of_all(parts, columns),
        Expr::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - selectivity(part, columns)).product::<f64>(),
        Expr::Not(inner) => 1.0 - selectivity(inner, columns),
        Expr::IsNull(inner) => match column_of(inner) {
            Some(column) => columns.get(column).map_or(0.01, |info| info.null_fraction.max(0.001)),
            None => 0.01,
        },
        Expr::InList { input, list, .. } => {
            let each = |value| column_of(input).and_then(|c| columns.get(c)).map_or(0.01, |info| equal(info, value));
            list.iter().map(|item| each(literal(item))).sum()
        }
        Expr::Call { function, args } => match (function.op, args.as_slice()) {
            (None, [input, array]) if function.is_equal_to_any() => {
                let each = column_of(input).and_then(|c| columns.get(c)).map_or(0.01, |info| equal(info, None));
                each * elements_of(array)
            }
            (_, [_, _]) if asks_items(&function.name, &function.args) => ITEMS_UNKNOWN,
            (_, [text, pattern]) if let Some(share) = beginning(function, text, pattern, columns) => share,
            (Some(op), [first, second]) => operator(op, first, second, columns),
            _ => RANGE_UNKNOWN,
        },
        Expr::Literal { .. } => f64::from(u8::from(is_boolean(condition, true))),
        Expr::Column { index, .. } => columns.get(*index).map_or(0.5, |info| equal(info, Some(&Value::Boolean(true)))),
        _ => 0.5,
    };
    share.clamp(0.0, 1.0)
}

/// The share of texts that match a known pattern, where something is known of the column's.
fn beginning(function: &Function, text: &Expr, pattern: &Expr, columns: &[ColumnInfo]) -> Option<f64> {
    let matched = function.pattern?.matched(known_text(pattern)?)?;
    let info = column_of(text).and_then(|column| columns.get(column));
    let value = |text: &str| Value::text(text);
    Some(match (matched, info) {
        (Matched::One(one), Some(info)) => equal(info, Some(&value(&one))),
        (Matched::Begin { with, .. }, Some(info)) => {
            let Some(from) = below(info, Some(&value(&with))) else { return Some(MATCH_PREFIX) };
            let to = after(&with).and_then(|after| below(info, Some(&value(&after)))).unwrap_or(1.0);
            (to - from).max(0.0001)
        }
        (_, None) => MATCH_PREFIX,
    })
}

/// `@>` and its kin.
fn asks_items(symbol: &str, args: &[DataType]) -> bool {
    let is_array = args.first().is_some_and(|arg| arg.is_array());
    match symbol {
        "@>" | "<@" => is_array || args.first() == Some(&DataType::Jsonb),
        "&&" => is_array,
        "?" | "?|" | "?&" | "@?" | "@@" => args.first() == Some(&DataType::Jsonb),
        _ => false,
    }
}

fn operator(op: Operator, first: &Expr, second: &Expr, columns: &[ColumnInfo]) -> f64 {
    match (column_of(first), column_of(second)) {
        (Some(a), Some(b)) => {
            let (Some(a), Some(b)) = (columns.get(a), columns.get(b)) else { return RANGE_UNKNOWN };
            match op {
                Operator::Equal => join_equality(a, b),
                Operator::NotEqual => 1.0 - join_equality(a, b),
                _ => RANGE_UNKNOWN,
            }
        }
        (Some(column), None) => columns.get(column).map_or(RANGE_UNKNOWN, |info| comparison(op, info, literal(second))),
        (None, Some(column)) => match op.commuted() {
            Some(op) => columns.get(column).map_or(RANGE_UNKNOWN, |info| comparison(op, info, literal(first))),
            None => RANGE_UNKNOWN,
        },
        (None, None) => match op {
            Operator::Equal => 0.005,
            Operator::NotEqual => 0.995,
            Operator::Like | Operator::ILike => MATCH_ANYWHERE,
            _ => RANGE_UNKNOWN,
        },
    }
}

/// The share of pairs of two columns' values that are equal.
pub(in crate::plan) fn join_equality(a: &ColumnInfo, b: &ColumnInfo) -> f64 {
    (1.0 - a.null_fraction) * (1.0 - b.null_fraction) / a.distinct.max(b.distinct).max(1.0)
}

/// The column itself, or under a cast.
fn column_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        Expr::Cast { input, .. } => match &**input {
            Expr::Column { index, .. } => Some(*index),
            _ => None,
        },
        _ => None,
    }
}

/// A value that is known, or that stands for those that a parameter may have.
fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value),
        Expr::Parameter { assumed, .. } => assumed.as_deref(),
        _ => None,
    }
}

/// The column that a condition bounds, and by what.
pub(in crate::plan) fn range_bound(condition: &Expr) -> Option<(usize, Operator, &Expr)> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    let (column, op, value) = match (column_of(first), column_of(second)) {
        (Some(column), None) => (column, function.op?, second),
        (None, Some(column)) => (column, function.op?.commuted()?, first),
        _ => return None,
    };
    let range = matches!(op, Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual);
    range.then_some((column, op, value))
}

fn comparison(op: Operator, info: &ColumnInfo, value: Option<&Value>) -> f64 {
    let known = 1.0 - info.null_fraction;
    match op {
        Operator::Equal => equal(info, value),
        Operator::NotEqual => (known - equal(info, value)).max(0.0),
        Operator::Less | Operator::LessEqual => below(info, value).unwrap_or(RANGE_UNKNOWN),
        Operator::Greater | Operator::GreaterEqual => {
            below(info, value).map_or(RANGE_UNKNOWN, |share| (known - share).max(0.0001))
        }
        Operator::Like | Operator::ILike => pattern(value),
        Operator::NotLike | Operator::NotILike => known - pattern(value),
        _ => RANGE_UNKNOWN,
    }
}

fn pattern(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Text(text)) if text.starts_with(['%', '_']) => MATCH_ANYWHERE,
        _ => MATCH_PREFIX,
    }
}

fn equal(info: &ColumnInfo, value: Option<&Value>) -> f64 {
    let known = 1.0 - info.null_fraction;
    let uniform = known / info.distinct.max(1.0);
    let (Some(value), Some((statistics, data_type))) = (value, info.statistics()) else { return uniform };
    let common: f64 = statistics.most_common.iter().map(|(_, share)| share).sum();
    let found =
        statistics.most_common.iter().find(|(other, _)| compare(other, value, data_type) == Some(Ordering::Equal));
    match found {
        Some((_, share)) => *share,
        None => {
            let others = (statistics.distinct - statistics.most_common.len() as f64).max(1.0);
            ((known - common).max(0.0) / others).min(uniform)
        }
    }
}

/// The share of rows below the value; unknown without statistics.
fn below(info: &ColumnInfo, value: Option<&Value>) -> Option<f64> {
    let (statistics, data_type) = info.statistics()?;
    let value = value?;
    let less = |other: &Value| compare(other, value, data_type) == Some(Ordering::Less);
    let common: f64 = statistics.most_common.iter().filter(|(other, _)| less(other)).map(|(_, share)| share).sum();
    let all_common: f64 = statistics.most_common.iter().map(|(_, share)| share).sum();
    let rest = (1.0 - info.null_fraction - all_common).max(0.0);
    if statistics.histogram.len() < 2 {
        return (!statistics.most_common.is_empty()).then_some(common + rest / 2.0);
    }
    let buckets = (statistics.histogram.len() - 1) as f64;
    let position = statistics.histogram.partition_point(less);
    let share = match position {
        0 => 0.0,
        _ if position == statistics.histogram.len() => 1.0,
        _ => {
            let (low, high) = (&statistics.histogram[position - 1], &statistics.histogram[position]);
            ((position - 1) as f64 + inside(low, high, value, data_type)) / buckets
        }
    };
    Some((common + rest * share).clamp(0.0001, 1.0))
}

/// How far `value` lies between two bounds.
fn inside(low: &Value, high: &Value, value: &Value, data_type: DataType) -> f64 {
    let value = converted(value, data_type);
    match (number(low), number(high), value.as_ref().and_then(number)) {
        (Some(low), Some(high), Some(value)) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
        _ => 0.5,
    }
}

/// How a known value of the column lies to one that it is compared with, perhaps through a cast.
fn compare(known: &Value, value: &Value, data_type: DataType) -> Option<Ordering> {
    let order = match nearest(value, data_type) {
        // All that the type has is less.
        Some(found) if found.is_null() => Ordering::Less,
        Some(found) => known.compare_as(&found, data_type),
        None => known.compare_as(&converted(value, data_type)?, data_type),
    };
    Some(order)
}

/// The first of the column's values that is not less than one of another type of its family; NULL: none.
fn nearest(value: &Value, data_type: DataType) -> Option<Value> {
    let from = ValueRef::from(value).data_type().filter(|from| *from != data_type.base())?;
    let compared = [data_type.base(), from.base(), DataType::Double];
    compared.into_iter().find_map(|compared| nearness(data_type, compared, from))?;
    let function = Function::nearest(data_type, from, Nearest::AtLeast);
    function.call(std::slice::from_ref(value), &EvalContext::default()).ok()
}

/// A literal in the column's type (it may be compared through a cast of the column).
fn converted(value: &Value, data_type: DataType) -> Option<Value> {
    let from = ValueRef::from(value).data_type()?;
    if from == data_type.base() || (from == DataType::Text && data_type.is_string()) {
        return Some(value.clone());
    }
    let context = EvalContext::default();
    functions::cast(value, from, data_type.base(), &context).ok()
}

fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::SmallInt(n) => f64::from(*n),
        Value::Integer(n) | Value::Date(n) => f64::from(*n),
        Value::BigInt(n) | Value::Time(n) | Value::TimeTz(n) | Value::Timestamp(n) | Value::TimestampTz(n) => *n as f64,
        Value::Enum(value) => value.key() as f64,
        Value::Reg(value) => f64::from(value.oid),
        Value::Real(n) => f64::from(*n),
        Value::Double(n) => *n,
        Value::Numeric(_) => match converted(value, DataType::Double)? {
            Value::Double(n) => n,
            _ => return None,
        },
        Value::Jsonb(document) => document.to_string().parse().ok()?,
        _ => return None,
    })
}

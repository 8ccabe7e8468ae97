//! ANALYZE: statistics of a table from a sample of its rows.
//!
//! Rows are counted exactly. A reservoir keeps an evenly chosen sample of at most [`SAMPLE_ROWS`] of them (always the
//! same one for the same rows), from which each column's statistics are estimated as PostgreSQL does it: the number of
//! different values by Haas and Stokes' estimator (Duj1), the most common values, and an equi-depth histogram of the
//! others. So are those of the expressions of indexes ([`KeyExpressions`]), of the rows that have an entry.

use super::expressions::KeyExpressions;
use crate::Result;
use crate::catalog::{ColumnStatistics, ExpressionStatistics, ObjectId, TableStatistics};
use crate::types::{DataType, EvalContext, Value};

/// Rows in the sample: 300 for each of 100 histogram buckets, which bounds the error of a bucket.
const SAMPLE_ROWS: usize = 30_000;
const COMMON_MAX: usize = 100;
const BUCKETS: usize = 100;
/// Longer values are neither common values nor bounds: they would only make the catalog large.
const VALUE_BYTES_MAX: usize = 256;

/// Collects rows, then computes the statistics.
pub(crate) struct StatisticsBuilder<'e> {
    types: Vec<DataType>,
    expressions: &'e KeyExpressions,
    sample: Vec<Sampled>,
    rows: u64,
    random: u64,
}

/// A row's columns; and what it has for each expression, if it has an entry.
struct Sampled {
    columns: Vec<Value>,
    expressions: Vec<Option<Value>>,
}

impl<'e> StatisticsBuilder<'e> {
    /// For a table with columns of these types, whose indexes have these expressions.
    pub(crate) fn new(types: &[DataType], expressions: &'e KeyExpressions) -> StatisticsBuilder<'e> {
        let (types, random) = (types.to_vec(), 0x9E37_79B9_7F4A_7C15);
        StatisticsBuilder { types, expressions, sample: vec![], rows: 0, random }
    }

    /// Counts one row; `row` is called for its values (one per column) if the sample takes it.
    ///
    /// # Errors
    ///
    /// Those of `row`, and of the expressions.
    pub(crate) fn add_row(&mut self, row: impl FnOnce() -> Result<Vec<Value>>, context: &EvalContext) -> Result<()> {
        self.rows += 1;
        let expressions = self.expressions;
        let sampled = || {
            let columns = row()?;
            Ok::<_, crate::Error>(Sampled { expressions: expressions.of_row(&columns, context)?, columns })
        };
        if self.sample.len() < SAMPLE_ROWS {
            self.sample.push(sampled()?);
            return Ok(());
        }
        let place = self.next_random() % self.rows;
        if let Some(slot) = usize::try_from(place).ok().and_then(|place| self.sample.get_mut(place)) {
            *slot = sampled()?;
        }
        Ok(())
    }

    /// xorshift64.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// The statistics of all rows added.
    pub(crate) fn finish(self) -> TableStatistics {
        let rows = self.rows as f64;
        self.finish_of(rows)
    }

    /// The statistics of a table of so many rows, of which those added are a sample.
    pub(super) fn finish_of(self, rows: f64) -> TableStatistics {
        let rows = rows.max(self.rows as f64);
        let column = |(place, &data_type): (usize, &DataType)| {
            let values = self.sample.iter().map(|row| row.columns.get(place).unwrap_or(&Value::Null));
            column_statistics(values, data_type, rows)
        };
        let expression = |(place, (key, data_type)): (usize, ((ObjectId, usize), DataType))| {
            let values = self.sample.iter().filter_map(|row| row.expressions.get(place)?.as_ref());
            let share = values.clone().count() as f64 / self.sample.len().max(1) as f64;
            ExpressionStatistics { key, data_type, found: column_statistics(values, data_type, rows * share) }
        };
        TableStatistics {
            rows,
            columns: self.types.iter().enumerate().map(column).collect(),
            expressions: self.expressions.keys().enumerate().map(expression).collect(),
        }
    }
}

/// The statistics of one column from sampled values, of a table of `rows` rows.
fn column_statistics<'v>(values: impl Iterator<Item = &'v Value>, data_type: DataType, rows: f64) -> ColumnStatistics {
    let (mut present, mut nulls, mut bytes) = (vec![], 0usize, 0usize);
    for value in values {
        match value {
            Value::Null => nulls += 1,
            value => {
                bytes += width(value);
                present.push(value);
            }
        }
    }
    let sampled = (present.len() + nulls) as f64;
    if present.is_empty() {
        let null_fraction = if nulls > 0 { 1.0 } else { 0.0 };
        return ColumnStatistics { null_fraction, ..ColumnStatistics::default() };
    }
    let average_width = bytes as f64 / present.len() as f64;
    let null_fraction = nulls as f64 / sampled;
    present.sort_by(|a, b| a.compare_as(b, data_type));
    let groups = groups(&present, data_type);
    let distinct = distinct_estimate(&groups, present.len() as f64, rows * (1.0 - null_fraction));
    let common = most_common(&groups, present.len(), distinct);
    let share = |count: usize| count as f64 / sampled;
    let is_common = |group: &Group| common.iter().any(|other| other.first == group.first);
    let rest: Vec<&Value> = groups
        .iter()
        .filter(|group| !is_common(group))
        .flat_map(|group| &present[group.first..group.first + group.count])
        .copied()
        .collect();
    ColumnStatistics {
        null_fraction,
        distinct,
        most_common: common.iter().map(|group| (present[group.first].clone(), share(group.count))).collect(),
        histogram: histogram(&rest, data_type),
        average_width,
    }
}

/// Equal values in the sorted sample.
#[derive(Clone, Copy)]
struct Group {
    first: usize,
    count: usize,
}

fn groups(sorted: &[&Value], data_type: DataType) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    for (place, value) in sorted.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if sorted[group.first].compare_as(value, data_type).is_eq() => group.count += 1,
            _ => groups.push(Group { first: place, count: 1 }),
        }
    }
    groups
}

/// Different values among `rows` rows, from a sample of `sampled` of them: n d / (n - f1 + f1 n / N).
fn distinct_estimate(groups: &[Group], sampled: f64, rows: f64) -> f64 {
    let seen = groups.len() as f64;
    let once = groups.iter().filter(|group| group.count == 1).count() as f64;
    if sampled >= rows || once == 0.0 {
        return seen;
    }
    (sampled * seen / (sampled - once + once * sampled / rows)).clamp(seen, rows)
}

/// Values that are clearly more common than the average, the most common first; all of them where there are few.
fn most_common(groups: &[Group], sampled: usize, distinct: f64) -> Vec<Group> {
    let mut common: Vec<Group> = groups.iter().filter(|group| group.count > 1).copied().collect();
    common.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.cmp(&b.first)));
    common.truncate(COMMON_MAX);
    let all_known = groups.len() <= COMMON_MAX && distinct <= groups.len() as f64;
    if !all_known {
        let average = sampled as f64 / distinct.max(1.0);
        common.retain(|group| group.count as f64 > average * 1.25);
    }
    common
}

fn histogram(sorted: &[&Value], data_type: DataType) -> Vec<Value> {
    let sorted: Vec<&Value> = sorted.iter().copied().filter(|value| width(value) <= VALUE_BYTES_MAX).collect();
    let Some(last) = sorted.len().checked_sub(1).filter(|&last| last > 0) else { return vec![] };
    let buckets = BUCKETS.min(last);
    let mut bounds: Vec<Value> = (0..=buckets).map(|bucket| sorted[last * bucket / buckets].clone()).collect();
    bounds.dedup_by(|a, b| a.compare_as(b, data_type).is_eq());
    if bounds.len() < 2 { vec![] } else { bounds }
}

/// Bytes of a value.
fn width(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Boolean(_) => 1,
        Value::SmallInt(_) => 2,
        Value::Integer(_) | Value::Real(_) | Value::Date(_) | Value::Reg(_) => 4,
        Value::BigInt(_)
        | Value::Double(_)
        | Value::Enum(_)
        | Value::Time(_)
        | Value::TimeTz(_)
        | Value::Timestamp(_)
        | Value::TimestampTz(_) => 8,
        Value::Numeric(_) => 8,
        Value::Interval(_) | Value::Uuid(_) => 16,
        Value::Inet(of) | Value::Cidr(of) => 2 + usize::from(of.bits_max() / 8),
        Value::Macaddr(_) => 6,
        Value::Macaddr8(_) => 8,
        Value::Text(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        Value::Json(text) => text.len(),
        Value::Citext(text) => text.as_str().len(),
        Value::Hstore(of) => of.byte_len(),
        Value::Jsonb(document) => document.as_bytes().len(),
        Value::JsonPath(_) => 32,
        Value::Composite(row) => row.memory_bytes(),
        Value::Array(array) => array.memory_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(values: impl Iterator<Item = Value>) -> TableStatistics {
        let (none, context) = (KeyExpressions::default(), EvalContext::default());
        let mut builder = StatisticsBuilder::new(&[DataType::Integer], &none);
        values.for_each(|value| builder.add_row(|| Ok(vec![value]), &context).expect("a row"));
        builder.finish()
    }

    #[test]
    fn a_unique_column_of_a_large_table_is_seen_as_unique() {
        let statistics = statistics((0..100_000).map(Value::Integer));
        let column = &statistics.columns[0];
        assert_eq!(statistics.rows, 100_000.0);
        assert!(column.distinct > 99_000.0, "{}", column.distinct);
        assert!(column.most_common.is_empty());
        assert_eq!(column.histogram.len(), 101);
        let Value::Integer(median) = column.histogram[50] else { panic!("an integer") };
        assert!((45_000..55_000).contains(&median), "{median}");
    }

    #[test]
    fn few_values_are_all_common_values_with_their_shares() {
        let statistics = statistics((0..1000).map(|n| if n % 4 == 0 { Value::Null } else { Value::Integer(n % 2) }));
        let column = &statistics.columns[0];
        assert_eq!(column.null_fraction, 0.25);
        assert_eq!(column.distinct, 2.0);
        assert_eq!(column.most_common.len(), 2);
        assert!(matches!(column.most_common[0], (Value::Integer(1), share) if share == 0.5));
        assert!(column.histogram.is_empty());
    }

    #[test]
    fn an_empty_table_and_a_column_of_nulls_have_statistics() {
        let empty = statistics(std::iter::empty());
        assert_eq!((empty.rows, empty.columns[0].null_fraction), (0.0, 0.0));
        let nulls = statistics((0..10).map(|_| Value::Null));
        assert_eq!(nulls.columns[0].null_fraction, 1.0);
        assert!(nulls.columns[0].histogram.is_empty());
    }

    #[test]
    fn a_skewed_value_is_common_and_the_others_make_the_histogram() {
        let skewed = (0..50_000).map(|n| Value::Integer(if n % 2 == 0 { -1 } else { n }));
        let statistics = statistics(skewed);
        let column = &statistics.columns[0];
        let (value, share) = &column.most_common[0];
        assert!(matches!(value, Value::Integer(-1)) && (share - 0.5).abs() < 0.02);
        assert!(column.histogram.iter().all(|bound| !matches!(bound, Value::Integer(-1))));
    }
}

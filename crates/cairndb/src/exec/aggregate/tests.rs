//! Kernels against the aggregates' own accumulators, and the clauses of an aggregate call.

use crate::exec::testing::*;
use crate::plan::AggregateCall;
use crate::types::{Interval, Numeric};
use crate::{DataType, SqlState, Value};

const NAMES: [&str; 5] = ["count", "sum", "avg", "min", "max"];

fn random_value(data_type: DataType, random: &mut Random) -> Value {
    let n = random.below(2000) as i32 - 1000;
    if random.below(6) == 0 {
        return Value::Null;
    }
    match data_type {
        DataType::SmallInt => Value::SmallInt(n as i16),
        DataType::Integer => Value::Integer(n * 2_000_000),
        DataType::BigInt => Value::BigInt(i64::from(n) * 9_000_000_000_000_000),
        // Quarters add up exactly in any order.
        DataType::Real => Value::Real(n as f32 * 0.25),
        DataType::Double => Value::Double(f64::from(n) * 0.25),
        DataType::Char(_) => Value::text(format!("{:1$}", "b", n.unsigned_abs() as usize % 3)),
        DataType::Numeric(Some(_)) => Value::Numeric(Numeric::small(i64::from(n) * 12345, 2)),
        DataType::Numeric(_) if n % 50 == 0 => {
            Value::Numeric(Numeric::from_i128(i128::from(n) * 1_000_000_000_000_000_000_000_000_000, 3))
        }
        DataType::Numeric(_) => Value::Numeric(Numeric::small(i64::from(n) * 12345, (n % 7).unsigned_abs() as u16)),
        DataType::Date => Value::Date(n),
        DataType::TIMESTAMP => Value::Timestamp(i64::from(n) << 30),
        // 30 days are a month.
        DataType::INTERVAL => Value::Interval(Interval { months: n % 7, days: n / 100 * 30, micros: i64::from(n % 2) }),
        _ => Value::text(format!("{n}")),
    }
}

/// What the accumulators say: by group in order of first rows.
fn reference(name: &str, data_type: DataType, rows: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut groups: Vec<(Value, Vec<&Value>)> = vec![];
    for row in rows {
        match groups.iter_mut().find(|(key, _)| *key == row[0]) {
            Some((_, values)) => values.push(&row[1]),
            None => groups.push((row[0].clone(), vec![&row[1]])),
        }
    }
    let answer = |(key, values): (Value, Vec<&Value>)| {
        let mut accumulator = aggregate_of(name, Some(data_type)).start();
        values.into_iter().for_each(|value| accumulator.update(std::slice::from_ref(value)).unwrap());
        vec![key, accumulator.finish().unwrap()]
    };
    groups.into_iter().map(answer).collect()
}

#[test]
fn kernels_say_what_the_accumulators_say() {
    let fixture = Fixture::new();
    let mut random = Random::new(11);
    let numeric = DataType::Numeric(None);
    let types = [
        DataType::SmallInt,
        INT,
        BIG,
        DataType::Real,
        DataType::Double,
        numeric,
        DataType::Numeric(Some((12, 2))),
        DataType::Date,
        DataType::TIMESTAMP,
        DataType::INTERVAL,
        TEXT,
        DataType::Char(3),
    ];
    for data_type in types {
        let rows: Vec<Vec<Value>> =
            (0..300).map(|_| vec![random.int_or_null(5), random_value(data_type, &mut random)]).collect();
        for name in NAMES {
            if matches!(name, "sum" | "avg") && !data_type.is_numeric() {
                continue;
            }
            let call = aggregate_call(name, Some(col(1, data_type)));
            let plan = aggregate(values(&[INT, data_type], &rows), vec![col(0, INT)], vec![call]);
            let got = fixture.rows(&plan).unwrap();
            assert_eq!(got, reference(name, data_type, &rows), "{name}({data_type})");
            // Equal numerics may differ in scale, which shows.
            let shown = |rows: &[Vec<Value>]| format!("{rows:?}");
            assert_eq!(shown(&got), shown(&reference(name, data_type, &rows)), "{name}({data_type})");
        }
    }
}

#[test]
fn of_values_that_are_equal_but_not_the_same_the_last_is_the_greatest_and_the_least() {
    let fixture = Fixture::new();
    let numeric = |mantissa, scale| Value::Numeric(Numeric::small(mantissa, scale));
    let interval = |months, days| Value::Interval(Interval { months, days, micros: 0 });
    let pairs = [
        (DataType::Double, Value::Double(0.0), Value::Double(-0.0)),
        (DataType::Numeric(None), numeric(1, 0), numeric(100, 2)),
        (DataType::INTERVAL, interval(1, 0), interval(0, 30)),
        (DataType::Char(3), Value::text("b  "), Value::text("b")),
    ];
    for (data_type, a, b) in pairs {
        for rows in [[&a, &b], [&b, &a]] {
            let kept = rows[usize::from(!matches!(data_type, DataType::Char(_)))];
            let rows: Vec<Vec<Value>> = rows.map(|value| vec![value.clone()]).into();
            for name in ["min", "max"] {
                let call = aggregate_call(name, Some(col(0, data_type)));
                let found = fixture.rows(&aggregate(values(&[data_type], &rows), vec![], vec![call])).unwrap();
                assert_eq!(format!("{:?}", found[0][0]), format!("{kept:?}"), "{name}({data_type})");
            }
        }
    }
}

#[test]
fn sums_of_decimals_of_every_form() {
    let fixture = Fixture::new();
    let mut random = Random::new(12);
    let numeric = DataType::Numeric(None);
    let decimal = |random: &mut Random, form| {
        let wide = i128::from(i64::MAX - random.below(1000) as i64) * (random.below(2000) as i128 - 1000);
        match form {
            0 => Numeric::small(random.below(2000) as i64 - 1000, 2),
            1 => Numeric::small(random.below(2000) as i64 - 1000, random.below(5) as u16),
            2 => Numeric::small(i64::MAX - random.below(1000) as i64, 4),
            3 => Numeric::from_i128(wide, random.below(10) as u16),
            // Beyond 128 bits in one scale.
            4 => Numeric::from_i128(wide, random.below(60) as u16),
            _ => [Numeric::NAN, Numeric::INFINITY, Numeric::ONE, Numeric::ZERO][random.below(4) as usize].clone(),
        }
    };
    for form in 0..6 {
        for nulls in [false, true] {
            let value = |random: &mut Random| match nulls && random.below(4) == 0 {
                true => Value::Null,
                false => Value::Numeric(decimal(random, form)),
            };
            let rows: Vec<Vec<Value>> = (0..200).map(|_| vec![random.int_or_null(3), value(&mut random)]).collect();
            let together: Vec<Vec<Value>> = rows.iter().map(|row| vec![Value::Integer(0), row[1].clone()]).collect();
            for name in ["sum", "avg", "min", "max"] {
                let call = || vec![aggregate_call(name, Some(col(1, numeric)))];
                let shown = |rows: &[Vec<Value>]| format!("{rows:?}");
                let grouped = aggregate(values(&[INT, numeric], &rows), vec![col(0, INT)], call());
                assert_eq!(shown(&fixture.rows(&grouped).unwrap()), shown(&reference(name, numeric, &rows)), "{name}");
                let one = fixture.rows(&aggregate(values(&[INT, numeric], &rows), vec![], call())).unwrap();
                assert_eq!(shown(&one), shown(&[reference(name, numeric, &together)[0][1..].to_vec()]), "{name}");
            }
        }
    }
}

#[test]
fn no_rows_and_no_groups_give_one_row() {
    let fixture = Fixture::new();
    let calls = || {
        let arg = || Some(col(0, INT));
        vec![aggregate_call("count", None), aggregate_call("sum", arg()), aggregate_call("min", arg())]
    };
    let empty = values(&[INT], &[]);
    let rows = fixture.rows(&aggregate(empty.clone(), vec![], calls())).unwrap();
    assert_eq!(rows, [[Value::BigInt(0), Value::Null, Value::Null]]);
    assert!(fixture.rows(&aggregate(empty, vec![col(0, INT)], calls())).unwrap().is_empty());
}

#[test]
fn sums_overflow_with_an_error_only_if_the_total_does() {
    let fixture = Fixture::new();
    let sum = |values_: &[i64]| {
        let rows: Vec<Vec<Value>> = values_.iter().map(|&v| vec![Value::BigInt(v)]).collect();
        fixture.rows(&aggregate(values(&[BIG], &rows), vec![], vec![aggregate_call("sum", Some(col(0, BIG)))]))
    };
    let expected = Value::Numeric(Numeric::from_i128(2 * i128::from(i64::MAX), 0));
    assert_eq!(sum(&[i64::MAX, i64::MAX]).unwrap(), [[expected]]);
    let doubles = values(&[DataType::Double], &[vec![Value::Double(f64::MAX)], vec![Value::Double(f64::MAX)]]);
    let plan = aggregate(doubles, vec![], vec![aggregate_call("sum", Some(col(0, DataType::Double)))]);
    assert_eq!(fixture.rows(&plan).unwrap_err().sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn distinct_counts_each_value_once_per_group() {
    let fixture = Fixture::new();
    let rows: Vec<Vec<Value>> = [(1, Some(5)), (1, Some(5)), (2, Some(5)), (1, None), (1, Some(6)), (2, Some(5))]
        .map(|(group, value)| ints(&[Some(group), value]))
        .to_vec();
    let call = |name| AggregateCall { distinct: true, ..aggregate_call(name, Some(col(1, INT))) };
    let plan = aggregate(values(&[INT, INT], &rows), vec![col(0, INT)], vec![call("count"), call("sum")]);
    let expected = [[int(1), Value::BigInt(2), Value::BigInt(11)], [int(2), Value::BigInt(1), Value::BigInt(5)]];
    assert_eq!(fixture.rows(&plan).unwrap(), expected);
}

#[test]
fn filter_keeps_the_argument_from_being_evaluated() {
    let fixture = Fixture::new();
    let rows: Vec<Vec<Value>> = [0, 1, 2, 5].map(|n| vec![int(n)]).to_vec();
    let quotient = call("/", vec![int_literal(10), col(0, INT)]);
    let nonzero = call("<>", vec![col(0, INT), int_literal(0)]);
    let call = AggregateCall { filter: Some(nonzero), ..aggregate_call("sum", Some(quotient)) };
    let plan = aggregate(values(&[INT], &rows), vec![], vec![call]);
    assert_eq!(fixture.rows(&plan).unwrap(), [[Value::BigInt(17)]]);
}

fn string_agg(order_by: Vec<crate::plan::SortKey>, distinct: bool) -> AggregateCall {
    let overloads = crate::functions::aggregate_overloads("string_agg");
    let aggregate = overloads.iter().find(|a| *a.args == [TEXT, TEXT]).cloned().unwrap();
    let args = vec![col(1, TEXT), literal(text(","), TEXT)];
    AggregateCall { aggregate, args, distinct, filter: None, order_by }
}

#[test]
fn order_by_orders_within_each_group() {
    let fixture = Fixture::new();
    let rows: Vec<Vec<Value>> = [(1, "b"), (2, "x"), (1, "c"), (1, "a"), (2, "y"), (1, "b")]
        .map(|(group, value)| vec![int(group), text(value)])
        .to_vec();
    let input = || values(&[INT, TEXT], &rows);
    let key = || vec![sort_key(col(1, TEXT), true, false)];
    let plan = aggregate(input(), vec![col(0, INT)], vec![string_agg(key(), false), string_agg(key(), true)]);
    let expected = [[int(1), text("c,b,b,a"), text("c,b,a")], [int(2), text("y,x"), text("y,x")]];
    assert_eq!(fixture.rows(&plan).unwrap(), expected);
    let plan = aggregate(input(), vec![col(0, INT)], vec![string_agg(vec![], false)]);
    assert_eq!(fixture.rows(&plan).unwrap(), [[int(1), text("b,c,a,b")], [int(2), text("x,y")]]);
}

#[test]
fn groups_by_several_columns_keep_nulls_together() {
    let fixture = Fixture::new();
    let rows: Vec<Vec<Value>> = vec![
        vec![text("a"), Value::Null],
        vec![text("a"), Value::Null],
        vec![Value::Null, int(1)],
        vec![text(""), int(1)],
        vec![Value::Null, int(1)],
    ];
    let calls = vec![aggregate_call("count", None)];
    let plan = aggregate(values(&[TEXT, INT], &rows), vec![col(0, TEXT), col(1, INT)], calls);
    let counts: Vec<Value> = fixture.rows(&plan).unwrap().into_iter().map(|row| row[2].clone()).collect();
    assert_eq!(counts, [Value::BigInt(2), Value::BigInt(2), Value::BigInt(1)]);
}

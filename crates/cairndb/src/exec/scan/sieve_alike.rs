//! Tests that a scan with a condition, part of which is asked of the rows' bytes, finds what the condition is true of.

use crate::exec::testing::*;
use crate::exec::{ExecContext, eval_row};
use crate::plan::{Expr, PhysicalNode as N};
use crate::types::datetime::{MICROS_PER_DAY, TimeTz};
use crate::{DataType, Value};

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// What rows keep as integers; the text between them is of any length.
const TYPES: [DataType; 9] = [
    DataType::SmallInt,
    DataType::Integer,
    DataType::Text,
    DataType::BigInt,
    DataType::Date,
    DataType::TIME,
    DataType::TIMETZ,
    DataType::TIMESTAMP,
    DataType::TIMESTAMPTZ,
];

/// A number at the limits of a width.
fn number(random: &mut Random) -> i64 {
    let limit = 1_i64 << random.below(63);
    [0, 1, -1, limit, limit - 1, -limit, -limit - 1, i64::MAX, i64::MIN][random.below(9) as usize]
}

fn value(data_type: DataType, random: &mut Random) -> Value {
    let number = number(random);
    let clamped = number.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    match data_type {
        DataType::SmallInt => Value::SmallInt(number.clamp(i16::MIN.into(), i16::MAX.into()) as i16),
        DataType::Integer => Value::Integer(clamped),
        DataType::Date => Value::Date(clamped),
        DataType::BigInt => Value::BigInt(number),
        DataType::TIME => Value::Time(number.rem_euclid(MICROS_PER_DAY + 1)),
        DataType::TIMETZ => {
            let east = (clamped % 57_600) / 3600 * 3600;
            let time = TimeTz::new(number.rem_euclid(MICROS_PER_DAY + 1), east).expect("a time");
            Value::TimeTz(time.packed())
        }
        DataType::TIMESTAMP => Value::Timestamp(number),
        DataType::TIMESTAMPTZ => Value::TimestampTz(number),
        _ => text(&"x".repeat(random.below(20) as usize)),
    }
}

fn value_or_null(data_type: DataType, nulls: u64, random: &mut Random) -> Value {
    if nulls > 0 && random.below(nulls) == 0 { Value::Null } else { value(data_type, random) }
}

/// A literal or a parameter: one of the column's own values, or another.
fn constant(rows: &[Vec<Value>], column: usize, parameters: &mut Vec<Value>, random: &mut Random) -> Expr {
    let data_type = TYPES[column];
    let value = match random.below(2) {
        0 => rows[random.below(rows.len() as u64) as usize][column].clone(),
        _ => value_or_null(data_type, 9, random),
    };
    if random.below(2) == 0 {
        return literal(value, data_type);
    }
    parameters.push(value);
    Expr::parameter(parameters.len() - 1, data_type)
}

fn comparison(rows: &[Vec<Value>], parameters: &mut Vec<Value>, random: &mut Random) -> Expr {
    let column = random.below(TYPES.len() as u64) as usize;
    let (mut left, mut right) = (col(column, TYPES[column]), constant(rows, column, parameters, random));
    if TYPES[column].is_integer() && random.below(3) == 0 {
        // As the binder compares integers of different widths.
        left = Expr::Cast { input: Box::new(left), to: BIG };
        right = literal(value_or_null(BIG, 9, random), BIG);
    }
    if random.below(3) == 0 {
        (left, right) = (right, left);
    }
    call(OPERATORS[random.below(6) as usize], vec![left, right])
}

fn condition(rows: &[Vec<Value>], parameters: &mut Vec<Value>, random: &mut Random) -> Expr {
    let mut several = |random: &mut Random| (0..2).map(|_| comparison(rows, parameters, random)).collect::<Vec<_>>();
    match random.below(5) {
        0 => Expr::And(several(random)),
        1 => Expr::And(vec![Expr::And(several(random)), Expr::Or(several(random))]),
        2 => Expr::Not(Box::new(comparison(rows, parameters, random))),
        _ => comparison(rows, parameters, random),
    }
}

#[test]
fn a_scan_finds_what_its_condition_is_true_of() {
    let mut random = Random::new(21);
    let (mut found, mut dropped) = (0, 0);
    for nulls in [0, 2, 9] {
        let fixture = Fixture::new();
        let rows: Vec<Vec<Value>> =
            (0..150).map(|_| TYPES.map(|data_type| value_or_null(data_type, nulls, &mut random)).into()).collect();
        let table = fixture.table(&TYPES, &[], &[], &rows);
        for _ in 0..150 {
            let mut parameters = vec![];
            let predicate = condition(&rows, &mut parameters, &mut random);
            let context = ExecContext { parameters: parameters.into(), ..fixture.context() };
            let is_true = |row: &&Vec<Value>| eval_row(&predicate, row, &context).unwrap().is_true();
            let expected: Vec<Vec<Value>> = rows.iter().filter(is_true).cloned().collect();
            let mut plan = scan(&table);
            if let N::TableScan { filter, .. } = &mut plan.node {
                *filter = Some(predicate.clone());
            }
            assert_eq!(fixture.rows_in(&plan, &context).unwrap(), expected, "{predicate:?}");
            found += expected.len();
            dropped += rows.len() - expected.len();
        }
    }
    assert!(found > 5_000 && dropped > 5_000, "{found} found, {dropped} dropped");
}

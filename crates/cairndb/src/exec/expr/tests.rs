//! Expressions over batches: against evaluation row by row, and what must not be evaluated.

use crate::exec::eval_row;
use crate::exec::testing::*;
use crate::functions::{exact_overload, overloads};
use crate::plan::{Expr, QuantifiedOp, SubqueryKind};
use crate::types::Numeric;
use crate::{DataType, Result, SqlState, Value};

/// The expression's value for each of the rows, by a projection.
fn project_rows(types: &[DataType], rows: &[Vec<Value>], expr: Expr) -> Result<Vec<Value>> {
    let rows = Fixture::new().rows(&project(values(types, rows), vec![expr]))?;
    Ok(rows.into_iter().map(|mut row| row.remove(0)).collect())
}

const NUMERIC: DataType = DataType::Numeric(None);
const COLUMNS: [DataType; 8] = [INT, INT, BIG, DataType::SmallInt, DataType::Double, NUMERIC, TEXT, DataType::Boolean];

fn random_value(data_type: DataType, random: &mut Random) -> Value {
    if random.below(5) == 0 {
        return Value::Null;
    }
    let n = random.below(7) as i32 - 3;
    match data_type {
        DataType::SmallInt => Value::SmallInt(n as i16),
        DataType::Integer if random.below(9) == 0 => Value::Integer(i32::MAX),
        DataType::Integer => Value::Integer(n),
        DataType::BigInt => Value::BigInt(n.into()),
        DataType::Double if random.below(9) == 0 => Value::Double(f64::NAN),
        DataType::Double => Value::Double(f64::from(n) / 2.0),
        DataType::Numeric(_) => Value::Numeric(Numeric::small(n.into(), 1)),
        DataType::Boolean => Value::Boolean(n > 0),
        _ => Value::text(["", "a", "ab", "b%", "abc"][random.below(5) as usize]),
    }
}

/// An expression of the type, from columns, literals and all that evaluates them.
fn random_expr(data_type: DataType, depth: usize, random: &mut Random) -> Expr {
    if depth == 0 || random.below(5) == 0 {
        return leaf(data_type, random);
    }
    let next = |data_type: DataType, random: &mut Random| random_expr(data_type, depth - 1, random);
    match random.below(8) {
        0 => Expr::Case {
            branches: (0..2).map(|_| (next(BOOL, random), next(data_type, random))).collect(),
            otherwise: (random.below(2) == 0).then(|| Box::new(next(data_type, random))),
            data_type,
        },
        1 => Expr::Coalesce { args: (0..3).map(|_| next(data_type, random)).collect(), data_type },
        _ if data_type == BOOL => random_condition(depth, random),
        _ if data_type.is_numeric() => {
            let name = ["+", "-", "*", "/"][random.below(4) as usize];
            call(name, vec![next(data_type, random), next(data_type, random)])
        }
        _ => leaf(data_type, random),
    }
}

fn leaf(data_type: DataType, random: &mut Random) -> Expr {
    let columns: Vec<usize> = (0..COLUMNS.len()).filter(|&c| COLUMNS[c] == data_type).collect();
    match random.below(4) {
        0 => literal(random_value(data_type, random), data_type),
        _ => col(columns[random.below(columns.len() as u64) as usize], data_type),
    }
}

fn random_condition(depth: usize, random: &mut Random) -> Expr {
    let next = |data_type: DataType, random: &mut Random| random_expr(data_type, depth - 1, random);
    let data_type = [INT, BIG, DataType::Double, NUMERIC, TEXT][random.below(5) as usize];
    match random.below(8) {
        0 => Expr::And((0..3).map(|_| next(BOOL, random)).collect()),
        1 => Expr::Or((0..3).map(|_| next(BOOL, random)).collect()),
        2 => Expr::Not(Box::new(next(BOOL, random))),
        3 => Expr::IsNull(Box::new(next(data_type, random))),
        4 => Expr::IsNotDistinct(Box::new(next(data_type, random)), Box::new(next(data_type, random))),
        5 => {
            let constant = random.below(2) == 0;
            let element = |random: &mut Random| match constant {
                true => literal(random_value(data_type, random), data_type),
                false => leaf(data_type, random),
            };
            let list = (0..3).map(|_| element(random)).collect();
            let equal = function("=", &[data_type, data_type]);
            Expr::InList { input: Box::new(next(data_type, random)), list, equal }
        }
        6 if exact_overload("~~", &[TEXT, TEXT]).is_some() => {
            call("~~", vec![next(TEXT, random), literal(text("a%"), TEXT)])
        }
        _ => {
            let name = ["=", "<>", "<", "<=", ">", ">="][random.below(6) as usize];
            // Different integer widths meet in one comparison.
            let other = if data_type == BIG { INT } else { data_type };
            call(name, vec![next(data_type, random), next(other, random)])
        }
    }
}

#[test]
fn batches_and_single_rows_evaluate_alike() {
    let mut random = Random::new(5);
    let fixture = Fixture::new();
    let context = fixture.context();
    let (mut good, mut failed) = (0, 0);
    for _ in 0..1500 {
        let data_type = [BOOL, INT, BIG, DataType::Double, NUMERIC, TEXT][random.below(6) as usize];
        let expr = random_expr(data_type, 4, &mut random);
        let rows: Vec<Vec<Value>> =
            (0..12).map(|_| COLUMNS.iter().map(|&t| random_value(t, &mut random)).collect()).collect();
        let by_row: Result<Vec<Vec<Value>>> =
            rows.iter().map(|row| Ok(vec![eval_row(&expr, row, &context)?])).collect();
        let by_batch = run(&project(values(&COLUMNS, &rows), vec![expr.clone()]), context.clone());
        match (by_row, by_batch) {
            (Ok(a), Ok(b)) => {
                assert_eq!(format!("{a:?}"), format!("{b:?}"), "{expr:?}");
                good += 1;
            }
            (Err(_), Err(_)) => failed += 1,
            (a, b) => panic!("one fails: {a:?} {b:?} in {expr:?} over {rows:?}"),
        }
    }
    assert!(good > 500 && failed > 50, "{good} {failed}");
}

fn column_of(values: &[Option<i32>]) -> Vec<Vec<Value>> {
    ints(values).into_iter().map(|value| vec![value]).collect()
}

fn quotient() -> Expr {
    call("/", vec![int_literal(100), col(0, INT)])
}

#[test]
fn a_guard_keeps_the_guarded_from_failing() {
    let rows = column_of(&[Some(5), Some(0), None, Some(10)]);
    let guard = || call("<>", vec![col(0, INT), int_literal(0)]);
    let case = Expr::Case { branches: vec![(guard(), quotient())], otherwise: None, data_type: INT };
    assert_eq!(project_rows(&[INT], &rows, case).unwrap(), ints(&[Some(20), None, None, Some(10)]));
    let big = || call(">", vec![quotient(), int_literal(15)]);
    let and = project_rows(&[INT], &rows, Expr::And(vec![guard(), big()])).unwrap();
    assert_eq!(and, [Value::Boolean(true), Value::Boolean(false), Value::Null, Value::Boolean(false)]);
    let or = project_rows(&[INT], &rows, Expr::Or(vec![Expr::Not(Box::new(guard())), big()])).unwrap();
    assert_eq!(or, [Value::Boolean(true), Value::Boolean(true), Value::Null, Value::Boolean(false)]);
    let zero = Expr::Case {
        branches: vec![(guard(), literal(Value::Null, INT))],
        otherwise: Some(Box::new(int_literal(7))),
        data_type: INT,
    };
    let coalesce = Expr::Coalesce { args: vec![zero, quotient()], data_type: INT };
    assert_eq!(project_rows(&[INT], &rows, coalesce).unwrap(), ints(&[Some(20), Some(7), Some(7), Some(10)]));
}

#[test]
fn arithmetic_fails_as_postgresql_does() {
    let fails = |name: &str, a: Value, b: Value, data_type: DataType| {
        let expr = call(name, vec![col(0, data_type), literal(b, data_type)]);
        let error = project_rows(&[data_type], &[vec![a]], expr).unwrap_err();
        (error.sqlstate(), error.message().to_string())
    };
    let range = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    assert_eq!(fails("+", int(i32::MAX), int(1), INT), (range, "integer out of range".into()));
    assert_eq!(fails("/", int(i32::MIN), int(-1), INT), (range, "integer out of range".into()));
    let small = DataType::SmallInt;
    assert_eq!(fails("*", Value::SmallInt(300), Value::SmallInt(300), small), (range, "smallint out of range".into()));
    assert_eq!(fails("-", Value::BigInt(i64::MIN), Value::BigInt(1), BIG), (range, "bigint out of range".into()));
    assert_eq!(fails("/", int(1), int(0), INT).0, SqlState::DIVISION_BY_ZERO);
    assert_eq!(fails("%", int(1), int(0), INT).0, SqlState::DIVISION_BY_ZERO);
    let double = DataType::Double;
    assert_eq!(fails("/", Value::Double(1.0), Value::Double(0.0), double).0, SqlState::DIVISION_BY_ZERO);
    assert_eq!(fails("*", Value::Double(1e300), Value::Double(1e300), double).1, "value out of range: overflow");
    assert_eq!(fails("*", Value::Double(1e-300), Value::Double(1e-300), double).1, "value out of range: underflow");
}

#[test]
fn a_null_operand_keeps_a_failing_operation_from_failing() {
    let rows = column_of(&[None, Some(0)]);
    let divisor = call("%", vec![col(0, INT), int_literal(3)]);
    let null_times = call("/", vec![literal(Value::Null, INT), divisor]);
    assert_eq!(project_rows(&[INT], &rows, null_times).unwrap(), ints(&[None, None]));
    assert_eq!(project_rows(&[INT], &column_of(&[None]), quotient()).unwrap(), ints(&[None]));
}

#[test]
fn every_comparison_kernel_orders_nan_last() {
    let double = DataType::Double;
    let rows = [vec![Value::Double(f64::NAN)], vec![Value::Double(f64::INFINITY)], vec![Value::Double(-0.0)]];
    let compare = |name: &str, with: f64| {
        let expr = call(name, vec![col(0, double), literal(Value::Double(with), double)]);
        project_rows(&[double], &rows, expr).unwrap().iter().map(Value::is_true).collect::<Vec<bool>>()
    };
    assert_eq!(compare("=", f64::NAN), [true, false, false]);
    assert_eq!(compare(">", f64::INFINITY), [true, false, false]);
    assert_eq!(compare("<", f64::NAN), [false, true, true]);
    assert_eq!(compare(">=", f64::NAN), [true, false, false]);
    assert_eq!(compare("=", 0.0), [false, false, true]);
    assert_eq!(compare("<>", f64::NAN), [false, true, true]);
}

#[test]
fn blanks_at_the_end_of_char_do_not_matter() {
    let chars = DataType::Char(4);
    let expr = call("=", vec![col(0, chars), literal(text("ab"), chars)]);
    let rows = [vec![text("ab  ")], vec![text("ab x")], vec![Value::Null]];
    let expected = [Value::Boolean(true), Value::Boolean(false), Value::Null];
    assert_eq!(project_rows(&[chars], &rows, expr).unwrap(), expected);
}

#[test]
fn volatile_functions_are_called_for_each_row() {
    let random = overloads("random").iter().find(|f| f.args.is_empty());
    let Some(function) = random else { return };
    let input = values(&[INT], &column_of(&[Some(1); 20]));
    let plan = project(input, vec![Expr::Call { function: function.clone(), args: vec![] }]);
    let rows = run(&plan, Fixture::new().context()).unwrap();
    assert!(rows.windows(2).any(|pair| pair[0] != pair[1]));
}

/// `left IN (rows)` or NOT IN as `<> ALL`.
fn quantified(op: &str, quantifier: QuantifiedOp, left: Option<i32>, rows: &[Option<i32>]) -> Value {
    let kind = SubqueryKind::Quantified { left: vec![col(0, INT)], ops: vec![function(op, &[INT, INT])], quantifier };
    let expr = subplan(kind, values(&[INT], &column_of(rows)), vec![]);
    project_rows(&[INT], &column_of(&[left]), expr).unwrap().remove(0)
}

#[test]
fn quantified_comparisons_know_three_values() {
    use QuantifiedOp::{All, Any};
    let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
    let cases = [
        ("=", Any, Some(1), vec![Some(1), None], &yes),
        ("=", Any, Some(2), vec![Some(1), None], &Value::Null),
        ("=", Any, Some(2), vec![Some(1)], &no),
        ("=", Any, None, vec![Some(1)], &Value::Null),
        ("=", Any, None, vec![], &no),
        ("<>", All, Some(1), vec![Some(1), None], &no),
        ("<>", All, Some(2), vec![Some(1), None], &Value::Null),
        ("<>", All, Some(2), vec![Some(1)], &yes),
        ("<>", All, None, vec![], &yes),
        ("<>", All, None, vec![Some(1)], &Value::Null),
        ("<", Any, Some(2), vec![Some(1), Some(3)], &yes),
        ("<", All, Some(2), vec![Some(1), Some(3)], &no),
        ("<", All, Some(2), vec![Some(3), None], &Value::Null),
        ("<", Any, Some(5), vec![], &no),
    ];
    for (op, quantifier, left, rows, expected) in cases {
        assert_eq!(&quantified(op, quantifier, left, &rows), expected, "{left:?} {op} {quantifier:?} {rows:?}");
    }
}

#[test]
fn texts_become_integers_alike_alone_and_among_others() -> Result<()> {
    const SYNTAX: SqlState = SqlState::INVALID_TEXT_REPRESENTATION;
    const RANGE: SqlState = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    let cases = [
        ("7", Ok(7)),
        ("-0", Ok(0)),
        ("-32768", Ok(-32768)),
        ("32768", Err(RANGE)),
        (" +5\t", Ok(5)),
        ("007", Ok(7)),
        ("0000000000000000000000012", Ok(12)),
        ("999999999999999999999", Err(RANGE)),
        ("", Err(SYNTAX)),
        ("-", Err(SYNTAX)),
        ("--1", Err(SYNTAX)),
        ("- 1", Err(SYNTAX)),
        ("1_0", Err(SYNTAX)),
        ("1.0", Err(SYNTAX)),
        ("٣", Err(SYNTAX)),
    ];
    let cast = |to| Expr::Cast { input: Box::new(Expr::Column { index: 0, data_type: TEXT }), to };
    for (text, expected) in cases {
        let expected = expected.map(Value::SmallInt);
        for others in [&[][..], &["12", "-3"]] {
            let mut rows: Vec<Vec<Value>> = others.iter().map(|other| vec![Value::text(*other)]).collect();
            rows.push(vec![Value::Null]);
            rows.push(vec![Value::text(text)]);
            let found = project_rows(&[TEXT], &rows, cast(DataType::SmallInt));
            match (found, &expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.last(), Some(expected), "{text:?}");
                    assert_eq!(found[others.len()], Value::Null);
                }
                (Err(error), Err(state)) => assert_eq!(error.sqlstate(), *state, "{text:?}"),
                (found, expected) => panic!("{text:?} is {found:?} and not {expected:?}"),
            }
        }
    }
    let ends = [i64::MIN, -999_999_999_999_999_999, 999_999_999_999_999_999, i64::MAX];
    let rows: Vec<_> = ends.iter().map(|end| vec![Value::text(end.to_string())]).collect();
    assert_eq!(project_rows(&[TEXT], &rows, cast(BIG))?, ends.map(Value::BigInt));
    let beyond = project_rows(&[TEXT], &[vec![Value::text("9223372036854775808")]], cast(BIG));
    assert_eq!(beyond.map_err(|error| error.sqlstate()), Err(RANGE));
    Ok(())
}

//! Scans, orders, sets, WITH, subqueries, and what ends a statement early.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cairn_storage::{Memory, Options};

use super::testing::*;
use super::{ExecContext, execute};
use crate::functions::exact_overload;
use crate::plan::{
    CteId, Expr, JoinKind, KeyBound, KeyRange, PhysicalNode as N, PhysicalPlan, SetOperator, SubqueryKind,
};
use crate::{DataType, SqlState, Value};

type Rows = Vec<Vec<Value>>;

fn column_of(values: &[Option<i32>]) -> Rows {
    ints(values).into_iter().map(|value| vec![value]).collect()
}

fn first_column(rows: Rows) -> Vec<Value> {
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}

// Scans

#[test]
fn a_scan_gives_back_every_type_with_and_without_nulls() {
    let fixture = Fixture::new();
    let types = [
        INT,
        DataType::SmallInt,
        TEXT,
        BIG,
        DataType::Double,
        DataType::Numeric(Some((10, 2))),
        BOOL,
        DataType::Date,
        DataType::Bytea,
        DataType::Real,
        DataType::Uuid,
        DataType::INTERVAL,
    ];
    let full = vec![
        int(1),
        Value::SmallInt(-2),
        text("naïve"),
        Value::BigInt(1 << 40),
        Value::Double(2.5),
        Value::Numeric(crate::types::Numeric::small(12345, 2)),
        Value::Boolean(true),
        Value::Date(-40),
        Value::Bytea(vec![0, 255].into()),
        Value::Real(0.5),
        Value::Uuid([7; 16]),
        Value::Interval(crate::types::Interval { months: 1, days: -2, micros: 3 }),
    ];
    let mut nulls = vec![Value::Null; types.len()];
    nulls[0] = int(2);
    let rows = vec![full.clone(), nulls.clone(), {
        let mut row = full.clone();
        row[0] = int(3);
        row
    }];
    for key in [&[][..], &[0][..], &[0, 2][..]] {
        let rows: Rows = if key.len() == 2 { vec![full.clone()] } else { rows.clone() };
        let table = fixture.table(&types, key, &[], &rows);
        assert_eq!(fixture.rows(&scan(&table)).unwrap(), rows);
        let some = scan_columns(&table, &[8, 2, 0], vec![KeyRange::default()]);
        let expected: Rows = rows.iter().map(|row| vec![row[8].clone(), row[2].clone(), row[0].clone()]).collect();
        assert_eq!(fixture.rows(&some).unwrap(), expected);
    }
}

#[test]
fn the_hidden_row_number_can_be_read() {
    let fixture = Fixture::new();
    let table = fixture.table(&[INT], &[], &[], &column_of(&[Some(5), None]));
    let plan = scan_columns(&table, &[0, usize::MAX], vec![KeyRange::default()]);
    let expected = [[int(5), Value::BigInt(1)], [Value::Null, Value::BigInt(2)]];
    assert_eq!(fixture.rows(&plan).unwrap(), expected);
}

fn bound(value: Option<i32>, inclusive: bool) -> Option<KeyBound> {
    let value = literal(value.map_or(Value::Null, int), INT);
    Some(KeyBound { value, inclusive })
}

/// Every range over an index of (number, number), checked against its meaning.
#[test]
fn index_ranges_mean_what_they_say_in_both_directions() {
    let fixture = Fixture::new();
    let mut random = Random::new(21);
    let rows: Rows = (0..80).map(|id| vec![int(id), random.int_or_null(4), random.int_or_null(6)]).collect();
    for descending in [false, true] {
        let table = fixture.table(&[INT; 3], &[0], &[(&[1, 2], false, descending)], &rows);
        for prefix in [None, Some(2)] {
            let column = if prefix.is_some() { 2 } else { 1 };
            for (lower, upper) in [(None, None), (Some(1), None), (None, Some(3)), (Some(1), Some(3))] {
                for (li, ui) in [(true, true), (false, false), (true, false)] {
                    let range = KeyRange {
                        prefix: prefix.map(int_literal).into_iter().collect(),
                        lower: lower.and_then(|v| bound(Some(v), li)),
                        upper: upper.and_then(|v| bound(Some(v), ui)),
                    };
                    let inside = |row: &&Vec<Value>| {
                        let value = row[column].as_i64().map(|v| v as i32);
                        let low = |v| lower.is_none_or(|l| if li { v >= l } else { v > l });
                        let high = |v| upper.is_none_or(|u| if ui { v <= u } else { v < u });
                        prefix.is_none_or(|p| row[1] == int(p))
                            && (lower.is_none() && upper.is_none() || value.is_some_and(|v| low(v) && high(v)))
                    };
                    let mut expected: Rows = rows.iter().filter(inside).cloned().collect();
                    expected.sort_by(|a, b| {
                        let by = |c: usize| if descending { b[c].compare(&a[c]) } else { a[c].compare(&b[c]) };
                        by(1).then(by(2)).then(a[0].compare(&b[0]))
                    });
                    for (reverse, covering) in [(false, false), (true, false), (false, true), (true, true)] {
                        let node = N::IndexScan {
                            both: None,
                            firsts: 0,
                            table: table.clone(),
                            index: table.indexes[0].clone(),
                            columns: vec![0, 1, 2],
                            ranges: vec![range.clone()],
                            filter: None,
                            reverse,
                            covering,
                        };
                        let got = fixture.rows(&plan(&[INT; 3], node)).unwrap();
                        let mut expected = expected.clone();
                        if reverse {
                            expected.reverse();
                        }
                        assert_eq!(got, expected, "{prefix:?} {lower:?}{li} {upper:?}{ui} {reverse} {descending}");
                    }
                }
            }
        }
    }
}

#[test]
fn several_key_ranges_give_each_row_once_in_key_order() {
    let fixture = Fixture::new();
    let table = fixture.table(&[INT, INT], &[0], &[], &(0..9).map(|n| vec![int(n), int(-n)]).collect::<Rows>());
    let prefix = |value: Value| KeyRange { prefix: vec![literal(value, INT)], ..KeyRange::default() };
    let ranges = vec![prefix(int(7)), prefix(int(2)), prefix(Value::Null), prefix(int(7)), prefix(int(99))];
    let rows = fixture.rows(&scan_columns(&table, &[1], ranges.clone())).unwrap();
    assert_eq!(first_column(rows), ints(&[Some(-2), Some(-7)]));
    assert!(fixture.rows(&scan_columns(&table, &[1], vec![])).unwrap().is_empty());
    let null_bound = KeyRange { lower: bound(None, true), ..KeyRange::default() };
    assert!(fixture.rows(&scan_columns(&table, &[1], vec![null_bound])).unwrap().is_empty());
}

#[test]
fn a_point_get_finds_one_row_by_primary_key_or_unique_index() {
    let fixture = Fixture::new();
    let rows = vec![vec![int(1), text("a"), int(10)], vec![int(2), text("b"), Value::Null]];
    let table = fixture.table(&[INT, TEXT, INT], &[0], &[(&[1], true, false)], &rows);
    let get = |index: Option<usize>, key: Expr, filter: Option<Expr>| {
        let index = index.map(|index| table.indexes[index].clone());
        let node = N::PointGet { table: table.clone(), index, columns: vec![2, 0], key: vec![key], filter };
        fixture.rows(&plan(&[INT, INT], node)).unwrap()
    };
    assert_eq!(get(None, int_literal(1), None), [[int(10), int(1)]]);
    assert!(get(None, int_literal(3), None).is_empty());
    assert!(get(None, literal(Value::Null, INT), None).is_empty());
    assert_eq!(get(Some(0), literal(text("b"), TEXT), None), [[Value::Null, int(2)]]);
    let positive = || Some(call(">", vec![col(0, INT), int_literal(10)]));
    assert!(get(None, int_literal(1), positive()).is_empty());
}

#[test]
fn a_scan_filters_as_it_goes() {
    let fixture = Fixture::new();
    let table = fixture.table(&[INT, INT], &[0], &[], &(0..50).map(|n| vec![int(n), int(n % 5)]).collect::<Rows>());
    let mut plan = scan(&table);
    let N::TableScan { filter, .. } = &mut plan.node else { unreachable!() };
    *filter = Some(call("=", vec![col(1, INT), int_literal(3)]));
    let expected = [3, 8, 13, 18, 23, 28, 33, 38, 43, 48].map(int);
    assert_eq!(first_column(fixture.rows(&plan).unwrap()), expected);
}

// Orders

#[test]
fn sorting_is_stable_and_puts_nulls_where_asked() {
    let fixture = Fixture::new();
    let mut random = Random::new(31);
    for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let rows: Rows = random
            .int_rows(120, 2, 5)
            .into_iter()
            .enumerate()
            .map(|(n, row)| vec![row[0].clone(), text(&format!("abcdefgh{:?}", row[1])), int(n as i32)])
            .collect();
        let keys =
            vec![sort_key(col(0, INT), descending, nulls_first), sort_key(col(1, TEXT), !descending, nulls_first)];
        let mut expected = rows.clone();
        expected.sort_by(|a, b| {
            let class = |v: &Value| if v.is_null() == nulls_first { 0 } else { 1 };
            let by = |a: &Value, b: &Value, descending: bool| match (a.is_null(), b.is_null()) {
                (false, false) if descending => b.compare(a),
                (false, false) => a.compare(b),
                _ => class(a).cmp(&class(b)),
            };
            by(&a[0], &b[0], descending).then_with(|| by(&a[1], &b[1], !descending))
        });
        let types = [INT, TEXT, INT];
        assert_eq!(fixture.rows(&sort(values(&types, &rows), keys.clone())).unwrap(), expected);
        for (limit, offset) in [(0, 0), (1, 0), (7, 3), (500, 100), (3, 1000)] {
            let node = N::TopN {
                presorted: 0,
                input: Arc::new(values(&types, &rows)),
                keys: keys.clone(),
                limit: literal(Value::BigInt(limit), BIG),
                offset: Some(literal(Value::BigInt(offset), BIG)),
            };
            let part: Rows = expected.iter().skip(offset as usize).take(limit as usize).cloned().collect();
            assert_eq!(fixture.rows(&plan(&types, node)).unwrap(), part, "{limit} {offset}");
        }
    }
}

#[test]
fn top_n_over_much_more_than_it_keeps() {
    let fixture = Fixture::new();
    let rows: Rows = (0..9000).map(|n| vec![int(n * 7919 % 9000), int(n)]).collect();
    let table = fixture.table(&[INT, INT], &[1], &[], &rows);
    let node = N::TopN {
        presorted: 0,
        input: Arc::new(scan(&table)),
        keys: vec![sort_key(col(0, INT), true, true)],
        limit: literal(Value::BigInt(3), BIG),
        offset: None,
    };
    let got = first_column(fixture.rows(&plan(&[INT, INT], node)).unwrap());
    assert_eq!(got, ints(&[Some(8999), Some(8998), Some(8997)]));
}

#[test]
fn floats_sort_with_nan_last_and_negatives_in_order() {
    let fixture = Fixture::new();
    let numbers = [f64::NAN, -1.5, f64::INFINITY, 0.0, -1e300, 2.0, f64::NEG_INFINITY];
    let rows: Rows = numbers.iter().map(|&n| vec![Value::Double(n)]).collect();
    let key = sort_key(col(0, DataType::Double), false, false);
    let got = first_column(fixture.rows(&sort(values(&[DataType::Double], &rows), vec![key])).unwrap());
    let expected = [f64::NEG_INFINITY, -1e300, -1.5, 0.0, 2.0, f64::INFINITY, f64::NAN].map(Value::Double);
    assert_eq!(got, expected);
}

fn limited(limit: Value, offset: Value) -> PhysicalPlan {
    let input = Arc::new(values(&[INT], &column_of(&[Some(1), Some(2), Some(3), Some(4)])));
    plan(&[INT], N::Limit { input, limit: Some(literal(limit, BIG)), offset: Some(literal(offset, BIG)), ties: vec![] })
}

#[test]
fn limit_and_offset_take_a_part_and_refuse_negatives() {
    let fixture = Fixture::new();
    let rows = |limit, offset| fixture.rows(&limited(limit, offset)).map(first_column);
    assert_eq!(rows(Value::BigInt(2), Value::BigInt(1)).unwrap(), ints(&[Some(2), Some(3)]));
    assert_eq!(rows(Value::Null, Value::BigInt(3)).unwrap(), ints(&[Some(4)]));
    assert_eq!(rows(Value::BigInt(9), Value::Null).unwrap().len(), 4);
    assert_eq!(rows(Value::BigInt(0), Value::Null).unwrap(), []);
    assert_eq!(rows(Value::BigInt(-1), Value::Null).unwrap_err().sqlstate(), SqlState("2201W"));
    assert_eq!(rows(Value::Null, Value::BigInt(-1)).unwrap_err().message(), "OFFSET must not be negative");
}

// Sets

#[test]
fn distinct_keeps_first_rows_and_takes_nulls_as_equal() {
    let fixture = Fixture::new();
    let rows: Rows =
        [(Some(1), 1), (None, 2), (Some(1), 1), (None, 2), (Some(1), 3)].map(|(a, b)| ints(&[a, Some(b)])).to_vec();
    let input = || Arc::new(values(&[INT, INT], &rows));
    let distinct = plan(&[INT, INT], N::Distinct { input: input(), sorted: false });
    assert_eq!(fixture.rows(&distinct).unwrap(), [rows[0].clone(), rows[1].clone(), rows[4].clone()]);
    let on = plan(&[INT, INT], N::DistinctOn { input: input(), on: vec![col(0, INT)], sorted: false });
    assert_eq!(fixture.rows(&on).unwrap(), [rows[0].clone(), rows[1].clone()]);
}

#[test]
fn set_operations_count_duplicates_only_with_all() {
    let fixture = Fixture::new();
    let left = column_of(&[Some(1), Some(1), Some(1), None, Some(2), None]);
    let right = column_of(&[Some(1), None, Some(3), Some(1)]);
    let rows = |op, all| {
        let (left, right) = (Arc::new(values(&[INT], &left)), Arc::new(values(&[INT], &right)));
        first_column(fixture.rows(&plan(&[INT], N::SetOperation { op, all, left, right })).unwrap())
    };
    assert_eq!(rows(SetOperator::Intersect, false), ints(&[Some(1), None]));
    assert_eq!(rows(SetOperator::Intersect, true), ints(&[Some(1), Some(1), None]));
    assert_eq!(rows(SetOperator::Except, false), ints(&[Some(2)]));
    assert_eq!(rows(SetOperator::Except, true), ints(&[Some(1), Some(2), None]));
}

#[test]
fn append_gives_each_input_in_turn() {
    let fixture = Fixture::new();
    let input = |rows: &[Option<i32>]| Arc::new(values(&[INT], &column_of(rows)));
    let inputs = vec![input(&[Some(1)]), input(&[]), input(&[Some(2), None])];
    let rows = fixture.rows(&plan(&[INT], N::Append { inputs })).unwrap();
    assert_eq!(first_column(rows), ints(&[Some(1), Some(2), None]));
}

fn series(args: Vec<Expr>) -> PhysicalPlan {
    let types: Vec<DataType> = args.iter().map(Expr::data_type).collect();
    let function = exact_overload("generate_series", &types).expect("a series");
    plan(&[types[0]], N::TableFunction { call: Expr::Call { function, args } })
}

#[test]
fn generate_series_steps_up_and_down_and_stops_at_the_types_end() {
    let fixture = Fixture::new();
    let rows =
        |args: &[i32]| fixture.rows(&series(args.iter().map(|&arg| int_literal(arg)).collect())).map(first_column);
    assert_eq!(rows(&[1, 3]).unwrap(), ints(&[Some(1), Some(2), Some(3)]));
    assert_eq!(rows(&[5, 0, -2]).unwrap(), ints(&[Some(5), Some(3), Some(1)]));
    assert_eq!(rows(&[3, 1]).unwrap(), []);
    assert_eq!(rows(&[i32::MAX - 1, i32::MAX]).unwrap().len(), 2);
    assert_eq!(rows(&[1, 2, 0]).unwrap_err().message(), "step size cannot equal zero");
}

// WITH

fn cte_scan(number: usize) -> PhysicalPlan {
    let id = CteId::Query(number);
    plan(&[INT], N::CteScan { id, name: "w".into() })
}

/// `WITH RECURSIVE w AS (SELECT 1 UNION [ALL] SELECT <step> FROM w WHERE c0 < bound) SELECT * FROM w`
fn counting(bound: i32, step: Expr, all: bool, body: PhysicalPlan) -> PhysicalPlan {
    let below = filter(cte_scan(0), call("<", vec![col(0, INT), int_literal(bound)]));
    let node = N::RecursiveCte {
        id: CteId::Query(0),
        name: "w".into(),
        base: Arc::new(values(&[INT], &column_of(&[Some(1)]))),
        step: Arc::new(project(below, vec![step])),
        all,
        body: Arc::new(body),
    };
    plan(&[INT], node)
}

fn successor() -> Expr {
    call("+", vec![col(0, INT), int_literal(1)])
}

#[test]
fn recursion_ends_when_a_round_gives_nothing_new() {
    let fixture = Fixture::new();
    let all: Vec<Option<i32>> = (1..=40).map(Some).collect();
    assert_eq!(first_column(fixture.rows(&counting(40, successor(), true, cte_scan(0))).unwrap()), ints(&all));
    let around = call("%", vec![successor(), int_literal(5)]);
    let rows = fixture.rows(&counting(40, around, false, cte_scan(0))).unwrap();
    assert_eq!(first_column(rows), ints(&[Some(1), Some(2), Some(3), Some(4), Some(0)]));
}

#[test]
fn endless_recursion_is_computed_as_far_as_it_is_asked_for() {
    let fixture = Fixture::new();
    let limit = Some(literal(Value::BigInt(7), BIG));
    let body = plan(&[INT], N::Limit { input: Arc::new(cte_scan(0)), limit, offset: None, ties: vec![] });
    let around = call("%", vec![successor(), int_literal(5)]);
    assert_eq!(fixture.rows(&counting(40, around, true, body)).unwrap().len(), 7);
}

#[test]
fn a_with_query_is_computed_once_for_all_its_scans() {
    let fixture = Fixture::new();
    let pair = N::NestedLoopJoin {
        kind: JoinKind::Inner,
        left: Arc::new(cte_scan(3)),
        right: Arc::new(cte_scan(3)),
        on: None,
        lateral: false,
    };
    let definition = Arc::new(series(vec![int_literal(1), int_literal(30)]));
    let node = N::Cte { id: CteId::Query(3), name: "w".into(), definition, body: Arc::new(plan(&[INT, INT], pair)) };
    assert_eq!(fixture.rows(&plan(&[INT, INT], node)).unwrap().len(), 900);
}

#[test]
fn a_subquery_over_the_working_rows_sees_each_rounds_own() {
    let fixture = Fixture::new();
    // The step adds the largest of the working rows: 1, 2, 4, 8, ..
    let max = aggregate(cte_scan(0), vec![], vec![aggregate_call("max", Some(col(0, INT)))]);
    let max = subplan(SubqueryKind::Scalar { data_type: INT }, max, vec![]);
    let rows = fixture.rows(&counting(30, call("+", vec![col(0, INT), max]), true, cte_scan(0))).unwrap();
    assert_eq!(first_column(rows), ints(&[Some(1), Some(2), Some(4), Some(8), Some(16), Some(32)]));
}

// Subqueries

#[test]
fn a_correlated_subquery_runs_for_each_different_row() {
    let fixture = Fixture::new();
    let mut random = Random::new(41);
    let (left, right) = (random.int_rows(60, 2, 7), random.int_rows(30, 2, 7));
    let matching = || filter(values(&[INT, INT], &right), call("=", vec![col(0, INT), outer(1, 0, INT)]));
    let exists = subplan(SubqueryKind::Exists, matching(), vec![(1, 0)]);
    let sum = aggregate(matching(), vec![], vec![aggregate_call("sum", Some(col(1, INT)))]);
    let sum = subplan(SubqueryKind::Scalar { data_type: BIG }, sum, vec![(1, 0)]);
    let got = fixture.rows(&project(values(&[INT, INT], &left), vec![exists, sum])).unwrap();
    let expected: Rows = left
        .iter()
        .map(|l| {
            let matches: Vec<&Vec<Value>> = right.iter().filter(|r| !l[0].is_null() && r[0] == l[0]).collect();
            let numbers: Vec<i64> = matches.iter().filter_map(|r| r[1].as_i64()).collect();
            let sum = if numbers.is_empty() { Value::Null } else { Value::BigInt(numbers.iter().sum()) };
            vec![Value::Boolean(!matches.is_empty()), sum]
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn a_subquery_two_levels_down_sees_the_outermost_row() {
    let fixture = Fixture::new();
    // SELECT (SELECT (SELECT outermost.c0 + middle.c0) FROM (VALUES (10)) middle) FROM (VALUES (1), (2)) outermost
    let innermost = project(values(&[], &[vec![]]), vec![call("+", vec![outer(2, 0, INT), outer(1, 0, INT)])]);
    let kind = || SubqueryKind::Scalar { data_type: INT };
    let inner = subplan(kind(), innermost, vec![(2, 0), (1, 0)]);
    let middle = project(values(&[INT], &column_of(&[Some(10)])), vec![inner]);
    let expr = subplan(kind(), middle, vec![(1, 0)]);
    let rows = fixture.rows(&project(values(&[INT], &column_of(&[Some(1), Some(2)])), vec![expr])).unwrap();
    assert_eq!(first_column(rows), ints(&[Some(11), Some(12)]));
}

#[test]
fn kept_answers_are_not_given_for_values_that_only_compare_equal() {
    let fixture = Fixture::new();
    let numeric = DataType::Numeric(None);
    let number = |mantissa, scale| vec![Value::Numeric(crate::types::Numeric::small(mantissa, scale))];
    let rows = [number(10, 1), number(100, 2), number(10, 1)];
    let same = project(values(&[], &[vec![]]), vec![outer(1, 0, numeric)]);
    let expr = subplan(SubqueryKind::Scalar { data_type: numeric }, same, vec![(1, 0)]);
    let got = fixture.rows(&project(values(&[numeric], &rows), vec![expr])).unwrap();
    let scale = |row: &Vec<Value>| match &row[0] {
        Value::Numeric(number) => number.scale(),
        other => panic!("{other:?}"),
    };
    assert_eq!(got.iter().map(scale).collect::<Vec<u16>>(), [1, 2, 1]);
}

#[test]
fn a_scalar_subquery_may_have_one_row_at_most() {
    let fixture = Fixture::new();
    let scalar = |rows: &[Option<i32>]| {
        let expr = subplan(SubqueryKind::Scalar { data_type: INT }, values(&[INT], &column_of(rows)), vec![]);
        fixture.rows(&project(values(&[], &[vec![]]), vec![expr])).map(first_column)
    };
    assert_eq!(scalar(&[]).unwrap(), ints(&[None]));
    assert_eq!(scalar(&[Some(4)]).unwrap(), ints(&[Some(4)]));
    let error = scalar(&[Some(4), Some(4)]).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::CARDINALITY_VIOLATION);
    assert_eq!(error.message(), "more than one row returned by a subquery used as an expression");
}

// Ends

#[test]
fn an_interrupt_and_a_deadline_end_a_statement() {
    let fixture = Fixture::new();
    let endless =
        counting(2, int_literal(1), true, aggregate(cte_scan(0), vec![], vec![aggregate_call("count", None)]));
    let endless = PhysicalPlan { fields: values(&[BIG], &[]).fields, ..endless };
    let context = ExecContext { deadline: Some(Instant::now() + Duration::from_millis(20)), ..fixture.context() };
    let error = run(&endless, context).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
    );
    let context = fixture.context();
    context.interrupt.store(true, Ordering::Relaxed);
    let error = run(&endless, context).unwrap_err();
    assert_eq!(error.message(), "canceling statement due to user request");
}

#[test]
fn what_grows_with_the_data_spills_or_is_held_to_the_budget() {
    let fixture = Fixture::new();
    let input = || series(vec![int_literal(1), int_literal(100_000)]);
    let join = N::HashJoin {
        kind: JoinKind::Inner,
        left: Arc::new(input()),
        right: Arc::new(input()),
        left_keys: vec![col(0, INT)],
        right_keys: vec![col(0, INT)],
        residual: None,
    };
    let plans = [
        sort(input(), vec![sort_key(col(0, INT), true, true)]),
        aggregate(input(), vec![col(0, INT)], vec![]),
        plan(&[INT, INT], join),
        plan(&[INT], N::Distinct { input: Arc::new(input()), sorted: false }),
        counting(100_000, successor(), true, cte_scan(0)),
    ];
    let in_budget = || ExecContext { memory_budget: 100_000, ..fixture.context() };
    for kept in [joined_text(input()), counting(100_000, successor(), false, cte_scan(0))] {
        let error = run(&kept, in_budget()).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY);
        assert!(error.hint().is_some());
    }
    for plan in plans {
        let context = in_budget();
        let spill = context.spill.clone();
        assert_eq!(run(&plan, context).unwrap(), run(&plan, fixture.context()).unwrap());
        assert!(spill.bytes_written() > 0);
        assert_eq!(spill.used(), 0);
    }
}

/// Everything else of the memory that the database shares is somebody's.
#[test]
fn what_lacks_shared_memory_spills_or_waits_for_it_or_fails() {
    let memory = Memory::shared(64 << 20);
    let mut options = Options::default();
    options.memory = Some(memory.clone());
    let fixture = Fixture::with(options);
    let mut others = memory.reserve();
    // (Of which a quarter is the cache's.)
    assert!(others.grow_to(47 << 20));
    let before = memory.taken();
    let input = || series(vec![int_literal(1), int_literal(500_000)]);
    for plan in [
        sort(input(), vec![sort_key(col(0, INT), true, true)]),
        plan(&[INT], N::Distinct { input: Arc::new(input()), sorted: false }),
    ] {
        let context = fixture.context();
        let spill = context.spill.clone();
        let mut most = 0;
        let mut stream = execute(Arc::new(plan), context).unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.next_batch().unwrap() {
            rows += batch.len();
            most = most.max(memory.taken());
        }
        drop(stream);
        assert_eq!((rows, memory.taken()), (500_000, before));
        assert!(spill.bytes_written() > 0 && most > before && most <= memory.bytes(), "{most} of {before}");
    }
    let kept = joined_text(series(vec![int_literal(1), int_literal(500_000)]));
    let error = run(&kept, fixture.context()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY);
    assert!(error.detail().unwrap().starts_with("Other statements"), "{error}");
    assert_eq!(memory.taken(), before);
    // It is interrupted while it waits, and goes on once there is some.
    let context = fixture.context();
    let interrupt = context.interrupt.clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            interrupt.store(true, Ordering::Relaxed);
        });
        let error = run(&kept, context).unwrap_err();
        assert_eq!(error.message(), "canceling statement due to user request");
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            drop(others);
        });
        assert_eq!(run(&kept, fixture.context()).unwrap().len(), 1);
    });
    assert_eq!(memory.reserved(), 0);
}

#[test]
fn a_key_that_cannot_be_split_is_held_to_the_budget() {
    let fixture = Fixture::new();
    let same = || project(series(vec![int_literal(1), int_literal(100_000)]), vec![int_literal(7)]);
    let join = N::HashJoin {
        kind: JoinKind::Semi,
        left: Arc::new(same()),
        right: Arc::new(same()),
        left_keys: vec![col(0, INT)],
        right_keys: vec![col(0, INT)],
        residual: None,
    };
    let join = plan(&[INT], join);
    let context = ExecContext { memory_budget: 100_000, ..fixture.context() };
    assert_eq!(run(&join, context).unwrap_err().sqlstate(), SqlState::OUT_OF_MEMORY);
    let context = ExecContext { work_mem: 1000, ..fixture.context() };
    assert_eq!(run(&join, context).unwrap().len(), 100_000);
}

/// `SELECT string_agg('x', ',') FROM input`
fn joined_text(input: PhysicalPlan) -> PhysicalPlan {
    let overloads = crate::functions::aggregate_overloads("string_agg");
    let aggregate_of_text = overloads.iter().find(|a| *a.args == [TEXT, TEXT]).cloned().unwrap();
    let call = crate::plan::AggregateCall {
        aggregate: aggregate_of_text,
        args: vec![literal(text("x"), TEXT), literal(text(","), TEXT)],
        distinct: false,
        filter: None,
        order_by: vec![],
    };
    aggregate(input, vec![], vec![call])
}

#[test]
fn counters_tell_what_each_node_did() {
    let fixture = Fixture::new();
    let input = PhysicalPlan { id: 1, ..series(vec![int_literal(1), int_literal(100)]) };
    let plan = filter(input, call("<", vec![col(0, INT), int_literal(11)]));
    let mut stream = execute(Arc::new(plan.clone()), ExecContext { analyze: true, ..fixture.context() }).unwrap();
    while stream.next_batch().unwrap().is_some() {}
    let rows: Vec<(u64, u64)> = stream.statistics().iter().map(|node| (node.rows, node.loops)).collect();
    assert_eq!(rows, [(10, 1), (100, 1)]);
    assert!(execute(Arc::new(plan), fixture.context()).unwrap().statistics().is_empty());
}

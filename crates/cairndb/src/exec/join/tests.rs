//! Every way to join, with every kind, against a join written down from the definition.

use std::sync::Arc;

use crate::Value;
use crate::exec::testing::*;
use crate::plan::{Expr, JoinKind, PhysicalNode as N, PhysicalPlan, SortKey};

const KINDS: [JoinKind; 6] =
    [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

/// Those of hash joins.
const HASHED: [JoinKind; 8] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::RightSemi,
    JoinKind::RightAnti,
];

type Rows = Vec<Vec<Value>>;

/// A join by its definition.
fn naive(kind: JoinKind, left: &Rows, right: &Rows, on: impl Fn(&[Value], &[Value]) -> bool) -> Rows {
    if !kind.shows_left() {
        let wanted = kind == JoinKind::RightSemi;
        return right.iter().filter(|r| left.iter().any(|l| on(l, r)) == wanted).cloned().collect();
    }
    let nulls = |like: &Rows| vec![Value::Null; like.first().map_or(2, Vec::len)];
    let mut rows = vec![];
    for l in left {
        let matches: Rows = right.iter().filter(|r| on(l, r)).map(|r| [l.clone(), r.clone()].concat()).collect();
        match kind {
            JoinKind::Semi if !matches.is_empty() => rows.push(l.clone()),
            JoinKind::Anti if matches.is_empty() => rows.push(l.clone()),
            JoinKind::Left | JoinKind::Full if matches.is_empty() => rows.push([l.clone(), nulls(right)].concat()),
            JoinKind::Semi | JoinKind::Anti => {}
            _ => rows.extend(matches),
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let unmatched = right.iter().filter(|r| !left.iter().any(|l| on(l, r)));
        rows.extend(unmatched.map(|r| [nulls(left), r.clone()].concat()));
    }
    rows
}

fn output_types(kind: JoinKind, left: usize, right: usize) -> Vec<crate::DataType> {
    vec![INT; left * usize::from(kind.shows_left()) + right * usize::from(kind.shows_right())]
}

fn equal(a: &Value, b: &Value) -> bool {
    !a.is_null() && !b.is_null() && a == b
}

fn less(a: &Value, b: &Value) -> bool {
    !a.is_null() && !b.is_null() && a.compare(b).is_lt()
}

/// Two inputs of two columns each: a key of few values, and a number.
fn inputs(random: &mut Random) -> (Rows, Rows) {
    let sizes = [(0, 5), (5, 0), (12, 9), (30, 40), (1, 60)];
    let (left, right) = sizes[random.below(5) as usize];
    (random.int_rows(left, 2, 6), random.int_rows(right, 2, 6))
}

fn hash_join(kind: JoinKind, left: &Rows, right: &Rows, keys: usize, residual: Option<Expr>) -> PhysicalPlan {
    let key_columns: Vec<Expr> = (0..keys).map(|index| col(index, INT)).collect();
    let node = N::HashJoin {
        kind,
        left: Arc::new(values(&[INT, INT], left)),
        right: Arc::new(values(&[INT, INT], right)),
        left_keys: key_columns.clone(),
        right_keys: key_columns,
        residual,
    };
    plan(&output_types(kind, 2, 2), node)
}

/// NULLs last.
fn compare(a: &Value, b: &Value) -> std::cmp::Ordering {
    let is_null = a.is_null() || b.is_null();
    a.is_null().cmp(&b.is_null()).then_with(|| if is_null { std::cmp::Ordering::Equal } else { a.compare(b) })
}

/// Of inputs that come in the order of the keys.
fn merge_join(
    kind: JoinKind,
    left: &Rows,
    right: &Rows,
    (keys, descending): (usize, bool),
    (right_differs, residual): (bool, Option<Expr>),
) -> PhysicalPlan {
    let key = |index: usize| SortKey { expr: col(index, INT), descending, nulls_first: descending };
    let node = N::MergeJoin {
        kind,
        left: Arc::new(values(&[INT, INT], left)),
        right: Arc::new(values(&[INT, INT], right)),
        left_keys: (0..keys).map(key).collect(),
        right_keys: (0..keys).map(|index| col(index, INT)).collect(),
        right_differs,
        residual,
    };
    let join = plan(&output_types(kind, 2, 2), node);
    // Right rows without a match come whenever a batch is passed.
    let is_free = matches!(kind, JoinKind::Right | JoinKind::Full);
    if is_free { sort(join, (0..4).map(|index| sort_key(col(index, INT), false, false)).collect()) } else { join }
}

fn nested_loop(kind: JoinKind, left: &Rows, right: &Rows, on: Option<Expr>) -> PhysicalPlan {
    let node = N::NestedLoopJoin {
        kind,
        left: Arc::new(values(&[INT, INT], left)),
        right: Arc::new(values(&[INT, INT], right)),
        on,
        lateral: false,
    };
    plan(&output_types(kind, 2, 2), node)
}

#[test]
fn hash_joins_of_every_kind_join_as_defined() {
    let fixture = Fixture::new();
    let mut random = Random::new(1);
    for round in 0..80 {
        let (left, right) = inputs(&mut random);
        let kind = HASHED[round % HASHED.len()];
        let one = fixture.rows(&hash_join(kind, &left, &right, 1, None)).unwrap();
        assert_eq!(one, naive(kind, &left, &right, |l, r| equal(&l[0], &r[0])), "{kind:?} {left:?} {right:?}");
        let two = fixture.rows(&hash_join(kind, &left, &right, 2, None)).unwrap();
        assert_eq!(two, naive(kind, &left, &right, |l, r| equal(&l[0], &r[0]) && equal(&l[1], &r[1])));
        let residual = Some(call("<", vec![col(1, INT), col(3, INT)]));
        let rest = fixture.rows(&hash_join(kind, &left, &right, 1, residual)).unwrap();
        assert_eq!(rest, naive(kind, &left, &right, |l, r| equal(&l[0], &r[0]) && less(&l[1], &r[1])), "{kind:?}");
    }
}

#[test]
fn merge_joins_of_every_kind_join_as_defined() {
    let fixture = Fixture::new();
    let mut random = Random::new(5);
    for round in 0..144 {
        let kind = KINDS[round % KINDS.len()];
        let (descending, keys) = (round % 4 == 0, 1 + round / 6 % 2);
        let by_keys = |a: &Vec<Value>, b: &Vec<Value>| {
            let order = a[..keys].iter().zip(&b[..keys]).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            let order = order.unwrap_or(std::cmp::Ordering::Equal);
            if descending { order.reverse() } else { order }
        };
        let (mut left, mut right) = inputs(&mut random);
        left.sort_by(by_keys);
        right.sort_by(by_keys);
        // Each right row once, in some rounds.
        let differs = round % 5 == 0;
        if differs {
            right.dedup_by(|a, b| a[..keys] == b[..keys]);
        }
        let rest = (round % 3 == 0).then(|| call("<", vec![col(1, INT), col(3, INT)]));
        let on = |l: &[Value], r: &[Value]| {
            (0..keys).all(|key| equal(&l[key], &r[key])) && (rest.is_none() || less(&l[1], &r[1]))
        };
        let join = merge_join(kind, &left, &right, (keys, descending), (differs, rest.clone()));
        let mut found = fixture.rows(&join).unwrap();
        let mut expected = naive(kind, &left, &right, on);
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let whole = |a: &Vec<Value>, b: &Vec<Value>| format!("{a:?}").cmp(&format!("{b:?}"));
            found.sort_by(whole);
            expected.sort_by(whole);
        }
        assert_eq!(found, expected, "{kind:?} {keys} {descending} {differs} {rest:?} {left:?} {right:?}");
    }
}

#[test]
fn nested_loops_of_every_kind_join_as_defined() {
    let fixture = Fixture::new();
    let mut random = Random::new(2);
    for round in 0..36 {
        let (left, right) = inputs(&mut random);
        let kind = KINDS[round % KINDS.len()];
        let all = fixture.rows(&nested_loop(kind, &left, &right, None)).unwrap();
        assert_eq!(all, naive(kind, &left, &right, |_, _| true), "{kind:?}");
        let on = Some(call("<", vec![col(1, INT), col(3, INT)]));
        let some = fixture.rows(&nested_loop(kind, &left, &right, on)).unwrap();
        assert_eq!(some, naive(kind, &left, &right, |l, r| less(&l[1], &r[1])), "{kind:?} {left:?} {right:?}");
    }
}

#[test]
fn lateral_joins_see_the_left_row() {
    let fixture = Fixture::new();
    let mut random = Random::new(3);
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let (left, right) = (random.int_rows(20, 2, 6), random.int_rows(15, 2, 6));
        let inner = filter(values(&[INT, INT], &right), call("<", vec![col(0, INT), outer(1, 0, INT)]));
        for on in [None, Some(call("=", vec![col(1, INT), col(3, INT)]))] {
            let with_on = on.is_some();
            let node = N::NestedLoopJoin {
                kind,
                left: Arc::new(values(&[INT, INT], &left)),
                right: Arc::new(inner.clone()),
                on,
                lateral: true,
            };
            let rows = fixture.rows(&plan(&output_types(kind, 2, 2), node)).unwrap();
            let expected = naive(kind, &left, &right, |l, r| less(&r[0], &l[0]) && (!with_on || equal(&l[1], &r[1])));
            assert_eq!(rows, expected, "{kind:?} {with_on}");
        }
    }
}

#[test]
fn index_joins_look_up_by_primary_key_and_by_index() {
    let fixture = Fixture::new();
    let mut random = Random::new(4);
    // Columns: primary key, indexed number, unique number (NULL where divisible by 7).
    let row = |id: i32, random: &mut Random| {
        let unique = if id % 7 == 0 { Value::Null } else { int(id * 2) };
        vec![int(id), random.int_or_null(8), unique]
    };
    let right: Rows = (0..50).map(|id| row(id, &mut random)).collect();
    for descending in [false, true] {
        let table = fixture.table(&[INT; 3], &[0], &[(&[1], false, descending), (&[2], true, descending)], &right);
        let left: Rows = random.int_rows(40, 2, 60);
        // (index, table column it leads to, unique, covering)
        let ways =
            [(None, 0, true, false), (Some(0), 1, false, false), (Some(1), 2, true, false), (Some(0), 1, false, true)];
        for (index, column, unique, covering) in ways {
            for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
                let columns = if covering { vec![1, 0] } else { vec![0, 1, 2] };
                for residual in [None, Some(call("<", vec![col(1, INT), col(2, INT)]))] {
                    let with_residual = residual.is_some();
                    let node = N::IndexJoin {
                        kind,
                        left: Arc::new(values(&[INT, INT], &left)),
                        table: table.clone(),
                        index: index.map(|index: usize| table.indexes[index].clone()),
                        columns: columns.clone(),
                        keys: vec![col(0, INT)],
                        to: None,
                        unique,
                        residual,
                        covering,
                        inner: Default::default(),
                    };
                    let rows = fixture.rows(&plan(&output_types(kind, 2, columns.len()), node)).unwrap();
                    let cut: Rows = right.iter().map(|row| columns.iter().map(|&c| row[c].clone()).collect()).collect();
                    let at = columns.iter().position(|&c| c == column).unwrap();
                    let expected =
                        naive(kind, &left, &cut, |l, r| equal(&l[0], &r[at]) && (!with_residual || less(&l[1], &r[0])));
                    assert_eq!(rows, expected, "{kind:?} {index:?} {covering} {with_residual}");
                }
            }
        }
    }
}

#[test]
fn a_row_with_more_matches_than_a_batch_holds_is_matched_once() {
    let fixture = Fixture::new();
    let right: Rows = (0..2500).map(|n| vec![int(1), int(n)]).collect();
    let left = vec![vec![int(1), int(2400)], vec![int(1), int(9999)], vec![int(2), int(0)]];
    let residual = || Some(call("<", vec![col(1, INT), col(3, INT)]));
    for kind in HASHED {
        let on = |l: &[Value], r: &[Value]| equal(&l[0], &r[0]) && less(&l[1], &r[1]);
        let plan = hash_join(kind, &left, &right, 1, residual());
        assert_eq!(run(&plan, fixture.context()).unwrap(), naive(kind, &left, &right, on), "{kind:?}");
    }
}

/// Groups that begin and end within batches, next to each other, with one, several or no left rows; the window that grows
/// over one of them keeps nothing of those before.
#[test]
fn merged_groups_of_more_rows_than_a_batch_holds_are_joined_as_defined() {
    let fixture = Fixture::new();
    let groups = [(1, 70), (2, 3), (3, 1500), (4, 700), (5, 1)];
    let group = |(key, count): (i32, i32)| (0..count).map(move |n| vec![int(key), int(n)]);
    let right: Rows = groups.into_iter().flat_map(group).chain([vec![Value::Null, int(1)]]).collect();
    let left: Rows = [(0, 0), (1, 60), (3, 1400), (3, 9999), (3, 1), (4, 690), (5, -1), (6, 0)]
        .map(|(key, n)| vec![int(key), int(n)])
        .to_vec();
    let whole = |a: &Vec<Value>, b: &Vec<Value>| format!("{a:?}").cmp(&format!("{b:?}"));
    for kind in KINDS {
        for rest in [None, Some(call("<", vec![col(1, INT), col(3, INT)]))] {
            let on = |l: &[Value], r: &[Value]| equal(&l[0], &r[0]) && (rest.is_none() || less(&l[1], &r[1]));
            let join = merge_join(kind, &left, &right, (1, false), (false, rest.clone()));
            let mut found = fixture.rows(&join).unwrap();
            let mut expected = naive(kind, &left, &right, on);
            if matches!(kind, JoinKind::Right | JoinKind::Full) {
                found.sort_by(whole);
                expected.sort_by(whole);
            }
            assert!(found == expected, "{kind:?} {rest:?}: {} rows, not {}", found.len(), expected.len());
        }
    }
}

#[test]
fn keys_of_different_integer_width_meet() {
    let fixture = Fixture::new();
    let node = N::HashJoin {
        kind: JoinKind::Inner,
        left: Arc::new(values(&[INT], &[vec![int(1)], vec![int(-2)], vec![Value::Null]])),
        right: Arc::new(values(&[BIG], &[vec![Value::BigInt(-2)], vec![Value::BigInt(1 << 40)], vec![Value::Null]])),
        left_keys: vec![col(0, INT)],
        right_keys: vec![col(0, BIG)],
        residual: None,
    };
    let rows = fixture.rows(&plan(&[INT, BIG], node)).unwrap();
    assert_eq!(rows, [[int(-2), Value::BigInt(-2)]]);
}

#[test]
fn text_keys_join_and_char_keys_ignore_blanks() {
    let fixture = Fixture::new();
    let chars = crate::DataType::Char(4);
    for (data_type, expected) in [(TEXT, 1), (chars, 2)] {
        let node = N::HashJoin {
            kind: JoinKind::Inner,
            left: Arc::new(values(&[data_type], &[vec![text("ab")], vec![text("c")]])),
            right: Arc::new(values(&[data_type], &[vec![text("ab  ")], vec![text("c")]])),
            left_keys: vec![col(0, data_type)],
            right_keys: vec![col(0, data_type)],
            residual: None,
        };
        assert_eq!(fixture.rows(&plan(&[data_type; 2], node)).unwrap().len(), expected, "{data_type}");
    }
}

//! Frames and what is computed over them against their definitions: for each row every other row of its partition is asked
//! whether it belongs to the frame, and the answer is made from those that do.

use crate::{Connection, Database, Options};

/// A row of the table.
#[derive(Clone)]
struct Row {
    id: i64,
    part: i64,
    key: Option<i64>,
    x: Option<i64>,
    /// A numeric's digits and scale.
    n: (i64, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Bound {
    UnboundedPreceding,
    Preceding(i64),
    Current,
    Following(i64),
    UnboundedFollowing,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    unit: Unit,
    start: Bound,
    end: Bound,
    exclusion: &'static str,
    descending: bool,
    nulls_first: bool,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn frame(&mut self) -> Frame {
        let unit = [Unit::Rows, Unit::Range, Unit::Groups][self.below(3) as usize];
        let mut bound = |preceding: bool| loop {
            let offset = self.below(5) as i64;
            let bound = match self.below(5) {
                0 if preceding => Bound::UnboundedPreceding,
                1 => Bound::Preceding(offset),
                2 => Bound::Current,
                3 => Bound::Following(offset),
                4 if !preceding => Bound::UnboundedFollowing,
                _ => continue,
            };
            return bound;
        };
        let (start, end) = loop {
            let (start, end) = (bound(true), bound(false));
            // What begins behind its end by the kinds of the bounds alone is refused.
            let kind = |bound| match bound {
                Bound::UnboundedPreceding => 0,
                Bound::Preceding(_) => 1,
                Bound::Current => 2,
                Bound::Following(_) => 3,
                Bound::UnboundedFollowing => 4,
            };
            if kind(start) <= kind(end) {
                break (start, end);
            }
        };
        let exclusion = ["NO OTHERS", "CURRENT ROW", "GROUP", "TIES"][self.below(4) as usize];
        Frame { unit, start, end, exclusion, descending: self.below(2) == 1, nulls_first: self.below(2) == 1 }
    }

    fn rows(&mut self, count: i64, partitions: u64) -> Vec<Row> {
        let row = |id| Row {
            id,
            // Some partitions are large, most are small.
            part: (self.below(partitions) * self.below(partitions) / partitions) as i64,
            key: (self.below(8) > 0).then(|| self.below(20) as i64),
            x: (self.below(6) > 0).then(|| self.below(100) as i64 - 50),
            n: (self.below(1000) as i64, [0, 0, 0, 1, 1, 3][self.below(6) as usize]),
        };
        (0..count).map(row).collect()
    }
}

impl Frame {
    fn sql(&self) -> String {
        let bound = |bound| match bound {
            Bound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            Bound::Preceding(offset) => format!("{offset} PRECEDING"),
            Bound::Current => "CURRENT ROW".to_owned(),
            Bound::Following(offset) => format!("{offset} FOLLOWING"),
            Bound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        };
        let unit = format!("{:?}", self.unit).to_uppercase();
        let (direction, nulls) = (if self.descending { "DESC" } else { "ASC" }, self.nulls_first);
        let nulls = if nulls { "FIRST" } else { "LAST" };
        let (start, end, exclusion) = (bound(self.start), bound(self.end), self.exclusion);
        format!(
            "PARTITION BY part ORDER BY key {direction} NULLS {nulls} {unit} BETWEEN {start} AND {end} EXCLUDE {exclusion}"
        )
    }

    /// The order of keys: smaller ones come first.
    fn rank(&self, key: Option<i64>) -> i64 {
        match key {
            Some(key) if self.descending => -key,
            Some(key) => key,
            None if self.nulls_first => -1000,
            None => 1000,
        }
    }

    /// Where `other` lies from `row`, in what the frame counts: not behind a bound that is so far after the row.
    fn reaches(&self, rows: &[Row], row: usize, other: usize, bound: Bound, is_start: bool) -> bool {
        let groups = |place: usize| {
            let changes = rows[..=place].windows(2).filter(|pair| pair[0].key != pair[1].key);
            changes.count() as i64
        };
        let both = (rows[row].key, rows[other].key);
        let far = match self.unit {
            Unit::Rows => other as i64 - row as i64,
            Unit::Groups => groups(other) - groups(row),
            Unit::Range => match both {
                (Some(_), Some(_)) => self.rank(both.1) - self.rank(both.0),
                (None, None) => 0,
                // Beyond all that an offset reaches, on the side on which it is.
                _ => 10_000 * (self.rank(both.1) - self.rank(both.0)).signum(),
            },
        };
        // A NULL has no distance but to its like.
        let offset = |offset| if self.unit == Unit::Range && both.0.is_none() { 0 } else { offset };
        let limit = match bound {
            Bound::UnboundedPreceding | Bound::UnboundedFollowing => return true,
            Bound::Preceding(n) => -offset(n),
            Bound::Current => 0,
            Bound::Following(n) => offset(n),
        };
        if is_start { far >= limit } else { far <= limit }
    }

    /// The rows of a frame of a sorted partition.
    fn of<'r>(&self, rows: &'r [Row], row: usize) -> Vec<&'r Row> {
        let within = |&other: &usize| {
            let is_peer = rows[other].key == rows[row].key;
            let out = match self.exclusion {
                "CURRENT ROW" => other == row,
                "GROUP" => is_peer,
                "TIES" => is_peer && other != row,
                _ => false,
            };
            !out && self.reaches(rows, row, other, self.start, true) && self.reaches(rows, row, other, self.end, false)
        };
        (0..rows.len()).filter(within).map(|other| &rows[other]).collect()
    }
}

/// What is asked over each frame.
const CALLS: [&str; 12] = [
    "count(*)",
    "count(x)",
    "sum(x)",
    "sum(n)",
    "min(x)",
    "max(x) FILTER (WHERE id % 3 > 0)",
    "bool_or(x > 30)",
    "bool_and(x > -30)",
    "first_value(id)",
    "last_value(id)",
    "nth_value(id, 3)",
    "string_agg(id::text, ',')",
];

/// The answers, by their definitions.
fn answers(frame: &[&Row]) -> Vec<Option<String>> {
    let values: Vec<i64> = frame.iter().filter_map(|row| row.x).collect();
    let shown = |value: Option<i64>| value.map(|value| value.to_string());
    let truth = |value: Option<bool>| value.map(|value| value.to_string());
    let fold = |all: bool, test: fn(i64) -> bool| {
        let mut tested = values.iter().map(|&x| test(x));
        (!values.is_empty()).then(|| if all { tested.all(|x| x) } else { tested.any(|x| x) })
    };
    let scale = frame.iter().map(|row| row.n.1).max().unwrap_or(0);
    let sum: i64 = frame.iter().map(|row| row.n.0 * 10_i64.pow((scale - row.n.1) as u32)).sum();
    let filtered = frame.iter().filter(|row| row.id % 3 > 0).filter_map(|row| row.x).max();
    let ids: Vec<String> = frame.iter().map(|row| row.id.to_string()).collect();
    vec![
        Some(frame.len().to_string()),
        Some(values.len().to_string()),
        shown((!values.is_empty()).then(|| values.iter().sum())),
        (!frame.is_empty()).then(|| decimal(sum, scale)),
        shown(values.iter().min().copied()),
        shown(filtered),
        truth(fold(false, |x| x > 30)),
        truth(fold(true, |x| x > -30)),
        ids.first().cloned(),
        ids.last().cloned(),
        ids.get(2).cloned(),
        (!ids.is_empty()).then(|| ids.join(",")),
    ]
}

fn decimal(digits: i64, scale: usize) -> String {
    let text = format!("{digits:0>width$}", width = scale + 1);
    let (whole, part) = text.split_at(text.len() - scale);
    if scale == 0 { text } else { format!("{whole}.{part}") }
}

/// The functions that look at no frame.
const PLACED: [&str; 8] = [
    "row_number()",
    "rank()",
    "dense_rank()",
    "percent_rank()",
    "cume_dist()",
    "ntile(4)",
    "lag(id, 2, -1)",
    "lead(id)",
];

fn placed(rows: &[Row], row: usize) -> Vec<Option<String>> {
    let first = rows.iter().position(|other| other.key == rows[row].key).unwrap_or(row);
    let peers = rows.iter().filter(|other| other.key == rows[row].key).count();
    let groups = rows[..=row].windows(2).filter(|pair| pair[0].key != pair[1].key).count();
    let (count, quarter, longer) = (rows.len(), rows.len() / 4, rows.len() % 4);
    let tile = (0..4).find(|tile| row < (tile + 1) * quarter + longer.min(tile + 1)).unwrap_or(3);
    let percent = if count > 1 { first as f64 / (count - 1) as f64 } else { 0.0 };
    let texts = [
        (row + 1).to_string(),
        (first + 1).to_string(),
        (groups + 1).to_string(),
        percent.to_string(),
        ((first + peers) as f64 / count as f64).to_string(),
        (tile + 1).to_string(),
        row.checked_sub(2).map_or(-1, |row| rows[row].id).to_string(),
    ];
    texts.into_iter().map(Some).chain([rows.get(row + 1).map(|row| row.id.to_string())]).collect()
}

fn filled(rows: &[Row], work_mem: usize) -> Connection {
    let conn = Database::open_in_memory_with(Options::default().work_mem(work_mem)).unwrap().connect().unwrap();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, part int, key int, x int, n numeric)", ()).unwrap();
    for Row { id, part, key, x, n: (digits, scale) } in rows {
        let values = (*id, *part, *key, *x, decimal(*digits, *scale));
        conn.execute("INSERT INTO t VALUES ($1, $2, $3, $4, $5::text::numeric)", values).unwrap();
    }
    conn
}

/// Compares the answers to `calls` over a frame with those that `model` makes of each row of a sorted partition.
fn assert_same(
    conn: &Connection,
    rows: &[Row],
    frame: &Frame,
    calls: &[&str],
    model: impl Fn(&[Row], usize) -> Vec<Option<String>>,
) {
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|row| (row.part, frame.rank(row.key), row.id));
    let mut expected = vec![vec![]; rows.len()];
    for part in sorted.chunk_by(|a, b| a.part == b.part) {
        for at in 0..part.len() {
            expected[part[at].id as usize] = model(part, at);
        }
    }
    let over = calls.iter().map(|call| match call.split_once(" FILTER") {
        Some((call, filter)) => format!("cast({call} FILTER{filter} OVER w AS text)"),
        None => format!("cast({call} OVER w AS text)"),
    });
    let (list, window) = (over.collect::<Vec<_>>().join(", "), frame.sql());
    let sql = format!("SELECT {list} FROM t WINDOW w AS ({window}) ORDER BY id");
    let mut found = conn.query(&sql, ()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for (id, expected) in expected.into_iter().enumerate() {
        let row = found.next().unwrap_or_else(|error| panic!("{sql}: {error}")).expect("a row");
        for (at, expected) in expected.into_iter().enumerate().take(calls.len()) {
            let found: Option<String> = row.get(at).unwrap();
            assert_eq!(found, expected, "{} of row {id}: {sql}", calls[at]);
        }
    }
    assert!(found.next().unwrap().is_none());
}

#[test]
fn every_frame_has_the_rows_that_its_definition_says() {
    let mut random = Random(7);
    for case in 0..20 {
        let rows = random.rows(60, 4);
        let conn = filled(&rows, [1, 64 << 20][case % 2]);
        for _ in 0..12 {
            let frame = random.frame();
            assert_same(&conn, &rows, &frame, &CALLS, |part, at| answers(&frame.of(part, at)));
        }
        assert_same(&conn, &rows, &random.frame(), &PLACED, placed);
    }
}

#[test]
fn frames_go_across_batches_and_what_is_on_disk() {
    let mut random = Random(11);
    let rows = random.rows(1800, 5);
    for work_mem in [1, 64 << 20] {
        let conn = filled(&rows, work_mem);
        for offset in [0, 3, 700] {
            let mut frame = random.frame();
            (frame.unit, frame.start, frame.end) = (Unit::Rows, Bound::Preceding(offset), Bound::Following(offset / 2));
            assert_same(&conn, &rows, &frame, &CALLS[..11], |part, at| answers(&frame.of(part, at)));
        }
        assert_same(&conn, &rows, &random.frame(), &PLACED, placed);
    }
}

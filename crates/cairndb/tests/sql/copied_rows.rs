//! Rows that come by COPY are those that INSERTs of the same texts make, however they are written and however they come; a row that is
//! none is told with its line, as the INSERT tells it, and nothing is left.

use std::io::Read;

use cairndb::{Connection, Error, Result};

use crate::common::{connect, rows};

/// A type, texts that it reads, and texts that it does not.
const TYPES: [(&str, &[&str], &[&str]); 29] = [
    ("boolean", &["t", "false", " yes ", "0"], &["maybe", ""]),
    ("smallint", &["0", "-32768", " 7 ", "+5", "0032767"], &["32768", "x", ""]),
    ("integer", &["0", "-2147483648", "2147483647", "  12"], &["2147483648", "1.5", "--1", "1 2"]),
    (
        "bigint",
        &["0", "-9223372036854775808", "9223372036854775807", "123456789012345678"],
        &["9223372036854775808", "-"],
    ),
    ("oid", &["0", "4294967295"], &["4294967296"]),
    ("real", &["1.5", "-0", "NaN", "1e10", "infinity"], &["1e99", "x"]),
    ("double precision", &["1.5", "-0", "-Infinity", "1e300", "2.2250738585072014e-308"], &["1e999", "."]),
    (
        "numeric",
        &[
            "0",
            "-0.00",
            "12345678901234567890.123",
            "1e3",
            "NaN",
            ".5",
            "5.",
            "+1.20",
            "000000000000000000000001.5",
            "99999999999999999.9",
        ],
        &["1.2.3", ".", "-", "", "1 "],
    ),
    (
        "numeric(6,2)",
        &["1", "-9999.99", "0.005", "9999.994", "1e2", " 3.1 ", "0", "1234.5", "NaN"],
        &["10000", "9999.995", "99999999999999999999", "1..2", "Infinity"],
    ),
    ("numeric(18,0)", &["1", "-999999999999999999", "1.5"], &["1000000000000000000"]),
    ("numeric(3,-2)", &["100", "12345", "-49"], &["123456"]),
    ("text", &["", "x", "tab\tand\nline", "\\N", "\\.", "é€🙂", "a\\b\"c\"", "\r", "NULL", "  blank  "], &[]),
    ("varchar(5)", &["", "abcde", "abc  ", "abcde   ", "ééééé"], &["abcdef", "éééééé"]),
    ("char(4)", &["", "ab", "abcd", "éé", "abcd  "], &["abcde"]),
    ("name", &["x", "a_name_that_is_longer_than_sixty_three_bytes_which_are_all_that_it_has_room_for"], &[]),
    ("bytea", &["", "\\x00ff", "a\\000b", "plain"], &["\\xf", "\\9"]),
    (
        "date",
        &["2024-02-29", "infinity", "0044-03-15 BC", "Jan 5 2020", "1-2-3"],
        &["2023-02-29", "x", "99999999-01-01"],
    ),
    ("time", &["12:34:56", "00:00", "23:59:59.9999999", "24:00:00"], &["25:00", ""]),
    ("timetz", &["12:34:56+02", "01:02:03.5-03:30"], &["12:34:56+99"]),
    (
        "timestamp",
        &["2024-02-29 12:34:56.789", "2000-01-01", "infinity", "2024-01-01T00:00:00", "2024-02-29 12:34:56+02"],
        &["2024-02-30 00:00:00", "x"],
    ),
    ("timestamp(2)", &["2024-02-29 12:34:56.785", "1999-12-31 23:59:59.999999"], &["now-ish"]),
    (
        "timestamptz",
        &[
            "2024-02-29 12:34:56.789+00",
            "2024-02-29 12:34:56-03:30",
            "2024-07-01 00:00:00",
            "2024-03-31 02:30:00",
            "-infinity",
            "2024-01-01 00:00:00 America/New_York",
            "2024-02-29 12:34:56Z",
        ],
        &[
            "2024-02-29 12:34:60.5+x",
            "2024-02-29 12:34:56+16:00",
            "2024-02-29 24:34:56+00",
            "2024-02-29 12:34:56+02:61",
        ],
    ),
    ("timestamptz(0)", &["2024-02-29 12:34:56.5+00", "2024-02-29 12:34:56.499999+14:00"], &["2024-13-01 00:00:00+00"]),
    ("interval", &["1 day 02:03:04", "-1 year", "P1Y2M"], &["1 dayz"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}"], &["a0eebc99"]),
    ("jsonb", &["{\"a\": [1, \"é\\n\"]}", "null", "3"], &["{", ""]),
    ("int[]", &["{1,2,NULL}", "{}", "{{1,2},{3,4}}"], &["{1,x}", "1"]),
    ("mood", &["sad", "so so"], &["glad", ""]),
    ("small", &["1", "99"], &["100", "x"]),
];

const SCHEMA: &str = "CREATE TYPE mood AS ENUM ('sad', 'so so'); CREATE DOMAIN small AS int CHECK (value < 100);
    SET timezone = 'Europe/Berlin'";

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Gives its bytes in pieces of all lengths.
struct Pieces<'r, 'b>(&'r mut Random, &'b [u8]);

impl Read for Pieces<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = [1, 3, 100, 70_000][self.0.below(4)].min(buffer.len());
        let count = (1 + self.0.below(most)).min(self.1.len());
        let (first, rest) = self.1.split_at(count);
        buffer[..count].copy_from_slice(first);
        self.1 = rest;
        Ok(count)
    }
}

type Row = Vec<Option<String>>;

/// A table of some of the types, and rows for it.
struct Case {
    types: Vec<usize>,
    has_key: bool,
    rows: Vec<Row>,
}

impl Case {
    fn new(random: &mut Random) -> Case {
        let types: Vec<usize> = (0..1 + random.below(6)).map(|_| random.below(TYPES.len())).collect();
        let has_key = random.below(3) > 0;
        let count = [1, 5, 60, 1500][random.below(4)];
        // One row in many cases is wrong.
        let wrong = if random.below(3) > 0 { random.below(count) } else { count };
        let is_sorted = random.below(2) == 0;
        let value = |random: &mut Random, of: usize, is_wrong: bool| match (is_wrong, random.below(12)) {
            (true, _) if !TYPES[of].2.is_empty() => Some(random.pick(TYPES[of].2).to_owned()),
            (_, 0) => None,
            (_, 1) if TYPES[of].0 == "text" && random.below(30) == 0 => Some("long \"é\"\t".repeat(5000)),
            _ => Some(random.pick(TYPES[of].1).to_owned()),
        };
        let mut row = |at: usize| -> Row {
            let is_wrong = at == wrong;
            let place = if is_sorted { at } else { at * 7919 % 100_003 };
            let is_double = is_wrong && random.below(3) == 0;
            let key = has_key.then(|| Some(if is_double && at > 0 { 0 } else { place }.to_string()));
            let broken = if is_wrong && !is_double { random.below(types.len()) } else { types.len() };
            let values = types.iter().enumerate().map(|(column, of)| value(random, *of, column == broken));
            key.into_iter().chain(values.collect::<Vec<_>>()).collect()
        };
        let rows = (0..count).map(&mut row).collect();
        Case { types, has_key, rows }
    }

    fn create(&self, random: &mut Random) -> String {
        let columns = self.types.iter().enumerate().map(|(at, of)| format!("c{at} {}", TYPES[*of].0));
        let key = self.has_key.then(|| "k int PRIMARY KEY".to_owned());
        let more = match random.below(8) {
            0 => ", no serial",
            1 => ", g text GENERATED ALWAYS AS ('x') STORED",
            2 => ", f int DEFAULT 5 CHECK (f > 0)",
            3 => ", u uuid, d text DEFAULT 'dé' NOT NULL",
            _ => "",
        };
        let after = match random.below(4) {
            0 => "; CREATE INDEX ON t (c0)",
            _ => "",
        };
        // (Not of what has no order.)
        let after = if TYPES[self.types[0]].0 == "jsonb" { "" } else { after };
        format!("CREATE TABLE t ({}{more}){after}", key.into_iter().chain(columns).collect::<Vec<_>>().join(", "))
    }

    fn columns(&self) -> String {
        let key = self.has_key.then(|| "k".to_owned());
        key.into_iter().chain((0..self.types.len()).map(|at| format!("c{at}"))).collect::<Vec<_>>().join(", ")
    }
}

/// What INSERTs of the rows do, one after the other: the first that fails, and its error.
fn inserted(conn: &Connection, case: &Case) -> Option<(usize, Error)> {
    let literal = |value: &Option<String>| match value {
        Some(text) => format!("'{}'", text.replace('\'', "''")),
        None => "NULL".to_owned(),
    };
    let insert = |row: &Row| {
        let values: Vec<String> = row.iter().map(literal).collect();
        conn.execute(&format!("INSERT INTO t ({}) VALUES ({})", case.columns(), values.join(", ")), ())
    };
    case.rows.iter().enumerate().find_map(|(at, row)| insert(row).err().map(|error| (at, error)))
}

/// The rows in the text format: with escapes that are needed, and some that are not.
fn as_text(rows: &[Row], random: &mut Random, end: &str) -> String {
    let mut out = String::new();
    for row in rows {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at > 0 { "\t" } else { "" });
            let Some(value) = value else {
                out.push_str("\\N");
                continue;
            };
            for c in value.chars() {
                match c {
                    '\t' => out.push_str("\\t"),
                    '\n' => out.push_str(random.pick(&["\\n", "\\\n", "\\012", "\\xA"])),
                    '\r' => out.push_str(random.pick(&["\\r", "\\15"])),
                    '\\' => out.push_str("\\\\"),
                    c if c.is_ascii_punctuation() && c != '.' && random.below(9) == 0 => out.extend(['\\', c]),
                    c => out.push(c),
                }
            }
        }
        out.push_str(end);
    }
    // A newline that stands for itself behind a backslash ends no line, but one of another kind must not be there.
    if end == "\r\n" { out.replace("\\\n", "\\n") } else { out }
}

fn as_csv(rows: &[Row], random: &mut Random, end: &str) -> String {
    let mut out = String::new();
    for row in rows {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            let Some(value) = value else { continue };
            let needs = value.is_empty() || value == "\\." || value.contains(['"', ',', '\n', '\r']);
            match needs || random.below(3) == 0 {
                true => out.push_str(&format!("\"{}\"", value.replace('"', "\"\""))),
                false => out.push_str(value),
            }
        }
        out.push_str(end);
    }
    out
}

/// Where an error says it was: the number behind `line`.
fn line_of(error: &Error) -> usize {
    let context = error.context().unwrap_or_else(|| panic!("{error:?}"));
    let number =
        context.split("line ").nth(1).or_else(|| context.split("row ").nth(1)).unwrap_or_else(|| panic!("{context}"));
    number.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// The number of the line that a row ends on.
fn last_line(case: &Case, row: usize, data: &str, csv: bool, end: &str) -> usize {
    let newlines = |row: &Row| row.iter().flatten().map(|value| value.matches('\n').count()).sum::<usize>();
    match csv {
        true => row + 1 + case.rows[..=row].iter().map(newlines).sum::<usize>(),
        // (A newline behind a backslash begins none.)
        false => {
            assert!(data.matches(end).count() > row);
            row + 1
        }
    }
}

fn check(
    conn: &Connection,
    case: &Case,
    expected: &Option<(usize, Error)>,
    before: &[String],
    copied: Result<u64>,
    line: impl Fn(usize) -> usize,
) {
    match (expected, copied) {
        (None, Ok(count)) => assert_eq!(count, case.rows.len() as u64),
        (Some((row, expected)), Err(error)) => {
            assert_eq!((error.sqlstate(), error.message()), (expected.sqlstate(), expected.message()));
            assert_eq!((error.detail(), line_of(&error)), (expected.detail(), line(*row)), "{error:?}");
        }
        (expected, copied) => panic!("{expected:?} by INSERT, {copied:?} by COPY"),
    }
    let found = rows(conn, "SELECT * FROM t");
    assert!(found == before, "{:?} and not {:?}", &found[..found.len().min(3)], &before[..before.len().min(3)]);
}

#[test]
fn copied_rows_are_those_that_are_inserted() {
    let mut random = Random(35);
    let mut failed = 0;
    for _ in 0..60 {
        let case = Case::new(&mut random);
        let create = case.create(&mut random);
        let one_by_one = connect(&format!("{SCHEMA}; {create}; BEGIN"));
        let expected = inserted(&one_by_one, &case);
        failed += usize::from(expected.is_some());
        let before = if expected.is_some() { Vec::new() } else { rows(&one_by_one, "SELECT * FROM t") };
        let columns = case.columns();
        for end in ["\n", "\r\n"] {
            for csv in [false, true] {
                let conn = connect(&format!("{SCHEMA}; {create}"));
                let data =
                    if csv { as_csv(&case.rows, &mut random, end) } else { as_text(&case.rows, &mut random, end) };
                let sql = format!("COPY t ({columns}) FROM STDIN (FORMAT {})", if csv { "csv" } else { "text" });
                let copied = conn.copy_in(&sql, Pieces(&mut random, data.as_bytes()));
                check(&conn, &case, &expected, &before, copied, |row| last_line(&case, row, &data, csv, end));
            }
        }
        // From a program.
        let conn = connect(&format!("{SCHEMA}; {create}"));
        let names: Vec<&str> = columns.split(", ").collect();
        let copied =
            conn.append("t", &names, case.rows.iter().map(|row| row.iter().map(Option::as_deref).collect::<Vec<_>>()));
        check(&conn, &case, &expected, &before, copied, |row| row + 1);
        // And as bytes, in the order in which they come out.
        if expected.is_none() && !create.contains("serial") {
            let mut bytes = Vec::new();
            one_by_one.copy_out(&format!("COPY t ({columns}) TO STDOUT BINARY"), &mut bytes).unwrap();
            let conn = connect(&format!("{SCHEMA}; {create}"));
            let copied = conn.copy_in(&format!("COPY t ({columns}) FROM STDIN BINARY"), Pieces(&mut random, &bytes));
            check(&conn, &case, &expected, &before, copied, |row| row + 1);
        }
    }
    assert!((15..50).contains(&failed), "{failed}");
}

/// A function in a default sees the rows before; so does a trigger, and a condition what was drawn for its row.
#[test]
fn what_is_computed_for_a_row_is_when_its_turn_comes() {
    let conn = connect(
        "CREATE TABLE t (a int, n bigint DEFAULT 0);
         CREATE FUNCTION known() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t';
         ALTER TABLE t ALTER n SET DEFAULT known();
         CREATE TABLE s (a int, n serial); ALTER TABLE s ADD CHECK (n = currval('s_n_seq'));
         CREATE TABLE u (a int, n serial, last bigint);
         CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.last := currval(''u_n_seq''); RETURN new; END';
         CREATE TRIGGER look BEFORE INSERT ON u FOR EACH ROW EXECUTE FUNCTION look()",
    );
    let data: String = (1..=50).map(|a| format!("{a}\n")).collect();
    for (table, is_right) in [("t", "n = a - 1"), ("s", "n = a"), ("u", "n = a AND last = a")] {
        assert_eq!(conn.copy_in(&format!("COPY {table} (a) FROM STDIN"), data.as_bytes()).unwrap(), 50);
        assert_eq!(rows(&conn, &format!("SELECT count(*) FROM {table} WHERE {is_right}")), ["50"], "{table}");
    }
    conn.copy_in("COPY t (a) FROM STDIN WHERE known() < 60", data.as_bytes()).unwrap();
    assert_eq!(rows(&conn, "SELECT count(*), max(n) FROM t"), ["60|59"]);
}

/// The first row with something wrong is told, whatever it is that is wrong.
#[test]
fn the_first_of_several_faults_is_told() {
    let conn = connect(
        "CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL DEFAULT 'x', c int DEFAULT 100 / (random() * 0 + 1)::int CHECK (c > 1))",
    );
    let fault = |sql: &str, data: &str| {
        let error = conn.copy_in(sql, data.as_bytes()).unwrap_err();
        assert_eq!(rows(&conn, "SELECT * FROM t"), [""; 0], "{data}");
        format!("{} {}", error.sqlstate().0, line_of(&error))
    };
    let good: String = (0..10).map(|a| format!("{a}\tx\n")).collect();
    for (data, expected) in [
        ("5\tx\nno\tx\n1\n", "23505 11"),
        ("50\tx\nno\tx\n1\n", "22P02 12"),
        ("50\t\\N\nno\tx\n1\n", "23502 11"),
        ("50\tx\n1\n\\.x", "22P04 12"),
        ("50\tx\n51\tx\t\n5\tx\n", "22P04 12"),
        ("50\tx\n51\tx\n52\tx\r\n5\tx\n", "22P04 13"),
        ("50\t\\xff\n5\tx\n", "22021 11"),
    ] {
        assert_eq!(fault("COPY t (a, b) FROM STDIN", &format!("{good}{data}")), expected, "{data}");
    }
    for (data, expected) in
        [("0\tx\n5\tx\n", "22012 11"), ("5\tx\n0\tx\n", "23505 11"), ("-3\tx\n5\t\\N\n", "23502 12")]
    {
        let good = good.replace("0\tx\n", "");
        let sql = "COPY t (a, b) FROM STDIN WHERE 10 / a <> -3";
        assert_eq!(fault(sql, &format!("20\tx\n{good}{data}")), expected, "{data}");
    }
}

/// A file in the binary format that is cut anywhere is refused, with the row and the column where it was cut.
#[test]
fn a_row_of_bytes_that_is_cut_is_told_with_what_came_of_it() {
    let conn = connect("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, 'drei')");
    let mut bytes = Vec::new();
    conn.copy_out("COPY t TO STDOUT BINARY", &mut bytes).unwrap();
    conn.execute("DELETE FROM t", ()).unwrap();
    const HEADER: usize = 19;
    // A row: its fields' number, and of each field the length before the bytes.
    let ends: Vec<usize> = [17, 14, 18]
        .iter()
        .scan(HEADER, |end, row| {
            *end += row;
            Some(*end)
        })
        .collect();
    for length in HEADER..bytes.len() {
        // (Behind a whole row a file may end, and within the next row's number of fields as well.)
        let copied = conn.copy_in("COPY t FROM STDIN BINARY", &bytes[..length]);
        let row = ends.iter().filter(|end| **end <= length).count();
        let begin = if row == 0 { HEADER } else { ends[row - 1] };
        match copied {
            Ok(count) => assert!(count == row as u64 && length < begin + 2, "{length}"),
            Err(error) => {
                let column = if length < begin + 10 { "a" } else { "b" };
                let context = format!("COPY t, line {}, column {column}", row + 1);
                assert_eq!((error.sqlstate().0, error.context()), ("22P04", Some(&*context)), "{length}");
                assert!(length >= begin + 2);
            }
        }
        conn.execute("DELETE FROM t", ()).unwrap();
    }
    // What came before the cut is looked at first.
    bytes.splice(HEADER + 2..HEADER + 10, [0, 0, 0, 3, 0, 0, 0]);
    let error = conn.copy_in("COPY t FROM STDIN BINARY", &bytes[..HEADER + 10]).unwrap_err();
    assert_eq!((error.sqlstate().0, error.context()), ("08P01", Some("COPY t, line 1, column a")));
    let error = conn.copy_in("COPY t (b) FROM STDIN BINARY", &bytes[..]).unwrap_err();
    assert_eq!((error.message(), error.context()), ("row field count is 2, expected 1", Some("COPY t, line 1")));
}

/// Rows of a table without a primary key have numbers, which none gets twice however many are taken at once.
#[test]
fn rows_without_a_key_that_two_copy_at_once_are_all_there() {
    let (database, one) = crate::common::opened("CREATE TABLE t (a int, b varchar(4)); INSERT INTO t VALUES (0, 'x')");
    let two = database.connect().unwrap();
    let data = |from: i32| (from..from + 3000).map(|a| format!("{a}\tx\n")).collect::<String>();
    for conn in [&one, &two] {
        conn.execute("BEGIN", ()).unwrap();
    }
    for (conn, from) in [(&one, 1), (&two, 3001), (&one, 6001), (&two, 9001)] {
        assert_eq!(conn.copy_in("COPY t FROM STDIN", data(from).as_bytes()).unwrap(), 3000);
    }
    for conn in [&one, &two] {
        conn.execute("COMMIT", ()).unwrap();
    }
    assert_eq!(one.execute("INSERT INTO t SELECT a + 20000, b FROM t WHERE a < 5000", ()).unwrap(), 5000);
    assert_eq!(rows(&one, "SELECT count(*), count(DISTINCT a), sum(a) FROM t"), ["17001|17001|184503500"]);
    assert_eq!(one.execute("UPDATE t SET b = 'y' WHERE a % 2 = 0", ()).unwrap(), 8501);
}

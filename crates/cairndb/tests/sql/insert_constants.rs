//! Rows of constants have a short way from the text into the table. It means what the long way means, which an INSERT with
//! WITH takes: the same rows, or the same error at the same place.

use crate::common::typed_rows;
use cairndb::{Connection, Database, Value};

const COLUMNS: [&str; 20] = [
    "b boolean",
    "i2 smallint",
    "i4 int",
    "i8 bigint",
    "r real",
    "f double precision",
    "n numeric",
    "m numeric(6, 2)",
    "s text",
    "v varchar",
    "w varchar(4)",
    "c char(3)",
    "x bytea",
    "d date",
    "t time",
    "ts timestamp",
    "tz timestamptz",
    "iv interval",
    "u uuid",
    "e int DEFAULT 7",
];

const CONSTANTS: [&str; 92] = [
    "NULL",
    "DEFAULT",
    "0",
    "1",
    "-1",
    "+1",
    "- 1",
    "- -1",
    "007",
    "32767",
    "32768",
    "-32768",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1.5",
    "-1.5",
    "0.0",
    "-0.0",
    "1.005",
    "99999.99",
    "1234567",
    "1e3",
    "-1e300",
    "1e400",
    "1e-320",
    "9007199254740993",
    ".5",
    "5.",
    "0.1",
    "true",
    "FALSE",
    "'t'",
    "'no'",
    "'1'",
    "' 12 '",
    "'-7'",
    "'1.25'",
    "'NaN'",
    "'-Infinity'",
    "'abc'",
    "'abcd  '",
    "'abcdefgh'",
    "''",
    "'it''s'",
    "E'a\\nb'",
    "E'\\\\x0aff'",
    "U&'d\\0061t'",
    "U&'\\0441\\043b'",
    "$$dollar$$",
    "'čšž'",
    "'čšžšč'",
    "'\\x00ff'",
    "'\\x0f0'",
    "'2020-02-29'",
    "'2021-02-29'",
    "'2020-02-29 12:34:56.789'",
    "'2020-02-29 12:34:56+02'",
    "'12:34:56'",
    "'25:00'",
    "'today'",
    "'now'",
    "'infinity'",
    "'1 day 2 hours'",
    "'3 months'",
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "'a0eebc99'",
    "date '2020-01-01'",
    "date 'x'",
    "timestamp '2020-01-01 10:00'",
    "timestamptz '2020-01-01 10:00+01'",
    "interval '1' day",
    "time '10:00'",
    "numeric '1.50'",
    "int '5'",
    "bool 'on'",
    "'5'::int",
    "'x'::int",
    "5::text",
    "'2020-01-01'::date",
    "CAST('7' AS bigint)",
    "1.5::int",
    "99999::smallint",
    "NULL::int",
    "'abcdef'::varchar(3)",
    "'ab'::char(5)",
    "B'101'",
    "X'1F'",
    "-'1'",
];

/// `WITH` to the length of what takes its place.
const WITH: &str = "WITH a AS (SELECT 1) ";
const BLANKS: &str = "                     ";

fn connection() -> (Database, Connection) {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    let table = format!("CREATE TABLE k (id int PRIMARY KEY, {})", COLUMNS.join(", "));
    conn.execute_script(&table).unwrap();
    conn.execute_script("SET timezone = 'Europe/Vienna'; BEGIN").unwrap();
    (db, conn)
}

type Told = (String, String, Option<usize>, Option<String>, Option<String>);

/// What the statement inserted into `table`, or how it failed. Nothing stays.
fn outcome(conn: &Connection, sql: &str, table: &str) -> Result<Vec<Vec<Value>>, Told> {
    conn.execute_script("SAVEPOINT before").unwrap();
    let outcome = match conn.execute(sql, ()) {
        Ok(_) => Ok(typed_rows(conn, &format!("SELECT * FROM {table}"))),
        Err(error) => Err((
            error.sqlstate().0.to_string(),
            error.message().to_string(),
            error.position(),
            error.detail().map(str::to_string),
            error.hint().map(str::to_string),
        )),
    };
    conn.execute_script("ROLLBACK TO before").unwrap();
    outcome
}

/// Within a transaction, so that the clock stands still.
fn agree(conn: &Connection, insert: &str, table: &str) {
    let short = outcome(conn, &format!("{BLANKS}{insert}"), table);
    let long = outcome(conn, &format!("{WITH}{insert}"), table);
    // As text: what is not a number is not equal to itself.
    assert_eq!(format!("{short:?}"), format!("{long:?}"), "{insert}");
}

fn column_name(column: &str) -> &str {
    column.split(' ').next().unwrap()
}

#[test]
fn a_constant_of_any_form_in_a_column_of_any_type_is_what_it_is_the_long_way() {
    let (_db, conn) = connection();
    for column in COLUMNS {
        let name = column_name(column);
        for constant in CONSTANTS {
            agree(&conn, &format!("INSERT INTO k (id, {name}) VALUES (1, {constant})"), "k");
            // Few rows and many are held differently.
            let many: Vec<String> = (0..9).map(|id| format!("({id}, {constant})")).collect();
            agree(&conn, &format!("INSERT INTO k (id, {name}) VALUES {}", many.join(", ")), "k");
        }
    }
}

/// Numbers without pattern, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }
}

#[test]
fn rows_of_constants_are_what_they_are_the_long_way_and_the_first_error_is_the_same() {
    let (_db, conn) = connection();
    // Per column, what it takes.
    let fitting: Vec<Vec<&str>> = COLUMNS
        .iter()
        .map(|column| {
            let fits = |constant: &&str| {
                let sql = format!("INSERT INTO k (id, {}) VALUES (1, {constant})", column_name(column));
                outcome(&conn, &sql, "k").is_ok()
            };
            CONSTANTS.into_iter().filter(fits).collect()
        })
        .collect();
    assert!(fitting.iter().all(|fitting| fitting.len() > 2), "{fitting:?}");
    let mut draw = Draw(7);
    for _ in 0..400 {
        let mut chosen: Vec<usize> = (0..COLUMNS.len()).filter(|_| draw.below(3) == 0).collect();
        let turned = draw.below(chosen.len().max(1));
        chosen.rotate_left(turned);
        let rows = 1 + draw.below(16);
        // Mostly one value, at some place, that may not fit.
        let (odd_row, odd_column) = (draw.below(2 * rows), draw.below(chosen.len().max(1)));
        let mut row = |number: usize| {
            let mut values = vec![if draw.below(40) == 0 { "1".to_owned() } else { (number + 1).to_string() }];
            for (at, column) in chosen.iter().enumerate() {
                let odd = (number, at) == (odd_row, odd_column);
                values.push(draw.of(if odd { &CONSTANTS } else { &fitting[*column] }).to_owned());
            }
            if draw.below(60) == 0 {
                values.push("1".to_owned());
            }
            format!("({})", values.join(", "))
        };
        let rows: Vec<String> = (0..rows).map(&mut row).collect();
        let names: String = chosen.iter().map(|column| format!(", {}", column_name(COLUMNS[*column]))).collect();
        agree(&conn, &format!("INSERT INTO k (id{names}) VALUES {}", rows.join(", ")), "k");
    }
}

/// Defaults that are computed, identities, what a table asks of its rows, RETURNING and ON CONFLICT.
#[test]
fn what_a_table_does_with_constant_rows_is_what_it_does_with_others() {
    let schema = "CREATE SEQUENCE seq;
        CREATE TABLE p (id int PRIMARY KEY);
        INSERT INTO p VALUES (1), (2);
        CREATE TABLE q (
            id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            a bigint DEFAULT nextval('seq'), b bigint DEFAULT nextval('seq'),
            c varchar(3) NOT NULL DEFAULT 'abc', d char(2) DEFAULT 'x', p int REFERENCES p, n int UNIQUE CHECK (n <> 5));
        CREATE TABLE z (id int GENERATED ALWAYS AS IDENTITY, a int)";
    let rows = |conn: &Connection, sql: &str| match conn.query(sql, ()) {
        Ok(mut rows) => {
            let mut all = Vec::new();
            let width = rows.columns().len();
            while let Some(row) = rows.next().unwrap() {
                all.push((0..width).map(|at| row.get::<Value>(at).unwrap()).collect::<Vec<_>>());
            }
            format!("{all:?}")
        }
        Err(error) => format!("{:?} {} {:?} {:?}", error.sqlstate(), error, error.position(), error.detail()),
    };
    let many = |id: &dyn Fn(i32) -> &'static str, end: &str| {
        let rows: Vec<String> = (10..22).map(|n| format!("({}, {n}, 'abc')", id(n))).collect();
        format!("INSERT INTO q (id, n, c) VALUES {}{end} RETURNING *", rows.join(", "))
    };
    let many = [
        many(&|_| "DEFAULT", ""),
        many(&|n| if n == 13 { "99" } else { "DEFAULT" }, ""),
        many(&|n| if n == 13 { "DEFAULT" } else { "1" }, ""),
        many(&|_| "DEFAULT", ", (DEFAULT, 1, 'abcd')"),
        many(&|_| "DEFAULT", ", (DEFAULT, 15, 'abc')"),
        many(&|_| "DEFAULT", ", (DEFAULT, 1, NULL)"),
        many(&|_| "DEFAULT", ", (DEFAULT, 1, 'a    ')"),
    ];
    let few = [
        "INSERT INTO q (n) VALUES (1), (2), (3) RETURNING *",
        "INSERT INTO q (n, c) VALUES (1, 'ab'), (2, 'abcd') RETURNING *",
        "INSERT INTO q (n, c) VALUES (1, 'ab   '), (2, NULL) RETURNING *",
        "INSERT INTO q (n, d) VALUES (1, 'a'), (2, 'abc') RETURNING *",
        "INSERT INTO q (id, n) VALUES (7, 1), (DEFAULT, 2) RETURNING *",
        "INSERT INTO q (id, n) VALUES (DEFAULT, 1), (DEFAULT, 2) RETURNING *",
        "INSERT INTO q (id, n) VALUES (DEFAULT, 1), (8, 2) RETURNING *",
        "INSERT INTO q (b, n) VALUES (DEFAULT, 1), (DEFAULT, 2) RETURNING *",
        "INSERT INTO q (id, n) OVERRIDING USER VALUE VALUES (70, 1), (71, 2) RETURNING *",
        "INSERT INTO q (n, p) VALUES (1, 1), (2, 3) RETURNING *",
        "INSERT INTO q (n) VALUES (1), (5) RETURNING *",
        "INSERT INTO q (n) VALUES (1), (1) RETURNING *",
        "INSERT INTO q (n) VALUES (1), (1), (2) ON CONFLICT DO NOTHING RETURNING *",
        "INSERT INTO q (n, c) VALUES (1, 'a'), (2, 'b') ON CONFLICT (n) DO UPDATE SET c = excluded.c RETURNING *",
        "INSERT INTO q (n, c) VALUES (1, 'a'), (1, 'b') ON CONFLICT (n) DO UPDATE SET c = excluded.c RETURNING *",
        "INSERT INTO q (n, n) VALUES (1, 'a')",
        "INSERT INTO q (n, c) VALUES (1)",
        "INSERT INTO q (n) VALUES (1, 2)",
        "INSERT INTO q (n) VALUES (1), (2, 3)",
        "INSERT INTO z VALUES (1, 2) RETURNING *",
        "INSERT INTO z OVERRIDING SYSTEM VALUE VALUES (1, 2) RETURNING *",
        "INSERT INTO z OVERRIDING USER VALUE VALUES (1, 2), (1, 3) RETURNING *",
        "INSERT INTO z VALUES (DEFAULT, 2), (DEFAULT, 3) RETURNING *",
        "INSERT INTO z VALUES (DEFAULT, 2), (4, 3) RETURNING *",
    ];
    for insert in few.into_iter().chain(many.iter().map(String::as_str)) {
        let told = |prefix: &str| {
            let conn = Database::open_in_memory().unwrap().connect().unwrap();
            conn.execute_script(schema).unwrap();
            let told = rows(&conn, &format!("{prefix}{insert}"));
            (told, rows(&conn, "SELECT * FROM q"), rows(&conn, "SELECT * FROM z"), rows(&conn, "SELECT nextval('seq')"))
        };
        assert_eq!(told(BLANKS), told(WITH), "{insert}");
    }
}

#[test]
fn batches_of_constant_rows_keep_their_order_and_their_defaults() {
    let schema =
        "CREATE SEQUENCE seq; CREATE TABLE t (a int, s text, n bigint DEFAULT nextval('seq'), k int DEFAULT 3)";
    let rows: Vec<String> = (0..3000).map(|n| format!("({n}, 'ř{n}')")).collect();
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    conn.execute_script(schema).unwrap();
    assert_eq!(conn.execute(&format!("INSERT INTO t (a, s) VALUES {}", rows.join(",")), ()).unwrap(), 3000);
    let wrong = "SELECT count(*) FROM t WHERE n <> a + 1 OR s <> 'ř' || a OR k <> 3";
    assert_eq!(typed_rows(&conn, wrong), [[Value::BigInt(0)]]);
    let late = rows.join(",") + ", (1, 2, 3)";
    assert_eq!(conn.execute(&format!("INSERT INTO t (a, s) VALUES {late}"), ()).unwrap_err().sqlstate().0, "42601");
    let late = rows.join(",") + ", ('x', '')";
    let error = conn.execute(&format!("INSERT INTO t (a, s) VALUES {late}"), ()).unwrap_err();
    assert_eq!(error.sqlstate().0, "22P02");
    let text = format!("INSERT INTO t (a, s) VALUES {late}");
    assert_eq!(text.chars().nth(error.position().unwrap() - 1), Some('\''));
    let late = rows.join(",") + ", (length('four'), 'x')";
    assert_eq!(conn.execute(&format!("INSERT INTO t (a, s) VALUES {late}"), ()).unwrap(), 3001);
}

//! Helpers of the behaviour tests.

use cairndb::{Connection, Database, Error, Position, Value};

/// A connection to a database in memory that a script has prepared.
pub fn connect(script: &str) -> Connection {
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    conn.execute_script(script).unwrap();
    conn
}

/// A database in memory that a script has prepared, and a connection to it.
pub fn opened(script: &str) -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(script).unwrap();
    (database, conn)
}

/// As [`connect`]; its statements all take the general path.
pub fn connect_general(script: &str) -> Connection {
    let conn = connect(script);
    conn.execute("SET enable_point_statements = off", ()).unwrap();
    conn
}

/// Everything in a table, in an order that does not depend on how it was written.
pub fn dump(conn: &Connection, table: &str) -> Vec<Vec<Value>> {
    typed_rows(conn, &format!("SELECT * FROM {table} ORDER BY 1, 2"))
}

/// The rows of a query, each as its values' text joined by `|`; NULL is `NULL`.
pub fn rows(conn: &Connection, sql: &str) -> Vec<String> {
    let context = cairndb::EvalContext::now();
    let text = |value: &Value| match value {
        Value::Null => "NULL".to_string(),
        value => cairndb::to_text(value, &context),
    };
    let row = |row: cairndb::Row<'_>| Ok(row.values().iter().map(text).collect::<Vec<_>>().join("|"));
    let rows = conn.query_map(sql, (), row).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.collect::<cairndb::Result<_>>().unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// The rows of a query, as values.
pub fn typed_rows(conn: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let rows = conn.query_map(sql, (), |row| Ok(row.values().to_vec())).unwrap();
    rows.collect::<cairndb::Result<_>>().unwrap()
}

/// The error of a statement that must fail with this SQLSTATE.
pub fn fails(conn: &Connection, sql: &str, sqlstate: &str) -> Error {
    match conn.execute(sql, ()) {
        Ok(affected) => panic!("{sql}: must fail with {sqlstate}, but affected {affected}"),
        Err(error) => {
            assert_eq!(error.sqlstate().0, sqlstate, "{sql}: {error:?}");
            error
        }
    }
}

/// A generator of numbers that look random: the same ones for a seed each time.
pub struct Random(pub u64);

impl Random {
    /// From 0 to less than `limit`, which is positive.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&mut self, limit: N) -> N {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let limit = limit.try_into().ok().filter(|limit| *limit > 0).expect("a positive limit");
        N::try_from((self.0 >> 33) % limit).ok().expect("what is less than the limit fits its type")
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The same opening's position, so many bytes of log later.
pub fn beyond(position: Position, bytes: u64) -> Position {
    let text = position.to_string();
    let (opening, place) = text.rsplit_once('-').unwrap();
    let place = u64::from_str_radix(place, 16).unwrap() + bytes;
    format!("{opening}-{place:x}").parse().unwrap()
}

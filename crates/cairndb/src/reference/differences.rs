//! What is not there of PostgreSQL's SQL, and what is there but otherwise; each with an example that tests run.

use crate::error::Feature;

/// Something that PostgreSQL has and CairnDB refuses.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let roles = cairndb::reference::UNSUPPORTED.iter().find(|found| found.what == "Roles").expect("there are none");
/// let refused = conn.execute(roles.example, ()).unwrap_err();
/// assert_eq!(refused.sqlstate().as_str(), roles.state);
/// println!("instead: {}", roles.instead);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unsupported {
    /// What.
    pub what: &'static str,
    /// A statement that is refused, behind `CREATE TABLE t (a integer PRIMARY KEY, b text)`.
    pub example: &'static str,
    /// The SQLSTATE.
    pub state: &'static str,
    /// What to do instead, or why it is not there.
    pub instead: &'static str,
}

/// Something that both have and that means another thing here.
///
/// ```
/// for difference in cairndb::reference::DIFFERENCES {
///     println!("{}: {} ({:?} here, {:?} in PostgreSQL)", difference.what, difference.why, difference.here, difference.postgresql);
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// What.
    pub what: &'static str,
    /// A query of one value, or a statement.
    pub example: &'static str,
    /// What it gives here.
    pub here: Answer,
    /// What it gives in PostgreSQL 15.
    pub postgresql: Answer,
    /// The reason.
    pub why: &'static str,
}

/// What an example gives.
///
/// ```
/// use cairndb::reference::{Answer, DIFFERENCES};
///
/// assert!(DIFFERENCES.iter().any(|difference| matches!(difference.postgresql, Answer::Error("42601"))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It runs, and the first row's first value is this text.
    Value(&'static str),
    /// It runs.
    Done,
    /// It fails with this SQLSTATE.
    Error(&'static str),
}

const fn not(what: &'static str, example: &'static str, state: &'static str, instead: &'static str) -> Unsupported {
    Unsupported { what, example, state, instead }
}

const fn lacks(feature: Feature, example: &'static str) -> Unsupported {
    not(feature.name(), example, NOT_THERE, feature.instead())
}

const NOT_THERE: &str = "0A000";
const NO_FUNCTION: &str = "42883";

/// What is refused.
pub static UNSUPPORTED: &[Unsupported] = &[
    lacks(Feature::Databases, "CREATE DATABASE other"),
    lacks(Feature::Tablespaces, "CREATE TABLESPACE s LOCATION '/tmp/s'"),
    lacks(Feature::Roles, "CREATE ROLE somebody"),
    lacks(Feature::RowSecurity, "CREATE POLICY p ON t"),
    not(
        "pg_notify() in a view, a constraint or a default",
        "CREATE VIEW v AS SELECT pg_notify('news', 'x')",
        NOT_THERE,
        "call it in a statement, or in a trigger's function",
    ),
    lacks(Feature::Partitions, "CREATE TABLE p (a integer) PARTITION BY RANGE (a)"),
    lacks(Feature::Inheritance, "CREATE TABLE child () INHERITS (t)"),
    lacks(Feature::Rules, "CREATE RULE r AS ON INSERT TO t DO NOTHING"),
    not("Event triggers", "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()", NOT_THERE, "not planned"),
    lacks(Feature::ForeignData, "CREATE FOREIGN DATA WRAPPER w"),
    lacks(Feature::Languages, "CREATE FUNCTION f() RETURNS integer LANGUAGE c AS 'f'"),
    lacks(Feature::Aggregates, "CREATE AGGREGATE a (ORDER BY integer) (SFUNC = int4pl, STYPE = integer)"),
    lacks(Feature::Operators, "CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq)"),
    lacks(Feature::Collations, "CREATE COLLATION german (locale = 'de_DE')"),
    lacks(Feature::Ranges, "CREATE TYPE r AS RANGE (subtype = integer)"),
    lacks(Feature::Exclusions, "CREATE TABLE e (a integer, EXCLUDE USING gist (a WITH =))"),
    lacks(
        Feature::RowsInDefinitions,
        "CREATE FUNCTION f(r t) RETURNS integer LANGUAGE sql AS 'SELECT 1'; CREATE VIEW w AS SELECT f(t) FROM t",
    ),
    lacks(Feature::ArraysOfDomains, "CREATE DOMAIN d AS integer; CREATE TABLE a (d d[])"),
    lacks(
        Feature::DomainOverloads,
        "CREATE DOMAIN d AS integer; CREATE FUNCTION f(d) RETURNS integer LANGUAGE sql AS 'SELECT 1'; \
         CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql AS 'SELECT 2'",
    ),
    lacks(
        Feature::HeldCursors,
        "CREATE FUNCTION w() RETURNS integer LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (1); RETURN 1; END'; \
         DECLARE c CURSOR WITH HOLD FOR SELECT w()",
    ),
    lacks(
        Feature::DomainsOfRows,
        "CREATE TYPE c AS (a integer); CREATE DOMAIN d AS c; \
         CREATE FUNCTION f(d) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ),
    lacks(Feature::Money, "SELECT '1'::money"),
    lacks(Feature::Xml, "SELECT '<a/>'::xml"),
    lacks(Feature::BitStrings, "SELECT B'101'"),
    lacks(Feature::OtherCharacters, "SELECT 'é'::\"char\""),
    not("Geometry", "SELECT point(1, 2)", NO_FUNCTION, "use two columns"),
    not("Text search", "SELECT to_tsvector('a')", NO_FUNCTION, "use LIKE, or regular expressions"),
    not("Large objects", "SELECT lo_create(0)", NO_FUNCTION, "use bytea"),
    lacks(Feature::TableLocks, "LOCK TABLE t"),
    not(
        "SKIP LOCKED",
        "SELECT * FROM t FOR UPDATE SKIP LOCKED",
        NOT_THERE,
        "take a job by UPDATE ... RETURNING: who loses to another is run again",
    ),
    not(
        "NOWAIT",
        "SELECT * FROM t FOR UPDATE NOWAIT",
        NOT_THERE,
        "leave it out: nobody waits for a row, and who loses to another is run again",
    ),
    not("Two-phase commit", "PREPARE TRANSACTION 'x'", NOT_THERE, "not planned"),
    lacks(Feature::SharedSnapshots, "SET TRANSACTION SNAPSHOT 'x'"),
    not("Programs", "COPY t FROM PROGRAM 'ls'", "42501", "the host program gives the data: COPY FROM STDIN"),
    lacks(Feature::ConfigurationFiles, "ALTER SYSTEM SET work_mem = '1MB'"),
    not(
        "Backslashes as escapes in '...'",
        "SET standard_conforming_strings = off",
        NOT_THERE,
        "write E'...' where a backslash is to be one",
    ),
    not(
        "Other encodings of clients",
        "SET client_encoding = 'LATIN1'",
        NOT_THERE,
        "texts are UTF-8; convert_to() and convert_from() convert bytes",
    ),
    lacks(Feature::Cluster, "CLUSTER t USING t_pkey"),
];

/// What is otherwise.
pub static DIFFERENCES: &[Difference] = &[
    Difference {
        what: "Isolation",
        example: "BEGIN ISOLATION LEVEL READ COMMITTED; SHOW transaction_isolation",
        here: Answer::Value("serializable"),
        postgresql: Answer::Value("read committed"),
        why: "every transaction is serializable, whatever level it asks for: readers never wait, and a writer that loses \
              to another fails with 40001 (statements on their own run again by themselves)",
    },
    Difference {
        what: "Indexes' methods",
        example: "CREATE INDEX ON t USING hash (b)",
        here: Answer::Done,
        postgresql: Answer::Done,
        why: "hash and brin become btree, which a NOTICE says: what they answer a btree answers too",
    },
    Difference {
        what: "OLD and NEW in RETURNING",
        example: "INSERT INTO t VALUES (1, 'x') RETURNING new.b",
        here: Answer::Value("x"),
        postgresql: Answer::Error("42P01"),
        why: "as in PostgreSQL 18",
    },
    Difference {
        what: "VIRTUAL columns, and SET EXPRESSION",
        example: "CREATE TABLE g (a integer, b integer GENERATED ALWAYS AS (a * 2) VIRTUAL)",
        here: Answer::Done,
        postgresql: Answer::Error("42601"),
        why: "as in PostgreSQL 18: computed where they are read, so that they have no index (an index of the expression helps), no \
              key and no domain, and use no function of the schema; they are VIRTUAL where nothing is said. AFTER triggers see what they are computed to, as of STORED ones",
    },
    Difference {
        what: "Keys that change WHERE CURRENT OF a cursor",
        example: "INSERT INTO t VALUES (1, 'x'); BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH c; \
                  UPDATE t SET a = 2 WHERE CURRENT OF c",
        here: Answer::Error("0A000"),
        postgresql: Answer::Done,
        why: "a cursor tells the row that it is on by its primary key; its query may be ordered and limited besides",
    },
    Difference {
        what: "Tables that cursors read",
        example: "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; ALTER TABLE t ADD COLUMN c integer",
        here: Answer::Done,
        postgresql: Answer::Error("55006"),
        why: "a cursor reads what there was when it was declared, whatever becomes of its tables. One that goes back gives the \
              rows that it gave: functions that it calls, which may change rows, do not run again for them",
    },
    Difference {
        what: "RETURNING of MERGE",
        example: "MERGE INTO t USING (VALUES (1)) s (a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a, 'x') \
                  RETURNING merge_action()",
        here: Answer::Value("INSERT"),
        postgresql: Answer::Error("42601"),
        why: "as in PostgreSQL 17",
    },
    Difference {
        what: "Disabled triggers and foreign keys",
        example: "CREATE TABLE child (a integer REFERENCES t); ALTER TABLE child DISABLE TRIGGER ALL; \
                  INSERT INTO child VALUES (1)",
        here: Answer::Error("23503"),
        postgresql: Answer::Done,
        why: "foreign keys are no triggers here: they are always checked",
    },
    Difference {
        what: "Keys that move over each other",
        example: "CREATE TABLE moved (a integer UNIQUE); INSERT INTO moved VALUES (1), (2); UPDATE moved SET a = a + 1",
        here: Answer::Done,
        postgresql: Answer::Error("23505"),
        why: "one UPDATE takes all old keys out before the first new one comes in, as standard SQL has it; PostgreSQL refuses or \
              not by the order in which it meets the rows, unless the constraint is DEFERRABLE",
    },
    Difference {
        what: "Rows' places",
        example: "SELECT ctid FROM t",
        here: Answer::Error("0A000"),
        postgresql: Answer::Done,
        why: "a row lies where its key says; use the primary key (xmax = 0 in the RETURNING of an INSERT is understood: whether the row is new)",
    },
    Difference {
        what: "Oids in JSON",
        example: "SELECT to_json(1::oid)",
        here: Answer::Value("1"),
        postgresql: Answer::Value("\"1\""),
        why: "they are numbers; JSON's numbers hold them",
    },
    Difference {
        what: "Times without a zone in prepared statements",
        example: "SET timezone = 'UTC'; PREPARE p AS SELECT (timestamptz '2024-07-01 12:00')::text; SET timezone = 'Asia/Tokyo'; EXECUTE p",
        here: Answer::Value("2024-07-01 12:00:00+09"),
        postgresql: Answer::Value("2024-07-01 21:00:00+09"),
        why: "constants that depend on the session are read when the statement runs; those of definitions (defaults, checks, views, indexes) when they are made, as in PostgreSQL",
    },
    Difference {
        what: "Versions",
        example: "SELECT version() LIKE 'CairnDB%'",
        here: Answer::Value("t"),
        postgresql: Answer::Value("f"),
        why: "server_version is 15.0, so that clients know what to expect",
    },
];

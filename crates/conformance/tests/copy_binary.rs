//! COPY in binary: the bytes are PostgreSQL's own for every type, either reads what the other wrote, and both refuse the same
//! spoiled bytes.

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer, Session};

/// A type, and values of it.
const VALUES: &[(&str, &str)] = &[
    ("boolean", "true, false"),
    ("smallint", "0, -32768, 32767"),
    ("integer", "0, -2147483648, 2147483647"),
    ("bigint", "0, -9223372036854775808, 9223372036854775807"),
    ("real", "0, -0.0, 1.5, 'NaN', 'Infinity', 3.4028235e38"),
    ("double precision", "0, -1.5, 'NaN', '-Infinity', 1e-300"),
    (
        "numeric",
        "0, 0.00, 1, -1, 10000, 12345.678, -0.0001, 0.00010, 1e20, 1e-20, 99999999999999999999999.99999999, 'NaN', \
         'Infinity', '-Infinity', 100000000, 1e131000, 1e-16000",
    ),
    ("numeric(10,2)", "0, 1.5, -99999999.99, 12345678.9, 'NaN'"),
    ("numeric(5,-2)", "0, 12300, -9999900"),
    ("text", "'', 'a', 'äöü €', E'a\\nb\\\\c'"),
    ("varchar(5)", "'', 'abcde'"),
    ("char(5)", "'', 'ab'"),
    ("bytea", "'', '\\x00ff'"),
    ("date", "'2000-01-01', '1999-12-31', 'infinity', '-infinity', '0044-03-15 BC'"),
    ("time", "'00:00', '24:00', '12:34:56.789'"),
    ("time(1)", "'12:34:56.789'"),
    ("timetz", "'00:00+00', '24:00-15:59:59', '12:34:56.789+05:30'"),
    ("timetz(1)", "'12:34:56.789-03'"),
    ("timestamp", "'2000-01-01', '1969-07-20 20:17:40.5', 'infinity', '-infinity'"),
    ("timestamptz", "'2000-01-01 00:00+00', '2024-02-29 12:00+02', 'infinity'"),
    ("timestamp(0)", "'2000-01-01 00:00:00.6'"),
    ("interval", "'0', '1 year -2 days 03:04:05.6', '-178000000 years'"),
    ("uuid", "'00112233-4455-6677-8899-aabbccddeeff'"),
    ("json", "'{\"a\" : [1, null]}', '1'"),
    ("jsonb", "'{\"b\": 1, \"a\": [true, \"x\"]}', '\"s\"', 'null'"),
    ("jsonpath", "'$.a[*] ? (@ > 1)'"),
    ("integer[]", "'{}', '{1,NULL,3}', '{{1,2},{3,4}}', '[0:1]={5,6}'"),
    ("text[]", "'{a,\"b c\",NULL}'"),
    ("numeric(6,2)[]", "'{1.5,2}'"),
    ("date[]", "'{2000-01-01,infinity}'"),
    ("mood", "'sad', 'happy'"),
    ("inet", "'10.1.2.3', '10.1.2.3/8', '0.0.0.0/0', '::1/10', '2001:db8::1'"),
    ("cidr", "'10.0.0.0/8', '0.0.0.0/0', '10.1.2.3', '2001:db8::/32', '::1'"),
    ("macaddr", "'08:00:2b:01:02:03', 'ff:ff:ff:ff:ff:ff'"),
    ("macaddr8", "'08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05'"),
    ("inet[]", "'{10.1.2.3,NULL,::1/8}'"),
    ("hstore", "'', 'a=>1', 'bb=>NULL', '\"\"=>\"\"', 'ä=>日'"),
    // (An array has its element's OID, which of a type that was made is another in each database.)
    ("pair", "'(1,x)', '(,)', '(2,\"a b\")'"),
];

const TYPES: &[&str] = &[
    "CREATE EXTENSION hstore",
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE TYPE pair AS (a integer, b text)",
];

fn with_types<'e>(engine: &'e dyn Engine) -> Box<dyn Session + 'e> {
    let mut session = engine.session().expect("a session");
    for statement in TYPES {
        session.run(statement).expect(statement);
    }
    session
}

/// A table of one value a row, and NULL.
fn fill(session: &mut dyn Session, data_type: &str, values: &str) {
    session.run("DROP TABLE IF EXISTS t").expect("no table");
    session.run(&format!("CREATE TABLE t (v {data_type})")).expect(data_type);
    let mut rows = String::new();
    let (mut depth, mut quoted) = (0, false);
    for c in values.chars() {
        quoted ^= c == '\'';
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == ',' && !quoted && depth == 0 { rows.push_str("), (") } else { rows.push(c) }
    }
    // PostgreSQL would make text of what stands in VALUES of its own.
    session.run(&format!("INSERT INTO t VALUES ({rows}), (NULL)")).expect(values);
}

const OUT: &str = "COPY t TO STDOUT (FORMAT binary)";
const IN: &str = "COPY t FROM STDIN (FORMAT binary)";

#[test]
fn the_bytes_are_those_of_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (theirs, ours) = (PostgresEngine::create(&server).expect("a database"), CairnEngine::create().expect("ours"));
    let (mut theirs, mut ours) = (with_types(&theirs), with_types(&ours));
    for (data_type, values) in VALUES {
        fill(&mut *theirs, data_type, values);
        fill(&mut *ours, data_type, values);
        let expected = theirs.copy_out(OUT).expect(data_type);
        assert_eq!(ours.copy_out(OUT).expect(data_type), expected, "{data_type}");
        for session in [&mut theirs, &mut ours] {
            session.run("DELETE FROM t").expect("no rows");
            session.copy_in(IN, &expected).unwrap_or_else(|error| panic!("{data_type}: {error:?}"));
            assert_eq!(session.copy_out(OUT).expect(data_type), expected, "{data_type} again");
        }
    }
}

/// What each says of a file: an SQLSTATE, or the table that it made.
fn outcome(session: &mut dyn Session, file: &[u8]) -> Result<Vec<u8>, String> {
    session.run("DELETE FROM t").expect("no rows");
    session.copy_in(IN, file).map_err(|failure| failure.sqlstate)?;
    Ok(session.copy_out(OUT).expect("what is there"))
}

#[test]
fn spoiled_bytes_are_refused_alike() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (theirs, ours) = (PostgresEngine::create(&server).expect("a database"), CairnEngine::create().expect("ours"));
    let (mut theirs, mut ours) = (with_types(&theirs), with_types(&ours));
    let mut judged = 0;
    for (data_type, values) in VALUES {
        let values = values.split(", ").next().unwrap_or_default();
        fill(&mut *theirs, data_type, if matches!(*data_type, "json" | "jsonb") { "'{\"a\":1}'" } else { values });
        let file = theirs.copy_out(OUT).expect(data_type);
        fill(&mut *ours, data_type, "NULL");
        let cut = (0..file.len()).map(|end| file[..end].to_vec());
        let spoiled = (0..file.len()).flat_map(|at| {
            [1_u8, 0x80].map(|bits| {
                let mut spoiled = file.clone();
                spoiled[at] ^= bits;
                spoiled
            })
        });
        for file in cut.chain(spoiled) {
            let (expected, found) = (outcome(&mut *theirs, &file), outcome(&mut *ours, &file));
            judged += 1;
            // A length of a gigabyte is refused there before it is missed.
            let too_long = matches!(&expected, Err(state) if state == "54000" || state == "53200" || state == "XX000");
            let alike = expected == found || too_long && found.is_err();
            assert!(alike, "{data_type}: {file:?}\n  there {expected:?}\n  here  {found:?}");
        }
    }
    println!("{judged} files judged");
}

#[test]
fn options_that_binary_has_not_are_refused_alike() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (theirs, ours) = (PostgresEngine::create(&server).expect("a database"), CairnEngine::create().expect("ours"));
    let (mut theirs, mut ours) = (with_types(&theirs), with_types(&ours));
    for session in [&mut theirs, &mut ours] {
        fill(&mut **session, "integer", "1");
    }
    for options in [
        "(FORMAT binary, DELIMITER ',')",
        "(FORMAT binary, NULL 'x')",
        "(FORMAT binary, HEADER)",
        "(FORMAT binary, HEADER false)",
        "(FORMAT binary, QUOTE '\"')",
        "(FORMAT binary, FORCE_QUOTE *)",
        "(FORMAT binary, FORMAT csv)",
        "BINARY",
        "BINARY CSV",
    ] {
        let sql = format!("COPY t TO STDOUT {options}");
        let (expected, found) = (theirs.copy_out(&sql), ours.copy_out(&sql));
        let told = |outcome: Result<Vec<u8>, _>| {
            outcome.map_err(|failure: cairn_conformance::engine::Failure| (failure.sqlstate, failure.message))
        };
        assert_eq!(told(found), told(expected), "{options}");
    }
    let old = "COPY BINARY t TO STDOUT";
    assert_eq!(ours.copy_out(old).ok(), theirs.copy_out(old).ok());
}

//! The 22 TPC-H queries, as written, answer as in PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer, Session};
use cairn_conformance::tpch::insert_statements;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/tpch")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn load(session: &mut dyn Session) {
    for sql in read("schema.sql").split(';').map(str::trim).filter(|sql| !sql.is_empty()) {
        session.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in insert_statements(1) {
        session.run(&sql).unwrap_or_else(|error| panic!("{error}"));
    }
    session.run("ANALYZE").unwrap();
}

#[test]
fn the_queries_answer_as_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (reference, ours) = (PostgresEngine::create_with_types(&server).unwrap(), CairnEngine::create().unwrap());
    let (mut reference, mut ours) = (reference.session().unwrap(), ours.session().unwrap());
    load(reference.as_mut());
    load(ours.as_mut());
    let mut problems = Vec::new();
    let queries = read("queries.sql");
    // Comments may hold semicolons.
    let queries: String =
        queries.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    let queries: Vec<&str> = queries.split(';').map(str::trim).filter(|sql| !sql.is_empty()).collect();
    assert_eq!(queries.len(), 22);
    for (number, sql) in (1..).zip(queries) {
        problems.extend(compare(number, sql, reference.as_mut(), ours.as_mut()));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn compare(number: usize, sql: &str, reference: &mut dyn Session, ours: &mut dyn Session) -> Option<String> {
    let mut wanted = reference.run(sql).unwrap_or_else(|error| panic!("query {number}: {error}"));
    assert!(!wanted.rows.is_empty(), "query {number} finds nothing: the data set does not test it");
    let mut found = match ours.run(sql) {
        Ok(found) => found,
        Err(error) => return Some(format!("query {number}: {error}")),
    };
    // The queries order by some of their columns; ties may come in any order.
    wanted.rows.sort();
    found.rows.sort();
    (wanted.columns != found.columns || wanted.rows != found.rows)
        .then(|| format!("query {number}: expected\n{:?}\nfound\n{:?}", wanted, found))
}

//! What `docs/sql.md` says of PostgreSQL is what a server answers, where one is installed.

use cairn_conformance::engine::{Engine, PostgresEngine, PostgresServer};
use cairndb::reference::{Answer, DIFFERENCES};
use cairndb::split_script;

#[test]
fn postgresql_answers_as_the_page_says() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    for difference in DIFFERENCES {
        let engine = PostgresEngine::create(&server).expect("a database");
        let mut session = engine.session().expect("a session");
        session.run("CREATE TABLE t (a integer PRIMARY KEY, b text)").expect("the table of the examples");
        let mut last = Ok(None);
        for statement in split_script(difference.example) {
            last = match session.run(statement.text) {
                Ok(answer) => Ok(answer.rows.first().and_then(|row| row.first().cloned().flatten())),
                Err(failure) => Err(failure.sqlstate),
            };
        }
        let as_said = match (difference.postgresql, &last) {
            (Answer::Value(expected), Ok(found)) => found.as_deref() == Some(expected),
            (Answer::Done, Ok(_)) => true,
            (Answer::Error(state), Err(found)) => found == state,
            _ => false,
        };
        assert!(as_said, "{difference:?}: {last:?}");
    }
}

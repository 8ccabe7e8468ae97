//! Schemas as others' tools write them: the corpus of `migrations`, and what `pg_dump` makes of a schema, run here and in
//! PostgreSQL; `information_schema` must say the same of both afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer, Session, program};
use cairndb::split_script;

/// What is asked of both, in an order of its own.
const PICTURE: &[&str] = &[
    "SELECT table_schema, table_name, table_type FROM information_schema.tables
     WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2",
    "SELECT table_schema, table_name, column_name,
         row_number() OVER (PARTITION BY table_schema, table_name ORDER BY ordinal_position), is_nullable, data_type, udt_name,
         character_maximum_length, numeric_precision, numeric_scale, datetime_precision, column_default IS NULL,
         is_identity, identity_generation, is_generated, domain_schema, domain_name
     FROM information_schema.columns
     WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2, 4",
    "SELECT table_schema, table_name, constraint_name, constraint_type, is_deferrable, initially_deferred
     FROM information_schema.table_constraints
     WHERE table_schema NOT IN ('information_schema', 'pg_catalog') AND constraint_name NOT LIKE '%_not_null'
     ORDER BY 1, 2, 3",
    "SELECT table_schema, table_name, constraint_name, column_name, ordinal_position
     FROM information_schema.key_column_usage
     WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2, 3, 5",
    "SELECT constraint_schema, constraint_name, unique_constraint_name, match_option, update_rule, delete_rule
     FROM information_schema.referential_constraints ORDER BY 1, 2",
    "SELECT sequence_schema, sequence_name, start_value, minimum_value, maximum_value, increment, cycle_option
     FROM information_schema.sequences ORDER BY 1, 2",
    "SELECT c.relname, i.relname, x.indisunique, x.indisprimary, x.indnatts
     FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
         JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY 1, 2",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")
}

/// Each script of the folder, in order.
fn scripts() -> Vec<PathBuf> {
    let mut scripts: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    scripts.sort();
    scripts
}

/// Runs a script's statements one by one, as the tools do; what failed.
fn run_script(session: &mut dyn Session, script: &str, what: &str) -> Vec<String> {
    let run = |text: &str| session.run(text).err().map(|failure| format!("{what}: {failure}\n    {text}"));
    let mut run = run;
    split_script(script).filter_map(|statement| run(statement.text)).collect()
}

fn rows(session: &mut dyn Session, query: &str) -> Vec<String> {
    let answer = session.run(query).unwrap_or_else(|failure| panic!("{failure}\n{query}"));
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
    };
    answer.rows.iter().map(row).collect()
}

/// Lines of the one and not of the other, both ways.
fn differences(ours: &[String], theirs: &[String]) -> Vec<String> {
    let missing = theirs.iter().filter(|line| !ours.contains(line)).map(|line| format!("- {line}"));
    let more = ours.iter().filter(|line| !theirs.contains(line)).map(|line| format!("+ {line}"));
    missing.chain(more).collect()
}

fn compare(cairn: &mut dyn Session, postgres: &mut dyn Session, what: &str) -> (usize, Vec<String>) {
    let (mut told, mut wrong) = (0, Vec::new());
    for query in PICTURE {
        let (ours, theirs) = (rows(cairn, query), rows(postgres, query));
        told += theirs.len();
        wrong.extend(differences(&ours, &theirs).into_iter().map(|line| format!("{what}: {line}")));
    }
    (told, wrong)
}

#[test]
fn migrations_of_usual_tools_run_and_leave_what_they_leave_in_postgresql() {
    let server = PostgresServer::start_for_test();
    let (mut wrong, mut told) = (Vec::new(), 0);
    for path in scripts() {
        let what = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let script = std::fs::read_to_string(&path).expect("a script");
        let cairn = CairnEngine::create().expect("a database");
        let mut cairn = cairn.session().expect("a session");
        wrong.extend(run_script(&mut *cairn, &script, &what));
        let Some(server) = &server else { continue };
        let postgres = PostgresEngine::create(server).expect("a database");
        let mut postgres = postgres.session().expect("a session");
        wrong.extend(run_script(&mut *postgres, &script, &format!("{what} in PostgreSQL")));
        let (lines, differ) = compare(&mut *cairn, &mut *postgres, &what);
        told += lines;
        wrong.extend(differ);
    }
    println!("{} scripts, {told} lines of information_schema and pg_catalog compared", scripts().len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each script of the corpus as `pg_dump` writes what it made: the dump loads here, and leaves the same schema and rows.
#[test]
fn what_pg_dump_writes_loads_and_is_the_same() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let (mut wrong, mut told) = (Vec::new(), 0);
    for path in scripts() {
        let what = format!("a dump of {}", path.file_stem().expect("a name").to_string_lossy());
        let postgres = PostgresEngine::create(&server).expect("a database");
        let mut session = postgres.session().expect("a session");
        run_script(&mut *session, &std::fs::read_to_string(&path).expect("a script"), &what);
        let dump = dumped(&server, postgres.name());
        let cairn = CairnEngine::create().expect("a database");
        let mut loaded = cairn.session().expect("a session");
        if let Err(failure) = loaded.run(&dump) {
            wrong.push(format!("{what}: {failure}"));
            continue;
        }
        // The dump set it, for as long as it lasts.
        loaded.run("SET search_path = public").expect("set");
        let (lines, differ) = compare(&mut *loaded, &mut *session, &what);
        wrong.extend(differ);
        told += lines;
        let tables = "SELECT '\"' || table_schema || '\".\"' || replace(table_name, '\"', '\"\"') || '\"'
            FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1";
        for table in rows(&mut *session, tables) {
            let query = format!("SELECT * FROM {table} ORDER BY 1");
            let (ours, theirs) = (rows(&mut *loaded, &query), rows(&mut *session, &query));
            told += theirs.len();
            wrong.extend(differences(&ours, &theirs).into_iter().map(|line| format!("{what}: {table}: {line}")));
        }
    }
    println!("{told} lines of schemas and tables compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What pg_dump writes, without the lines that are for psql alone.
fn dumped(server: &PostgresServer, database: &str) -> String {
    let mut command = Command::new(program("pg_dump").expect("pg_dump beside the server"));
    command.arg("-h").arg(server.socket_folder()).args(["-U", "cairn", database]);
    let output = command.output().expect("pg_dump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let is_psqls = |line: &str| line.starts_with("\\restrict ") || line.starts_with("\\unrestrict ");
    text.lines().filter(|line| !is_psqls(line)).map(|line| format!("{line}\n")).collect()
}

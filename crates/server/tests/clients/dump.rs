//! PostgreSQL's pg_dump of a database that is served, and the way back.

use std::process::{Command, Output};

use cairn_conformance::engine::program;

use crate::Served;

/// Of everything that a dump says: types, domains, keys, constraints, sequences, indexes, views, functions, triggers, comments, rows.
const SCHEMA: &str = include_str!("dump.sql");

/// One of PostgreSQL's programs, run on the database; `None`: it is not installed, with `CAIRN_INSIST` a failure.
fn run(served: &Served, name: &str, arguments: &[&str]) -> Option<Output> {
    let Some(path) = program(name) else {
        assert!(std::env::var_os("CAIRN_INSIST").is_none(), "{name} is not installed");
        eprintln!("LEFT OUT: {name} is not installed");
        return None;
    };
    let mut command = Command::new(path);
    command.arg("-h").arg(served.folder.path()).args(["-U", "me"]).args(arguments).args(["-d", "shop"]);
    Some(command.output().unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// What it says on its output, where it is content.
fn said(name: &str, output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Without the mark that each dump has for itself.
fn dumped(served: &Served, arguments: &[&str]) -> Option<String> {
    let dump = said("pg_dump", run(served, "pg_dump", arguments)?);
    let lines = dump.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

#[test]
fn a_dump_of_pg_dump_makes_the_same_database() {
    let served = Served::new();
    served.database.connect().unwrap().execute_script(SCHEMA).unwrap();
    let Some(dump) = dumped(&served, &[]) else { return };
    for said in [
        "CREATE TYPE app.mood AS ENUM",
        "CREATE DOMAIN app.positive",
        "CREATE SEQUENCE app.numbers",
        "WITH (change_feed='on')",
        "ADD CONSTRAINT orders_customer_fkey FOREIGN KEY (customer)",
        "CREATE TRIGGER stamp",
        "COMMENT ON COLUMN app.customer.name IS 'its ''name'''",
        "COPY app.orders (id, customer, total, placed) FROM stdin;",
    ] {
        assert!(dump.contains(said), "{said} is not in\n{dump}");
    }
    let again = Served::new();
    let file = again.folder.path().join("dump.sql");
    std::fs::write(&file, &dump).unwrap();
    let file = file.to_str().expect("a path of letters");
    let load = run(&again, "psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file]).expect("psql beside pg_dump");
    said("psql", load);
    assert_eq!(dumped(&again, &[]).as_deref(), Some(&*dump));
    for table in ["app.customer", "app.orders", "app.counted", "app.watched", "app.notes"] {
        assert_eq!(again.rows(table), served.rows(table), "{table}");
    }
    let conn = again.database.connect().unwrap();
    assert_eq!(
        conn.query_row_as::<i32>("INSERT INTO app.customer (name) VALUES (' Cy ') RETURNING id", ()).unwrap(),
        3
    );
    assert!(conn.execute("INSERT INTO app.orders (customer, total) VALUES (77, 1)", ()).is_err());
    // What a dump does not say of a collection is that it is one.
    conn.execute("ALTER TABLE app.notes SET (collection = on)", ()).unwrap();
    let notes = conn.collection("app.notes").expect("a collection again");
    let put = notes.get("b").unwrap().expect("the document");
    assert_eq!((put.doc.to_string().as_str(), notes.id_type()), (r#"{"n": [2]}"#, "text"));
    let feeds = "SELECT count(*) FROM pg_class WHERE 'change_feed=on' = ANY (reloptions)";
    assert_eq!(conn.query_row_as::<i64>(feeds, ()).unwrap(), 2);
}

#[test]
fn an_archive_of_pg_dump_is_restored() {
    let served = Served::new();
    served.database.connect().unwrap().execute_script(SCHEMA).unwrap();
    let archive = served.folder.path().join("dump");
    let archive = archive.to_str().expect("a path of letters");
    if dumped(&served, &["-F", "c", "-f", archive]).is_none() {
        return;
    }
    let again = Served::new();
    let restored = run(&again, "pg_restore", &["--exit-on-error", archive]).expect("pg_restore beside pg_dump");
    said("pg_restore", restored);
    assert_eq!(dumped(&again, &["-s"]), dumped(&served, &["-s"]));
    assert_eq!(again.rows("app.orders"), served.rows("app.orders"));
}

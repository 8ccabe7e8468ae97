//! `cairn import postgres`, with dumps that PostgreSQL 15's `pg_dump` made of schemas in the manner of applications' (`tests/dumps`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cairn_conformance::engine::{PostgresServer, program};

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps")
}

fn cairn(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Imports a dump of `tests/dumps` into `a.cairn`; the exit code and what was told.
fn import(folder: &Path, dump: &str) -> (Option<i32>, String) {
    let dump = dumps().join(dump);
    let output = cairn(folder, &["import", "postgres", dump.to_str().unwrap(), "a.cairn"]);
    (output.status.code(), text(&output))
}

/// Imports a script.
fn import_text(folder: &Path, script: &str) -> (Option<i32>, String) {
    fs::write(folder.join("a.sql"), script).unwrap();
    let output = cairn(folder, &["import", "postgres", "a.sql", "a.cairn"]);
    (output.status.code(), text(&output))
}

fn query(folder: &Path, sql: &str) -> String {
    let output = cairn(folder, &["a.cairn", "--no-header", "--format", "csv", "-c", sql]);
    assert!(output.status.success(), "{sql}: {}", text(&output));
    text(&output)
}

/// Those of which nothing is left out.
const WHOLE: &[&str] = &["blog.sql", "tickets.sql"];

#[test]
fn what_dumps_of_applications_say_is_there() {
    for dump in WHOLE {
        let folder = tempfile::tempdir().unwrap();
        let (code, told) = import(folder.path(), dump);
        assert_eq!(code, Some(0), "{dump}: {told}");
        assert!(!told.contains("Left out"), "{dump}: {told}");
    }
}

#[test]
fn rows_views_and_triggers_are_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let (_, told) = import(folder.path(), "blog.sql");
    for line in [
        "public.author: 2 rows",
        "public.post: 2 rows",
        "Changed, and why:",
        "OWNER TO blog_reader: does nothing: there are no roles",
        "CREATE PUBLICATION: does nothing: nothing is replicated; tables have change feeds",
        "CREATE STATISTICS: does nothing",
        "SET work_mem as an option of a function: does nothing",
        "GRANT: does nothing: there are no roles",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let folder = folder.path();
    assert_eq!(query(folder, "SELECT name FROM author ORDER BY id"), "Ada\nBob\tB\\\n");
    assert_eq!(query(folder, "SELECT slug, name FROM published"), "first,Ada\n");
    assert_eq!(query(folder, "SELECT sum(posts) FROM posts_by_author"), "2\n");
    assert_eq!(
        query(
            folder,
            "INSERT INTO post (author_id, slug, state) VALUES (1, 'new', 'published') RETURNING id, published_at IS NOT NULL"
        ),
        "3,t\n"
    );
    assert_eq!(query(folder, "SELECT obj_description('post'::regclass)"), "What is read\n");
}

#[test]
fn extensions_are_where_the_dump_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let (_, told) = import(folder.path(), "tickets.sql");
    let folder = folder.path();
    assert!(told.contains("UNLOGGED: does nothing: a table is as durable as the others"), "{told}");
    assert_eq!(query(folder, "SELECT title, words, price FROM support.ticket"), "It's broken,11,9.99\n");
    let insert =
        "INSERT INTO support.customer (mail) VALUES ('x@y.z') RETURNING length(token), substr(id::text, 15, 1)";
    assert_eq!(query(folder, insert), "8,4\n");
    assert_eq!(query(folder, "SELECT support.now_ms() > 1700000000000"), "t\n");
    let dumped = text(&cairn(folder, &["dump", "a.cairn", "--schema-only"]));
    assert!(dumped.contains("CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\" WITH SCHEMA public;\n"), "{dumped}");
}

#[test]
fn causes_are_told_apart_from_what_followed_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told) = import(folder.path(), "missing.sql");
    assert_eq!(code, Some(4), "{told}");
    let left_out = told.split_once("Left out, and why:\n").unwrap().1;
    let below = |cause: &str| {
        let mut lines = left_out.lines().skip_while(|line| !line.trim_start().starts_with(cause));
        lines.next().unwrap_or_else(|| panic!("{cause}: {told}"));
        let followed = lines.find(|line| line.starts_with("    and with it: ")).unwrap_or_default();
        followed.trim_start_matches("    and with it: ").split(", ").map(str::to_string).collect::<Vec<_>>()
    };
    let of_place = below("table public.place: ");
    assert_eq!(of_place, ["rows of public.place", "constraint place_pkey of public.place"], "{told}");
    let of_parts = below("table public.measure: ");
    assert!(of_parts.contains(&"part public.measure_2024 of public.measure".to_string()), "{told}");
    let protects = |line: &str| line.trim_start().starts_with("row security of public.secret: ");
    assert!(left_out.lines().any(protects), "{told}");
    assert!(left_out.contains("policy own of public.secret: "), "{told}");
    let folder = folder.path();
    assert_eq!(query(folder, "SELECT count(*) FROM names"), "2\n");
    assert_eq!(query(folder, "SELECT owner FROM secret"), "ada\n");
    assert_eq!(query(folder, "SELECT count(*) FROM measure_2024"), "1\n");
}

#[test]
fn archives_and_folders_are_read_through_pg_restore() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (psql, dump) = (program("psql").unwrap(), program("pg_dump").unwrap());
    let socket = server.socket_folder().to_str().unwrap().to_string();
    let run = |program: &Path, arguments: &[&str]| {
        let connection = ["-h", &socket, "-U", "cairn", "-d", "postgres"];
        let output =
            Command::new(program).args(connection).args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    };
    run(&psql, &["-X", "-q", "-f", dumps().join("blog.sql").to_str().unwrap()]);
    let plain = {
        let (code, told) = import(folder.path(), "blog.sql");
        assert_eq!(code, Some(0), "{told}");
        let dumped = cairn(folder.path(), &["dump", "a.cairn"]);
        fs::remove_file(folder.path().join("a.cairn")).unwrap();
        text(&dumped)
    };
    let path = std::env::join_paths([dump.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    for (format, name) in [("-Fc", "a.dump"), ("-Fd", "a.folder"), ("-Ft", "a.tar")] {
        run(&dump, &[format, "-f", name]);
        let import = |path: &std::ffi::OsStr| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
            command
                .args(["import", "postgres", name, "a.cairn"])
                .env("PATH", path)
                .current_dir(folder.path())
                .output()
                .unwrap()
        };
        let without = import("nowhere".as_ref());
        assert!(text(&without).contains("pg_restore: it is not there"), "{}", text(&without));
        assert!(!folder.path().join("a.cairn").exists());
        let output = import(&path);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert_eq!(text(&cairn(folder.path(), &["dump", "a.cairn"])), plain, "{format}");
        fs::remove_file(folder.path().join("a.cairn")).unwrap();
    }
    fs::write(folder.path().join("bad.dump"), b"PGDMP\x01\x0e\x00").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    let output = command
        .args(["import", "postgres", "bad.dump", "a.cairn"])
        .env("PATH", &path)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(!output.status.success() && text(&output).contains("pg_restore failed"), "{}", text(&output));
    assert!(!folder.path().join("a.cairn").exists());
}

#[test]
fn what_would_be_read_otherwise_is_refused_as_a_whole() {
    for (script, told) in [
        ("CREATE TABLE a (b int);\nSET standard_conforming_strings = off;\n", "pg_dump --encoding=UTF8"),
        ("CREATE TABLE a (b int);\nSET client_encoding = 'LATIN1';\n", "pg_dump --encoding=UTF8"),
        ("CREATE TABLE a (b int);\n\\! touch made\n", "line 2: \\!: an import runs no commands"),
        ("\u{1f}\u{8b}", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (code, found) = import_text(folder.path(), script);
        let is_refused = code == Some(1) && found.contains(told) && !folder.path().join("a.cairn").exists();
        assert!(is_refused || told.is_empty() && code == Some(4), "{script}: {code:?} {found}");
        assert!(!folder.path().join("made").exists());
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.sql"), b"CREATE TABLE a (b int);\nINSERT INTO a VALUES ('\xe9');\n").unwrap();
    let output = cairn(folder.path(), &["import", "postgres", "a.sql", "a.cairn"]);
    assert!(
        text(&output).contains("line 2 is not UTF-8") && !folder.path().join("a.cairn").exists(),
        "{}",
        text(&output)
    );
    fs::write(folder.path().join("a.gz"), b"\x1f\x8b\x08").unwrap();
    let output = cairn(folder.path(), &["import", "postgres", "a.gz", "a.cairn"]);
    assert!(text(&output).contains("gunzip it first"), "{}", text(&output));
    let (_, told) = import_text(folder.path(), "CREATE TABLE a (b int);");
    assert!(told.contains("imported into"), "{told}");
    let (code, told) = import_text(folder.path(), "CREATE TABLE a (b int);");
    assert!(code == Some(1) && told.contains("an import makes a new database"), "{told}");
}

#[test]
fn each_statement_stands_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE DATABASE d;\n\\connect d\nBEGIN;\nCREATE TABLE a (b int);\nCREATE TABLE x (b nothing);\nINSERT INTO a VALUES (1), (2);\n\
                  INSERT INTO a VALUES (3);\nINSERT INTO x VALUES (1);\nCREATE SCHEMA public;\nCREATE VIEW v AS SELECT * FROM x;\n\
                  CREATE VIEW w AS SELECT * FROM v;\nCOMMIT;\nCREATE ROLE r;\nSET SESSION AUTHORIZATION r;\n";
    let (code, told) = import_text(folder.path(), script);
    assert_eq!(code, Some(4), "{told}");
    for line in [
        "  a: 3 rows",
        "  \\connect d: does nothing: all of the dump is in a.cairn",
        "  CREATE DATABASE: does nothing",
        "  SET SESSION AUTHORIZATION: does nothing",
        "Left out, and why:\n  table x: type \"nothing\" does not exist\n    and with it: rows of x, view v, view w\n",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

/// They were lost, in scripts of the shell, too.
#[test]
fn carriage_returns_in_texts_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE a (b text);\r\nINSERT INTO a VALUES ('x\r\ny');\n";
    assert_eq!(import_text(folder.path(), script).0, Some(0));
    let lengths = "SELECT octet_length(b) FROM a";
    assert_eq!(query(folder.path(), lengths), "4\n");
    fs::write(
        folder.path().join("more.sql"),
        "INSERT INTO a VALUES ($$x\r\n\r\n$$);\r\nDELETE FROM a WHERE b = E'x\\r\\ny';\r\n",
    )
    .unwrap();
    let done = cairn(folder.path(), &["a.cairn", "-f", "more.sql"]);
    assert!(done.status.success(), "{}", text(&done));
    assert_eq!(query(folder.path(), lengths), "5\n");
}

#[test]
fn a_script_may_run_as_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("good.sql"), "CREATE ROLE r;\nCREATE TABLE a (b int);\nINSERT INTO a VALUES (1);\n").unwrap();
    fs::write(folder.join("bad.sql"), "INSERT INTO a VALUES (2);\nINSERT INTO nothing VALUES (1);\n").unwrap();
    let failed = cairn(folder, &["a.cairn", "-1", "-f", "good.sql", "-f", "bad.sql"]);
    assert_eq!(failed.status.code(), Some(3), "{}", text(&failed));
    assert_eq!(query(folder, "SELECT count(*) FROM pg_class WHERE relname = 'a'"), "0\n");
    let done = cairn(folder, &["a.cairn", "--single-transaction", "-f", "good.sql", "-c", "INSERT INTO a VALUES (5)"]);
    assert!(done.status.success() && text(&done).contains("NOTICE:  CREATE ROLE does nothing"), "{}", text(&done));
    assert_eq!(query(folder, "SELECT sum(b) FROM a"), "6\n");
    let both = cairn(folder, &["a.cairn", "-1", "--keep-going", "-f", "good.sql"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both));
}

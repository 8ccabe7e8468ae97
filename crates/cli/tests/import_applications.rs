//! Dumps of applications, from PostgreSQL 15 where one is installed: schemas in the manner of applications' (`applications/`) are loaded
//! there, dumped by `pg_dump` and imported. How many come whole is told, and which do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cairn_conformance::engine::{PostgresServer, program};

/// Those of which nothing is left out. What stops the others is said below each in the report, and is no part of CairnDB: row security,
/// partitions, ranges, full-text types, extensions.
const WHOLE: &[&str] =
    &["bank", "chat", "cms", "erp", "forum", "inventory", "issues", "queue", "recipes", "school", "shop", "stats"];

/// What is there of those that do not come whole, or that rest on an extension, by a query and its answer.
const THERE: &[(&str, &str, &str)] = &[
    ("audit", "SELECT op, after ->> 'party' FROM audit.log", "I,Ada Ltd\n"),
    ("auth", "SELECT count(*), min(body) FROM note", "1,mine\n"),
    ("blog", "SELECT name FROM author", "Ada\n"),
    ("booking", "SELECT name FROM room", "Blue\n"),
    ("cms", "SELECT meta -> 'lang', body FROM content.pages, content.latest", "en,Welcome\n"),
    ("events", "SELECT name, position FROM projection", "totals,1\n"),
    (
        "inventory",
        "SELECT mac, address, net, dns FROM lan_device",
        "08:00:2b:01:02:03,10.0.0.1,10.0.0.0/8,\"{10.0.0.53,fe80::1/64}\"\n",
    ),
    ("maps", "SELECT name, stops FROM route", "South,\"{2,1}\"\n"),
    ("shop", "SELECT title, sold FROM best_sellers", "Apple,3\nBread,1\n"),
    ("stats", "SELECT round(geomean(value)::numeric, 3) FROM measure", "1.936\n"),
    ("tenants", "SELECT title FROM titles", "T\n"),
    ("wiki", "SELECT title FROM orphans", "Main_Page\n"),
];

fn applications() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/applications");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn cairn(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn")).args(arguments).current_dir(folder).output().unwrap()
}

/// Has PostgreSQL load a script and dump what it made.
fn dump(server: &PostgresServer, script: &Path, name: &str, to: &Path) {
    let socket = server.socket_folder().to_str().unwrap();
    let run = |tool: &str, database: &str, arguments: &[&str]| {
        let mut command = Command::new(program(tool).unwrap());
        let output = command.args(["-h", socket, "-U", "cairn", "-d", database]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{name}: {arguments:?}: {}", text(&output));
    };
    run("psql", "postgres", &["-X", "-q", "-c", &format!("CREATE DATABASE {name}")]);
    run("psql", name, &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script.to_str().unwrap()]);
    run("pg_dump", name, &["-f", to.to_str().unwrap()]);
}

#[test]
fn dumps_of_applications_come_whole_or_with_one_report() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut whole, mut report) = (BTreeSet::new(), String::new());
    for script in applications() {
        let name = script.file_stem().unwrap().to_str().unwrap().to_owned();
        dump(&server, &script, &name, &folder.path().join("dump.sql"));
        let file = format!("{name}.cairn");
        let imported = cairn(folder.path(), &["import", "postgres", "dump.sql", &file]);
        let told = text(&imported);
        match imported.status.code() {
            Some(0) => assert!(whole.insert(name.clone()) && !told.contains("Left out"), "{name}: {told}"),
            Some(4) => {
                let left_out = told.split_once("Left out, and why:\n").unwrap_or_else(|| panic!("{name}: {told}")).1;
                report.push_str(&format!("{name}:\n{left_out}"));
            }
            code => panic!("{name}: {code:?} {told}"),
        }
        if let Some((_, query, answer)) = THERE.iter().find(|(of, ..)| *of == name) {
            let found = cairn(folder.path(), &[&file, "--no-header", "--format", "csv", "-c", query]);
            assert_eq!(text(&found), *answer, "{name}: {query}");
        }
    }
    println!("{} of {} are whole\n{report}", whole.len(), applications().len());
    assert_eq!(whole, WHOLE.iter().map(|name| (*name).to_owned()).collect(), "{report}");
}

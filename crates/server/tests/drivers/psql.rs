//! psql over TLS.

use std::path::PathBuf;
use std::process::Command;

use cairn_conformance::engine::program;

use crate::installed::left_out;
use crate::served::{DATABASE, PASSWORD, Served, USER};
use crate::tools::scripts;

pub fn psql_program() -> Option<PathBuf> {
    let found = program("psql");
    if found.is_none() {
        left_out("psql is not installed");
    }
    found
}

/// What psql says when it connects so.
pub fn psql(program: &PathBuf, served: &Served, how: &str, commands: &[&str]) -> String {
    let root = served.certificate.root.display();
    let said = format!("host=localhost port={} user={USER} dbname={DATABASE} sslrootcert={root} {how}", served.port());
    let mut psql = Command::new(program);
    psql.args(["-X", "-A", "-t", "-w", "-d", &said]).env("PGPASSWORD", PASSWORD);
    commands.iter().for_each(|command| _ = psql.args(["-c", command]));
    let output = psql.output().expect("psql runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn psql_does_what_it_does() {
    let Some(program) = psql_program() else { return };
    let served = Served::new();
    let say = |commands: &[&str]| psql(&program, &served, "sslmode=verify-full channel_binding=require", commands);
    say(&["CREATE TYPE mood AS ENUM ('sad', 'ok', 'fine')"]);
    let types = std::fs::read_to_string(scripts().join("types.tsv")).expect("the types");
    for (of, text) in types.lines().filter_map(|line| line.split_once('\t')) {
        let literal = format!("'{text}'::{of}");
        let same = format!(
            "SELECT (({literal})::text)::{of}::text = ({literal})::text, (ARRAY[{literal}, NULL])::text::{of}[] IS NULL"
        );
        assert_eq!(say(&[&same]), "t|f\n", "{of}");
    }
    let ten = ["EXECUTE twice(21)"; 10];
    let said = say(&[&["PREPARE twice(int) AS SELECT 2 * $1"][..], &ten].concat());
    assert_eq!(said, "PREPARE\n".to_owned() + &"42\n".repeat(10));
    let said = say(&[
        "CREATE TABLE t (id int CONSTRAINT one_only PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "\\set VERBOSITY verbose",
        "INSERT INTO t VALUES (1)",
    ]);
    for expected in
        ["ERROR:  23505: ", "DETAIL:  Key (id)=(1) already exists.", "TABLE NAME:  t", "CONSTRAINT NAME:  one_only"]
    {
        assert!(said.contains(expected), "{said}");
    }
    let said = say(&["LISTEN news", "NOTIFY news, 'at last'"]);
    assert!(said.contains("Asynchronous notification \"news\" with payload \"at last\" received"), "{said}");
    let said = say(&["SET statement_timeout = '200ms'", "SELECT count(*) FROM generate_series(1, 100000000000)"]);
    assert!(said.contains("canceling statement due to statement timeout"), "{said}");
    let said = say(&["SET work_mem = '1MB'", "DISCARD ALL", "SHOW work_mem"]);
    assert!(said.starts_with("SET\nDISCARD ALL\n") && !said.contains("\n1MB"), "{said}");
}

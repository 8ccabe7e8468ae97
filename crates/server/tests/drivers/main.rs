//! The server with the drivers that people have, over TLS with a password: each says the same list of things, in its own language.
//!
//! The drivers are installed beside what is built, in the versions that stand here, from the registries that the machine is set up for. What
//! can not be had is left out with a word; with `CAIRN_INSIST=1` it fails.
#![cfg(all(unix, feature = "tls"))]

mod psql;
mod served;
mod tls;
mod tools;

use std::path::PathBuf;
use std::process::Command;

use served::Served;
use tools::{has, installed, scripts};

/// What every driver is to do: log in, by the certificate and the password; send values of every type and take them back, and NULL, and
/// arrays; run a statement ten times; send many statements together; COPY; cancel a statement; tell what an error says; run a transaction again
/// that has lost; hear notifications; give a session back to a pool as it was.
const ITEMS: [&str; 10] = ["login", "types", "ten", "batch", "copy", "cancel", "errors", "retry", "listen", "pool"];

fn python() -> Option<PathBuf> {
    if !has("python3", "--version") {
        return None;
    }
    let requirements = scripts().join("requirements.txt");
    let manifest = std::fs::read_to_string(&requirements).expect("what is needed");
    let folder = installed("python", &manifest, |folder| {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(folder.join("venv"));
        let mut install = Command::new(folder.join("venv/bin/pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check", "-r"]).arg(requirements);
        vec![make, install]
    })?;
    Some(folder.join("venv/bin/python"))
}

fn hold_in_python(script: &str, arguments: &[&str], items: &[&str]) {
    let Some(python) = python() else { return };
    let mut command = Command::new(python);
    command.args(["-B", "-X", "dev", "-W", "ignore"]).arg(scripts().join(script)).args(arguments);
    Served::new().holds(command, items);
}

#[test]
fn psycopg_does_what_it_does() {
    hold_in_python("with_psycopg.py", &[], &ITEMS);
}

#[test]
fn asyncpg_does_what_it_does() {
    hold_in_python("with_asyncpg.py", &[], &ITEMS);
}

const OF_MODELS: [&str; 7] = ["login", "types", "ten", "batch", "reflect", "errors", "retry"];

#[test]
fn sqlalchemy_over_psycopg_makes_reads_and_reflects_its_tables() {
    hold_in_python("with_sqlalchemy.py", &["psycopg"], &OF_MODELS);
}

#[test]
fn sqlalchemy_over_asyncpg_makes_and_reads_its_tables() {
    let items: Vec<&str> = OF_MODELS.into_iter().filter(|item| *item != "reflect").collect();
    hold_in_python("with_sqlalchemy.py", &["asyncpg"], &items);
}

#[test]
fn django_migrates_and_keeps_its_models() {
    hold_in_python("with_django.py", &[], &["login", "types", "migrate", "batch", "errors", "retry", "session"]);
}

fn hold_in_javascript(script: &str, items: &[&str]) {
    if !has("node", "--version") || !has("npm", "--version") {
        return;
    }
    let sources = scripts().join("node");
    let lock = std::fs::read_to_string(sources.join("package-lock.json")).expect("what is needed");
    let installed = installed("node", &lock, |folder| {
        let mut copy = Command::new("cp");
        copy.args([sources.join("package.json"), sources.join("package-lock.json"), folder.to_owned()]);
        let mut install = Command::new("npm");
        install.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder);
        vec![copy, install]
    });
    let Some(folder) = installed else { return };
    let mut command = Command::new("node");
    command.arg(sources.join(script)).env("NODE_PATH", folder.join("node_modules"));
    Served::new().holds(command, items);
}

#[test]
fn node_postgres_does_what_it_does() {
    hold_in_javascript("pg.js", &ITEMS);
}

#[test]
fn postgres_js_does_what_it_does() {
    hold_in_javascript("postgres.js", &ITEMS);
}

#[test]
fn drizzle_keeps_its_tables() {
    hold_in_javascript("drizzle.js", &["login", "types", "ten", "batch", "errors", "retry"]);
}

/// A runtime and a hundred crates are compiled for it: only where somebody asks for it.
#[test]
fn sqlx_does_what_it_does() {
    if std::env::var_os("CAIRN_SQLX").is_none() {
        eprintln!("LEFT OUT: sqlx is compiled for who asks for it only (CAIRN_SQLX=1)");
        return;
    }
    let source = scripts().join("sqlx");
    let manifest: String = ["Cargo.toml", "Cargo.lock", "src/main.rs"]
        .map(|file| std::fs::read_to_string(source.join(file)).expect("a source"))
        .concat();
    let built = installed("sqlx", &manifest, |folder| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(source.join("Cargo.toml"));
        build.arg("--target-dir").arg(folder);
        vec![build]
    });
    let Some(folder) = built else { return };
    Served::new().holds(Command::new(folder.join("debug/drivers-sqlx")), &ITEMS);
}

#[test]
fn pgx_does_what_it_does() {
    if !has("go", "version") {
        return;
    }
    let sources = scripts().join("go");
    let manifest: String = ["main.go", "go.mod", "go.sum"]
        .map(|file| std::fs::read_to_string(sources.join(file)).expect("a source"))
        .concat();
    let built = installed("go", &manifest, |folder| {
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(folder.join("drivers")).arg(".").current_dir(&sources);
        vec![build]
    });
    let Some(folder) = built else { return };
    Served::new().holds(Command::new(folder.join("drivers")), &ITEMS);
}

#[test]
fn pgjdbc_does_what_it_does() {
    const DRIVER: &str = "org.postgresql:postgresql:42.7.7";
    if !has("javac", "--version") || !has("mvn", "--version") {
        return;
    }
    let source = scripts().join("java/Pgjdbc.java");
    let manifest = format!("{DRIVER}\n{}", std::fs::read_to_string(&source).expect("the source"));
    let built = installed("java", &manifest, |folder| {
        let mut install = Command::new("mvn");
        install.args(["-q", "dependency:copy", &format!("-Dartifact={DRIVER}"), "-Dmdep.stripVersion=true"]);
        install.arg(format!("-DoutputDirectory={}", folder.display()));
        let mut build = Command::new("javac");
        build.arg("-cp").arg(folder.join("postgresql.jar")).arg("-d").arg(folder).arg(&source);
        vec![install, build]
    });
    let Some(folder) = built else { return };
    let mut command = Command::new("java");
    command.arg("-cp").arg(format!("{0}/postgresql.jar:{0}", folder.display())).arg("Pgjdbc");
    let items: Vec<&str> = ITEMS.into_iter().filter(|item| *item != "types").chain(["tables"]).collect();
    Served::new().holds(command, &items);
}

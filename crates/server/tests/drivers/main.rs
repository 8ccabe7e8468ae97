//! The server with the drivers that people have, over TLS with a password: each says the same list of things, in its own language.
//!
//! The drivers are installed beside what is built, in the versions that stand here, from the registries that the machine is set up for. What
//! can not be had is left out with a word; with `CAIRN_INSIST=1` it fails.
#![cfg(all(unix, feature = "tls"))]

mod installed;
mod psql;
mod served;
mod suites;
mod tls;
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use installed::{has, installed};
use served::Served;
use tools::scripts;

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

/// What those do that give rows as objects, whose driver has done the rest.
const OF_OBJECTS: [&str; 6] = ["login", "types", "ten", "batch", "errors", "retry"];

const OF_MODELS: [&str; 7] = ["login", "types", "ten", "batch", "reflect", "errors", "retry"];

#[test]
fn sqlalchemy_over_psycopg_makes_reads_and_reflects_its_tables() {
    hold_in_python("with_sqlalchemy.py", &["psycopg"], &OF_MODELS);
}

#[test]
fn sqlalchemy_over_asyncpg_makes_reads_and_reflects_its_tables() {
    hold_in_python("with_sqlalchemy.py", &["asyncpg"], &OF_MODELS);
}

#[test]
fn django_migrates_and_keeps_its_models() {
    hold_in_python("with_django.py", &[], &["login", "types", "migrate", "batch", "errors", "retry", "session"]);
}

#[test]
fn pgcli_completes_and_describes() {
    hold_in_python("with_pgcli.py", &[], &["login", "complete", "commands", "errors", "program"]);
}

/// The packages of a folder of scripts, and what is made of them by more commands.
fn packages(of: &str, sources: &[&str], more: impl FnOnce(&Path) -> Vec<Command>) -> Option<PathBuf> {
    if !has("node", "--version") || !has("npm", "--version") {
        return None;
    }
    let paths: Vec<PathBuf> = sources.iter().map(|name| scripts().join(of).join(name)).collect();
    let manifest: String = paths.iter().map(|path| std::fs::read_to_string(path).expect("what is needed")).collect();
    installed(of, &manifest, |folder| {
        let mut copy = Command::new("cp");
        copy.args(&paths).arg(folder);
        let mut install = Command::new("npm");
        install.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder);
        let mut commands = vec![copy, install];
        commands.extend(more(folder));
        commands
    })
}

fn hold_in_javascript(script: &str, items: &[&str]) {
    let Some(folder) = packages("node", &["package.json", "package-lock.json"], |_| Vec::new()) else { return };
    let mut command = Command::new("node");
    command.arg(scripts().join("node").join(script)).env("NODE_PATH", folder.join("node_modules"));
    Served::new().holds(command, items);
}

/// Its client is made of its schema, by what is in the package: the program that migrates is none of it, and nothing here asks for it.
#[test]
fn prisma_keeps_its_models() {
    let made = packages("prisma", &["package.json", "package-lock.json", "schema.prisma"], |folder| {
        let mut make = Command::new(folder.join("node_modules/.bin/prisma"));
        make.args(["generate", "--no-hints", "--schema", "schema.prisma"]).current_dir(folder);
        make.env("PRISMA_SCHEMA_ENGINE_BINARY", "/bin/true").env("CHECKPOINT_DISABLE", "1");
        vec![make]
    });
    let Some(folder) = made else { return };
    let mut command = Command::new("node");
    command.arg(scripts().join("prisma/prisma.js")).env("NODE_PATH", folder.join("node_modules"));
    command.env("PRISMA_CLIENT", folder.join("generated"));
    Served::new().holds(command, &OF_OBJECTS);
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
    hold_in_javascript("drizzle.js", &OF_OBJECTS);
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
    Served::new().holds(command, &[&ITEMS[..], &["tables"]].concat());
}

#[test]
fn hibernate_makes_checks_and_keeps_its_models() {
    if !has("javac", "--version") || !has("mvn", "--version") {
        return;
    }
    let sources = ["pom.xml", "Models.java"].map(|name| scripts().join("hibernate").join(name));
    let manifest: String = sources.iter().map(|path| std::fs::read_to_string(path).expect("a source")).collect();
    let built = installed("hibernate", &manifest, |folder| {
        let [project, source] = &sources;
        let mut install = Command::new("mvn");
        install.args(["-q", "-B", "dependency:copy-dependencies", "-f"]).arg(project);
        install.arg(format!("-DoutputDirectory={}", folder.display()));
        let mut build = Command::new("javac");
        build.arg("-cp").arg(folder.join("*")).arg("-d").arg(folder).arg(source);
        vec![install, build]
    });
    let Some(folder) = built else { return };
    let mut command = Command::new("java");
    command.arg("-cp").arg(format!("{0}/*:{0}", folder.display())).arg("Models");
    Served::new().holds(command, &["login", "types", "ten", "batch", "errors", "retry", "versions"]);
}

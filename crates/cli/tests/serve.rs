//! `cairn serve` as it is started: from a file, with real clients.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use cairn_conformance::engine::program;
use tempfile::TempDir;

fn cairn(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.arg("serve").args(arguments).current_dir(folder);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn verifier(folder: &Path, password: &str) -> String {
    let mut made = cairn(folder, &["--make-verifier"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(made.stdin.take().unwrap(), "{password}").unwrap();
    let made = made.wait_with_output().unwrap();
    assert!(made.status.success());
    String::from_utf8(made.stdout).unwrap().trim_end().to_owned()
}

fn write_config(folder: &Path, text: &str) {
    let path = folder.join("cairn.yaml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A server that runs until it is dropped, and has said where.
struct Serving {
    child: Child,
    port: String,
}

impl Serving {
    fn start(folder: &Path) -> Serving {
        let mut child = cairn(folder, &["--config", "cairn.yaml"]);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let said: Vec<String> = (0..2).map(|_| lines.next().unwrap().unwrap()).collect();
        let words: Vec<&str> = said[1].split(' ').collect();
        let port = words[words.iter().position(|word| *word == "-p").unwrap() + 1].to_owned();
        Serving { child, port }
    }

    /// Ends it as an operating system does; what it told.
    fn stop(mut self) -> String {
        let id = nix_id(&self.child);
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        told
    }
}

fn nix_id(child: &Child) -> String {
    child.id().to_string()
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn psql(psql: &PathBuf, host: &str, port: &str, (user, password): (&str, &str), sql: &str) -> String {
    let arguments = ["-X", "-A", "-t", "-w", "-h", host, "-p", port, "-U", user, "-d", "shop", "-c", sql];
    text(&Command::new(psql).args(arguments).env("PGPASSWORD", password).output().unwrap())
}

#[test]
fn a_server_comes_up_as_its_file_says_with_users_that_read_only_and_rules() {
    let Some(program) = program("psql") else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    let folder = TempDir::new().unwrap();
    let [writer, reader] = ["wr1te", "re4d"].map(|password| verifier(folder.path(), password));
    write_config(
        folder.path(),
        &format!(
            "data: shop.cairn\ncreate: true\nlisten: 127.0.0.1:0\nsocket: {{port: 6000}}\nmemory: {{cache_bytes: 8MB}}\n\
             limits:\n  work_mem: 1MB\n  statement_timeout: 10s\nlog: {{slow_statement: 1ms}}\n\
             users:\n  writer: {{verifier: {writer}}}\n  reader: {{verifier: {reader}, read_only: true}}\n\
             access:\n  - {{from: socket, method: owner}}\n  - {{from: 127.0.0.0/8, user: [writer, reader], method: password}}\n"
        ),
    );
    let checked = cairn(folder.path(), &["--config", "cairn.yaml", "--check"]).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked));
    assert!(!folder.path().join("shop.cairn").exists(), "to check is not to make");

    let serving = Serving::start(folder.path());
    let own = folder.path().canonicalize().unwrap();
    let over_socket = |sql: &str| psql(&program, &own.to_string_lossy(), "6000", ("me", ""), sql);
    let over_tcp = |user: (&str, &str), sql: &str| psql(&program, "127.0.0.1", &serving.port, user, sql);
    assert_eq!(over_socket("CREATE TABLE t (a int)"), "CREATE TABLE\n");
    assert_eq!(over_tcp(("writer", "wr1te"), "INSERT INTO t VALUES (1) RETURNING a"), "1\nINSERT 0 1\n");
    assert_eq!(over_tcp(("reader", "re4d"), "SELECT a FROM t"), "1\n");
    for (user, sql, expected) in [
        (("reader", "re4d"), "INSERT INTO t VALUES (2)", "cannot execute INSERT in a read-only transaction"),
        (("reader", "re4d"), "BEGIN READ WRITE", "permission denied"),
        (("writer", "wr1te"), "SET work_mem = '2MB'", "2MB is outside the valid range"),
        (("writer", "wr1te"), "SET statement_timeout = 0", "0 is outside the valid range"),
        (("writer", "wrong"), "SELECT 1", "password authentication failed"),
        (("me", ""), "SELECT 1", "no rule of access lets user \"me\" in"),
    ] {
        let said = over_tcp(user, sql);
        assert!(said.contains(expected), "{sql}: {said}");
    }
    assert_eq!(over_tcp(("writer", "wr1te"), "SHOW work_mem"), "1MB\n");
    let told = serving.stop();
    for expected in [
        "event=started database=shop",
        "event=login_failed user=writer",
        "event=login_refused user=me",
        "event=stopped",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(!told.contains("wr1te") && !told.contains("SCRAM"), "{told}");
}

#[test]
fn a_configuration_that_is_wrong_is_told_by_check_and_serves_nothing() {
    let folder = TempDir::new().unwrap();
    for (config, expected) in [
        (
            "data: x\nmax_conections: 1",
            "cairn.yaml, line 2: there is no key max_conections; perhaps max_connections is meant",
        ),
        ("data: x\nlisten: 0.0.0.0:0", "is an address that other machines reach, and nobody would need a password"),
        ("data: x\naccess: {from: all, method: trust}", "would let anybody in who comes from anywhere"),
        ("listen: 127.0.0.1:0", "which database?"),
    ] {
        write_config(folder.path(), config);
        for arguments in [&["--config", "cairn.yaml", "--check"][..], &["--config", "cairn.yaml", "--create"]] {
            let refused = cairn(folder.path(), arguments).output().unwrap();
            assert_eq!(refused.status.code(), Some(1), "{config}");
            assert!(text(&refused).contains(expected), "{config}: {}", text(&refused));
        }
    }
    let listed = text(&cairn(folder.path(), &["--keys"]).output().unwrap());
    assert!(listed.contains("wal.fsync.mode") && listed.lines().count() > 20, "{listed}");
}

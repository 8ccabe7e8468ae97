//! `cairn serve` as it is started: from a file, with real clients.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
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

/// Puts it in place whole, as a server that reads it again must find it.
fn write_config(folder: &Path, text: &str) {
    let written = folder.join("cairn.yaml.new");
    fs::write(&written, text).unwrap();
    fs::set_permissions(&written, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&written, folder.join("cairn.yaml")).unwrap();
}

/// A server that runs until it is dropped, and has said where.
struct Serving {
    child: Child,
    port: String,
    log: PathBuf,
}

impl Serving {
    fn start(folder: &Path) -> Serving {
        let mut child = cairn(folder, &["--config", "cairn.yaml"]);
        let log = folder.join("server.log");
        let mut child = child.stdout(Stdio::piped()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let said: Vec<String> = (0..2).map(|_| lines.next().unwrap().unwrap()).collect();
        let words: Vec<&str> = said[1].split(' ').collect();
        let port = words[words.iter().position(|word| *word == "-p").unwrap() + 1].to_owned();
        Serving { child, port, log }
    }

    /// Ends it as an operating system does; what it told.
    fn stop(mut self) -> String {
        let id = nix_id(&self.child);
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        self.told()
    }

    /// What it has told so far.
    fn told(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
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
fn a_folder_is_served_and_its_databases_are_made_from_outside() {
    let Some(program) = program("psql") else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    let folder = TempDir::new().unwrap();
    write_config(
        folder.path(),
        "data: .\nlisten: 127.0.0.1:0\ntrust: true\nsocket: {port: 6000}\nmemory: {cache_bytes: 8MB}\n",
    );
    for turn in 0..2 {
        let serving = Serving::start(folder.path());
        let own = folder.path().canonicalize().unwrap().to_string_lossy().into_owned();
        let ask = |database: &str, sql: &str| {
            let arguments = ["-X", "-A", "-t", "-h", &own, "-p", "6000", "-U", "me", "-d", database, "-c", sql];
            text(&Command::new(&program).args(arguments).output().unwrap())
        };
        if turn == 0 {
            assert_eq!(ask("postgres", "CREATE DATABASE shop"), "CREATE DATABASE\n");
            assert_eq!(ask("shop", "CREATE TABLE t AS SELECT 7 AS a"), "SELECT 1\n");
        }
        assert_eq!(ask("shop", "SELECT a FROM t"), "7\n");
        let second = cairn(folder.path(), &[".", "--port", "6001"]).output().unwrap();
        assert!(!second.status.success() && text(&second).contains("55006"), "{}", text(&second));
        serving.stop();
    }
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

/// Until it holds, for a minute at most.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn sighup_reads_the_configuration_again_and_what_is_wrong_with_it_changes_nothing() {
    let Some(program) = program("psql") else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    let folder = TempDir::new().unwrap();
    let [old, new] = ["old", "new"].map(|password| verifier(folder.path(), password));
    let write = |verifier: &str, more: &str| {
        let base =
            "data: shop.cairn\ncreate: true\nlisten: 127.0.0.1:0\nsocket: {port: 6000}\nmemory: {cache_bytes: 8MB}";
        write_config(folder.path(), &format!("{base}\nusers:\n  me: {{verifier: {verifier}}}\n{more}"));
    };
    write(&old, "");
    let serving = Serving::start(folder.path());
    let said = |password: &str, sql: &str| psql(&program, "127.0.0.1", &serving.port, ("me", password), sql);
    let hang_up = || assert!(Command::new("kill").args(["-HUP", &nix_id(&serving.child)]).status().unwrap().success());
    assert_eq!(said("old", "SELECT 1"), "1\n");
    write(&new, "limits: {statement_timeout: 7s}\nwal: {fsync: {mode: group}}\n");
    hang_up();
    until("the new password is known", || said("new", "SHOW statement_timeout") == "7s\n");
    assert!(said("old", "SELECT 1").contains("password authentication failed"));
    write(&old, "max_conections: 3\n");
    hang_up();
    until("the bad one is refused", || serving.told().contains("event=reload_failed"));
    assert_eq!(said("new", "SHOW statement_timeout"), "7s\n", "the bad one was refused");
    let told = serving.stop();
    for expected in [
        "event=reloaded changed=\"users,limits\" needs_restart=wal.fsync.mode",
        "event=reload_failed message=",
        "perhaps max_connections is meant",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_has_started_the_server_is_told_how_it_is_with_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut child = cairn(folder.path(), &["shop.cairn", "--create", "--port", "6000"])
        .env("NOTIFY_SOCKET", &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let heard = || {
        let mut bytes = [0; 200];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let signal = |name: &str| assert!(Command::new("kill").args([name, &nix_id(&child)]).status().unwrap().success());
    assert_eq!(heard(), "READY=1");
    signal("-HUP");
    assert!(heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(heard(), "READY=1");
    signal("-TERM");
    assert_eq!(heard(), "STOPPING=1");
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_deploys_it_says_what_there_is() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/deploy");
    let read = |name: &str| fs::read_to_string(deploy.join(name)).unwrap();
    let docker = read("Dockerfile");
    assert!(docker.contains("ENTRYPOINT [\"cairn\", \"serve\"]") && docker.contains("CMD [\"--config\","));
    // The lines of the image's own stage run as they are, below a folder of ours.
    let place = TempDir::new().unwrap();
    let (_, stage) = docker.split_once("COPY --from=build").unwrap();
    for line in stage.lines().filter_map(|line| line.strip_prefix("RUN ")) {
        let line = line.replace(" /", &format!(" {}/", place.path().display())).replace("-o 10001 -g 10001 ", "");
        assert!(Command::new("sh").args(["-ec", &line]).status().unwrap().success(), "{line}");
    }
    let mode = place.path().join("var/lib/cairn").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "nobody else reads the databases");
    let unit = read("cairn.service");
    assert!(unit.contains("ExecStart=/usr/local/bin/cairn serve --config /etc/cairn/cairn.yaml"));
    let analyze = Path::new("/usr/bin/systemd-analyze");
    if !analyze.is_file() {
        eprintln!("LEFT OUT: systemd-analyze is not installed");
        return;
    }
    // The program and the user are there in the test's copy.
    let own = place.path().join("cairn.service");
    let cairn = env!("CARGO_BIN_EXE_cairn");
    fs::write(&own, unit.replace("/usr/local/bin/cairn", cairn).replace("=cairn\n", "=root\n")).unwrap();
    let checked = Command::new(analyze).arg("verify").arg(&own).output().unwrap();
    assert!(checked.status.success() && !text(&checked).contains("cairn.service"), "{}", text(&checked));
}

#[test]
fn what_is_served_is_copied_while_it_is_written_to() {
    let Some(program) = program("psql") else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    write_config(
        folder.path(),
        "data: data\nlisten: 127.0.0.1:0\ntrust: true\nsocket: {port: 6000}\nmemory: {cache_bytes: 8MB}\n",
    );
    let serving = Serving::start(folder.path());
    let said = |database: &str, sql: &str| {
        let arguments = ["-X", "-A", "-t", "-h", "127.0.0.1", "-p", &serving.port, "-d", database, "-c", sql];
        text(&Command::new(&program).args(arguments).output().unwrap())
    };
    assert_eq!(said("postgres", "CREATE DATABASE shop"), "CREATE DATABASE\n");
    assert_eq!(said("shop", "CREATE TABLE t AS SELECT 7 AS a"), "SELECT 1\n");
    let backup = |from: &str, to: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.args(["backup", from, to]).current_dir(folder.path()).output().unwrap()
    };
    for (from, to, file) in [("data/shop.cairn", "one.cairn", "one.cairn"), ("data", "all", "all/shop.cairn")] {
        let copied = backup(from, to);
        assert!(copied.status.success(), "{}", text(&copied));
        let copy = cairndb::Database::open(folder.path().join(file)).unwrap();
        assert_eq!(copy.connect().unwrap().query_row_as::<i32>("SELECT a FROM t", ()).unwrap(), 7);
    }
    assert!(folder.path().join("all/cairn.cairn").is_file());
    assert!(!backup("data", "all").status.success(), "a backup never overwrites");
    drop(serving);
}

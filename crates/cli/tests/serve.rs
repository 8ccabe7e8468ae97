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
        Serving::of(cairn(folder, &["--config", "cairn.yaml"]), folder.join("server.log"))
    }

    fn of(mut command: Command, log: PathBuf) -> Serving {
        let mut child = command.stdout(Stdio::piped()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
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
    let place = TempDir::new().unwrap();
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

/// What an image is made of and what its container does, below a folder of ours that stands for its root.
struct Image {
    root: TempDir,
    /// The user of the image, where who tests may be him.
    user: Option<u32>,
    arguments: Vec<String>,
}

impl Image {
    fn new() -> Image {
        let root = TempDir::new().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let is_root = std::os::unix::fs::MetadataExt::uid(&root.path().metadata().unwrap()) == 0;
        let mut image = Image { root, user: None, arguments: Vec::new() };
        let docker = include_str!("../../server/deploy/Dockerfile");
        for line in docker.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            image.line(line, is_root);
        }
        image
    }

    /// Where a path of the image is.
    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn line(&mut self, line: &str, is_root: bool) {
        let (instruction, rest) = line.split_once(' ').unwrap();
        match instruction {
            "RUN" if rest.starts_with("cargo build") => self.build(rest),
            "RUN" => {
                let root = self.root.path().display();
                let rest = rest.replace(" /", &format!(" {root}/"));
                let rest = if is_root { rest } else { rest.replace("-o 10001 -g 10001 ", "") };
                assert!(Command::new("sh").args(["-ec", &rest]).status().unwrap().success(), "{rest}");
            }
            "COPY" if rest == ". ." => {}
            "COPY" => {
                let (from, to) = rest.strip_prefix("--from=build ").unwrap().split_once(' ').unwrap();
                fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
                fs::copy(self.path(from), self.path(to)).unwrap();
            }
            "USER" => self.user = is_root.then(|| rest.split(':').next().unwrap().parse().unwrap()),
            "ENTRYPOINT" | "CMD" => {
                let words = rest.trim_matches(['[', ']']).split(", ").map(|word| word.trim_matches('"').to_owned());
                self.arguments.extend(words);
            }
            "VOLUME" => assert!(self.path(rest).is_dir(), "{line}"),
            "STOPSIGNAL" => assert_eq!(rest, "SIGTERM"),
            "FROM" | "WORKDIR" | "EXPOSE" => {}
            _ => panic!("{line}: what does it do?"),
        }
    }

    /// The build takes minutes: it is run with `CAIRN_DOCKERFILE=1`; else what the tests run stands for what comes of it.
    fn build(&self, line: &str) {
        assert_eq!(line, "cargo build --release --locked -p cairndb-cli");
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut built = PathBuf::from(env!("CARGO_BIN_EXE_cairn"));
        if std::env::var_os("CAIRN_DOCKERFILE").is_some() {
            let target = built.ancestors().nth(2).unwrap().to_owned();
            let mut build = Command::new("sh");
            build.args(["-ec", line]).current_dir(workspace).env("CARGO_TARGET_DIR", &target);
            assert!(build.status().unwrap().success(), "{line}");
            built = target.join("release/cairn");
        }
        fs::create_dir_all(self.path("/src/target/release")).unwrap();
        fs::copy(built, self.path("/src/target/release/cairn")).unwrap();
    }

    /// A container of it, with this configuration.
    fn run(&self, config: &str) -> Serving {
        use std::os::unix::process::CommandExt;

        let path = self.path("/etc/cairn/cairn.yaml");
        fs::write(&path, config).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let log = self.path("/log");
        let mut container = Command::new(self.path("/usr/local/bin").join(&self.arguments[0]));
        let below = |word: &String| if word.starts_with('/') { self.path(word) } else { PathBuf::from(word) };
        container.args(self.arguments[1..].iter().map(below)).env_clear().current_dir(self.root.path());
        if let Some(user) = self.user {
            std::os::unix::fs::chown(&path, Some(user), Some(user)).unwrap();
            container.uid(user).gid(user);
        }
        Serving::of(container, log)
    }
}

#[test]
fn the_lines_of_the_dockerfile_make_what_serves() {
    let image = Image::new();
    let data = image.path("/var/lib/cairn");
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700, "nobody else reads the databases");
    let container = image.run(&format!("data: {}\nlisten: 127.0.0.1:0\ntrust: true\n", data.display()));
    if let Some(program) = program("psql") {
        let arguments = ["-X", "-A", "-t", "-h", "127.0.0.1", "-p", &container.port, "-U", "me", "-d", "postgres"];
        let asked = Command::new(program).args(arguments).args(["-c", "CREATE DATABASE shop"]).output().unwrap();
        assert_eq!(text(&asked), "CREATE DATABASE\n");
        assert!(data.join("shop.cairn").is_file());
    }
    let told = container.stop();
    assert!(told.contains("event=stopped"), "{told}");
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

/// What is answered to a GET over HTTP.
fn get(address: &str, path: &str, token: &str) -> String {
    use std::io::Read;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn tokens_of_a_folder_are_its_owners_whether_it_is_served_or_not() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    write_config(folder.path(), "data: data\nlisten: 127.0.0.1:0\nsocket: {port: 6001}\nhttp: {listen: 127.0.0.1:0}\n");
    let token = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        let output = command.arg("token").args(arguments).current_dir(folder.path()).output().unwrap();
        text(&output).trim_end().to_owned()
    };
    let before = token(&["create", "data", "before", "--scopes", "read"]);
    assert!(before.starts_with("cairn_"), "{before}");
    let serving = Serving::start(folder.path());
    let told = || serving.told().lines().find_map(|line| Some(line.split_once(" http=")?.1.to_owned()));
    let address = told().expect("where it listens");
    assert!(get(&address, "/db", &before).starts_with("HTTP/1.1 200"), "{}", get(&address, "/db", &before));
    let during = token(&["create", "data", "dur'ing", "--scopes", "read,sql", "--database", "shop", "--port", "6001"]);
    assert!(get(&address, "/db", &during).starts_with("HTTP/1.1 200"), "{during}");
    assert!(token(&["create", "data", "before", "--scopes", "read", "--port", "6001"]).contains("duplicate key"));
    let listed = token(&["list", "data", "--port", "6001"]);
    assert!(listed.contains("before\tread\t\t\t\t") && listed.contains("dur'ing\tread,sql\tshop\t"), "{listed}");
    assert_eq!(token(&["revoke", "data", "dur'ing", "--port", "6001"]), "dur'ing is revoked");
    assert!(get(&address, "/db", &during).starts_with("HTTP/1.1 401"));
    assert!(token(&["revoke", "data", "none", "--port", "6001"]).contains("there is no token \"none\""));
    let told = serving.stop();
    assert!(!told.contains(&before) && !told.contains(&during), "{told}");
    assert_eq!(token(&["revoke", "data", "before"]), "before is revoked");
    let of_file = token(&["create", "shop.cairn", "app", "--scopes", "read", "--expires", "2099-01-31"]);
    assert!(
        of_file.contains("tokens:\n  'app': {digest: ") && of_file.contains("expires: '2099-01-31 00:00:00+00'"),
        "{of_file}"
    );
}

#[test]
fn tokens_of_the_configuration_are_read_again() {
    let folder = TempDir::new().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["token", "create", "shop.cairn", "app", "--scopes", "read", "--database", "shop"])
        .output()
        .unwrap();
    let made = text(&made);
    let secret = made.lines().next().unwrap();
    let tokens = &made[made.find("tokens:").unwrap()..];
    let config =
        "data: shop.cairn\ncreate: true\nlisten: 127.0.0.1:0\nsocket: {port: 6002}\nhttp: {listen: 127.0.0.1:0}\n";
    write_config(folder.path(), config);
    let serving = Serving::start(folder.path());
    let told = || serving.told();
    let address = told().lines().find_map(|line| Some(line.split_once(" http=")?.1.to_owned())).unwrap();
    assert!(get(&address, "/db", secret).starts_with("HTTP/1.1 401"));
    write_config(folder.path(), &format!("{config}{tokens}"));
    assert!(Command::new("kill").args(["-HUP", &nix_id(&serving.child)]).status().unwrap().success());
    while !told().contains("event=reloaded") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // (It is told before HTTP has it.)
    while !get(&address, "/db", secret).starts_with("HTTP/1.1 200") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

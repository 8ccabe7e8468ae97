//! `cairn console` of what a server has: its address, what it is good for, and what becomes of it.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

fn cairn() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cairn"))
}

/// What runs, and ends when nobody needs it any more.
struct Runs(Child);

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Runs {
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Ends it as Ctrl-C does; whether all went well, and what it told.
    fn end(mut self) -> (bool, String) {
        self.signal("-INT");
        let is_well = self.0.wait().unwrap().success();
        let mut told = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (is_well, told)
    }
}

/// A server of a folder, at a port of its own; where it is reached over HTTP.
fn serve(folder: &Path, port: u16, more: &[&str]) -> (Runs, Option<String>) {
    let mut command = cairn();
    command.arg("serve").arg(folder).args(["--port", &port.to_string()]).args(more);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut address = None;
    for line in lines.by_ref() {
        if let Some((_, http)) = line.split_once("event=listening http=") {
            address = Some(http.to_owned());
        }
        if address.is_some() || more.is_empty() && line.contains("event=started") {
            break;
        }
    }
    // (It goes on to be read, or the server would wait for that.)
    std::thread::spawn(move || lines.for_each(drop));
    // Ready is who has said where he is.
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    while !folder.join(".cairn-server").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the server has ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (Runs(child), address)
}

/// A console that runs, and the address that it has told; or why it does not.
fn console(path: &Path) -> Result<(Runs, String), String> {
    let mut child = cairn().arg("console").arg(path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    if address.is_empty() {
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success());
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok((Runs(child), address.trim().to_owned()))
}

/// The status of a login with a secret.
fn enters(address: &str, secret: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = format!("{{\"token\": \"{secret}\"}}");
    let head =
        "POST /console/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].to_owned()
}

fn tokens(folder: &Path, port: u16) -> Vec<String> {
    let listed = cairn().args(["token", "list"]).arg(folder).args(["--port", &port.to_string()]).output().unwrap();
    // (Where none was ever made there is no list.)
    let error = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success() || error.contains("server.tokens"), "{listed:?}");
    String::from_utf8_lossy(&listed.stdout).lines().skip(1).map(str::to_owned).collect()
}

fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let made = cairn().arg(data.join("shop.cairn")).arg("CREATE TABLE crew (id int)").output().unwrap();
    assert!(made.status.success(), "{made:?}");
    (folder, data)
}

const HTTP: &[&str] = &["--http", "127.0.0.1:0"];

#[test]
fn what_a_server_has_is_shown_by_its_console_as_long_as_that_is_asked_for() {
    let (beside, data) = folder();
    let (server, address) = serve(&data, 6031, HTTP);
    let address = address.unwrap();
    symlink(data.join("shop.cairn"), beside.path().join("link.cairn")).unwrap();
    for (path, databases) in [("data/shop.cairn", "shop"), ("link.cairn", "shop"), ("data", "")] {
        let (shown, told) = console(&beside.path().join(path)).unwrap();
        let secret = told.strip_prefix(&format!("http://{address}/#token=")).unwrap_or_else(|| panic!("{told}"));
        let known = tokens(&data, 6031);
        assert_eq!(known.len(), 1, "{known:?}");
        let token: Vec<&str> = known[0].split('\t').collect();
        assert!(token[0].starts_with("console-") && !token[4].is_empty(), "{token:?}");
        assert_eq!([token[1], token[2]], ["read,write,manage,sql,tokens", databases]);
        assert_eq!([enters(&address, secret), enters(&address, secret)], ["200", "401"], "it is good once");
        let (is_well, said) = shown.end();
        assert!(
            is_well && said.contains(&format!("process {} serves", server.0.id())) && !said.contains(secret),
            "{said}"
        );
        assert!(tokens(&data, 6031).is_empty());
    }
    // (No file of the server's tells a secret, or is anybody else's.)
    let reached = data.join(".cairn-server");
    assert_eq!(reached.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(server.end_quietly());
    assert!(!reached.exists());
}

impl Runs {
    fn end_quietly(mut self) -> bool {
        self.signal("-INT");
        self.0.wait().unwrap().success()
    }
}

#[test]
fn a_server_that_is_killed_and_comes_back_knows_no_secret_of_before_and_the_token_goes_all_the_same() {
    let (_beside, data) = folder();
    let (mut server, address) = serve(&data, 6032, HTTP);
    let (shown, told) = console(&data.join("shop.cairn")).unwrap();
    let secret = told.split_once("#token=").unwrap().1.to_owned();
    let (left, _) = console(&data.join("shop.cairn")).unwrap();
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    // What it has left is not believed: the file is looked at alone.
    assert!(data.join(".cairn-server").exists());
    let (alone, told) = console(&data.join("shop.cairn")).unwrap();
    assert!(!told.contains(&address.unwrap()), "{told}");
    assert!(alone.end().0);
    let (server, address) = serve(&data, 6033, HTTP);
    assert_eq!(enters(&address.unwrap(), &secret), "401");
    let (is_well, said) = shown.end();
    assert!(is_well, "{said}");
    assert_eq!(tokens(&data, 6033).len(), 1, "the other's");
    assert!(server.end_quietly());
    // It is taken back where no server runs any more, too.
    let (is_well, said) = left.end();
    assert!(is_well, "{said}");
    assert!(tokens(&data, 6033).is_empty());
}

#[test]
fn what_can_not_be_shown_or_believed_is_refused_with_who_has_it_and_what_to_do() {
    let (_beside, data) = folder();
    let (server, _) = serve(&data, 6034, &[]);
    let process = format!("process {}", server.0.id());
    for (path, words) in [(data.clone(), "--http 127.0.0.1:8080"), (data.join("cairn.cairn"), "own database")] {
        let told = console(&path).err().unwrap();
        assert!(told.contains(&process) && told.contains(words), "{told}");
    }
    assert!(server.end_quietly());
    let (server, _) = serve(&data, 6034, &["--http", "127.0.0.1:0", "--set", "http.console=false"]);
    let told = console(&data).err().unwrap();
    assert!(told.contains("without a console"), "{told}");
    assert!(server.end_quietly());
    let (server, _) = serve(&data, 6034, HTTP);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let told = console(&data).err().unwrap();
    assert!(told.contains("others may write the folder"), "{told}");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(tokens(&data, 6034).is_empty());
    assert!(server.end_quietly());
    let told = console(&data).err().unwrap();
    assert!(told.contains("no server of this user's"), "{told}");
}

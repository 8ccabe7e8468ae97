//! `examples/notes`, a small application of several users, as it is started, with two of them.
#![cfg(unix)]

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// With the server that it has started.
struct Application(Child);

impl Drop for Application {
    fn drop(&mut self) {
        // It may have ended.
        let _ = Command::new("kill").args(["-TERM", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn has_node() -> bool {
    let is_there =
        Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(is_there || std::env::var_os("CAIRN_INSIST").is_none(), "node is not installed");
    if !is_there {
        eprintln!("LEFT OUT: node is not installed");
    }
    is_there
}

#[test]
fn the_application_of_several_users_does_what_it_does() {
    if !has_node() {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = here.join("../../examples/notes");
    let folder = TempDir::new().unwrap();
    let (http, app) = (free_port(), free_port());
    let programs = Path::new(env!("CARGO_BIN_EXE_cairn")).parent().unwrap().to_owned();
    let path =
        std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    let told = folder.path().join("told");
    let log = File::create(&told).unwrap();
    let mut command = Command::new(example.join("run.sh"));
    command.arg(folder.path().join("data")).env("PATH", path.unwrap()).env("HTTP", http.to_string());
    command.env("APP", app.to_string()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
    let _application = Application(command.spawn().unwrap());
    let begun = Instant::now();
    while [http, app].iter().any(|port| TcpStream::connect(("localhost", *port)).is_err()) {
        let told = || std::fs::read_to_string(&told).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", told());
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut script = Command::new("node");
    script.arg(here.join("tests/notes.mjs")).env("NOTES", example.join("notes.js").canonicalize().unwrap());
    script.env("CAIRN", format!("http://localhost:{http}")).env("APP", format!("http://localhost:{app}"));
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let held: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    let wrong =
        || format!("{said}{}{}", String::from_utf8_lossy(&output.stderr), std::fs::read_to_string(&told).unwrap());
    assert!(output.status.success() && held == ["page", "accounts", "live", "rules"], "{}", wrong());
}

/// What `docs/http.md` says of it.
#[test]
fn it_has_fewer_than_two_hundred_lines() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/notes");
    let lines = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(file.unwrap().path()).unwrap().lines().count()
    };
    assert!(std::fs::read_dir(example).unwrap().map(lines).sum::<usize>() < 200);
}

//! What other languages' scripts need: installed once, beside what is built, and run with the place of a server in the environment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::served::{DATABASE, PASSWORD, Served, USER};

/// How long a script may take.
const SCRIPT_TIME: Duration = Duration::from_secs(180);

/// Where the scripts are.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers")
}

/// Says that something is not tested, for this reason; where nothing may be left out, it fails.
pub fn left_out(why: &str) {
    assert!(std::env::var_os("CAIRN_INSIST").is_none(), "{why}");
    eprintln!("LEFT OUT: {why}");
}

/// Whether there is such a program; where there is none, it was said.
pub fn has(program: &str, argument: &str) -> bool {
    let ran = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = ran.is_ok_and(|status| status.success());
    if !is_there {
        left_out(&format!("{program} is not installed"));
    }
    is_there
}

/// A folder in which what `manifest` says was installed, by these commands; `None`: it could not be, which was said.
pub fn installed(name: &str, manifest: &str, commands: impl FnOnce(&Path) -> Vec<Command>) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    // Tests share it, and so may other processes.
    let lock = File::create(folder.with_extension("lock")).expect("a lock");
    lock.lock().expect("locked");
    let done = folder.join("installed");
    if fs::read_to_string(&done).is_ok_and(|of| of == manifest) {
        return Some(folder);
    }
    fs::remove_dir_all(&folder).and_then(|()| fs::create_dir(&folder)).expect("an empty folder");
    for command in commands(&folder) {
        if let Err(said) = ran_in_the_end(command) {
            left_out(&format!("{name} could not be installed: {said}"));
            return None;
        }
    }
    fs::write(done, manifest).expect("written");
    Some(folder)
}

/// Runs what may have to ask a registry, which may not answer at once: again after a while, twice.
fn ran_in_the_end(mut command: Command) -> Result<(), String> {
    let mut pauses = [2, 10].map(Duration::from_secs).into_iter();
    loop {
        let output = command.output().expect("it runs");
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        let Some(pause) = pauses.next() else { return Err(String::from_utf8_lossy(&said).into_owned()) };
        std::thread::sleep(pause);
    }
}

impl Served {
    /// Runs a script, which says of each of these that it holds.
    pub fn holds(&self, script: Command, items: &[&str]) {
        let set_up = self.database.connect().expect("connects");
        set_up.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'fine')", ()).expect("a type");
        let said = self.said(script, SCRIPT_TIME);
        let held: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
        assert_eq!(held, items, "{said}");
    }

    /// What a script says that ends well, within this time.
    pub fn said(&self, mut script: Command, time: Duration) -> String {
        let said = self.folder.path().join("said");
        let out = File::create(&said).expect("a file");
        let err = out.try_clone().expect("a file");
        script.stdin(Stdio::null()).stdout(out).stderr(err).env("CAIRN_SCRIPTS", scripts());
        let port = self.port().to_string();
        for (name, value) in [
            ("PGHOST", "localhost"),
            ("PGPORT", &port),
            ("PGUSER", USER),
            ("PGPASSWORD", PASSWORD),
            ("PGDATABASE", DATABASE),
        ] {
            script.env(name, value);
        }
        script.env("PGSSLROOTCERT", &self.certificate.root).env("PGSSLMODE", "verify-full");
        let mut child = script.spawn().expect("it runs");
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().expect("waits") {
                Some(status) => break status,
                None if begun.elapsed() > time => child.kill().expect("it ends"),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let said = fs::read_to_string(said).expect("a text");
        assert!(status.success(), "{status}:\n{said}");
        said
    }
}

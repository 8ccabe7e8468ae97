//! Other languages' scripts, run with the place of a server in the environment.

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

//! The shell on a pseudo-terminal.
#![allow(dead_code)]

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell that runs on a terminal of 80 columns and 24 rows, with an empty home.
pub struct Terminal {
    child: Child,
    keys: File,
    shown: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    /// How much of what was seen has been expected.
    expected: usize,
    home: tempfile::TempDir,
}

impl Terminal {
    pub fn running(arguments: &[&str]) -> Terminal {
        Terminal::start(arguments, &[("NO_COLOR", "1")])
    }

    pub fn with_colours(arguments: &[&str]) -> Terminal {
        Terminal::start(arguments, &[])
    }

    pub fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Terminal {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let slave = File::from(terminal.slave);
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        for name in ["NO_COLOR", "PAGER", "EDITOR", "VISUAL", "CAIRNRC", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        command.args(arguments).env("HOME", home.path()).env("TERM", "xterm").current_dir(home.path());
        command.envs(environment.iter().copied());
        let child = command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        drop(slave);
        let keys = File::from(terminal.master);
        let mut screen = keys.try_clone().unwrap();
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody has open any more is an error to read.
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, keys, shown, seen: Vec::new(), expected: 0, home }
    }

    /// The folder that the shell runs in, which is also its home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types.
    pub fn send(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the text is shown, behind what was expected before.
    pub fn expect(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.seen[self.expected..].windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                self.expected += at + text.len();
                return;
            }
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen.extend(bytes),
                Err(reason) => {
                    let rest = String::from_utf8_lossy(&self.seen[self.expected..]).into_owned();
                    let why = if reason == RecvTimeoutError::Timeout { "in time" } else { "before the end" };
                    panic!("{text:?} was not shown {why}, but {rest:?}");
                }
            }
        }
    }

    /// All that was shown until now.
    pub fn seen(&mut self) -> String {
        self.seen.extend(self.shown.try_iter().flatten());
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// The exit code, once the shell has ended.
    pub fn wait(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end; shown: {:?}", self.seen());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

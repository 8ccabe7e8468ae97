//! What tests need of others' packages: installed once, beside what is built.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

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
    let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers");
    fs::create_dir_all(&folders).expect("a folder");
    let folder = folders.join(name);
    // Tests share it, and so may other processes: the folder is made and taken away under the lock alone.
    let lock = File::create(folder.with_extension("lock")).expect("a lock");
    lock.lock().expect("locked");
    let done = folder.join("installed");
    if fs::read_to_string(&done).is_ok_and(|of| of == manifest) {
        return Some(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an empty folder");
    }
    fs::create_dir(&folder).expect("an empty folder");
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

//! Processes that fork: each is a child of the test's, with one test of it in it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, how: i32) -> i32;
    fn _exit(code: i32) -> !;
}

const DATABASE: &str = "CAIRN_TEST_FORK_DATABASE";

/// The child's number; in the child `None`.
pub fn forks() -> Option<i32> {
    // SAFETY: what the child does here waits for no other thread: that is what is tested.
    Some(unsafe { fork() }).filter(|&process| process != 0)
}

/// Ends the process, and does nothing else.
pub fn exit(is_well: bool) -> ! {
    // SAFETY: no more than that.
    unsafe { _exit(i32::from(!is_well)) }
}

/// All that a child does: it fails where `work` panics.
pub fn end_child(work: impl FnOnce()) -> ! {
    exit(catch_unwind(AssertUnwindSafe(work)).is_ok())
}

/// Waits for a child, which must not fail, and comes back.
#[track_caller]
pub fn await_child(process: i32) {
    const DO_NOT_WAIT: i32 = 1;
    let until = Instant::now() + Duration::from_secs(20);
    let mut status = 0;
    // SAFETY: a child of ours, and a place for its status.
    while unsafe { waitpid(process, &raw mut status, DO_NOT_WAIT) } != process {
        if Instant::now() > until {
            let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
            panic!("the child does not come back");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child failed");
}

/// Runs one of the test program's ignored tests, which forks, in a process and a folder of its own.
pub fn in_process_of_its_own(folder: &str, test: &str) {
    let folder = Path::new(folder).join(format!("{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    run_with(&folder.join("x.cairn"), test);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As that, of the database that is there.
pub fn run_with(database: &Path, test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(DATABASE, database)
        .output()
        .unwrap();
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
}

/// The database of the process that was started so.
pub fn database() -> PathBuf {
    PathBuf::from(std::env::var_os(DATABASE).expect("run by another test"))
}

/// What lies in its folder.
pub fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

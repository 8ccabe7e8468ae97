//! Files of the operating system (`io/real.rs`) over a file system that fails as Linux's do: calls that stop early or are
//! interrupted, no space in the middle of a write, and a loss that each open file is told once.
//!
//! A child process commits under a shim (`faulty/shim.c`, compiled here) that catches its system calls; what it
//! acknowledged must be there when its files are opened without the shim. Left out, with a line that says so, where there
//! is no C compiler, or no seccomp in the kernel; with `CAIRN_INSIST` that is a failure.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use cairn_storage::{Error, Options, Store, SyncMethod, TreeId};

const DATABASE: &str = "CAIRN_TEST_FAULTY_DATABASE";
const METHOD: &str = "CAIRN_TEST_FAULTY_METHOD";
const METHODS: [SyncMethod; 3] = [SyncMethod::Auto, SyncMethod::Dsync, SyncMethod::WriteSync];
/// Threads that commit, and commits of each.
const THREADS: u32 = 3;
const COMMITS: u32 = 120;
/// What the shim ends a process with that it can do nothing in.
const NO_FILTERS: i32 = 77;

/// A small log, so that it grows and is used again many times.
fn options(method: SyncMethod) -> Options {
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    options.log_segment_bytes = 32 << 10;
    options.log_limit_bytes = 1 << 20;
    options.checkpoint_log_bytes = 256 << 10;
    options.sync_method = method;
    options
}

/// The value of a key: of many lengths, up to more than a page.
fn value(key: u32) -> Vec<u8> {
    vec![key as u8; (key as usize * 67) % 6_000]
}

/// One line, whole, past what keeps the output of tests.
fn tell(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[test]
#[ignore = "the process under the shim"]
fn committing_process() {
    let path = std::env::var_os(DATABASE).expect("run by the other tests");
    let method = METHODS[std::env::var(METHOD).unwrap().parse::<usize>().unwrap()];
    let store = match Store::open(Path::new(&path), options(method)) {
        Ok(store) => store,
        Err(error) => return tell(&format!("failed open {}", error.sqlstate())),
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || (0..COMMITS).for_each(|at| commit(store, at * THREADS + thread)));
        }
    });
    tell("done");
    // As a kill would have it: nothing is closed.
    std::process::exit(0);
}

/// Commits a key; once more where there was no space.
fn commit(store: &Store, key: u32) {
    for _ in 0..50 {
        tell(&format!("begin {key}"));
        let done = store.begin().and_then(|transaction| {
            transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &value(key))?;
            transaction.commit(None)
        });
        match done {
            Ok(()) => return tell(&format!("ack {key}")),
            Err(error @ Error::DiskFull { .. }) => {
                tell(&format!("failed {key} {}", error.sqlstate()));
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return tell(&format!("failed {key} {}", error.sqlstate())),
        }
    }
}

/// A fault of the shim.
struct Fault {
    kind: &'static str,
    /// The end of the files' names that it is about.
    files: &'static str,
    at: u32,
    length: u32,
}

/// What a child told, line by line.
struct Told(Vec<String>);

impl Told {
    fn count(&self, word: &str) -> usize {
        self.0.iter().filter(|line| line.starts_with(word)).count()
    }

    fn has(&self, line: &str) -> bool {
        self.0.iter().any(|told| told == line)
    }
}

/// The shim, compiled once; `None`: there is no compiler.
fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, shim) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faulty/shim.c"), folder.join("faulty.so"));
        let compiler = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).output();
        match compiler {
            Ok(output) if output.status.success() => Some(shim),
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => leave_out(&format!("no C compiler, cc: {error}")),
        }
    };
    SHIM.get_or_init(compile).as_deref()
}

fn leave_out<T>(why: &str) -> Option<T> {
    assert!(std::env::var_os("CAIRN_INSIST").is_none(), "{why}");
    // Not by a macro, whose output is shown of failed tests only.
    let _ = writeln!(std::io::stderr(), "LEFT OUT, files of a file system that fails: {why}");
    None
}

/// Runs the child on a new database; what it told. `None`: it can not be done here.
fn run(folder: &Folder, method: SyncMethod, fault: &Fault) -> Option<Told> {
    let Output { status, stdout, stderr } = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "committing_process", "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", shim()?)
        .env("FAULTY_FILE", fault.files)
        .env("FAULTY_KIND", fault.kind)
        .env("FAULTY_AT", fault.at.to_string())
        .env("FAULTY_FOR", fault.length.to_string())
        .env(DATABASE, folder.database())
        .env(METHOD, METHODS.iter().position(|known| *known == method).unwrap().to_string())
        .output()
        .unwrap();
    if status.code() == Some(NO_FILTERS) {
        return leave_out("no seccomp filters here");
    }
    assert!(status.success(), "{status} {}", String::from_utf8_lossy(&stderr));
    Some(Told(String::from_utf8_lossy(&stdout).lines().map(str::to_string).collect()))
}

/// Without the shim: all that was acknowledged is there, all else is whole or not there.
fn judge(folder: &Folder, told: &Told) {
    let store = Store::open(folder.database(), options(SyncMethod::Auto)).unwrap();
    let snapshot = store.snapshot().unwrap();
    for key in 0..THREADS * COMMITS {
        match snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap() {
            Some(bytes) => assert!(bytes == value(key), "key {key} has another value"),
            None => assert!(!told.has(&format!("ack {key}")), "key {key} was acknowledged and is not there"),
        }
    }
    drop(snapshot);
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
    store.close().unwrap();
}

#[test]
fn calls_that_stop_early_or_are_interrupted_are_completed() {
    for method in METHODS {
        for files in [".cairn", ".cairn-log"] {
            let folder = Folder::new("short");
            let fault = Fault { kind: "short", files, at: 0, length: 0 };
            let Some(told) = run(&folder, method, &fault) else { return };
            assert_eq!(told.count("ack"), (THREADS * COMMITS) as usize, "{:?}: {:?}", method, told.0);
            judge(&folder, &told);
        }
    }
}

#[test]
fn without_space_commits_fail_by_name_and_go_on_once_there_is_some() {
    for method in METHODS {
        for at in [20, 60, 150] {
            let folder = Folder::new("full");
            let fault = Fault { kind: "full", files: ".cairn-log", at, length: 12 };
            let Some(told) = run(&folder, method, &fault) else { return };
            assert!(told.has("full"), "no write was refused: {:?}", told.0);
            judge(&folder, &told);
            let codes = codes(&told);
            // A log that was cut in a batch is not written to again; otherwise everything goes on.
            if codes.keys().all(|code| code == "53100") {
                assert_eq!(told.count("ack"), (THREADS * COMMITS) as usize, "{:?} at {at}: {codes:?}", method);
            } else {
                assert!(codes.keys().all(|code| ["53100", "08007", "25006"].contains(&code.as_str())), "{codes:?}");
            }
        }
    }
}

/// The errors that commits failed with, and how often.
fn codes(told: &Told) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for line in told.0.iter().filter(|line| line.starts_with("failed")) {
        *codes.entry(line.rsplit(' ').next().unwrap_or_default().to_string()).or_default() += 1;
    }
    codes
}

#[test]
fn nothing_that_began_after_a_loss_was_told_is_acknowledged() {
    for method in METHODS {
        let mut lost = 0;
        for at in (1..60).step_by(5) {
            let folder = Folder::new("told");
            let fault = Fault { kind: "told", files: ".cairn-log", at, length: 0 };
            let Some(told) = run(&folder, method, &fault) else { return };
            let Some(first) = told.0.iter().position(|line| line == "lost") else { continue };
            lost += 1;
            let after = &told.0[first..];
            for begun in after.iter().filter_map(|line| line.strip_prefix("begin ")) {
                let ack = format!("ack {begun}");
                assert!(!after.contains(&ack), "{:?} at {at}: {ack} began after the loss was told", method);
            }
            let allowed = ["08007", "25006", "58030"];
            assert!(codes(&told).keys().all(|code| allowed.contains(&code.as_str())), "{:?}", codes(&told));
            judge(&folder, &told);
        }
        // Files in memory are never synced.
        assert!(lost > 0 || in_memory(), "no sync failed with {:?}", method);
    }
}

fn in_memory() -> bool {
    let folder = Folder::new("memory");
    let store = Store::open(folder.database(), options(SyncMethod::Auto)).unwrap();
    store.sync_method() == Some(SyncMethod::MemoryFile)
}

/// A folder of the test's own beside the build, which is rarely in memory; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faulty-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn database(&self) -> PathBuf {
        self.0.join("x.cairn")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

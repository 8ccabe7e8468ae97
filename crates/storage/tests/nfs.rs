//! Locks of a file system whose exclusive ones need a file that may be written: NFSv4's, which flock is emulated on there.
//!
//! A child process opens databases under a shim (`faulty/nfs.c`, compiled here). Left out, with a line that says so, where there
//! is no C compiler; with `CAIRN_INSIST` that is a failure.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cairn_storage::{Error, Options, Store, TreeId};

const DATABASE: &str = "CAIRN_TEST_NFS_DATABASE";

#[test]
#[ignore = "the process under the shim"]
fn opening_process() {
    let path = PathBuf::from(std::env::var_os(DATABASE).expect("run by the other test"));
    for session in 0..3u32 {
        let store = Store::open(&path, Options::default()).unwrap_or_else(|error| panic!("opening {session}: {error}"));
        assert!(matches!(Store::open(&path, Options::default()), Err(Error::Busy { .. })));
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, &session.to_be_bytes(), b"value").unwrap();
        transaction.commit(None).unwrap();
        store.close().unwrap();
    }
    let mut reading = Options::default();
    reading.read_only = true;
    let readers = [Store::open(&path, reading.clone()).unwrap(), Store::open(&path, reading).unwrap()];
    assert!(matches!(Store::open(&path, Options::default()), Err(Error::Busy { .. })));
    for reader in readers {
        let snapshot = reader.snapshot().unwrap();
        assert!((0..3u32).all(|key| snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap().is_some()));
    }
}

/// The second opening failed: the exclusive lock of the database file was asked for of a file that was open for reading.
#[test]
fn a_database_on_such_a_file_system_is_opened_again_and_by_one_writer() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nfs-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (source, shim) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faulty/nfs.c"), folder.join("nfs.so"));
    match Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            assert!(std::env::var_os("CAIRN_INSIST").is_none(), "no C compiler, cc: {error}");
            // Not by a macro, whose output is shown of failed tests only.
            return drop(writeln!(std::io::stderr(), "LEFT OUT, locks as NFSv4's: no C compiler, cc: {error}"));
        }
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "opening_process", "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", &shim)
        .env(DATABASE, folder.join("x.cairn"))
        .output()
        .unwrap();
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    std::fs::remove_dir_all(&folder).unwrap();
}

//! Errors of the database's file that the system tells one of two who sync it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Error, Options, QuietHost, Store};

use super::files::{Call, WatchedFiles};
use super::put;

/// How long a sync fails for, where nobody goes on meanwhile.
const FAILING: Duration = Duration::from_millis(100);

/// Who cuts the file synced it beside checkpoints. The system tells an open file once of what it lost: his sync lost a
/// checkpoint's pages, and that checkpoint was told that they are durable, named them, and let go of the log that had them.
#[test]
fn a_checkpoint_beside_a_sync_that_fails_is_told_of_it() {
    let (failing, has_begun) = mpsc::channel();
    let (made, is_made) = mpsc::channel();
    let (is_cut, is_made) = (AtomicBool::new(false), Mutex::new(is_made));
    let files = WatchedFiles::new(MemFs::default(), move |file, _, call| {
        if file != Path::new("db") {
            return Ok(());
        }
        match call {
            Call::SetLength => is_cut.store(true, Ordering::SeqCst),
            Call::Sync if is_cut.swap(false, Ordering::SeqCst) => {
                failing.send(()).unwrap();
                let _ = is_made.lock().unwrap().recv_timeout(FAILING);
                return Err(io::Error::other("what was written is lost"));
            }
            _ => {}
        }
        Ok(())
    });
    let env = Environment { files: Arc::new(files), host: Arc::new(QuietHost::default()) };
    let store = Store::open_with("db", Options::default(), env).unwrap();
    put(&store, b"key", 10).unwrap();
    let other = store.clone();
    let beside = std::thread::spawn(move || {
        has_begun.recv().unwrap();
        put(&other, b"other", 10).unwrap();
        let result = other.checkpoint();
        let _ = made.send(());
        result
    });
    assert!(matches!(store.compact(), Err(Error::Io { .. })));
    let told = beside.join().unwrap();
    assert!(matches!(told, Err(Error::Poisoned { .. })), "{told:?}");
}

#[test]
fn an_error_that_a_checkpoint_never_hears_is_noticed() {
    broken::must_be_caught(Broken::CutUnheard, a_checkpoint_beside_a_sync_that_fails_is_told_of_it);
}

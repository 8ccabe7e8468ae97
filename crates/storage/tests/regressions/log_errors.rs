//! Errors of the log's medium, told as Linux tells them.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Error, Options, RealHost, Store};

use super::files::{Call, WatchedFiles};
use super::put;

/// One failure to bring the log's bytes to the medium, while a batch is being written.
#[derive(Default)]
struct Failure {
    /// Every open file of the log.
    opened: HashSet<usize>,
    is_batch_written: bool,
    happened: bool,
    /// The open files that have not been told.
    untold: HashSet<usize>,
}

/// Linux tells each open file once of bytes that did not reach the medium. The leader of a batch and the thread that
/// makes the log longer shared one: when the latter was told, the batch was acknowledged.
#[test]
fn an_error_told_to_who_extends_the_log_is_told_to_who_writes_a_batch() {
    let state = Arc::new((Mutex::new(Failure::default()), Condvar::new()));
    let shared = state.clone();
    let watch = move |path: &std::path::Path, file: usize, call: Call| -> io::Result<()> {
        if !path.to_string_lossy().ends_with("-log") {
            return Ok(());
        }
        let (state, changed) = &*shared;
        let mut failure = state.lock().unwrap();
        match call {
            Call::Opened => _ = failure.opened.insert(file),
            Call::WriteDurable if !failure.happened => {
                failure.is_batch_written = true;
                let longest = Duration::from_millis(20);
                failure = changed.wait_timeout_while(failure, longest, |failure| !failure.happened).unwrap().0;
                failure.is_batch_written = false;
            }
            Call::Sync if failure.is_batch_written && !failure.happened => {
                failure.happened = true;
                failure.untold = failure.opened.clone();
                changed.notify_all();
            }
            _ => {}
        }
        let is_told = matches!(call, Call::WriteDurable | Call::Sync) && failure.untold.remove(&file);
        if is_told { Err(io::Error::other("the medium lost some bytes")) } else { Ok(()) }
    };
    let files = Arc::new(WatchedFiles::new(MemFs::new(), watch));
    let env = Environment { files, host: Arc::new(RealHost::default()) };
    let mut options = Options::default();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 16 << 20;
    let store = Store::open_with("db", options, env).unwrap();
    let happened = || state.0.lock().unwrap().happened;
    for i in 0..1000u32 {
        let committed = put(&store, &i.to_be_bytes(), 1000);
        if happened() {
            assert!(matches!(committed, Err(Error::OutcomeUnknown { .. })), "{committed:?}");
            let next = put(&store, b"next", 10);
            assert!(matches!(next, Err(Error::Poisoned { .. } | Error::OutcomeUnknown { .. })), "{next:?}");
            return;
        }
        committed.unwrap();
    }
    panic!("the log was never extended while a batch was being written");
}

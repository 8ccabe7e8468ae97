//! Who waits for a write of the log, and who does not.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cairn_storage::io::MemFs;
use cairn_storage::{Durability, Environment, Error, Options, RealHost, Store, TreeId};

use super::files::{Call, WatchedFiles};
use super::put;

/// Longer than anything here takes, on any machine.
const LONG: Duration = Duration::from_secs(20);

/// Files whose calls stop while they are told to, until they are told what is to become of them.
struct Stopped {
    /// Writes of the log, or syncs of the database.
    at: Arc<Mutex<Option<Call>>>,
    /// Batches written.
    written: Arc<AtomicUsize>,
    begun: Receiver<()>,
    end: Sender<End>,
}

enum End {
    Success,
    Panic,
}

fn open(options: Options) -> (Store, Stopped) {
    let (at, written) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let ((begins, begun), (end, ends)) = (channel(), channel());
    let channels = Mutex::new((begins, ends));
    let (stops_at, count) = (at.clone(), written.clone());
    let watch = move |path: &std::path::Path, _, call: Call| -> io::Result<()> {
        let is_log = path.to_string_lossy().ends_with("-log");
        count.fetch_add(usize::from(call == Call::WriteDurable), Ordering::SeqCst);
        if *stops_at.lock().unwrap() != Some(call) || is_log != (call == Call::WriteDurable) {
            return Ok(());
        }
        let end = {
            let channels = channels.lock().unwrap();
            channels.0.send(()).unwrap();
            channels.1.recv_timeout(LONG)
        };
        assert!(!matches!(end, Ok(End::Panic)), "the medium's driver");
        Ok(())
    };
    let files = Arc::new(WatchedFiles::new(MemFs::new(), watch));
    let store = Store::open_with("db", options, Environment { files, host: Arc::new(RealHost::default()) }).unwrap();
    (store, Stopped { at, written, begun, end })
}

/// Runs it in a thread of its own; the result can be waited for.
fn aside<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(run()));
    receiver
}

fn put_as(store: &Store, key: &[u8], mode: Durability) -> cairn_storage::Result<()> {
    let transaction = store.begin()?;
    transaction.put(TreeId::CATALOG, key, b"value")?;
    transaction.commit(Some(mode))
}

fn is_there(store: &Store, key: &[u8]) -> bool {
    store.snapshot().unwrap().reader().get(TreeId::CATALOG, key).unwrap().is_some()
}

/// Each write of the log stopped them, and what waited then was written for its own sake: the next ones waited for that.
#[test]
fn weak_commits_do_not_wait_for_the_log() {
    let (store, log) = open(Options::default());
    *log.at.lock().unwrap() = Some(Call::WriteDurable);
    put_as(&store, b"first", Durability::Interval).unwrap();
    log.begun.recv_timeout(LONG).unwrap();
    for (key, mode) in [(b"second", Durability::Interval), (b"third!", Durability::Off)] {
        let other = store.clone();
        aside(move || put_as(&other, key, mode)).recv_timeout(LONG / 4).expect("it waits").unwrap();
        assert!(is_there(&store, key));
    }
    // A strong one does, and the weak ones behind it.
    let other = store.clone();
    let strong = aside(move || put_as(&other, b"strong", Durability::Full));
    assert!(strong.recv_timeout(Duration::from_millis(50)).is_err());
    assert!(!is_there(&store, b"strong"));
    let other = store.clone();
    let behind = aside(move || put_as(&other, b"behind", Durability::Off));
    assert!(behind.recv_timeout(Duration::from_millis(50)).is_err());
    assert!(!is_there(&store, b"behind"));
    *log.at.lock().unwrap() = None;
    log.end.send(End::Success).unwrap();
    strong.recv_timeout(LONG).unwrap().unwrap();
    behind.recv_timeout(LONG).unwrap().unwrap();
    assert!(is_there(&store, b"strong") && is_there(&store, b"behind"));
}

/// The one of those who slept until the next batch is done that was woken to lead it was in a group, and slept on.
#[test]
fn who_is_in_a_hurry_does_not_wait_for_a_group() {
    let mut options = Options::default();
    options.group_interval = 10 * LONG;
    let (store, log) = open(options);
    *log.at.lock().unwrap() = Some(Call::WriteDurable);
    let commit = |key: &'static [u8], mode| {
        let other = store.clone();
        aside(move || put_as(&other, key, mode))
    };
    let first = commit(b"first", Durability::Full);
    log.begun.recv_timeout(LONG).unwrap();
    let in_group = commit(b"group", Durability::Group);
    thread::sleep(Duration::from_millis(50));
    let hurried = commit(b"hurried", Durability::Full);
    thread::sleep(Duration::from_millis(50));
    *log.at.lock().unwrap() = None;
    log.end.send(End::Success).unwrap();
    first.recv_timeout(LONG).unwrap().unwrap();
    hurried.recv_timeout(LONG).expect("it waits for the group").unwrap();
    in_group.recv_timeout(LONG).expect("its batch was written").unwrap();
}

/// Others sharing the write is what it asks for.
#[test]
fn who_is_in_a_group_waits_until_that_is_large() {
    let mut options = Options::default();
    (options.group_interval, options.group_size) = (10 * LONG, 3);
    let (store, log) = open(options);
    let before = log.written.load(Ordering::SeqCst);
    let commits: Vec<_> = (0..3u8)
        .map(|i| {
            let other = store.clone();
            thread::sleep(Duration::from_millis(20));
            aside(move || put_as(&other, &[i], Durability::Group))
        })
        .collect();
    for commit in commits {
        commit.recv_timeout(LONG).expect("it waits on").unwrap();
    }
    // And perhaps the note that the log is idle.
    assert!(log.written.load(Ordering::SeqCst) <= before + 2, "each was written by itself");
}

/// What only has to be durable before something else goes on made the weak commits behind it wait.
#[test]
fn weak_commits_do_not_wait_for_the_log_of_a_checkpoint() {
    let (store, log) = open(Options::default());
    put_as(&store, b"first", Durability::Off).unwrap();
    *log.at.lock().unwrap() = Some(Call::WriteDurable);
    let other = store.clone();
    let checkpoint = aside(move || other.checkpoint());
    log.begun.recv_timeout(LONG).unwrap();
    let other = store.clone();
    let weak = aside(move || put_as(&other, b"second", Durability::Off));
    weak.recv_timeout(LONG / 4).expect("it waits").unwrap();
    assert!(is_there(&store, b"second"));
    *log.at.lock().unwrap() = None;
    log.end.send(End::Success).unwrap();
    checkpoint.recv_timeout(LONG).unwrap().unwrap();
}

/// The thread that writes what nobody waits for slept for the whole sync interval whatever came meanwhile.
#[test]
fn a_long_sync_interval_is_not_waited_for_by_others() {
    let mut options = Options::default();
    options.sync_interval = 10 * LONG;
    let (store, _log) = open(options);
    put_as(&store, b"weak", Durability::Interval).unwrap();
    thread::sleep(Duration::from_millis(50));
    let transaction = store.begin().unwrap();
    transaction.put(TreeId::CATALOG, b"pipelined", b"value").unwrap();
    let ticket = transaction.commit_async().unwrap();
    let began = Instant::now();
    while !ticket.is_durable() {
        assert!(began.elapsed() < LONG, "it is not written");
        thread::sleep(Duration::from_millis(1));
    }
    drop(ticket);
    put_as(&store, b"weak", Durability::Interval).unwrap();
    thread::sleep(Duration::from_millis(50));
    aside(move || store.close()).recv_timeout(LONG).expect("closing waits").unwrap();
}

/// Only the first time: the thread that does it then slept until somebody committed without waiting.
#[test]
fn every_time_the_log_goes_idle_its_end_is_noted() {
    let (store, log) = open(Options::default());
    let written = || log.written.load(Ordering::SeqCst);
    for round in 1..5 {
        // What opening wrote, or `put`, and the note.
        let began = Instant::now();
        while written() < 2 * round {
            assert!(began.elapsed() < LONG, "the last batch is not noted as durable the {round}th time");
            thread::sleep(Duration::from_millis(10));
        }
        if round < 4 {
            put(&store, b"key", 10).unwrap();
        }
    }
    thread::sleep(Duration::from_millis(500));
    assert_eq!(written(), 8, "it is noted once");
}

/// The threads were stopped first: while closing wrote a checkpoint, nobody wrote what was committed meanwhile.
#[test]
fn while_a_database_closes_weak_commits_are_written() {
    let (store, files) = open(Options::default());
    put(&store, b"key", 10).unwrap();
    *files.at.lock().unwrap() = Some(Call::Sync);
    let other = store.clone();
    let close = aside(move || other.close());
    files.begun.recv_timeout(LONG).unwrap();
    let before = files.written.load(Ordering::SeqCst);
    put_as(&store, b"weak", Durability::Interval).unwrap();
    let began = Instant::now();
    while files.written.load(Ordering::SeqCst) == before {
        assert!(began.elapsed() < LONG, "nobody writes it");
        thread::sleep(Duration::from_millis(1));
    }
    *files.at.lock().unwrap() = None;
    files.end.send(End::Success).unwrap();
    close.recv_timeout(LONG).unwrap().unwrap();
}

/// They slept for ever.
#[test]
fn who_waits_for_a_leader_that_panics_is_told() {
    let (store, log) = open(Options::default());
    put(&store, b"key", 10).unwrap();
    *log.at.lock().unwrap() = Some(Call::WriteDurable);
    let other = store.clone();
    let leader = thread::spawn(move || put(&other, b"lost", 10));
    log.begun.recv_timeout(LONG).unwrap();
    let waiters: Vec<_> = (0..3u8)
        .map(|i| {
            let other = store.clone();
            aside(move || put(&other, &[i], 10))
        })
        .collect();
    thread::sleep(Duration::from_millis(50));
    log.end.send(End::Panic).unwrap();
    for waiter in waiters {
        let told = waiter.recv_timeout(LONG).expect("it sleeps");
        assert!(matches!(&told, Err(Error::OutcomeUnknown { cause }) if cause.contains("panicked")), "{told:?}");
    }
    assert!(!matches!(leader.join(), Ok(Ok(()))));
    assert!(matches!(put(&store, b"later", 10), Err(Error::Poisoned { .. })));
    assert!(is_there(&store, b"key") && !is_there(&store, b"lost"));
}

//! Commits that wakers wait for, and sessions that wait for nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use cairn_storage::io::SimDisk;
use cairn_storage::{Acknowledge, Environment, Error, Options, QuietHost, Store, Ticket, TreeId, WriteError};

const T: TreeId = TreeId::CATALOG;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn task() -> (Arc<Woken>, Waker) {
    let woken = Arc::new(Woken::default());
    (woken.clone(), Waker::from(woken))
}

fn poll(ticket: &mut Ticket, waker: &Waker) -> Poll<Result<(), Error>> {
    ticket.poll(&mut Context::from_waker(waker))
}

/// Without background threads: nothing is written before somebody waits.
fn quiet(disk: &SimDisk) -> Store {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    Store::open_with("db", Options::default(), env).unwrap()
}

fn later(store: &Store, key: &[u8]) -> Ticket {
    let put = store.session().unwrap().write::<_, ()>(Acknowledge::Later, |writer| Ok(writer.put(T, key, b"value")?));
    put.unwrap().1
}

#[test]
fn a_waker_is_woken_once_its_commit_is_durable_and_seen() {
    let store = quiet(&SimDisk::new(1));
    let (mut first, mut second) = (later(&store, b"1"), later(&store, b"2"));
    let ((one, waker), (other, other_waker)) = (task(), task());
    assert!(poll(&mut first, &other_waker).is_pending());
    assert!(poll(&mut first, &waker).is_pending() && poll(&mut second, &other_waker).is_pending());
    assert_eq!((one.0.load(Ordering::SeqCst), other.0.load(Ordering::SeqCst)), (0, 0));
    later(&store, b"3").wait().unwrap();
    // The waker that was given last, once each.
    assert_eq!((one.0.load(Ordering::SeqCst), other.0.load(Ordering::SeqCst)), (1, 1));
    assert!(store.snapshot().unwrap().reader().get(T, b"1").unwrap().is_some());
    assert!(matches!(poll(&mut first, &waker), Poll::Ready(Ok(()))));
    assert!(matches!(poll(&mut second, &waker), Poll::Ready(Ok(()))));
}

/// The host's clock goes on by 100 us with each look: none but those around the write.
#[test]
fn who_leads_waits_for_as_long_as_it_writes_and_looks_at_no_other_clock() {
    let store = quiet(&SimDisk::new(1));
    let counted = || (store.stats().commits_waited_1ms, store.stats().commit_wait_us);
    let (commits, us) = counted();
    for key in [b"1", b"2"] {
        let mut session = store.session().unwrap();
        let put = session.write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(T, key, b"value")?));
        put.unwrap().1.wait().unwrap();
    }
    assert_eq!(counted(), (commits + 2, us + 200));
    // Who does not wait where it commits is not counted.
    later(&store, b"3").wait().unwrap();
    assert_eq!(counted(), (commits + 2, us + 200));
}

#[test]
fn a_dropped_ticket_wakes_nobody() {
    let store = quiet(&SimDisk::new(1));
    let mut ticket = later(&store, b"1");
    let (woken, waker) = task();
    assert!(poll(&mut ticket, &waker).is_pending());
    drop(ticket);
    later(&store, b"2").wait().unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    assert_eq!(Arc::strong_count(&woken), 2, "the waker was let go of");
}

#[test]
fn a_write_that_fails_wakes_whoever_waits_and_tells_that_the_outcome_is_unknown() {
    let disk = SimDisk::new(1);
    let store = quiet(&disk);
    later(&store, b"0").wait().unwrap();
    let (mut ticket, mut late) = (later(&store, b"1"), later(&store, b"2"));
    let (woken, waker) = task();
    assert!(poll(&mut ticket, &waker).is_pending());
    disk.fail_sync(1);
    assert!(later(&store, b"3").wait().is_err());
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(matches!(poll(&mut ticket, &waker), Poll::Ready(Err(Error::OutcomeUnknown { .. }))));
    assert!(matches!(poll(&mut late, &waker), Poll::Ready(Err(Error::OutcomeUnknown { .. }))));
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the waker's own");
        }
    }
    let store = quiet(&SimDisk::new(1));
    let (mut first, mut second) = (later(&store, b"1"), later(&store, b"2"));
    let (woken, waker) = task();
    assert!(poll(&mut first, &Waker::from(Arc::new(Panics))).is_pending());
    assert!(poll(&mut second, &waker).is_pending());
    later(&store, b"3").wait().unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    later(&store, b"4").wait().unwrap();
}

/// With the threads of a real database: the log thread wakes.
#[test]
fn the_log_thread_wakes_who_waits() {
    let disk = SimDisk::new(1);
    let env = Environment { files: Arc::new(disk), ..Environment::in_memory() };
    let store = Store::open_with("db", Options::default(), env).unwrap();
    let mut session = store.session().unwrap().impatient();
    let (woken, waker) = task();
    for n in 0..100u32 {
        let put =
            session.write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(T, &n.to_be_bytes(), b"value")?));
        let mut ticket = put.unwrap().1;
        let seen = woken.0.load(Ordering::SeqCst);
        if poll(&mut ticket, &waker).is_pending() {
            let start = Instant::now();
            while woken.0.load(Ordering::SeqCst) == seen {
                assert!(start.elapsed() < Duration::from_secs(20), "nobody was woken");
                std::thread::yield_now();
            }
            assert!(matches!(poll(&mut ticket, &waker), Poll::Ready(Ok(()))));
        }
        assert!(store.snapshot().unwrap().reader().get(T, &n.to_be_bytes()).unwrap().is_some());
    }
}

#[test]
fn an_impatient_session_waits_for_neither_lock_nor_page() {
    let disk = SimDisk::new(1);
    let store = quiet(&disk);
    let mut impatient = store.session().unwrap().impatient();
    let would_wait =
        |done: Result<((), Ticket), WriteError<()>>| matches!(done, Err(WriteError::Storage(Error::WouldWait)));
    let mut inner = store.session().unwrap().impatient();
    let held = store.session().unwrap().write::<_, ()>(Acknowledge::Later, |writer| {
        assert!(would_wait(inner.write(Acknowledge::Later, |writer| Ok(writer.put(T, b"2", b"")?))));
        Ok(writer.put(T, b"1", b"value")?)
    });
    held.unwrap().1.wait().unwrap();
    store.checkpoint().unwrap();
    drop((impatient, inner));
    store.close().unwrap();

    let store = quiet(&disk);
    impatient = store.session().unwrap().impatient();
    let read = |session: &mut cairn_storage::Session| {
        session.read::<_, ()>(|reader| Ok(reader.get(T, b"1")?.map(<[u8]>::len)))
    };
    let first = read(&mut impatient);
    if first.is_err() {
        assert!(matches!(first, Err(WriteError::Storage(Error::WouldWait))), "{first:?}");
        let wrote = impatient.write::<(), ()>(Acknowledge::Later, |writer| {
            writer.get(T, b"1")?;
            Ok(writer.put(T, b"2", b"")?)
        });
        assert!(would_wait(wrote));
    }
    assert_eq!(read(&mut store.session().unwrap()).unwrap(), Some(5));
    assert_eq!(read(&mut impatient).unwrap(), Some(5));
}

/// Where the log is in memory nobody else has to write it.
#[test]
fn in_memory_a_write_of_an_impatient_session_is_done_at_once() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let mut session = store.session().unwrap().impatient();
    let (_, ticket) =
        session.write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(T, b"1", b"value")?)).unwrap();
    ticket.wait().unwrap();
    assert!(store.snapshot().unwrap().reader().get(T, b"1").unwrap().is_some());
}

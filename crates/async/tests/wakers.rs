//! Wakers of tasks: others' code, which may do anything whenever one is copied, woken or dropped.

#[path = "../../storage/tests/regressions/hooked.rs"]
mod hooked;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use cairndb::Result;
use cairndb_async::{Database, Options};
use futures_util::FutureExt;
use hooked::{Done, hooked};
use pollster::block_on;

/// Longer than anything here takes, on any machine.
const LONG: Duration = Duration::from_secs(20);

type Work<'a> = Pin<Box<dyn Future<Output = Result<i32>> + 'a>>;

fn panicking() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the waker's own");
        }
    }
    Waker::from(Arc::new(Panics))
}

fn poll<T>(work: &mut Pin<Box<dyn Future<Output = T> + '_>>, waker: &Waker) -> Poll<T> {
    work.as_mut().poll(&mut Context::from_waker(waker))
}

/// In a thread of its own: what waits for a lock of its own waits for ever.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        test();
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(LONG).expect("it waits for ever, or panicked");
}

/// One thread does all work, and one that asks for some has a place in its queue.
fn narrow() -> Database {
    block_on(Database::open_in_memory_with(Options::default().workers(1).queue(1))).unwrap()
}

fn ask(db: &Database, answer: i32) -> Work<'_> {
    Box::pin(db.call(move |_| Ok(answer)))
}

/// Keeps the thread from anything else until it is told to go on.
fn busy(db: &Database) -> (Work<'_>, Sender<()>) {
    let ((begun, begins), (go, may_go)): ((_, Receiver<()>), (_, Receiver<()>)) = (channel(), channel());
    let mut work: Work<'_> = Box::pin(db.call(move |_| {
        let _ = begun.send(());
        let _ = may_go.recv();
        Ok(1)
    }));
    assert!(poll(&mut work, Waker::noop()).is_pending());
    begins.recv_timeout(LONG).unwrap();
    (work, go)
}

/// It panicked in the thread that had taken up another's work, who was told that the database was closed (the process ended where
/// his waker panicked then, too); and who waited behind it was not woken.
#[test]
fn a_waker_that_panics_takes_nothing_from_others() {
    ends(|| {
        let db = narrow();
        let (first, go) = busy(&db);
        let (mut second, mut third, mut fourth) = (ask(&db, 2), ask(&db, 3), ask(&db, 4));
        let (wakes, woken) = channel();
        let waker = hooked(move |done| {
            if done == Done::Woken {
                let _ = wakes.send(());
            }
        });
        assert!(poll(&mut second, &panicking()).is_pending());
        // For a place.
        assert!(poll(&mut third, &panicking()).is_pending() && poll(&mut fourth, &waker).is_pending());
        go.send(()).unwrap();
        woken.recv_timeout(LONG).expect("who waits behind one that panics is woken");
        assert_eq!([first, second, fourth, third].map(|work| block_on(work).unwrap()), [1, 2, 4, 3]);
        block_on(db.close()).unwrap();
    });
}

/// It panicked in who closed, and of several who closed those behind it waited for ever.
#[test]
fn a_waker_that_panics_is_nothing_to_who_closes() {
    ends(|| {
        let db = narrow();
        let (first, go) = busy(&db);
        let (mut second, mut third) = (ask(&db, 2), ask(&db, 3));
        assert!(poll(&mut second, Waker::noop()).is_pending() && poll(&mut third, &panicking()).is_pending());
        let mut closing: Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(db.clone().close());
        assert!(poll(&mut closing, &panicking()).is_pending());
        let other = db.clone();
        let (began, begins) = channel();
        let also = thread::spawn(move || {
            let mut also: Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(other.close());
            assert!(poll(&mut also, Waker::noop()).is_pending());
            began.send(()).unwrap();
            block_on(also)
        });
        begins.recv_timeout(LONG).unwrap();
        // It waits by now, or finds that all is over.
        thread::sleep(Duration::from_millis(20));
        go.send(()).unwrap();
        also.join().unwrap().unwrap();
        assert_eq!([first, second].map(|work| block_on(work).unwrap()), [1, 2]);
        assert!(block_on(third).is_err());
        block_on(closing).unwrap();
    });
}

#[test]
fn who_waits_for_a_place_has_his_waker_copied_and_dropped_without_a_lock() {
    ends(|| {
        let db = narrow();
        let (first, go) = busy(&db);
        let mut second = ask(&db, 2);
        assert!(poll(&mut second, Waker::noop()).is_pending());
        let other = db.clone();
        let waker = hooked(move |_| assert!(ask(&other, 0).now_or_never().is_none()));
        let mut third = ask(&db, 3);
        for waker in [&waker, Waker::noop(), &waker] {
            assert!(poll(&mut third, waker).is_pending());
        }
        drop(third);
        drop(waker);
        go.send(()).unwrap();
        assert_eq!([first, second].map(|work| block_on(work).unwrap()), [1, 2]);
        block_on(db.close()).unwrap();
    });
}

#[test]
fn who_waits_for_an_answer_has_his_waker_copied_and_dropped_without_a_lock() {
    for when in [Done::Copied, Done::Dropped] {
        ends(move || {
            let db = narrow();
            let (mut work, go) = busy(&db);
            let (other, is_done) = (db.clone(), AtomicBool::new(false));
            let waker = hooked(move |done| {
                if done == when && !is_done.swap(true, Ordering::SeqCst) {
                    // Its own work ends, for what comes next in the thread is done.
                    go.send(()).unwrap();
                    assert_eq!(block_on(ask(&other, 2)).unwrap(), 2);
                }
            });
            let polled = poll(&mut work, &waker);
            assert_eq!(polled.is_ready(), when == Done::Copied);
            if polled.is_pending() {
                assert!(poll(&mut work, Waker::noop()).is_pending());
                assert_eq!(block_on(&mut work).unwrap(), 1);
            }
            drop((work, waker));
            block_on(db.close()).unwrap();
        });
    }
}

/// It stayed with the work that nobody waited for any more.
#[test]
fn who_goes_leaves_no_waker() {
    ends(|| {
        let db = narrow();
        let (mut work, go) = busy(&db);
        let count = Arc::new(());
        let waker = || {
            let count = count.clone();
            hooked(move |_| assert!(Arc::strong_count(&count) > 0))
        };
        let (mut second, mut third) = (ask(&db, 2), ask(&db, 3));
        for waiting in [&mut work, &mut second, &mut third] {
            assert!(poll(waiting, &waker()).is_pending());
        }
        let mut closing: Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(db.clone().close());
        assert!(poll(&mut closing, &waker()).is_pending());
        // (Who waited for a place was told that there is none any more.)
        drop((closing, third, second, work));
        assert_eq!(Arc::strong_count(&count), 1, "wakers are kept");
        drop(go);
        block_on(db.close()).unwrap();
    });
}

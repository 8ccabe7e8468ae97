//! Threads that the databases of a process share for their background work.
//!
//! What must hold:
//! - Work that is handed over begins at once: on a thread that is idle, or on one that is started for it. It waits for other work to
//!   end only where the system refuses a thread. So whatever one database waits for (a disk that is stuck, a large checkpoint), no
//!   other waits for it.
//! - While anybody is enlisted there is a thread, so that what is handed over is done. (Who is enlisted while the first thread is
//!   being started counts on that one: where the system refuses it, one is started with the first work.) Where nobody is, threads
//!   end as soon as they have nothing to do.
//! - Idle threads are few ([`KEPT`]): others end soon after they have come to be idle.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Condvar, Mutex};

/// Idle threads that stay as long as anybody is enlisted.
const KEPT: usize = 2;

/// How long others wait for more work.
const LINGER: Duration = Duration::from_millis(500);

/// What the threads are called.
const NAME: &str = "cairn-keeper";

type Work = Box<dyn FnOnce() + Send>;

/// Starts a thread.
pub type Starter<'s> = &'s dyn Fn(&str, Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// See the module. Clones are the same crew.
#[derive(Clone, Default)]
pub struct Crew(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    /// Of these, those that wait for work.
    idle: usize,
    enlisted: usize,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        write!(f, "Crew({} threads, {} idle, {} enlisted)", state.threads, state.idle, state.enlisted)
    }
}

/// Somebody counts on a crew, until this is dropped.
#[derive(Debug)]
pub struct Enlisted(Crew);

impl Crew {
    /// Makes sure that there is a thread as long as the returned value lives; fails where none can be started.
    pub fn enlist(&self, start: Starter<'_>) -> io::Result<Enlisted> {
        let mut state = self.0.state.lock();
        state.enlisted += 1;
        let enlisted = Enlisted(self.clone());
        if state.threads == 0 {
            state.threads = 1;
            drop(state);
            self.start(start)?;
        }
        Ok(enlisted)
    }

    /// Has the work done. Fails where no thread can be started and there is none, which is never so while somebody is enlisted.
    pub fn run(&self, work: Box<dyn FnOnce() + Send>, start: Starter<'_>) -> io::Result<()> {
        let mut state = self.0.state.lock();
        state.waiting.push_back(work);
        if state.idle >= state.waiting.len() {
            drop(state);
            self.0.called.notify_one();
            return Ok(());
        }
        state.threads += 1;
        drop(state);
        let Err(error) = self.start(start) else { return Ok(()) };
        let mut state = self.0.state.lock();
        // One that is there will come to it.
        if state.threads > 0 || state.waiting.pop_back().is_none() { Ok(()) } else { Err(error) }
    }

    /// Starts a thread that is counted already.
    fn start(&self, start: Starter<'_>) -> io::Result<()> {
        let crew = self.clone();
        start(NAME, Box::new(move || crew.work())).inspect_err(|_| self.0.state.lock().threads -= 1)
    }

    fn work(&self) {
        let mut state = self.0.state.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // Whoever it was for knows by now.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = self.0.state.lock();
                continue;
            }
            if state.enlisted == 0 {
                break;
            }
            let stays = state.idle < KEPT;
            state.idle += 1;
            state = match stays {
                true => self.0.called.wait(state),
                false => self.0.called.wait_for(state, LINGER),
            };
            state.idle -= 1;
            if !stays && state.waiting.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        state.enlisted -= 1;
        if state.enlisted == 0 {
            drop(state);
            self.0.0.called.notify_all();
        }
    }
}

#[cfg(all(test, not(cairn_shuttle), not(cairn_loom)))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    fn start(name: &str, work: Work) -> io::Result<()> {
        std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
    }

    fn refuse(_: &str, _: Work) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn threads(crew: &Crew) -> usize {
        crew.0.state.lock().threads
    }

    #[test]
    fn work_does_not_wait_for_work_that_is_stuck() {
        let crew = Crew::default();
        let enlisted = crew.enlist(&start).unwrap();
        let (done, is_done) = mpsc::channel();
        let stuck: Vec<_> = (0..20)
            .map(|_| {
                let (go_on, goes_on) = mpsc::channel::<()>();
                crew.run(Box::new(move || assert!(goes_on.recv().is_err())), &start).unwrap();
                go_on
            })
            .collect();
        crew.run(Box::new(move || done.send(()).unwrap()), &start).unwrap();
        is_done.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(stuck);
        wait_until(|| threads(&crew) <= KEPT);
        drop(enlisted);
        wait_until(|| threads(&crew) == 0);
    }

    #[test]
    fn where_no_thread_can_be_started_one_that_is_there_does_all() {
        let crew = Crew::default();
        assert!(crew.enlist(&refuse).is_err() && crew.run(Box::new(|| ()), &refuse).is_err());
        assert_eq!(threads(&crew), 0);
        let enlisted = crew.enlist(&start).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let count = count.clone();
            crew.run(Box::new(move || assert!(count.fetch_add(1, Ordering::SeqCst) < 100)), &refuse).unwrap();
        }
        wait_until(|| count.load(Ordering::SeqCst) == 100);
        drop(enlisted);
        wait_until(|| threads(&crew) == 0);
    }

    #[test]
    fn work_that_panics_takes_no_thread_with_it() {
        let crew = Crew::default();
        let _enlisted = crew.enlist(&start).unwrap();
        crew.run(Box::new(|| std::panic::resume_unwind(Box::new("a panic of the test"))), &refuse).unwrap();
        let (done, is_done) = mpsc::channel();
        crew.run(Box::new(move || done.send(()).unwrap()), &refuse).unwrap();
        is_done.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(threads(&crew), 1);
    }
}

//! Pages that a walk will come to, read by a thread of their own while those before them are looked at.
//!
//! What must hold:
//! - It is a favour, as all reading ahead: what is asked for may be read late, or never, and goes by the rules of `ahead`.
//! - Nobody waits for what was not begun: who comes to a page that was asked for takes the piece with it back, and reads that
//!   himself, while the thread reads what comes then. Where the piece is being read, he reads the next; only where there is
//!   none he waits.
//! - A thread that ends, or panics, while it reads lets go who waits for it.
//! - There is one at most. It comes when something is asked for, and goes when nothing is for a while.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use super::cache::Pages;
use crate::sync::{Awake, Condvar, Mutex, MutexGuard};
use crate::{PageRef, Wait};

/// Pages that are read together: who needs them first waits for at most so many.
const PIECE: usize = 32;

/// No more pieces than these wait: what would come behind them is read by who needs it.
const WAITING: usize = 16;

/// What was asked for, and the thread's place in it.
pub(crate) struct Fetches {
    state: Mutex<State>,
    /// There is something to do for the thread.
    asked: Condvar,
    /// It has read a piece.
    done: Condvar,
    awake: Awake,
    /// Has a thread come; false where none can.
    call: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Fetches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetches").field("state", &self.state).finish()
    }
}

#[derive(Debug, Default)]
struct State {
    /// The thread is there, or on its way.
    is_served: bool,
    is_stopped: bool,
    /// The thread sleeps.
    is_idle: bool,
    waiting: VecDeque<Piece>,
    /// Nothing, while nothing is read.
    reading: Piece,
    /// Pieces begun so far.
    begun: u64,
    /// How many wait for the piece that is being read.
    waiters: usize,
}

/// Pages, and ids between which theirs are: those of others mostly are not.
#[derive(Clone, Debug, Default)]
struct Piece {
    pages: Vec<PageRef>,
    ids: Range<u32>,
}

impl Piece {
    fn of(pages: &[PageRef]) -> Piece {
        let ids = pages.iter().map(|page| page.id);
        let (least, most) = (ids.clone().min().unwrap_or(0), ids.max().unwrap_or(0));
        Piece { pages: pages.to_vec(), ids: least..most.saturating_add(1) }
    }

    fn has(&self, page: &PageRef) -> bool {
        self.ids.contains(&page.id) && self.pages.contains(page)
    }
}

impl State {
    fn is_coming(&self, page: &PageRef) -> bool {
        self.reading.has(page) || self.waiting.iter().any(|piece| piece.has(page))
    }
}

impl Default for Fetches {
    fn default() -> Fetches {
        Fetches {
            state: Mutex::default(),
            asked: Condvar::new(),
            done: Condvar::new(),
            awake: Awake::new(),
            call: OnceLock::new(),
        }
    }
}

impl Fetches {
    /// Asks for pages, and leaves only those that nobody else asked for before. False: nobody would read them soon.
    pub(crate) fn ask(&self, pages: &mut Vec<PageRef>) -> bool {
        let mut state = self.state.lock();
        pages.retain(|page| !state.is_coming(page));
        if state.is_stopped || state.waiting.len() + pages.len().div_ceil(PIECE) > WAITING {
            return false;
        }
        let Some(call) = self.call.get().filter(|_| !state.is_served) else {
            return self.hand_over(state, pages);
        };
        state.is_served = true;
        drop(state);
        let is_served = call();
        let mut state = self.state.lock();
        state.is_served &= is_served;
        self.hand_over(state, pages)
    }

    fn hand_over(&self, mut state: MutexGuard<'_, State>, pages: &[PageRef]) -> bool {
        if !state.is_served {
            return false;
        }
        state.waiting.extend(pages.chunks(PIECE).map(Piece::of));
        if state.is_idle {
            self.asked.notify_one();
        }
        true
    }

    /// From now on a thread is called like this.
    pub(crate) fn serve_by(&self, call: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.call.set(Box::new(call));
    }

    /// Leaves only pages that nobody asked for, and `kept`.
    pub(crate) fn leave_out(&self, pages: &mut Vec<PageRef>, kept: PageRef) {
        let state = self.state.lock();
        pages.retain(|page| *page == kept || !state.is_coming(page));
    }

    /// If the page was asked for and is still to come: what is now the caller's to read, who then asks again. Waits where there
    /// is nothing but what is being read. The caller must not be pinned.
    pub(crate) fn take_back(&self, page: PageRef) -> Option<Vec<PageRef>> {
        let mut state = self.state.lock();
        if let Some(at) = state.waiting.iter().position(|piece| piece.has(&page)) {
            return state.waiting.remove(at).map(|piece| piece.pages);
        }
        if !state.reading.has(&page) {
            return None;
        }
        if let Some(next) = state.waiting.pop_front() {
            return Some(next.pages);
        }
        let begun = state.begun;
        drop(state);
        let is_over = |state: &State| state.begun != begun || state.reading.pages.is_empty();
        if self.awake.wait(|| is_over(&self.state.lock()).then_some(())).is_none() {
            let mut state = self.state.lock();
            state.waiters += 1;
            while !is_over(&state) {
                state = Wait::PageRead.during(|| self.done.wait(state));
            }
            state.waiters -= 1;
        }
        Some(Vec::new())
    }

    /// The next piece to read, once there is one; the one before it was read. `None`: it is over, or there is none for so long, and
    /// the thread that waits is no longer there.
    fn next(&self, longest: Option<Duration>) -> Option<Vec<PageRef>> {
        let mut state = self.state.lock();
        self.finish(&mut state);
        loop {
            if state.is_stopped {
                state.is_served = false;
                state.waiting.clear();
                return None;
            }
            if let Some(piece) = state.waiting.pop_front() {
                let pages = piece.pages.clone();
                (state.reading, state.begun) = (piece, state.begun + 1);
                return Some(pages);
            }
            state.is_idle = true;
            state = match longest {
                Some(longest) => self.asked.wait_for(state, longest),
                None => self.asked.wait(state),
            };
            state.is_idle = false;
            if longest.is_some() && state.waiting.is_empty() {
                state.is_served = false;
                return None;
            }
        }
    }

    fn finish(&self, state: &mut State) {
        state.reading = Piece::default();
        if state.waiters > 0 {
            self.done.notify_all();
        }
    }

    /// Has the thread end, if there is one.
    pub(crate) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.asked.notify_all();
    }
}

/// The thread is there; when this goes, it no longer is.
struct Served<'f>(&'f Fetches);

impl<'f> Served<'f> {
    fn begin(fetches: &'f Fetches) -> Served<'f> {
        fetches.state.lock().is_served = true;
        Served(fetches)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        // (No lock of the state is held where pages are read.)
        let mut state = self.0.state.lock();
        state.is_served = false;
        state.waiting.clear();
        self.0.finish(&mut state);
    }
}

impl Pages {
    /// Reads what is asked for, until that is stopped, or nothing is for so long.
    pub(crate) fn serve_fetches(&self, longest: Option<Duration>) {
        let served = Served::begin(&self.fetches);
        while let Some(pages) = self.fetches.next(longest) {
            self.read_ahead(&pages);
        }
        // From then on the next one may be on its way.
        std::mem::forget(served);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Instant;

    use super::super::testing::{SlowFile, create, evict_all, few_pages};
    use super::*;

    /// So many pages that are in the file and not in memory.
    fn written(file: Arc<SlowFile>, count: u64) -> (Arc<Pages>, Vec<PageRef>) {
        let pages = Arc::new(few_pages(file));
        let all = (0..count).map(|birth| create(&pages, birth + 1)).collect();
        evict_all(&pages);
        (pages, all)
    }

    fn serve(pages: &Arc<Pages>) -> std::thread::JoinHandle<()> {
        let shared = pages.clone();
        let thread = std::thread::spawn(move || shared.serve_fetches(None));
        wait_until(|| pages.fetches.state.lock().is_served);
        thread
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    #[test]
    fn what_is_asked_for_is_read_by_the_thread() {
        let (pages, all) = written(SlowFile::new(), 40);
        assert!(!pages.fetches.ask(&mut all.clone()), "without a thread nobody would read them");
        let thread = serve(&pages);
        assert!(pages.fetches.ask(&mut all.clone()));
        wait_until(|| pages.missing(&all).is_empty());
        assert_eq!(pages.counters.read().pages_read_ahead, 40);
        pages.fetches.stop();
        thread.join().unwrap();
        assert!(!pages.fetches.ask(&mut all.clone()), "it has ended");
    }

    #[test]
    fn a_piece_that_was_not_begun_is_taken_back_and_one_that_is_read_is_waited_for() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 2 * PIECE as u64 - 10);
        let (first, second) = all.split_at(PIECE);
        let (began, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        file.during_next_read(move || {
            began.send(()).unwrap();
            may_go_on.recv().unwrap();
        });
        let thread = serve(&pages);
        assert!(pages.fetches.ask(&mut all.clone()));
        has_begun.recv().unwrap();
        let mut again = all.clone();
        assert!(pages.fetches.ask(&mut again) && again.is_empty(), "who asks again asks for nothing");
        assert_eq!(pages.fetches.take_back(second[3]).as_deref(), Some(second));
        assert_eq!(pages.fetches.take_back(second[3]), None);
        assert!(pages.fetches.ask(&mut second.to_vec()));
        assert_eq!(pages.fetches.take_back(first[5]).as_deref(), Some(second), "meanwhile he reads what comes then");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| pages.fetches.take_back(first[5]));
            wait_until(|| pages.fetches.state.lock().waiters == 1);
            go_on.send(()).unwrap();
            assert_eq!(waiter.join().unwrap(), Some(vec![]));
        });
        assert!(pages.missing(first).is_empty());
        assert_eq!(pages.missing(second), second);
        pages.fetches.stop();
        thread.join().unwrap();
    }

    #[test]
    fn no_more_is_taken_than_is_read_soon() {
        let (pages, all) = written(SlowFile::new(), 40);
        let fetches = &pages.fetches;
        let _served = Served::begin(fetches);
        let taken = all.iter().filter(|page| fetches.ask(&mut vec![**page])).count();
        assert_eq!(taken, WAITING);
    }

    #[test]
    fn a_thread_that_panics_lets_go_who_waits_for_it() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 30);
        let shared = pages.clone();
        file.during_next_read(move || {
            wait_until(|| shared.fetches.state.lock().waiters == 1);
            panic!("a panic of the test");
        });
        let thread = serve(&pages);
        assert!(pages.fetches.ask(&mut all.clone()));
        wait_until(|| pages.fetches.state.lock().begun == 1);
        assert_eq!(pages.fetches.take_back(all[0]), Some(vec![]));
        assert!(thread.join().is_err());
        assert!(!pages.fetches.ask(&mut all.clone()));
        pages.load(all[0]).unwrap();
    }
}

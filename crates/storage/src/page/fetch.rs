//! Pages that a walk will come to, or that a search needs together, read by threads of their own: several at a time, for a medium
//! gives more, and mostly much more, to many who ask it at once.
//!
//! What must hold:
//! - It is a favour, as all reading ahead: what is asked for may be read late, or never, and goes by the rules of `ahead`.
//! - What is asked for is cut into *pieces*, each of pages that one call reads: where leaves lie in order they are large, where they
//!   are scattered they are pages. Pieces are begun in the order of the walk.
//! - Nobody waits for what was not begun: who comes to a page that was asked for takes the piece with it back, and reads that
//!   himself, while the threads read what comes then. Where the piece is being read, he reads the next; only where there is
//!   none he waits.
//! - A thread that ends, or panics, while it reads lets go who waits for it.
//! - Threads are at most [`READERS`]. They come when more is asked for than those that are there have begun, and go when nothing is for
//!   a while.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use super::cache::Pages;
use crate::sync::{Awake, Condvar, Mutex, MutexGuard};
use crate::{PageRef, Wait};

/// No more pages than these wait: what would come behind them is read by who needs it.
const WAITING: usize = 2048;

/// Threads that read for one database at a time.
const READERS: usize = if cfg!(any(cairn_shuttle, cairn_loom)) { 3 } else { 32 };

/// What was asked for, and how far the threads are in it.
pub(crate) struct Fetches {
    state: Mutex<State>,
    /// There is something to do for a thread.
    asked: Condvar,
    /// A piece was read that somebody waits for.
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
    is_stopped: bool,
    /// Threads that are there, or on their way.
    threads: usize,
    /// Of these, those that sleep.
    idle: usize,
    waiting: VecDeque<Piece>,
    /// Each with its number.
    reading: Vec<(u64, Piece)>,
    /// Pieces begun so far.
    begun: u64,
    /// Pieces asked for so far.
    asked: u64,
    /// The numbers of those that somebody waits for, one for each who does.
    awaited: Vec<u64>,
}

/// Pages, and ids between which theirs are: those of others mostly are not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    pages: Vec<PageRef>,
    ids: Range<u32>,
}

impl Piece {
    fn has(&self, page: &PageRef) -> bool {
        self.ids.contains(&page.id) && self.pages.contains(page)
    }
}

/// The pages in pieces, in the order in which the first of each stands among them: those that lie side by side, but for so many
/// (`gap`) between two of them, are one, of `most` pages at most.
fn pieces(pages: &[PageRef], (gap, most): (u32, u32)) -> Vec<Piece> {
    let mut places: Vec<(PageRef, usize)> = pages.iter().copied().zip(0..).collect();
    places.sort_unstable_by_key(|(page, _)| page.id);
    let mut pieces: Vec<(usize, Piece)> = Vec::new();
    for (page, place) in places {
        match pieces.last_mut() {
            Some((first, Piece { pages, ids }))
                if page.id - ids.start < most && page.id <= ids.end.saturating_add(gap) =>
            {
                *first = place.min(*first);
                pages.push(page);
                ids.end = page.id.saturating_add(1);
            }
            _ => pieces.push((place, Piece { pages: vec![page], ids: page.id..page.id.saturating_add(1) })),
        }
    }
    pieces.sort_unstable_by_key(|(first, _)| *first);
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

impl State {
    fn is_coming(&self, page: &PageRef) -> bool {
        self.reading.iter().any(|(_, piece)| piece.has(page)) || self.waiting.iter().any(|piece| piece.has(page))
    }

    fn is_reading(&self, number: u64) -> bool {
        self.reading.iter().any(|(other, _)| *other == number)
    }

    /// How many threads are to come, if so many more pieces are handed over.
    fn lacking(&self, more: usize) -> usize {
        (self.waiting.len() + more).saturating_sub(self.idle).min(READERS.saturating_sub(self.threads))
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
    /// Leaves only pages that nobody asked for, and cuts them.
    fn cut_new(&self, pages: &mut Vec<PageRef>, cut: (u32, u32)) -> Vec<Piece> {
        let state = self.state.lock();
        if !(state.waiting.is_empty() && state.reading.is_empty()) {
            pages.retain(|page| !state.is_coming(page));
        }
        drop(state);
        pieces(pages, cut)
    }

    /// Has the pieces read. False: nobody would read them soon.
    fn hand_over(&self, pieces: Vec<Piece>) -> bool {
        let mut state = self.state.lock();
        let waiting: usize = state.waiting.iter().chain(&pieces).map(|piece| piece.pages.len()).sum();
        if state.is_stopped || waiting > WAITING {
            return false;
        }
        if let Some(call) = self.call.get() {
            state = self.call_threads(state, pieces.len(), call);
        }
        if state.threads == 0 {
            return false;
        }
        (0..pieces.len().min(state.idle)).for_each(|_| self.asked.notify_one());
        state.asked += pieces.len() as u64;
        state.waiting.extend(pieces);
        true
    }

    /// How many frames are needed for what was asked for and has not all come.
    fn coming(&self) -> usize {
        let state = self.state.lock();
        let reading = state.reading.iter().map(|(_, piece)| piece);
        state.waiting.iter().chain(reading).map(|piece| piece.ids.len()).sum()
    }

    /// Has threads come for so many pieces, as far as they are not there.
    fn call_threads<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        pieces: usize,
        call: &(dyn Fn() -> bool + Send + Sync),
    ) -> MutexGuard<'s, State> {
        let lacking = state.lacking(pieces);
        if lacking == 0 {
            return state;
        }
        state.threads += lacking;
        drop(state);
        let called = (0..lacking).take_while(|_| call()).count();
        let mut state = self.state.lock();
        state.threads -= lacking - called;
        state
    }

    /// From now on a thread is called like this, which then is to read ([`Pages::serve_fetches`]).
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
        let number = state.reading.iter().find(|(_, piece)| piece.has(&page))?.0;
        if let Some(next) = state.waiting.pop_front() {
            return Some(next.pages);
        }
        drop(state);
        if self.awake.wait(|| (!self.state.lock().is_reading(number)).then_some(())).is_none() {
            self.wait_for(number);
        }
        Some(Vec::new())
    }

    fn wait_for(&self, number: u64) {
        let mut state = self.state.lock();
        state.awaited.push(number);
        while state.is_reading(number) {
            state = Wait::PageRead.during(|| self.done.wait(state));
        }
        let own = state.awaited.iter().position(|awaited| *awaited == number);
        if let Some(own) = own {
            state.awaited.swap_remove(own);
        }
    }

    /// The next piece to read and its number, once there is one. `None`: it is over, or nothing was asked for in so long, and
    /// the thread that waits is no longer there.
    fn next(&self, longest: Option<Duration>) -> Option<(u64, Vec<PageRef>)> {
        let mut state = self.state.lock();
        loop {
            if state.is_stopped {
                state.threads -= 1;
                state.waiting.clear();
                return None;
            }
            if let Some(piece) = state.waiting.pop_front() {
                state.begun += 1;
                let (number, pages) = (state.begun, piece.pages.clone());
                state.reading.push((number, piece));
                return Some((number, pages));
            }
            let asked = state.asked;
            state.idle += 1;
            state = match longest {
                Some(longest) => self.asked.wait_for(state, longest),
                None => self.asked.wait(state),
            };
            state.idle -= 1;
            if longest.is_some() && state.asked == asked && !state.is_stopped {
                state.threads -= 1;
                return None;
            }
        }
    }

    fn finish(&self, number: u64) {
        let mut state = self.state.lock();
        state.reading.retain(|(other, _)| *other != number);
        if state.awaited.contains(&number) {
            self.done.notify_all();
        }
    }

    /// Has the threads end.
    pub(crate) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.asked.notify_all();
    }
}

/// A thread reads a piece. When this goes before the end was told, the thread has panicked, and is no longer there.
struct Reading<'f>(&'f Fetches, u64);

impl Reading<'_> {
    fn end(self) {
        self.0.finish(self.1);
        std::mem::forget(self);
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.finish(self.1);
        // (No lock of the state is held where pages are read.)
        let mut state = self.0.state.lock();
        state.threads -= 1;
        if state.threads == 0 {
            state.waiting.clear();
        }
    }
}

impl Pages {
    /// Reads what is asked for, until that is stopped, or nothing is for so long. For a thread that was called.
    pub(crate) fn serve_fetches(&self, longest: Option<Duration>) {
        while let Some((number, pages)) = self.fetches.next(longest) {
            let reading = Reading(&self.fetches, number);
            self.read_ahead(&pages);
            reading.end();
        }
    }

    /// Asks for pages, and leaves only those that nobody else asked for before. False: nobody would read them soon.
    pub(crate) fn ask(&self, pages: &mut Vec<PageRef>) -> bool {
        let pieces = self.fetches.cut_new(pages, self.cut());
        self.make_room_for(&pieces);
        self.fetches.hand_over(pieces)
    }

    /// For all of them at once, and for others whose frames are still to be taken: what was just read is the first to be evicted, and
    /// would be by who reads the rest.
    fn make_room_for(&self, pieces: &[Piece]) {
        let frames: usize = pieces.iter().map(|piece| piece.ids.len()).sum();
        self.make_room_ahead(self.fetches.coming() + frames);
    }

    /// Brings those of the pages into memory that are not there, as far as that is easily done: what lies apart is read at the same
    /// time. The caller must not be pinned.
    #[cold]
    pub(crate) fn read_together(&self, pages: &[PageRef]) {
        let mut missing = self.missing(pages);
        let apart = pieces(&missing, self.cut());
        if apart.len() < 2 || !self.ask(&mut missing) {
            self.make_room_for(&apart);
            return self.read_ahead(pages);
        }
        // What others asked for is waited for, too.
        for page in apart.iter().flat_map(|piece| &piece.pages) {
            while let Some(own) = self.fetches.take_back(*page) {
                self.read_ahead(&own);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier, mpsc};
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

    /// From now on so many threads come, and tell how they ended.
    fn serve(pages: &Arc<Pages>, threads: usize) -> mpsc::Receiver<std::thread::Result<()>> {
        let (shared, left) = (Arc::downgrade(pages), AtomicUsize::new(threads));
        let (ended, has_ended) = mpsc::channel();
        pages.fetches.serve_by(move || {
            let Some(pages) = shared.upgrade().filter(|_| left.load(Ordering::Relaxed) > 0) else { return false };
            left.fetch_sub(1, Ordering::Relaxed);
            let ended = ended.clone();
            std::thread::spawn(move || {
                let serve = AssertUnwindSafe(|| pages.serve_fetches(None));
                let _ = ended.send(catch_unwind(serve));
            });
            true
        });
        has_ended
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    #[test]
    fn what_is_asked_for_is_read_by_the_threads() {
        let (pages, all) = written(SlowFile::new(), 40);
        assert!(!pages.ask(&mut all.clone()), "without a thread nobody would read them");
        let ended = serve(&pages, 2);
        assert!(pages.ask(&mut all.clone()));
        wait_until(|| pages.missing(&all).is_empty());
        assert_eq!(pages.counters.read().pages_read_ahead, 40);
        pages.fetches.stop();
        (0..2).for_each(|_| ended.recv().unwrap().unwrap());
        assert!(!pages.ask(&mut all.clone()), "it has ended");
        assert_eq!(pages.fetches.state.lock().threads, 0);
    }

    #[test]
    fn threads_that_nothing_is_asked_of_go() {
        let (pages, all) = written(SlowFile::new(), 40);
        let shared = Arc::downgrade(&pages);
        pages.fetches.serve_by(move || {
            let pages = shared.upgrade().unwrap();
            std::thread::spawn(move || pages.serve_fetches(Some(Duration::from_millis(2))));
            true
        });
        for _ in 0..3 {
            evict_all(&pages);
            pages.read_together(&all.iter().step_by(2).copied().collect::<Vec<_>>());
            assert_eq!(pages.missing(&all).len(), 20);
            wait_until(|| pages.fetches.state.lock().threads == 0);
        }
    }

    #[test]
    fn pages_side_by_side_are_a_piece_and_others_are_their_own_in_the_order_that_was_asked_for() {
        let page = |id: u32| PageRef { id, birth: u64::from(id) + 1 };
        let cut = |ids: &[u32], gap| -> Vec<Vec<u32>> {
            let all: Vec<PageRef> = ids.iter().map(|id| page(*id)).collect();
            pieces(&all, (gap, 32)).into_iter().map(|piece| piece.pages.iter().map(|page| page.id).collect()).collect()
        };
        assert_eq!(cut(&[90, 7, 8, 50, 9], 0), [vec![90], vec![7, 8, 9], vec![50]]);
        assert_eq!(cut(&[20, 17, 14, 40], 2), [vec![14, 17, 20], vec![40]]);
        assert_eq!(cut(&[20, 17, 14, 40], 1), [vec![20], vec![17], vec![14], vec![40]]);
        let many: Vec<u32> = (100..180).collect();
        assert_eq!(cut(&many, 0).iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 16]);
        assert_eq!(cut(&[u32::MAX, u32::MAX - 1], 4), [vec![u32::MAX - 1, u32::MAX]]);
        assert!(cut(&[], 4).is_empty());
    }

    /// The point of it: while one read waits for the medium, the others are there, too.
    #[test]
    fn pages_that_lie_apart_are_read_at_the_same_time() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 40);
        let apart: Vec<PageRef> = all.iter().step_by(8).copied().collect();
        let all_there = Arc::new(Barrier::new(apart.len()));
        for _ in &apart {
            let all_there = all_there.clone();
            file.during_next_read(move || {
                all_there.wait();
            });
        }
        let _ended = serve(&pages, apart.len());
        pages.read_together(&apart);
        assert!(pages.missing(&apart).is_empty());
        pages.fetches.stop();
    }

    #[test]
    fn what_can_not_be_read_together_is_told_to_whom_it_is_needed_by_and_nobody_else() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 40);
        crate::io::File::write_at(&*file, &[0x55], u64::from(all[16].id) * super::super::testing::PAGE as u64 + 100)
            .unwrap();
        let mut apart: Vec<PageRef> = all.iter().step_by(8).copied().collect();
        apart.extend([PageRef { id: 250, birth: 3 }, PageRef::NONE]);
        let _ended = serve(&pages, 3);
        pages.read_together(&apart);
        assert_eq!(pages.missing(&apart), [all[16], PageRef { id: 250, birth: 3 }]);
        assert!(matches!(pages.load(all[16]), Err(crate::Error::Corrupt { .. })));
        [0, 8, 24, 32].iter().for_each(|at| pages.load(all[*at]).unwrap());
        pages.fetches.stop();
    }

    #[test]
    fn a_piece_that_was_not_begun_is_taken_back_and_one_that_is_read_is_waited_for() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 4);
        let (first, second) = all.split_at(pages.call_limit() as usize);
        let (began, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        file.during_next_read(move || {
            began.send(()).unwrap();
            may_go_on.recv().unwrap();
        });
        let ended = serve(&pages, 1);
        assert!(pages.ask(&mut all.clone()));
        has_begun.recv().unwrap();
        let mut again = all.clone();
        assert!(pages.ask(&mut again) && again.is_empty(), "who asks again asks for nothing");
        assert_eq!(pages.fetches.take_back(second[1]).as_deref(), Some(second));
        assert_eq!(pages.fetches.take_back(second[1]), None);
        assert!(pages.ask(&mut second.to_vec()));
        assert_eq!(pages.fetches.take_back(first[1]).as_deref(), Some(second), "meanwhile he reads what comes then");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| pages.fetches.take_back(first[1]));
            wait_until(|| pages.fetches.state.lock().awaited.len() == 1);
            go_on.send(()).unwrap();
            assert_eq!(waiter.join().unwrap(), Some(vec![]));
        });
        assert!(pages.missing(first).is_empty());
        assert_eq!(pages.missing(second), second);
        pages.fetches.stop();
        ended.recv().unwrap().unwrap();
    }

    #[test]
    fn no_more_is_taken_than_is_read_soon() {
        let (pages, _) = written(SlowFile::new(), 1);
        // One that is on its way.
        pages.fetches.state.lock().threads = 1;
        let taken = (0..2 * WAITING).filter(|at| pages.ask(&mut vec![PageRef { id: *at as u32, birth: 1 }])).count();
        assert_eq!(taken, WAITING);
    }

    #[test]
    fn a_thread_that_panics_lets_go_who_waits_for_it() {
        let file = SlowFile::new();
        let (pages, all) = written(file.clone(), 2);
        let shared = pages.clone();
        file.during_next_read(move || {
            wait_until(|| shared.fetches.state.lock().awaited.len() == 1);
            panic!("a panic of the test");
        });
        let ended = serve(&pages, 1);
        assert!(pages.ask(&mut all.clone()));
        wait_until(|| pages.fetches.state.lock().begun == 1);
        assert_eq!(pages.fetches.take_back(all[0]), Some(vec![]));
        assert!(ended.recv().unwrap().is_err());
        assert!(!pages.ask(&mut all.clone()));
        pages.load(all[0]).unwrap();
    }
}

//! The scheduler: which simulated thread goes on, what time it is, and all chance, decided by one seed.
//!
//! Simulated threads are coroutines on one thread of the system; exactly one runs at a time. Time is virtual: it
//! passes a little with every step, and jumps when all threads sleep. When all wait for each other for ever, or when one
//! spins without end, the run fails. A run that failed is abandoned as it stands: its threads are never resumed.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use cairn_storage::simulated;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::random::{Random, mix};

type Work = Box<dyn FnOnce()>;

/// Bytes of a simulated thread's stack.
const STACK: usize = 512 << 10;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Places where another thread could have gone on, and where one did. (Atomics count only where the scheduler was
    /// asked.)
    pub steps: u64,
    /// Times that another thread went on.
    pub switches: u64,
    /// Virtual time that passed.
    pub time: Duration,
    /// Of every choice and of everything that was traced: equal runs have equal hashes.
    pub trace: u64,
    /// What went wrong first.
    pub failure: Option<String>,
}

/// How the scheduler chooses; drawn anew for each run.
#[derive(Clone, Copy, Debug)]
enum Style {
    /// Any ready thread, at one point in so many.
    Uniform { one_in: u64 },
    /// The ready thread of the highest priority; at one point in so many the running one's falls below all others.
    Priorities { one_in: u64 },
}

#[derive(Debug)]
enum State {
    Ready,
    /// Until woken at the place (0: never), or until a time in nanoseconds.
    Waiting {
        place: usize,
        until: u64,
    },
    Done,
}

struct Thread {
    name: String,
    state: State,
    priority: u64,
    yielder: *const Yielder<(), ()>,
}

struct Inner {
    random: Random,
    style: Style,
    /// Atomic operations between points, on average.
    stride: u64,
    now_ns: u64,
    threads: Vec<Thread>,
    current: usize,
    next: Option<usize>,
    lowest: u64,
    spawned: Vec<(usize, Work)>,
    steps_max: u64,
    ran: Ran,
}

/// See the module.
pub struct Scheduler(RefCell<Inner>);

thread_local! {
    static CURRENT: RefCell<Option<Rc<Scheduler>>> = const { RefCell::new(None) };
}

/// The scheduler that the calling code runs under.
pub fn current() -> Rc<Scheduler> {
    CURRENT.with_borrow(Clone::clone).expect("called outside a simulation")
}

/// Runs `root` and all that it spawns, to the end or to the first failure, on a thread of its own, so that nothing that
/// a thread keeps for itself outlives the run.
pub fn run(seed: u64, steps_max: u64, root: impl FnOnce() + Send + 'static) -> Ran {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !note_panic(info) {
                usual(info)
            }
        }));
    });
    let on_thread = move || {
        let scheduler = Rc::new(Scheduler::new(seed, steps_max));
        CURRENT.set(Some(scheduler.clone()));
        scheduler.spawn("director", Box::new(root));
        simulated::run_under(scheduler.clone(), || carry(&scheduler));
        CURRENT.set(None);
        let mut inner = scheduler.0.borrow_mut();
        inner.ran.time = Duration::from_nanos(inner.now_ns);
        inner.ran.clone()
    };
    std::thread::spawn(on_thread).join().expect("the simulation itself does not panic")
}

/// A panic of a simulated thread fails the run: the first destructor that comes to a step is the last thing that the
/// thread does. Others are told as ever: then this returns false. (It must return: who waited here would keep the lock
/// of the hook for ever, and the process could not end.)
fn note_panic(info: &std::panic::PanicHookInfo<'_>) -> bool {
    let scheduler = CURRENT.with_borrow(Clone::clone);
    let scheduler = scheduler.filter(|scheduler| scheduler.0.try_borrow_mut().is_ok());
    scheduler.map(|scheduler| scheduler.note_failure(format!("panic: {info}"))).is_some()
}

/// Resumes threads until all are done or the run has failed.
fn carry(scheduler: &Scheduler) {
    let mut stacks: Vec<DefaultStack> = Vec::new();
    let mut coroutines: Vec<Option<Coroutine<(), (), ()>>> = Vec::new();
    loop {
        for (number, work) in scheduler.take_spawned() {
            let stack = stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
            coroutines.resize_with(number + 1, || None);
            coroutines[number] = Some(Coroutine::with_stack(stack, move |yielder, ()| begin(number, yielder, work)));
        }
        let Some(next) = scheduler.take_next() else { break };
        let Some(coroutine) = &mut coroutines[next] else { continue };
        if let CoroutineResult::Return(()) = coroutine.resume(()) {
            stacks.extend(coroutines[next].take().map(Coroutine::into_stack));
            scheduler.done(next);
        }
    }
    // Those of a failed run stay as they are for ever: running their destructors could go wrong in turn.
    coroutines.into_iter().flatten().for_each(std::mem::forget);
}

fn begin(number: usize, yielder: &Yielder<(), ()>, work: Work) {
    let scheduler = current();
    scheduler.0.borrow_mut().threads[number].yielder = yielder;
    // What panicked was noted by then.
    let _ = catch_unwind(AssertUnwindSafe(work));
}

impl Scheduler {
    fn new(seed: u64, steps_max: u64) -> Scheduler {
        let mut random = Random::new(seed);
        let style = match random.below(3) {
            0 => Style::Priorities { one_in: random.pick(&[20, 60, 200]) },
            _ => Style::Uniform { one_in: random.pick(&[1, 2, 4, 12, 40]) },
        };
        let stride = random.pick(&[2, 8, 8, 30, 30, 100, 100, 400]);
        Scheduler(RefCell::new(Inner {
            random,
            style,
            stride,
            now_ns: 1,
            threads: Vec::new(),
            current: 0,
            next: None,
            lowest: 1 << 40,
            spawned: Vec::new(),
            steps_max,
            ran: Ran::default(),
        }))
    }

    /// Starts a thread; returns its number.
    pub fn spawn(&self, name: &str, work: Work) -> usize {
        let mut inner = self.0.borrow_mut();
        let number = inner.threads.len();
        let priority = (1 << 50) + inner.random.below(1 << 30);
        let (name, yielder) = (name.to_owned(), std::ptr::null());
        inner.threads.push(Thread { name, state: State::Ready, priority, yielder });
        inner.spawned.push((number, work));
        number
    }

    /// Waits for the end of a thread.
    pub fn join(&self, number: usize) {
        while !matches!(self.0.borrow().threads[number].state, State::Done) {
            simulated::Scheduler::wait(self, join_place(number), None);
        }
    }

    /// Virtual time since the begin of the run.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.0.borrow().now_ns)
    }

    /// A number that the seed decides.
    pub fn random(&self) -> u64 {
        self.0.borrow_mut().random.number()
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.0.borrow().ran.steps
    }

    /// Takes a fact into the run's hash.
    pub fn trace(&self, fact: u64) {
        let mut inner = self.0.borrow_mut();
        inner.ran.trace = mix(inner.ran.trace ^ fact);
    }

    /// Ends the run: what went wrong. Does not return.
    pub fn fail(&self, what: String) -> ! {
        self.note_failure(what);
        loop {
            self.suspend();
        }
    }

    fn note_failure(&self, what: String) {
        let mut inner = self.0.borrow_mut();
        let (name, now) = (inner.threads[inner.current].name.clone(), Duration::from_nanos(inner.now_ns));
        inner.ran.failure.get_or_insert_with(|| format!("{what} (thread {name}, at {now:?})"));
    }

    fn take_spawned(&self) -> Vec<(usize, Work)> {
        std::mem::take(&mut self.0.borrow_mut().spawned)
    }

    /// The thread to resume; `None` when all are done, or the run has failed.
    fn take_next(&self) -> Option<usize> {
        let mut inner = self.0.borrow_mut();
        if inner.ran.failure.is_some() {
            return None;
        }
        let next = inner.next.take().or_else(|| inner.choose())?;
        inner.current = next;
        inner.ran.switches += 1;
        inner.ran.trace = mix(inner.ran.trace ^ (next as u64) << 48 ^ inner.now_ns);
        Some(next)
    }

    fn done(&self, number: usize) {
        self.0.borrow_mut().threads[number].state = State::Done;
        simulated::Scheduler::wake(self, join_place(number), true);
    }

    /// Gives the processor to whoever is chosen next.
    fn switch(&self) {
        let mut inner = self.0.borrow_mut();
        // A run that has failed ends here, also where the running thread would be chosen again.
        if inner.ran.failure.is_none() {
            let next = inner.choose();
            if next == Some(inner.current) {
                return;
            }
            inner.next = next;
        }
        drop(inner);
        self.suspend();
    }

    fn suspend(&self) {
        let inner = self.0.borrow();
        let yielder = inner.threads[inner.current].yielder;
        drop(inner);
        // SAFETY: the running thread's own yielder, which lives on its stack for as long as the thread.
        unsafe { (*yielder).suspend(()) };
    }
}

/// Where those wait who wait for a thread's end: no address of the engine is so low.
fn join_place(number: usize) -> usize {
    number + 1
}

impl Inner {
    /// One more step; whether the running thread gives way.
    fn step(&mut self) -> bool {
        self.ran.steps += 1;
        self.now_ns += 1 + self.random.below(500);
        if self.is_endless() || self.ran.failure.is_some() {
            return true;
        }
        if std::thread::panicking() {
            // While one unwinds, whatever others let go of would count as left by who panicked: they share the system's thread.
            return false;
        }
        if self.random.one_in(3000) {
            // The system takes the processor away for long.
            let until = self.now_ns + 1000 * (1 + self.random.below(1 << self.random.clone().below(16)));
            self.threads[self.current].state = State::Waiting { place: 0, until };
            return true;
        }
        match self.style {
            Style::Uniform { one_in } => self.random.one_in(one_in),
            Style::Priorities { one_in } => {
                if self.random.one_in(one_in) {
                    self.lowest -= 1;
                    self.threads[self.current].priority = self.lowest;
                }
                true
            }
        }
    }

    /// Whether the run took more steps than any should: then it has failed.
    fn is_endless(&mut self) -> bool {
        let endless = self.ran.steps > self.steps_max;
        if endless {
            self.ran.failure.get_or_insert_with(|| "the run does not end: some thread spins, or starves".to_owned());
        }
        endless
    }

    /// Chooses among the ready threads; lets time jump where all sleep. `None`: nobody is left, or nobody ever wakes.
    fn choose(&mut self) -> Option<usize> {
        loop {
            let mut earliest = u64::MAX;
            let mut chosen = None;
            let mut ready = 0;
            for number in 0..self.threads.len() {
                if let State::Waiting { until, .. } = self.threads[number].state {
                    if until > self.now_ns {
                        earliest = earliest.min(until);
                        continue;
                    }
                    self.threads[number].state = State::Ready;
                }
                if matches!(self.threads[number].state, State::Done) {
                    continue;
                }
                ready += 1;
                let better = |other: usize| self.threads[number].priority > self.threads[other].priority;
                let take = match self.style {
                    Style::Uniform { .. } => self.random.one_in(ready),
                    Style::Priorities { .. } => chosen.is_none_or(better),
                };
                if take {
                    chosen = Some(number);
                }
            }
            if chosen.is_some() {
                return chosen;
            }
            if earliest == u64::MAX {
                self.note_deadlock();
                return None;
            }
            self.now_ns = earliest;
        }
    }

    fn note_deadlock(&mut self) {
        let waiting = self.threads.iter().filter(|thread| !matches!(thread.state, State::Done));
        let names: Vec<&str> = waiting.map(|thread| thread.name.as_str()).collect();
        if !names.is_empty() {
            self.ran.failure.get_or_insert_with(|| format!("all wait for ever: {}", names.join(", ")));
        }
    }
}

impl simulated::Scheduler for Scheduler {
    fn now(&self) -> Duration {
        Scheduler::now(self)
    }

    fn thread(&self) -> usize {
        self.0.borrow().current
    }

    fn point(&self) {
        // Who unwinds on purpose keeps the processor: to the others it would look as if they did.
        if std::thread::panicking() && self.0.borrow().ran.failure.is_none() {
            return;
        }
        if self.0.borrow_mut().step() {
            self.switch();
        }
    }

    fn wait(&self, place: usize, longest: Option<Duration>) {
        let mut inner = self.0.borrow_mut();
        inner.ran.steps += 1;
        inner.is_endless();
        let spurious = (place != 0 && inner.random.one_in(500)).then(|| inner.random.below(1_000_000));
        let longest = longest.map(|time| time.as_nanos() as u64).into_iter().chain(spurious).min();
        let until = longest.map_or(u64::MAX, |time| inner.now_ns + time);
        let current = inner.current;
        inner.threads[current].state = State::Waiting { place, until };
        drop(inner);
        self.switch();
    }

    fn wake(&self, place: usize, all: bool) {
        let mut inner = self.0.borrow_mut();
        let inner = &mut *inner;
        let mut one = None;
        let mut found = 0;
        for (number, thread) in inner.threads.iter_mut().enumerate() {
            if !matches!(thread.state, State::Waiting { place: at, .. } if at == place) {
                continue;
            }
            found += 1;
            if all {
                thread.state = State::Ready;
            } else if inner.random.one_in(found) {
                one = Some(number);
            }
        }
        if let Some(number) = one {
            inner.threads[number].state = State::Ready;
        }
    }

    fn sleep(&self, time: Duration) {
        simulated::Scheduler::wait(self, 0, Some(time));
    }

    fn stride(&self) -> u32 {
        let mut inner = self.0.borrow_mut();
        let mean = inner.stride;
        inner.random.below(2 * mean) as u32
    }
}

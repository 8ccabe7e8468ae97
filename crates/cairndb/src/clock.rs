//! The clock by which statements end and live queries have their turns. Tests draw what it says, and what others do meanwhile.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::interrupt::Interrupt;
use crate::{Error, Result, SqlState, sync};

/// What it is now.
pub(crate) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = drawn::now() {
        return now;
    }
    sync::now()
}

/// How long it is since then.
pub(crate) fn since(then: Instant) -> std::time::Duration {
    now().saturating_duration_since(then)
}

/// Whether it is later than that.
pub(crate) fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| now() >= deadline)
}

/// Fails when a statement was cancelled or its time is up.
pub(crate) fn check_statement(interrupt: &Interrupt, deadline: Option<Instant>) -> Result<()> {
    #[cfg(test)]
    drawn::look_at_statement();
    if interrupt.load(Ordering::Relaxed) || interrupt.is_refused() {
        return Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
    }
    match has_passed(deadline) {
        true => Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")),
        false => Ok(()),
    }
}

/// A clock of a thread's own that stands still but where it is told to go on, so that what happens is the same each time.
#[cfg(test)]
pub(crate) mod drawn {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::time::{Duration, Instant};

    /// What happens at a look.
    pub(crate) enum Event {
        /// So much time is over.
        Time(Duration),
        /// Others do something: only while a statement is asked whether it is to end, where its thread could be any other's.
        Act(Box<dyn FnOnce()>),
    }

    struct Clock {
        now: Instant,
        /// What happens after so many looks, and after as many more.
        next: VecDeque<(u64, Event)>,
        /// How much has happened.
        happened: u64,
        /// Others do something, meanwhile nothing else happens.
        is_acting: bool,
    }

    thread_local! {
        static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
    }

    /// The thread's clock stands still from now on.
    pub(crate) fn begin() {
        CLOCK.set(Some(Clock { now: crate::sync::now(), next: VecDeque::new(), happened: 0, is_acting: false }));
    }

    /// It is the machine's again.
    pub(crate) fn end() {
        CLOCK.set(None);
    }

    fn with<R>(f: impl FnOnce(&mut Clock) -> R) -> R {
        CLOCK.with_borrow_mut(|clock| f(clock.as_mut().expect("a clock that was begun")))
    }

    /// Has something happen so many looks after what is to happen before.
    pub(crate) fn after(looks: u64, event: Event) {
        with(|clock| clock.next.push_back((looks, event)));
    }

    /// Nothing is to happen any more; how much did so far.
    pub(crate) fn calm() -> u64 {
        with(|clock| {
            clock.next.clear();
            clock.happened
        })
    }

    pub(super) fn now() -> Option<Instant> {
        look(false);
        CLOCK.with_borrow(|clock| clock.as_ref().map(|clock| clock.now))
    }

    /// A statement is asked whether it is to end.
    pub(crate) fn look_at_statement() {
        if let Some(act) = look(true) {
            with(|clock| clock.is_acting = true);
            act();
            with(|clock| clock.is_acting = false);
        }
    }

    fn look(may_act: bool) -> Option<Box<dyn FnOnce()>> {
        CLOCK.with_borrow_mut(|clock| {
            let clock = clock.as_mut().filter(|clock| !clock.is_acting)?;
            let (looks, event) = clock.next.front_mut()?;
            if *looks > 0 {
                *looks -= 1;
                return None;
            }
            if !may_act && matches!(event, Event::Act(_)) {
                return None;
            }
            clock.happened += 1;
            match clock.next.pop_front()?.1 {
                Event::Time(time) => {
                    clock.now += time;
                    None
                }
                Event::Act(act) => Some(act),
            }
        })
    }
}

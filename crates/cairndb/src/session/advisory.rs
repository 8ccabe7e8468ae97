//! Advisory locks: numbers that the sessions of a database lock by agreement (PostgreSQL 15, 13.3.5 and 9.27.10).
//!
//! What must hold:
//! - A number is locked by one session alone, or shared by several. A session is never in its own way.
//! - A session's locks are given back as often as they were taken, or all at its end; a transaction's with it.
//! - Who waits is woken by each release, and looks now and then whether its statement is to end. Sessions that wait for each other in a
//!   circle are told apart when the last of them begins to wait: it fails.
//!
//! They are of one process, as the database is. Which of several that wait is the next is not said.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::{Process, Wait};

use crate::clock::check_statement;
use crate::interrupt::Interrupt;
use crate::sync::{self, Condvar, Mutex};
use crate::types::{Advisory, LockScope};
use crate::{Error, Result, SqlState};

/// How often who waits looks whether its statement is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Who locks.
type Session = u64;

/// The locks of a database.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    state: Mutex<State>,
    released: Condvar,
    /// Where they are held.
    process: Process,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<Advisory, Vec<Hold>>,
    /// How many of the holds are a session's, of those that have any.
    counts: HashMap<Session, usize>,
    waiting: HashMap<Session, (Advisory, bool)>,
}

/// What a session has of a number.
#[derive(Debug)]
struct Hold {
    session: Session,
    shared: bool,
    scope: LockScope,
    count: u64,
}

impl State {
    /// Who is in the way.
    fn others(&self, session: Session, number: Advisory, shared: bool) -> impl Iterator<Item = Session> {
        let holds = self.held.get(&number).map_or(&[][..], Vec::as_slice).iter();
        let is_other = move |hold: &&Hold| hold.session != session && !(shared && hold.shared);
        holds.filter(is_other).map(|hold| hold.session)
    }

    /// Whether whoever is in the way waits for the session, by whatever way.
    fn is_circle(&self, session: Session, number: Advisory, shared: bool) -> bool {
        let mut open: Vec<Session> = self.others(session, number, shared).collect();
        let mut seen = Vec::new();
        while let Some(other) = open.pop() {
            if other == session {
                return true;
            }
            if let (false, Some((number, shared))) = (seen.contains(&other), self.waiting.get(&other)) {
                seen.push(other);
                open.extend(self.others(other, *number, *shared));
            }
        }
        false
    }

    fn hold(&mut self, number: Advisory, session: Session, shared: bool, scope: LockScope) {
        let holds = self.held.entry(number).or_default();
        let is_it = |hold: &&mut Hold| (hold.session, hold.shared, hold.scope) == (session, shared, scope);
        match holds.iter_mut().find(is_it) {
            Some(hold) => hold.count += 1,
            None => {
                holds.push(Hold { session, shared, scope, count: 1 });
                *self.counts.entry(session).or_default() += 1;
            }
        }
    }

    /// Gives back one of them; false: there is none.
    fn release(&mut self, number: Advisory, session: Session, shared: bool, scope: LockScope) -> bool {
        let Some(holds) = self.held.get_mut(&number) else { return false };
        let is_it = |hold: &Hold| (hold.session, hold.shared, hold.scope) == (session, shared, scope);
        let Some(at) = holds.iter().position(is_it) else { return false };
        holds[at].count -= 1;
        if holds[at].count == 0 {
            holds.swap_remove(at);
            if holds.is_empty() {
                self.held.remove(&number);
            }
            self.discount(session, 1);
        }
        true
    }

    fn release_all(&mut self, session: Session, scope: LockScope) {
        let mut gone = 0;
        self.held.retain(|_, holds| {
            let before = holds.len();
            holds.retain(|hold| (hold.session, hold.scope) != (session, scope));
            gone += before - holds.len();
            !holds.is_empty()
        });
        self.discount(session, gone);
    }

    fn count(&self, session: Session) -> usize {
        self.counts.get(&session).copied().unwrap_or(0)
    }

    fn discount(&mut self, session: Session, gone: usize) {
        let left = self.count(session).saturating_sub(gone);
        match left {
            0 => drop(self.counts.remove(&session)),
            left => drop(self.counts.insert(session, left)),
        }
    }
}

/// A session's part in it.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    locks: Arc<AdvisoryLocks>,
    session: Session,
    /// Whether it has locked anything since it had nothing.
    has_any: AtomicBool,
    /// Whether it has got a lock since somebody asked: others may have committed before they gave it back.
    has_got: AtomicBool,
    /// Those of the open transaction, in order.
    of_transaction: Mutex<Vec<(Advisory, bool)>>,
    /// The session's, which may get another.
    interrupt: Mutex<Arc<Interrupt>>,
    /// How many it may have.
    most: AtomicUsize,
    /// When the statement that runs has to be over.
    deadline: Mutex<Option<Instant>>,
}

impl SessionLocks {
    pub(crate) fn new(locks: &Arc<AdvisoryLocks>, interrupt: &Arc<Interrupt>) -> SessionLocks {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        SessionLocks {
            locks: locks.clone(),
            session: NEXT.fetch_add(1, Ordering::Relaxed),
            has_any: AtomicBool::new(false),
            has_got: AtomicBool::new(false),
            of_transaction: Mutex::default(),
            interrupt: Mutex::new(interrupt.clone()),
            most: AtomicUsize::new(usize::MAX),
            deadline: Mutex::default(),
        }
    }

    /// It may have so many from now on.
    pub(crate) fn limit(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// A statement begins that has to be over by then.
    pub(crate) fn begin_statement(&self, deadline: Option<Instant>) {
        *self.deadline.lock() = deadline;
    }

    /// What runs from now on is interrupted by this.
    pub(crate) fn renew_interrupt(&self, interrupt: &Arc<Interrupt>) {
        *self.interrupt.lock() = interrupt.clone();
    }

    /// Fails when the statement was cancelled or its time is up.
    pub(crate) fn check(&self) -> Result<()> {
        check_statement(&self.interrupt.lock(), *self.deadline.lock())
    }

    /// Locks a number; false: it is locked by another, and is not to be waited for.
    ///
    /// # Errors
    ///
    /// 40P01 where others wait for this session to get there; 53400 where it has as many as it may; 57014.
    pub(crate) fn lock(&self, number: Advisory, shared: bool, scope: LockScope, waits: bool) -> Result<bool> {
        let mut state = self.locks.state.lock();
        while state.others(self.session, number, shared).next().is_some() {
            if !waits {
                return Ok(false);
            }
            if state.is_circle(self.session, number, shared) {
                let message = "deadlock detected";
                let hint = "Lock numbers in the same order everywhere.";
                return Err(Error::new(SqlState::DEADLOCK_DETECTED, message).with_hint(hint));
            }
            state.waiting.insert(self.session, (number, shared));
            state = Wait::AdvisoryLock.during(|| self.locks.released.wait_for(state, LOOK));
            state.waiting.remove(&self.session);
            self.check()?;
        }
        let most = self.most.load(Ordering::Relaxed);
        if state.count(self.session).max(self.mark()) >= most {
            return Err(too_many(most));
        }
        state.hold(number, self.session, shared, scope);
        drop(state);
        self.has_any.store(true, Ordering::Relaxed);
        self.has_got.store(true, Ordering::Relaxed);
        if scope == LockScope::Transaction {
            self.of_transaction.lock().push((number, shared));
        }
        Ok(true)
    }

    /// Does nothing for so long, and looks now and then whether the statement is to end.
    pub(crate) fn sleep(&self, time: Duration) -> Result<()> {
        let begun = sync::now();
        loop {
            self.check()?;
            match time.checked_sub(sync::since(begun)).filter(|left| !left.is_zero()) {
                Some(left) => Wait::Time.during(|| sync::sleep(left.min(LOOK))),
                None => return Ok(()),
            }
        }
    }

    /// Gives back what the session locked; false: it has not.
    pub(crate) fn unlock(&self, number: Advisory, shared: bool) -> bool {
        let released = self.locks.state.lock().release(number, self.session, shared, LockScope::Session);
        self.locks.released.notify_all();
        released
    }

    /// The numbers that are locked or waited for, of all sessions: whether shared, and whether it has been got.
    pub(crate) fn locked(&self) -> Vec<(Advisory, bool, bool)> {
        let state = self.locks.state.lock();
        let held = state.held.iter().flat_map(|(number, holds)| holds.iter().map(|hold| (*number, hold.shared, true)));
        held.chain(state.waiting.values().map(|(number, shared)| (*number, *shared, false))).collect()
    }

    /// All that the session locked, but for what its transaction did.
    pub(crate) fn unlock_all(&self) {
        self.locks.state.lock().release_all(self.session, LockScope::Session);
        self.locks.released.notify_all();
    }

    /// Whether the session has locks of its own.
    pub(crate) fn has_any(&self) -> bool {
        let is_own = |hold: &Hold| hold.session == self.session;
        self.has_any.load(Ordering::Relaxed) && self.locks.state.lock().held.values().flatten().any(is_own)
    }

    /// Whether the session has got a lock since this was asked last.
    #[inline]
    pub(crate) fn take_got(&self) -> bool {
        self.has_got.load(Ordering::Relaxed) && self.has_got.swap(false, Ordering::Relaxed)
    }

    /// How many the transaction has locked.
    pub(crate) fn mark(&self) -> usize {
        if self.has_any.load(Ordering::Relaxed) { self.of_transaction.lock().len() } else { 0 }
    }

    /// The transaction goes back to when it had locked so many; to none at its end.
    #[inline]
    pub(crate) fn go_back(&self, mark: usize) {
        if self.has_any.load(Ordering::Relaxed) {
            self.release_behind(mark);
        }
    }

    #[cold]
    fn release_behind(&self, mark: usize) {
        let mut all = self.of_transaction.lock();
        let kept = mark.min(all.len());
        let gone = all.split_off(kept);
        drop(all);
        if gone.is_empty() {
            return;
        }
        let mut state = self.locks.state.lock();
        for (number, shared) in gone {
            state.release(number, self.session, shared, LockScope::Transaction);
        }
        drop(state);
        self.locks.released.notify_all();
    }
}

#[cold]
fn too_many(most: usize) -> Error {
    let message = format!("too many advisory locks: the session has {most} already");
    Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message)
        .with_hint("Give back those that are not needed any more.")
}

/// With the session all its locks go.
impl Drop for SessionLocks {
    fn drop(&mut self) {
        if self.has_any.load(Ordering::Relaxed) && self.locks.process.is_current() {
            self.go_back(0);
            self.unlock_all();
        }
    }
}

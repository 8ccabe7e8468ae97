//! What a session remembers between statements: settings and the open transaction.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cairn_storage::Losses;

use super::channels::{Hold, SessionChannels};
use super::limits::Limits;
use super::names::Names;
use super::settings::Settings;
use super::temporary::Temporary;
use crate::catalog::{Catalog, CatalogStamp};
use crate::dml::{Deferred, DeferredMark};
use crate::prepared::Prepared;
use crate::result::{Part, Whole};
use crate::state::{SaidMark, Savepoint, Transaction};
use crate::sync;
use crate::types::EvalContext;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState};

/// A transaction that BEGIN opened.
pub(crate) struct OpenTransaction {
    /// Functions that a statement calls hold it for as long as they run.
    pub(crate) tx: Arc<Transaction>,
    /// Shared with the rows of its queries, whose errors fail it too.
    failed: Arc<AtomicBool>,
    /// What the rows of a query that begins now belong to, and what all belong to.
    part: Arc<Part>,
    whole: Whole,
    pub(crate) read_only: bool,
    /// When it began, and when its last statement ended.
    pub(crate) begun: Instant,
    pub(crate) idle_since: Cell<Instant>,
    /// Micros since 2000-01-01 UTC: what `now()` says.
    pub(crate) started: i64,
    savepoints: Vec<NamedSavepoint>,
    channels: Arc<SessionChannels>,
    /// What the session hears waits for the transaction's end.
    hold: Option<Hold>,
    /// The catalog with this transaction's own changes, once it made some.
    pub(crate) catalog: RefCell<Option<(CatalogStamp, Arc<Catalog>)>>,
    /// Once a setting was changed.
    changed: ChangedSettings,
    /// Tells the transaction from all others of this process.
    serial: u64,
    /// Which schemas there are was noted as read.
    schemas_noted: Cell<bool>,
    /// What is looked at when it commits.
    pub(crate) deferred: Arc<Deferred>,
}

/// What ROLLBACK TO goes back to.
struct NamedSavepoint {
    name: String,
    state: Savepoint,
    /// What is behind it.
    part: Arc<Part>,
    deferred: DeferredMark,
    said: SaidMark,
    read_only: bool,
    settings: Arc<Settings>,
    /// What COMMIT would leave of them.
    changed: ChangedSettings,
}

/// Settings that ROLLBACK returns to, and those that COMMIT leaves (without SET LOCAL's).
type ChangedSettings = Option<Box<(Arc<Settings>, Arc<Settings>)>>;

/// The state behind a session.
pub(crate) struct SessionState {
    /// Shared with the statements that run under them.
    pub(crate) settings: Arc<Settings>,
    /// What RESET goes back to.
    pub(super) first_settings: Arc<Settings>,
    pub(crate) transaction: Option<OpenTransaction>,
    /// The catalog that was looked at last, and as this session sees it.
    pub(crate) seen: RefCell<Option<(Arc<Catalog>, Arc<Catalog>)>>,
    /// What the transactions since the last that committed have lost to others: the next is the same work, most likely.
    pub(crate) lost: Losses,
    /// Once a temporary relation was made.
    pub(crate) temporary: Option<Arc<Temporary>>,
    channels: Arc<SessionChannels>,
    /// Theirs are contexts that have this.
    names: Weak<Names>,
}

impl SessionState {
    pub(crate) fn new(settings: Settings, channels: Arc<SessionChannels>, names: &Arc<Names>) -> SessionState {
        let settings = Arc::new(settings);
        channels.begins_with(settings.clone());
        SessionState {
            first_settings: settings.clone(),
            settings,
            transaction: None,
            seen: RefCell::default(),
            lost: Losses::default(),
            temporary: None,
            channels,
            names: Arc::downgrade(names),
        }
    }

    /// What values' meaning depends on for a statement that begins now.
    pub(crate) fn eval(&self, transaction_timestamp: i64, statement_timestamp: i64) -> EvalContext {
        let of = &self.settings;
        let at = EvalContext::began(transaction_timestamp, statement_timestamp);
        at.of_session(&of.time_zone, of.style, of.clone(), self.channels.clone(), self.names.clone())
    }

    /// Once a lock was got by agreement, the open transaction goes on from what is committed by then, for that is what whoever had the
    /// lock has done under it: as if it had begun now. Where it can not, since what it read or wrote is another by now, or a cursor
    /// is open, it goes on as it is.
    #[inline]
    pub(crate) fn follow_locks(&self) {
        if let Some(open) = &self.transaction
            && self.channels.locks.take_got()
            && !self.names.upgrade().is_some_and(|names| names.cursors.has_any())
        {
            open.go_on_from_newest();
        }
    }

    /// Whether the open transaction failed and waits for ROLLBACK.
    pub(crate) fn failed(&self) -> bool {
        self.transaction.as_ref().is_some_and(OpenTransaction::failed)
    }

    pub(crate) fn fail(&self) {
        if let Some(open) = &self.transaction {
            open.failed.store(true, Ordering::Relaxed);
        }
    }

    /// `read_only`: `None` for the default.
    pub(crate) fn begin(&mut self, tx: Transaction, read_only: Option<bool>) {
        let default = self.settings.default_read_only;
        let said = read_only.filter(|read_only| *read_only != default);
        let read_only = said.unwrap_or(default);
        let failed = Arc::default();
        let whole = Whole::new(&failed);
        self.transaction = Some(OpenTransaction {
            tx: Arc::new(tx),
            part: whole.part(),
            whole,
            failed,
            read_only,
            begun: sync::now(),
            idle_since: Cell::new(sync::now()),
            started: clock_micros(),
            savepoints: Vec::new(),
            channels: self.channels.clone(),
            hold: self.channels.hold(),
            catalog: RefCell::default(),
            changed: None,
            serial: next_serial(),
            schemas_noted: Cell::new(false),
            deferred: Arc::default(),
        });
        if said.is_some() {
            self.set_read_only(read_only);
        }
    }

    /// What the session hears waits for the end of the open transaction, too, which began before it listened.
    pub(crate) fn hold_notifications(&mut self) {
        if let Some(open) = self.transaction.as_mut().filter(|open| open.hold.is_none()) {
            open.hold = self.channels.hold();
        }
    }

    /// Whether a statement that begins now may not write: the open transaction says it, or the one that it would be.
    pub(crate) fn is_read_only(&self) -> bool {
        self.transaction.as_ref().map_or(self.settings.default_read_only, |open| open.read_only)
    }

    /// The open transaction is READ ONLY from here on, or is not.
    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        // To be there for the transaction's end to go back to.
        if self.kept().is_some() {
            Arc::make_mut(&mut self.settings).read_only = Some(read_only);
        }
        if let Some(open) = &mut self.transaction {
            open.read_only = read_only;
        }
    }

    /// Takes the transaction out, with the settings that its end leaves.
    pub(crate) fn end(&mut self, committed: bool) -> Option<OpenTransaction> {
        let open = self.transaction.take()?;
        open.whole.end();
        if let Some(changed) = &open.changed {
            self.settings = if committed { changed.1.clone() } else { changed.0.clone() };
        }
        Some(open)
    }

    /// What the open transaction's COMMIT leaves, once a setting was changed in it.
    pub(crate) fn kept_settings(&mut self) -> Option<&mut Settings> {
        Some(Arc::make_mut(&mut self.transaction.as_mut()?.changed.as_mut()?.1))
    }

    /// To be called before a setting is changed: what the open transaction's COMMIT leaves, to be changed too where that
    /// is meant to last.
    pub(crate) fn kept(&mut self) -> Option<&mut Settings> {
        let open = self.transaction.as_mut()?;
        let settings = &self.settings;
        let changed = open.changed.get_or_insert_with(|| Box::new((settings.clone(), settings.clone())));
        Some(Arc::make_mut(&mut changed.1))
    }
}

fn next_serial() -> u64 {
    static SERIALS: AtomicU64 = AtomicU64::new(1);
    SERIALS.fetch_add(1, Ordering::Relaxed)
}

impl OpenTransaction {
    #[cold]
    fn go_on_from_newest(&self) {
        // A savepoint is a place in what it has done to the state that it reads.
        if !self.failed() && self.savepoints.is_empty() {
            // Where it can not, for whatever reason, it goes on as it is.
            let _ = self.tx.database().go_on_from_newest();
        }
    }

    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Notes as read in it what a statement's plan rests on.
    #[inline]
    pub(crate) fn note(&self, prepared: &Prepared) -> Result<()> {
        match prepared.is_noted_in(self.serial) {
            true => Ok(()),
            false => prepared.note_in(self.tx.reader().database(), &self.schemas_noted),
        }
    }

    /// Rolls the transaction back if it took too long, or waited too long for this statement: only ROLLBACK is accepted
    /// then. SQLSTATE 25P03, 25P04.
    pub(crate) fn check_time(&self, limits: &Limits) -> Result<()> {
        if self.failed() {
            return Ok(());
        }
        let over = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| sync::since(since) > limit);
        let error = if over(self.begun, limits.transaction_timeout) {
            Error::new(SqlState::TRANSACTION_TIMEOUT, "rolling back the transaction due to transaction timeout")
        } else if over(self.idle_since.get(), limits.idle_in_transaction) {
            let message = "rolling back the transaction due to idle-in-transaction timeout";
            Error::new(SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, message)
        } else {
            return Ok(());
        };
        self.tx.abandon();
        self.failed.store(true, Ordering::Relaxed);
        Err(error)
    }

    /// Until when it may wait for its next statement, and what a session that waits longer is ended with. SQLSTATE 25P03, 25P04.
    pub(super) fn idle_limit(&self, limits: &Limits) -> Option<(Instant, Error)> {
        let all = limits.transaction_timeout.map(|limit| (self.begun + limit, "transaction timeout"));
        let idle =
            limits.idle_in_transaction.map(|limit| (self.idle_since.get() + limit, "idle-in-transaction timeout"));
        let (until, why) = all.into_iter().chain(idle).min_by_key(|(until, _)| *until)?;
        let code = match why {
            "transaction timeout" => SqlState::TRANSACTION_TIMEOUT,
            _ => SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        };
        Some((until, Error::new(code, format!("terminating connection due to {why}"))))
    }

    /// What the rows of a query that begins now belong to.
    pub(crate) fn part(&self) -> &Arc<Part> {
        &self.part
    }

    /// How many savepoints there are.
    pub(crate) fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// The session's `settings` are as they are now when it is rolled back to.
    pub(crate) fn savepoint(&mut self, name: String, settings: &Arc<Settings>) -> Result<()> {
        let state = self.tx.savepoint()?;
        self.part = Arc::new(Part::behind(&self.part));
        self.savepoints.push(NamedSavepoint {
            name,
            state,
            part: self.part.clone(),
            deferred: self.deferred.mark(),
            said: self.channels.mark(),
            read_only: self.read_only,
            settings: settings.clone(),
            changed: self.changed.clone(),
        });
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|savepoint| savepoint.name == name).ok_or_else(|| {
            Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"))
        })
    }

    /// Forgets the savepoint and those after it; how many are left.
    pub(crate) fn release(&mut self, name: &str) -> Result<usize> {
        let at = self.find(name)?;
        if let Some(savepoint) = self.savepoints.get(at) {
            self.part = savepoint.part.within();
        }
        self.savepoints.truncate(at);
        Ok(at)
    }

    /// Undoes what came after the savepoint, which stays; the transaction is no longer failed. How many savepoints
    /// are before it.
    pub(crate) fn rollback_to(&mut self, name: &str, settings: &mut Arc<Settings>) -> Result<usize> {
        let at = self.find(name)?;
        self.savepoints.truncate(at + 1);
        if let Some(savepoint) = self.savepoints.last_mut() {
            self.tx.rollback_to(&savepoint.state)?;
            savepoint.part.end();
            savepoint.part = Arc::new(Part::behind(&savepoint.part.within()));
            self.part = savepoint.part.clone();
            self.deferred.go_back(&savepoint.deferred);
            self.channels.go_back(savepoint.said);
            settings.clone_from(&savepoint.settings);
            self.changed.clone_from(&savepoint.changed);
            self.read_only = savepoint.read_only;
        }
        *self.catalog.get_mut() = None;
        self.failed.store(false, Ordering::Relaxed);
        Ok(at)
    }
}

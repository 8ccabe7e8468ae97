//! A session: what runs statements, one after the other, and what it remembers between them.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;

use cairn_parser::Room;
use cairn_storage::Losses;

use super::advisory::SessionLocks;
use super::channels::{Leaving, SessionChannels};
use super::execute::Runnable;
use super::named_params::{numbered, text_for};
use super::runner::RoutineSession;
use super::sequences::{SessionSequences, StatementSequences};
use super::session_state::SessionState;
use super::settings::Settings;
use super::shared::{Handle, Shared};
use super::statement_cache::{StatementCache, TextHash};
use super::{Durability, Executed, InterruptHandle, Notice, Outcome, Params, PlanCache, Rows};
use crate::catalog::Catalog;
use crate::command;
use crate::dml::InserterBuffers;
use crate::exec::SpillSpace;
use crate::interrupt::Interrupt;
use crate::point::Buffers;
use crate::prepared::Prepared;
use crate::sql::{ParsedStatement, Script, parse_one_in, split_script};
use crate::sync::Mutex;
use crate::types::datetime::clock_micros;
use crate::types::{EvalContext, SessionUses, UseShard};
use crate::{Error, Result, SqlState};

/// What runs statements: the one implementation behind connections, statements, pools, and what the engine runs itself. `Send`, used
/// by one thread at a time.
pub(crate) struct Session {
    pub(crate) handle: Handle,
    pub(crate) interrupt: Arc<Interrupt>,
    pub(crate) state: RefCell<SessionState>,
    pub(crate) sequences: Arc<Mutex<SessionSequences>>,
    /// What the last statement had of them; the next one mostly has the same.
    pub(crate) statement_sequences: RefCell<Option<Arc<StatementSequences>>>,
    /// Room for the temporary files of its statements.
    pub(crate) spill: SpillSpace,
    /// For point statements.
    pub(crate) storage: RefCell<cairn_storage::Session>,
    cache: RefCell<StatementCache>,
    /// What the connections of its pool have planned.
    plans: Option<PlanCache>,
    /// An interrupt is for all that is run from then on: see [`Pooled`](super::Pooled).
    pub(crate) keeps_interrupt: bool,
    /// Its commits are not waited for; the last of them, until it is taken.
    pub(crate) pipelines: Cell<bool>,
    pub(crate) pending: Cell<Option<cairn_storage::Ticket>>,
    /// The buffers of point statements; borrowed while one runs.
    buffers: RefCell<Buffers>,
    /// Where its executions are counted.
    pub(super) uses: Arc<UseShard>,
    /// Those of other INSERTs.
    pub(crate) insert_room: Cell<InserterBuffers>,
    /// The parser's buffers.
    room: RefCell<Room>,
    /// What functions have of the session, and the notices.
    pub(crate) routines: Arc<RoutineSession>,
    /// The position of the last commit; 0 before the first.
    pub(crate) committed: Cell<u64>,
    _leaving: Leaving,
}

impl Session {
    pub(crate) fn new(handle: Handle) -> Result<Session> {
        let storage = handle.store.session()?;
        let interrupt: Arc<Interrupt> = Arc::default();
        let locks = SessionLocks::new(&handle.advisory, &interrupt);
        let channels = SessionChannels::new(&handle, locks);
        let routines = RoutineSession::of(&channels);
        let state = SessionState::new(Settings::of(&handle), channels.clone(), &routines.names);
        let uses = handle.uses.shard();
        let buffers = Buffers { uses: SessionUses::of(uses.clone()), ..Buffers::default() };
        Ok(Session {
            interrupt,
            state: RefCell::new(state),
            sequences: Arc::default(),
            statement_sequences: RefCell::default(),
            storage: RefCell::new(storage),
            spill: handle.spill_space(),
            cache: RefCell::default(),
            plans: None,
            keeps_interrupt: false,
            pipelines: Cell::new(false),
            pending: Cell::default(),
            buffers: RefCell::new(buffers),
            uses,
            insert_room: Cell::default(),
            room: RefCell::default(),
            routines,
            _leaving: Leaving(channels),
            committed: Cell::new(0),
            handle,
        })
    }

    /// What a point statement works in.
    ///
    /// # Errors
    ///
    /// [`row_is_lent`].
    #[inline]
    pub(crate) fn point_buffers(&self) -> Result<RefMut<'_, Buffers>> {
        self.buffers.try_borrow_mut().map_err(|_| row_is_lent())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle
    }

    /// Refuses everything in a child of the process that opened the database, before anything is locked.
    pub(crate) fn check_process(&self) -> Result<()> {
        Ok(self.shared().store.process().check()?)
    }

    /// The statement of a text, planned before if the text was seen before.
    pub(crate) fn runnable(&self, sql: &str) -> Result<Runnable> {
        self.parsed(sql).inspect_err(|_| self.state.borrow().fail())
    }

    pub(super) fn parsed(&self, sql: &str) -> Result<Runnable> {
        self.check_process()?;
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        if let Some(prepared) = self.find_plan(&mut cache, hash, sql) {
            let parsed = prepared.parsed.clone();
            return Ok(Runnable { prepared: Some(prepared), hash: Some(hash), ..Runnable::new(parsed) });
        }
        let mut parsed = parse_one_in(sql, &mut self.room.borrow_mut())?;
        parsed.is_clients = true;
        Ok(Runnable { hash: Some(hash), ..Runnable::new(Arc::new(parsed)) })
    }

    /// A statement to be prepared, and the names of its parameters, by their numbers. What reads without such has none: `a[1:n]`
    /// is a slice.
    pub(crate) fn runnable_with_names(&self, sql: &str) -> Result<(Runnable, Vec<String>)> {
        let found = match self.parsed(sql) {
            Ok(runnable) => Ok((runnable, Vec::new())),
            Err(error) => match numbered(sql) {
                Some((text, names)) => self.parsed(&text).map(|runnable| (runnable, names)),
                None => Err(error),
            },
        };
        found.inspect_err(|_| self.state.borrow().fail())
    }

    /// Remembers the plan of the statement of this hash.
    pub(crate) fn remember(&self, hash: TextHash, prepared: &Arc<Prepared>) {
        self.cache.borrow_mut().put(hash, prepared);
        if let Some(plans) = &self.plans {
            plans.put(hash, prepared);
        }
    }

    /// From now on it has part in these plans.
    pub(crate) fn share_plans(&mut self, plans: &PlanCache) {
        self.cache = RefCell::new(plans.of_connection());
        self.plans = Some(plans.clone());
    }

    /// The catalog of the newest durable state, if it was read already.
    pub(crate) fn known_catalog(&self) -> Result<Option<Arc<Catalog>>> {
        let known = self.shared().known_catalog(self.shared().store.snapshot()?.reader())?;
        Ok(known.map(|catalog| self.seen(catalog)))
    }

    /// The plan of a text that this session, or another of its pool, has made.
    pub(crate) fn known_plan(&self, sql: &str) -> Option<Arc<Prepared>> {
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        self.find_plan(&mut cache, hash, sql)
    }

    fn find_plan(&self, cache: &mut StatementCache, hash: TextHash, sql: &str) -> Option<Arc<Prepared>> {
        cache.get(hash, sql).or_else(|| {
            let prepared = self.plans.as_ref()?.get(hash, sql)?;
            cache.put(hash, &prepared);
            Some(prepared)
        })
    }

    /// A plan that another session of the pool has made in place of this one.
    pub(crate) fn newer_plan(&self, sql: &str, known: &Arc<Prepared>) -> Option<Arc<Prepared>> {
        let plans = self.plans.as_ref()?;
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        let newer = plans.get(hash, sql).filter(|newer| !Arc::ptr_eq(newer, known))?;
        cache.put(hash, &newer);
        Some(newer)
    }

    /// Forgets every statement's plan.
    pub(crate) fn forget_plans(&self) {
        self.cache.take();
    }

    pub(super) fn run_text(&self, sql: &str, params: &dyn Params) -> Result<Executed> {
        let sql = text_for(sql, params).inspect_err(|_| self.state.borrow().fail())?;
        self.run_one(&mut self.runnable(&sql)?, params)
    }

    /// The buffers are lent no longer than this: a callback may run statements too.
    fn next_parsed<'s>(&self, script: &mut Script<'s>) -> Option<(&'s str, Result<ParsedStatement>)> {
        let mut next = script.next_parsed(&mut self.room.borrow_mut());
        if let Some((_, Ok(parsed))) = &mut next {
            parsed.is_clients = true;
        }
        next
    }

    pub(crate) fn change_settings(&self, change: impl Fn(&mut Settings)) -> Result<()> {
        self.check_process()?;
        let mut state = self.state_mut()?;
        if let Some(kept) = state.kept() {
            change(kept);
        }
        change(Arc::make_mut(&mut state.settings));
        Ok(())
    }

    /// The session's state, to be changed.
    ///
    /// # Errors
    ///
    /// [`row_is_lent`].
    pub(crate) fn state_mut(&self) -> Result<RefMut<'_, SessionState>> {
        self.state.try_borrow_mut().map_err(|_| row_is_lent())
    }

    /// What this session's commits promise; `None`: what the database's do.
    pub(crate) fn durability(&self) -> Option<Durability> {
        self.state.borrow().settings.durability
    }

    pub(crate) fn notice(&self, severity: &'static str, code: SqlState, message: impl Into<String>) {
        self.notice_with(Notice { severity, code, message: message.into(), detail: None });
    }

    pub(crate) fn notice_with(&self, notice: Notice) {
        self.routines.channels.notices.add(notice);
    }

    /// The catalog as this session sees it now.
    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        match &self.state.borrow().transaction {
            Some(open) => self.catalog_in(open).map(|(_, catalog)| catalog),
            None => Ok(self.seen(self.shared().catalog(self.shared().store.snapshot()?.reader())?.1)),
        }
    }

    /// Runs one statement; the number of rows it inserted, updated or deleted.
    pub(crate) fn execute(&self, sql: &str, params: &dyn Params) -> Result<u64> {
        exhaust(self.run_text(sql, params)?)
    }

    /// Runs a query (or a statement with RETURNING).
    pub(crate) fn query(&self, sql: &str, params: &dyn Params) -> Result<Rows> {
        Ok(self.run_text(sql, params)?.rows.unwrap_or_else(Rows::empty))
    }

    /// Runs statements one after the other; `each` is called after each of them.
    pub(crate) fn run(&self, sql: &str, each: &mut dyn FnMut(&mut Outcome<'_>) -> Result<()>) -> Result<()> {
        let mut script = split_script(sql);
        while let Some((text, parsed)) = self.next_parsed(&mut script) {
            let parsed = match parsed {
                Ok(parsed) => Arc::new(parsed),
                Err(error) => {
                    self.state.borrow().fail();
                    return Err(error);
                }
            };
            if parsed.parameters > 0 && !command::is_prepare(&parsed) {
                self.state.borrow().fail();
                return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
            }
            let mut runnable = Runnable::new(parsed);
            let executed = match command::reads_data(&runnable.parsed) {
                true => {
                    let mut data = script.take_data().inspect_err(|_| self.state.borrow().fail())?.as_bytes();
                    self.copy_in_parsed(&runnable.parsed, &mut data)?
                }
                false => self.run_one(&mut runnable, &())?,
            };
            let mut outcome = Outcome {
                statement: text,
                tag: executed.tag,
                affected: executed.affected,
                rows: executed.rows,
                notices: self.take_notices(),
            };
            each(&mut outcome)?;
            // What the callback did not look at must still be known to succeed.
            outcome.rows.as_mut().map_or(Ok(()), Rows::exhaust)?;
        }
        Ok(())
    }

    /// Whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        self.state.borrow().transaction.is_some()
    }

    /// Whether it failed and waits for ROLLBACK.
    pub(crate) fn transaction_failed(&self) -> bool {
        self.state.borrow().failed()
    }

    /// A handle that stops what runs.
    pub(crate) fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }

    /// What text forms of values depend on, as for a statement that begins now.
    pub(crate) fn text_context(&self) -> EvalContext {
        let now = clock_micros();
        let mut eval = self.state.borrow().eval(now, now);
        if let Ok(catalog) = self.with_state(|state| Ok(state.catalog.clone())) {
            eval.know_oids(catalog);
        }
        eval
    }

    /// Notices since the last call, which the client hears.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        let level = self.state.borrow().settings.min_messages;
        let mut notices = self.routines.channels.notices.take();
        notices.retain(|notice| notice.is_heard(level));
        notices
    }

    /// What the transactions since the last that committed have lost is of no matter for the next.
    pub(crate) fn forget_losses(&self) -> Result<()> {
        self.state_mut()?.lost = Losses::default();
        Ok(())
    }
}

/// SQLSTATE 55006: the statement was called by who reads a row that the session lends him.
#[cold]
pub(crate) fn row_is_lent() -> Error {
    Error::new(SqlState::OBJECT_IN_USE, "the connection is in use: a row of it is being read").with_hint(
        "Copy what is needed of the row, and run the statement after the callback, or use another connection.",
    )
}

/// The rows that a statement affected; reads through rows that nobody wants, for their errors.
pub(crate) fn exhaust(mut executed: Executed) -> Result<u64> {
    if let Some(rows) = &mut executed.rows {
        rows.exhaust()?;
    }
    Ok(executed.affected)
}

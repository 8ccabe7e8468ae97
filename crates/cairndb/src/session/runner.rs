//! Runs the statements of functions: within the statement that calls them, in its transaction.

mod host;
mod utility;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::channels::SessionChannels;
use super::names::Names;
use super::sequences::{SessionSequences, StatementSequences};
use super::shared::Shared;
use super::temporary::Temporary;
use crate::catalog::{Catalog, CatalogStamp, ObjectId, Routine, SearchPath, note_all};
use crate::command::Execute;
use crate::ddl;
use crate::dml::{Deferred, DmlContext, InserterBuffers};
use crate::exec::{ExecContext, Keep, RowStream, ScrolledRows, SequenceSource};
use crate::plan::OptimizerOptions;
use crate::prepared::Prepared;
use crate::routine::{CompiledRoutines, StatementHost};
use crate::sql::ParsedStatement;
use crate::state::{Reader, Transaction};
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Result, SqlState, Value};

/// See the module. One for each statement of a session.
pub(crate) struct Runner {
    pub(super) shared: Weak<Shared>,
    /// `None`: the statement only reads.
    pub(super) tx: Option<Weak<Transaction>>,
    /// What it reads, and under which limits; its own caller is nobody.
    pub(super) base: ExecContext,
    /// The schema, with what was changed of it since.
    pub(super) now: Mutex<(CatalogStamp, Arc<Catalog>)>,
    /// Another number for each schema that a runner sees: what was found to be current needs no second look.
    pub(super) seen: AtomicU64,
    pub(super) options: OptimizerOptions,
    pub(super) deferred: Option<Arc<Deferred>>,
    pub(super) read_only: bool,
    pub(super) session: Arc<RoutineSession>,
    pub(super) sequences: Arc<Mutex<SessionSequences>>,
    pub(super) temporary: Option<Arc<Temporary>>,
    /// Shared with the runners of the statement's other transactions.
    pub(super) depth: Arc<AtomicUsize>,
    pub(super) triggers: AtomicUsize,
    /// The tables whose triggers are running.
    pub(super) busy: Mutex<Vec<ObjectId>>,
    /// That plans rest on the schema was noted in the transaction.
    pub(super) noted: AtomicBool,
    /// Of the cursors that are opened.
    pub(super) cursor_depth: usize,
}

/// What functions have of their session.
#[derive(Debug)]
pub(crate) struct RoutineSession {
    pub(super) compiled: CompiledRoutines,
    pub(super) channels: Arc<SessionChannels>,
    /// What DECLARE and functions opened, and what PREPARE made.
    pub(super) names: Arc<Names>,
    /// The transaction has made, filled or dropped materialized views that follow.
    pub(super) views: AtomicBool,
    /// Loops over queries, for the transaction's end to read on to theirs.
    loops: Mutex<Vec<Weak<Mutex<ScrolledRows>>>>,
    /// How many cursors got a name that nobody said.
    pub(super) portals: AtomicU64,
    /// The search paths of functions that have their own: plans rest on the very same.
    paths: Mutex<HashMap<ObjectId, Arc<SearchPath>>>,
    /// What the last INSERT within a function has left.
    insert_room: Mutex<InserterBuffers>,
}

impl RoutineSession {
    pub(super) fn of(channels: &Arc<SessionChannels>) -> Arc<RoutineSession> {
        Arc::new(RoutineSession {
            compiled: CompiledRoutines::default(),
            channels: channels.clone(),
            names: Arc::default(),
            views: AtomicBool::default(),
            loops: Mutex::default(),
            portals: AtomicU64::default(),
            paths: Mutex::default(),
            insert_room: Mutex::default(),
        })
    }

    /// The rows of a loop whose transaction may end before it does.
    pub(crate) fn looped(&self, stream: RowStream) -> Arc<Mutex<ScrolledRows>> {
        let rows = Arc::new(Mutex::new(ScrolledRows::new(stream, Keep::Nothing)));
        let mut loops = self.loops.lock();
        loops.retain(|known| known.strong_count() > 0);
        loops.push(Arc::downgrade(&rows));
        rows
    }

    /// Before a transaction ends within loops: reads what they have left.
    pub(super) fn hold_loops(&self, reader: &Reader) -> Result<()> {
        let loops: Vec<_> = self.loops.lock().drain(..).collect();
        loops.iter().filter_map(Weak::upgrade).try_for_each(|rows| rows.lock().hold(reader))
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runner")
    }
}

impl Runner {
    /// The same under another catalog, as the transaction has it now.
    fn under(&self, catalog: &Arc<Catalog>) -> Result<Runner> {
        let stamp = match self.transaction()? {
            Some(tx) => CatalogStamp::of(tx.reader().database(), self.shared()?.trees)?,
            None => self.now().0,
        };
        Ok(Runner {
            shared: self.shared.clone(),
            tx: self.tx.clone(),
            base: self.base.clone(),
            now: Mutex::new((stamp, catalog.clone())),
            seen: AtomicU64::new(next_seen()),
            busy: Mutex::new(self.busy.lock().clone()),
            options: self.options.clone(),
            deferred: self.deferred.clone(),
            read_only: self.read_only,
            session: self.session.clone(),
            sequences: self.sequences.clone(),
            temporary: self.temporary.clone(),
            depth: Arc::new(AtomicUsize::new(self.depth.load(Ordering::Relaxed))),
            triggers: AtomicUsize::new(self.triggers.load(Ordering::Relaxed)),
            noted: AtomicBool::new(false),
            cursor_depth: self.cursor_depth,
        })
    }

    fn transaction(&self) -> Result<Option<Arc<Transaction>>> {
        let ended = || Error::internal("a function runs outside of its statement");
        self.tx.as_ref().map(|tx| tx.upgrade().ok_or_else(ended)).transpose()
    }

    /// The catalog and its stamp as this statement has changed it.
    pub(crate) fn now(&self) -> (CatalogStamp, Arc<Catalog>) {
        let now = self.now.lock();
        (now.0, now.1.clone())
    }

    /// The path, the same as last time where it says the same.
    fn path_of(&self, routine: ObjectId, wanted: SearchPath) -> Arc<SearchPath> {
        let mut paths = self.session.paths.lock();
        match paths.get(&routine) {
            Some(known) if **known == wanted => known.clone(),
            _ => {
                let path = Arc::new(wanted);
                paths.insert(routine, path.clone());
                path
            }
        }
    }

    /// What statements see that are planned now.
    fn reader(&self) -> Result<Reader> {
        if self.base.reader.is_frozen() {
            return Ok(self.base.reader.clone());
        }
        Ok(self.transaction()?.map_or_else(|| self.base.reader.clone(), |tx| tx.reader().clone()))
    }

    /// For a statement that changes rows.
    fn begin_changes(&self, prepared: &Prepared) -> Result<(Arc<Transaction>, Arc<Shared>)> {
        let tx = self.transaction()?.ok_or_else(|| no_changes(&prepared.parsed))?;
        if self.read_only && !prepared.writes_only_temporary() {
            return Err(super::execute::read_only_violation(&prepared.parsed));
        }
        let shared = self.shared()?;
        if !self.noted.swap(true, Ordering::Relaxed) {
            note_all(tx.reader().database())?;
        }
        Ok((tx, shared))
    }

    /// The same, where it is one.
    pub(super) fn may_begin_changes(&self, prepared: &Prepared) -> Result<()> {
        if prepared.writes() { self.begin_changes(prepared).map(drop) } else { Ok(()) }
    }

    /// What a cursor reads that a function opens, whatever is changed later.
    pub(super) fn reader_for_cursor(&self, routine: &Routine, callers: Reader) -> Result<Reader> {
        match self.transaction()? {
            Some(tx) if routine.may_write() => Ok(tx.reader_of_now()?),
            _ => Ok(callers),
        }
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        self.shared.upgrade().ok_or_else(|| Error::internal("the database is closed"))
    }

    fn insert_room(&self) -> MutexGuard<'_, InserterBuffers> {
        self.session.insert_room.lock()
    }

    fn dml<'a>(
        &'a self,
        tx: &'a Transaction,
        catalog: &'a Arc<Catalog>,
        (exec, room): (&'a ExecContext, &'a Cell<InserterBuffers>),
        shared: &'a Shared,
    ) -> DmlContext<'a> {
        shared.dml(tx, catalog, exec, (self.deferred.as_deref(), room))
    }

    /// Looks at the schema again, where a command or a rollback has changed it.
    fn see_changes(&self, tx: &Transaction, shared: &Shared) -> Result<()> {
        let (stamp, catalog) = shared.catalog_within(tx)?;
        let (_, known) = self.now();
        let path = match tx.reader().temporary() {
            Some(temporary) => super::temporary::seen(known.path(), temporary)?,
            None => None,
        };
        let catalog = Arc::new(catalog.under(path.as_ref().unwrap_or_else(|| known.path())));
        *self.now.lock() = (stamp, catalog);
        self.seen.store(next_seen(), Ordering::Relaxed);
        Ok(())
    }
}

/// A number for a schema that a runner sees.
pub(super) fn next_seen() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl ddl::SchemaHost for Runner {
    fn sequences(&self, catalog: &Arc<Catalog>) -> Arc<dyn SequenceSource> {
        let (shared, session) = (self.shared.clone(), self.sequences.clone());
        Arc::new(StatementSequences::new(shared, catalog, session, self.temporary.clone(), self.read_only))
    }

    fn keep_feeds(&self) -> Result<()> {
        self.shared()?.keep_feeds()
    }

    fn follow_views(&self) {
        self.session.views.store(true, Ordering::Relaxed);
    }

    fn parameters(&self) -> &[Value] {
        // What a body has is its variables.
        &[]
    }

    fn executed(&self, _: &ParsedStatement, _: &Execute) -> Result<(Arc<ParsedStatement>, Vec<Value>)> {
        Err(Error::unsupported("EXECUTE of a prepared statement in a function"))
    }

    fn is_busy(&self, table: ObjectId) -> bool {
        self.busy.lock().contains(&table)
    }

    fn functions(&self, catalog: &Arc<Catalog>) -> Result<Arc<dyn StatementHost>> {
        Ok(Arc::new(self.under(catalog)?))
    }
}

/// A function that is said to change nothing does.
fn no_changes(parsed: &ParsedStatement) -> Error {
    not_allowed(&super::execute::verb_of(parsed))
}

fn not_allowed(name: &str) -> Error {
    let message = format!("{name} is not allowed in a non-volatile function");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

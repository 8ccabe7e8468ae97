//! What a statement runs on: a reader, the catalog there, and what it may change, made in one place for each of three cases (a
//! snapshot, the open transaction, a transaction of the statement's own); and what it is run with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use crate::catalog::{Catalog, CatalogStamp};
use crate::clock;
use crate::dml::{Deferred, DmlContext};
use crate::exec::{BatchSizes, ExecContext, SequenceSource};
use crate::prepared::Prepared;
use crate::routine::calls_of;
use crate::session::cursors::OF_STATEMENT;
use crate::session::runner::{Runner, next_seen};
use crate::session::sequences::StatementSequences;
use crate::session::session_state::{OpenTransaction, SessionState};
use crate::session::{Params, Session};
use crate::state::{Reader, Transaction};
use crate::sync::{self, Mutex};
use crate::types::collect;
use crate::types::datetime::clock_micros;
use crate::{Error, Result};

/// A transaction that functions use, too, and what is looked at when it commits.
type Shared<'a> = (&'a Arc<Transaction>, Option<&'a Arc<Deferred>>);

/// A state to run on: its reader, its catalog.
pub(in crate::session) struct State<'a> {
    pub(in crate::session) reader: &'a Reader,
    /// What the statement may change rows in.
    pub(in crate::session) tx: Option<Shared<'a>>,
    pub(in crate::session) stamp: CatalogStamp,
    pub(in crate::session) catalog: Arc<Catalog>,
    /// The transaction's timestamp; `None`: the statement's own.
    pub(in crate::session) started: Option<i64>,
    pub(in crate::session) read_only: bool,
    /// The statement runs again, because another got in its way.
    pub(in crate::session) has_lost: bool,
}

impl<'a> State<'a> {
    /// Of a statement that only reads what a snapshot has.
    pub(in crate::session) fn of_snapshot(session: &Session, reader: &'a Reader) -> Result<State<'a>> {
        let (stamp, catalog) = session.catalog_at(reader)?;
        let read_only = session.state.borrow().is_read_only();
        Ok(State { reader, tx: None, stamp, catalog, started: None, read_only, has_lost: false })
    }

    /// Of a statement in the transaction that BEGIN opened.
    pub(in crate::session) fn of_open(session: &Session, open: &'a OpenTransaction) -> Result<State<'a>> {
        let (stamp, catalog) = session.catalog_in(open)?;
        let (reader, tx) = (open.tx.reader(), Some((&open.tx, Some(&open.deferred))));
        let (started, read_only) = (Some(open.started), open.read_only);
        Ok(State { reader, tx, stamp, catalog, started, read_only, has_lost: false })
    }

    /// Of a statement in a transaction of its own, which owes nothing to COMMIT.
    pub(in crate::session) fn alone(session: &Session, tx: &'a Arc<Transaction>) -> Result<State<'a>> {
        let (stamp, catalog) = session.catalog_of(tx)?;
        let read_only = session.state.borrow().is_read_only();
        let (reader, tx) = (tx.reader(), Some((tx, None)));
        Ok(State { reader, tx, stamp, catalog, started: None, read_only, has_lost: false })
    }
}

impl Session {
    /// The state that a statement would see now; nothing can be changed in it.
    pub(in crate::session) fn with_state<T>(&self, work: impl FnOnce(&State<'_>) -> Result<T>) -> Result<T> {
        let session = self.state.borrow();
        match &session.transaction {
            None => work(&State::of_snapshot(self, &self.reader_of_now(&session)?)?),
            Some(open) if open.failed() => Err(Error::aborted_transaction()),
            Some(open) => work(&State { tx: None, ..State::of_open(self, open)? }),
        }
    }

    /// Reads what is committed now.
    pub(in crate::session) fn reader_of_now(&self, session: &SessionState) -> Result<Reader> {
        let snapshot = self.shared().store.snapshot()?;
        Ok(match session.temporary_store() {
            None => Reader::from(snapshot.reader()),
            Some(temporary) => Reader::new(snapshot.reader(), Some(temporary.store().snapshot()?.reader())),
        })
    }

    /// The catalog in a state, as this session sees it.
    pub(in crate::session) fn catalog_at(&self, reader: &Reader) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let (stamp, catalog) = self.shared().catalog(reader.database())?;
        Ok((stamp, self.seen(catalog)))
    }

    /// The catalog in a transaction, with its own changes, as this session sees it.
    pub(in crate::session) fn catalog_of(&self, tx: &Transaction) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let (stamp, catalog) = self.shared().catalog_within(tx)?;
        Ok((stamp, self.seen(catalog)))
    }

    /// As [`Session::catalog_of`] the open one, which keeps it.
    pub(in crate::session) fn catalog_in(&self, open: &OpenTransaction) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let database = open.tx.reader().database();
        let stamp = CatalogStamp::of(database, self.shared().trees)?;
        let mut kept = open.catalog.borrow_mut();
        let catalog = match &*kept {
            Some((known, catalog)) if *known == stamp => catalog.clone(),
            _ => self.shared().catalog_of_transaction(database, stamp)?,
        };
        *kept = Some((stamp, catalog.clone()));
        Ok((stamp, self.seen(catalog)))
    }

    /// The catalog as this session sees it.
    pub(in crate::session) fn seen(&self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        let session = self.state.borrow();
        let path = &session.settings.search_path;
        if Arc::ptr_eq(catalog.path(), path) {
            return catalog;
        }
        let mut seen = session.seen.borrow_mut();
        match &*seen {
            Some((of, seen)) if Arc::ptr_eq(of, &catalog) && Arc::ptr_eq(seen.path(), path) => seen.clone(),
            _ => {
                let now = Arc::new(catalog.under(path));
                *seen = Some((catalog, now.clone()));
                now
            }
        }
    }

    pub(in crate::session) fn context(
        &self,
        prepared: &Prepared,
        state: &State<'_>,
        params: &dyn Params,
    ) -> Result<ExecContext> {
        let session = self.state.borrow();
        let now = clock_micros();
        let mut eval = session.eval(state.started.unwrap_or(now), now);
        eval.know_oids(state.catalog.clone());
        let parameters = collect(params, &prepared.parameters, &eval)?;
        let limits = &session.settings.limits;
        let begun = || session.transaction.as_ref().map_or_else(sync::now, |open| open.begun);
        let deadline = session.settings.statement_timeout.and_then(|limit| clock::now().checked_add(limit));
        self.channels().locks.begin_statement(deadline);
        let mut context = ExecContext {
            reader: state.reader.clone(),
            parameters: if parameters.is_empty() { Arc::default() } else { parameters.into() },
            eval: Arc::new(eval),
            interrupt: self.interrupt.clone(),
            deadline,
            transaction_deadline: limits.transaction_timeout.and_then(|limit| begun().checked_add(limit)),
            sequences: Some(self.sequences_under(&state.catalog, state.read_only)),
            memory_budget: limits.statement_mem,
            work_mem: limits.work_mem,
            spill: self.spill.with_limit(limits.temp_file_limit),
            batch_sizes: BatchSizes::up_to(prepared.options.batch_rows),
            one_by_one: false,
            sparing: false,
            analyze: false,
            buffers: false,
            uses: Some(self.uses.clone()),
        };
        if state.catalog.has_routines() {
            let runner = Arc::new(self.runner(&context, state, &session));
            context.eval = Arc::new(context.eval.with_calls(Some(calls_of(runner))));
        }
        Ok(context)
    }

    /// Runs the functions that a statement calls.
    pub(in crate::session) fn runner(
        &self,
        context: &ExecContext,
        state: &State<'_>,
        session: &SessionState,
    ) -> Runner {
        Runner {
            shared: Arc::downgrade(self.shared()),
            tx: state.tx.map(|(tx, _)| Arc::downgrade(tx)),
            base: ExecContext { parameters: Arc::default(), analyze: false, ..context.clone() },
            now: Mutex::new((state.stamp, state.catalog.clone())),
            seen: AtomicU64::new(next_seen()),
            options: session.settings.optimizer.clone(),
            deferred: state.tx.and_then(|(_, deferred)| deferred.cloned()),
            read_only: state.read_only,
            session: self.routines.clone(),
            sequences: self.sequences.clone(),
            temporary: session.temporary.clone(),
            depth: Arc::default(),
            triggers: AtomicUsize::new(0),
            busy: Mutex::default(),
            noted: AtomicBool::new(false),
            cursor_depth: session.transaction.as_ref().map_or(OF_STATEMENT, OpenTransaction::depth),
        }
    }

    pub(in crate::session) fn sequences_under(
        &self,
        catalog: &Arc<Catalog>,
        read_only: bool,
    ) -> Arc<dyn SequenceSource> {
        let mut last = self.statement_sequences.borrow_mut();
        if let Some(last) = &*last
            && Arc::ptr_eq(&last.catalog, catalog)
            && last.read_only == read_only
        {
            return last.clone();
        }
        let (shared, session) = (Arc::downgrade(self.shared()), self.sequences.clone());
        let temporary = self.state.borrow().temporary.clone();
        let made = Arc::new(StatementSequences::new(shared, catalog, session, temporary, read_only));
        *last = Some(made.clone());
        made
    }

    pub(in crate::session) fn dml_context<'a>(
        &'a self,
        tx: &'a Transaction,
        (state, exec): (&'a State<'_>, &'a ExecContext),
    ) -> DmlContext<'a> {
        let deferred = state.tx.and_then(|(_, deferred)| Some(&**deferred?));
        self.shared().dml(tx, &state.catalog, exec, (deferred, &self.insert_room))
    }
}

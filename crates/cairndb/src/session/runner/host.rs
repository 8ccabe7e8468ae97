//! Bodies ask, and the statement that calls them runs.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Runner, not_allowed};
use crate::bind::{Callees, ParameterTypes, Variables};
use crate::catalog::{Catalog, CatalogStamp, ObjectId, Routine, SearchPath};
use crate::columns::Batch;
use crate::command::{self, Direction};
use crate::ddl;
use crate::dml;
use crate::exec::{self, Collected, ExecContext, RowStream, ScrolledRows};
use crate::functions::Calls;
use crate::plan::{Expr, Field, PhysicalNode, PhysicalPlan};
use crate::prepared::{Body, Prepared};
use crate::routine::{BlockSavepoint, CompiledRoutines, Ran, StatementHost, UnderPath};
use crate::session::Notice;
use crate::sql::ParsedStatement;
use crate::sync::Mutex;
use crate::types::{EvalContext, ShownSettings};
use crate::{Result, Value};

/// To read so many rows while others are changed, pages are kept; fewer are read at once.
const MANY: f64 = 1000.0;

/// The settings of a session under another search path.
#[derive(Debug)]
struct OtherPath {
    path: Arc<SearchPath>,
    others: Option<Arc<dyn ShownSettings>>,
}

impl ShownSettings for OtherPath {
    fn shown(&self, name: &str) -> Option<String> {
        match name {
            "search_path" => Some(self.path.to_string()),
            _ => self.others.as_ref()?.shown(name),
        }
    }

    fn shown_with(&self, name: &str, value: &str) -> Result<String> {
        self.others.as_ref().map_or_else(|| Ok(value.to_owned()), |others| others.shown_with(name, value))
    }
}

impl StatementHost for Runner {
    fn catalog(&self) -> Arc<Catalog> {
        self.now().1
    }

    fn base(&self) -> &ExecContext {
        &self.base
    }

    fn depth(&self) -> &AtomicUsize {
        &self.depth
    }

    fn begin_trigger(&self, table: ObjectId) {
        self.triggers.fetch_add(1, Ordering::Relaxed);
        self.busy.lock().push(table);
    }

    fn end_trigger(&self) {
        self.triggers.fetch_sub(1, Ordering::Relaxed);
        self.busy.lock().pop();
    }

    fn triggers(&self) -> &AtomicUsize {
        &self.triggers
    }

    fn compiled(&self) -> &CompiledRoutines {
        &self.session.compiled
    }

    fn looped(&self, stream: RowStream) -> Arc<Mutex<ScrolledRows>> {
        self.session.looped(stream)
    }

    fn notice(&self, notice: Notice) {
        self.session.channels.notices.add(notice);
    }

    fn context(&self, routine: &Routine, eval: &EvalContext) -> Result<ExecContext> {
        let reads = match self.transaction()? {
            Some(tx) if routine.may_write() => eval.reading(tx.reader()),
            _ => eval.clone(),
        };
        let reader = reads.calls()?.reader.clone();
        Ok(ExecContext { reader, eval: Arc::new(reads), ..self.base.clone() })
    }

    fn frozen_for(&self, args: &[Expr], context: &ExecContext) -> Result<Option<ExecContext>> {
        match self.transaction()? {
            Some(tx) if args.iter().any(|arg| Callees::of(arg) == Callees::Writers) => {
                Ok(Some(context.reading(tx.reader_of_now()?)))
            }
            _ => Ok(None),
        }
    }

    fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    fn under_path_of(&self, routine: &Routine, eval: &EvalContext) -> Result<Option<UnderPath>> {
        if routine.search_path.is_empty() {
            return Ok(None);
        }
        let (_, catalog) = self.now();
        let wanted = SearchPath { schemas: routine.search_path.clone(), ..SearchPath::clone(catalog.path()) };
        if wanted == **catalog.path() {
            return Ok(None);
        }
        let path = self.path_of(routine.id, wanted);
        let catalog = Arc::new(catalog.under(&path));
        let mut runner = self.under(&catalog)?;
        runner.base.sequences = Some(ddl::SchemaHost::sequences(self, &catalog));
        let (runner, others) = (Arc::new(runner), eval.settings.clone());
        // (Nobody has called it where a body is only looked at.)
        let reader = eval.known_calls().map_or_else(|| self.base.reader.clone(), |calls| calls.reader.clone());
        let mut eval = eval.with_calls(Some(Calls { caller: runner.clone(), reader }));
        eval.settings = Some(Arc::new(OtherPath { path, others }));
        let seen = (runner.seen(), self.seen());
        Ok(Some(UnderPath { host: runner, eval, seen }))
    }

    fn catch_up(&self, under: &UnderPath) -> Result<()> {
        match self.transaction()? {
            Some(tx) if under.host.seen() != under.seen.0 => self.see_changes(&tx, &*self.shared()?),
            _ => Ok(()),
        }
    }

    fn is_current(&self, prepared: &Prepared) -> bool {
        let now = self.now.lock();
        prepared.is_current(now.0, &now.1, &self.options)
    }

    fn refuse_call_in_query(&self) -> Result<()> {
        match self.tx {
            Some(_) => Ok(()),
            None => Err(not_allowed("CALL")),
        }
    }

    fn prepare(&self, parsed: &Arc<ParsedStatement>, variables: &Arc<dyn Variables>) -> Result<Arc<Prepared>> {
        command::refuse_into(parsed, "SELECT ... INTO in a function")?;
        let (stamp, catalog) = self.now();
        let parameters = ParameterTypes::with_variables(variables.clone());
        let reader = self.reader()?;
        Prepared::with(parsed, stamp, &catalog, &self.options, &reader, parameters)
    }

    fn run_prepared(&self, prepared: &Prepared, context: &ExecContext, limit: Option<usize>) -> Result<Ran> {
        let plan = match prepared.body()? {
            Body::Plan(plan) => plan,
            Body::Explain(of) => return self.explain(of, prepared, context),
            Body::Utility => return self.command(prepared, context),
        };
        let fields = plan.fields.clone();
        if !prepared.writes() {
            return query(plan, fields, context, limit);
        }
        let (tx, shared) = self.begin_changes(prepared)?;
        if limit.is_some() && !prepared.changes() {
            // Only functions that it calls change rows: it may end before its last one.
            let context =
                if context.reader.is_frozen() { context.clone() } else { context.reading(tx.reader_of_now()?) };
            return query(plan, fields, &context, limit);
        }
        let (_, catalog) = self.now();
        let done = {
            let room = Cell::new(std::mem::take(&mut *self.insert_room()));
            let programs = prepared.programs()?;
            let done = dml::run(plan, programs, &self.dml(&tx, &catalog, (context, &room), &shared), prepared.calls());
            *self.insert_room() = room.into_inner();
            done?
        };
        let changes = matches!(dml::beneath_returning(plan).node, PhysicalNode::Modify { .. });
        let affected = if changes { done.affected } else { done.rows.len() as u64 };
        Ok(Ran { fields, rows: done.rows, affected, changes, counts: true })
    }

    fn insert_each(&self, prepared: &Prepared, context: &ExecContext, parameters: &Batch) -> Result<bool> {
        let programs = prepared.programs()?;
        let Some(insert) = prepared.plan()?.and_then(|plan| dml::one_row_insert(plan, programs)) else {
            return Ok(false);
        };
        let (tx, shared) = self.begin_changes(prepared)?;
        let (_, catalog) = self.now();
        let room = Cell::new(std::mem::take(&mut *self.insert_room()));
        let done = dml::insert_each(insert, &self.dml(&tx, &catalog, (context, &room), &shared), parameters);
        *self.insert_room() = room.into_inner();
        done.map(|()| true)
    }

    fn stream(&self, prepared: &Prepared, context: &ExecContext, routine: &Routine) -> Result<Option<RowStream>> {
        let is_asked_for = |plan: &&Arc<PhysicalPlan>| plan.estimate.rows >= MANY || exec::is_volatile(plan);
        let Some(plan) = prepared.plan()?.filter(|plan| !prepared.changes() && is_asked_for(plan)) else {
            return Ok(None);
        };
        self.may_begin_changes(prepared)?;
        let mut context = match self.transaction()? {
            Some(tx) if routine.may_write() => context.reading(tx.reader_of_now()?),
            // What it reads is its caller's, and may change while it is read.
            Some(_) => return Ok(None),
            None => context.clone(),
        };
        context.sparing = true;
        exec::execute(plan.clone(), context).map(Some)
    }

    fn of_statement(&self, deadline: Option<Instant>) -> Result<Option<Arc<dyn StatementHost>>> {
        let ((stamp, catalog), shared) = (self.now(), self.shared()?);
        let changed = match self.transaction()? {
            Some(tx) if CatalogStamp::of(tx.reader().database(), shared.trees)? != stamp => Some(tx),
            _ => None,
        };
        if changed.is_none() && self.base.deadline == deadline {
            return Ok(None);
        }
        let mut next = self.under(&catalog)?;
        next.base.deadline = deadline;
        if let Some(tx) = changed {
            next.see_changes(&tx, &shared)?;
            let (_, catalog) = next.now();
            next.base.sequences = Some(ddl::SchemaHost::sequences(&next, &catalog));
        }
        Ok(Some(Arc::new(next)))
    }

    fn savepoint(&self) -> Result<Option<BlockSavepoint>> {
        let savepoint = self.transaction()?.map(|tx| tx.savepoint()).transpose()?;
        let deferred = self.deferred.as_ref().map(|deferred| deferred.mark());
        let (said, cursors) = (self.session.channels.mark(), self.open_cursors());
        Ok(savepoint.map(|state| BlockSavepoint { state, deferred, said, cursors }))
    }

    fn rollback_to(&self, savepoint: Option<&BlockSavepoint>) -> Result<()> {
        let (Some(savepoint), Some(tx)) = (savepoint, self.transaction()?) else { return Ok(()) };
        self.close_cursors_but(&savepoint.cursors);
        tx.rollback_to(&savepoint.state)?;
        self.session.channels.go_back(savepoint.said);
        if let (Some(deferred), Some(mark)) = (&self.deferred, &savepoint.deferred) {
            deferred.go_back(mark);
        }
        let shared = self.shared()?;
        if CatalogStamp::of(tx.reader().database(), shared.trees)? == self.now().0 {
            return Ok(());
        }
        self.see_changes(&tx, &shared)
    }

    fn fits(&self, prepared: &Prepared) -> Result<bool> {
        prepared.fits(&self.reader()?)
    }

    fn open_cursor(
        &self,
        name: Option<String>,
        prepared: &Prepared,
        context: &ExecContext,
        routine: &Routine,
        scroll: Option<bool>,
    ) -> Result<String> {
        self.open_named(name, (prepared, context), routine, scroll)
    }

    fn fetch_cursor(&self, name: &str, direction: Direction) -> Result<(Vec<Field>, Vec<Vec<Value>>, u64)> {
        self.fetch_named(name, direction)
    }

    fn close_cursor(&self, name: &str) -> Result<()> {
        self.close_named(name)
    }

    fn pin_cursor(&self, name: &str) -> Result<()> {
        self.pin_named(name)
    }
}

/// The rows of a query, no more of them than are wanted.
fn query(plan: &Arc<PhysicalPlan>, fields: Vec<Field>, context: &ExecContext, limit: Option<usize>) -> Result<Ran> {
    let context = &ExecContext { sparing: limit.is_some(), ..context.clone() };
    let mut stream = exec::execute(plan.clone(), context.clone())?;
    let mut rows = Collected::default();
    while let Some(batch) = stream.next_batch()? {
        let left = limit.map_or(batch.len(), |limit| batch.len().min(limit - rows.len()));
        if limit.is_none() && rows.is_plain() && !rows.is_empty() {
            rows = rows.listed(context, &fields)?;
        }
        (0..left).try_for_each(|row| rows.push(batch.row(row)))?;
        if limit.is_some_and(|limit| rows.len() >= limit) {
            break;
        }
    }
    let affected = rows.len() as u64;
    Ok(Ran { fields, rows: rows.finish(), affected, changes: false, counts: true })
}

//! A call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cairn_parser::{self as ast, Id};

use super::plpgsql::{PlPgSql, Room};
use super::transactions::Control;
use super::{Compiled, DEPTH_MAX, calls_of};
use crate::bind::Variables;
use crate::catalog::{Language, ObjectId, Returns, Routine, RoutineKind, RoutineParameter, TriggerEvent};
use crate::columns::Batch;
use crate::exec::{ExecContext, eval_row};
use crate::functions::{Caller, Firing, TriggerCall, TriggerRunner, Volatility};
use crate::plan::{Expr, PhysicalNode, PhysicalPlan};
use crate::prepared::Prepared;
use crate::routine::{Ran, StatementHost, UnderPath};
use crate::sql::{ParsedStatement, parse_one};
use crate::sync;
use crate::types::{DataType, EvalContext, OidNames};
use crate::{Error, Result, SqlState, Value};

/// So many calls within each other run on a caller's stack, which may have 2 MiB; then they get another one.
const STACK_LEVELS: usize = 16;
const STACK_BYTES: usize = 32 << 20;

/// How deep calls are within each other; a call counts for as long as this lives.
pub(crate) struct Depth<'a>(&'a AtomicUsize);

impl Depth<'_> {
    /// One deeper; SQLSTATE 54001 where that is too deep. Whether the stack has no room for more.
    fn enter(depth: &AtomicUsize) -> Result<(Depth<'_>, bool)> {
        let entered = Depth(depth);
        match depth.fetch_add(1, Ordering::Relaxed) {
            before if before < DEPTH_MAX => Ok((entered, before % STACK_LEVELS == STACK_LEVELS - 1)),
            _ => Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .with_hint(format!("Functions, procedures and triggers may call each other {DEPTH_MAX} levels deep."))),
        }
    }
}

impl Drop for Depth<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of the triggers that run.
struct Entered<'a>(&'a dyn StatementHost);

impl Entered<'_> {
    fn of(host: &dyn StatementHost, table: ObjectId) -> Entered<'_> {
        host.begin_trigger(table);
        Entered(host)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.end_trigger();
    }
}

impl<'h> dyn StatementHost + 'h {
    fn call(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>> {
        self.deeper(None, |_| self.call_here(routine, args, eval, None))
    }

    /// Calls the procedure that CALL calls, which was prepared as a query of its row.
    pub(crate) fn call_procedure(
        &self,
        prepared: &Prepared,
        context: &ExecContext,
        control: Option<Control<'_>>,
    ) -> Result<Ran> {
        let plan = prepared.plan()?.ok_or_else(|| Error::internal("a call without a plan"))?;
        let (routine, args) = call_in(plan).ok_or_else(|| Error::internal("a call that is none"))?;
        self.refuse_call_in_query()?;
        let frozen = self.frozen_for(args, context)?;
        let asked = frozen.as_ref().unwrap_or(context);
        let value = |(input, arg): (&RoutineParameter, _)| match input.only_out {
            true => Ok(Value::Null),
            false => eval_row(arg, &[], asked),
        };
        let args = routine.inputs().zip(args).map(value).collect::<Result<Vec<_>>>()?;
        // What is set for it has to be set back behind it.
        let control = control.filter(|_| routine.search_path.is_empty());
        let rows = self.deeper(control, |control| self.call_here(routine, &args, &context.eval, control))?;
        let fields = plan.fields.clone();
        let rows = match rows.is_empty() {
            true => vec![vec![Value::Null; fields.len()]],
            false => rows,
        };
        Ok(Ran { fields, rows: rows.into(), ..Ran::default() })
    }

    /// Runs what is one level deeper, where there is room for it.
    fn deeper<T: Send>(
        &self,
        control: Option<Control<'_>>,
        work: impl FnOnce(Option<Control<'_>>) -> Result<T> + Send,
    ) -> Result<T> {
        // What a body asks for may wait for the very lock.
        debug_assert!(
            !cairn_storage::is_holding(),
            "a function runs while its own transaction or the commit lock is held"
        );
        let (_depth, is_full) = Depth::enter(self.depth())?;
        if !is_full {
            return work(control);
        }
        let (relayed, asks) = control.as_ref().map(Control::relayed).unzip();
        let work = move || work(relayed.as_ref().map(|relayed| relayed.control()));
        let serve = || control.as_ref().zip(asks).into_iter().for_each(|(control, asks)| asks.serve(control));
        sync::on_own_stack("cairn-call", STACK_BYTES, work, serve).map_err(|error| {
            Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("no stack for a function's call: {error}"))
        })?
    }

    fn call_here(
        &self,
        routine: &Arc<Routine>,
        args: &[Value],
        eval: &EvalContext,
        control: Option<Control<'_>>,
    ) -> Result<Vec<Vec<Value>>> {
        let Some(under) = self.under_path_of(routine, eval)? else {
            return self.call_under_path(routine, args, eval, control);
        };
        let rows = under.host.call_under_path(routine, args, &under.eval, None)?;
        self.catch_up(&under)?;
        Ok(rows)
    }

    fn call_under_path(
        &self,
        routine: &Arc<Routine>,
        args: &[Value],
        eval: &EvalContext,
        control: Option<Control<'_>>,
    ) -> Result<Vec<Vec<Value>>> {
        let compiled = self.compiled().of(routine, self)?;
        let context = ExecContext { parameters: args.into(), ..self.context(routine, eval)? };
        context.check()?;
        match &*compiled {
            Compiled::Sql(body) => body.run(routine, self, &context),
            Compiled::PlPgSql(body) => body.call(routine, (self, &context), args, control),
        }
    }
}

/// A trigger that runs.
struct Fired {
    host: Arc<dyn StatementHost>,
    /// What runs it, where that is not the host.
    under: Option<UnderPath>,
    call: Arc<TriggerCall>,
    compiled: Arc<Compiled>,
    context: ExecContext,
    room: Room,
}

impl Fired {
    /// Sees what others have changed of the schema since.
    fn refresh(&mut self) -> Result<()> {
        if self.under.as_ref().is_none_or(|under| under.is_current(&*self.host)) {
            return Ok(());
        }
        self.under = self.host.under_path_of(&self.call.routine, &self.context.eval)?;
        if let Some(under) = &self.under {
            self.context = under.host.context(&self.call.routine, &under.eval)?;
        }
        Ok(())
    }
}

impl TriggerRunner for Fired {
    fn fire(&mut self, firing: Firing) -> Result<Option<Vec<Value>>> {
        self.refresh()?;
        let Fired { host, under, call, compiled, context, room } = self;
        let runs = under.as_ref().map_or(&**host, |under| &*under.host);
        let _trigger = Entered::of(runs, call.table);
        let fired = runs.deeper(None, |_| {
            context.check()?;
            match &**compiled {
                Compiled::PlPgSql(body) => body.fire(runs, context, call, firing, room),
                Compiled::Sql(_) => Err(Error::internal("a trigger's function in SQL")),
            }
        })?;
        under.as_ref().map_or(Ok(()), |under| host.catch_up(under))?;
        Ok(fired)
    }

    fn fire_all(&mut self, event: TriggerEvent, rows: (&Batch, &Batch)) -> Result<bool> {
        self.refresh()?;
        let Fired { host, under, call, compiled, context, room } = self;
        let Compiled::PlPgSql(body) = &**compiled else { return Ok(false) };
        let runs = under.as_ref().map_or(&**host, |under| &*under.host);
        let _trigger = Entered::of(runs, call.table);
        let fired = runs.deeper(None, |_| body.fire_all(runs, context, call, (event, rows), room))?;
        under.as_ref().map_or(Ok(()), |under| host.catch_up(under))?;
        Ok(fired)
    }
}

impl<H: StatementHost + 'static> Caller for H {
    fn oid_names(&self) -> Arc<dyn OidNames> {
        self.catalog()
    }

    fn for_statement(&self, deadline: Option<Instant>) -> Result<Option<Arc<dyn Caller>>> {
        Ok(self.of_statement(deadline)?.map(|host| host as Arc<dyn Caller>))
    }

    fn value(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Value> {
        let rows = (self as &dyn StatementHost).call(routine, args, eval)?;
        if routine.returns == Returns::Void {
            return Ok(nothing(routine));
        }
        Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or(Value::Null))
    }

    fn trigger(self: Arc<Self>, call: &Arc<TriggerCall>, eval: &EvalContext) -> Result<Box<dyn TriggerRunner>> {
        let under = self.under_path_of(&call.routine, eval)?;
        let (runs, eval) =
            under.as_ref().map_or((&*self as &dyn StatementHost, eval), |under| (&*under.host, &under.eval));
        let compiled = self.compiled().of(&call.routine, runs)?;
        let context = runs.context(&call.routine, eval)?;
        Ok(Box::new(Fired { host: self, under, call: call.clone(), compiled, context, room: Room::default() }))
    }

    fn trigger_depth(&self) -> usize {
        self.triggers().load(Ordering::Relaxed)
    }

    fn row(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Option<Vec<Value>>> {
        if routine.strict && args.iter().any(Value::is_null) {
            return Ok(None);
        }
        Ok((self as &dyn StatementHost).call(routine, args, eval)?.into_iter().next())
    }

    fn rows(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>> {
        if routine.strict && args.iter().any(Value::is_null) {
            let width = super::sql_body::result_types(routine, self)?.len();
            return Ok(if routine.set { vec![] } else { vec![vec![Value::Null; width.max(1)]] });
        }
        let rows = (self as &dyn StatementHost).call(routine, args, eval)?;
        Ok(match routine.returns {
            Returns::Void => vec![vec![nothing(routine)]],
            _ if routine.set || !rows.is_empty() => rows,
            _ => vec![vec![Value::Null; super::sql_body::result_types(routine, self)?.len()]],
        })
    }
}

/// What comes of a function that gives nothing, as PostgreSQL's languages do it.
fn nothing(routine: &Routine) -> Value {
    match routine.language {
        Language::Sql => Value::Null,
        Language::PlPgSql => Value::Text(String::new().into()),
    }
}

/// The call that a query of a procedure's row makes.
pub(super) fn call_in(mut plan: &PhysicalPlan) -> Option<(&Arc<Routine>, &[Expr])> {
    loop {
        plan = match &plan.node {
            PhysicalNode::Project { input, .. } => input,
            PhysicalNode::TableFunction { call: Expr::Call { function, args } } => {
                return Some((function.routine()?, args));
            }
            _ => return None,
        }
    }
}

/// What CALL sees: no names, and procedures; parameters, where there are any.
#[derive(Debug)]
struct OfCall {
    has_parameters: bool,
}

impl Variables for OfCall {
    fn find(&self, _name: &[&str]) -> Result<Option<(usize, DataType)>> {
        Ok(None)
    }

    fn calls_procedures(&self) -> bool {
        true
    }

    fn is_call(&self) -> bool {
        true
    }

    fn leaves_parameters(&self) -> bool {
        self.has_parameters
    }
}

/// DO: runs a body in PL/pgSQL.
pub(crate) fn run_block(
    host: &Arc<dyn StatementHost>,
    body: &str,
    eval: &EvalContext,
    control: Option<Control<'_>>,
) -> Result<()> {
    let routine = Arc::new(Routine {
        id: ObjectId(0),
        schema: ObjectId::PUBLIC,
        name: "inline_code_block".to_owned(),
        kind: RoutineKind::Function,
        aggregate: None,
        language: Language::PlPgSql,
        parameters: vec![],
        returns: Returns::Void,
        domain: None,
        set: false,
        volatility: Volatility::Volatile,
        strict: false,
        search_path: vec![],
        body: body.to_owned(),
        change: 0,
    });
    let body = PlPgSql::new(&routine, &**host)?;
    let eval = eval.with_calls(Some(calls_of(host.clone())));
    let context = host.context(&routine, &eval)?;
    body.call(&routine, (&**host, &context), &[], control).map(drop)
}

/// CALL of a client, whose parameters are the statement's, as a query of the procedure's row.
pub(crate) fn called_by_client(
    host: &dyn StatementHost,
    parsed: &ParsedStatement,
    call: Id<ast::Expr>,
) -> Result<Arc<Prepared>> {
    // What pgjdbc takes for an argument that only comes out; which type it has is the procedure's matter.
    let of = |declared: &DataType| if *declared == DataType::Void { DataType::Unknown } else { *declared };
    let declared = parsed.declared.iter().map(of).collect();
    let begins_at = parsed.position_of(parsed.tree.span(call).start as usize);
    let called = called_procedure(host, parsed.tree.written(call), Some(declared));
    called.map_err(|error| error.moved(|position| (position + begins_at).saturating_sub(QUERY_OF_CALL.len() + 1)))
}

/// What stands before a procedure with its arguments in the query of its row.
const QUERY_OF_CALL: &str = "SELECT * FROM ";

/// CALL, as a query of the procedure's row: `call` is the procedure with its arguments. `declared`: types of its parameters, where it may
/// have some.
fn called_procedure(host: &dyn StatementHost, call: &str, declared: Option<Vec<DataType>>) -> Result<Arc<Prepared>> {
    let variables: Arc<dyn Variables> = Arc::new(OfCall { has_parameters: declared.is_some() });
    let parsed = parse_one(&format!("{QUERY_OF_CALL}{call}"))?;
    host.prepare(&Arc::new(parsed.within(parsed.statement, declared.unwrap_or_default())), &variables)
}

/// CALL within a statement.
pub(crate) fn run_call(host: Arc<dyn StatementHost>, call: &str, eval: &EvalContext) -> Result<Ran> {
    let eval = eval.with_calls(Some(calls_of(host.clone())));
    let prepared = called_procedure(&*host, call, None)?;
    let context = ExecContext { eval: Arc::new(eval), ..host.base().clone() };
    host.call_procedure(&prepared, &context, None)
}

/// Whether the body of a function that is being made can be run.
pub(crate) fn check_body(routine: &Arc<Routine>, host: &dyn StatementHost, eval: &EvalContext) -> Result<()> {
    let under = host.under_path_of(routine, eval)?;
    let host = under.as_ref().map_or(host, |under| &*under.host);
    match Compiled::new(routine, host)? {
        // What it gives is a matter of its calls.
        Compiled::Sql(_) if routine.is_polymorphic() || routine.returns == Returns::Record => Ok(()),
        Compiled::Sql(body) => body.check(routine, host),
        // What its SQL means is found out when it runs.
        Compiled::PlPgSql(_) => Ok(()),
    }
}

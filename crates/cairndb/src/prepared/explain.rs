//! EXPLAIN.

use std::sync::Arc;
use std::time::Duration;

use super::{Body, Prepared};
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::command::{ExplainFormat, ExplainRequest};
use crate::dml::{self, DmlContext, Programs};
use crate::exec::{self, ExecContext, pages_between};
use crate::plan::{
    ExplainOptions, ExplainedWhole, Field, NodeStatistics, OptimizerOptions, PhysicalPlan, assume,
    explain as plan_lines, explain_json, explain_yaml, explained,
};
use crate::sql::with_deep_stack;
use crate::sync;
use crate::types::DataType;
use crate::{Error, Result, Value};

/// A plan of which EXPLAIN tells, and how it ran, if it did.
#[derive(Debug)]
pub(crate) struct ExplainedRun {
    pub(crate) plan: Arc<PhysicalPlan>,
    /// By node.
    pub(crate) statistics: Option<Vec<NodeStatistics>>,
    pub(crate) planning: Duration,
    /// Found in memory, and waited for.
    pub(crate) planning_pages: Option<(u64, u64)>,
    pub(crate) execution: Duration,
}

/// What EXPLAIN answers: its columns and rows.
pub(crate) type Explanation = (Vec<Field>, Vec<Vec<Value>>);

/// Runs EXPLAIN of a statement; what it answers. `dml`: where EXPLAIN ANALYZE of one that writes runs it.
pub(crate) fn explanation(
    told: ExplainRequest,
    statement: BoundStatement,
    prepared: &Prepared,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
) -> Result<Explanation> {
    let pages = || told.buffers.then(|| context.reader.pages_used());
    let (started, before) = (sync::now(), pages());
    let mut guessed = statement.clone();
    let (mut body, asked) = Body::plan(statement, &prepared.options)?;
    // As it runs with these parameters.
    if let BoundStatement::Query(query) = &mut guessed
        && !asked.is_empty()
    {
        assume(query, &asked, &context.parameters);
        (body, _) = Body::plan(guessed, &prepared.options)?;
    }
    let (planning, after) = (sync::since(started), pages());
    let started = sync::now();
    let Body::Plan(plan) = body else { return Err(Error::unsupported("EXPLAIN of this statement")) };
    let statistics = match told.analyze {
        true => Some(run(&plan, context, dml, (prepared, told.buffers))?),
        false => None,
    };
    let execution = sync::since(started);
    let planning_pages = before.zip(after).map(|(before, after)| pages_between(before, after));
    let run = ExplainedRun { plan, statistics, planning, planning_pages, execution };
    // What is told of a node takes more stack than running it.
    with_deep_stack(run.plan.node_count(), || report(told, Some(&run), &prepared.options))
}

/// EXPLAIN of what EXECUTE runs.
pub(crate) fn explanation_named(
    told: ExplainRequest,
    prepared: &Prepared,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
) -> Result<Explanation> {
    let mut statement = bind_statement(&prepared.parsed, &prepared.catalog, &mut ParameterTypes::default())?;
    statement.be_explained();
    explanation(told, statement, prepared, context, dml)
}

/// What EXPLAIN answers; `None`: there is nothing that would run.
pub(crate) fn report(told: ExplainRequest, run: Option<&ExplainedRun>, options: &OptimizerOptions) -> Explanation {
    let fields = columns(told);
    let Some(run) = run else { return (fields, vec![]) };
    let ExplainRequest { costs, verbose, timing, buffers, .. } = told;
    let explain_options = ExplainOptions { costs, verbose, actual: run.statistics.as_deref(), timing, buffers };
    let mut whole = ExplainedWhole {
        settings: told.settings.then(|| options.changed_switches()),
        planning_pages: run.planning_pages,
        times: vec![],
    };
    if told.summary {
        whole.times.push(("Planning Time", millis(run.planning)));
        whole.times.extend(run.statistics.is_some().then(|| ("Execution Time", millis(run.execution))));
    }
    let rows = match told.format {
        ExplainFormat::Json => {
            vec![vec![Value::Json(explain_json(&explained(&run.plan, explain_options), &whole).into())]]
        }
        ExplainFormat::Yaml => vec![vec![Value::text(explain_yaml(&explained(&run.plan, explain_options), &whole))]],
        ExplainFormat::Text => {
            let lines = plan_lines(&run.plan, explain_options).into_iter().chain(whole.lines());
            lines.map(|line| vec![Value::text(line)]).collect()
        }
    };
    (fields, rows)
}

/// The columns of an answer.
pub(crate) fn columns(told: ExplainRequest) -> Vec<Field> {
    let data_type = if told.format == ExplainFormat::Json { DataType::Json } else { DataType::Text };
    vec![Field { name: "QUERY PLAN".to_string(), data_type }]
}

fn millis(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0)
}

/// Runs the statement; what each node of its plan did.
fn run(
    plan: &Arc<PhysicalPlan>,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
    (prepared, buffers): (&Prepared, bool),
) -> Result<Vec<NodeStatistics>> {
    let mut context = context.clone();
    (context.analyze, context.buffers) = (true, buffers);
    if let Some(dml) = dml {
        let programs = Programs::of(plan, &prepared.catalog)?;
        return Ok(dml::run(plan, &programs, &DmlContext { exec: &context, ..*dml }, prepared.calls())?.statistics);
    }
    let mut stream = exec::execute(plan.clone(), context)?;
    while stream.next_batch()?.is_some() {}
    Ok(stream.statistics())
}

//! EXPLAIN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Rows;
use super::execute::Executed;
use super::prepared::{Body, Prepared};
use super::settings::changed_switches;
use crate::bind::BoundExplain;
use crate::command::{ExplainFormat, Told};
use crate::dml::{self, DmlContext};
use crate::exec::{self, ExecContext, NodeStatistics};
use crate::plan::{
    ExplainOptions, ExplainedWhole, Field, PhysicalPlan, explain as plan_lines, explain_json, explain_yaml, explained,
};
use crate::types::DataType;
use crate::{Error, Result, Value};

/// Runs EXPLAIN. `dml`: where EXPLAIN ANALYZE of a statement that writes runs it.
pub(super) fn explain(
    explain: &BoundExplain,
    prepared: &Prepared,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
) -> Result<Executed> {
    let told = explain.told;
    let pages = || told.buffers.then(|| context.reader.pages_used());
    let (started, before) = (Instant::now(), pages());
    let body = Body::plan(explain.statement.clone(), &prepared.catalog, &prepared.options)?;
    let (planning, after) = (started.elapsed(), pages());
    let started = Instant::now();
    let Body::Plan(plan) = &body else { return Err(Error::unsupported("EXPLAIN of this statement")) };
    let actual = match told.analyze {
        true => Some(run(plan, context, dml, (prepared.calls_writers(), told.buffers))?),
        false => None,
    };
    let execution = started.elapsed();
    let Told { costs, verbose, timing, buffers, .. } = told;
    let options = ExplainOptions { costs, verbose, actual: actual.as_deref(), timing, buffers };
    let mut whole = ExplainedWhole {
        settings: told.settings.then(|| changed_switches(&prepared.options)),
        planning_pages: before.zip(after).map(|(before, after)| (after.0 - before.0, after.1 - before.1)),
        times: vec![],
    };
    if told.summary {
        whole.times.push(("Planning Time", millis(planning)));
        whole.times.extend(actual.is_some().then(|| ("Execution Time", millis(execution))));
    }
    Ok(match told.format {
        ExplainFormat::Json => document(DataType::Json, explain_json(&explained(plan, options), &whole)),
        ExplainFormat::Yaml => document(DataType::Text, explain_yaml(&explained(plan, options), &whole)),
        ExplainFormat::Text => {
            let lines = plan_lines(plan, options).into_iter().chain(whole.lines());
            let fields = vec![Field { name: "QUERY PLAN".to_string(), data_type: DataType::Text }];
            let rows = lines.map(|line| vec![Value::text(line)]).collect();
            Executed::rows("EXPLAIN", Rows::buffered(fields, rows))
        }
    })
}

/// One row.
fn document(data_type: DataType, text: String) -> Executed {
    let value = if data_type == DataType::Json { Value::Json(text.into()) } else { Value::text(text) };
    let fields = vec![Field { name: "QUERY PLAN".to_string(), data_type }];
    Executed::rows("EXPLAIN", Rows::buffered(fields, vec![vec![value]]))
}

fn millis(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0)
}

/// Runs the statement; what each node of its plan did.
fn run(
    plan: &Arc<PhysicalPlan>,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
    (calls_writers, buffers): (bool, bool),
) -> Result<Vec<NodeStatistics>> {
    let mut context = context.clone();
    (context.analyze, context.buffers) = (true, buffers);
    if let Some(dml) = dml {
        return Ok(dml::run(plan, &DmlContext { exec: &context, ..*dml }, calls_writers)?.statistics);
    }
    let mut stream = exec::execute(plan.clone(), context)?;
    while stream.next_batch()?.is_some() {}
    Ok(stream.statistics())
}

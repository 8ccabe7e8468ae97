//! EXPLAIN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Rows;
use super::execute::Executed;
use super::prepared::{Body, Prepared};
use crate::bind::BoundExplain;
use crate::command::ExplainFormat;
use crate::dml::{self, DmlContext};
use crate::exec::{self, ExecContext, NodeStatistics};
use crate::plan::{ExplainOptions, Field, PhysicalPlan, explain as plan_lines, explain_json, explain_yaml, explained};
use crate::types::DataType;
use crate::{Error, Result, Value};

/// Runs EXPLAIN. `dml`: where EXPLAIN ANALYZE of a statement that writes runs it.
pub(super) fn explain(
    explain: &BoundExplain,
    prepared: &Prepared,
    context: &ExecContext,
    dml: Option<&DmlContext<'_>>,
) -> Result<Executed> {
    let started = Instant::now();
    let body = Body::plan(explain.statement.clone(), &prepared.catalog, &prepared.options)?;
    let planning = started.elapsed();
    let started = Instant::now();
    let Body::Plan(plan) = &body else { return Err(Error::unsupported("EXPLAIN of this statement")) };
    let actual = if explain.analyze { Some(run(plan, context, dml, prepared.calls_writers())?) } else { None };
    let execution = started.elapsed();
    let options = ExplainOptions { costs: explain.costs, verbose: explain.verbose, actual: actual.as_deref() };
    if explain.format != ExplainFormat::Text {
        let mut times = vec![];
        if actual.is_some() && explain.timing {
            times = vec![("Planning Time", millis(planning)), ("Execution Time", millis(execution))];
        }
        let shown = explained(plan, options);
        return Ok(match explain.format {
            ExplainFormat::Json => document(DataType::Json, explain_json(&shown, &times, explain.timing)),
            _ => document(DataType::Text, explain_yaml(&shown, &times, explain.timing)),
        });
    }
    let mut lines = plan_lines(plan, options);
    if actual.is_some() && explain.timing {
        lines.push(format!("Planning Time: {} ms", millis(planning)));
        lines.push(format!("Execution Time: {} ms", millis(execution)));
    }
    let fields = vec![Field { name: "QUERY PLAN".to_string(), data_type: DataType::Text }];
    let rows = lines.into_iter().map(|line| vec![Value::text(line)]).collect();
    Ok(Executed::rows("EXPLAIN", Rows::buffered(fields, rows)))
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
    calls_writers: bool,
) -> Result<Vec<NodeStatistics>> {
    let mut context = context.clone();
    context.analyze = true;
    if let Some(dml) = dml {
        return Ok(dml::run(plan, &DmlContext { exec: &context, ..*dml }, calls_writers)?.statistics);
    }
    let mut stream = exec::execute(plan.clone(), context)?;
    while stream.next_batch()?.is_some() {}
    Ok(stream.statistics())
}

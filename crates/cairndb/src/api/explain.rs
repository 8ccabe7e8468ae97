//! EXPLAIN.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Rows;
use super::execute::{Executed, run_dml};
use super::prepared::{Body, Prepared};
use crate::bind::BoundExplain;
use crate::dml::DmlContext;
use crate::exec::{self, ExecContext, NodeStatistics};
use crate::plan::{ExplainOptions, Field, PhysicalPlan, explain as plan_lines};
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
    let actual = if explain.analyze { Some(run(&body, context, dml)?) } else { None };
    let execution = started.elapsed();
    let mut lines = body_lines(&body, explain, actual.as_deref())?;
    if actual.is_some() && explain.timing {
        lines.push(format!("Planning Time: {} ms", millis(planning)));
        lines.push(format!("Execution Time: {} ms", millis(execution)));
    }
    let fields = vec![Field { name: "QUERY PLAN".to_string(), data_type: DataType::Text }];
    let rows = lines.into_iter().map(|line| vec![Value::text(line)]).collect();
    Ok(Executed::rows("EXPLAIN", Rows::buffered(fields, rows)))
}

fn millis(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0)
}

/// Runs the statement; what each node of its plan did.
fn run(body: &Body, context: &ExecContext, dml: Option<&DmlContext<'_>>) -> Result<Vec<NodeStatistics>> {
    let mut context = context.clone();
    context.analyze = true;
    let statistics = match (body, dml) {
        (Body::Query(plan), _) => {
            let mut stream = exec::execute(plan.clone(), context)?;
            while stream.next_batch()?.is_some() {}
            stream.statistics()
        }
        (_, Some(dml)) => {
            let statistics = RefCell::new(Vec::new());
            run_dml(body, &DmlContext { exec: &context, statistics: Some(&statistics), ..*dml })?;
            statistics.into_inner()
        }
        _ => return Err(Error::internal("EXPLAIN ANALYZE of a statement that writes has no transaction")),
    };
    Ok(statistics)
}

fn body_lines(body: &Body, explain: &BoundExplain, actual: Option<&[NodeStatistics]>) -> Result<Vec<String>> {
    let options = ExplainOptions { costs: explain.costs, verbose: explain.verbose, actual };
    let below = |verb: &str, table: &str, source: &Arc<PhysicalPlan>| {
        let mut lines = vec![format!("{verb} on {table}")];
        for (at, line) in plan_lines(source, options).into_iter().enumerate() {
            lines.push(format!("{}{line}", if at == 0 { "  ->  " } else { "      " }));
        }
        lines
    };
    Ok(match body {
        Body::Query(plan) => plan_lines(plan, options),
        Body::Insert(plan) => match plan.source() {
            Some(source) => below("Insert", &plan.program.rules.target.table.name, source),
            None => return Err(Error::internal("EXPLAIN of rows without a plan")),
        },
        Body::Update(plan) => below("Update", &plan.target().table.name, &plan.source),
        Body::Delete(plan) => below("Delete", &plan.target().table.name, &plan.source),
        Body::Explain(_) | Body::Utility => return Err(Error::unsupported("EXPLAIN of this statement")),
    })
}

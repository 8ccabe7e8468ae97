//! The optimizer's stages, in order.

use std::sync::Arc;

use super::expressions::walk::Facts;
use super::logical::LogicalPlan;
use super::number;
use super::options::OptimizerOptions;
use super::physical::PhysicalPlan;
use super::planner::Planner;
use super::rewrites::cte;
use super::rewrites::decorrelate::{Decorrelation, Scalar};
use super::rewrites::flatten::flatten;
use super::rewrites::fold::fold_plan;
use super::rewrites::narrow::narrow;
use super::rewrites::prune::prune_all;
use super::rewrites::pushdown::push_down;
use super::scans::stored_fields::read_fields;
use super::statistics::asked::AskedRange;
use crate::sql::with_deep_stack;
use crate::{Error, Result, SqlState};

/// Up to here the caller's stack is used.
const SHALLOW_DEPTH: usize = 40;
/// What is built and run on 2 MiB of stack in a debug build (see `sql::limits`).
const DEPTH_MAX: usize = 450;
/// So many correlated scalar aggregates are decided about; each takes planning the statement twice more.
const SCALARS_MAX: usize = 6;

/// Rewrites a logical plan and chooses how to run it.
///
/// Plans are walked by recursion: a deep one on a stack of its own, and one that is too deep (views upon views of
/// nested queries) is refused.
pub fn optimize(plan: LogicalPlan, options: &OptimizerOptions) -> Result<PhysicalPlan> {
    optimize_asking(plan, options).map(|(plan, _)| plan)
}

/// As [`optimize`], and which ranges of parameters the plan hangs on.
pub(crate) fn optimize_asking(
    plan: LogicalPlan,
    options: &OptimizerOptions,
) -> Result<(PhysicalPlan, Vec<AskedRange>)> {
    let facts = Facts::of(&plan);
    check_depth(facts.depth)?;
    if facts.depth <= SHALLOW_DEPTH {
        run(plan, options, facts)
    } else {
        with_deep_stack(facts.depth, || run(plan, options, facts))?
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth <= DEPTH_MAX {
        return Ok(());
    }
    let hint = format!("A statement's plan, views and all, may be nested {DEPTH_MAX} levels deep.");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(hint))
}

fn run(plan: LogicalPlan, options: &OptimizerOptions, facts: Facts) -> Result<(PhysicalPlan, Vec<AskedRange>)> {
    // Only a query in an expression can become a join, and so be planned in several ways.
    let written = facts.subqueries.then(|| plan.clone());
    let (joined, scalars) = rewrite(plan, options, facts, &[]);
    if facts.depth > SHALLOW_DEPTH {
        // Subqueries that were made one may have put their expressions into each other.
        check_depth(Facts::of(&joined).depth)?;
    }
    let mut planner = Planner::new(options);
    planner.may_join = facts.joins || facts.subqueries;
    let mut best = planner.lower(joined)?.plan;
    if let Some(written) = written.filter(|_| scalars > 0) {
        best = choose_scalars(&written, (options, facts), scalars.min(SCALARS_MAX), best)?;
    }
    let mut physical = Arc::unwrap_or_clone(best);
    narrow(&mut physical);
    if options.rewrites {
        read_fields(&mut physical);
    }
    number::assign(&mut physical);
    Ok((physical, planner.asked))
}

/// Decides for each of the correlated scalar aggregates, one after the other, how it is computed. `best`: where all are
/// joins.
fn choose_scalars(
    written: &LogicalPlan,
    (options, facts): (&OptimizerOptions, Facts),
    scalars: usize,
    mut best: Arc<PhysicalPlan>,
) -> Result<Arc<PhysicalPlan>> {
    let mut choices = vec![Scalar::Grouped; scalars];
    for place in 0..scalars {
        for choice in [Scalar::AsWritten, Scalar::GroupedForAskers] {
            let before = std::mem::replace(&mut choices[place], choice);
            let (plan, _) = rewrite(written.clone(), options, facts, &choices);
            let other = Planner::new(options).lower(plan)?.plan;
            if other.estimate.total < best.estimate.total {
                best = other;
            } else {
                choices[place] = before;
            }
        }
    }
    Ok(best)
}

/// The rewritten plan of a subquery.
pub(super) fn rewritten(plan: LogicalPlan, options: &OptimizerOptions) -> LogicalPlan {
    let facts = Facts::of(&plan);
    rewrite(plan, options, facts, &[]).0
}

/// All rewrites that find something to do; how many correlated scalar aggregates could become joins (as they do, unless
/// `choices` say otherwise).
fn rewrite(
    mut plan: LogicalPlan,
    options: &OptimizerOptions,
    facts: Facts,
    choices: &[Scalar],
) -> (LogicalPlan, usize) {
    if !options.rewrites {
        return (plan, 0);
    }
    fold_plan(&mut plan);
    if facts.with {
        plan = cte::inline(plan);
    }
    let mut decorrelation = Decorrelation::new(choices);
    // A lateral join is as good as a query in an expression.
    if options.decorrelate && (facts.subqueries || facts.joins) {
        plan = decorrelation.plan(plan);
    }
    if facts.joins || facts.with || facts.subqueries || facts.nested {
        plan = flatten(plan);
    }
    (prune_all(push_down(plan)), decorrelation.scalars)
}

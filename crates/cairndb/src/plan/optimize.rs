//! The optimizer's stages, in order.

use std::sync::Arc;

use super::cte;
use super::decorrelate::Decorrelation;
use super::flatten::flatten;
use super::fold::fold_plan;
use super::logical::LogicalPlan;
use super::narrow::narrow;
use super::number;
use super::options::OptimizerOptions;
use super::physical::PhysicalPlan;
use super::planner::Planner;
use super::prune::prune_all;
use super::pushdown::push_down;
use super::walk;
use crate::catalog::Catalog;
use crate::sql::with_deep_stack;
use crate::{Error, Result, SqlState};

/// Up to here the caller's stack is used.
const SHALLOW_DEPTH: usize = 40;
/// What is built and run on 2 MiB of stack in a debug build (see `sql::limits`).
const DEPTH_MAX: usize = 450;

/// Rewrites a logical plan and chooses how to run it.
///
/// Plans are walked by recursion: a deep one on a stack of its own, and one that is too deep (views upon views of
/// nested queries) is refused.
pub fn optimize(plan: LogicalPlan, _catalog: &Catalog, options: &OptimizerOptions) -> Result<PhysicalPlan> {
    let depth = walk::depth(&plan);
    check_depth(depth)?;
    if depth <= SHALLOW_DEPTH {
        run(plan, options, false)
    } else {
        with_deep_stack(depth, || run(plan, options, true))?
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth <= DEPTH_MAX {
        return Ok(());
    }
    let hint = format!("A statement's plan, views and all, may be nested {DEPTH_MAX} levels deep.");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(hint))
}

fn run(plan: LogicalPlan, options: &OptimizerOptions, deep: bool) -> Result<PhysicalPlan> {
    let (joined, found_scalar) = rewrite(plan.clone(), options, true);
    if deep {
        // Subqueries that were made one may have put their expressions into each other.
        check_depth(walk::depth(&joined))?;
    }
    let mut best = Planner::new(options).lower(joined)?.plan;
    if found_scalar {
        // A correlated aggregate may be cheaper as it was written: few rows ask, and an index answers.
        let (correlated, _) = rewrite(plan, options, false);
        let other = Planner::new(options).lower(correlated)?.plan;
        if other.estimate.total < best.estimate.total {
            best = other;
        }
    }
    let mut physical = Arc::unwrap_or_clone(best);
    narrow(&mut physical);
    number::assign(&mut physical);
    Ok(physical)
}

/// The rewritten plan of a subquery.
pub(super) fn rewritten(plan: LogicalPlan, options: &OptimizerOptions) -> LogicalPlan {
    rewrite(plan, options, true).0
}

/// All rewrites; whether a correlated scalar aggregate could become a join (as it does if `scalars`).
fn rewrite(mut plan: LogicalPlan, options: &OptimizerOptions, scalars: bool) -> (LogicalPlan, bool) {
    if !options.rewrites {
        return (plan, false);
    }
    fold_plan(&mut plan);
    plan = cte::inline(plan);
    let mut decorrelation = Decorrelation { scalars, found_scalar: false };
    if options.decorrelate {
        plan = decorrelation.plan(plan);
    }
    plan = prune_all(push_down(flatten(plan)));
    (plan, decorrelation.found_scalar)
}

//! WITH queries: unused ones go, ones used once are moved to their place.
//!
//! A query is moved only where it will still run once: not into a subquery, a lateral join's right side or a recursive
//! step, and only if nothing in it is volatile. One that is to be materialized stays.

use crate::plan::expressions::refs::{is_volatile_plan, raise_plan};
use crate::plan::expressions::walk;
use crate::plan::logical::{CteId, LogicalPlan};

/// Inlines what can be inlined in the whole plan.
pub(in crate::plan) fn inline(plan: LogicalPlan) -> LogicalPlan {
    let mut plan = match plan {
        with @ LogicalPlan::With { .. } => inline_with(with),
        other => other,
    };
    for (input, _) in walk::inputs_mut(&mut plan) {
        take_with(input, inline);
    }
    plan
}

/// Replaces a plan in place.
pub(super) fn take_with(plan: &mut LogicalPlan, change: impl FnOnce(LogicalPlan) -> LogicalPlan) {
    let taken = std::mem::replace(plan, LogicalPlan::Values { rows: vec![], fields: vec![] });
    *plan = change(taken);
}

fn inline_one(
    id: CteId,
    name: String,
    materialized: bool,
    definition: LogicalPlan,
    mut body: LogicalPlan,
) -> LogicalPlan {
    if is_change(&definition) {
        // It runs whether or not anybody reads it.
        let body = Box::new(inline_with(body));
        return LogicalPlan::With { id, name, materialized, definition: Box::new(definition), body };
    }
    let mut uses = Uses::default();
    uses.count(&body, id, true);
    if uses.all == 0 {
        return inline_with(body);
    }
    if uses.all == 1 && uses.once == 1 && !materialized && !is_volatile_plan(&definition) {
        replace(&mut body, id, &definition, 0);
        return inline_with(body);
    }
    LogicalPlan::With { id, name, materialized, definition: Box::new(definition), body: Box::new(body) }
}

/// Whether a WITH query changes rows: it does so itself, or it is what RETURNING makes of the changed rows.
fn is_change(definition: &LogicalPlan) -> bool {
    match definition {
        LogicalPlan::Modify { .. } => true,
        LogicalPlan::With { definition, .. } => is_change(definition),
        _ => false,
    }
}

/// The body may be a WITH itself.
fn inline_with(body: LogicalPlan) -> LogicalPlan {
    match body {
        LogicalPlan::With { id, name, materialized, definition, body } => {
            inline_one(id, name, materialized, *definition, *body)
        }
        other => other,
    }
}

#[derive(Default)]
struct Uses {
    /// Everywhere.
    all: usize,
    /// In places that run once.
    once: usize,
}

impl Uses {
    fn count(&mut self, plan: &LogicalPlan, id: CteId, once: bool) {
        if matches!(plan, LogicalPlan::CteScan { id: found, .. } if *found == id) {
            self.all += 1;
            self.once += usize::from(once);
        }
        for expr in walk::node_exprs(plan) {
            self.count_in_expr(expr, id);
        }
        let recursive = matches!(plan, LogicalPlan::RecursiveWith { .. });
        for (position, (input, pushed)) in walk::inputs(plan).into_iter().enumerate() {
            self.count(input, id, once && pushed == 0 && !(recursive && position == 1));
        }
    }

    fn count_in_expr(&mut self, expr: &crate::plan::Expr, id: CteId) {
        if let crate::plan::Expr::Subquery(subquery) = expr {
            self.count(&subquery.plan, id, false);
        }
        for child in walk::children(expr) {
            self.count_in_expr(child, id);
        }
    }
}

fn replace(plan: &mut LogicalPlan, id: CteId, definition: &LogicalPlan, depth: usize) {
    if matches!(plan, LogicalPlan::CteScan { id: found, .. } if *found == id) {
        let mut copy = definition.clone();
        raise_plan(&mut copy, depth);
        *plan = renamed(copy, plan);
        return;
    }
    for (input, pushed) in walk::inputs_mut(plan) {
        replace(input, id, definition, depth + pushed);
    }
}

/// The definition under the scan's column names.
fn renamed(definition: LogicalPlan, scan: &LogicalPlan) -> LogicalPlan {
    let fields = scan.fields();
    if fields == definition.fields() {
        return definition;
    }
    let exprs = crate::plan::expressions::refs::identity(&definition);
    LogicalPlan::Project { input: Box::new(definition), exprs, fields }
}

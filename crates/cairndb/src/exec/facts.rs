//! What the result of a plan depends on besides the stored data: whether it may be kept when its operator starts over.

use crate::plan::{Expr, PhysicalNode, PhysicalPlan, expr_children};

/// What a plan's result depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Rows of enclosing queries. (Those of queries inside the plan count too: a guess on the safe side.)
    pub(crate) outer: bool,
    /// WITH results, which change by the round in WITH RECURSIVE.
    pub(crate) with: bool,
    /// `random()`, `nextval()`: each evaluation may differ.
    pub(crate) volatile: bool,
}

impl Facts {
    /// The result is the same however often it is computed.
    pub(crate) fn is_fixed(self) -> bool {
        self == Facts::default()
    }

    pub(crate) fn of_plan(plan: &PhysicalPlan) -> Facts {
        let mut facts = Facts::default();
        facts.add_plan(plan);
        facts
    }

    pub(crate) fn of_exprs(exprs: &[Expr]) -> Facts {
        let mut facts = Facts::default();
        exprs.iter().for_each(|expr| facts.add_expr(expr));
        facts
    }

    fn add_plan(&mut self, plan: &PhysicalPlan) {
        self.with |= matches!(plan.node, PhysicalNode::CteScan { .. });
        plan.exprs().into_iter().for_each(|expr| self.add_expr(expr));
        plan.children().into_iter().for_each(|child| self.add_plan(child));
    }

    fn add_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Outer { .. } => self.outer = true,
            Expr::Sequence { .. } => self.volatile = true,
            Expr::Call { function, .. } => self.volatile |= function.is_volatile(),
            Expr::Subplan(subplan) => self.add_plan(&subplan.plan),
            _ => {}
        }
        expr_children(expr).for_each(|child| self.add_expr(child));
    }
}

/// Whether something in a plan is volatile.
pub(crate) fn is_volatile(plan: &PhysicalPlan) -> bool {
    Facts::of_plan(plan).volatile
}

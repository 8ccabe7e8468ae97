//! Chains: `a + b + c + ..` and `a UNION b UNION c ..`, which are flat as text, and as trees as deep as they are long.
//!
//! Invariant: a chain is read in a loop, and what is bound of it is not as deep as it is long, so all that walks bound
//! expressions and plans may recurse. Operators have to be applied one after the other: every [`STRETCH`] of them what there
//! is so far gets a number (a `Let`), by which the next stretch refers to it. Arms of one set operation are put together in
//! pairs, those in pairs again, which gives the same rows in the same order. Where another begins (EXCEPT behind UNION), what came
//! before is one arm of it: a plan is as deep as its operations change, and the planner bounds that.

use cairn_parser::{self as ast, Id, Query, QueryBody, SetOperation, Span};

use super::query::{column_spans, set_operator};
use crate::Result;
use crate::bind::binder::{Binder, Confine};
use crate::bind::context::Context;
use crate::bind::relations::scope::Env;
use crate::plan::{Expr, LogicalPlan, SetOperator};
use crate::types::CastContext;

/// A tree that is less deep holds no long chain.
const LONG: u16 = 64;
/// So many operators are bound within each other.
const STRETCH: usize = 32;

/// One of a chain of set operations.
struct Step {
    operation: SetOperation,
    all: bool,
    left: Id<Query>,
    right: Id<Query>,
}

/// What a chain of one set operation is of.
struct Chain {
    op: SetOperator,
    all: bool,
    arms: Vec<LogicalPlan>,
    /// So many of the arms, from the first, are one of UNION, with which UNION ALL went on.
    distinct: usize,
}

impl Step {
    /// As PostgreSQL: what a set operation takes away may not grow with what it is taken from.
    fn confines(&self) -> (Option<Confine>, Option<Confine>) {
        match self.operation {
            SetOperation::Union => (None, None),
            SetOperation::Intersect => (self.all.then_some(Confine::Intersect), self.all.then_some(Confine::Intersect)),
            SetOperation::Except => (self.all.then_some(Confine::Except), Some(Confine::Except)),
        }
    }
}

impl Binder<'_> {
    /// Whether this is the left side of an operator that goes on with a long chain.
    pub(in crate::bind) fn goes_on(&self, left: Id<ast::Expr>) -> bool {
        self.tree.depth(left) >= LONG && matches!(self.tree.get(left), ast::Expr::Binary { .. })
    }

    /// `chain` is an operator whose left side is one, too.
    pub(in crate::bind) fn long_chain(&mut self, chain: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        let (mut first, mut steps) = (chain, vec![]);
        while let ast::Expr::Binary { operator, left, right } = tree.get(first)
            && matches!(tree.get(left), ast::Expr::Binary { .. })
        {
            steps.push((left, operator, right));
            first = left;
        }
        let (mut bound, mut numbered) = (self.expr(first, context)?, vec![]);
        for (count, (left, operator, right)) in steps.into_iter().rev().enumerate() {
            if count % STRETCH == STRETCH - 1 {
                self.shared += 1;
                let reference = Expr::Shared { id: self.shared, data_type: bound.data_type() };
                numbered.push((self.shared, std::mem::replace(&mut bound, reference)));
            }
            let place = tree.span(operator);
            let symbol = self.symbol(operator).map_err(|error| self.at(error, place))?;
            let operands = vec![(bound, self.place(left)), self.operand(right, context)?];
            bound = self.operator(symbol, operands, Some(place))?;
        }
        let around = |body, (id, value)| Expr::Let { id, value: Box::new(value), body: Box::new(body) };
        Ok(numbered.into_iter().rev().fold(bound, around))
    }

    /// A set operation with those that its left side goes on with.
    pub(super) fn set_operations(&mut self, body: Id<QueryBody>, outer: Option<&Env>) -> Result<LogicalPlan> {
        let tree = self.tree;
        let (mut next, mut steps) = (Some(body), vec![]);
        while let Some(body) = next {
            let QueryBody::SetOperation { operation, all, left, right } = tree.get(body) else {
                return Err(crate::Error::internal("not a set operation"));
            };
            steps.push(Step { operation, all, left, right });
            next = tree.continued(body).map(|left| tree.get(left).body);
        }
        let around = self.confines();
        let bound = self.arms(&steps, outer);
        self.unconfine(around);
        bound
    }

    /// What the steps, the last one first, make of the first one's left side.
    fn arms(&mut self, steps: &[Step], outer: Option<&Env>) -> Result<LogicalPlan> {
        let first = steps.last().ok_or_else(|| crate::Error::internal("no set operation"))?;
        let mut around = Vec::with_capacity(steps.len());
        for step in steps {
            around.push(self.confines());
            self.confine(step.confines().0);
        }
        let spans = column_spans(self.tree, first.left);
        let arm = self.untyped_query(first.left, outer)?;
        let mut chain = Chain { op: set_operator(first.operation), all: first.all, arms: vec![arm], distinct: 0 };
        for (step, around) in steps.iter().zip(around).rev() {
            self.unconfine(around);
            chain = chain.goes_on(set_operator(step.operation), step.all);
            let arm = self.within(step.confines().1, |binder| binder.untyped_query(step.right, outer))?;
            self.add_arm(&mut chain, arm, [&spans, &column_spans(self.tree, step.right)])?;
        }
        Ok(chain.plan())
    }

    /// An arm more: the columns of all before it, and its own, agree on types.
    fn add_arm(&mut self, chain: &mut Chain, arm: LogicalPlan, spans: [&[Span]; 2]) -> Result<()> {
        let lefts = chain.arms.first().map(LogicalPlan::fields).unwrap_or_default();
        let types = self.common_types((chain.op, chain.all), [&lefts, &arm.fields()], spans)?;
        if !lefts.iter().map(|field| field.data_type).eq(types.iter().copied()) {
            let before = Chain { arms: std::mem::take(&mut chain.arms), ..*chain }.plan();
            chain.distinct = 0;
            chain.arms.push(self.retype(before, (&types, CastContext::Implicit), spans[0])?);
        }
        chain.arms.push(self.retype(arm, (&types, CastContext::Implicit), spans[1])?);
        Ok(())
    }
}

impl Chain {
    /// What comes next is of this operation: of this chain, or of one that begins with what this one gives.
    fn goes_on(self, op: SetOperator, all: bool) -> Chain {
        if (self.op, self.all) == (op, all) {
            return self;
        }
        // UNION leaves one of the rows that are alike, whichever arm they came from: those of UNION ALL before it, too.
        if (self.op, op) == (SetOperator::Union, SetOperator::Union) {
            let distinct = if all { self.arms.len() } else { 0 };
            return Chain { all, distinct, ..self };
        }
        Chain { op, all, arms: vec![self.plan()], distinct: 0 }
    }

    fn plan(self) -> LogicalPlan {
        let Chain { op, all, mut arms, distinct } = self;
        if distinct > 0 {
            let others = arms.split_off(distinct);
            arms = std::iter::once(paired(op, false, arms)).chain(others).collect();
        }
        if op != SetOperator::Except || arms.len() < usize::from(LONG) {
            return paired(op, all, arms);
        }
        // What one takes away after the other, all take away together.
        let taken = arms.split_off(1);
        arms.push(paired(SetOperator::Union, true, taken));
        paired(op, all, arms)
    }
}

/// The arms, in their order, in a tree that is as little deep as can be.
fn paired(op: SetOperator, all: bool, mut arms: Vec<LogicalPlan>) -> LogicalPlan {
    let right = match arms.len() {
        0 => return LogicalPlan::Values { rows: vec![], fields: vec![] },
        1 => return arms.swap_remove(0),
        // Up to here as it is written.
        count if count < usize::from(LONG) => arms.split_off(count - 1),
        count => arms.split_off(count.div_ceil(2)),
    };
    let [left, right] = [arms, right].map(|side| Box::new(paired(op, all, side)));
    LogicalPlan::SetOperation { op, all, left, right }
}

//! From a bound expression to its evaluator: constants and parameters filled in, kernels chosen by operand types.

use std::sync::Arc;

use super::arithmetic;
use super::branch::Case;
use super::convert::{Conversion, conversion};
use super::evaluator::{Evaluator, Node};
use super::in_list::InSet;
use super::subplan::SubplanEvaluator;
use crate::exec::context::ExecContext;
use crate::functions::{Function, Operator, substring_bounds};
use crate::plan::{Expr, expr_children};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// How deep an expression may nest. Parsing has a limit of its own; this one keeps evaluation's recursion in bounds
/// whatever made the expression: on 2 MiB of stack, in a debug build (see `sql::limits`).
const DEPTH_MAX: usize = 450;

/// Compiles expressions for one execution.
pub(super) struct Compiler<'a> {
    context: &'a ExecContext,
    depth: usize,
    /// By `Let` around what is compiled, innermost last: its number, and the column that has its value.
    shared: Vec<(usize, usize)>,
}

/// Compiles one expression.
pub(crate) fn compile(expr: &Expr, context: &ExecContext) -> Result<Evaluator> {
    Compiler { context, depth: 0, shared: Vec::new() }.compile(expr)
}

/// Compiles a list of expressions.
pub(crate) fn compile_all<'e>(
    exprs: impl IntoIterator<Item = &'e Expr>,
    context: &ExecContext,
) -> Result<Vec<Evaluator>> {
    exprs.into_iter().map(|expr| compile(expr, context)).collect()
}

impl Compiler<'_> {
    fn compile(&mut self, expr: &Expr) -> Result<Evaluator> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "expression is nested too deeply"));
        }
        self.depth += 1;
        let node = self.node(expr);
        self.depth -= 1;
        Ok(finish(node?, expr.data_type()))
    }

    fn compile_box(&mut self, expr: &Expr) -> Result<Box<Evaluator>> {
        self.compile(expr).map(Box::new)
    }

    pub(super) fn compile_list(&mut self, exprs: &[Expr]) -> Result<Vec<Evaluator>> {
        // Not by an iterator, which takes seven frames of the stack for each level in a debug build.
        let mut compiled = Vec::with_capacity(exprs.len());
        for expr in exprs {
            compiled.push(self.compile(expr)?);
        }
        Ok(compiled)
    }

    /// What may be nested most in small frames of the stack.
    fn node(&mut self, expr: &Expr) -> Result<Node> {
        match expr {
            Expr::Call { function, args } => self.call(function, args),
            Expr::And(args) => self.logic(false, args),
            Expr::Or(args) => self.logic(true, args),
            Expr::Case { branches, otherwise, .. } => self.case(branches, otherwise.as_deref()),
            Expr::Coalesce { args, .. } => Ok(Node::Coalesce(self.compile_list(args)?)),
            _ => self.other(expr),
        }
    }

    fn call(&mut self, function: &Arc<Function>, args: &[Expr]) -> Result<Node> {
        let args = self.compile_list(args)?;
        Ok(call(function.clone(), args))
    }

    fn logic(&mut self, decisive: bool, args: &[Expr]) -> Result<Node> {
        Ok(Node::Logic { decisive, args: self.compile_list(args)? })
    }

    fn other(&mut self, expr: &Expr) -> Result<Node> {
        Ok(match expr {
            Expr::Literal { value, .. } => Node::Constant(value.clone()),
            Expr::Column { index, .. } => Node::Column(*index),
            Expr::Outer { level, index, .. } => Node::Outer { level: *level, index: *index },
            Expr::Parameter { index, .. } => {
                Node::Parameter { index: *index, value: self.context.parameter(*index)?.clone() }
            }
            Expr::Cast { input, to } => cast(self.compile_box(input)?, *to),
            Expr::Not(input) => Node::Not(self.compile_box(input)?),
            Expr::IsNull(input) => Node::IsNull(self.compile_box(input)?),
            Expr::IsNotDistinct(left, right) => {
                Node::IsNotDistinct(Box::new([self.compile(left)?, self.compile(right)?]))
            }
            Expr::InList { input, list, equal } => {
                in_list(self.compile(input)?, self.compile_list(list)?, equal.clone())?
            }
            Expr::Let { id, value, body } => self.shared(*id, value, body)?,
            Expr::Shared { id, .. } => {
                let place = self.shared.iter().rev().find(|(number, _)| number == id);
                Node::Column(place.ok_or_else(|| Error::internal("a shared value that was not worked out"))?.1)
            }
            Expr::Subplan(subplan) => Node::Subplan(Box::new(SubplanEvaluator::new(subplan, self)?)),
            Expr::Subquery(_) => return Err(Error::internal("a subquery that was not planned")),
            Expr::Sequence { op, name, value } => {
                let value = value.as_ref().map(|value| self.compile_box(value)).transpose()?;
                Node::Sequence { op: *op, name: self.compile_box(name)?, value }
            }
            Expr::Call { .. } | Expr::And(_) | Expr::Or(_) | Expr::Case { .. } | Expr::Coalesce { .. } => {
                return self.node(expr);
            }
        })
    }

    fn shared(&mut self, id: usize, value: &Expr, body: &Expr) -> Result<Node> {
        let around = self.shared.last().map_or(0, |(_, slot)| slot + 1);
        let slot = width(value).max(width(body)).max(around);
        let value = self.compile_box(value)?;
        self.shared.push((id, slot));
        let body = self.compile_box(body);
        self.shared.pop();
        Ok(Node::Let { slot, value, body: body? })
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<Node> {
        let mut compiled = Vec::with_capacity(branches.len());
        for (condition, result) in branches {
            compiled.push((self.compile(condition)?, self.compile(result)?));
        }
        let otherwise = otherwise.map(|otherwise| self.compile(otherwise)).transpose()?;
        Ok(Node::Case(Box::new(Case { branches: compiled, otherwise })))
    }
}

/// How many columns of its row an expression uses, with all those before them.
fn width(expr: &Expr) -> usize {
    let itself = match expr {
        Expr::Column { index, .. } => index + 1,
        Expr::Subplan(subplan) => {
            let own = subplan.depends_on.iter().filter(|(level, _)| *level == 1);
            own.map(|(_, index)| index + 1).max().unwrap_or(0)
        }
        _ => 0,
    };
    expr_children(expr).map(width).fold(itself, usize::max)
}

/// Adds what is known of a node from its children.
fn finish(node: Node, data_type: DataType) -> Evaluator {
    let mut columns = vec![];
    if let Node::Column(index) = node {
        columns.push(index);
    }
    if let Node::Subplan(subplan) = &node {
        columns.extend(subplan.outer_columns());
    }
    let mut total = matches!(
        node,
        Node::Constant(_)
            | Node::Parameter { .. }
            | Node::Column(_)
            | Node::Outer { .. }
            | Node::Compare { .. }
            | Node::Widen(_)
            | Node::Unpad(_)
            | Node::Relabel(_)
            | Node::Logic { .. }
            | Node::Not(_)
            | Node::IsNull(_)
    );
    each_child(&node, &mut |child| {
        columns.extend(&child.columns);
        total &= child.total;
    });
    if let Node::Let { slot, .. } = &node {
        columns.retain(|column| column != slot);
    }
    columns.sort_unstable();
    columns.dedup();
    Evaluator { node, data_type, columns, total }
}

fn each_child(node: &Node, visit: &mut dyn FnMut(&Evaluator)) {
    match node {
        Node::Constant(_) | Node::Parameter { .. } | Node::Column(_) | Node::Outer { .. } => {}
        Node::Compare { args, .. } | Node::Arithmetic { args, .. } | Node::IsNotDistinct(args) => {
            args.iter().for_each(visit);
        }
        Node::Matches { input, .. }
        | Node::Substring { input, .. }
        | Node::Widen(input)
        | Node::Unpad(input)
        | Node::Relabel(input)
        | Node::Cast(input)
        | Node::Not(input)
        | Node::IsNull(input) => visit(input),
        Node::Call { args, .. } | Node::Logic { args, .. } | Node::Coalesce(args) => args.iter().for_each(visit),
        Node::Case(case) => {
            case.branches.iter().for_each(|(condition, result)| [condition, result].into_iter().for_each(&mut *visit));
            case.otherwise.iter().for_each(visit);
        }
        Node::InSet { set, .. } => visit(set.input()),
        Node::InList { input, list, .. } => {
            visit(input);
            list.iter().for_each(visit);
        }
        Node::Let { value, body, .. } => [value, body].into_iter().for_each(|child| visit(child)),
        Node::Subplan(subplan) => subplan.left().iter().for_each(visit),
        Node::Sequence { name, value, .. } => {
            visit(name);
            value.iter().for_each(|value| visit(value));
        }
    }
}

/// A function call, by a kernel where there is one.
fn call(function: Arc<Function>, mut args: Vec<Evaluator>) -> Node {
    if let Some((from, to)) = substring(&function, &args) {
        return Node::Substring { input: Box::new(args.swap_remove(0)), from, to };
    }
    match (function.op, <[Evaluator; 2]>::try_from(args)) {
        (_, Ok(pair)) if function.matching.is_some() => matches(function, pair),
        (Some(op), Ok(pair)) => binary(function, op, pair),
        (_, Ok(pair)) => Node::Call { function, args: pair.into() },
        (_, Err(args)) => Node::Call { function, args },
    }
}

/// The characters that a call of `substring` takes, where they are the same of each text.
fn substring(function: &Function, args: &[Evaluator]) -> Option<(usize, usize)> {
    let constant = |arg: &Evaluator| match &arg.node {
        Node::Constant(value) => Some(value.clone()),
        _ => None,
    };
    let (_, others) = args.split_first().filter(|(_, others)| !others.is_empty() && function.op.is_none())?;
    let others: Option<Vec<Value>> = others.iter().map(constant).collect();
    substring_bounds(function, &others?)
}

fn binary(function: Arc<Function>, op: Operator, pair: [Evaluator; 2]) -> Node {
    let types = [pair[0].data_type, pair[1].data_type];
    if op.is_comparison() {
        return comparison(function, op, pair);
    }
    if types.iter().all(|data_type| data_type.is_integer()) && arithmetic::has_kernel(op, function.returns) {
        let pair = pair.map(|arg| widened(arg, function.returns));
        return Node::Arithmetic { op, args: Box::new(pair) };
    }
    // `numeric(5, 2)` is as good as `numeric`.
    let returned = |data_type: &DataType| data_type.base() == function.returns.base();
    if types.iter().all(returned) && arithmetic::has_kernel(op, function.returns) {
        return Node::Arithmetic { op, args: Box::new(pair) };
    }
    Node::Call { function, args: pair.into() }
}

/// Whether a text matches a pattern, which is compiled where it is the same for all texts.
fn matches(function: Arc<Function>, pair: [Evaluator; 2]) -> Node {
    let [input, pattern] = &pair;
    let matcher = pattern.as_constant().and_then(|text| function.matching?.matcher(input.data_type, text));
    match matcher {
        Some(matcher) => {
            let [input, pattern] = pair;
            Node::Matches { matcher: Box::new(matcher), input: Box::new(input), given: pattern.is_parameter() }
        }
        None => Node::Call { function, args: pair.into() },
    }
}

/// The type in which values of two types compare by a kernel; `None`: only the function knows.
pub(super) fn common_type(left: DataType, right: DataType) -> Option<DataType> {
    use DataType::*;
    match (left, right) {
        _ if left.base() == right.base() && left != Unknown => Some(left),
        (Text | Varchar(_), Text | Varchar(_)) => Some(Text),
        _ if left.is_integer() && right.is_integer() => Some(BigInt),
        (Real, Double) | (Double, Real) => Some(Double),
        _ => None,
    }
}

fn comparison(function: Arc<Function>, op: Operator, pair: [Evaluator; 2]) -> Node {
    let Some(common) = common_type(pair[0].data_type, pair[1].data_type) else {
        return Node::Call { function, args: pair.into() };
    };
    Node::Compare {
        op,
        representation: common.physical(),
        blank_padded: matches!(*function.args, [DataType::Char(_), ..]),
        args: Box::new(pair.map(|arg| widened(arg, common))),
    }
}

/// The same values in a wider type, where the representation differs.
fn widened(arg: Evaluator, to: DataType) -> Evaluator {
    if arg.data_type.physical() == to.physical() {
        return arg;
    }
    if let Node::Constant(Value::Null) = arg.node {
        return arg;
    }
    finish(Node::Widen(Box::new(arg)), to)
}

/// Join keys of both sides in one representation, so that they hash and compare alike.
pub(crate) fn unify_keys(left: &mut [Evaluator], right: &mut [Evaluator]) {
    for (left, right) in left.iter_mut().zip(right) {
        if let Some(common) = common_type(left.data_type, right.data_type) {
            for side in [left, right] {
                let null = finish(Node::Constant(Value::Null), side.data_type);
                *side = widened(std::mem::replace(side, null), common);
            }
        }
    }
}

fn cast(input: Box<Evaluator>, to: DataType) -> Node {
    match conversion(input.data_type, to) {
        Conversion::Relabel => Node::Relabel(input),
        Conversion::Widen => Node::Widen(input),
        Conversion::Unpad => Node::Unpad(input),
        Conversion::Each => Node::Cast(input),
    }
}

fn in_list(input: Evaluator, list: Vec<Evaluator>, equal: Arc<Function>) -> Result<Node> {
    let constants: Option<Vec<Value>> = list
        .iter()
        .map(|element| {
            let fits = |value: &&Value| value.is_null() || element.data_type.base() == input.data_type.base();
            element.as_constant().filter(fits).cloned()
        })
        .collect();
    let given = list.iter().any(Evaluator::is_parameter);
    let by_hash = equal.args.iter().all(|arg| common_type(*arg, input.data_type).is_some());
    match constants {
        Some(constants) if by_hash => Ok(Node::InSet { set: Box::new(InSet::new(input, &constants)?), given }),
        _ => Ok(Node::InList { input: Box::new(input), list, equal }),
    }
}

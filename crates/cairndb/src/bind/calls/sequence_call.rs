//! `nextval`, `currval` and `setval`: of a sequence that is known when the call is bound, if its name is a constant.

use cairn_parser::{self as ast, Id, Span};

use super::functions::Call;
use super::named_arguments::Arguments;
use super::overload::no_function;
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::bind::expressions::coerce::text;
use crate::bind::expressions::operators::Operand;
use crate::plan::{Expr, SequenceOp};
use crate::sql::name_text;
use crate::types::DataType;
use crate::{Error, Result};

impl<'a> Binder<'a> {
    pub(in crate::bind) fn sequence(&mut self, op: SequenceOp, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        let (Some(name), wanted) = (tree.nth(call.args, 0), usize::from(op == SequenceOp::Set) + 1) else {
            return Err(self.at(no_function(call.name, &[]), call.span));
        };
        let called = tree.nth(call.args, 2).filter(|_| op == SequenceOp::Set);
        if tree.len(call.args) != wanted + usize::from(called.is_some()) {
            let message = format!("{} with {} arguments", call.name, tree.len(call.args));
            return Err(self.at(Error::unsupported(message), call.span));
        }
        let mut bound: Vec<Option<Operand>> = match call.arguments() {
            Arguments::Written(_) => vec![],
            bound => self.operands(bound, context)?.into_iter().map(Some).collect(),
        };
        let mut operand = |binder: &mut Self, at: usize, written: Id<ast::Expr>, context: &mut Context| {
            let bound = bound.get_mut(at).and_then(Option::take);
            bound.map_or_else(|| binder.operand(written, context), Ok)
        };
        let name = without_regclass(tree, name);
        let known = match tree.get(name) {
            ast::Expr::String { text } => self.sequence_named(tree.text(text), tree.span(name))?,
            _ => None,
        };
        let name = match known {
            Some(known) => Box::new(text(&known)),
            None => {
                let (bound, span) = operand(self, 0, name, context)?;
                Box::new(self.name_of_sequence(bound, span)?)
            }
        };
        let value = match tree.nth(call.args, 1) {
            Some(value) => {
                let (bound, span) = operand(self, 1, value, context)?;
                Some(Box::new(self.implicit(bound, DataType::BigInt, span)?))
            }
            None => None,
        };
        let Some(called) = called else { return Ok(Expr::Sequence { op, name, value }) };
        let (bound, span) = operand(self, 2, called, context)?;
        let called = self.condition(bound, "setval", span)?;
        let called = self.once((called, span));
        let next = Expr::Sequence { op: SequenceOp::SetNext, name: name.clone(), value: value.clone() };
        let set = Expr::Sequence { op, name, value };
        let otherwise = crate::bind::expressions::expr::not(self.use_of(&called)?.0);
        let branches = vec![(self.use_of(&called)?.0, set), (otherwise, next)];
        Ok(called.around(Expr::Case { branches, otherwise: None, data_type: DataType::BigInt }))
    }

    /// The name that a `regclass` is read from, or written as.
    fn name_of_sequence(&mut self, bound: Expr, span: Span) -> Result<Expr> {
        match bound {
            Expr::Cast { input, to: DataType::Reg(_) } if input.data_type() == DataType::Text => Ok(*input),
            bound if bound.data_type().is_reg() => self.explicit(bound, DataType::Text, span),
            bound => self.implicit(bound, DataType::Text, span),
        }
    }
}

/// `'name'::regclass` is how PostgreSQL writes a relation's name: what stands before the cast.
fn without_regclass(tree: &ast::Tree<'_>, name: Id<ast::Expr>) -> Id<ast::Expr> {
    match tree.get(name) {
        ast::Expr::Cast { operand, data_type }
            if is_regclass(tree, data_type) && matches!(tree.get(operand), ast::Expr::String { .. }) =>
        {
            operand
        }
        ast::Expr::TypedString { data_type, literal } if is_regclass(tree, data_type) => literal,
        _ => name,
    }
}

fn is_regclass(tree: &ast::Tree<'_>, data_type: Id<ast::TypeName>) -> bool {
    let ast::TypeName { names, bounds, .. } = tree.get(data_type);
    bounds.is_empty() && tree.list(names).next_back().is_some_and(|name| name_text(tree, name) == "regclass")
}

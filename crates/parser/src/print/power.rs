//! How tightly an expression binds, as it is printed.

use super::Printer;
use crate::parse::{Power, power};
use crate::syntax::{Expr, Operator};
use crate::token::{TokenKind as T, operator_kind};
use crate::tree::Id;

/// Of what needs no parentheses anywhere.
pub(super) const PRIMARY: Power = 100;

impl Printer<'_, '_> {
    /// How tightly the expression binds.
    pub(super) fn power(&self, id: Id<Expr>) -> Power {
        match self.tree.get(id) {
            Expr::Or { .. } => power::OR,
            Expr::And { .. } => power::AND,
            Expr::Not { .. } => power::NOT,
            Expr::Is { .. } | Expr::IsDistinct { .. } | Expr::IsNormalized { .. } | Expr::IsJson { .. } => power::IS,
            Expr::Between { .. } | Expr::Like { .. } | Expr::InList { .. } | Expr::InQuery { .. } => power::MATCH,
            Expr::Quantified { operator, .. }
            | Expr::QuantifiedQuery { operator, .. }
            | Expr::Binary { operator, .. } => self.infix_power(operator),
            Expr::Unary { operator, .. } => self.prefix_power(operator),
            // Its rows bind tighter than anything, but not where few operators are allowed.
            Expr::Overlaps { .. } => power::OR,
            Expr::AtTimeZone { .. } => power::AT,
            Expr::Collate { .. } => power::COLLATE,
            Expr::Cast { .. } => power::CAST,
            _ => PRIMARY,
        }
    }

    /// Of an operator between operands.
    pub(super) fn infix_power(&self, operator: Id<Operator>) -> Power {
        match self.tree.get(operator) {
            Operator::Plain { text } => match operator_kind(self.tree.text(text).as_bytes()) {
                T::Equal | T::Less | T::Greater | T::LessEqual | T::GreaterEqual | T::NotEqual => power::COMPARISON,
                T::Plus | T::Minus => power::SUM,
                T::Star | T::Slash | T::Percent => power::PRODUCT,
                T::Caret => power::EXPONENT,
                _ => power::OTHER,
            },
            Operator::Qualified { .. } => power::OTHER,
            Operator::Like | Operator::NotLike | Operator::ILike | Operator::NotILike => power::MATCH,
        }
    }

    /// Of an operator before its operand.
    pub(super) fn prefix_power(&self, operator: Id<Operator>) -> Power {
        match self.infix_power(operator) {
            power::SUM => power::SIGN,
            _ => power::OTHER,
        }
    }

    /// Whether the operator may stand before an operand as it is.
    pub(super) fn is_prefix_symbol(&self, operator: Id<Operator>) -> bool {
        let Operator::Plain { text } = self.tree.get(operator) else { return true };
        matches!(operator_kind(self.tree.text(text).as_bytes()), T::Plus | T::Minus | T::Op)
    }

    /// Whether the expression may stand where few operators are allowed (`b_expr`, `c_expr`) without parentheses.
    pub(super) fn is_simple(&self, id: Id<Expr>) -> bool {
        self.power(id) == PRIMARY && !matches!(self.tree.get(id), Expr::Default)
    }

    /// An expression where few operators are allowed.
    pub(super) fn simple(&mut self, id: Id<Expr>) {
        let parentheses = !self.is_simple(id);
        self.say_if(parentheses, "(");
        self.node(id);
        self.say_if(parentheses, ")");
    }
}

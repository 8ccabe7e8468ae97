//! Utility commands.

use super::{Print, Printer};
use crate::syntax::{Expr, Part, Statement};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Print for Part {
    fn print(self, _: Id<Part>, p: &mut Printer<'_, '_>) {
        match self {
            Part::Rule { parts, .. } => p.parts(parts),
            Part::Keyword { kind } => p.keyword(kind),
            Part::Name { name } | Part::Label { name } | Part::FunctionWord { name } => p.node(name),
            Part::Ident { name } => p.identifier_text(p.tree.get(name).text),
            Part::Names { names } => p.dotted(names),
            Part::Expr { expr } => p.node(expr),
            Part::Call { expr } => match p.tree.get(expr) {
                Expr::Cast { operand, data_type } => p.cast_function("CAST(", operand, data_type),
                _ => p.node(expr),
            },
            Part::RestrictedExpr { expr } => p.restricted(expr),
            Part::Type { data_type } => p.node(data_type),
            Part::Table { name } => p.node(name),
            Part::Relation { relation } => p.node(relation),
            Part::From { tables } => p.list(tables),
            Part::Operator { operator } => p.node(operator),
            // Behind a query without parentheses a word that follows could be its last column's name.
            Part::Statement { statement } if matches!(p.tree.get(statement), Statement::Query { .. }) => {
                p.say("(");
                p.node(statement);
                p.say(")");
            }
            Part::Statement { statement } => p.node(statement),
        }
    }
}

impl Printer<'_, '_> {
    /// Parts with blanks between them where they read well.
    fn parts(&mut self, parts: List<Part>) {
        let tree = self.tree;
        let mut tight = true;
        for part in tree.list(parts) {
            let is = |kinds: &[T]| match tree.get(part) {
                Part::Keyword { kind } => kinds.iter().any(|known| *known as u32 == kind),
                _ => false,
            };
            self.say_if(!tight && !is(&[T::Comma, T::RightParen, T::Dot, T::Semicolon]), " ");
            self.node(part);
            tight = is(&[T::LeftParen, T::Dot]);
        }
    }

    /// An expression that may have no NOT, AND, OR, IN and their like outside parentheses.
    fn restricted(&mut self, expr: Id<Expr>) {
        let plain = matches!(
            self.tree.get(expr),
            Expr::Null
                | Expr::Boolean { .. }
                | Expr::Integer { .. }
                | Expr::Number { .. }
                | Expr::String { .. }
                | Expr::Call { .. }
        );
        self.say_if(!plain, "(");
        self.node(expr);
        self.say_if(!plain, ")");
    }
}

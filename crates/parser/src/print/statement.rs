//! Statements.

use super::{Print, Printer};
use crate::syntax::Statement;
use crate::tree::Id;

impl Print for Statement {
    fn print(self, _: Id<Statement>, p: &mut Printer<'_, '_>) {
        match self {
            Statement::Query { query } => p.node(query),
            Statement::Insert { insert } => p.node(insert),
            Statement::Update { update } => p.node(update),
            Statement::Delete { delete } => p.node(delete),
            Statement::Merge { merge } => p.node(merge),
            Statement::Utility { command } => p.node(command),
        }
    }
}

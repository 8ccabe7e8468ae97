//! What RETURNING sees: a row, and the row as it was and as it is.

use super::env::{self, Env};
use super::stop::Stop;
use crate::Value;
use crate::exec::{Columns, Datum};
use crate::plan::{Expr, NEW_BASE, OLD_BASE, ROW_PRESENT};
use crate::types::ValueRef;

/// The columns that a row has of itself, and those of OLD and NEW.
pub(crate) struct Affected<'a> {
    /// Whichever of the two there is, NEW first; and what stands beside it.
    pub(crate) row: &'a dyn Columns<Stop>,
    /// `None`: the row is a new one.
    pub(crate) old: Option<&'a dyn Columns<Stop>>,
    /// `None`: the row is gone.
    pub(crate) new: Option<&'a dyn Columns<Stop>>,
}

impl Columns<Stop> for Affected<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        let (row, at) = match index {
            NEW_BASE.. => (self.new, index - NEW_BASE),
            OLD_BASE.. => (self.old, index - OLD_BASE),
            index => return self.row.column(index),
        };
        match row {
            None => Ok(Datum::Lent(ValueRef::Null)),
            Some(_) if at == ROW_PRESENT => Ok(Datum::Lent(ValueRef::Boolean(true))),
            Some(row) => row.column(at),
        }
    }
}

impl Affected<'_> {
    /// RETURNING's values.
    pub(crate) fn returning(&self, exprs: &[Expr], env: Env<'_>, out: &mut Vec<Value>) -> Result<(), Stop> {
        out.clear();
        for expr in exprs {
            out.push(env::eval(expr, self, env)?.into_value());
        }
        Ok(())
    }
}

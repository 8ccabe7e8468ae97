//! What RETURNING sees: a row, and the row as it was and as it is.

use super::env::{self, Env};
use super::stop::Stop;
use super::target::Target;
use crate::Value;
use crate::bind::Callees;
use crate::exec::{Columns, Datum};
use crate::plan::{Expr, Held, StandIn, Version};
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
        let row_of = |version: Version| match version {
            Version::Old => self.old,
            Version::New => self.new,
        };
        let null = Datum::Lent(ValueRef::Null);
        match StandIn::of(index) {
            Some(StandIn::Affected(version, at)) => row_of(version).map_or(Ok(null), |row| row.column(at)),
            Some(StandIn::Present(version)) => {
                Ok(row_of(version).map_or(null, |_| Datum::Lent(ValueRef::Boolean(true))))
            }
            _ => self.row.column(index),
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

/// RETURNING of one row.
#[derive(Debug)]
pub(super) struct RowReturning {
    exprs: Box<[Expr]>,
    /// Functions of the schema's see the row as it was written; otherwise nobody can tell, and it comes first, while the row is
    /// at hand.
    is_after: bool,
}

impl RowReturning {
    pub(super) fn new(target: &Target, exprs: &[Expr]) -> RowReturning {
        let exprs = target.over_stored(exprs);
        let is_after = exprs.iter().any(|expr| Callees::of(expr) != Callees::BuiltIn);
        RowReturning { exprs, is_after }
    }

    /// Whether a point statement can do it.
    pub(super) fn is_evaluable(&self, held: Held) -> bool {
        self.exprs.iter().all(|expr| held.allows(expr))
    }

    pub(super) fn is_after(&self) -> bool {
        self.is_after
    }

    /// Before the row is written.
    pub(super) fn before(&self, row: &Affected<'_>, env: Env<'_>, out: &mut Vec<Value>) -> Result<(), Stop> {
        if self.is_after { Ok(()) } else { row.returning(&self.exprs, env, out) }
    }

    /// When it is.
    pub(super) fn after(&self, row: &Affected<'_>, env: Env<'_>, out: &mut Vec<Value>) -> Result<(), Stop> {
        if self.is_after { row.returning(&self.exprs, env, out) } else { Ok(()) }
    }
}

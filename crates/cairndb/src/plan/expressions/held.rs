//! Which expressions can be evaluated while something is held.

use super::bounded_call::is_bounded_call;
use super::expr::Expr;
use super::walk;
use crate::functions::Cost;
use crate::types::names_oids;

/// What is held while an expression is evaluated; what comes later allows less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// The statement's own transaction: nothing that asks it, which a function of the schema's does, and nothing that waits.
    Transaction,
    /// The commit lock, for which everybody waits, or the thread of whoever asked for a point statement: moreover nothing that
    /// takes longer than the values are long ([`Cost::Bounded`]).
    Commit,
}

impl Held {
    /// Whether everything in the expression can be evaluated meanwhile: it depends on nothing but the row, the parameters and
    /// the clock.
    pub(crate) fn allows(self, expr: &Expr) -> bool {
        let of_commit = self == Held::Commit;
        let mut allows = true;
        walk::walk(expr, 0, &mut |expr, _| {
            allows &= match expr {
                Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. } => false,
                Expr::Call { function, args } => {
                    !function.calls_routines() && !function.waits && (!of_commit || is_bounded_call(function, args))
                }
                Expr::InList { equal, .. } => equal.cost == Cost::Bounded || !of_commit,
                Expr::Cast { input, to } => !of_commit || !names_oids(input.data_type(), *to),
                _ => true,
            };
        });
        allows
    }

    /// The most of which all of these can be evaluated; `None`: nothing may be held.
    pub(crate) fn most<'e>(exprs: impl Iterator<Item = &'e Expr> + Clone) -> Option<Held> {
        [Held::Commit, Held::Transaction].into_iter().find(|held| exprs.clone().all(|expr| held.allows(expr)))
    }
}

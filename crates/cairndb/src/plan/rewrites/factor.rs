//! OR of ANDs: what all branches say, and what they say about one side of a join.

use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{conjunction, conjuncts, has_subquery, is_volatile, used_columns};

/// Branches and parts beyond this are left as they are: the work is quadratic.
const PARTS_MAX: usize = 64;

/// `(a AND b) OR (a AND c)` as `a`, `b OR c`. (In three-valued logic too: AND distributes over OR.)
pub(super) fn factor_or(condition: Expr) -> Vec<Expr> {
    let Expr::Or(branches) = condition else { return vec![condition] };
    if branches.len() > PARTS_MAX || branches.iter().any(|branch| is_volatile(branch) || has_subquery(branch)) {
        return vec![Expr::Or(branches)];
    }
    let mut branches: Vec<Vec<Expr>> = branches.into_iter().map(conjuncts).collect();
    if branches.iter().any(|parts| parts.len() > PARTS_MAX) {
        return vec![joined(branches)];
    }
    let mut common = vec![];
    for part in branches.first().cloned().unwrap_or_default() {
        let text = format!("{part:?}");
        let places: Vec<Option<usize>> =
            branches.iter().map(|parts| parts.iter().position(|other| format!("{other:?}") == text)).collect();
        if places.iter().all(Option::is_some) {
            for (parts, place) in branches.iter_mut().zip(places) {
                place.map(|place| parts.remove(place));
            }
            common.push(part);
        }
    }
    if branches.iter().all(|parts| !parts.is_empty()) {
        common.push(joined(branches));
    }
    common
}

fn joined(branches: Vec<Vec<Expr>>) -> Expr {
    Expr::Or(branches.into_iter().filter_map(conjunction).collect())
}

/// What an OR over several tables implies for the columns accepted by `side` alone: if each branch has parts over
/// them, one branch's parts must hold.
pub(super) fn restriction(condition: &Expr, side: &dyn Fn(usize) -> bool) -> Option<Expr> {
    let Expr::Or(branches) = condition else { return None };
    if is_volatile(condition) || has_subquery(condition) {
        return None;
    }
    let own_parts = |branch: &Expr| {
        let parts = conjuncts(branch.clone()).into_iter().filter(|part| {
            let used = used_columns(part);
            !used.is_empty() && used.into_iter().all(side)
        });
        conjunction(parts.collect())
    };
    Some(Expr::Or(branches.iter().map(own_parts).collect::<Option<_>>()?))
}

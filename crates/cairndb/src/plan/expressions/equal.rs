//! Whether two bound expressions are the same expression.

use super::expr::Expr;
use super::walk;
use crate::types::Value;

/// The same expression, node by node, volatile ones too: what is grouped and selected is one value. (Subqueries are compared by
/// their debug form: they are rare here.)
pub(crate) fn same_expr(left: &Expr, right: &Expr) -> bool {
    if !same_node(left, right) {
        return false;
    }
    if let (Expr::Let { id, .. }, Expr::Let { id: other, value, body }) = (left, right)
        && id != other
    {
        let body = Box::new(renumbered(body, *other, *id));
        return same_expr(left, &Expr::Let { id: *id, value: value.clone(), body });
    }
    let (mut left, mut right) = (walk::children(left), walk::children(right));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(left), Some(right)) if same_expr(left, right) => {}
            _ => return false,
        }
    }
}

/// The body of a `Let` of number `from`, as that of one of number `to`.
fn renumbered(body: &Expr, from: usize, to: usize) -> Expr {
    let mut body = body.clone();
    walk::rewrite(&mut body, 0, &mut |expr, _| match expr {
        Expr::Shared { id, data_type } if *id == from => Some(Expr::Shared { id: to, data_type: *data_type }),
        _ => None,
    });
    body
}

fn same_node(left: &Expr, right: &Expr) -> bool {
    if left.data_type() != right.data_type() || std::mem::discriminant(left) != std::mem::discriminant(right) {
        return false;
    }
    match (left, right) {
        (Expr::Literal { value: a, .. }, Expr::Literal { value: b, .. }) => same_value(a, b),
        (Expr::Column { index: a, .. }, Expr::Column { index: b, .. })
        | (Expr::Parameter { index: a, .. }, Expr::Parameter { index: b, .. }) => a == b,
        (Expr::Outer { level: a, index: i, .. }, Expr::Outer { level: b, index: j, .. }) => (a, i) == (b, j),
        (Expr::Shared { id: a, .. }, Expr::Shared { id: b, .. }) => a == b,
        (Expr::Call { function: a, .. }, Expr::Call { function: b, .. }) => a.is_same(b),
        (Expr::Sequence { op: a, .. }, Expr::Sequence { op: b, .. }) => a == b,
        (Expr::Subquery(_), Expr::Subquery(_)) => format!("{left:?}") == format!("{right:?}"),
        (Expr::Case { branches: a, .. }, Expr::Case { branches: b, .. }) => a.len() == b.len(),
        _ => true,
    }
}

fn same_value(left: &Value, right: &Value) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

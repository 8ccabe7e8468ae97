//! What an expression depends on besides its row.

use super::expr::Expr;
use super::walk;
use crate::functions::{Function, Operator};
use crate::types::{TypeCategory, cast_is_immutable, names_oids};

/// Whether the expression asks the catalog: it has what that said when the expression was bound, or what it says when it is evaluated.
pub(crate) fn asks_catalog(expr: &Expr) -> bool {
    let mut asks = false;
    walk::walk(expr, 0, &mut |expr, _| {
        asks |= match expr {
            Expr::Call { function, .. } => function.asks_catalog(),
            Expr::Cast { input, to } => names_oids(input.data_type(), *to),
            _ => false,
        };
    });
    asks
}

/// Whether the expression gives the same for the same row, whenever it is asked.
pub(crate) fn is_immutable(expr: &Expr) -> bool {
    mutable_part(expr).is_none()
}

/// A part of the expression that may give something else for the same row another time, as a sentence says it.
pub(crate) fn mutable_part(expr: &Expr) -> Option<String> {
    let mut found = None;
    walk::walk(expr, 0, &mut |expr, _| {
        if found.is_none() {
            found = mutable_here(expr);
        }
    });
    found
}

fn mutable_here(expr: &Expr) -> Option<String> {
    // What stands beside a text is cast to text.
    let is_steady = |arg: &Expr| {
        matches!(arg.data_type().category(), TypeCategory::String | TypeCategory::Numeric | TypeCategory::Boolean)
    };
    match expr {
        Expr::Call { function, args } if function.op == Some(Operator::Concat) && args.iter().all(is_steady) => None,
        Expr::Call { function, .. } | Expr::InList { equal: function, .. } if !function.is_immutable() => {
            Some(of_function(function))
        }
        Expr::Cast { input, to } if !cast_is_immutable(input.data_type(), *to) => {
            let (from, to) = (input.data_type().type_name(), to.type_name());
            Some(format!("The cast from {from} to {to} is STABLE: it depends on the session's settings."))
        }
        Expr::Sequence { .. } => Some("What a sequence says is VOLATILE.".to_owned()),
        Expr::Parameter { .. } | Expr::Outer { .. } => Some("It depends on more than its row.".to_owned()),
        _ => None,
    }
}

/// `Function f(text) is STABLE.`
fn of_function(function: &Function) -> String {
    let args: Vec<&str> = function.args.iter().map(|arg| arg.type_name()).collect();
    let is_name = function.name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    let (kind, of) = match (is_name, args.as_slice()) {
        (false, [left, right]) => ("Operator", format!("{left} {} {right}", function.name)),
        _ => ("Function", format!("{}({})", function.name, args.join(", "))),
    };
    format!("{kind} {of} is {}.", function.volatility.word().to_uppercase())
}

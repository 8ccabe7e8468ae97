//! Predicates over pairs of items: true, false, or unknown (`None`).

use std::cmp::Ordering;

use super::run::Item;
use crate::Result;
use crate::types::{BinaryOp, EvalContext, Json};

/// `a op b`, of comparisons. `zone`: where times without a zone find theirs, if they may.
pub(super) fn compare(op: BinaryOp, a: &Item<'_>, b: &Item<'_>, zone: Option<&EvalContext>) -> Result<Option<bool>> {
    let order = match (a.read()?, b.read()?) {
        (Json::String(_), Json::String(_)) if a.moment().is_some() || b.moment().is_some() => {
            let (Some(a), Some(b)) = (a.moment(), b.moment()) else { return Ok(None) };
            let Some(order) = a.compare(b, zone)? else { return Ok(None) };
            order
        }
        (Json::Null, Json::Null) => Ordering::Equal,
        // Null and something else are not equal, and in no order.
        (Json::Null, _) | (_, Json::Null) => return Ok(Some(op == BinaryOp::NotEqual)),
        (Json::Boolean(a), Json::Boolean(b)) => a.cmp(&b),
        (Json::Number(a), Json::Number(b)) => a.cmp(&b),
        (Json::String(a), Json::String(b)) => a.encode_utf16().cmp(b.encode_utf16()),
        _ => return Ok(None),
    };
    Ok(Some(match op {
        BinaryOp::Equal => order.is_eq(),
        BinaryOp::NotEqual => order.is_ne(),
        BinaryOp::Less => order.is_lt(),
        BinaryOp::LessEqual => order.is_le(),
        BinaryOp::Greater => order.is_gt(),
        _ => order.is_ge(),
    }))
}

/// `a starts with b`
pub(super) fn starts_with(a: &Item<'_>, b: &Item<'_>) -> Result<Option<bool>> {
    Ok(match (a.read()?, b.read()?) {
        (Json::String(text), Json::String(start)) if a.moment().or(b.moment()).is_none() => {
            Some(text.starts_with(start))
        }
        _ => None,
    })
}

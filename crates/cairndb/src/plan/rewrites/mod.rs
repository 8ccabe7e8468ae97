//! Logical plans into better ones that mean the same.

pub(super) mod closure;
pub(super) mod cte;
pub(super) mod decorrelate;
mod factor;
pub(super) mod flatten;
pub(super) mod fold;
mod fold_dates;
pub(super) mod narrow;
pub(super) mod prune;
mod pull;
pub(super) mod pushdown;
pub(super) mod unique;

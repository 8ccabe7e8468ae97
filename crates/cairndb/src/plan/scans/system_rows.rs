//! Relations that the system makes, as plans have them.

use std::fmt;

use crate::types::{EvalContext, Value};

/// One of them under a catalog, which makes its rows. It shows nothing of the catalog: that has plans itself, and whoever sends a plan to
/// another thread would have the compiler look through the one for each of the other, which takes it minutes.
pub trait SystemRows: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The name of the column at a position.
    fn column(&self, position: usize) -> &'static str;

    /// Whether rows can be asked for by the value of the column at a position.
    fn is_key(&self, position: usize) -> bool;

    /// Whether it tells what changes without a commit.
    fn changes_unseen(&self) -> bool;

    /// About how many rows there are.
    fn estimate(&self) -> f64;

    /// Its rows, and of each the columns at the `wanted` positions: all, or those that have a value, which is not NULL, in the column at a
    /// position, and maybe others.
    fn rows(&self, wanted: &[usize], asked: Option<(usize, &Value)>, context: &EvalContext) -> Vec<Vec<Value>>;
}

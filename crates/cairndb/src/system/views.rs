//! What is told of views and follows from their queries: whoever binds those knows it, and is above.

use std::fmt::Debug;
use std::sync::Arc;

use crate::catalog::{Catalog, View};
use crate::plan::Field;

/// Asked when rows of the system's relations are made, and functions of it called: a catalog has thousands of views of which
/// nobody asks.
pub(crate) trait BoundViews: Debug + Sync {
    /// What the view's query gives, under the names that it has in the view; nothing where the query makes no sense any more.
    fn columns(&self, view: &View, catalog: &Catalog) -> Vec<Field>;

    /// Of each column of a view whether it can be given values; `None`: rows of the view can not be changed. Triggers do not count.
    fn updatable_columns(&self, view: &Arc<View>, catalog: &Catalog) -> Option<Vec<bool>>;

    /// Whether rows of a view can be deleted, which asks for no columns. Triggers do not count.
    fn is_deletable(&self, view: &Arc<View>, catalog: &Catalog) -> bool;
}

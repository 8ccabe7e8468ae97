//! What is told of views and follows from their queries: whoever binds those knows it, and is above.

use std::fmt::Debug;
use std::sync::Arc;

use super::{DefinitionStyle, ExpressionOver};
use crate::catalog::{Catalog, Definition, View};
use crate::plan::Field;
use crate::types::DataType;

/// Asked when rows of the system's relations are made, and functions of it called: a catalog has thousands of views of which
/// nobody asks.
pub(crate) trait BoundViews: Debug + Sync {
    /// What the view's query gives, under the names that it has in the view; nothing where the query makes no sense any more.
    fn columns(&self, view: &View, catalog: &Catalog) -> Vec<Field>;

    /// Of each column of a view whether it can be given values; `None`: rows of the view can not be changed. Triggers do not count.
    fn updatable_columns(&self, view: &Arc<View>, catalog: &Catalog) -> Option<Vec<bool>>;

    /// Whether rows of a view can be deleted, which asks for no columns. Triggers do not count.
    fn is_deletable(&self, view: &Arc<View>, catalog: &Catalog) -> bool;

    /// A query as PostgreSQL writes it, under these names for its columns; `None`: that is not known of it.
    fn query_text(
        &self,
        query: &Definition,
        names: &[String],
        catalog: &Catalog,
        style: DefinitionStyle,
    ) -> Option<String>;

    /// An expression as PostgreSQL writes it; a literal that says of no type is of the one that is wanted.
    fn expression_text(
        &self,
        text: &str,
        over: ExpressionOver<'_>,
        wanted: Option<DataType>,
        of: (&Catalog, DefinitionStyle),
    ) -> Option<String>;
}

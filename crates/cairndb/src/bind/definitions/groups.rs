//! Materialized views that commits keep, as they are bound: the groups of their query, and what these are kept in.

use std::sync::Arc;

use super::definition::bind_definition;
use crate::catalog::{Catalog, Materialized, Table};
use crate::plan::{Groups, LogicalPlan};
use crate::{Error, Result};

/// See the module.
#[derive(Debug)]
pub(crate) struct BoundGroups {
    pub(crate) groups: Groups,
    /// What the view's tree is a table of.
    pub(crate) state: Arc<Table>,
}

impl BoundGroups {
    /// The view's rows, by the name that the query calls it.
    pub(crate) fn rows(&self, alias: Option<Arc<str>>) -> Result<LogicalPlan> {
        self.groups.rows(&self.state, alias)
    }
}

/// The view's, made once for each version of the catalog.
pub(crate) fn bound_groups(view: &Arc<Table>, catalog: &Catalog) -> Result<Arc<BoundGroups>> {
    catalog.compiled(view, || {
        let Some(Materialized { query, .. }) = &view.materialized else {
            return Err(Error::internal("a view without query"));
        };
        let in_the_way = |what| Error::internal(format!("materialized view \"{}\" can not be kept: {what}", view.name));
        let groups = Groups::of(&bind_definition(query, catalog)?).map_err(in_the_way)?;
        let state = Arc::new(groups.state(view));
        Ok(BoundGroups { groups, state })
    })
}

//! The newest catalog, shared by all connections.

use std::sync::{Arc, Mutex, PoisonError};

use cairn_storage::{Reader, TreeId};

use super::{Catalog, SystemTrees, load};
use crate::Result;

/// Equal stamps: the same schema and the same statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CatalogStamp {
    pub(crate) schema: u64,
    pub(crate) statistics: u64,
}

impl CatalogStamp {
    pub(crate) fn of(reader: &Reader, trees: Option<SystemTrees>) -> Result<CatalogStamp> {
        let schema = reader.tree_stamp(TreeId::CATALOG)?;
        let statistics = trees.map(|trees| reader.tree_stamp(trees.statistics)).transpose()?.unwrap_or(0);
        Ok(CatalogStamp { schema, statistics })
    }
}

/// Keeps the catalog that was loaded last.
#[derive(Default)]
pub(crate) struct CatalogCache(Mutex<Option<(CatalogStamp, Arc<Catalog>)>>);

impl CatalogCache {
    /// The catalog of this stamp, if it is the one that was loaded last.
    pub(crate) fn peek(&self, stamp: CatalogStamp) -> Option<Arc<Catalog>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.as_ref().filter(|(known, _)| *known == stamp).map(|(_, catalog)| catalog.clone())
    }

    /// The catalog as `reader` sees it.
    pub(crate) fn get(&self, reader: &Reader, trees: Option<SystemTrees>) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let stamp = CatalogStamp::of(reader, trees)?;
        if let Some(catalog) = self.peek(stamp) {
            return Ok((stamp, catalog));
        }
        let catalog = Arc::new(load(reader)?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((stamp, catalog.clone()));
        Ok((stamp, catalog))
    }
}

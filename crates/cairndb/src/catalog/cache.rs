//! The newest catalogs, shared by all connections.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use cairn_storage::{Reader, TreeId};

use super::store::load_committed;
use super::{Catalog, SystemTrees};
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

/// How many versions are kept: transactions go on with the one that they began with.
const KEPT: usize = 4;

/// Keeps the catalogs that were loaded last, the newest in front.
#[derive(Default)]
pub(crate) struct CatalogCache(Mutex<VecDeque<(CatalogStamp, Arc<Catalog>)>>);

impl CatalogCache {
    /// The catalog of this stamp, if it is one of those that were loaded last.
    pub(crate) fn peek(&self, stamp: CatalogStamp) -> Option<Arc<Catalog>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.iter().find(|(known, _)| *known == stamp).map(|(_, catalog)| catalog.clone())
    }

    /// The catalog as `reader` sees it.
    pub(crate) fn get(&self, reader: &Reader, trees: Option<SystemTrees>) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let stamp = CatalogStamp::of(reader, trees)?;
        if let Some(catalog) = self.peek(stamp) {
            return Ok((stamp, catalog));
        }
        let catalog = Arc::new(load_committed(reader)?);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.truncate(KEPT - 1);
        cached.push_front((stamp, catalog.clone()));
        Ok((stamp, catalog))
    }
}

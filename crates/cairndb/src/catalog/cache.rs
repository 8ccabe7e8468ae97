//! The newest catalogs, shared by all sessions.

use std::collections::VecDeque;
use std::sync::Arc;

use cairn_storage::{Reader, TreeId};

use super::store::load_committed;
use super::{Catalog, SystemTrees};
use crate::Result;
use crate::sync::Mutex;

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
        let cached = self.0.lock();
        cached.iter().find(|(known, _)| *known == stamp).map(|(_, catalog)| catalog.clone())
    }

    /// The catalog as `reader` sees it.
    pub(crate) fn get(&self, reader: &Reader, trees: Option<SystemTrees>) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let stamp = CatalogStamp::of(reader, trees)?;
        if let Some(catalog) = self.peek(stamp) {
            return Ok((stamp, catalog));
        }
        let newest = self.0.lock().front().map(|(_, catalog)| catalog.clone());
        let catalog = Arc::new(load_committed(reader, newest.as_deref())?);
        let mut cached = self.0.lock();
        cached.truncate(KEPT - 1);
        cached.push_front((stamp, catalog.clone()));
        Ok((stamp, catalog))
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{Connection, Database};
    use crate::catalog::Table;
    use std::sync::Arc;

    fn table(conn: &Connection, name: &str) -> Arc<Table> {
        conn.catalog().unwrap().table(name).unwrap().clone()
    }

    #[test]
    fn what_a_change_leaves_as_it_was_is_taken_over_and_the_rest_is_not() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        let run = |sql: &str| conn.execute_script(sql).unwrap();
        run("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY, n int)");
        let (a, b) = (table(&conn, "a"), table(&conn, "b"));
        run("ALTER TABLE b ADD COLUMN m int DEFAULT 5");
        assert!(Arc::ptr_eq(&a, &table(&conn, "a")), "nothing was said of it");
        assert!(!Arc::ptr_eq(&b, &table(&conn, "b")) && table(&conn, "b").columns.len() == 3);
        // What other entries say of a table is no part of its own.
        run("ALTER TABLE b ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES a");
        assert_eq!(table(&conn, "a").referenced_by, [(b.id, 0)]);
        run("INSERT INTO a VALUES (1), (2); ANALYZE a");
        assert_eq!(table(&conn, "a").statistics.as_ref().map(|found| found.rows), Some(2.0));
        let analyzed = table(&conn, "a");
        run("ALTER TABLE b DROP CONSTRAINT f; TRUNCATE a");
        assert!(table(&conn, "a").referenced_by.is_empty() && table(&conn, "a").statistics.is_none());
        assert!(analyzed.statistics.is_some() && a.referenced_by.is_empty(), "an earlier version stays what it was");
        // A transaction's own changes are its own, also when they are taken back.
        run("BEGIN; ALTER TABLE b RENAME COLUMN n TO o");
        assert_eq!(table(&conn, "b").columns[1].name, "o");
        run("ROLLBACK");
        assert_eq!(table(&conn, "b").columns[1].name, "n");
    }
}

//! Materialized views that commits keep: made, filled anew, emptied with their table, and dropped.
//!
//! The table says which views its rows count for (`Table::views`), so that whoever plans a change of it finds them, and plans again where one
//! comes, goes, or gets another tree: with each of these the table's entry is written, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::context::Ddl;
use crate::bind::{bind_definition, bind_resting, bound_groups};
use crate::catalog::{Definition, Materialized, ObjectId, Table};
use crate::dml::row::{BatchRow, LentRow, group_entry, long_group};
use crate::plan::{Groups, LogicalPlan};
use crate::{Error, Result, Value};

impl Ddl<'_> {
    /// The groups of a query that a new view is to have. SQLSTATE 0A000 for one that commits can not keep.
    pub(super) fn kept_groups(&self, query: &Definition) -> Result<Groups> {
        let (plan, rests) = bind_resting(query, &self.catalog)?;
        let groups = match rests.has_routines() {
            // It may be replaced by one that gives something else.
            true => Err("a function of the schema's".to_owned()),
            false => Groups::of(&plan),
        };
        groups.map_err(|what| {
            Error::unsupported(format!("a materialized view that commits keep current, of a query with {what}"))
                .with_hint("WITH (maintained = after) keeps it current right after the commits that change it.")
        })
    }

    /// Makes the view, with its groups as they are now.
    pub(super) fn create_kept(&mut self, mut view: Table) -> Result<u64> {
        let groups = Groups::of(&self.plan_of(&view)?).map_err(Error::internal)?;
        self.dml.tx.drop_tree(view.tree)?;
        view.tree = self.dml.tx.create_derived_tree(view.schema)?;
        self.store.put_table(&view)?;
        let mut table = Table::clone(&groups.table);
        table.views.push(view.id);
        self.store.put_table(&table)?;
        self.fill_if_populated(&view)
    }

    /// Its groups as they are now, in another tree.
    pub(super) fn refill_kept(&mut self, old: &Table, is_populated: bool) -> Result<()> {
        self.dml.tx.drop_tree(old.tree)?;
        let mut view = old.clone();
        view.tree = self.dml.tx.create_derived_tree(view.schema)?;
        if let Some(of) = view.materialized_mut() {
            of.is_populated = is_populated;
        }
        self.store.put_table(&view)?;
        let view = Arc::new(view);
        let table = bound_groups(&view, &self.catalog)?.groups.table.id;
        self.rewrite_entry(table)?;
        self.fill_if_populated(&view).map(drop)
    }

    /// A view was replaced: those that are made of it have other groups, of another table perhaps. SQLSTATE 0A000 where commits can
    /// not keep one any more.
    pub(super) fn keep_anew(&mut self, replaced: ObjectId) -> Result<()> {
        let is_of_it = |view: &&Arc<Table>| view.is_kept_by_commits() && self.reads(view, replaced);
        let kept: Vec<Arc<Table>> = self.catalog.tables().filter(is_of_it).cloned().collect();
        for view in kept {
            let Some(Materialized { query, is_populated, .. }) = view.materialized() else { continue };
            let groups = self.kept_groups(query).map_err(|error| {
                let depends = format!("Materialized view \"{}\" depends on the view.", view.name);
                error.with_detail(depends).with_hint("Drop it, and make it again WITH (maintained = after).")
            })?;
            if !groups.table.views.contains(&view.id) {
                self.forget_kept(&[view.id])?;
                let mut table = Table::clone(&groups.table);
                table.views.push(view.id);
                self.store.put_table(&table)?;
                self.reload()?;
            }
            self.refill_kept(&view, *is_populated)?;
            self.reload()?;
        }
        Ok(())
    }

    /// Whether the query of a materialized view reads a view, or a view that does.
    fn reads(&self, view: &Table, wanted: ObjectId) -> bool {
        let mut found: Vec<ObjectId> = Vec::new();
        let mut queries: Vec<&Definition> = view.materialized().into_iter().map(|of| &of.query).collect();
        while let Some(query) = queries.pop() {
            for read in query.references().iter().map(|reference| reference.object) {
                if !found.contains(&read) {
                    found.push(read);
                    queries.extend(self.catalog.view_by_id(read).map(|view| &view.query));
                }
            }
        }
        found.contains(&wanted)
    }

    /// Who changes the table is to plan anew.
    fn rewrite_entry(&mut self, table: ObjectId) -> Result<()> {
        match self.catalog.table_by_id(table) {
            Some(table) => self.store.put_table(table),
            None => Ok(()),
        }
    }

    fn fill_if_populated(&self, view: &Table) -> Result<u64> {
        // Not as the catalog's: the view is not in it yet, or with another tree.
        let groups = Groups::of(&self.plan_of(view)?).map_err(Error::internal)?;
        if view.refuse_unpopulated().is_ok() { self.fill_kept(view, &groups) } else { Ok(0) }
    }

    fn plan_of(&self, view: &Table) -> Result<LogicalPlan> {
        match view.materialized() {
            Some(Materialized { query, .. }) => bind_definition(query, &self.catalog),
            None => Err(Error::internal("a view without query")),
        }
    }

    /// How many groups there are.
    fn fill_kept(&self, view: &Table, groups: &Groups) -> Result<u64> {
        let (mut key, mut value, mut filled) = (Vec::new(), Vec::new(), 0);
        self.for_each_row_of(groups.states()?, |row: BatchRow<'_>| {
            group_entry(groups, |at| row.copy(at), &mut key, &mut value);
            self.dml.tx.put(view.tree, &key, &value).map_err(|error| long_group(&view.name, error))?;
            filled += 1;
            Ok(())
        })?;
        Ok(filled)
    }

    /// The views that are kept by changes of the table have no groups any more, but those of all rows.
    pub(super) fn empty_kept(&mut self, table: &Table) -> Result<()> {
        for id in &table.views {
            let Some(view) = self.catalog.table_by_id(*id).cloned() else { continue };
            let is_populated = view.refuse_unpopulated().is_ok();
            self.dml.tx.drop_tree(view.tree)?;
            let mut new = Table::clone(&view);
            new.tree = self.dml.tx.create_derived_tree(new.schema)?;
            self.store.put_table(&new)?;
            let groups = &bound_groups(&view, &self.catalog)?.groups;
            if is_populated && groups.is_of_all() {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                group_entry(groups, |_| Value::Null, &mut key, &mut value);
                self.dml.tx.put(new.tree, &key, &value)?;
            }
        }
        Ok(())
    }

    /// Tables that stay forget the views that go.
    pub(super) fn forget_kept(&mut self, gone: &[ObjectId]) -> Result<()> {
        let gone: BTreeSet<ObjectId> = gone.iter().copied().collect();
        let is_told =
            |table: &&Arc<Table>| !gone.contains(&table.id) && table.views.iter().any(|view| gone.contains(view));
        let tables: Vec<Arc<Table>> = self.catalog.tables().filter(is_told).cloned().collect();
        for table in tables {
            let mut table = Table::clone(&table);
            table.views.retain(|view| !gone.contains(view));
            self.store.put_table(&table)?;
        }
        Ok(())
    }
}

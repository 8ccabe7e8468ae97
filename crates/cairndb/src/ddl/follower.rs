//! Materialized views that follow their queries: made, filled anew, and dropped. What follows is `session::live::follow`.

use std::sync::Arc;

use super::context::Ddl;
use crate::bind::bind_definition;
use crate::catalog::{Definition, Materialized, ObjectId, Table, ensure_followed_tree, followed_tree_of};
use crate::dml::Target;
use crate::dml::row::{BatchRow, LentRow, RowPlaces};
use crate::exec::EntrySorter;
use crate::plan::LogicalPlan;
use crate::{Result, Value};

impl Ddl<'_> {
    pub(super) fn create_follower(&mut self, view: Table, plan: LogicalPlan) -> Result<u64> {
        ensure_followed_tree(self.dml.tx)?;
        self.store.put_table(&view)?;
        self.session.follow_views();
        if view.refuse_unpopulated().is_ok() { self.fill_follower(view, plan) } else { Ok(0) }
    }

    /// All of it anew, in other trees; followed again where it stopped.
    pub(super) fn refill_follower(&mut self, old: &Table, query: Definition, is_populated: bool) -> Result<()> {
        let plan = bind_definition(&query, &self.catalog)?;
        let mut new = old.clone();
        self.give_trees(&mut new)?;
        if let Some(of) = new.materialized_mut() {
            *of = Materialized { is_populated, stopped: None, ..of.clone() };
        }
        self.store.put_table(&new)?;
        self.session.follow_views();
        if is_populated {
            self.fill_follower(Table { indexes: Vec::new(), ..new.clone() }, plan)?;
            new.indexes.iter().try_for_each(|index| self.build_index(&new, index))?;
        }
        self.drop_trees(old)
    }

    /// Rows lie where [`RowPlaces`] says; how many they are.
    fn fill_follower(&self, view: Table, plan: LogicalPlan) -> Result<u64> {
        let (width, tree) = (view.columns.len(), view.tree);
        let target = Target::new(&Arc::new(view), &self.catalog)?;
        let (mut sorter, mut bytes) = (EntrySorter::new(self.dml.exec), Vec::new());
        self.for_each_row_of(plan, |row: BatchRow<'_>| {
            let values: Vec<Value> = (0..width).map(|column| row.copy(column)).collect();
            bytes.clear();
            target.layout.encode_row(&values, &mut bytes);
            sorter.add(&RowPlaces::of(&bytes).first(), &bytes)
        })?;
        let (mut last, mut filled) = (None, 0);
        sorter.for_each(|_, row| {
            let places = RowPlaces::of(row);
            let nth = match last {
                Some((known, nth)) if known == places => nth + 1,
                _ => 0,
            };
            last = Some((places, nth));
            self.dml.tx.put(tree, &places.nth(nth), row)?;
            filled += 1;
            Ok(())
        })?;
        Ok(filled)
    }

    /// A view that follows goes.
    pub(super) fn forget_follower(&self, view: ObjectId) -> Result<()> {
        self.session.follow_views();
        match followed_tree_of(self.dml.tx.reader().database())? {
            Some(followed) => self.dml.tx.delete(followed, &view.0.to_be_bytes()).map(drop).map_err(Into::into),
            None => Ok(()),
        }
    }
}

//! Materialized views: tables whose rows a query gave.
//!
//! REFRESH puts the rows of now into new trees, as a bulk insert does: readers go on with the state that they see, and a refresh
//! that fails leaves everything as it was. CONCURRENTLY keeps the trees and changes the rows that differ: the old and the new
//! ones are sorted together by their bytes, and what has no partner goes or comes. So the difference of two states of the tree
//! is what really changed.

use std::sync::Arc;

use cairn_parser::token::quoted;

use super::context::Ddl;
use super::create_table_as::set_columns;
use super::names::missing;
use crate::bind::bind_definition;
use crate::catalog::{
    Definition, Index, Maintained, Materialized, ObjectName, Relation, RelationKind, Table, TableKind,
};
use crate::command::{CreateMaterializedView, Maintain, RefreshMaterializedView};
use crate::dml::row::{BatchRow, DeleteBuffers, Env, LentRow, ObservedAtOnce, RowDelete, RowInsert};
use crate::dml::{Inserter, InserterState, Target};
use crate::exec::EntrySorter;
use crate::exec::Stored;
use crate::plan::{LogicalPlan, refuse_unwatchable};
use crate::types::{Composite, CompositeType, to_text};
use crate::{Error, Result, SqlState, Value};

/// What stands before the key of an old row, among rows that are compared.
const OLD: u8 = 0;
const NEW: u8 = 1;

impl Ddl<'_> {
    pub(super) fn create_materialized_view(&mut self, create: &CreateMaterializedView) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, false)?;
        if schema.is_temporary() {
            return Err(Error::unsupported("a temporary materialized view"));
        }
        let name = &create.name.name;
        if !self.is_free(schema, name, create.if_not_exists)? {
            return Ok("CREATE MATERIALIZED VIEW");
        }
        if create.has_storage_options {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, "storage parameters do nothing".to_owned());
        }
        let (query, fields) = self.view_query(self.parsed, create.query)?;
        if query.references().iter().any(|reference| reference.object.is_temporary()) {
            let message = "materialized views must not use temporary tables or views";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let mut table = self.empty_table(schema, name.clone(), None)?;
        set_columns(&mut table, &create.columns, &fields)?;
        let plan = bind_definition(&query, &self.catalog)?;
        let maintained = self.maintained_by(create.maintained, &query, &plan)?;
        table.kind =
            TableKind::Materialized(Materialized { query, is_populated: create.with_data, maintained, stopped: None });
        if let Some(maintained) = maintained {
            self.done.affected = match maintained {
                Maintained::ByCommits => self.create_kept(table)?,
                Maintained::ByFollower => self.create_follower(table, plan)?,
            };
            return Ok(if create.with_data { "SELECT" } else { "CREATE MATERIALIZED VIEW" });
        }
        self.store.put_table(&table)?;
        if !create.with_data {
            self.explain_unread(plan)?;
            return Ok("CREATE MATERIALIZED VIEW");
        }
        self.done.affected = self.fill(table, plan)?;
        Ok("SELECT")
    }

    pub(super) fn refresh_materialized_view(&mut self, refresh: &RefreshMaterializedView) -> Result<&'static str> {
        let (table, query) = self.materialized(&refresh.name)?;
        self.refuse_pending(&table, "REFRESH MATERIALIZED VIEW")?;
        match refresh.concurrently {
            _ if table.is_kept_by_commits() => self.refill_kept(&table, refresh.with_data)?,
            _ if table.is_follower() => self.refill_follower(&table, query, refresh.with_data)?,
            true => self.change_what_differs(&table, &query)?,
            false => self.refill(&table, query, refresh.with_data)?,
        }
        Ok("REFRESH MATERIALIZED VIEW")
    }

    /// What keeps a view of this query current, as it was asked for. SQLSTATE 0A000, with the part of the query that is in the way.
    fn maintained_by(&self, asked: Maintain, query: &Definition, plan: &LogicalPlan) -> Result<Option<Maintained>> {
        match asked {
            Maintain::No => Ok(None),
            Maintain::ByCommits => self.kept_groups(query).map(|_| Some(Maintained::ByCommits)),
            Maintain::Somehow if self.kept_groups(query).is_ok() => Ok(Some(Maintained::ByCommits)),
            Maintain::Somehow | Maintain::ByFollower => {
                refuse_unwatchable(plan)?;
                Ok(Some(Maintained::ByFollower))
            }
        }
    }

    /// SQLSTATE 42809, 0A000 where it is something else.
    fn materialized(&self, name: &ObjectName) -> Result<(Arc<Table>, Definition)> {
        let table = match self.relation(name)? {
            Some(Relation::Table(table)) => table,
            Some(_) => {
                let message = format!("\"{}\" is not a table or materialized view", name.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            None => return Err(missing(&self.catalog, name, RelationKind::MaterializedView)),
        };
        match table.materialized() {
            Some(materialized) => Ok((table.clone(), materialized.query.clone())),
            None => {
                let message = format!("\"{}\" is not a materialized view", name.name);
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    /// All of it anew, in other trees.
    fn refill(&mut self, old: &Table, query: Definition, is_populated: bool) -> Result<()> {
        let plan = bind_definition(&query, &self.catalog)?;
        let mut new = old.clone();
        self.give_trees(&mut new)?;
        new.kind = TableKind::Materialized(Materialized { query, is_populated, maintained: None, stopped: None });
        self.store.put_table(&new)?;
        if is_populated {
            self.fill(Table { indexes: Vec::new(), ..new.clone() }, plan)?;
            new.indexes.iter().try_for_each(|index| self.build_index(&new, index))?;
        }
        self.drop_trees(old)
    }

    fn change_what_differs(&mut self, table: &Arc<Table>, query: &Definition) -> Result<()> {
        self.refuse_concurrently(table)?;
        let target = Target::of(table, &self.catalog)?;
        let mut rows = EntrySorter::new(self.dml.exec);
        let mut bytes = Vec::new();
        let mut add = |row: &[Value], key: &[u8]| {
            bytes.clear();
            target.layout.encode_row(row, &mut bytes);
            rows.add(&bytes, key)
        };
        let mut of_old = Vec::new();
        self.for_each_row(table, |key, row| {
            of_old.clear();
            of_old.push(OLD);
            of_old.extend_from_slice(key);
            add(&row, &of_old)
        })?;
        let width = table.columns.len();
        self.for_each_row_of(bind_definition(query, &self.catalog)?, |row: BatchRow<'_>| {
            let values: Vec<Value> = (0..width).map(|column| row.copy(column)).collect();
            add(&values, &[NEW])
        })?;
        let coming = self.delete_what_goes(&target, rows)?;
        let (program, context) = (RowInsert::new(&target, None, None), self.rows());
        let mut inserted = InserterState::of(&program);
        let mut inserter = Inserter::new(&program, &context, &mut inserted);
        coming.for_each(|row, _| {
            let row = target.layout.decode(&[], row)?;
            inserter.insert(row.as_slice(), &mut ObservedAtOnce)
        })
    }

    /// Takes out the old rows that no new one is equal to; the new rows that no old one is equal to.
    fn delete_what_goes(&self, target: &Arc<Target>, rows: EntrySorter) -> Result<EntrySorter> {
        let (program, mut buffers) = (RowDelete::new(target, None, None), DeleteBuffers::default());
        let (env, mut tx) = (Env::of(self.dml.exec), self.dml.tx);
        let mut coming = EntrySorter::new(self.dml.exec);
        let mut group = Group::default();
        let mut settle = |group: &mut Group| {
            for key in group.old.drain(..) {
                let row = Stored { layout: &target.layout, key: &key, value: &group.row };
                program.run(&mut tx, (&key, &row), env, &mut buffers, &mut ObservedAtOnce, &mut Vec::new())?;
            }
            (0..std::mem::take(&mut group.new)).try_for_each(|_| coming.add(&group.row, &[]))
        };
        rows.for_each(|row, key| {
            if group.row != row {
                settle(&mut group)?;
                group.row.clear();
                group.row.extend_from_slice(row);
                group.came = 0;
            }
            match key {
                [OLD, key @ ..] => group.old.push(key.into()),
                _ => {
                    group.came += 1;
                    self.refuse_twice(target, &group)?;
                    // Old rows were added first, and equal keys keep their order.
                    if group.old.pop().is_none() {
                        group.new += 1;
                    }
                }
            }
            Ok(())
        })?;
        settle(&mut group)?;
        Ok(coming)
    }

    /// SQLSTATE 21000 where a row without NULL has come for the second time.
    fn refuse_twice(&self, target: &Target, group: &Group) -> Result<()> {
        if group.came < 2 {
            return Ok(());
        }
        let row = target.layout.decode(&[], &group.row)?;
        if row.iter().any(Value::is_null) {
            return Ok(());
        }
        let name = &target.table.name;
        let message =
            format!("new data for materialized view \"{name}\" contains duplicate rows without any null columns");
        let columns = target.table.columns.iter().map(|column| (column.name.clone(), column.data_type));
        let row = Composite::new(CompositeType::record(columns)?, row).into();
        let detail = format!("Row: {}", to_text(&row, &self.dml.exec.eval));
        Err(Error::new(SqlState::CARDINALITY_VIOLATION, message).with_detail(detail))
    }

    /// SQLSTATE 0A000, 55000 where there is nothing to compare with, or nothing that tells the rows apart.
    fn refuse_concurrently(&self, table: &Table) -> Result<()> {
        if table.refuse_unpopulated().is_err() {
            let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let tells_apart = |index: &Arc<Index>| index.is_unique_of_all() && index.expressions.is_empty();
        if table.indexes.iter().any(tells_apart) {
            return Ok(());
        }
        let schema = quoted(self.catalog.schema_name(table.schema).unwrap_or_default());
        let message = format!("cannot refresh materialized view \"{schema}.{}\" concurrently", quoted(&table.name));
        let hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
        Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(hint))
    }
}

/// Rows of the same bytes.
#[derive(Default)]
struct Group {
    row: Vec<u8>,
    /// The keys of old ones that no new one has come for.
    old: Vec<Box<[u8]>>,
    /// New ones for which there is no old one.
    new: usize,
    /// All new ones.
    came: usize,
}

//! Collections: what CREATE TABLE .. WITH (collection) gives a table that it does not say itself, and how the mark comes and goes.

use super::context::Ddl;
use super::names::Chosen;
use crate::bind::{resolve_default, resolve_rule};
use crate::catalog::collection::{DOC, ID, VERSION};
use crate::catalog::{Column, Deferral, ObjectId, Rules, Table};
use crate::command::{Identity, SequenceOptions, TableOptions};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

impl Ddl<'_> {
    /// ALTER TABLE .. SET (..).
    pub(super) fn alter_options(&mut self, table: &Table, options: &TableOptions) -> Result<()> {
        if options.feed.is_said() {
            self.alter_change_feed(table, options.feed)?;
            self.reload()?;
        }
        match options.collection {
            Some(true) if !table.is_collection => {
                self.mark_collection(table.id)?;
                self.reload()?;
            }
            Some(false) if table.is_collection => {
                let now = self.table_of(table.id)?;
                let plain = Table { is_collection: false, rules: Default::default(), ..Table::clone(&now) };
                self.store.put_table(&plain)?;
                self.reload()?;
            }
            _ => {}
        }
        self.alter_rules(table.id, options)
    }

    /// SQLSTATE 42809 where the table is no collection.
    pub(super) fn alter_rules(&mut self, table: ObjectId, options: &TableOptions) -> Result<()> {
        if options.rules.is_empty() {
            return Ok(());
        }
        let table = self.table_of(table)?;
        let id = table.columns.iter().find(|column| column.name == ID).filter(|_| table.is_collection);
        let Some(id) = id else {
            let message = format!("\"{}\" is not a collection", table.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint("Rules are those of collections."));
        };
        let (ids, mut rules) = (id.data_type.type_name(), Rules::clone(&table.rules));
        for (kind, text) in &options.rules {
            let resolved = text.as_ref().map(|text| resolve_rule(text, *kind, ids, &self.catalog));
            rules.set(*kind, resolved.transpose()?);
        }
        self.store.put_table(&Table { rules: rules.into(), ..Table::clone(&table) })
    }

    /// The columns that a document needs, as far as they are not said, and what these columns need.
    pub(super) fn add_document_columns(&mut self, table: &mut Table, chosen: &mut Chosen) -> Result<()> {
        for (name, data_type) in [(ID, DataType::Text), (DOC, DataType::Jsonb), (VERSION, DataType::BigInt)] {
            let at = match table.column_position(name) {
                Some(at) => at,
                None => {
                    let number = table.next_column_number();
                    table.columns.push(Column::new(number, name, data_type));
                    table.columns.len() - 1
                }
            };
            let mut column = table.columns[at].clone();
            let is_given = column.default.is_some() || column.identity.is_some() || column.generated.is_some();
            match name {
                DOC => column.not_null = true,
                _ if is_given => {}
                VERSION => self.number(table, (&mut column, at), true, chosen)?,
                _ => self.give_ids(table, (&mut column, at), chosen)?,
            }
            table.columns[at] = column;
        }
        Ok(())
    }

    /// Ids for documents that come without.
    fn give_ids(&mut self, table: &Table, (column, at): (&mut Column, usize), chosen: &mut Chosen) -> Result<()> {
        let value = match column.data_type {
            DataType::BigInt => return self.number(table, (column, at), false, chosen),
            DataType::Uuid => "gen_random_uuid()",
            DataType::Text => "gen_random_uuid()::text",
            // Of which no collection is made.
            _ => return Ok(()),
        };
        let of = (column.name.as_str(), column.data_type);
        column.default = Some(resolve_default(value.to_owned(), of, &self.catalog, self.maker())?);
        Ok(())
    }

    fn number(
        &mut self,
        table: &Table,
        (column, at): (&mut Column, usize),
        always: bool,
        chosen: &mut Chosen,
    ) -> Result<()> {
        let identity = Identity { always, options: SequenceOptions::default(), sequence: None };
        self.make_identity(table, column, &identity, at, chosen)
    }

    /// The table that is created, as a collection: its documents are known by their ids.
    pub(super) fn create_collection(
        &mut self,
        mut table: Table,
        options: &TableOptions,
        chosen: &mut Chosen,
    ) -> Result<()> {
        if table.primary_key().is_none() {
            self.set_primary_key(&mut table, None, (&[ID.to_owned()], &[], Deferral::Never), chosen)?;
        }
        self.store.put_table(&table)?;
        self.reload()?;
        self.mark_collection(table.id)?;
        self.reload()?;
        self.alter_rules(table.id, options)
    }

    /// SQLSTATE 42P16 where not all is there that a collection needs, 55000 where a version would come twice.
    fn mark_collection(&mut self, table: ObjectId) -> Result<()> {
        let table = self.table_of(table)?;
        self.catalog.check_collection(&table)?;
        let marked = Table { is_collection: true, ..Table::clone(&table) };
        self.check_versions(&marked)?;
        self.store.put_table(&marked)
    }

    /// The counter has to be as far as the rows that are there.
    fn check_versions(&self, table: &Table) -> Result<()> {
        let (counter, at) = (self.catalog.counter_of(table), table.version_column());
        let (Some(counter), Some(at)) = (counter, at) else { return Err(Error::internal("a collection's counter")) };
        let name = self.catalog.shown(counter.schema, &counter.name);
        let state = self.session.sequences(&self.catalog).state(&name)?;
        let last = if state.is_called { state.last_value } else { state.last_value.saturating_sub(1) };
        self.for_each_row(table, |_, row| match row[at] {
            Value::BigInt(version) if version > last => {
                let message =
                    format!("a row of table \"{}\" has version {version}, which is still to come", table.name);
                let text = name.replace('\'', "''");
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_hint(format!("Say SELECT setval('{text}', (SELECT max(version) FROM ...)) before.")))
            }
            _ => Ok(()),
        })
    }

    /// That what ALTER TABLE made of a collection still is one.
    pub(super) fn check_collection(&self, table: ObjectId) -> Result<()> {
        let table = self.table_of(table)?;
        if table.is_collection { self.catalog.check_collection(&table) } else { Ok(()) }
    }
}

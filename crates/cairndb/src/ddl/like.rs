//! CREATE TABLE (LIKE ..): the columns of a relation, and what else of it is asked for.
//!
//! What is copied is bound anew, as if it had been written with the new table; only the sequences of defaults stay the same.

use std::sync::Arc;

use super::context::Ddl;
use super::create_index::described;
use super::create_table::check_column_count;
use super::names::Chosen;
use super::rewrite::rename_table;
use crate::bind::{definition_fields, named_as_view, resolve_check, resolve_generated};
use crate::catalog::{
    Check, Column, Commentable, Definition, Identity, Index, ObjectName, Relation, RowExpression, Sequence, Table,
};
use crate::command::{CreateIndex, IndexKey, IndexPart, Like, SequenceOptions};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    /// Adds the columns, with what belongs to each.
    pub(super) fn copy_columns(&mut self, table: &mut Table, like: &Like, chosen: &mut Chosen) -> Result<()> {
        let Some(source) = self.source(&like.relation)? else { return self.copy_fields(table, like) };
        for column in &source.columns {
            let mut new = self.new_column(table, column)?;
            new.not_null = column.not_null;
            if like.defaults {
                new.default.clone_from(&column.default);
            }
            if let Some(identity) = column.identity.filter(|_| like.identity) {
                let (sequence, owner) = (self.sequence_like(&identity)?, (table.id, table.columns.len()));
                let (sequence, _) = self.owned_sequence(table, &new, owner, sequence, chosen)?;
                new.identity = Some(Identity { sequence, ..identity });
            }
            // Until all columns are there.
            new.generated = column.generated.as_ref().filter(|_| like.generated).map(|_| RowExpression::default());
            new.is_virtual = column.is_virtual && like.generated;
            table.columns.push(new);
        }
        Ok(())
    }

    /// Adds what rests on the columns, once all are there.
    pub(super) fn copy_parts(&mut self, table: &mut Table, like: &Like, chosen: &mut Chosen) -> Result<()> {
        let Some(source) = self.source(&like.relation)? else { return Ok(()) };
        let text = |ddl: &Self, definition: &Definition, table: &Table| {
            let mut definition = definition.clone();
            rename_table(&mut definition, &source.name, &table.name);
            ddl.catalog.text_of(&definition)
        };
        for column in &source.columns {
            let Some(generated) = column.generated.as_ref().filter(|_| like.generated) else { continue };
            let position = table.column_position(&column.name).ok_or_else(|| Error::internal("no such column"))?;
            let text = text(self, &generated.definition, table);
            let resolved = resolve_generated(text, &table.columns[position], table, (&self.catalog, self.maker()))?;
            table.columns[position].generated = Some(resolved);
        }
        for check in source.checks.iter().filter(|_| like.constraints) {
            let (condition, columns) =
                resolve_check(text(self, &check.condition, table), table, &self.catalog, self.maker())?;
            super::constraints::refuse_duplicate(table, &check.name)?;
            let id = self.store.allocate_id(table.schema)?;
            self.copy_comment(like, Commentable::of(check.id), Commentable::of(id))?;
            table.checks.push(Check { id, name: check.name.clone(), condition, columns, valid: true });
        }
        if like.comments {
            for column in &source.columns {
                let new = table.column_position(&column.name).map_or(0, |position| table.columns[position].number);
                let on = Commentable { id: source.id, part: column.number };
                self.copy_comment(like, on, Commentable { id: table.id, part: new })?;
            }
        }
        if like.indexes {
            self.copy_indexes(&source, table, like, chosen)?;
        }
        Ok(())
    }

    fn copy_indexes(&mut self, source: &Table, table: &mut Table, like: &Like, chosen: &mut Chosen) -> Result<()> {
        let names = |positions: &[usize]| -> Vec<String> {
            positions.iter().filter_map(|&at| source.columns.get(at)).map(|column| column.name.clone()).collect()
        };
        for index in source.all_indexes() {
            let keys: Vec<usize> = index.positions().collect();
            let (columns, included) = (&*names(&keys), &*names(&index.included));
            if index.primary {
                self.set_primary_key(table, None, (columns, included, index.deferral), chosen)?;
            } else if index.constraint {
                let how = (index.nulls_equal, index.deferral);
                self.add_unique(table, None, (columns, included), how, chosen)?;
            } else {
                let create = self.index_like(index, source, table);
                let (mut new, named_by) = described(&create, table, (&self.catalog, self.maker()))?;
                new.name = chosen.relation(&self.catalog, table, &named_by.join("_"), "idx");
                new.id = self.store.allocate_id(table.schema)?;
                new.tree = self.dml.tx.create_derived_tree(table.schema)?;
                table.indexes.push(Arc::new(new));
            }
            let new = if index.primary { table.primary_key() } else { table.indexes.last() };
            let new = new.map_or(index.id, |new| new.id);
            self.copy_index_comments(like, index.id, new)?;
        }
        Ok(())
    }

    /// The statement that would make the index of the new table.
    fn index_like(&self, index: &Index, source: &Table, table: &Table) -> CreateIndex {
        let text = |definition: &Definition| {
            let mut definition = definition.clone();
            rename_table(&mut definition, &source.name, &table.name);
            self.catalog.text_of(&definition)
        };
        let part = |part: &crate::catalog::IndexColumn| {
            let expression = index.expressions.iter().find(|key| key.column == part.column);
            let key = match expression {
                Some(key) => IndexKey::Expression(text(&key.expression.definition)),
                None => IndexKey::Column(source.key_name(part.column)),
            };
            let (descending, nulls_first) = (part.descending, part.nulls_first);
            let class = index.inverted.as_ref().and_then(|inverted| {
                let at = index.columns.iter().position(|known| known == part)?;
                Some(inverted.classes.get(at)?.name().to_owned())
            });
            IndexPart { key, descending, nulls_first, is_collated: false, class }
        };
        CreateIndex {
            method: None,
            is_inverted: index.is_inverted(),
            has_storage_options: false,
            name: None,
            table: ObjectName::from(table.name.as_str()),
            columns: index.columns.iter().map(part).collect(),
            included: index.included.iter().map(|&column| source.key_name(column)).collect(),
            filter: index.predicate.as_ref().map(|predicate| text(&predicate.definition)),
            unique: index.unique,
            nulls_equal: index.nulls_equal,
            if_not_exists: false,
            concurrently: false,
        }
    }

    /// The table that is meant; `None`: a view.
    fn source(&self, name: &ObjectName) -> Result<Option<Arc<Table>>> {
        let kind = match self.relation(name)? {
            Some(Relation::Table(table)) => return Ok(Some(table.clone())),
            Some(Relation::View(_)) => return Ok(None),
            Some(relation) => relation.kind(),
            None => return Err(self.catalog.no_relation(name)),
        };
        let message = format!("relation \"{}\" is invalid in LIKE clause", name.name);
        let detail = format!("This operation is not supported for {}.", super::names::plural(kind));
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail))
    }

    /// The columns of a view.
    fn copy_fields(&mut self, table: &mut Table, like: &Like) -> Result<()> {
        let Some(Relation::View(view)) = self.relation(&like.relation)?.cloned() else { return Ok(()) };
        for field in named_as_view(&view, definition_fields(&view.query, &self.catalog)?)? {
            let column = self.new_column(table, &Column::new(0, field.name, field.data_type))?;
            table.columns.push(column);
        }
        Ok(())
    }

    fn new_column(&self, table: &mut Table, of: &Column) -> Result<Column> {
        if table.column_position(&of.name).is_some() {
            return Err(Error::repeated_column(&of.name));
        }
        check_column_count(table.columns.len())?;
        let new = Column::new(table.next_column_number(), of.name.clone(), of.data_type);
        Ok(Column { domain: of.domain, ..new })
    }

    fn sequence_like(&self, identity: &Identity) -> Result<SequenceOptions> {
        let sequence = self.catalog.sequence_by_id(identity.sequence).ok_or_else(|| Error::internal("no sequence"))?;
        let Sequence { start, increment, min, max, cycle, .. } = **sequence;
        Ok(SequenceOptions {
            start: Some(start),
            increment: Some(increment),
            min: Some(Some(min)),
            max: Some(Some(max)),
            cycle: Some(cycle),
            restart: None,
        })
    }

    fn copy_comment(&self, like: &Like, from: Commentable, to: Commentable) -> Result<()> {
        match self.catalog.comment(from).filter(|_| like.comments) {
            Some(text) => self.store.put_comment(to, Some(text)),
            None => Ok(()),
        }
    }

    /// Of an index, and of its constraint.
    fn copy_index_comments(
        &self,
        like: &Like,
        from: crate::catalog::ObjectId,
        to: crate::catalog::ObjectId,
    ) -> Result<()> {
        let part = |id, part| Commentable { id, part };
        (0..=1).try_for_each(|at| self.copy_comment(like, part(from, at), part(to, at)))
    }
}

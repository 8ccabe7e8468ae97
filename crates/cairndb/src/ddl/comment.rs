//! COMMENT ON.

use super::context::Ddl;
use super::dependency::Object;
use super::names::missing;
use crate::catalog::{Commentable, ObjectName, Relation, RelationKind, Table};
use crate::command::{Comment, Commented};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn comment(&mut self, comment: &Comment) -> Result<&'static str> {
        let on = match &comment.on {
            Commented::Extension(name) => {
                if !self.is_extension(name) {
                    let notice = format!("COMMENT ON EXTENSION does nothing: there is no extension \"{name}\"");
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, notice);
                }
                return Ok("COMMENT");
            }
            Commented::Database => Commentable::DATABASE,
            Commented::Schema(name) => Commentable::of(self.schema(name)?),
            Commented::Routine { kind, signature } => Commentable::of(self.routine_of(signature, *kind)?.id),
            Commented::Type(name) => Commentable::of(self.user_type(name)?.id),
            Commented::Relation { kind, name } => self.commented_relation(*kind, name)?,
            Commented::Column { relation, name } => self.commented_column(relation, name)?,
            Commented::Constraint { table, name } => {
                let table = self.table(table)?;
                constraint(&table, name).ok_or_else(|| Error::undefined_constraint_for(name, &table.name))?
            }
            Commented::Trigger { on, name } => Commentable::of(self.trigger_named(on, name)?),
        };
        self.store.put_comment(on, comment.text.as_deref().filter(|text| !text.is_empty()))?;
        Ok("COMMENT")
    }

    fn commented_relation(&self, kind: RelationKind, name: &ObjectName) -> Result<Commentable> {
        let relation = self.relation(name)?.filter(|relation| relation.kind() == kind);
        relation.map(Commentable::on).ok_or_else(|| missing(&self.catalog, name, kind))
    }

    fn commented_column(&self, relation: &ObjectName, name: &str) -> Result<Commentable> {
        let missing = |relation: &str| Error::undefined_column_of(name, relation);
        match self.relation(relation)? {
            Some(Relation::View(view)) => {
                let position = view.columns.iter().position(|column| column == name);
                let number = position.ok_or_else(|| missing(&view.name))? + 1;
                Ok(Commentable { id: view.id, part: number as u32 })
            }
            _ => {
                let table = self.table_or_materialized(relation)?;
                let column = table.columns.iter().find(|column| column.name == name);
                Ok(Commentable { id: table.id, part: column.ok_or_else(|| missing(&table.name))?.number })
            }
        }
    }

    /// What is dropped has no comment any more, nor have its parts.
    pub(super) fn forget_comments(&mut self, object: Object) -> Result<()> {
        let (id, part) = match object {
            Object::Schema(id) | Object::Table(id) | Object::View(id) | Object::Sequence(id) => (id, None),
            Object::Routine(id) | Object::Type(id) | Object::DomainCheck(_, id) | Object::Trigger(_, id) => (id, None),
            Object::Index(_, id) | Object::Key(_, id) | Object::Check(_, id) | Object::ForeignKey(_, id) => (id, None),
            Object::Column(table, number) => (table, Some(number)),
            Object::Default(..) => return Ok(()),
        };
        let of_it = |on: &&Commentable| on.id == id && part.is_none_or(|part| on.part == part);
        let comments: Vec<Commentable> = self.catalog.commented().filter(of_it).copied().collect();
        comments.into_iter().try_for_each(|on| self.store.put_comment(on, None))
    }
}

/// A constraint, under its id; one that has an index shares it with that.
fn constraint(table: &Table, name: &str) -> Option<Commentable> {
    let check = table.checks.iter().find(|check| check.name == name).map(|check| Commentable::of(check.id));
    let key = || table.foreign_keys.iter().find(|key| key.name == name).map(|key| Commentable::of(key.id));
    let unique = || {
        let index = table.index_of_constraint(name)?;
        Some(Commentable { id: index.id, part: 1 })
    };
    check.or_else(key).or_else(unique)
}

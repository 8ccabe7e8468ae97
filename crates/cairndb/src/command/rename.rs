//! ALTER INDEX, ALTER VIEW and ALTER SEQUENCE: names, columns' names and options of views, and whose they are.

use cairn_parser::{Expr, Id, TokenKind};

use super::alter_table::{ColumnChange, TableAction, altered};
use super::clause::Clause;
use super::view::{reset_option, set_option};
use crate::Result;
use crate::catalog::{CheckOption, ObjectName, RelationKind};

/// Changes a relation of a kind.
#[derive(Debug)]
pub(crate) struct AlterRelation {
    pub(crate) kind: RelationKind,
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    pub(crate) change: RelationChange,
}

/// What ALTER INDEX, ALTER VIEW or ALTER SEQUENCE does.
#[derive(Debug)]
pub(crate) enum RelationChange {
    RenameTo(String),
    /// Of a view.
    RenameColumn {
        from: String,
        to: String,
    },
    /// SET or RESET (check_option) of a view.
    Check(Option<CheckOption>),
    /// SET or DROP DEFAULT of a view's column.
    Default {
        column: String,
        value: Option<Id<Expr>>,
    },
    /// Dumps say whose a relation is; there are no roles.
    Owner,
}

impl AlterRelation {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterRelation> {
        let kind = match command.rule() {
            "alter_view" => RelationKind::View,
            "alter_sequence" => RelationKind::Sequence,
            _ => RelationKind::Index,
        };
        let if_exists = command.part("if_exists").is_some();
        Ok(AlterRelation { kind, name: command.relation()?, if_exists, change: RelationChange::of(command, kind)? })
    }
}

impl RelationChange {
    fn of(command: Clause<'_>, kind: RelationKind) -> Result<RelationChange> {
        if let Some(rename) = command.part("rename") {
            return Ok(RelationChange::RenameTo(rename.name()?));
        }
        let is_view = kind == RelationKind::View;
        if let Some(rename) = command.part("rename_column").filter(|_| is_view) {
            let mut names = rename.names();
            if let (Some(from), Some(to)) = (names.next(), names.next()) {
                return Ok(RelationChange::RenameColumn { from, to });
            }
        }
        let mut all = command.parts("table_command");
        if let (Some(action), None) = (all.next(), all.next()) {
            let options = action.part("options").filter(|_| is_view);
            if let Some(column) = action.part("alter_column").filter(|_| is_view)
                && let TableAction::AlterColumn { name, change } = altered(column)?
            {
                let default = |value| RelationChange::Default { column: name, value };
                match change {
                    ColumnChange::SetDefault(value) => return Ok(default(Some(value))),
                    ColumnChange::DropDefault => return Ok(default(None)),
                    _ => {}
                }
            }
            match () {
                () if action.part("owner").is_some() && kind != RelationKind::Index => {
                    return Ok(RelationChange::Owner);
                }
                () if options.is_some() && action.has(TokenKind::Reset) => {
                    return reset_option(action).map(|()| RelationChange::Check(None));
                }
                () if options.is_some() => return set_option(action).map(RelationChange::Check),
                () => {}
            }
        }
        let what = format!("{} ... {}", command.first_words(), command.words_behind_name());
        Err(command.unsupported(what))
    }
}

//! ALTER INDEX, ALTER VIEW and ALTER SEQUENCE .. RENAME TO.

use super::clause::Clause;
use crate::Result;
use crate::catalog::{ObjectName, RelationKind};

/// Gives a relation of a kind another name.
#[derive(Debug)]
pub(crate) struct RenameRelation {
    pub(crate) kind: RelationKind,
    pub(crate) name: ObjectName,
    pub(crate) to: String,
    pub(crate) if_exists: bool,
}

impl RenameRelation {
    pub(super) fn of(command: Clause<'_>) -> Result<RenameRelation> {
        let kind = match command.rule() {
            "alter_view" => RelationKind::View,
            "alter_sequence" => RelationKind::Sequence,
            _ => RelationKind::Index,
        };
        let Some(rename) = command.part("rename") else {
            let what = format!("{} ... {}", command.first_words(), command.words_behind_name());
            return Err(command.unsupported(what));
        };
        let if_exists = command.part("if_exists").is_some();
        Ok(RenameRelation { kind, name: command.relation()?, to: rename.name()?, if_exists })
    }
}

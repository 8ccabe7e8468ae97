//! DROP.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::Result;
use crate::catalog::{ObjectName, RelationKind};

/// DROP TABLE, VIEW, INDEX, SEQUENCE.
#[derive(Debug)]
pub(crate) struct DropRelations {
    pub(crate) kind: RelationKind,
    pub(crate) names: Vec<ObjectName>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

impl DropRelations {
    pub(super) fn of(command: Clause<'_>) -> Result<DropRelations> {
        command.refuse_word(TokenKind::Concurrently, "CONCURRENTLY")?;
        let kind = command.part("object_with_any_name").and_then(kind);
        let kind = kind.ok_or_else(|| command.unsupported(command.first_words()))?;
        Ok(DropRelations {
            kind,
            names: command.named_relations()?,
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
        })
    }
}

/// The kind of relation that the words name.
pub(super) fn kind(words: Clause<'_>) -> Option<RelationKind> {
    match words.first_words().as_str() {
        "TABLE" => Some(RelationKind::Table),
        "VIEW" => Some(RelationKind::View),
        "INDEX" => Some(RelationKind::Index),
        "SEQUENCE" => Some(RelationKind::Sequence),
        _ => None,
    }
}

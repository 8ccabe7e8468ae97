//! DROP.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::catalog::{ObjectName, RelationKind};
use crate::{Error, Result, SqlState};

/// DROP TABLE, VIEW, MATERIALIZED VIEW, INDEX, SEQUENCE.
#[derive(Debug)]
pub(crate) struct DropRelations {
    pub(crate) kind: RelationKind,
    pub(crate) names: Vec<ObjectName>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
    /// An index goes without waiting for anybody, whatever was said.
    pub(crate) concurrently: bool,
}

impl DropRelations {
    pub(super) fn of(command: Clause<'_>) -> Result<DropRelations> {
        let concurrently = command.has(TokenKind::Concurrently);
        let kind = match concurrently {
            true => Some(RelationKind::Index),
            false => command.part("object_with_any_name").and_then(kind),
        };
        let kind = kind.ok_or_else(|| command.unsupported_words("", &command.first_words()))?;
        let drop = DropRelations {
            kind,
            names: command.named_relations()?,
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
            concurrently,
        };
        let refused = match drop.concurrently {
            true if drop.names.len() > 1 => "dropping multiple objects",
            true if drop.cascade => "CASCADE",
            _ => return Ok(drop),
        };
        let message = format!("DROP INDEX CONCURRENTLY does not support {refused}");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }
}

/// The kind of relation that the words name.
pub(super) fn kind(words: Clause<'_>) -> Option<RelationKind> {
    match words.first_words().as_str() {
        "TABLE" => Some(RelationKind::Table),
        "VIEW" => Some(RelationKind::View),
        "MATERIALIZED VIEW" => Some(RelationKind::MaterializedView),
        "INDEX" => Some(RelationKind::Index),
        "SEQUENCE" => Some(RelationKind::Sequence),
        _ => None,
    }
}

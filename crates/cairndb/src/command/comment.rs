//! COMMENT ON.

use cairn_parser::TokenKind;

use super::clause::Clause;
use super::drop::kind;
use super::routine::Signature;
use crate::catalog::{ObjectName, RelationKind, RoutineKind};
use crate::{Error, Result};

/// COMMENT ON something that there can be.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) on: Commented,
    /// None: NULL, which takes the comment away.
    pub(crate) text: Option<String>,
}

/// What is commented on.
#[derive(Debug)]
pub(crate) enum Commented {
    Relation {
        kind: RelationKind,
        name: ObjectName,
    },
    Column {
        relation: ObjectName,
        name: String,
    },
    Constraint {
        table: ObjectName,
        name: String,
    },
    Trigger {
        on: ObjectName,
        name: String,
    },
    /// `kind`: none for ROUTINE, which is either.
    Routine {
        kind: Option<RoutineKind>,
        signature: Signature,
    },
    Schema(String),
    Type(ObjectName),
    Database,
    /// What is built in has the comments that it has.
    Extension(String),
}

impl Comment {
    pub(super) fn of(command: Clause<'_>) -> Result<Comment> {
        Ok(Comment { on: Commented::of(command)?, text: command.constant_text() })
    }
}

impl Commented {
    fn of(command: Clause<'_>) -> Result<Commented> {
        let commented = command.part("commented").ok_or_else(|| Error::internal("a comment on nothing"))?;
        if let Some(words) = commented.part("object_with_any_name") {
            let kind = kind(words).ok_or_else(|| unsupported(commented))?;
            let name = commented.named_relations()?.into_iter().next();
            let name = name.ok_or_else(|| Error::internal("a comment without a name"))?;
            return Ok(Commented::Relation { kind, name });
        }
        if commented.has(TokenKind::Type) || commented.has(TokenKind::Domain) && !commented.has(TokenKind::Constraint) {
            let name = commented.type_names()?.into_iter().next();
            return Ok(Commented::Type(name.ok_or_else(|| Error::internal("a comment without a type"))?));
        }
        if let Some(signature) = commented.part("aggregate_signature") {
            let kind = Some(RoutineKind::Aggregate);
            return Ok(Commented::Routine { kind, signature: Signature::of_aggregate(signature)? });
        }
        if let Some(signature) = commented.part("function_signature") {
            let kind = commented.routine_kind();
            return Ok(Commented::Routine { kind, signature: Signature::of(signature)? });
        }
        let named = commented.part("object_with_name").map(Clause::first_words);
        let names: Vec<String> = commented.dotted_names().next().unwrap_or_default();
        match names.split_last() {
            Some((column, relation)) if commented.has(TokenKind::Column) && !relation.is_empty() => {
                let relation = commented.relation_of(relation)?;
                Ok(Commented::Column { relation, name: column.clone() })
            }
            Some(_) if commented.has(TokenKind::Constraint) && !commented.has(TokenKind::Domain) => {
                let table = commented.relation_of(&names)?;
                Ok(Commented::Constraint { table, name: commented.name()? })
            }
            Some(_) if commented.has(TokenKind::Trigger) => {
                Ok(Commented::Trigger { on: commented.relation_of(&names)?, name: commented.name()? })
            }
            None if named.as_deref() == Some("DATABASE") => Ok(Commented::Database),
            None if named.as_deref() == Some("EXTENSION") => Ok(Commented::Extension(commented.name()?)),
            None if named.as_deref() == Some("SCHEMA") => Ok(Commented::Schema(commented.name()?)),
            _ => Err(unsupported(commented)),
        }
    }
}

fn unsupported(commented: Clause<'_>) -> Error {
    commented.unsupported(format!("COMMENT ON {}", commented.first_words()))
}

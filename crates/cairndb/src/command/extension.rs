//! CREATE EXTENSION and DROP EXTENSION of what is built in.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::{Error, Result, SqlState};

/// CREATE EXTENSION of one that is built in.
#[derive(Debug)]
pub(crate) struct CreateExtension {
    pub(crate) name: String,
    pub(crate) if_not_exists: bool,
}

/// PostgreSQL's extensions of which what most users want them for is there without them: `pgcrypto` for
/// `gen_random_uuid()`, `uuid-ossp` for `uuid_generate_v4()`.
const BUILT_IN: &[&str] = &["pgcrypto", "plpgsql", "uuid-ossp"];

/// Whether an extension is there, and always was.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

impl CreateExtension {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateExtension> {
        let name = command.name()?;
        if !is_built_in(&name) {
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("extension \"{name}\" is not available"));
            return Err(command.here(error.with_hint("Extensions are not loaded; what there is, is built in.")));
        }
        Ok(CreateExtension { name, if_not_exists: command.part("if_not_exists").is_some() })
    }

    /// CREATE LANGUAGE, which is another word for it.
    pub(super) fn of_language(command: Clause<'_>) -> Result<CreateExtension> {
        Ok(CreateExtension { name: command.name()?, if_not_exists: command.part("or_replace").is_some() })
    }
}

/// DROP EXTENSION.
#[derive(Debug)]
pub(crate) struct DropExtensions {
    pub(crate) names: Vec<String>,
    pub(crate) if_exists: bool,
}

impl DropExtensions {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Option<DropExtensions> {
        let is_one = command.part("droppable_by_name").is_some_and(|kind| kind.has(TokenKind::Extension));
        let if_exists = command.part("if_exists").is_some();
        is_one.then(|| DropExtensions { names: command.names().collect(), if_exists })
    }
}

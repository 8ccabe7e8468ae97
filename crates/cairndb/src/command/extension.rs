//! CREATE, ALTER and DROP EXTENSION of what is built in.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::functions::extensions::extension;
use crate::{Error, Result, SqlState};

/// CREATE EXTENSION of one that is built in.
#[derive(Debug)]
pub(crate) struct CreateExtension {
    pub(crate) name: String,
    pub(crate) if_not_exists: bool,
    /// Where its functions are to be found; none: where the session makes things.
    pub(crate) schema: Option<String>,
}

impl CreateExtension {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateExtension> {
        let name = command.name()?;
        let Some(known) = extension(&name) else {
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("extension \"{name}\" is not available"));
            return Err(command
                .here(error.with_hint("Extensions are not loaded; pg_available_extensions has what is built in.")));
        };
        let (mut schema, mut said) = (None, Vec::new());
        for option in command.parts("extension_option") {
            let word =
                [TokenKind::Schema, TokenKind::Version, TokenKind::Cascade].into_iter().find(|word| option.has(*word));
            if said.contains(&word) {
                return Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
            }
            said.push(word);
            match word {
                Some(TokenKind::Schema) => schema = Some(option.name()?),
                Some(TokenKind::Version) => {
                    let version = option.part("word_or_string").map(Clause::value_text).unwrap_or_default();
                    if version != known.version {
                        let message = format!(
                            "extension \"{name}\" has no installation script nor update path for version \"{version}\""
                        );
                        return Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)));
                    }
                }
                // What an extension needs is there.
                Some(_) => {}
                None => return Err(option.unsupported("CREATE EXTENSION ... FROM")),
            }
        }
        Ok(CreateExtension { name, if_not_exists: command.part("if_not_exists").is_some(), schema })
    }

    /// CREATE LANGUAGE, which is another word for it.
    pub(super) fn of_language(command: Clause<'_>) -> Result<CreateExtension> {
        let if_not_exists = command.part("or_replace").is_some();
        Ok(CreateExtension { name: command.name()?, if_not_exists, schema: None })
    }
}

/// ALTER EXTENSION.
#[derive(Debug)]
pub(crate) struct AlterExtension {
    pub(crate) name: String,
    /// None: UPDATE, to this version.
    pub(crate) schema: Option<String>,
    pub(crate) version: Option<String>,
}

impl AlterExtension {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterExtension> {
        command.refuse("extension_member", "ALTER EXTENSION ... ADD and DROP")?;
        let mut versions = command.parts("word_or_string");
        let version = versions.next().map(Clause::value_text);
        if versions.next().is_some() {
            return Err(command.here(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
        }
        Ok(AlterExtension { name: command.name()?, schema: command.name_behind(TokenKind::Schema), version })
    }
}

/// DROP EXTENSION.
#[derive(Debug)]
pub(crate) struct DropExtensions {
    pub(crate) names: Vec<String>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

impl DropExtensions {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Option<DropExtensions> {
        let is_one = command.part("droppable_by_name").is_some_and(|kind| kind.has(TokenKind::Extension));
        let (if_exists, cascade) = (command.part("if_exists").is_some(), command.is_cascade());
        is_one.then(|| DropExtensions { names: command.names().collect(), if_exists, cascade })
    }
}

//! CREATE VIEW.

use cairn_parser::{Id, Query, TokenKind};

use super::clause::Clause;
use super::create_table::is_temporary;
use crate::catalog::ObjectName;
use crate::{Error, Result};

/// CREATE VIEW.
#[derive(Debug)]
pub(crate) struct CreateView {
    pub(crate) name: ObjectName,
    pub(crate) temporary: bool,
    pub(crate) or_replace: bool,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    pub(crate) query: Id<Query>,
}

impl CreateView {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateView> {
        command.refuse_word(TokenKind::Recursive, "CREATE RECURSIVE VIEW")?;
        command.refuse("options", "an option of a view")?;
        command.refuse("check_option", "WITH CHECK OPTION")?;
        Ok(CreateView {
            name: command.relation()?,
            temporary: is_temporary(command, "view")?,
            or_replace: command.part("or_replace").is_some(),
            columns: command.names_in("columns"),
            query: command.query().ok_or_else(|| Error::internal("no query"))?,
        })
    }
}

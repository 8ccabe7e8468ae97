//! CREATE VIEW; CREATE and REFRESH MATERIALIZED VIEW.

use cairn_parser::{Id, Query, TokenKind};

use super::clause::Clause;
use super::create_table::{check_storage_options, is_temporary, option_name, with_data};
use crate::catalog::ObjectName;
use crate::{Error, Result, SqlState};

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

/// CREATE MATERIALIZED VIEW.
#[derive(Debug)]
pub(crate) struct CreateMaterializedView {
    pub(crate) name: ObjectName,
    pub(crate) if_not_exists: bool,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    /// WITH (...), which does nothing.
    pub(crate) has_storage_options: bool,
    pub(crate) query: Id<Query>,
    /// WITH DATA, which is the default.
    pub(crate) with_data: bool,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Debug)]
pub(crate) struct RefreshMaterializedView {
    pub(crate) name: ObjectName,
    /// Only what differs is changed.
    pub(crate) concurrently: bool,
    pub(crate) with_data: bool,
}

impl CreateMaterializedView {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateMaterializedView> {
        if command.has(TokenKind::Unlogged) {
            let message = "materialized views cannot be unlogged";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        command.refuse("table_method", "a table access method")?;
        command.refuse("tablespace", "TABLESPACE")?;
        let options = command.part("options");
        options.map_or(Ok(()), refuse_maintained)?;
        options.map_or(Ok(()), check_storage_options)?;
        Ok(CreateMaterializedView {
            name: command.relation()?,
            if_not_exists: command.part("if_not_exists").is_some(),
            columns: command.names_in("columns"),
            has_storage_options: options.is_some(),
            query: command.query().ok_or_else(|| Error::internal("no query"))?,
            with_data: with_data(command),
        })
    }
}

/// SQLSTATE 0A000 for the option of views that would change with the tables that they are of.
fn refuse_maintained(options: Clause<'_>) -> Result<()> {
    match options.parts("storage_option").find(|option| option_name(*option) == "maintained") {
        Some(option) => Err(option
            .unsupported("a materialized view that is maintained")
            .with_hint("Leave the option out, and say REFRESH MATERIALIZED VIEW when its tables have changed.")),
        None => Ok(()),
    }
}

impl RefreshMaterializedView {
    /// SQLSTATE 42601 where nothing would be there to compare with.
    pub(super) fn of(command: Clause<'_>) -> Result<RefreshMaterializedView> {
        let (concurrently, with_data) = (command.has(TokenKind::Concurrently), with_data(command));
        if concurrently && !with_data {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        Ok(RefreshMaterializedView { name: command.relation()?, concurrently, with_data })
    }
}

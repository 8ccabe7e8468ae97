//! CREATE VIEW; CREATE and REFRESH MATERIALIZED VIEW.

use cairn_parser::{Id, Query, TokenKind};

use super::clause::Clause;
use super::create_table::{
    check_method, check_reset, check_storage_option, is_temporary, option_name, option_value, with_data,
};
use super::table_options::is_on;
use crate::catalog::{CheckOption, ObjectName};
use crate::{Error, Result, SqlState};

/// CREATE VIEW.
#[derive(Debug)]
pub(crate) struct CreateView {
    pub(crate) name: ObjectName,
    pub(crate) temporary: bool,
    pub(crate) or_replace: bool,
    /// The query may name the view, as a part of WITH RECURSIVE itself.
    pub(crate) recursive: bool,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    pub(crate) query: Id<Query>,
    pub(crate) check: Option<CheckOption>,
    /// WITH (security_barrier, security_invoker), which do nothing.
    pub(crate) has_security_options: bool,
}

impl CreateView {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateView> {
        let said = storage_options(command).filter(|option| !is_security_option(*option));
        let (recursive, check) = (command.has(TokenKind::Recursive), check_option(command, said)?);
        if recursive && check.is_some() {
            let message = "WITH CHECK OPTION not supported on recursive views";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(CreateView {
            recursive,
            name: command.relation()?,
            temporary: is_temporary_view(command)?,
            or_replace: command.part("or_replace").is_some(),
            columns: command.names_in("columns"),
            query: command.query().ok_or_else(|| Error::internal("no query"))?,
            check,
            has_security_options: has_security_options(command)?,
        })
    }
}

/// Whether options were said that do nothing, since there is one role, which sees all rows. SQLSTATE 22023 where their value is none.
fn has_security_options(command: Clause<'_>) -> Result<bool> {
    let said = storage_options(command).filter(|option| is_security_option(*option));
    said.map(is_on).try_fold(false, |_, on| on.map(|_| true))
}

fn is_security_option(option: Clause<'_>) -> bool {
    matches!(option_name(option).as_str(), "security_barrier" | "security_invoker")
}

fn storage_options(command: Clause<'_>) -> impl Iterator<Item = Clause<'_>> {
    command.part("options").into_iter().flat_map(|options| options.parts("storage_option"))
}

/// Whether TEMPORARY was said. SQLSTATE 42601 for UNLOGGED.
fn is_temporary_view(command: Clause<'_>) -> Result<bool> {
    match command.part("temporary").is_some_and(|said| said.has(TokenKind::Unlogged)) {
        true => {
            let message = "views cannot be unlogged because they do not have storage";
            Err(command.here(Error::new(SqlState::SYNTAX_ERROR, message)))
        }
        false => Ok(is_temporary(command)),
    }
}

/// WITH (check_option = ...), or WITH CHECK OPTION behind the query, but not both. SQLSTATE 22023.
fn check_option<'a>(command: Clause<'a>, options: impl Iterator<Item = Clause<'a>>) -> Result<Option<CheckOption>> {
    let mut found = command.part("check_option").map(|said| match said.has(TokenKind::Local) {
        true => CheckOption::Local,
        false => CheckOption::Cascaded,
    });
    for option in options {
        let given = view_option(option)?;
        if found.is_some() {
            let message = "parameter \"check_option\" specified more than once";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        found = Some(given);
    }
    Ok(found)
}

/// ALTER VIEW .. SET (check_option = ...).
pub(super) fn set_option(action: Clause<'_>) -> Result<Option<CheckOption>> {
    check_option(action, storage_options(action))
}

/// ALTER VIEW .. RESET (check_option). SQLSTATE 22023.
pub(super) fn reset_option(action: Clause<'_>) -> Result<()> {
    let Some(options) = action.part("options") else { return Ok(()) };
    options.parts("storage_option").try_for_each(known_option)?;
    check_reset(options)
}

/// The one option of views that is there.
fn known_option(option: Clause<'_>) -> Result<()> {
    let name = option_name(option);
    match name.as_str() {
        "check_option" => Ok(()),
        _ if is_security_option(option) => Err(option
            .unsupported(format!("the option {name} of a view"))
            .with_hint("Leave it out: there is one role, which sees all rows.")),
        _ => {
            let message = format!("unrecognized parameter \"{name}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// What it says.
fn view_option(option: Clause<'_>) -> Result<CheckOption> {
    known_option(option)?;
    match option_value(option).to_ascii_lowercase().as_str() {
        "local" => Ok(CheckOption::Local),
        "cascaded" => Ok(CheckOption::Cascaded),
        other => {
            let message = format!("invalid value for enum option \"check_option\": {other}");
            let detail = "Valid values are \"local\" and \"cascaded\".";
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_detail(detail))
        }
    }
}

/// CREATE MATERIALIZED VIEW.
#[derive(Debug)]
pub(crate) struct CreateMaterializedView {
    pub(crate) name: ObjectName,
    pub(crate) if_not_exists: bool,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    /// WITH (...) of what does nothing.
    pub(crate) has_storage_options: bool,
    /// WITH (maintained).
    pub(crate) maintained: Maintain,
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
        check_method(command)?;
        let options = command.part("options");
        let (maintained, has_storage_options) = options.map_or(Ok((Maintain::No, false)), view_options)?;
        Ok(CreateMaterializedView {
            name: command.relation()?,
            if_not_exists: command.part("if_not_exists").is_some(),
            columns: command.names_in("columns"),
            has_storage_options,
            maintained,
            query: command.query().ok_or_else(|| Error::internal("no query"))?,
            with_data: with_data(command),
        })
    }
}

/// What is to keep a materialized view current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maintain {
    /// REFRESH.
    No,
    /// The commits that change its tables where they can, else what follows them.
    Somehow,
    /// The commits that change its tables.
    ByCommits,
    /// What follows them.
    ByFollower,
}

/// What WITH says of maintenance; whether it says something else, which does nothing. SQLSTATE 22023.
fn view_options(options: Clause<'_>) -> Result<(Maintain, bool)> {
    let (mut maintained, mut others) = (None, false);
    for option in options.parts("storage_option") {
        if option_name(option) != "maintained" {
            check_storage_option(option)?;
            others = true;
            continue;
        }
        let said = match option_value(option).to_ascii_lowercase().as_str() {
            "" | "true" | "on" | "yes" | "1" => Maintain::Somehow,
            "commit" => Maintain::ByCommits,
            "after" => Maintain::ByFollower,
            "false" | "off" | "no" | "0" => Maintain::No,
            other => {
                let message = format!("invalid value for enum option \"maintained\": {other}");
                let detail = "Valid values are \"commit\", \"after\", \"on\" and \"off\".";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_detail(detail));
            }
        };
        if maintained.replace(said).is_some() {
            let message = "parameter \"maintained\" specified more than once";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    }
    Ok((maintained.unwrap_or(Maintain::No), others))
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

//! EXPLAIN.

use cairn_parser::{Id, Statement, TokenKind};

use super::clause::Clause;
use super::create_table::CreateTableAs;
use super::cursor::{DeclareCursor, declare};
use super::view::CreateMaterializedView;
use crate::catalog::ObjectName;
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState};

/// EXPLAIN's options, and the statement that is explained: one with a plan.
#[derive(Debug)]
pub(crate) struct Explain {
    pub(crate) told: Told,
    pub(crate) statement: Id<Statement>,
    /// The command whose query the statement is, if it is one's.
    pub(crate) of: Option<Makes>,
}

/// A command that makes something of a query's rows.
#[derive(Debug)]
pub(crate) enum Makes {
    Table(CreateTableAs),
    View(CreateMaterializedView),
    // What it says is read, though the query's plan is the same whatever that is.
    #[expect(dead_code)]
    Cursor(DeclareCursor),
}

impl Makes {
    /// The relation that it makes, where there must be none of this name.
    pub(crate) fn new_relation(&self) -> Option<&ObjectName> {
        match self {
            Makes::Table(create) => Some(&create.name).filter(|_| !create.if_not_exists),
            Makes::View(create) => Some(&create.name).filter(|_| !create.if_not_exists),
            Makes::Cursor(_) => None,
        }
    }
}

/// What EXPLAIN tells, and how.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The statement runs, and what happened is told.
    pub analyze: bool,
    /// Every node's output columns.
    pub verbose: bool,
    /// Estimates.
    pub costs: bool,
    /// Pages that were looked at, in memory or in the file.
    pub buffers: bool,
    /// Settings of the planner that are not the default.
    pub settings: bool,
    /// How long each node took.
    pub timing: bool,
    /// How long planning and running took.
    pub summary: bool,
    /// As what it is told.
    pub format: ExplainFormat,
}

/// How EXPLAIN answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines, a row each.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

impl Explain {
    /// The statement's EXPLAIN.
    pub(crate) fn of(parsed: &ParsedStatement) -> Result<Explain> {
        let command = Clause::of_statement(parsed).filter(|command| command.rule() == "explain");
        let command = command.ok_or_else(|| Error::internal("not EXPLAIN"))?;
        let explained = command.part("explained").ok_or_else(|| Error::internal("EXPLAIN of nothing"))?;
        let (statement, of) = match explained.statement() {
            Some(statement) => (statement, None),
            None => query_within(command, explained.first_part()?)?,
        };
        let mut told = Told {
            analyze: command.part("analyze_word").is_some(),
            verbose: command.has(TokenKind::Verbose),
            costs: true,
            buffers: false,
            settings: false,
            timing: false,
            summary: false,
            format: ExplainFormat::Text,
        };
        let mut said = (None, None);
        command.parts("utility_option").try_for_each(|option| told.set(option, &mut said))?;
        let (timing, summary) = said;
        if timing == Some(true) && !told.analyze {
            let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, "EXPLAIN option TIMING requires ANALYZE");
            return Err(command.here(error));
        }
        told.timing = timing.unwrap_or(told.analyze);
        told.summary = summary.unwrap_or(told.analyze);
        Ok(Explain { told, statement, of })
    }
}

/// The query of a command that makes something of its rows. SQLSTATE 0A000 where it has none, or is to run.
fn query_within(command: Clause<'_>, explained: Clause<'_>) -> Result<(Id<Statement>, Option<Makes>)> {
    let words = explained.first_words();
    let of = match explained.rule() {
        "create_table_as" => Makes::Table(CreateTableAs::of(explained)?),
        "create_materialized_view" => Makes::View(CreateMaterializedView::of(explained)?),
        "declare_cursor" => Makes::Cursor(declare(explained)?),
        _ => return Err(explained.unsupported(format!("EXPLAIN of {words}"))),
    };
    if is_analyzed(command) {
        return Err(explained.unsupported(format!("EXPLAIN ANALYZE of {words}")));
    }
    let query = explained.statement().ok_or_else(|| Error::internal("no query"))?;
    Ok((query, Some(of)))
}

impl Told {
    /// `timing`, `summary`: where the statement says so; otherwise they are as ANALYZE is.
    fn set(&mut self, option: Clause<'_>, (timing, summary): &mut (Option<bool>, Option<bool>)) -> Result<()> {
        let name = option_name(option);
        match name.as_str() {
            "analyze" => self.analyze = is_on(option)?,
            "verbose" => self.verbose = is_on(option)?,
            "costs" => self.costs = is_on(option)?,
            "buffers" => self.buffers = is_on(option)?,
            "settings" => self.settings = is_on(option)?,
            "timing" => *timing = Some(is_on(option)?),
            "summary" => *summary = Some(is_on(option)?),
            "format" => self.format = format(option)?,
            "wal" => {
                if is_on(option)? {
                    let error = option.unsupported("EXPLAIN (WAL)");
                    return Err(error.with_hint("Changes go to the log when their transaction commits."));
                }
            }
            name => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(option.here(Error::new(SqlState::SYNTAX_ERROR, message)));
            }
        }
        Ok(())
    }
}

/// Whether an EXPLAIN runs its statement, and which that is.
pub(super) fn analyzed(parsed: &ParsedStatement) -> Option<Id<Statement>> {
    let command = Clause::of_statement(parsed)?;
    command.part("explained").filter(|_| is_analyzed(command))?.statement()
}

fn is_analyzed(command: Clause<'_>) -> bool {
    let options = command.parts("utility_option").filter(|option| option_name(*option) == "analyze");
    let said = options.last().map(|option| is_on(option).unwrap_or(true));
    said.unwrap_or_else(|| command.part("analyze_word").is_some())
}

pub(super) fn option_name(option: Clause<'_>) -> String {
    option.name().unwrap_or_else(|_| "analyze".to_owned())
}

fn value(option: Clause<'_>) -> Option<String> {
    option.part("option_word").or_else(|| option.part("number")).map(Clause::value_text)
}

/// An option's value as PostgreSQL reads it; on where there is none.
pub(super) fn is_on(option: Clause<'_>) -> Result<bool> {
    match value(option).map(|value| value.to_ascii_lowercase()).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{} requires a Boolean value", option_name(option));
            Err(option.here(Error::new(SqlState::SYNTAX_ERROR, message)))
        }
    }
}

fn format(option: Clause<'_>) -> Result<ExplainFormat> {
    match value(option).map(|value| value.to_ascii_lowercase()).as_deref() {
        Some("text") => Ok(ExplainFormat::Text),
        Some("json") => Ok(ExplainFormat::Json),
        Some("yaml") => Ok(ExplainFormat::Yaml),
        Some("xml") => Err(option.unsupported("EXPLAIN (FORMAT XML)").with_hint("Ask for TEXT, JSON or YAML.")),
        Some(other) => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)))
        }
        None => Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "format requires a parameter"))),
    }
}

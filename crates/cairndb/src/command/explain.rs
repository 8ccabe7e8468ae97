//! EXPLAIN.

use cairn_parser::{Id, Statement, TokenKind};

use super::clause::Clause;
use super::create_table::{CreateTableAs, RowsOf, selects_into};
use super::cursor::{DeclareCursor, declare};
use super::prepared::{Execute, PreparedCommand};
use super::view::{CreateMaterializedView, Maintain};
use super::{Command, SchemaCommand};
use crate::catalog::ObjectName;
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState};

/// EXPLAIN's options, and what is explained.
#[derive(Debug)]
pub(crate) struct Explain {
    pub(crate) told: ExplainRequest,
    pub(crate) explained: Explained,
}

#[derive(Debug)]
pub(crate) enum Explained {
    /// A statement with a plan, and the command whose query it is, if it is one's.
    Statement(Id<Statement>, Option<Makes>),
    Execute(Execute),
    /// A table of what EXECUTE gives.
    TableOfExecute(CreateTableAs),
}

/// EXPLAIN ANALYZE of what makes a relation, which it does.
#[derive(Debug)]
pub(crate) struct ExplainMade {
    pub(crate) told: ExplainRequest,
    pub(crate) makes: Makes,
}

/// What an EXPLAIN runs.
#[derive(Debug)]
pub(crate) enum Runs {
    /// At most a query.
    Query,
    /// ANALYZE: a statement with a plan.
    Statement(Id<Statement>),
    /// ANALYZE: a command that makes a relation.
    Making,
    /// What the session knows by a name.
    Named,
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
    /// The relation that it makes, and whether there may be one of this name.
    pub(crate) fn relation(&self) -> Option<(&ObjectName, bool)> {
        match self {
            Makes::Table(create) => Some((&create.name, create.if_not_exists)),
            Makes::View(create) => Some((&create.name, create.if_not_exists)),
            Makes::Cursor(_) => None,
        }
    }
}

/// What EXPLAIN tells, and how.
#[derive(Clone, Copy, Debug)]
pub struct ExplainRequest {
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
        let explained = match explained.statement() {
            Some(statement) => {
                let into = CreateTableAs::of_select(&parsed.tree, statement)?;
                Explained::Statement(statement, into.map(Makes::Table))
            }
            None => Explained::of_command(explained.first_part()?)?,
        };
        let mut told = ExplainRequest {
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
        if let (true, Explained::Statement(_, Some(Makes::View(create)))) = (told.analyze, &explained)
            && create.maintained != Maintain::No
        {
            let error = command.unsupported("EXPLAIN ANALYZE of a materialized view that is maintained");
            return Err(error.with_hint("Explain its query."));
        }
        Ok(Explain { told, explained })
    }

    /// As a command, where it is more than a statement with a plan.
    pub(super) fn command(self) -> Result<Command> {
        let told = self.told;
        let explain = |execute, new_relation| PreparedCommand::Explain { told, execute, new_relation };
        Ok(match self.explained {
            Explained::Execute(execute) => Command::Prepared(explain(execute, None)),
            Explained::TableOfExecute(CreateTableAs {
                name, if_not_exists, rows: RowsOf::Execute(execute), ..
            }) if !told.analyze => Command::Prepared(explain(execute, Some(name).filter(|_| !if_not_exists))),
            Explained::TableOfExecute(create) => {
                Command::Schema(SchemaCommand::Explain(ExplainMade { told, makes: Makes::Table(create) }))
            }
            Explained::Statement(_, Some(makes)) => {
                Command::Schema(SchemaCommand::Explain(ExplainMade { told, makes }))
            }
            Explained::Statement(_, None) => {
                // Everywhere else it was planned before anybody asks for a command.
                return Err(Error::unsupported("EXPLAIN in a function").with_hint("Run it outside of functions."));
            }
        })
    }
}

impl Explained {
    /// A command that is no statement with a plan. SQLSTATE 0A000 where it has none.
    fn of_command(explained: Clause<'_>) -> Result<Explained> {
        let of = match explained.rule() {
            "execute" => return Execute::of(explained).map(Explained::Execute),
            "create_table_as" => match CreateTableAs::of(explained)? {
                create @ CreateTableAs { rows: RowsOf::Execute(_), .. } => {
                    return Ok(Explained::TableOfExecute(create));
                }
                create => Makes::Table(create),
            },
            "create_materialized_view" => Makes::View(CreateMaterializedView::of(explained)?),
            "declare_cursor" => Makes::Cursor(declare(explained)?),
            _ => return Err(explained.unsupported(format!("EXPLAIN of {}", explained.first_words()))),
        };
        let query = explained.statement().ok_or_else(|| Error::internal("no query"))?;
        Ok(Explained::Statement(query, Some(of)))
    }
}

impl ExplainRequest {
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

/// What an EXPLAIN runs, as far as it can be told without looking for what is wrong with it.
pub(super) fn runs(parsed: &ParsedStatement) -> Runs {
    let Some(command) = Clause::of_statement(parsed) else { return Runs::Query };
    let Some(explained) = command.part("explained") else { return Runs::Query };
    let is_analyzed = is_analyzed(command);
    match (explained.statement(), explained.first_part()) {
        (Some(statement), _) if is_analyzed => match selects_into(&parsed.tree, statement) {
            Some(_) => Runs::Making,
            None => Runs::Statement(statement),
        },
        (None, Ok(command)) => match command.rule() {
            "create_table_as" | "create_materialized_view" if is_analyzed => Runs::Making,
            "create_table_as" if command.part("execute").is_some() => Runs::Named,
            "execute" => Runs::Named,
            _ => Runs::Query,
        },
        _ => Runs::Query,
    }
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

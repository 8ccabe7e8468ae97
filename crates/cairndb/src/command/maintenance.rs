//! TRUNCATE, ANALYZE, VACUUM and REINDEX.

use cairn_parser::TokenKind;

use super::clause::Clause;
use super::explain::{is_on, option_name};
use crate::catalog::ObjectName;
use crate::{Error, Result, SqlState};

/// TRUNCATE.
#[derive(Debug)]
pub(crate) struct Truncate {
    pub(crate) tables: Vec<ObjectName>,
    /// RESTART IDENTITY.
    pub(crate) restart: bool,
    pub(crate) cascade: bool,
}

/// ANALYZE.
#[derive(Debug)]
pub(crate) struct Analyze {
    /// None: every table.
    pub(crate) tables: Vec<ObjectName>,
}

/// VACUUM. Space comes back by itself, so what is left of it is that inverted indexes are put in order, and ANALYZE.
#[derive(Debug)]
pub(crate) struct Vacuum {
    pub(crate) tables: Vec<ObjectName>,
    pub(crate) analyze: bool,
}

/// REINDEX.
#[derive(Debug)]
pub(crate) struct Reindex {
    pub(crate) what: Reindexed,
    /// Why it can not be rolled back with others in PostgreSQL, and so runs in no transaction block: what it is called then.
    pub(crate) alone: Option<String>,
}

/// Whose indexes are built anew.
#[derive(Debug)]
pub(crate) enum Reindexed {
    Index(ObjectName),
    Table(ObjectName),
    Schema(String),
    /// The system's own are made of the catalog whenever somebody asks.
    System,
    Database(String),
}

impl Truncate {
    pub(super) fn of(command: Clause<'_>) -> Result<Truncate> {
        let restart = command.has(TokenKind::Restart);
        Ok(Truncate { tables: command.relations()?, restart, cascade: command.is_cascade() })
    }
}

impl Analyze {
    pub(super) fn of(command: Clause<'_>) -> Result<Analyze> {
        for (name, is_on) in options(command, "ANALYZE", &["verbose", "skip_locked"])? {
            if name == "verbose" && is_on {
                return Err(command.unsupported("ANALYZE VERBOSE"));
            }
        }
        command.refuse_word(TokenKind::Verbose, "ANALYZE VERBOSE")?;
        Ok(Analyze { tables: tables(command)? })
    }
}

impl Vacuum {
    pub(super) fn of(command: Clause<'_>) -> Result<Vacuum> {
        let mut analyze = command.part("analyze_word").is_some();
        for (name, is_on) in options(command, "VACUUM", VACUUM_OPTIONS)? {
            if name == "analyze" {
                analyze = is_on;
            }
        }
        let columns = command.parts("vacuumed").any(|vacuumed| vacuumed.part("names").is_some());
        if columns && !analyze {
            let message = "ANALYZE option must be specified when a column list is provided";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(Vacuum { tables: tables(command)?, analyze })
    }
}

impl Reindex {
    pub(super) fn of(command: Clause<'_>) -> Result<Reindex> {
        let mut concurrently = command.has(TokenKind::Concurrently);
        for (name, is_on) in options(command, "REINDEX", &["verbose", "concurrently", "tablespace"])? {
            match name.as_str() {
                "concurrently" => concurrently |= is_on,
                _ if is_on => return Err(command.unsupported(format!("REINDEX ({})", name.to_uppercase()))),
                _ => {}
            }
        }
        let (what, word) = match () {
            () if command.has(TokenKind::Index) => (Reindexed::Index(command.relation()?), "INDEX"),
            () if command.has(TokenKind::Table) => (Reindexed::Table(command.relation()?), "TABLE"),
            () if command.has(TokenKind::Schema) => (Reindexed::Schema(command.name()?), "SCHEMA"),
            () if command.has(TokenKind::System) && concurrently => {
                let message = "cannot reindex system catalogs concurrently";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            () if command.has(TokenKind::System) => (Reindexed::System, "SYSTEM"),
            () => (Reindexed::Database(command.name()?), "DATABASE"),
        };
        let alone = match &what {
            _ if concurrently => Some("REINDEX CONCURRENTLY".to_owned()),
            Reindexed::Index(_) | Reindexed::Table(_) => None,
            _ => Some(format!("REINDEX {word}")),
        };
        Ok(Reindex { what, alone })
    }
}

const VACUUM_OPTIONS: &[&str] = &[
    "analyze",
    "disable_page_skipping",
    "freeze",
    "full",
    "index_cleanup",
    "parallel",
    "process_toast",
    "skip_locked",
    "truncate",
    "verbose",
];
/// Of those, what is not on or off.
const WORDS_AND_NUMBERS: &[&str] = &["index_cleanup", "parallel", "tablespace"];

/// The options in parentheses, and whether they are on. SQLSTATE 42601.
fn options(command: Clause<'_>, of: &str, known: &[&str]) -> Result<Vec<(String, bool)>> {
    let read = |option: Clause<'_>| {
        let name = option_name(option);
        match known.contains(&name.as_str()) {
            true if WORDS_AND_NUMBERS.contains(&name.as_str()) => Ok((name, true)),
            true => is_on(option).map(|is_on| (name, is_on)),
            false => {
                let message = format!("unrecognized {of} option \"{name}\"");
                Err(option.here(Error::new(SqlState::SYNTAX_ERROR, message)))
            }
        }
    };
    command.parts("utility_option").map(read).collect()
}

fn tables(command: Clause<'_>) -> Result<Vec<ObjectName>> {
    let table = |vacuumed: Clause<'_>| {
        vacuumed.refuse("names", "ANALYZE of some columns")?;
        vacuumed.relation()
    };
    command.parts("vacuumed").map(table).collect()
}

//! TRUNCATE, ANALYZE and VACUUM.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::Result;
use crate::catalog::ObjectName;

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

impl Truncate {
    pub(super) fn of(command: Clause<'_>) -> Result<Truncate> {
        let restart = command.has(TokenKind::Restart);
        Ok(Truncate { tables: command.relations()?, restart, cascade: command.is_cascade() })
    }
}

impl Analyze {
    pub(super) fn of(command: Clause<'_>) -> Result<Analyze> {
        command.refuse("utility_option", "an option of ANALYZE")?;
        command.refuse_word(TokenKind::Verbose, "ANALYZE VERBOSE")?;
        Ok(Analyze { tables: tables(command)? })
    }
}

impl Vacuum {
    pub(super) fn of(command: Clause<'_>) -> Result<Vacuum> {
        let analyzes = |option: Clause<'_>| option.part("analyze_word").is_some();
        let analyze = analyzes(command) || command.parts("utility_option").any(analyzes);
        Ok(Vacuum { tables: tables(command)?, analyze })
    }
}

fn tables(command: Clause<'_>) -> Result<Vec<ObjectName>> {
    let table = |vacuumed: Clause<'_>| {
        vacuumed.refuse("names", "ANALYZE of some columns")?;
        vacuumed.relation()
    };
    command.parts("vacuumed").map(table).collect()
}

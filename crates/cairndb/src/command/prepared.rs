//! PREPARE, EXECUTE and DEALLOCATE.

use cairn_parser::{Expr, Id, Statement, TypeName};

use super::clause::Clause;
use crate::{Error, Result};

/// A command about a statement that has a name.
#[derive(Debug)]
pub(crate) enum PreparedCommand {
    /// `types`: of the first parameters.
    Prepare {
        name: String,
        types: Vec<Id<TypeName>>,
        statement: Id<Statement>,
    },
    Execute {
        name: String,
        arguments: Vec<Id<Expr>>,
    },
    /// `None`: ALL.
    Deallocate(Option<String>),
}

impl PreparedCommand {
    pub(super) fn of(command: Clause<'_>) -> Result<PreparedCommand> {
        let name = command.names().next();
        match (command.rule(), name) {
            ("prepare", Some(name)) => {
                let statement =
                    command.part("data_statement").and_then(Clause::statement).or_else(|| command.statement());
                let statement = statement.ok_or_else(|| Error::internal("PREPARE of nothing"))?;
                Ok(PreparedCommand::Prepare { name, types: command.data_types().collect(), statement })
            }
            ("execute", Some(name)) => Ok(PreparedCommand::Execute { name, arguments: command.exprs().collect() }),
            ("deallocate", name) => Ok(PreparedCommand::Deallocate(name)),
            (other, _) => Err(Error::internal(format!("{other} is not about a prepared statement"))),
        }
    }
}

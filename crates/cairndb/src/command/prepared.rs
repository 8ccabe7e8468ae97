//! PREPARE, EXECUTE and DEALLOCATE.

use cairn_parser::{Expr, Id, Statement, TypeName};

use super::clause::Clause;
use super::explain::ExplainRequest;
use crate::catalog::ObjectName;
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
    Execute(Execute),
    /// EXPLAIN of what EXECUTE runs; of what is to become a relation, which is not there yet.
    Explain {
        told: ExplainRequest,
        execute: Execute,
        new_relation: Option<ObjectName>,
    },
    /// `None`: ALL.
    Deallocate(Option<String>),
}

/// EXECUTE.
#[derive(Debug)]
pub(crate) struct Execute {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Id<Expr>>,
}

impl Execute {
    pub(super) fn of(command: Clause<'_>) -> Result<Execute> {
        Ok(Execute { name: command.name()?, arguments: command.exprs().collect() })
    }
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
            ("execute", _) => Execute::of(command).map(PreparedCommand::Execute),
            ("deallocate", name) => Ok(PreparedCommand::Deallocate(name)),
            (other, _) => Err(Error::internal(format!("{other} is not about a prepared statement"))),
        }
    }
}

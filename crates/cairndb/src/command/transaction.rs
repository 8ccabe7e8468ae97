//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT and their kin.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::catalog::ObjectName;
use crate::{Error, Result};

/// A command about the open transaction.
#[derive(Debug)]
pub(crate) enum TransactionCommand {
    /// BEGIN, START TRANSACTION. Any isolation level is SERIALIZABLE here, and a transaction that only reads never fails,
    /// as DEFERRABLE wants it.
    Begin {
        /// `None`: as the session says.
        read_only: Option<bool>,
        tag: &'static str,
    },
    /// `chain`: the next transaction begins at once.
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// `None`: ALL.
    SetConstraints {
        names: Option<Vec<ObjectName>>,
        deferred: bool,
    },
}

impl TransactionCommand {
    pub(super) fn of(command: Clause<'_>) -> Result<TransactionCommand> {
        let chain = || command.part("transaction_chain").is_some_and(|chain| !chain.has(TokenKind::No));
        let begin = |tag| TransactionCommand::Begin { read_only: read_only(command), tag };
        Ok(match command.rule() {
            "begin" => begin("BEGIN"),
            "start_transaction" => begin("START TRANSACTION"),
            "commit" => TransactionCommand::Commit { chain: chain() },
            "rollback" | "abort" => TransactionCommand::Rollback { chain: chain() },
            "savepoint" => TransactionCommand::Savepoint(command.name()?),
            "release" => TransactionCommand::Release(command.name()?),
            "rollback_to" => TransactionCommand::RollbackTo(command.name()?),
            "set_constraints" => {
                let names = command.relations()?;
                let deferred = command.has(TokenKind::Deferred);
                TransactionCommand::SetConstraints { names: (!names.is_empty()).then_some(names), deferred }
            }
            other => return Err(Error::internal(format!("{other} is not about a transaction"))),
        })
    }
}

/// What the modes right in this say of READ ONLY and READ WRITE; the last counts.
pub(super) fn read_only(clause: Clause<'_>) -> Option<bool> {
    let modes = clause.part("transaction_modes")?;
    let access = modes.parts("transaction_mode").filter(|mode| mode.has(TokenKind::Only) || mode.has(TokenKind::Write));
    access.last().map(|mode| mode.has(TokenKind::Only))
}

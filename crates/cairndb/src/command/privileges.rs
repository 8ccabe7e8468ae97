//! GRANT, REVOKE and OWNER TO: there are no roles, so they say nothing here. PostgreSQL's dumps are full of them, so they are
//! taken, and a notice says that they do nothing.

use super::clause::Clause;
use super::routine::Signature;
use crate::Result;
use crate::catalog::RoutineKind;

/// What is granted to, or taken from, roles that are not there.
#[derive(Debug)]
pub(crate) struct Privileges {
    /// What the command is called.
    pub(crate) tag: &'static str,
}

/// ALTER FUNCTION, PROCEDURE or ROUTINE .. OWNER TO.
#[derive(Debug)]
pub(crate) struct OwnRoutine {
    /// `None`: either.
    pub(crate) kind: Option<RoutineKind>,
    pub(crate) signature: Signature,
}

impl Privileges {
    /// Where the command is about them.
    pub(super) fn of(command: Clause<'_>) -> Option<Privileges> {
        let tag = match command.rule() {
            "grant_on" => "GRANT",
            "revoke_on" => "REVOKE",
            "alter_default_privileges" => "ALTER DEFAULT PRIVILEGES",
            _ => return None,
        };
        Some(Privileges { tag })
    }
}

impl OwnRoutine {
    pub(super) fn of(command: Clause<'_>) -> Result<OwnRoutine> {
        let (kind, signature) = match (command.part("owner"), command.part("function_signature")) {
            (Some(_), Some(signature)) => (command.routine_kind(), Signature::of(signature)?),
            _ => return Err(command.unsupported(command.first_words())),
        };
        Ok(OwnRoutine { kind, signature })
    }

    /// What the command is called.
    pub(crate) fn tag(&self) -> &'static str {
        match self.kind {
            Some(RoutineKind::Function) => "ALTER FUNCTION",
            Some(RoutineKind::Procedure) => "ALTER PROCEDURE",
            None => "ALTER ROUTINE",
        }
    }
}

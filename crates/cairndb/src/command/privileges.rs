//! GRANT and REVOKE: there are no roles, so they say nothing here. PostgreSQL's dumps are full of them, so they are
//! taken, and a notice says that they do nothing.

use super::clause::Clause;
use super::routine::Signature;
use crate::catalog::{ObjectName, RelationKind, RoutineKind};
use crate::{Error, Result, SqlState};
use cairn_parser::TokenKind;

/// What is granted to, or taken from, roles that are not there.
#[derive(Debug)]
pub(crate) struct Privileges {
    /// What the command is called.
    pub(crate) tag: &'static str,
    /// What it is about: that must be there.
    pub(crate) target: Target,
}

/// What privileges are about.
#[derive(Debug)]
pub(crate) enum Target {
    /// Tables, views and sequences; or of the kind that is said.
    Relations(Vec<ObjectName>, Option<RelationKind>),
    Routines(Vec<Signature>, Option<RoutineKind>),
    Schemas(Vec<String>),
    /// A role, or what is not looked for.
    Other,
}

impl Privileges {
    /// Where the command is about them.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<Privileges>> {
        let tag = match command.rule() {
            "grant_on" => "GRANT",
            "revoke_on" => "REVOKE",
            "grant_role" => "GRANT ROLE",
            "revoke_role" => "REVOKE ROLE",
            "alter_default_privileges" => "ALTER DEFAULT PRIVILEGES",
            _ => return Ok(None),
        };
        if let Some(privileges) = command.part("privileges") {
            privileges.parts("privilege").try_for_each(check_privilege)?;
        }
        let target = command.part("privilege_target").map_or(Ok(Target::Other), Target::of)?;
        Ok(Some(Privileges { tag, target }))
    }
}

/// SQLSTATE 42601, as in PostgreSQL.
fn check_privilege(privilege: Clause<'_>) -> Result<()> {
    const KNOWN: &[&str] = &[
        "insert",
        "update",
        "delete",
        "truncate",
        "trigger",
        "execute",
        "usage",
        "create",
        "temporary",
        "temp",
        "connect",
        "set",
    ];
    // SELECT and others are keywords of the grammar.
    match privilege.names().next().filter(|name| !KNOWN.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::new(SqlState::SYNTAX_ERROR, format!("unrecognized privilege type \"{name}\""))),
    }
}

impl Target {
    fn of(target: Clause<'_>) -> Result<Target> {
        let is_any = |words: &[TokenKind]| words.iter().any(|word| target.has(*word));
        Ok(match () {
            () if is_any(&[TokenKind::Schema]) => Target::Schemas(target.names().collect()),
            () if is_any(&[TokenKind::All]) => Target::Other,
            () if is_any(&[TokenKind::Function, TokenKind::Procedure, TokenKind::Routine]) => {
                let signatures = target.parts("function_signature").map(Signature::of).collect::<Result<_>>()?;
                Target::Routines(signatures, target.routine_kind())
            }
            () => {
                let kind = target.has(TokenKind::Sequence).then_some(RelationKind::Sequence);
                let tables: Vec<Clause<'_>> = target.parts("table_name").collect();
                let parts = tables.iter().map(|table| table.relation()).collect::<Result<Vec<_>>>()?;
                Target::Relations(if parts.is_empty() { target.relations()? } else { parts }, kind)
            }
        })
    }
}

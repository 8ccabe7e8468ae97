//! CREATE TRIGGER, DROP TRIGGER, ALTER TRIGGER.

use cairn_parser::{Expr, Id, TokenKind};

use super::clause::Clause;
use crate::catalog::{ObjectName, TriggerEvent};
use crate::{Error, Result, SqlState};

/// CREATE TRIGGER.
#[derive(Debug)]
pub(crate) struct CreateTrigger {
    pub(crate) name: String,
    pub(crate) table: ObjectName,
    pub(crate) or_replace: bool,
    /// BEFORE; otherwise AFTER.
    pub(crate) before: bool,
    pub(crate) per_row: bool,
    pub(crate) events: Vec<TriggerEvent>,
    /// UPDATE OF.
    pub(crate) columns: Vec<String>,
    pub(crate) when: Option<Id<Expr>>,
    pub(crate) function: ObjectName,
    pub(crate) args: Vec<String>,
}

/// DROP TRIGGER.
#[derive(Debug)]
pub(crate) struct DropTrigger {
    pub(crate) name: String,
    pub(crate) table: ObjectName,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

/// ALTER TRIGGER ... RENAME TO.
#[derive(Debug)]
pub(crate) struct RenameTrigger {
    pub(crate) name: String,
    pub(crate) table: ObjectName,
    pub(crate) to: String,
}

impl CreateTrigger {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateTrigger> {
        command.refuse_word(TokenKind::Instead, "an INSTEAD OF trigger")?;
        command.refuse("transition", "a transition table")?;
        let (mut events, mut columns) = (Vec::new(), Vec::new());
        let all = command.part("trigger_events").ok_or_else(|| Error::internal("a trigger without events"))?;
        for event in all.parts("trigger_event") {
            let kind = match () {
                () if event.has(TokenKind::Insert) => TriggerEvent::Insert,
                () if event.has(TokenKind::Update) => TriggerEvent::Update,
                () if event.has(TokenKind::Delete) => TriggerEvent::Delete,
                () => TriggerEvent::Truncate,
            };
            if events.contains(&kind) {
                let message = "duplicate trigger events specified";
                return Err(event.here(Error::new(SqlState::SYNTAX_ERROR, message)));
            }
            events.push(kind);
            columns.extend(event.names());
        }
        let call = command.part("trigger_call").ok_or_else(|| Error::internal("a trigger without a function"))?;
        Ok(CreateTrigger {
            name: command.name()?,
            table: command.relation()?,
            or_replace: command.part("or_replace").is_some(),
            before: command.has(TokenKind::Before),
            per_row: command.has(TokenKind::Row),
            events,
            columns,
            when: command.part("trigger_when").map(Clause::expr).transpose()?,
            function: call.called_name()?,
            args: call.parts("trigger_argument").map(Clause::value_text).collect(),
        })
    }
}

impl DropTrigger {
    pub(super) fn of(command: Clause<'_>) -> Result<Option<DropTrigger>> {
        if command.rule() != "drop_on" || !command.has(TokenKind::Trigger) {
            return Ok(None);
        }
        let named = command.named_relations()?;
        Ok(Some(DropTrigger {
            name: command.name()?,
            table: named.into_iter().next().ok_or_else(|| Error::internal("a trigger of no table"))?,
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
        }))
    }
}

impl RenameTrigger {
    pub(super) fn of(command: Clause<'_>) -> Result<RenameTrigger> {
        let Some(rename) = command.part("rename") else { return Err(command.unsupported("ALTER TRIGGER ... DEPENDS")) };
        Ok(RenameTrigger { name: command.name()?, table: command.relation()?, to: rename.name()? })
    }
}

//! CREATE TRIGGER, DROP TRIGGER, ALTER TRIGGER.

use cairn_parser::{Expr, Id, TokenKind};

use super::clause::Clause;
use super::constraint::deferral;
use crate::catalog::{Deferral, ObjectName, Timing, TriggerEvent};
use crate::{Error, Result, SqlState};

/// CREATE TRIGGER.
#[derive(Debug)]
pub(crate) struct CreateTrigger {
    pub(crate) name: String,
    pub(crate) table: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) timing: Timing,
    pub(crate) per_row: bool,
    pub(crate) events: Vec<TriggerEvent>,
    /// UPDATE OF.
    pub(crate) columns: Vec<String>,
    pub(crate) when: Option<Id<Expr>>,
    pub(crate) function: ObjectName,
    pub(crate) args: Vec<String>,
    /// REFERENCING, as it is written.
    pub(crate) transitions: Vec<Transition>,
    /// Of a CONSTRAINT TRIGGER.
    pub(crate) deferral: Option<Deferral>,
}

/// A row or a table, of NEW or OLD, and what it is called.
#[derive(Debug)]
pub(crate) struct Transition {
    pub(crate) is_table: bool,
    pub(crate) is_new: bool,
    pub(crate) name: String,
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
        let is_constraint = command.rule() == "create_constraint_trigger";
        let or_replace = command.part("or_replace").is_some();
        if is_constraint && or_replace {
            let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if is_constraint {
            command.refuse_word(TokenKind::From, "a constraint trigger FROM another table").map_err(|error| {
                error.with_hint("Leave it out: a trigger's function reads whichever tables it likes.")
            })?;
        }
        let transition = |part: Clause<'_>| {
            let (is_table, is_new) = (part.has(TokenKind::Table), part.has(TokenKind::New));
            Ok(Transition { is_table, is_new, name: part.name()? })
        };
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
            table: command.relations()?.into_iter().next().ok_or_else(|| Error::internal("a trigger of no table"))?,
            or_replace,
            timing: match () {
                () if command.has(TokenKind::Before) => Timing::Before,
                () if command.has(TokenKind::Instead) => Timing::InsteadOf,
                () => Timing::After,
            },
            per_row: is_constraint || command.has(TokenKind::Row),
            events,
            columns,
            when: command.part("trigger_when").map(Clause::expr).transpose()?,
            function: call.called_name()?,
            args: call.parts("trigger_argument").map(Clause::value_text).collect(),
            transitions: command.parts("transition").map(transition).collect::<Result<_>>()?,
            deferral: is_constraint.then(|| deferral(command.parts("rule_attribute"))).transpose()?,
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

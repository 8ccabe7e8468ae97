//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::catalog::ObjectName;
use crate::{Error, Result};

/// CREATE TYPE .. AS ENUM.
#[derive(Debug)]
pub(crate) struct CreateEnum {
    pub(crate) name: ObjectName,
    pub(crate) labels: Vec<String>,
}

/// ALTER TYPE.
#[derive(Debug)]
pub(crate) struct AlterType {
    pub(crate) name: ObjectName,
    pub(crate) change: TypeChange,
}

/// What becomes of a type.
#[derive(Debug)]
pub(crate) enum TypeChange {
    AddValue {
        label: String,
        if_not_exists: bool,
        beside: Option<Beside>,
    },
    RenameValue {
        from: String,
        to: String,
    },
    RenameTo(String),
    SetSchema(String),
    /// There is one user.
    Owner,
}

/// The label that a new one stands before or behind.
#[derive(Debug)]
pub(crate) struct Beside {
    pub(crate) before: bool,
    pub(crate) label: String,
}

/// DROP TYPE, DROP DOMAIN.
#[derive(Debug)]
pub(crate) struct DropTypes {
    pub(crate) is_domain: bool,
    pub(crate) names: Vec<ObjectName>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

impl CreateEnum {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateEnum> {
        if !command.has(TokenKind::Enum) {
            let what = match command.part("definition") {
                Some(_) if command.has(TokenKind::Range) => "CREATE TYPE ... AS RANGE",
                Some(_) => "CREATE TYPE of a base type",
                None if command.has(TokenKind::As) => "CREATE TYPE ... AS (...)",
                None => "CREATE TYPE without a definition",
            };
            return Err(command.unsupported(what));
        }
        Ok(CreateEnum { name: named(command)?, labels: command.constants().collect() })
    }
}

impl AlterType {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterType> {
        let mut constants = command.constants();
        let mut next = || constants.next().ok_or_else(|| Error::internal("a label is missing"));
        let change = match () {
            () if command.has(TokenKind::Add) && command.has(TokenKind::Value) => {
                let label = next()?;
                let before = command.has(TokenKind::Before);
                let beside = match before || command.has(TokenKind::After) {
                    true => Some(Beside { before, label: next()? }),
                    false => None,
                };
                TypeChange::AddValue { label, if_not_exists: command.part("if_not_exists").is_some(), beside }
            }
            () if command.has(TokenKind::Value) => TypeChange::RenameValue { from: next()?, to: next()? },
            () if command.part("owner").is_some() => TypeChange::Owner,
            () => match (command.part("rename"), command.name_behind(TokenKind::Schema)) {
                (Some(rename), _) => TypeChange::RenameTo(rename.name()?),
                (None, Some(schema)) => TypeChange::SetSchema(schema),
                (None, None) => return Err(command.unsupported("this form of ALTER TYPE")),
            },
        };
        Ok(AlterType { name: named(command)?, change })
    }
}

impl DropTypes {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<DropTypes>> {
        let is_domain = command.has(TokenKind::Domain);
        if !is_domain && !command.has(TokenKind::Type) {
            return Ok(None);
        }
        let if_exists = command.part("if_exists").is_some();
        Ok(Some(DropTypes { is_domain, names: command.type_names()?, if_exists, cascade: command.is_cascade() }))
    }
}

fn named(command: Clause<'_>) -> Result<ObjectName> {
    let name = command.named_relations()?.into_iter().next();
    name.ok_or_else(|| Error::internal("a type without a name"))
}

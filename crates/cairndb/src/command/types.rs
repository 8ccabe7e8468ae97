//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use cairn_parser::{Id, TokenKind, TypeName};

use super::clause::Clause;
use super::create_table::check_collation;
use crate::catalog::ObjectName;
use crate::error::Feature;
use crate::{Error, Result};

/// CREATE TYPE .. AS ENUM.
#[derive(Debug)]
pub(crate) struct CreateEnum {
    pub(crate) name: ObjectName,
    pub(crate) labels: Vec<String>,
}

/// CREATE TYPE .. AS (..).
#[derive(Debug)]
pub(crate) struct CreateComposite {
    pub(crate) name: ObjectName,
    pub(crate) attributes: Vec<AttributeDefinition>,
}

/// An attribute and its type.
#[derive(Debug)]
pub(crate) struct AttributeDefinition {
    pub(crate) name: String,
    pub(crate) data_type: Id<TypeName>,
    pub(crate) is_collated: bool,
}

/// What becomes of an attribute.
#[derive(Debug)]
pub(crate) enum AttributeChange {
    Add(AttributeDefinition),
    Drop { name: String, if_exists: bool },
    Rename { from: String, to: String },
    Retype(AttributeDefinition),
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
        beside: Option<EnumNeighbour>,
    },
    RenameValue {
        from: String,
        to: String,
    },
    Attributes(Vec<AttributeChange>),
    RenameTo(String),
    SetSchema(String),
    /// There is one user.
    Owner,
}

/// The label that a new one stands before or behind.
#[derive(Debug)]
pub(crate) struct EnumNeighbour {
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

impl CreateComposite {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<CreateComposite>> {
        let is_other = [TokenKind::Enum, TokenKind::Range].into_iter().any(|word| command.has(word));
        if is_other || command.part("definition").is_some() || !command.has(TokenKind::As) {
            return Ok(None);
        }
        let attributes = command.parts("attribute").map(AttributeDefinition::of).collect::<Result<_>>()?;
        Ok(Some(CreateComposite { name: named(command)?, attributes }))
    }
}

impl AttributeDefinition {
    fn of(attribute: Clause<'_>) -> Result<AttributeDefinition> {
        if let Some(collation) = attribute.part("collate") {
            check_collation(collation)?;
        }
        let is_collated = attribute.part("collate").is_some();
        Ok(AttributeDefinition { name: attribute.name()?, data_type: attribute.data_type()?, is_collated })
    }
}

impl AttributeChange {
    fn of(command: Clause<'_>) -> Result<AttributeChange> {
        if command.has(TokenKind::Add) {
            let attribute = command.part("attribute").ok_or_else(|| Error::internal("no attribute to add"))?;
            return Ok(AttributeChange::Add(AttributeDefinition::of(attribute)?));
        }
        let if_exists = command.part("if_exists");
        let name = match if_exists {
            Some(_) => command.names().last(),
            None => command.name_behind(TokenKind::Attribute),
        };
        let name = name.ok_or_else(|| Error::internal("an attribute without a name"))?;
        if command.has(TokenKind::Drop) {
            return Ok(AttributeChange::Drop { name, if_exists: if_exists.is_some() });
        }
        let collation = command.part("collate");
        collation.map_or(Ok(()), check_collation)?;
        let is_collated = collation.is_some();
        Ok(AttributeChange::Retype(AttributeDefinition { name, data_type: command.data_type()?, is_collated }))
    }
}

impl CreateEnum {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateEnum> {
        if !command.has(TokenKind::Enum) {
            return Err(match command.part("definition") {
                Some(_) if command.has(TokenKind::Range) => {
                    command.lacking(Feature::Ranges, "CREATE TYPE ... AS RANGE")
                }
                Some(_) => command.unsupported("CREATE TYPE of a base type"),
                None => command.unsupported("CREATE TYPE without a definition"),
            });
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
                    true => Some(EnumNeighbour { before, label: next()? }),
                    false => None,
                };
                TypeChange::AddValue { label, if_not_exists: command.part("if_not_exists").is_some(), beside }
            }
            () if command.part("type_command").is_some() => {
                let changes = command.parts("type_command").map(AttributeChange::of).collect::<Result<_>>()?;
                TypeChange::Attributes(changes)
            }
            () if command.has(TokenKind::Attribute) => {
                let mut names = command.names();
                let mut next = || names.next().ok_or_else(|| Error::internal("an attribute without a name"));
                let (from, to) = (next()?, next()?);
                TypeChange::Attributes(vec![AttributeChange::Rename { from, to }])
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

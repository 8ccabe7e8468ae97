//! CREATE SCHEMA, ALTER SCHEMA, DROP SCHEMA, and SET SCHEMA of what is in one.

use cairn_parser::TokenKind;

use super::SchemaCommand;
use super::clause::Clause;
use crate::catalog::{ObjectName, RelationKind};
use crate::error::Feature;
use crate::{Error, Result};

/// CREATE SCHEMA.
#[derive(Debug)]
pub(crate) struct CreateSchema {
    pub(crate) name: String,
    pub(crate) if_not_exists: bool,
    /// Commands that are run in the schema, in this order.
    pub(crate) elements: Vec<SchemaElement>,
}

/// A command in CREATE SCHEMA.
#[derive(Debug)]
pub(crate) struct SchemaElement {
    pub(crate) command: SchemaCommand,
    /// As it is written.
    pub(crate) text: String,
    /// How many characters precede it.
    pub(crate) characters_before: usize,
}

/// ALTER SCHEMA.
#[derive(Debug)]
pub(crate) struct AlterSchema {
    pub(crate) name: String,
    /// RENAME TO; `None`: OWNER TO, and there are no roles.
    pub(crate) to: Option<String>,
}

/// DROP SCHEMA.
#[derive(Debug)]
pub(crate) struct DropSchemas {
    pub(crate) names: Vec<String>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

/// ALTER .. SET SCHEMA.
#[derive(Debug)]
pub(crate) struct SetSchema {
    pub(crate) kind: RelationKind,
    pub(crate) name: ObjectName,
    pub(crate) schema: String,
    pub(crate) if_exists: bool,
}

/// What is made first, as in PostgreSQL.
const ELEMENTS: &[&str] =
    &["create_sequence", "create_table", "create_view", "create_index", "create_trigger", "create_constraint_trigger"];

impl CreateSchema {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateSchema> {
        let mut elements: Vec<_> = command.written_within("schema_element").collect();
        if let Some((grant, ..)) = elements.iter().find(|(element, ..)| element.rule() == "grant_on") {
            let error = grant.unsupported("GRANT as an element of CREATE SCHEMA");
            return Err(error.with_hint("Leave it out: there are no roles."));
        }
        elements.sort_by_key(|(element, ..)| ELEMENTS.iter().position(|first| *first == element.rule()));
        let element = |(element, text, characters_before): (Clause<'_>, &str, usize)| {
            let command = SchemaCommand::of(element)?;
            Ok::<_, Error>(SchemaElement { command, text: text.to_owned(), characters_before })
        };
        let elements = elements.into_iter().map(element).collect::<Result<_>>()?;
        let named = command.part("schema_name").ok_or_else(|| Error::internal("a schema without a name"))?;
        named.refuse_feature_word(TokenKind::Authorization, Feature::Roles, "AUTHORIZATION")?;
        Ok(CreateSchema { name: named.name()?, if_not_exists: command.part("if_not_exists").is_some(), elements })
    }
}

impl AlterSchema {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterSchema> {
        let to = command.part("rename").map(Clause::name).transpose()?;
        Ok(AlterSchema { name: command.name()?, to })
    }
}

impl DropSchemas {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Option<DropSchemas> {
        let is_schema = command.part("droppable_by_name").is_some_and(|kind| kind.has(TokenKind::Schema));
        is_schema.then(|| DropSchemas {
            names: command.names().collect(),
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
        })
    }
}

impl SetSchema {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<SetSchema>> {
        let kind = match command.rule() {
            "alter_table" => RelationKind::Table,
            "alter_view" => RelationKind::View,
            "alter_materialized_view" => RelationKind::MaterializedView,
            "alter_sequence" => RelationKind::Sequence,
            _ => return Ok(None),
        };
        let Some(schema) = command.name_behind(TokenKind::Schema) else { return Ok(None) };
        let if_exists = command.part("if_exists").is_some();
        Ok(Some(SetSchema { kind, name: command.relation()?, schema, if_exists }))
    }
}

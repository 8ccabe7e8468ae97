//! CREATE TABLE.

use cairn_parser::token::quoted;
use cairn_parser::{Expr, Id};

use super::context::Ddl;
use super::names::Chosen;
use super::sequence::serial_type;
use crate::bind::{resolve_default, resolve_generated};
use crate::catalog::{
    Column, Definition, Identity, ObjectId, OnCommit, Reference, RowExpression, Table, already_exists,
};
use crate::command::{self, ColumnDefinition, Constraint, CreateTable, SequenceOptions, TableElement};
use crate::types::{DataType, TypeCategory};
use crate::{Error, Result, SqlState};

/// As in PostgreSQL.
const COLUMNS_MAX: usize = 1600;

/// Refuses a column more than a table may have.
pub(super) fn check_column_count(before: usize) -> Result<()> {
    if before < COLUMNS_MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::TOO_MANY_COLUMNS, format!("tables can have at most {COLUMNS_MAX} columns")))
}

/// SQLSTATE 42804 for COLLATE on what is no text.
pub(super) fn check_collated(data_type: DataType) -> Result<()> {
    if data_type.element().unwrap_or(data_type).category() == TypeCategory::String {
        return Ok(());
    }
    let message = format!("collations are not supported by type {data_type}");
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
}

/// SQLSTATE 42601 where a column is said to get its values in more than one way, or to take NULL and not to.
fn refuse_contradictions(definition: &ColumnDefinition, is_serial: bool, table: &str) -> Result<()> {
    let defaults = definition.defaults.len() + usize::from(is_serial);
    let what = match (defaults, definition.identities.len(), definition.generated.len()) {
        (2.., _, _) => "multiple default values specified",
        (_, 2.., _) => "multiple identity specifications",
        (_, _, 2..) => "multiple generation clauses specified",
        (1, 1, _) => "both default and identity specified",
        (1, _, 1) => "both default and generation expression specified",
        (_, 1, 1) => "both identity and generation expression specified",
        (_, identities, _) if definition.nullable && (definition.not_null || is_serial || identities > 0) => {
            "conflicting NULL/NOT NULL declarations"
        }
        _ => return Ok(()),
    };
    Err(definition.said_twice(what, table))
}

impl Ddl<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, create.temporary)?;
        if !self.is_free(schema, &create.name.name, create.if_not_exists)? {
            return Ok("CREATE TABLE");
        }
        if create.has_storage_options {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, "storage parameters do nothing".to_owned());
        }
        let mut table = self.empty_table(schema, create.name.name.clone(), create.on_commit)?;
        let mut chosen = Chosen::default();
        chosen.take_relation(&self.catalog, schema, table.name.clone())?;
        for element in &create.elements {
            match element {
                TableElement::Column(definition) => self.add_column(&mut table, definition, &mut chosen)?,
                TableElement::Like(like) => self.copy_columns(&mut table, like, &mut chosen)?,
            }
        }
        let is_collection = create.options.collection == Some(true);
        if is_collection {
            self.add_document_columns(&mut table, &mut chosen)?;
        }
        for definition in create.columns() {
            self.set_generated(&mut table, definition)?;
        }
        for element in &create.elements {
            if let TableElement::Like(like) = element {
                self.copy_parts(&mut table, like, &mut chosen)?;
            }
        }
        let of_columns = create.columns().flat_map(|definition| &definition.constraints);
        self.add_constraints(&mut table, of_columns.chain(&create.constraints), &mut chosen)?;
        if create.options.feed.is_on == Some(true) {
            table.feed = Some(self.begin_feed(table.id, table.schema, create.options.feed)?);
        }
        if is_collection {
            self.create_collection(table, &create.options, &mut chosen)?;
        } else {
            self.store.put_table(&table)?;
            if !create.options.rules.is_empty() {
                self.reload()?;
                self.alter_rules(table.id, &create.options)?;
            }
        }
        Ok("CREATE TABLE")
    }

    /// Whether there is no relation of this name; where there is one, IF NOT EXISTS must have been said.
    pub(super) fn is_free(&mut self, schema: ObjectId, name: &str, if_not_exists: bool) -> Result<bool> {
        if self.catalog.relation_in(schema, name).is_none() {
            self.refuse_type_of_name(schema, name)?;
            return Ok(true);
        }
        if !if_not_exists {
            return Err(already_exists(name));
        }
        self.notice(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
        Ok(false)
    }

    /// SQLSTATE 42P16 for a table that is to be changed at COMMIT and is not temporary.
    pub(super) fn empty_table(&self, schema: ObjectId, name: String, on_commit: Option<OnCommit>) -> Result<Table> {
        if on_commit.is_some() && !schema.is_temporary() {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let table = Table::new(self.store.allocate_id(schema)?, name, self.dml.tx.create_tree(schema)?);
        Ok(Table { schema, on_commit: on_commit.unwrap_or_default(), ..table })
    }

    /// Primary key and unique constraints come first: a foreign key of the table may point at them.
    fn add_constraints<'c>(
        &mut self,
        table: &mut Table,
        constraints: impl Iterator<Item = &'c Constraint>,
        chosen: &mut Chosen,
    ) -> Result<()> {
        let mut foreign_keys = Vec::new();
        for constraint in constraints {
            match constraint {
                Constraint::PrimaryKey { name, columns, included, deferral } => {
                    self.set_primary_key(table, name.clone(), (columns, included, *deferral), chosen)?
                }
                Constraint::Unique { name, columns, included, nulls_equal, deferral } => {
                    let how = (*nulls_equal, *deferral);
                    self.add_unique(table, name.clone(), (columns, included), how, chosen)?;
                }
                Constraint::UsingIndex { place, .. } => {
                    let error =
                        Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use an existing index in CREATE TABLE");
                    return Err(error.at(self.parsed.position_of(*place as usize)));
                }
                // There are no rows that could violate it.
                Constraint::Check { name, condition, .. } => self.add_check(table, name.clone(), *condition, true)?,
                Constraint::ForeignKey { name, columns, references } => foreign_keys.push((name, columns, references)),
            }
        }
        foreign_keys.into_iter().try_for_each(|(name, columns, references)| {
            self.add_foreign_key(table, name.clone(), columns, references, true)
        })
    }

    /// Adds a column with its type, default, NOT NULL and identity; constraints are the caller's.
    pub(super) fn add_column(
        &mut self,
        table: &mut Table,
        definition: &ColumnDefinition,
        chosen: &mut Chosen,
    ) -> Result<()> {
        let name = definition.name.clone();
        if table.column_position(&name).is_some() {
            return Err(Error::repeated_column(name));
        }
        let serial = serial_type(&self.parsed.tree, definition.data_type);
        let (data_type, domain) = match serial {
            Some(data_type) => (data_type, None),
            None => self.typed(definition.data_type)?,
        };
        if definition.is_collated {
            check_collated(data_type)?;
        }
        let position = table.columns.len();
        check_column_count(position)?;
        let not_null = serial.is_some() || definition.not_null;
        refuse_contradictions(definition, serial.is_some(), &table.name)?;
        let domain = domain.map(|domain| domain.id);
        let mut column = Column { not_null, domain, ..Column::new(table.next_column_number(), name, data_type) };
        if serial.is_some() {
            let owner = (table.id, position);
            let sequence = self.owned_sequence(table, &column, owner, SequenceOptions::default(), chosen)?;
            column.default = Some(nextval(sequence.0, &sequence.1));
        }
        if let Some(default) = definition.defaults.first() {
            column.default = self.default_text(*default, &column)?;
        }
        if let Some(identity) = definition.identities.first() {
            self.make_identity(table, &mut column, identity, position, chosen)?;
        }
        column.generated = definition.generated.first().map(|_| RowExpression::default());
        column.is_virtual = definition.generated.first().is_some_and(|from| from.is_virtual);
        if column.is_virtual && column.domain.is_some() {
            return Err(virtual_domain(&column.name));
        }
        table.columns.push(column);
        Ok(())
    }

    /// What a generated column is computed from, once the table has all its columns.
    pub(super) fn set_generated(&self, table: &mut Table, definition: &ColumnDefinition) -> Result<()> {
        let Some(from) = definition.generated.first() else { return Ok(()) };
        let position = table.column_position(&definition.name).ok_or_else(|| Error::internal("a column is missing"))?;
        self.set_expression(table, position, from.expr)
    }

    /// What the generated column at a position is computed from, from now on.
    pub(super) fn set_expression(&self, table: &mut Table, position: usize, expr: Id<Expr>) -> Result<()> {
        let resolved =
            resolve_generated(self.text(expr), &table.columns[position], table, (&self.catalog, self.maker()))?;
        table.columns[position].generated = Some(resolved);
        Ok(())
    }

    /// A default that binds; `None` for NULL.
    pub(super) fn default_text(&self, default: Id<Expr>, column: &Column) -> Result<Option<Definition>> {
        let definition =
            resolve_default(self.text(default), (&column.name, column.data_type), &self.catalog, self.maker())?;
        // NULL is what a column has without one, unless its domain says otherwise.
        Ok((column.domain.is_some() || self.parsed.tree.get(default) != Expr::Null).then_some(definition))
    }

    pub(super) fn make_identity(
        &mut self,
        table: &Table,
        column: &mut Column,
        identity: &command::Identity,
        position: usize,
        chosen: &mut Chosen,
    ) -> Result<()> {
        if !matches!(column.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let owner = (table.id, position);
        let (sequence, _) = match &identity.sequence {
            None => self.owned_sequence(table, column, owner, identity.options, chosen)?,
            Some(name) => {
                let schema = name.schema.as_ref().map_or(Ok(table.schema), |_| self.schema_for(name, false))?;
                let name = chosen.take_relation(&self.catalog, schema, name.name.clone())?;
                self.sequence_of(schema, name, (column.data_type, owner), identity.options)?
            }
        };
        column.identity = Some(Identity { always: identity.always, sequence });
        column.not_null = true;
        Ok(())
    }

    /// The sequence of a SERIAL or identity column.
    pub(super) fn owned_sequence(
        &mut self,
        table: &Table,
        column: &Column,
        owner: (ObjectId, usize),
        options: SequenceOptions,
        chosen: &mut Chosen,
    ) -> Result<(ObjectId, String)> {
        let name = chosen.relation(&self.catalog, table, &column.name, "seq");
        self.sequence_of(table.schema, name, (column.data_type, owner), options)
    }

    fn sequence_of(
        &mut self,
        schema: ObjectId,
        name: String,
        (data_type, owner): (DataType, (ObjectId, usize)),
        options: SequenceOptions,
    ) -> Result<(ObjectId, String)> {
        let mut sequence = options.build(name.clone(), data_type)?;
        sequence.id = self.store.allocate_id(schema)?;
        sequence.schema = schema;
        sequence.owner = Some(owner);
        self.store.put_sequence(&sequence)?;
        Ok((sequence.id, quoted(&name)))
    }
}

/// The default of a SERIAL column, whose sequence is called so in SQL.
pub(super) fn nextval(id: ObjectId, sequence: &str) -> Definition {
    let call = "nextval(";
    let place = u32::try_from(call.len()).unwrap_or_default();
    let schema = String::new();
    let reference = Reference { place, object: id, schema, columns: Vec::new(), by_key: false };
    let text = format!("{call}'{}')", sequence.replace('\'', "''"));
    Definition { text, references: Some(vec![reference]) }
}

/// SQLSTATE 0A000: what a domain asks for is looked at when a row is written.
pub(super) fn virtual_domain(column: &str) -> Error {
    let message = format!("virtual generated column \"{column}\" cannot have a domain type");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint("Use the domain's base type, or STORED.")
}

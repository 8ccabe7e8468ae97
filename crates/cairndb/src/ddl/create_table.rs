//! CREATE TABLE.

use sqlparser::ast;

use super::constraints::Spec;
use super::context::Ddl;
use super::names::{Chosen, already_exists, fold, quoted, relation_name};
use super::sequence::{Definition, serial_type};
use crate::bind::bind_default;
use crate::catalog::{Column, Identity, ObjectId, Table};
use crate::types::DataType;
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

impl Ddl<'_> {
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<&'static str> {
        refuse_extras(create)?;
        let Some(name) = self.free_table_name(create)? else { return Ok("CREATE TABLE") };
        let mut table = self.empty_table(name)?;
        let mut chosen = Chosen::default();
        chosen.take_relation(&self.catalog, table.name.clone())?;
        for definition in &create.columns {
            self.add_column(&mut table, definition, &mut chosen)?;
        }
        let of_columns = create.columns.iter().flat_map(|definition| {
            let name = fold(&definition.name);
            definition.options.iter().filter_map(move |option| Spec::of_column(&name, option))
        });
        let mut specs: Vec<Spec<'_>> = of_columns.collect();
        for constraint in &create.constraints {
            specs.push(Spec::of_table(constraint)?);
        }
        self.add_constraints(&mut table, specs, &mut chosen)?;
        self.store.put_table(&table)?;
        Ok("CREATE TABLE")
    }

    /// `None`: the table exists and IF NOT EXISTS was said.
    pub(super) fn free_table_name(&mut self, create: &ast::CreateTable) -> Result<Option<String>> {
        let name = relation_name(&create.name)?;
        if self.catalog.relation_kind(&name).is_none() {
            return Ok(Some(name));
        }
        if !create.if_not_exists {
            return Err(already_exists(&name));
        }
        self.notice(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
        Ok(None)
    }

    pub(super) fn empty_table(&self, name: String) -> Result<Table> {
        Ok(Table {
            id: self.store.allocate_id()?,
            name,
            columns: Vec::new(),
            tree: self.dml.tx.create_tree()?,
            primary_key: Vec::new(),
            primary_key_name: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            layout_version: 0,
            statistics: None,
        })
    }

    /// Primary key and unique constraints come first: a foreign key of the table may point at them.
    fn add_constraints(&mut self, table: &mut Table, specs: Vec<Spec<'_>>, chosen: &mut Chosen) -> Result<()> {
        let mut foreign_keys = Vec::new();
        for spec in specs {
            match spec {
                Spec::PrimaryKey { name, columns } => self.set_primary_key(table, name, &columns, chosen)?,
                Spec::Unique { name, columns } => self.add_unique(table, name, &columns, chosen)?,
                Spec::Check { name, condition } => self.add_check(table, name, condition)?,
                Spec::ForeignKey { name, columns, constraint } => foreign_keys.push((name, columns, constraint)),
            }
        }
        foreign_keys.into_iter().try_for_each(|(name, columns, key)| self.add_foreign_key(table, name, &columns, key))
    }

    /// Adds a column with its type, default, NOT NULL and identity; constraints are the caller's.
    pub(super) fn add_column(
        &mut self,
        table: &mut Table,
        definition: &ast::ColumnDef,
        chosen: &mut Chosen,
    ) -> Result<()> {
        let name = fold(&definition.name);
        if table.column_position(&name).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let serial = serial_type(&definition.data_type);
        let data_type = match serial {
            Some(data_type) => data_type,
            None => DataType::from_ast(&definition.data_type)?,
        };
        let position = table.columns.len();
        check_column_count(position)?;
        let mut column = Column { name, data_type, not_null: serial.is_some(), default: None, identity: None };
        if serial.is_some() {
            let owner = (table.id, position);
            let sequence = self.owned_sequence(&table.name, &column, owner, Definition::default(), chosen)?;
            column.default = Some(nextval(&sequence.1));
        }
        for option in &definition.options {
            self.column_option(table, &mut column, &option.option, position, chosen)?;
        }
        table.columns.push(column);
        Ok(())
    }

    fn column_option(
        &mut self,
        table: &Table,
        column: &mut Column,
        option: &ast::ColumnOption,
        position: usize,
        chosen: &mut Chosen,
    ) -> Result<()> {
        match option {
            ast::ColumnOption::NotNull => column.not_null = true,
            ast::ColumnOption::Null => {}
            ast::ColumnOption::Default(expr) => {
                if column.default.is_some() {
                    let message = format!(
                        "multiple default values specified for column \"{}\" of table \"{}\"",
                        column.name, table.name
                    );
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                column.default = self.default_text(expr, column.data_type)?;
            }
            ast::ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } => {
                let definition = Definition::from_options(sequence_options.as_deref().unwrap_or_default())?;
                let always = *generated_as == ast::GeneratedAs::Always;
                self.make_identity(table, column, (always, definition), position, chosen)?;
            }
            ast::ColumnOption::Generated { .. } => return Err(Error::unsupported("a generated column")),
            ast::ColumnOption::PrimaryKey(_)
            | ast::ColumnOption::Unique(_)
            | ast::ColumnOption::Check(_)
            | ast::ColumnOption::ForeignKey(_)
            | ast::ColumnOption::Comment(_) => {}
            ast::ColumnOption::Collation(name) => check_collation(name)?,
            other => return Err(Error::unsupported(format!("the column option {other}"))),
        }
        Ok(())
    }

    /// The text of a default that binds; `None` for NULL.
    pub(super) fn default_text(&self, expr: &ast::Expr, data_type: DataType) -> Result<Option<String>> {
        let text = expr.to_string();
        bind_default(&text, data_type, &self.catalog)?;
        Ok((!text.eq_ignore_ascii_case("null")).then_some(text))
    }

    fn make_identity(
        &mut self,
        table: &Table,
        column: &mut Column,
        (always, definition): (bool, Definition),
        position: usize,
        chosen: &mut Chosen,
    ) -> Result<()> {
        if !matches!(column.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState("22023"), message));
        }
        let owner = (table.id, position);
        let (sequence, _) = self.owned_sequence(&table.name, column, owner, definition, chosen)?;
        column.identity = Some(Identity { always, sequence });
        column.not_null = true;
        Ok(())
    }

    /// The sequence of a SERIAL or identity column.
    fn owned_sequence(
        &mut self,
        table: &str,
        column: &Column,
        owner: (ObjectId, usize),
        definition: Definition,
        chosen: &mut Chosen,
    ) -> Result<(ObjectId, String)> {
        let name = chosen.relation(&self.catalog, table, &column.name, "seq");
        let mut sequence = definition.build(name.clone(), column.data_type)?;
        sequence.id = self.store.allocate_id()?;
        sequence.owner = Some(owner);
        self.store.put_sequence(&sequence)?;
        Ok((sequence.id, name))
    }
}

/// The default of a SERIAL column.
fn nextval(sequence: &str) -> String {
    let plain = sequence.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_');
    let name = if plain { sequence.to_string() } else { quoted(sequence) };
    format!("nextval('{}')", name.replace('\'', "''"))
}

fn check_collation(name: &ast::ObjectName) -> Result<()> {
    let text = name.to_string();
    let text = text.trim_matches('"');
    match text.strip_prefix("pg_catalog.").unwrap_or(text).trim_matches('"') {
        "C" | "POSIX" | "default" | "ucs_basic" => Ok(()),
        _ => Err(Error::unsupported(format!("collation {text}")).with_hint("Text is ordered by code points (\"C\").")),
    }
}

fn refuse_extras(create: &ast::CreateTable) -> Result<()> {
    let refused = [
        (create.temporary, "a temporary table"),
        (create.like.is_some(), "CREATE TABLE .. LIKE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_of.is_some() || create.partition_by.is_some(), "a partitioned table"),
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.on_commit.is_some(), "ON COMMIT"),
    ];
    match refused.iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(Error::unsupported(what)),
        None => Ok(()),
    }
}

//! A catalog made from CREATE TABLE and CREATE VIEW statements.

use std::sync::Arc;

use cairn_storage::TreeId;

use crate::Result;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, Column, Identity, Index, ObjectId, Sequence, Table, View};
use crate::command::{ColumnDefinition, Command, Constraint, CreateTable, CreateView, SchemaCommand, TableElement};
use crate::plan::LogicalPlan;
use crate::sql::{ParsedStatement, parse_one, split_script};
use crate::types::DataType;

/// The schema that the recorded statements speak about.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The catalog of [`SCHEMA`].
pub(super) fn catalog() -> Catalog {
    catalog_of(SCHEMA)
}

pub(super) fn catalog_of(script: &str) -> Catalog {
    let mut catalog = Catalog::default();
    for source in split_script(script) {
        let parsed = source.parse().expect(source.text);
        match Command::of(&parsed).expect(source.text) {
            Command::Schema(SchemaCommand::CreateTable(create)) => add_table(&mut catalog, &parsed, create),
            Command::Schema(SchemaCommand::CreateView(create)) => add_view(&mut catalog, &parsed, create),
            other => panic!("not a table or view: {other:?}"),
        }
    }
    catalog
}

fn add_view(catalog: &mut Catalog, parsed: &ParsedStatement, create: CreateView) {
    let CreateView { name, columns, query, .. } = create;
    let query = parsed.tree.print(query).as_str().into();
    let view = View { columns, query, ..View::new(ObjectId(900), ObjectId::PUBLIC, name.name) };
    catalog.objects_mut().add_view(Arc::new(view));
}

fn add_table(catalog: &mut Catalog, parsed: &ParsedStatement, create: CreateTable) {
    let name = create.name.name;
    let number = u32::try_from(catalog.tables().count()).expect("few tables") + 1;
    let mut table = Table::new(ObjectId(number), name.clone(), TreeId(number));
    let mut constraints = create.constraints;
    for element in create.elements {
        let TableElement::Column(definition) = element else { continue };
        table.columns.push(column(catalog, parsed, &name, &definition));
        constraints.extend(definition.constraints);
    }
    for constraint in constraints {
        let positions = |names: &[String]| -> Vec<usize> {
            names.iter().filter_map(|name| table.columns.iter().position(|column| column.name == *name)).collect()
        };
        match constraint {
            Constraint::PrimaryKey { columns, .. } => {
                let key = Index::primary(table.tree, positions(&columns));
                table.primary = Some(Arc::new(Index { name: format!("{name}_pkey"), ..key }));
            }
            Constraint::Unique { columns, .. } => {
                let index = unique(&name, &columns.join("_"), &positions(&columns));
                table.indexes.push(index);
            }
            Constraint::Check { .. } | Constraint::ForeignKey { .. } | Constraint::UsingIndex { .. } => {}
        }
    }
    catalog.objects_mut().add_table(Arc::new(table));
}

fn column(catalog: &mut Catalog, parsed: &ParsedStatement, table: &str, definition: &ColumnDefinition) -> Column {
    let data_type = DataType::from_syntax(&parsed.tree, definition.data_type, &|_, _| Ok(None)).expect("a type");
    Column {
        not_null: definition.not_null,
        default: definition.defaults.first().map(|default| parsed.tree.print(*default).as_str().into()),
        identity: definition.identities.first().map(|_| identity(catalog, table, &definition.name)),
        ..Column::new(0, definition.name.clone(), data_type)
    }
}

fn unique(table: &str, columns: &str, positions: &[usize]) -> Arc<Index> {
    Arc::new(Index {
        id: ObjectId(800),
        name: format!("{table}_{columns}_key"),
        unique: true,
        constraint: true,
        ..Index::new(TreeId(800), positions.iter().copied())
    })
}

fn identity(catalog: &mut Catalog, table: &str, column: &str) -> Identity {
    let name = format!("{table}_{column}_seq");
    let id = ObjectId(700 + u32::try_from(catalog.sequences().count()).expect("few"));
    let sequence = Sequence {
        id,
        schema: ObjectId::PUBLIC,
        name,
        data_type: DataType::BigInt,
        restarted: None,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
        generation: 0,
        change: 0,
    };
    catalog.objects_mut().add_sequence(Arc::new(sequence));
    Identity { always: true, sequence: id }
}

pub(super) fn bind(text: &str) -> Result<BoundStatement> {
    bind_statement(&parse_one(text)?, &catalog(), &mut ParameterTypes::default())
}

/// The plan of a query.
pub(super) fn plan(text: &str) -> LogicalPlan {
    match bind(text) {
        Ok(BoundStatement::Query(plan)) => plan,
        other => panic!("{text}: {other:?}"),
    }
}

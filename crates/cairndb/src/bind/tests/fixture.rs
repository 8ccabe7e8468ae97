//! A catalog made from CREATE TABLE and CREATE VIEW statements.

use std::sync::Arc;

use cairn_storage::TreeId;
use sqlparser::ast::{ColumnOption, CreateTable, Statement, TableConstraint};

use crate::Result;
use crate::bind::binder::{fold, plain_name};
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, Column, Identity, Index, IndexColumn, ObjectId, Sequence, Table, View};
use crate::plan::LogicalPlan;
use crate::sql::{parse_one, split_script};
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
        match source.parse().expect(source.text).statement {
            Statement::CreateTable(create) => add_table(&mut catalog, &create),
            Statement::CreateView(create) => {
                let name = plain_name(&create.name).expect("a name").0;
                let columns = create.columns.iter().map(|column| fold(&column.name)).collect();
                let view = View { id: ObjectId(900), name: name.clone(), columns, query: create.query.to_string() };
                catalog.views.insert(name, Arc::new(view));
            }
            other => panic!("not a table or view: {other}"),
        }
    }
    catalog
}

fn add_table(catalog: &mut Catalog, create: &CreateTable) {
    let name = plain_name(&create.name).expect("a name").0;
    let number = u32::try_from(catalog.tables.len()).expect("few tables") + 1;
    let mut table = Table {
        id: ObjectId(number),
        name: name.clone(),
        columns: vec![],
        tree: TreeId(number),
        primary_key: vec![],
        primary_key_name: Some(format!("{name}_pkey")),
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        referenced_by: vec![],
        layout_version: 0,
        statistics: None,
    };
    for (position, definition) in create.columns.iter().enumerate() {
        let mut column = Column {
            name: fold(&definition.name),
            data_type: DataType::from_ast(&definition.data_type).expect("a type"),
            not_null: false,
            default: None,
            identity: None,
        };
        for option in &definition.options {
            match &option.option {
                ColumnOption::PrimaryKey(_) => table.primary_key.push(position),
                ColumnOption::Unique(_) => table.indexes.push(unique(&name, &column.name, position)),
                ColumnOption::Default(expr) => column.default = Some(expr.to_string()),
                ColumnOption::NotNull => column.not_null = true,
                ColumnOption::Generated { .. } => column.identity = Some(identity(catalog, &name, &column.name)),
                _ => {}
            }
        }
        table.columns.push(column);
    }
    for constraint in &create.constraints {
        if let TableConstraint::PrimaryKey(key) = constraint {
            let positions = key.columns.iter().filter_map(|wanted| {
                let wanted = wanted.column.expr.to_string();
                table.columns.iter().position(|column| column.name == wanted)
            });
            table.primary_key = positions.collect();
        }
    }
    catalog.tables.insert(name, Arc::new(table));
}

fn unique(table: &str, column: &str, position: usize) -> Arc<Index> {
    Arc::new(Index {
        id: ObjectId(800),
        name: format!("{table}_{column}_key"),
        tree: TreeId(800),
        columns: vec![IndexColumn { column: position, descending: false, nulls_first: false }],
        unique: true,
        constraint: true,
    })
}

fn identity(catalog: &mut Catalog, table: &str, column: &str) -> Identity {
    let name = format!("{table}_{column}_seq");
    let id = ObjectId(700 + u32::try_from(catalog.sequences.len()).expect("few"));
    let sequence = Sequence {
        id,
        name: name.clone(),
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
        generation: 0,
    };
    catalog.sequences.insert(name, Arc::new(sequence));
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

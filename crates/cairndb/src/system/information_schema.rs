//! `information_schema`: the standard's views.

use super::describe::typed;
use super::{Rows, SystemRelation, maybe, schema_name, text, type_name, type_schema, view_columns, yes_or_no};
use crate::Value;
use crate::bind::updatable_columns;
use crate::catalog::RelationKind::View;
use crate::catalog::{Catalog, Column, Deferral, ForeignKey, ReferentialAction, Relation, Table, TriggerEvent};
use crate::types::DataType::{self, Integer, Text};
use crate::types::datetime::{DIGITS_MAX, IntervalLimit};

pub(super) const RELATIONS: &[SystemRelation] = &[
    SystemRelation {
        name: "schemata",
        kind: View,
        columns: &[("catalog_name", Text), ("schema_name", Text), ("schema_owner", Text)],
        rows: schemata,
    },
    SystemRelation {
        name: "tables",
        kind: View,
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("table_type", Text),
            ("is_insertable_into", Text),
            ("is_typed", Text),
            ("commit_action", Text),
        ],
        rows: tables,
    },
    SystemRelation {
        name: "columns",
        kind: View,
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
            ("ordinal_position", Integer),
            ("column_default", Text),
            ("is_nullable", Text),
            ("data_type", Text),
            ("character_maximum_length", Integer),
            ("character_octet_length", Integer),
            ("numeric_precision", Integer),
            ("numeric_precision_radix", Integer),
            ("numeric_scale", Integer),
            ("datetime_precision", Integer),
            ("domain_catalog", Text),
            ("domain_schema", Text),
            ("domain_name", Text),
            ("udt_catalog", Text),
            ("udt_schema", Text),
            ("udt_name", Text),
            ("is_identity", Text),
            ("identity_generation", Text),
            ("is_generated", Text),
            ("generation_expression", Text),
            ("is_updatable", Text),
        ],
        rows: columns,
    },
    SystemRelation {
        name: "domains",
        kind: View,
        columns: &[
            ("domain_catalog", Text),
            ("domain_schema", Text),
            ("domain_name", Text),
            ("data_type", Text),
            ("character_maximum_length", Integer),
            ("numeric_precision", Integer),
            ("numeric_scale", Integer),
            ("domain_default", Text),
            ("udt_catalog", Text),
            ("udt_schema", Text),
            ("udt_name", Text),
        ],
        rows: domains,
    },
    SystemRelation {
        name: "domain_constraints",
        kind: View,
        columns: &[
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
            ("domain_catalog", Text),
            ("domain_schema", Text),
            ("domain_name", Text),
            ("is_deferrable", Text),
            ("initially_deferred", Text),
        ],
        rows: domain_constraints,
    },
    SystemRelation {
        name: "views",
        kind: View,
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("view_definition", Text),
            ("check_option", Text),
            ("is_updatable", Text),
            ("is_insertable_into", Text),
            ("is_trigger_updatable", Text),
            ("is_trigger_deletable", Text),
            ("is_trigger_insertable_into", Text),
        ],
        rows: views,
    },
    SystemRelation {
        name: "table_constraints",
        kind: View,
        columns: &[
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("constraint_type", Text),
            ("is_deferrable", Text),
            ("initially_deferred", Text),
            ("enforced", Text),
        ],
        rows: table_constraints,
    },
    SystemRelation {
        name: "key_column_usage",
        kind: View,
        columns: &[
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
            ("ordinal_position", Integer),
            ("position_in_unique_constraint", Integer),
        ],
        rows: key_column_usage,
    },
    SystemRelation {
        name: "referential_constraints",
        kind: View,
        columns: &[
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
            ("unique_constraint_catalog", Text),
            ("unique_constraint_schema", Text),
            ("unique_constraint_name", Text),
            ("match_option", Text),
            ("update_rule", Text),
            ("delete_rule", Text),
        ],
        rows: referential_constraints,
    },
    SystemRelation {
        name: "check_constraints",
        kind: View,
        columns: &[
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
            ("check_clause", Text),
        ],
        rows: check_constraints,
    },
    SystemRelation {
        name: "sequences",
        kind: View,
        columns: &[
            ("sequence_catalog", Text),
            ("sequence_schema", Text),
            ("sequence_name", Text),
            ("start_value", Text),
            ("minimum_value", Text),
            ("maximum_value", Text),
            ("increment", Text),
            ("cycle_option", Text),
        ],
        rows: sequences,
    },
];

pub(super) const DATABASE: &str = crate::functions::DATABASE_NAME;

fn schemata(catalog: &Catalog, rows: &mut Rows) {
    let own = catalog.schemas().map(|(name, _)| name);
    for name in own.chain(["pg_catalog", "information_schema"]) {
        rows.add(vec![text(DATABASE), text(name), text(DATABASE)]);
    }
}

fn tables(catalog: &Catalog, rows: &mut Rows) {
    for (schema, id) in catalog.schemas() {
        for (name, relation) in catalog.relations_in(id) {
            let (kind, is_insertable) = match relation {
                Relation::Table(table) if table.is_materialized() => continue,
                Relation::Table(table) if table.is_temporary() => ("LOCAL TEMPORARY", true),
                Relation::Table(_) => ("BASE TABLE", true),
                Relation::View(view) => ("VIEW", updatable_columns(view, catalog).is_some()),
                _ => continue,
            };
            let insertable = yes_or_no(is_insertable);
            rows.add(vec![text(DATABASE), text(schema), text(name), text(kind), insertable, text("NO"), Value::Null]);
        }
    }
}

pub(super) fn standard_name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Array(_) => "ARRAY",
        DataType::Enum(_) | DataType::Composite(_) => "USER-DEFINED",
        _ => data_type.base().type_name(),
    }
}

fn domains(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.types() {
        let Some(domain) = of.domain() else { continue };
        let described = column([Value::Null, Value::Null, Value::Null], 0, domain.base, None);
        let of_base = |name: &str| {
            let columns = RELATIONS.iter().find(|relation| relation.name == "columns").map_or(&[][..], |of| of.columns);
            let at = columns.iter().position(|(column, _)| *column == name);
            at.and_then(|at| described.get(at).cloned()).unwrap_or(Value::Null)
        };
        let parent = domain.parent.and_then(|parent| catalog.type_by_id(parent));
        let is_users = parent.is_some() || type_schema(domain.base) != "pg_catalog";
        let name = if is_users { "USER-DEFINED" } else { domain.base.base().type_name() };
        let place = [text(DATABASE), schema_name(catalog, of.schema), text(&of.name), text(name)];
        let sizes = ["character_maximum_length", "numeric_precision", "numeric_scale"].map(of_base);
        let default = maybe(domain.default.as_ref().map(|default| catalog.text_of(default)));
        let [schema, udt] = match parent {
            Some(parent) => [schema_name(catalog, parent.schema), text(&parent.name)],
            None => [text(type_schema(domain.base)), Value::text(type_name(domain.base))],
        };
        let base = [default, text(DATABASE), schema, udt];
        rows.add(place.into_iter().chain(sizes).chain(base).collect());
    }
}

fn domain_constraints(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.types() {
        for check in of.domain().into_iter().flat_map(|domain| &domain.checks) {
            let schema = schema_name(catalog, of.schema);
            let constraint =
                [text(DATABASE), schema.clone(), text(&check.name), text(DATABASE), schema, text(&of.name)];
            rows.add(constraint.into_iter().chain([yes_or_no(false), yes_or_no(false)]).collect());
        }
    }
}

/// A column: where it is, its default and rules, its type.
fn column(place: [Value; 3], number: usize, data_type: DataType, of_table: Option<(&Catalog, &Column)>) -> Vec<Value> {
    let integer = |number: usize| Value::Integer(i32::try_from(number).unwrap_or(i32::MAX));
    let default = of_table.and_then(|(catalog, column)| super::describe::default(catalog, column));
    let not_null = of_table.is_some_and(|(_, column)| column.not_null);
    let identity = of_table.and_then(|(_, column)| column.identity);
    let generated = of_table.and_then(|(catalog, column)| Some((catalog, column.generated.as_ref()?)));
    let domain = of_table.and_then(|(catalog, column)| Some((catalog, catalog.type_by_id(column.domain?)?)));
    // What the domain is made of, be it another domain.
    let parent = domain.and_then(|(catalog, of)| Some((catalog, catalog.type_by_id(of.domain()?.parent?)?)));
    let name = if parent.is_some() { "USER-DEFINED" } else { standard_name(data_type) };
    let [udt_schema, udt] = match parent {
        Some((catalog, parent)) => [schema_name(catalog, parent.schema), text(&parent.name)],
        None => [text(type_schema(data_type)), Value::text(type_name(data_type))],
    };
    let [length, octets] = match data_type {
        DataType::Varchar(Some(length)) | DataType::Char(length) => {
            [integer(length as usize), integer(length as usize * 4)]
        }
        DataType::Text | DataType::Varchar(None) => [Value::Null, Value::Integer(1 << 30)],
        _ => [Value::Null, Value::Null],
    };
    let [precision, radix, scale] = match data_type {
        DataType::SmallInt => [Value::Integer(16), Value::Integer(2), Value::Integer(0)],
        DataType::Integer => [Value::Integer(32), Value::Integer(2), Value::Integer(0)],
        DataType::BigInt => [Value::Integer(64), Value::Integer(2), Value::Integer(0)],
        DataType::Real => [Value::Integer(24), Value::Integer(2), Value::Null],
        DataType::Double => [Value::Integer(53), Value::Integer(2), Value::Null],
        DataType::Numeric(Some((precision, scale))) => {
            [Value::Integer(precision.into()), Value::Integer(10), Value::Integer(scale.into())]
        }
        DataType::Numeric(None) => [Value::Null, Value::Integer(10), Value::Null],
        _ => [Value::Null, Value::Null, Value::Null],
    };
    let fraction = match data_type {
        DataType::Date => Value::Integer(0),
        DataType::Time(digits)
        | DataType::TimeTz(digits)
        | DataType::Timestamp(digits)
        | DataType::TimestampTz(digits) => Value::Integer(digits.unwrap_or(DIGITS_MAX).into()),
        DataType::Interval(limit) => Value::Integer(limit.and_then(IntervalLimit::digits).unwrap_or(DIGITS_MAX).into()),
        _ => Value::Null,
    };
    let [schema, table, called] = place;
    vec![
        text(DATABASE),
        schema,
        table,
        called,
        integer(number),
        maybe(default),
        yes_or_no(!(not_null || domain.is_some_and(|(_, of)| of.domain().is_some_and(|domain| domain.not_null)))),
        text(name),
        length,
        octets,
        precision,
        radix,
        scale,
        fraction,
        maybe(domain.map(|_| text(DATABASE))),
        maybe(domain.map(|(catalog, domain)| schema_name(catalog, domain.schema))),
        maybe(domain.map(|(_, domain)| text(&domain.name))),
        text(DATABASE),
        udt_schema,
        udt,
        yes_or_no(identity.is_some()),
        maybe(identity.map(|identity| text(if identity.always { "ALWAYS" } else { "BY DEFAULT" }))),
        text(if generated.is_some() { "ALWAYS" } else { "NEVER" }),
        maybe(generated.map(|(catalog, generated)| catalog.text_of(&generated.definition))),
        yes_or_no(of_table.is_some()),
    ]
}

/// The place of column_default.
const COLUMN_DEFAULT: usize = 5;

fn columns(catalog: &Catalog, rows: &mut Rows) {
    for (schema, id) in catalog.schemas() {
        for (name, relation) in catalog.relations_in(id) {
            let place = |column: &str| [text(schema), text(name), text(column)];
            match relation {
                Relation::Table(table) if !table.is_materialized() => {
                    for each in &table.columns {
                        let number = each.number as usize;
                        rows.add(column(place(&each.name), number, each.data_type, Some((catalog, each))));
                    }
                }
                Relation::View(view) => {
                    let updatable = updatable_columns(view, catalog).unwrap_or_default();
                    for (at, field) in view_columns(catalog, view, rows).iter().enumerate() {
                        let mut row = column(place(&field.name), at + 1, field.data_type, None);
                        if let Some(default) = view.defaults.get(&at) {
                            row[COLUMN_DEFAULT] = Value::text(typed(&catalog.text_of(default), field.data_type));
                        }
                        if let Some(is_updatable) = row.last_mut() {
                            *is_updatable = yes_or_no(updatable.get(at) == Some(&true));
                        }
                        rows.add(row);
                    }
                }
                _ => {}
            }
        }
    }
}

fn views(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        let query = Value::text(catalog.view_text(view));
        let place = [text(DATABASE), schema_name(catalog, view.schema), text(&view.name)];
        let is_updatable = yes_or_no(updatable_columns(view, catalog).is_some());
        let check = view.check.map_or("NONE".to_owned(), |check| check.name().to_ascii_uppercase());
        let rest = [query, Value::text(check), is_updatable.clone(), is_updatable];
        let by_triggers = [TriggerEvent::Update, TriggerEvent::Delete, TriggerEvent::Insert];
        let by_triggers = by_triggers.map(|event| yes_or_no(view.has_instead_of(event)));
        rows.add(place.into_iter().chain(rest).chain(by_triggers).collect());
    }
}

/// Every constraint of the table that has a name: the name, what it is, its columns.
fn constraints(table: &Table) -> Vec<(&str, &'static str, Vec<usize>)> {
    let primary = table.primary_key_name.iter().map(|name| (name.as_str(), "PRIMARY KEY", table.primary_key.clone()));
    let unique = table.indexes.iter().filter(|index| index.constraint);
    let unique = unique.map(|index| {
        let columns = index.columns.iter().map(|part| part.column).collect();
        (index.name.as_str(), if index.primary { "PRIMARY KEY" } else { "UNIQUE" }, columns)
    });
    let foreign = table.foreign_keys.iter().map(|key| (key.name.as_str(), "FOREIGN KEY", key.columns.clone()));
    let checks = table.checks.iter().map(|check| (check.name.as_str(), "CHECK", Vec::new()));
    primary.chain(unique).chain(foreign).chain(checks).collect()
}

fn table_constraints(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        let schema = schema_name(catalog, table.schema);
        for (name, kind, _) in constraints(table) {
            let constraint = [text(DATABASE), schema.clone(), text(name)];
            let of = [text(DATABASE), schema.clone(), text(&table.name), text(kind)];
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            let index =
                table.indexes.iter().find(|index| kind != "FOREIGN KEY" && index.constraint && index.name == name);
            let deferral = key.map(|key| key.deferral).or(index.map(|index| index.deferral)).unwrap_or_default();
            let is = [deferral != Deferral::Never, deferral == Deferral::Deferred, true];
            let rest = is.map(yes_or_no);
            rows.add(constraint.into_iter().chain(of).chain(rest).collect());
        }
    }
}

fn key_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        let schema = schema_name(catalog, table.schema);
        for (name, kind, columns) in constraints(table) {
            for (at, column) in (1..).zip(&columns) {
                let constraint = [text(DATABASE), schema.clone(), text(name)];
                let of = [text(DATABASE), schema.clone(), text(&table.name), text(&table.columns[*column].name)];
                let referred = match kind {
                    "FOREIGN KEY" => position_in_unique(catalog, table, name, at),
                    _ => Value::Null,
                };
                rows.add(constraint.into_iter().chain(of).chain([Value::Integer(at), referred]).collect());
            }
        }
    }
}

/// The key that a foreign key points at: its name and its columns.
fn referenced<'c>(catalog: &'c Catalog, key: &ForeignKey) -> Option<(&'c Table, &'c str, Vec<usize>)> {
    let table = catalog.table_by_id(key.referenced_table)?;
    let same = |columns: &[usize]| {
        columns.len() == key.referenced_columns.len() && columns.iter().all(|c| key.referenced_columns.contains(c))
    };
    if let Some(name) = table.primary_key_name.as_ref().filter(|_| same(&table.primary_key)) {
        return Some((table, name, table.primary_key.clone()));
    }
    table.indexes.iter().filter(|index| index.is_unique_of_all()).find_map(|index| {
        let columns: Vec<usize> = index.columns.iter().map(|part| part.column).collect();
        same(&columns).then_some((&**table, index.name.as_str(), columns))
    })
}

fn position_in_unique(catalog: &Catalog, table: &Table, name: &str, at: i32) -> Value {
    let position = || {
        let key = table.foreign_keys.iter().find(|key| key.name == name)?;
        let column = key.referenced_columns.get(usize::try_from(at).ok()? - 1)?;
        let (_, _, columns) = referenced(catalog, key)?;
        Some(Value::Integer(i32::try_from(columns.iter().position(|c| c == column)?).ok()? + 1))
    };
    maybe(position())
}

fn rule(action: ReferentialAction) -> Value {
    text(match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    })
}

fn referential_constraints(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for key in &table.foreign_keys {
            let (schema, name) = match referenced(catalog, key) {
                Some((parent, name, _)) => (schema_name(catalog, parent.schema), text(name)),
                None => (Value::Null, Value::Null),
            };
            let constraint = [text(DATABASE), schema_name(catalog, table.schema), text(&key.name), text(DATABASE)];
            let rules =
                [schema, name, text(if key.full { "FULL" } else { "NONE" }), rule(key.on_update), rule(key.on_delete)];
            rows.add(constraint.into_iter().chain(rules).collect());
        }
    }
}

fn check_constraints(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for check in &table.checks {
            let condition = Value::text(catalog.text_of(&check.condition));
            let constraint = [text(DATABASE), schema_name(catalog, table.schema), text(&check.name)];
            rows.add(constraint.into_iter().chain([condition]).collect());
        }
    }
}

fn sequences(catalog: &Catalog, rows: &mut Rows) {
    for sequence in catalog.sequences() {
        let is_internal = sequence.owner.is_some_and(|(table, column)| {
            let column = catalog.table_by_id(table).and_then(|table| table.columns.get(column));
            column.is_some_and(|column| column.identity.is_some())
        });
        if is_internal {
            continue;
        }
        let place = [text(DATABASE), schema_name(catalog, sequence.schema), text(&sequence.name)];
        let numbers = [sequence.start, sequence.min, sequence.max, sequence.increment];
        let numbers = numbers.map(|number| Value::text(number.to_string()));
        rows.add(place.into_iter().chain(numbers).chain([yes_or_no(sequence.cycle)]).collect());
    }
}

//! `information_schema`: what uses what, functions and triggers.

use super::describe::{self, Indexed, in_parentheses, indexes};
use super::information_schema::{DATABASE, standard_name};
use super::{Rows, SystemRelation, maybe, oid_of, schema_name, text, type_name, type_schema, yes_or_no};
use crate::Value;
use crate::catalog::RelationKind::View;
use crate::catalog::{
    Catalog, Definition, ObjectId, ParameterMode, Returns, Routine, RoutineKind, Table, TriggerEvent,
};
use crate::functions::Volatility;
use crate::types::DataType::{self, Integer, Text};

const TIMESTAMP: DataType = DataType::TimestampTz(None);

pub(super) const RELATIONS: &[SystemRelation] = &[
    SystemRelation {
        name: "information_schema_catalog_name",
        kind: View,
        columns: &[("catalog_name", Text)],
        rows: information_schema_catalog_name,
    },
    SystemRelation {
        name: "constraint_column_usage",
        kind: View,
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
        ],
        rows: constraint_column_usage,
    },
    SystemRelation {
        name: "constraint_table_usage",
        kind: View,
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("constraint_catalog", Text),
            ("constraint_schema", Text),
            ("constraint_name", Text),
        ],
        rows: constraint_table_usage,
    },
    SystemRelation {
        name: "view_column_usage",
        kind: View,
        columns: &[
            ("view_catalog", Text),
            ("view_schema", Text),
            ("view_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
        ],
        rows: view_column_usage,
    },
    SystemRelation {
        name: "view_table_usage",
        kind: View,
        columns: &[
            ("view_catalog", Text),
            ("view_schema", Text),
            ("view_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
        ],
        rows: view_table_usage,
    },
    SystemRelation {
        name: "triggers",
        kind: View,
        columns: &[
            ("trigger_catalog", Text),
            ("trigger_schema", Text),
            ("trigger_name", Text),
            ("event_manipulation", Text),
            ("event_object_catalog", Text),
            ("event_object_schema", Text),
            ("event_object_table", Text),
            ("action_order", Integer),
            ("action_condition", Text),
            ("action_statement", Text),
            ("action_orientation", Text),
            ("action_timing", Text),
            ("action_reference_old_table", Text),
            ("action_reference_new_table", Text),
            ("action_reference_old_row", Text),
            ("action_reference_new_row", Text),
            ("created", TIMESTAMP),
        ],
        rows: triggers,
    },
    SystemRelation {
        name: "triggered_update_columns",
        kind: View,
        columns: &[
            ("trigger_catalog", Text),
            ("trigger_schema", Text),
            ("trigger_name", Text),
            ("event_object_catalog", Text),
            ("event_object_schema", Text),
            ("event_object_table", Text),
            ("event_object_column", Text),
        ],
        rows: triggered_update_columns,
    },
    SystemRelation {
        name: "routines",
        kind: View,
        columns: &[
            ("specific_catalog", Text),
            ("specific_schema", Text),
            ("specific_name", Text),
            ("routine_catalog", Text),
            ("routine_schema", Text),
            ("routine_name", Text),
            ("routine_type", Text),
            ("data_type", Text),
            ("type_udt_catalog", Text),
            ("type_udt_schema", Text),
            ("type_udt_name", Text),
            ("routine_body", Text),
            ("routine_definition", Text),
            ("external_name", Text),
            ("external_language", Text),
            ("parameter_style", Text),
            ("is_deterministic", Text),
            ("sql_data_access", Text),
            ("is_null_call", Text),
            ("schema_level_routine", Text),
            ("security_type", Text),
        ],
        rows: routines,
    },
    SystemRelation {
        name: "parameters",
        kind: View,
        columns: &[
            ("specific_catalog", Text),
            ("specific_schema", Text),
            ("specific_name", Text),
            ("ordinal_position", Integer),
            ("parameter_mode", Text),
            ("is_result", Text),
            ("as_locator", Text),
            ("parameter_name", Text),
            ("data_type", Text),
            ("udt_catalog", Text),
            ("udt_schema", Text),
            ("udt_name", Text),
            ("parameter_default", Text),
        ],
        rows: parameters,
    },
    SystemRelation {
        name: "element_types",
        kind: View,
        columns: &[
            ("object_catalog", Text),
            ("object_schema", Text),
            ("object_name", Text),
            ("object_type", Text),
            ("collection_type_identifier", Text),
            ("data_type", Text),
            ("udt_catalog", Text),
            ("udt_schema", Text),
            ("udt_name", Text),
        ],
        rows: element_types,
    },
    SystemRelation {
        name: "column_udt_usage",
        kind: View,
        columns: &[
            ("udt_catalog", Text),
            ("udt_schema", Text),
            ("udt_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
        ],
        rows: column_udt_usage,
    },
    SystemRelation {
        name: "column_domain_usage",
        kind: View,
        columns: &[
            ("domain_catalog", Text),
            ("domain_schema", Text),
            ("domain_name", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
        ],
        rows: column_domain_usage,
    },
    SystemRelation {
        name: "table_privileges",
        kind: View,
        columns: &[
            ("grantor", Text),
            ("grantee", Text),
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("privilege_type", Text),
            ("is_grantable", Text),
            ("with_hierarchy", Text),
        ],
        rows: table_privileges,
    },
    SystemRelation { name: "enabled_roles", kind: View, columns: &[("role_name", Text)], rows: enabled_roles },
];

fn information_schema_catalog_name(_: &Catalog, rows: &mut Rows) {
    rows.put(vec![("catalog_name", text(DATABASE))]);
}

fn enabled_roles(_: &Catalog, rows: &mut Rows) {
    rows.put(vec![("role_name", text(DATABASE))]);
}

/// A constraint: its name, its schema's table, and the columns that it uses, of which table.
struct Used<'c> {
    name: &'c str,
    schema: ObjectId,
    table: &'c Table,
    columns: Vec<String>,
}

fn used(catalog: &Catalog) -> Vec<Used<'_>> {
    let mut all = vec![];
    for table in catalog.tables() {
        let plain = |columns: &[usize]| -> Vec<String> {
            columns.iter().filter_map(|column| Some(table.columns.get(*column)?.name.clone())).collect()
        };
        let schema = table.schema;
        for index in indexes(table).filter(Indexed::is_constraint) {
            all.push(Used { name: index.name, schema, table, columns: plain(&index.columns) });
        }
        for check in &table.checks {
            let is_used = |column: &&crate::catalog::Column| check.columns.contains(&column.number);
            let columns = table.columns.iter().filter(is_used).map(|column| column.name.clone()).collect();
            all.push(Used { name: &check.name, schema, table, columns });
        }
        for key in &table.foreign_keys {
            let Some(parent) = catalog.table_by_id(key.referenced_table) else { continue };
            let column = |column: &usize| Some(parent.columns.get(*column)?.name.clone());
            let columns = key.referenced_columns.iter().filter_map(column).collect();
            all.push(Used { name: &key.name, schema, table: parent, columns });
        }
    }
    all
}

fn constraint_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for of in used(catalog) {
        for column in &of.columns {
            rows.put(vec![
                ("table_catalog", text(DATABASE)),
                ("table_schema", schema_name(catalog, of.table.schema)),
                ("table_name", text(&of.table.name)),
                ("column_name", text(column)),
                ("constraint_catalog", text(DATABASE)),
                ("constraint_schema", schema_name(catalog, of.schema)),
                ("constraint_name", text(of.name)),
            ]);
        }
    }
}

fn constraint_table_usage(catalog: &Catalog, rows: &mut Rows) {
    let of_checks = |of: &Used| of.table.checks.iter().any(|check| check.name == of.name);
    for of in used(catalog).iter().filter(|of| !of_checks(of)) {
        rows.put(vec![
            ("table_catalog", text(DATABASE)),
            ("table_schema", schema_name(catalog, of.table.schema)),
            ("table_name", text(&of.table.name)),
            ("constraint_catalog", text(DATABASE)),
            ("constraint_schema", schema_name(catalog, of.schema)),
            ("constraint_name", text(of.name)),
        ]);
    }
}

/// The schema, the name and the used columns of each relation that a definition speaks of, once.
fn spoken_of(catalog: &Catalog, definition: &Definition) -> Vec<(ObjectId, String, Vec<String>)> {
    let mut all: Vec<(ObjectId, String, Vec<String>)> = vec![];
    for reference in definition.references() {
        let (schema, name, columns) =
            match (catalog.table_by_id(reference.object), catalog.view_by_id(reference.object)) {
                (Some(table), _) if !table.is_materialized() => {
                    let used = |number: u32| reference.columns.iter().any(|known| known.number == number && known.used);
                    let columns = table.columns.iter().filter(|column| used(column.number));
                    (table.schema, &table.name, columns.map(|column| column.name.clone()).collect::<Vec<_>>())
                }
                (_, Some(view)) => {
                    let columns = reference.columns.iter().filter(|known| known.used);
                    (view.schema, &view.name, columns.map(|known| known.name.clone()).collect())
                }
                _ => continue,
            };
        match all.iter_mut().find(|(other, called, _)| *other == schema && called == name) {
            Some((_, _, known)) => known.extend(columns),
            None => all.push((schema, name.clone(), columns)),
        }
    }
    for (_, _, columns) in &mut all {
        columns.sort();
        columns.dedup();
    }
    all
}

fn view_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        for (schema, name, columns) in spoken_of(catalog, &view.query) {
            for column in columns {
                rows.put(vec![
                    ("view_catalog", text(DATABASE)),
                    ("view_schema", schema_name(catalog, view.schema)),
                    ("view_name", text(&view.name)),
                    ("table_catalog", text(DATABASE)),
                    ("table_schema", schema_name(catalog, schema)),
                    ("table_name", text(&name)),
                    ("column_name", Value::text(column)),
                ]);
            }
        }
    }
}

fn view_table_usage(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        for (schema, name, _) in spoken_of(catalog, &view.query) {
            rows.put(vec![
                ("view_catalog", text(DATABASE)),
                ("view_schema", schema_name(catalog, view.schema)),
                ("view_name", text(&view.name)),
                ("table_catalog", text(DATABASE)),
                ("table_schema", schema_name(catalog, schema)),
                ("table_name", Value::text(name)),
            ]);
        }
    }
}

fn triggers(catalog: &Catalog, rows: &mut Rows) {
    for (on, of) in catalog.triggers() {
        let same_time = |event: TriggerEvent| {
            let kind = (of.timing, of.per_row);
            let others = on.triggers().iter().filter(move |other| (other.timing, other.per_row) == kind);
            let before = others.filter(|other| other.events.contains(&event) && other.name <= of.name);
            i32::try_from(before.count()).unwrap_or(i32::MAX)
        };
        let routine = catalog.routine_by_id(of.routine).and_then(|function| function.routine());
        let called = routine.map_or_else(String::new, |routine| {
            catalog.shown_routine(routine).split('(').next().unwrap_or_default().to_owned()
        });
        let args: Vec<String> = of.args.iter().map(|arg| format!("'{}'", arg.replace('\'', "''"))).collect();
        // The standard knows none for TRUNCATE.
        for event in of.events.iter().filter(|event| **event != TriggerEvent::Truncate) {
            rows.put(vec![
                ("trigger_catalog", text(DATABASE)),
                ("trigger_schema", schema_name(catalog, on.schema())),
                ("trigger_name", text(&of.name)),
                ("event_manipulation", text(event.name())),
                ("event_object_catalog", text(DATABASE)),
                ("event_object_schema", schema_name(catalog, on.schema())),
                ("event_object_table", text(on.name())),
                ("action_order", Value::Integer(same_time(*event))),
                ("action_condition", maybe(of.when.as_deref().map(|when| Value::text(in_parentheses(when))))),
                ("action_statement", Value::text(format!("EXECUTE FUNCTION {called}({})", args.join(", ")))),
                ("action_orientation", text(if of.per_row { "ROW" } else { "STATEMENT" })),
                ("action_timing", text(of.timing.name())),
            ]);
        }
    }
}

fn triggered_update_columns(catalog: &Catalog, rows: &mut Rows) {
    for (on, of) in catalog.triggers() {
        for column in on.columns_of(of) {
            rows.put(vec![
                ("trigger_catalog", text(DATABASE)),
                ("trigger_schema", schema_name(catalog, on.schema())),
                ("trigger_name", text(&of.name)),
                ("event_object_catalog", text(DATABASE)),
                ("event_object_schema", schema_name(catalog, on.schema())),
                ("event_object_table", text(on.name())),
                ("event_object_column", text(column)),
            ]);
        }
    }
}

fn specific_name(of: &Routine) -> Value {
    Value::text(format!("{}_{}", of.name, oid_of(of.id)))
}

fn routines(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        let schema = schema_name(catalog, of.schema);
        let is_procedure = of.kind == RoutineKind::Procedure;
        let mut row = vec![
            ("specific_catalog", text(DATABASE)),
            ("specific_schema", schema.clone()),
            ("specific_name", specific_name(of)),
            ("routine_catalog", text(DATABASE)),
            ("routine_schema", schema),
            ("routine_name", text(&of.name)),
            ("routine_type", text(if is_procedure { "PROCEDURE" } else { "FUNCTION" })),
            ("routine_body", text(if describe::language(of) == "sql" { "SQL" } else { "EXTERNAL" })),
            ("routine_definition", text(&of.body)),
            ("external_language", Value::text(describe::language(of).to_uppercase())),
            ("parameter_style", text("GENERAL")),
            ("is_deterministic", yes_or_no(of.volatility == Volatility::Immutable)),
            ("sql_data_access", text("MODIFIES")),
            ("schema_level_routine", text("YES")),
            ("security_type", text("INVOKER")),
        ];
        if !is_procedure {
            let (name, udt) = match of.returns {
                Returns::Void => (text("void"), text("void")),
                Returns::Trigger => (text("trigger"), text("trigger")),
                Returns::Type(data_type) => (text(standard_name(data_type)), Value::text(type_name(data_type))),
                Returns::Any(declared) => (text(declared.type_name()), text(declared.type_name())),
                Returns::Row | Returns::RowOf(_) | Returns::Record => (text("record"), text("record")),
            };
            let schema = if let Returns::Type(data_type) = of.returns { type_schema(data_type) } else { "pg_catalog" };
            row.extend([
                ("data_type", name),
                ("type_udt_catalog", text(DATABASE)),
                ("type_udt_schema", text(schema)),
                ("type_udt_name", udt),
                ("is_null_call", yes_or_no(of.strict)),
            ]);
        }
        rows.put(row);
    }
}

fn parameters(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        for (at, parameter) in (1..).zip(&of.parameters) {
            let mode = match parameter.shown_mode() {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::InOut => "INOUT",
                ParameterMode::Out | ParameterMode::Table => "OUT",
            };
            let default = parameter
                .default
                .as_ref()
                .map(|default| describe::typed(&catalog.text_of(default), parameter.data_type));
            let (name, schema, udt) = match parameter.pseudo {
                Some(pseudo) => (text(pseudo.type_name()), "pg_catalog", text(pseudo.type_name())),
                None => {
                    let of = parameter.data_type;
                    (text(standard_name(of)), type_schema(of), Value::text(type_name(of)))
                }
            };
            rows.put(vec![
                ("specific_catalog", text(DATABASE)),
                ("specific_schema", schema_name(catalog, of.schema)),
                ("specific_name", specific_name(of)),
                ("ordinal_position", Value::Integer(at)),
                ("parameter_mode", text(mode)),
                ("is_result", text("NO")),
                ("as_locator", text("NO")),
                ("parameter_name", maybe(parameter.name.as_deref().map(text))),
                ("data_type", name),
                ("udt_catalog", text(DATABASE)),
                ("udt_schema", text(schema)),
                ("udt_name", udt),
                ("parameter_default", maybe(default)),
            ]);
        }
    }
}

fn element_types(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.base_tables() {
        for (at, column) in (1..).zip(&table.columns) {
            let Some(element) = column.data_type.element() else { continue };
            rows.put(vec![
                ("object_catalog", text(DATABASE)),
                ("object_schema", schema_name(catalog, table.schema)),
                ("object_name", text(&table.name)),
                ("object_type", text("TABLE")),
                ("collection_type_identifier", Value::text(at.to_string())),
                ("data_type", text(standard_name(element))),
                ("udt_catalog", text(DATABASE)),
                ("udt_schema", text(type_schema(element))),
                ("udt_name", Value::text(type_name(element))),
            ]);
        }
    }
}

fn column_udt_usage(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.base_tables() {
        for column in &table.columns {
            rows.put(vec![
                ("udt_catalog", text(DATABASE)),
                ("udt_schema", text(type_schema(column.data_type))),
                ("udt_name", Value::text(type_name(column.data_type))),
                ("table_catalog", text(DATABASE)),
                ("table_schema", schema_name(catalog, table.schema)),
                ("table_name", text(&table.name)),
                ("column_name", text(&column.name)),
            ]);
        }
    }
}

fn column_domain_usage(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.base_tables() {
        for column in &table.columns {
            let Some(domain) = column.domain.and_then(|domain| catalog.type_by_id(domain)) else { continue };
            rows.put(vec![
                ("domain_catalog", text(DATABASE)),
                ("domain_schema", schema_name(catalog, domain.schema)),
                ("domain_name", text(&domain.name)),
                ("table_catalog", text(DATABASE)),
                ("table_schema", schema_name(catalog, table.schema)),
                ("table_name", text(&table.name)),
                ("column_name", text(&column.name)),
            ]);
        }
    }
}

/// There is one user, who may do everything.
fn table_privileges(catalog: &Catalog, rows: &mut Rows) {
    let tables = catalog.base_tables().map(|table| (table.schema, table.name.as_str()));
    let views = catalog.views().map(|view| (view.schema, view.name.as_str()));
    for (schema, name) in tables.chain(views) {
        for may in ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"] {
            rows.put(vec![
                ("grantor", text(DATABASE)),
                ("grantee", text(DATABASE)),
                ("table_catalog", text(DATABASE)),
                ("table_schema", schema_name(catalog, schema)),
                ("table_name", text(name)),
                ("privilege_type", text(may)),
                ("is_grantable", text("YES")),
                ("with_hierarchy", yes_or_no(may == "SELECT")),
            ]);
        }
    }
}

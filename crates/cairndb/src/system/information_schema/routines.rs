//! Functions, procedures, their parameters, and triggers.

use super::types::TypeName;
use super::{Named, ROUTINE, SPECIFIC, TRIGGER, located, located_in};
use crate::Value;
use crate::catalog::{
    Catalog, OfDomain, ParameterMode, Returns, Routine, RoutineKind, RoutineParameter, Trigger, TriggerEvent, Triggered,
};
use crate::functions::Volatility;
use crate::system::describe::{self, Telling, in_parentheses};
use crate::system::{Rows, maybe, oid_of, schema_name, text, yes_or_no};
use crate::types::DataType;

pub(super) fn triggers(catalog: &Catalog, rows: &mut Rows) {
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
            let mut row = trigger_place(catalog, on, of);
            row.extend([
                ("event_manipulation", text(event.name())),
                ("action_order", Value::Integer(same_time(*event))),
                ("action_condition", maybe(of.when.as_deref().map(|when| Value::text(in_parentheses(when))))),
                ("action_statement", Value::text(format!("EXECUTE FUNCTION {called}({})", args.join(", ")))),
                ("action_orientation", text(if of.per_row { "ROW" } else { "STATEMENT" })),
                ("action_timing", text(of.timing.name())),
                ("action_reference_old_table", maybe(of.old_table.as_deref().map(text))),
                ("action_reference_new_table", maybe(of.new_table.as_deref().map(text))),
            ]);
            rows.put_known(row);
        }
    }
}

fn trigger_place(catalog: &Catalog, on: Triggered<'_>, of: &Trigger) -> Named {
    let place = ["event_object_catalog", "event_object_schema", "event_object_table"];
    let mut row = located(TRIGGER, catalog, on.schema(), &of.name);
    row.extend(located(place, catalog, on.schema(), on.name()));
    row
}

pub(super) fn triggered_update_columns(catalog: &Catalog, rows: &mut Rows) {
    for (on, of) in catalog.triggers() {
        for column in on.columns_of(of) {
            let mut row = trigger_place(catalog, on, of);
            row.push(("event_object_column", text(column)));
            rows.put_known(row);
        }
    }
}

/// What tells it from others of its name.
pub(super) fn specific_name(of: &Routine) -> Value {
    Value::text(format!("{}_{}", of.name, oid_of(of.id)))
}

/// Whether it gives something: a procedure does not.
pub(super) fn has_result(of: &Routine) -> bool {
    of.kind != RoutineKind::Procedure
}

/// The type of what a call gives, if values have it.
pub(super) fn type_of_result(of: &Routine) -> Option<DataType> {
    if let Returns::Type(data_type) = of.returns { Some(data_type) } else { None }
}

/// The type of a parameter, if values have it.
pub(super) fn type_of_values(of: &RoutineParameter) -> Option<DataType> {
    (of.pseudo.is_none() && of.row_of.is_none()).then_some(of.data_type)
}

/// That of a domain that it is of.
fn domain_name(catalog: &Catalog, domain: Option<&OfDomain>) -> Option<TypeName> {
    catalog.type_by_id(domain?.id).map(|of| TypeName::of_domain(catalog, of))
}

fn result_name(catalog: &Catalog, of: &Routine) -> TypeName {
    if let Some(name) = domain_name(catalog, of.domain.as_ref()) {
        return name;
    }
    match of.returns {
        Returns::Void => TypeName::pseudo("void"),
        Returns::Trigger => TypeName::pseudo("trigger"),
        Returns::Type(data_type) => TypeName::of(data_type),
        Returns::Any(declared) => TypeName::pseudo(declared.type_name()),
        Returns::Row | Returns::Record => TypeName::pseudo("record"),
        Returns::RowOf(table) => match catalog.table_by_id(table) {
            Some(table) => TypeName::of_rows(catalog, table),
            None => TypeName::pseudo("record"),
        },
    }
}

/// An aggregate is neither.
fn routine_type(of: &Routine) -> Value {
    match of.kind {
        RoutineKind::Function => text("FUNCTION"),
        RoutineKind::Procedure => text("PROCEDURE"),
        RoutineKind::Aggregate => Value::Null,
    }
}

pub(super) fn routines(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        let mut row = located_in(catalog, SPECIFIC, schema_name(catalog, of.schema), specific_name(of));
        row.extend(located(ROUTINE, catalog, of.schema, &of.name));
        row.extend([
            ("routine_type", routine_type(of)),
            ("routine_body", text(if describe::language(of) == "sql" { "SQL" } else { "EXTERNAL" })),
            ("routine_definition", text(&of.body)),
            ("external_language", Value::text(describe::language(of).to_uppercase())),
            ("parameter_style", text("GENERAL")),
            ("is_deterministic", yes_or_no(of.volatility == Volatility::Immutable)),
            ("sql_data_access", text("MODIFIES")),
            ("schema_level_routine", yes_or_no(true)),
            ("max_dynamic_result_sets", Value::Integer(0)),
            ("security_type", text("INVOKER")),
            ("as_locator", yes_or_no(false)),
            ("is_udt_dependent", yes_or_no(false)),
        ]);
        if has_result(of) {
            let TypeName { standard, schema, name } = result_name(catalog, of);
            row.extend(located_in(catalog, ["type_udt_catalog", "type_udt_schema", "type_udt_name"], schema, name));
            row.extend([
                ("data_type", standard),
                ("dtd_identifier", text("0")),
                ("is_null_call", yes_or_no(of.strict)),
            ]);
        }
        rows.put_known(row);
    }
}

pub(super) fn parameters(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for of in catalog.routines().filter_map(|function| function.routine()) {
        for (at, parameter) in (1..).zip(&of.parameters) {
            let mode = match parameter.shown_mode() {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::InOut => "INOUT",
                ParameterMode::Out | ParameterMode::Table => "OUT",
            };
            let default = parameter.default.as_ref().map(|default| catalog.text_of(default));
            let mut row = located_in(catalog, SPECIFIC, schema_name(catalog, of.schema), specific_name(of));
            row.extend(parameter_name(catalog, parameter).told(catalog));
            row.extend([
                ("ordinal_position", Value::Integer(at)),
                ("parameter_mode", text(mode)),
                ("is_result", yes_or_no(false)),
                ("as_locator", yes_or_no(false)),
                ("parameter_name", maybe(parameter.name.as_deref().map(text))),
                ("dtd_identifier", Value::text(at.to_string())),
                ("parameter_default", maybe(default.map(|text| told.value(&text, parameter.data_type)))),
            ]);
            rows.put_known(row);
        }
    }
}

fn parameter_name(catalog: &Catalog, of: &RoutineParameter) -> TypeName {
    if let Some(name) = domain_name(catalog, of.domain.as_ref()) {
        return name;
    }
    match (of.pseudo, of.row_of.and_then(|table| catalog.table_by_id(table))) {
        (Some(pseudo), _) => TypeName::pseudo(pseudo.type_name()),
        (None, Some(table)) => TypeName::of_rows(catalog, table),
        (None, None) => TypeName::of(of.data_type),
    }
}

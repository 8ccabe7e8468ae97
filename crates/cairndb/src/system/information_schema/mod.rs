//! `information_schema`: the standard's views.

mod constraints;
mod privileges;
mod relations;
mod routines;
mod types;
mod usage;

use super::{Made, Rows, schema_name, text};
use crate::Value;
use crate::catalog::{Catalog, ObjectId};

/// What makes the rows of those that have any.
pub(super) const MADE: &[(&str, Made)] = &[
    ("information_schema_catalog_name", Made::Rows(catalog_name)),
    ("schemata", Made::Rows(relations::schemata)),
    ("tables", Made::Rows(relations::tables)),
    ("columns", Made::Rows(relations::columns)),
    ("views", Made::Rows(relations::views)),
    ("sequences", Made::Rows(relations::sequences)),
    ("table_constraints", Made::Rows(constraints::table_constraints)),
    ("key_column_usage", Made::Rows(constraints::key_column_usage)),
    ("referential_constraints", Made::Rows(constraints::referential_constraints)),
    ("check_constraints", Made::Rows(constraints::check_constraints)),
    ("domain_constraints", Made::Rows(constraints::domain_constraints)),
    ("constraint_column_usage", Made::Rows(constraints::constraint_column_usage)),
    ("constraint_table_usage", Made::Rows(constraints::constraint_table_usage)),
    ("domains", Made::Rows(types::domains)),
    ("user_defined_types", Made::Rows(types::user_defined_types)),
    ("attributes", Made::Rows(types::attributes)),
    ("element_types", Made::Rows(types::element_types)),
    ("data_type_privileges", Made::Rows(types::data_type_privileges)),
    ("character_sets", Made::Rows(types::character_sets)),
    ("collations", Made::Rows(types::collations)),
    ("collation_character_set_applicability", Made::Rows(types::collated_sets)),
    ("routines", Made::Rows(routines::routines)),
    ("parameters", Made::Rows(routines::parameters)),
    ("triggers", Made::Rows(routines::triggers)),
    ("triggered_update_columns", Made::Rows(routines::triggered_update_columns)),
    ("view_table_usage", Made::Rows(usage::view_table_usage)),
    ("view_column_usage", Made::Rows(usage::view_column_usage)),
    ("column_column_usage", Made::Rows(usage::column_column_usage)),
    ("column_domain_usage", Made::Rows(usage::column_domain_usage)),
    ("column_udt_usage", Made::Rows(usage::column_udt_usage)),
    ("domain_udt_usage", Made::Rows(usage::domain_udt_usage)),
    ("enabled_roles", Made::Rows(privileges::enabled_roles)),
    ("table_privileges", Made::Rows(privileges::of_tables)),
    ("role_table_grants", Made::Rows(privileges::of_tables)),
    ("column_privileges", Made::Rows(privileges::of_columns)),
    ("role_column_grants", Made::Rows(privileges::of_columns)),
    ("routine_privileges", Made::Rows(privileges::of_routines)),
    ("role_routine_grants", Made::Rows(privileges::of_routines)),
    ("udt_privileges", Made::Rows(privileges::of_types)),
    ("role_udt_grants", Made::Rows(privileges::of_types)),
    ("usage_privileges", Made::Rows(privileges::of_usage)),
    ("role_usage_grants", Made::Rows(privileges::of_usage)),
];

/// A row or a part of one, by its columns' names.
type Named = Vec<(&'static str, Value)>;

/// The columns that say where an object is: the database, the schema, the name.
type Place = [&'static str; 3];

const COLLATION: Place = ["collation_catalog", "collation_schema", "collation_name"];
const CONSTRAINT: Place = ["constraint_catalog", "constraint_schema", "constraint_name"];
const DOMAIN: Place = ["domain_catalog", "domain_schema", "domain_name"];
const OBJECT: Place = ["object_catalog", "object_schema", "object_name"];
const ROUTINE: Place = ["routine_catalog", "routine_schema", "routine_name"];
const SPECIFIC: Place = ["specific_catalog", "specific_schema", "specific_name"];
const TABLE: Place = ["table_catalog", "table_schema", "table_name"];
const TRIGGER: Place = ["trigger_catalog", "trigger_schema", "trigger_name"];
const UDT: Place = ["udt_catalog", "udt_schema", "udt_name"];
const VIEW: Place = ["view_catalog", "view_schema", "view_name"];

fn located(place: Place, catalog: &Catalog, schema: ObjectId, name: &str) -> Named {
    located_in(catalog, place, schema_name(catalog, schema), text(name))
}

fn located_in(catalog: &Catalog, [database, of, called]: Place, schema: Value, name: Value) -> Named {
    vec![(database, text(catalog.database_name())), (of, schema), (called, name)]
}

fn number(number: usize) -> Value {
    Value::Integer(i32::try_from(number).unwrap_or(i32::MAX))
}

fn catalog_name(catalog: &Catalog, rows: &mut Rows) {
    rows.put_known(vec![("catalog_name", text(catalog.database_name()))]);
}

//! `information_schema`: the standard's views.

mod columns;
mod constraints;
mod empty;
mod privileges;
mod relations;
mod routines;
mod types;
mod usage;

use self::columns::Columns;
use super::{Made, Rows, SystemRelation, schema_name, text};
use crate::Value;
use crate::catalog::{Catalog, ObjectId, RelationKind};

pub(super) const RELATIONS: [&[SystemRelation]; 2] = [OF_SCHEMA, empty::RELATIONS];

const OF_SCHEMA: &[SystemRelation] = &[
    view("information_schema_catalog_name", columns::INFORMATION_SCHEMA_CATALOG_NAME, catalog_name),
    view("schemata", columns::SCHEMATA, relations::schemata),
    view("tables", columns::TABLES, relations::tables),
    view("columns", columns::COLUMNS, relations::columns),
    view("views", columns::VIEWS, relations::views),
    view("sequences", columns::SEQUENCES, relations::sequences),
    view("table_constraints", columns::TABLE_CONSTRAINTS, constraints::table_constraints),
    view("key_column_usage", columns::KEY_COLUMN_USAGE, constraints::key_column_usage),
    view("referential_constraints", columns::REFERENTIAL_CONSTRAINTS, constraints::referential_constraints),
    view("check_constraints", columns::CHECK_CONSTRAINTS, constraints::check_constraints),
    view("domain_constraints", columns::DOMAIN_CONSTRAINTS, constraints::domain_constraints),
    view("constraint_column_usage", columns::CONSTRAINT_COLUMN_USAGE, constraints::constraint_column_usage),
    view("constraint_table_usage", columns::CONSTRAINT_TABLE_USAGE, constraints::constraint_table_usage),
    view("domains", columns::DOMAINS, types::domains),
    view("user_defined_types", columns::USER_DEFINED_TYPES, types::user_defined_types),
    view("attributes", columns::ATTRIBUTES, types::attributes),
    view("element_types", columns::ELEMENT_TYPES, types::element_types),
    view("data_type_privileges", columns::DATA_TYPE_PRIVILEGES, types::data_type_privileges),
    view("character_sets", columns::CHARACTER_SETS, types::character_sets),
    view("collations", columns::COLLATIONS, types::collations),
    view("collation_character_set_applicability", columns::COLLATION_CHARACTER_SET_APPLICABILITY, types::collated_sets),
    view("routines", columns::ROUTINES, routines::routines),
    view("parameters", columns::PARAMETERS, routines::parameters),
    view("triggers", columns::TRIGGERS, routines::triggers),
    view("triggered_update_columns", columns::TRIGGERED_UPDATE_COLUMNS, routines::triggered_update_columns),
    view("view_table_usage", columns::VIEW_TABLE_USAGE, usage::view_table_usage),
    view("view_column_usage", columns::VIEW_COLUMN_USAGE, usage::view_column_usage),
    view("column_column_usage", columns::COLUMN_COLUMN_USAGE, usage::column_column_usage),
    view("column_domain_usage", columns::COLUMN_DOMAIN_USAGE, usage::column_domain_usage),
    view("column_udt_usage", columns::COLUMN_UDT_USAGE, usage::column_udt_usage),
    view("domain_udt_usage", columns::DOMAIN_UDT_USAGE, usage::domain_udt_usage),
    view("enabled_roles", columns::ENABLED_ROLES, privileges::enabled_roles),
    view("table_privileges", columns::TABLE_PRIVILEGES, privileges::of_tables),
    view("role_table_grants", columns::TABLE_PRIVILEGES, privileges::of_tables),
    view("column_privileges", columns::COLUMN_PRIVILEGES, privileges::of_columns),
    view("role_column_grants", columns::COLUMN_PRIVILEGES, privileges::of_columns),
    view("routine_privileges", columns::ROUTINE_PRIVILEGES, privileges::of_routines),
    view("role_routine_grants", columns::ROUTINE_PRIVILEGES, privileges::of_routines),
    view("udt_privileges", columns::UDT_PRIVILEGES, privileges::of_types),
    view("role_udt_grants", columns::UDT_PRIVILEGES, privileges::of_types),
    view("usage_privileges", columns::USAGE_PRIVILEGES, privileges::of_usage),
    view("role_usage_grants", columns::USAGE_PRIVILEGES, privileges::of_usage),
];

const DATABASE: &str = crate::functions::DATABASE_NAME;

const fn view(name: &'static str, columns: Columns, rows: fn(&Catalog, &mut Rows)) -> SystemRelation {
    SystemRelation { name, kind: RelationKind::View, columns, made: Made::Rows(rows) }
}

/// A view of what there is nothing of here.
const fn nothing(name: &'static str, columns: Columns) -> SystemRelation {
    SystemRelation { name, kind: RelationKind::View, columns, made: Made::Nothing }
}

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
    located_in(place, schema_name(catalog, schema), text(name))
}

fn located_in([catalog, of, called]: Place, schema: Value, name: Value) -> Named {
    vec![(catalog, text(DATABASE)), (of, schema), (called, name)]
}

fn number(number: usize) -> Value {
    Value::Integer(i32::try_from(number).unwrap_or(i32::MAX))
}

fn catalog_name(_: &Catalog, rows: &mut Rows) {
    rows.put_known(vec![("catalog_name", text(DATABASE))]);
}

//! The columns of `information_schema`'s views, in PostgreSQL's order. The standard's domains are the types that PostgreSQL makes
//! them of: `sql_identifier` is `name`, `character_data` is [`TEXT`], `cardinal_number` is `integer`.

use crate::types::DataType::{self, Integer, Name};

pub(super) type Columns = &'static [(&'static str, DataType)];

/// `character_data`
pub(super) const TEXT: DataType = DataType::Varchar(None);
/// `yes_or_no`
pub(super) const YES_OR_NO: DataType = DataType::Varchar(Some(3));
/// `time_stamp`
pub(super) const MOMENT: DataType = DataType::TimestampTz(Some(2));

pub(super) const ATTRIBUTES: Columns = &[
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("attribute_name", Name),
    ("ordinal_position", Integer),
    ("attribute_default", TEXT),
    ("is_nullable", YES_OR_NO),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("attribute_udt_catalog", Name),
    ("attribute_udt_schema", Name),
    ("attribute_udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
    ("is_derived_reference_attribute", YES_OR_NO),
];

pub(super) const CHARACTER_SETS: Columns = &[
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("character_repertoire", Name),
    ("form_of_use", Name),
    ("default_collate_catalog", Name),
    ("default_collate_schema", Name),
    ("default_collate_name", Name),
];

pub(super) const CHECK_CONSTRAINTS: Columns =
    &[("constraint_catalog", Name), ("constraint_schema", Name), ("constraint_name", Name), ("check_clause", TEXT)];

pub(super) const COLLATION_CHARACTER_SET_APPLICABILITY: Columns = &[
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
];

pub(super) const COLLATIONS: Columns =
    &[("collation_catalog", Name), ("collation_schema", Name), ("collation_name", Name), ("pad_attribute", TEXT)];

pub(super) const COLUMN_COLUMN_USAGE: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
    ("dependent_column", Name),
];

pub(super) const COLUMN_DOMAIN_USAGE: Columns = &[
    ("domain_catalog", Name),
    ("domain_schema", Name),
    ("domain_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
];

pub(super) const COLUMN_PRIVILEGES: Columns = &[
    ("grantor", Name),
    ("grantee", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
    ("privilege_type", TEXT),
    ("is_grantable", YES_OR_NO),
];

pub(super) const COLUMN_UDT_USAGE: Columns = &[
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
];

pub(super) const COLUMNS: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
    ("ordinal_position", Integer),
    ("column_default", TEXT),
    ("is_nullable", YES_OR_NO),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("domain_catalog", Name),
    ("domain_schema", Name),
    ("domain_name", Name),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
    ("is_self_referencing", YES_OR_NO),
    ("is_identity", YES_OR_NO),
    ("identity_generation", TEXT),
    ("identity_start", TEXT),
    ("identity_increment", TEXT),
    ("identity_maximum", TEXT),
    ("identity_minimum", TEXT),
    ("identity_cycle", YES_OR_NO),
    ("is_generated", TEXT),
    ("generation_expression", TEXT),
    ("is_updatable", YES_OR_NO),
];

pub(super) const CONSTRAINT_COLUMN_USAGE: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
];

pub(super) const CONSTRAINT_TABLE_USAGE: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
];

pub(super) const DATA_TYPE_PRIVILEGES: Columns = &[
    ("object_catalog", Name),
    ("object_schema", Name),
    ("object_name", Name),
    ("object_type", TEXT),
    ("dtd_identifier", Name),
];

pub(super) const DOMAIN_CONSTRAINTS: Columns = &[
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
    ("domain_catalog", Name),
    ("domain_schema", Name),
    ("domain_name", Name),
    ("is_deferrable", YES_OR_NO),
    ("initially_deferred", YES_OR_NO),
];

pub(super) const DOMAIN_UDT_USAGE: Columns = &[
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("domain_catalog", Name),
    ("domain_schema", Name),
    ("domain_name", Name),
];

pub(super) const DOMAINS: Columns = &[
    ("domain_catalog", Name),
    ("domain_schema", Name),
    ("domain_name", Name),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("domain_default", TEXT),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
];

pub(super) const ELEMENT_TYPES: Columns = &[
    ("object_catalog", Name),
    ("object_schema", Name),
    ("object_name", Name),
    ("object_type", TEXT),
    ("collection_type_identifier", Name),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("domain_default", TEXT),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
];

pub(super) const ENABLED_ROLES: Columns = &[("role_name", Name)];

pub(super) const INFORMATION_SCHEMA_CATALOG_NAME: Columns = &[("catalog_name", Name)];

pub(super) const KEY_COLUMN_USAGE: Columns = &[
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
    ("ordinal_position", Integer),
    ("position_in_unique_constraint", Integer),
];

pub(super) const PARAMETERS: Columns = &[
    ("specific_catalog", Name),
    ("specific_schema", Name),
    ("specific_name", Name),
    ("ordinal_position", Integer),
    ("parameter_mode", TEXT),
    ("is_result", YES_OR_NO),
    ("as_locator", YES_OR_NO),
    ("parameter_name", Name),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
    ("parameter_default", TEXT),
];

pub(super) const REFERENTIAL_CONSTRAINTS: Columns = &[
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
    ("unique_constraint_catalog", Name),
    ("unique_constraint_schema", Name),
    ("unique_constraint_name", Name),
    ("match_option", TEXT),
    ("update_rule", TEXT),
    ("delete_rule", TEXT),
];

pub(super) const ROUTINE_PRIVILEGES: Columns = &[
    ("grantor", Name),
    ("grantee", Name),
    ("specific_catalog", Name),
    ("specific_schema", Name),
    ("specific_name", Name),
    ("routine_catalog", Name),
    ("routine_schema", Name),
    ("routine_name", Name),
    ("privilege_type", TEXT),
    ("is_grantable", YES_OR_NO),
];

pub(super) const ROUTINES: Columns = &[
    ("specific_catalog", Name),
    ("specific_schema", Name),
    ("specific_name", Name),
    ("routine_catalog", Name),
    ("routine_schema", Name),
    ("routine_name", Name),
    ("routine_type", TEXT),
    ("module_catalog", Name),
    ("module_schema", Name),
    ("module_name", Name),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("type_udt_catalog", Name),
    ("type_udt_schema", Name),
    ("type_udt_name", Name),
    ("scope_catalog", Name),
    ("scope_schema", Name),
    ("scope_name", Name),
    ("maximum_cardinality", Integer),
    ("dtd_identifier", Name),
    ("routine_body", TEXT),
    ("routine_definition", TEXT),
    ("external_name", TEXT),
    ("external_language", TEXT),
    ("parameter_style", TEXT),
    ("is_deterministic", YES_OR_NO),
    ("sql_data_access", TEXT),
    ("is_null_call", YES_OR_NO),
    ("sql_path", TEXT),
    ("schema_level_routine", YES_OR_NO),
    ("max_dynamic_result_sets", Integer),
    ("is_user_defined_cast", YES_OR_NO),
    ("is_implicitly_invocable", YES_OR_NO),
    ("security_type", TEXT),
    ("to_sql_specific_catalog", Name),
    ("to_sql_specific_schema", Name),
    ("to_sql_specific_name", Name),
    ("as_locator", YES_OR_NO),
    ("created", MOMENT),
    ("last_altered", MOMENT),
    ("new_savepoint_level", YES_OR_NO),
    ("is_udt_dependent", YES_OR_NO),
    ("result_cast_from_data_type", TEXT),
    ("result_cast_as_locator", YES_OR_NO),
    ("result_cast_char_max_length", Integer),
    ("result_cast_char_octet_length", Integer),
    ("result_cast_char_set_catalog", Name),
    ("result_cast_char_set_schema", Name),
    ("result_cast_char_set_name", Name),
    ("result_cast_collation_catalog", Name),
    ("result_cast_collation_schema", Name),
    ("result_cast_collation_name", Name),
    ("result_cast_numeric_precision", Integer),
    ("result_cast_numeric_precision_radix", Integer),
    ("result_cast_numeric_scale", Integer),
    ("result_cast_datetime_precision", Integer),
    ("result_cast_interval_type", TEXT),
    ("result_cast_interval_precision", Integer),
    ("result_cast_type_udt_catalog", Name),
    ("result_cast_type_udt_schema", Name),
    ("result_cast_type_udt_name", Name),
    ("result_cast_scope_catalog", Name),
    ("result_cast_scope_schema", Name),
    ("result_cast_scope_name", Name),
    ("result_cast_maximum_cardinality", Integer),
    ("result_cast_dtd_identifier", Name),
];

pub(super) const SCHEMATA: Columns = &[
    ("catalog_name", Name),
    ("schema_name", Name),
    ("schema_owner", Name),
    ("default_character_set_catalog", Name),
    ("default_character_set_schema", Name),
    ("default_character_set_name", Name),
    ("sql_path", TEXT),
];

pub(super) const SEQUENCES: Columns = &[
    ("sequence_catalog", Name),
    ("sequence_schema", Name),
    ("sequence_name", Name),
    ("data_type", TEXT),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("start_value", TEXT),
    ("minimum_value", TEXT),
    ("maximum_value", TEXT),
    ("increment", TEXT),
    ("cycle_option", YES_OR_NO),
];

pub(super) const TABLE_CONSTRAINTS: Columns = &[
    ("constraint_catalog", Name),
    ("constraint_schema", Name),
    ("constraint_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("constraint_type", TEXT),
    ("is_deferrable", YES_OR_NO),
    ("initially_deferred", YES_OR_NO),
    ("enforced", YES_OR_NO),
    ("nulls_distinct", YES_OR_NO),
];

pub(super) const TABLE_PRIVILEGES: Columns = &[
    ("grantor", Name),
    ("grantee", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("privilege_type", TEXT),
    ("is_grantable", YES_OR_NO),
    ("with_hierarchy", YES_OR_NO),
];

pub(super) const TABLES: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("table_type", TEXT),
    ("self_referencing_column_name", Name),
    ("reference_generation", TEXT),
    ("user_defined_type_catalog", Name),
    ("user_defined_type_schema", Name),
    ("user_defined_type_name", Name),
    ("is_insertable_into", YES_OR_NO),
    ("is_typed", YES_OR_NO),
    ("commit_action", TEXT),
];

pub(super) const TRIGGERED_UPDATE_COLUMNS: Columns = &[
    ("trigger_catalog", Name),
    ("trigger_schema", Name),
    ("trigger_name", Name),
    ("event_object_catalog", Name),
    ("event_object_schema", Name),
    ("event_object_table", Name),
    ("event_object_column", Name),
];

pub(super) const TRIGGERS: Columns = &[
    ("trigger_catalog", Name),
    ("trigger_schema", Name),
    ("trigger_name", Name),
    ("event_manipulation", TEXT),
    ("event_object_catalog", Name),
    ("event_object_schema", Name),
    ("event_object_table", Name),
    ("action_order", Integer),
    ("action_condition", TEXT),
    ("action_statement", TEXT),
    ("action_orientation", TEXT),
    ("action_timing", TEXT),
    ("action_reference_old_table", Name),
    ("action_reference_new_table", Name),
    ("action_reference_old_row", Name),
    ("action_reference_new_row", Name),
    ("created", MOMENT),
];

pub(super) const UDT_PRIVILEGES: Columns = &[
    ("grantor", Name),
    ("grantee", Name),
    ("udt_catalog", Name),
    ("udt_schema", Name),
    ("udt_name", Name),
    ("privilege_type", TEXT),
    ("is_grantable", YES_OR_NO),
];

pub(super) const USAGE_PRIVILEGES: Columns = &[
    ("grantor", Name),
    ("grantee", Name),
    ("object_catalog", Name),
    ("object_schema", Name),
    ("object_name", Name),
    ("object_type", TEXT),
    ("privilege_type", TEXT),
    ("is_grantable", YES_OR_NO),
];

pub(super) const USER_DEFINED_TYPES: Columns = &[
    ("user_defined_type_catalog", Name),
    ("user_defined_type_schema", Name),
    ("user_defined_type_name", Name),
    ("user_defined_type_category", TEXT),
    ("is_instantiable", YES_OR_NO),
    ("is_final", YES_OR_NO),
    ("ordering_form", TEXT),
    ("ordering_category", TEXT),
    ("ordering_routine_catalog", Name),
    ("ordering_routine_schema", Name),
    ("ordering_routine_name", Name),
    ("reference_type", TEXT),
    ("data_type", TEXT),
    ("character_maximum_length", Integer),
    ("character_octet_length", Integer),
    ("character_set_catalog", Name),
    ("character_set_schema", Name),
    ("character_set_name", Name),
    ("collation_catalog", Name),
    ("collation_schema", Name),
    ("collation_name", Name),
    ("numeric_precision", Integer),
    ("numeric_precision_radix", Integer),
    ("numeric_scale", Integer),
    ("datetime_precision", Integer),
    ("interval_type", TEXT),
    ("interval_precision", Integer),
    ("source_dtd_identifier", Name),
    ("ref_dtd_identifier", Name),
];

pub(super) const VIEW_COLUMN_USAGE: Columns = &[
    ("view_catalog", Name),
    ("view_schema", Name),
    ("view_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("column_name", Name),
];

pub(super) const VIEW_TABLE_USAGE: Columns = &[
    ("view_catalog", Name),
    ("view_schema", Name),
    ("view_name", Name),
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
];

pub(super) const VIEWS: Columns = &[
    ("table_catalog", Name),
    ("table_schema", Name),
    ("table_name", Name),
    ("view_definition", TEXT),
    ("check_option", TEXT),
    ("is_updatable", YES_OR_NO),
    ("is_insertable_into", YES_OR_NO),
    ("is_trigger_updatable", YES_OR_NO),
    ("is_trigger_deletable", YES_OR_NO),
    ("is_trigger_insertable_into", YES_OR_NO),
];

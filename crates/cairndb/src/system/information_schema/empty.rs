//! Views of what there is nothing of here: foreign data, transforms, roles in roles; of what PostgreSQL supports of the standard; of
//! what rests on functions and what they rest on, which is looked up when they run.

use super::columns::{TEXT, YES_OR_NO};
use super::nothing;
use crate::system::SystemRelation;
use crate::types::DataType::{self, Integer, Name, Oid};
use crate::types::ElementType;

const TEXTS: DataType = DataType::Array(ElementType::TEXT);

pub(in crate::system) const RELATIONS: &[SystemRelation] = &[
    nothing(
        "_pg_foreign_data_wrappers",
        &[
            ("oid", Oid),
            ("fdwowner", Oid),
            ("fdwoptions", TEXTS),
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("authorization_identifier", Name),
            ("foreign_data_wrapper_language", TEXT),
        ],
    ),
    nothing(
        "_pg_foreign_servers",
        &[
            ("oid", Oid),
            ("srvoptions", TEXTS),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("foreign_server_type", TEXT),
            ("foreign_server_version", TEXT),
            ("authorization_identifier", Name),
        ],
    ),
    nothing(
        "_pg_foreign_table_columns",
        &[("nspname", Name), ("relname", Name), ("attname", Name), ("attfdwoptions", TEXTS)],
    ),
    nothing(
        "_pg_foreign_tables",
        &[
            ("foreign_table_catalog", Name),
            ("foreign_table_schema", Name),
            ("foreign_table_name", Name),
            ("ftoptions", TEXTS),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("authorization_identifier", Name),
        ],
    ),
    nothing(
        "_pg_user_mappings",
        &[
            ("oid", Oid),
            ("umoptions", TEXTS),
            ("umuser", Oid),
            ("authorization_identifier", Name),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("srvowner", Name),
        ],
    ),
    nothing(
        "administrable_role_authorizations",
        &[("grantee", Name), ("role_name", Name), ("is_grantable", YES_OR_NO)],
    ),
    nothing("applicable_roles", &[("grantee", Name), ("role_name", Name), ("is_grantable", YES_OR_NO)]),
    nothing(
        "check_constraint_routine_usage",
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
        ],
    ),
    nothing(
        "column_options",
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
    ),
    nothing(
        "foreign_data_wrapper_options",
        &[
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
    ),
    nothing(
        "foreign_data_wrappers",
        &[
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("authorization_identifier", Name),
            ("library_name", TEXT),
            ("foreign_data_wrapper_language", TEXT),
        ],
    ),
    nothing(
        "foreign_server_options",
        &[
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
    ),
    nothing(
        "foreign_servers",
        &[
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("foreign_server_type", TEXT),
            ("foreign_server_version", TEXT),
            ("authorization_identifier", Name),
        ],
    ),
    nothing(
        "foreign_table_options",
        &[
            ("foreign_table_catalog", Name),
            ("foreign_table_schema", Name),
            ("foreign_table_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
    ),
    nothing(
        "foreign_tables",
        &[
            ("foreign_table_catalog", Name),
            ("foreign_table_schema", Name),
            ("foreign_table_name", Name),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
        ],
    ),
    nothing(
        "routine_column_usage",
        &[
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("routine_catalog", Name),
            ("routine_schema", Name),
            ("routine_name", Name),
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
        ],
    ),
    nothing(
        "routine_routine_usage",
        &[
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("routine_catalog", Name),
            ("routine_schema", Name),
            ("routine_name", Name),
        ],
    ),
    nothing(
        "routine_sequence_usage",
        &[
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("routine_catalog", Name),
            ("routine_schema", Name),
            ("routine_name", Name),
            ("sequence_catalog", Name),
            ("sequence_schema", Name),
            ("sequence_name", Name),
        ],
    ),
    nothing(
        "routine_table_usage",
        &[
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("routine_catalog", Name),
            ("routine_schema", Name),
            ("routine_name", Name),
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
        ],
    ),
    nothing(
        "sql_features",
        &[
            ("feature_id", TEXT),
            ("feature_name", TEXT),
            ("sub_feature_id", TEXT),
            ("sub_feature_name", TEXT),
            ("is_supported", YES_OR_NO),
            ("is_verified_by", TEXT),
            ("comments", TEXT),
        ],
    ),
    nothing(
        "sql_implementation_info",
        &[
            ("implementation_info_id", TEXT),
            ("implementation_info_name", TEXT),
            ("integer_value", Integer),
            ("character_value", TEXT),
            ("comments", TEXT),
        ],
    ),
    nothing(
        "sql_parts",
        &[
            ("feature_id", TEXT),
            ("feature_name", TEXT),
            ("is_supported", YES_OR_NO),
            ("is_verified_by", TEXT),
            ("comments", TEXT),
        ],
    ),
    nothing(
        "sql_sizing",
        &[("sizing_id", Integer), ("sizing_name", TEXT), ("supported_value", Integer), ("comments", TEXT)],
    ),
    nothing(
        "transforms",
        &[
            ("udt_catalog", Name),
            ("udt_schema", Name),
            ("udt_name", Name),
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("group_name", Name),
            ("transform_type", TEXT),
        ],
    ),
    nothing(
        "user_mapping_options",
        &[
            ("authorization_identifier", Name),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
    ),
    nothing(
        "user_mappings",
        &[("authorization_identifier", Name), ("foreign_server_catalog", Name), ("foreign_server_name", Name)],
    ),
    nothing(
        "view_routine_usage",
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
        ],
    ),
];

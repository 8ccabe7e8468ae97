//! Views of what there is nothing of here: foreign data, transforms, roles in roles; of what PostgreSQL supports of the standard; of
//! what rests on functions and what they rest on, which is looked up when they run.

use super::columns::{TEXT, YES_OR_NO};
use super::view;
use crate::catalog::Catalog;
use crate::system::{Rows, SystemRelation};
use crate::types::DataType::{self, Integer, Name, Oid};
use crate::types::ElementType;

const TEXTS: DataType = DataType::Array(ElementType::TEXT);

pub(in crate::system) const RELATIONS: &[SystemRelation] = &[
    view(
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
        none,
    ),
    view(
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
        none,
    ),
    view(
        "_pg_foreign_table_columns",
        &[("nspname", Name), ("relname", Name), ("attname", Name), ("attfdwoptions", TEXTS)],
        none,
    ),
    view(
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
        none,
    ),
    view(
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
        none,
    ),
    view(
        "administrable_role_authorizations",
        &[("grantee", Name), ("role_name", Name), ("is_grantable", YES_OR_NO)],
        none,
    ),
    view("applicable_roles", &[("grantee", Name), ("role_name", Name), ("is_grantable", YES_OR_NO)], none),
    view(
        "check_constraint_routine_usage",
        &[
            ("constraint_catalog", Name),
            ("constraint_schema", Name),
            ("constraint_name", Name),
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
        ],
        none,
    ),
    view(
        "column_options",
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
        none,
    ),
    view(
        "foreign_data_wrapper_options",
        &[
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
        none,
    ),
    view(
        "foreign_data_wrappers",
        &[
            ("foreign_data_wrapper_catalog", Name),
            ("foreign_data_wrapper_name", Name),
            ("authorization_identifier", Name),
            ("library_name", TEXT),
            ("foreign_data_wrapper_language", TEXT),
        ],
        none,
    ),
    view(
        "foreign_server_options",
        &[
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
        none,
    ),
    view(
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
        none,
    ),
    view(
        "foreign_table_options",
        &[
            ("foreign_table_catalog", Name),
            ("foreign_table_schema", Name),
            ("foreign_table_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
        none,
    ),
    view(
        "foreign_tables",
        &[
            ("foreign_table_catalog", Name),
            ("foreign_table_schema", Name),
            ("foreign_table_name", Name),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
        ],
        none,
    ),
    view(
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
        none,
    ),
    view(
        "routine_routine_usage",
        &[
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
            ("routine_catalog", Name),
            ("routine_schema", Name),
            ("routine_name", Name),
        ],
        none,
    ),
    view(
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
        none,
    ),
    view(
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
        none,
    ),
    view(
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
        none,
    ),
    view(
        "sql_implementation_info",
        &[
            ("implementation_info_id", TEXT),
            ("implementation_info_name", TEXT),
            ("integer_value", Integer),
            ("character_value", TEXT),
            ("comments", TEXT),
        ],
        none,
    ),
    view(
        "sql_parts",
        &[
            ("feature_id", TEXT),
            ("feature_name", TEXT),
            ("is_supported", YES_OR_NO),
            ("is_verified_by", TEXT),
            ("comments", TEXT),
        ],
        none,
    ),
    view(
        "sql_sizing",
        &[("sizing_id", Integer), ("sizing_name", TEXT), ("supported_value", Integer), ("comments", TEXT)],
        none,
    ),
    view(
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
        none,
    ),
    view(
        "user_mapping_options",
        &[
            ("authorization_identifier", Name),
            ("foreign_server_catalog", Name),
            ("foreign_server_name", Name),
            ("option_name", Name),
            ("option_value", TEXT),
        ],
        none,
    ),
    view(
        "user_mappings",
        &[("authorization_identifier", Name), ("foreign_server_catalog", Name), ("foreign_server_name", Name)],
        none,
    ),
    view(
        "view_routine_usage",
        &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("specific_catalog", Name),
            ("specific_schema", Name),
            ("specific_name", Name),
        ],
        none,
    ),
];

fn none(_: &Catalog, _: &mut Rows) {}

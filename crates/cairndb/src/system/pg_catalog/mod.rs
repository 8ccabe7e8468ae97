//! `pg_catalog`: PostgreSQL's own, as far as tools look at it. What there is nothing of here (partitions, policies,
//! publications) has no rows.

mod built_in;
mod rows;
mod statistics;

pub(super) use built_in::{BUILT_IN, BuiltIn, Names, built_in, named};
pub(crate) use built_in::{callee, callees, listed};
pub(super) use rows::{is_function_cast, operators};
pub(super) use statistics::STATISTICS;

use super::{Made, asked, served};

/// What makes the rows of those that have any, but for statistics.
pub(super) const MADE: &[(&str, Made)] = &[
    ("pg_namespace", Made::Rows(rows::pg_namespace)),
    ("pg_class", Made::Rows(rows::pg_class)),
    ("pg_attribute", Made::Rows(rows::pg_attribute)),
    ("pg_attrdef", Made::Rows(rows::pg_attrdef)),
    ("pg_type", Made::Rows(rows::pg_type)),
    ("pg_enum", Made::Rows(rows::pg_enum)),
    ("pg_index", Made::Rows(rows::pg_index)),
    ("pg_constraint", Made::Rows(rows::pg_constraint)),
    ("pg_description", Made::Rows(rows::pg_description)),
    ("pg_proc", Made::Rows(rows::pg_proc)),
    ("pg_trigger", Made::Rows(rows::pg_trigger)),
    ("pg_sequence", Made::Rows(rows::pg_sequence)),
    ("pg_depend", Made::Rows(rows::pg_depend)),
    ("pg_rewrite", Made::Rows(rows::pg_rewrite)),
    ("pg_am", Made::Rows(rows::pg_am)),
    ("pg_collation", Made::Rows(rows::pg_collation)),
    ("pg_language", Made::Rows(rows::pg_language)),
    ("pg_opclass", Made::Rows(rows::pg_opclass)),
    ("pg_database", Made::Served(&served::DATABASES)),
    ("pg_db_role_setting", Made::Served(&served::SETTINGS)),
    ("pg_tablespace", Made::Rows(rows::pg_tablespace)),
    ("pg_available_extensions", Made::Rows(rows::pg_available_extensions)),
    ("pg_extension", Made::Rows(rows::pg_extension)),
    ("pg_roles", Made::Function(&asked::ROLES)),
    ("pg_user", Made::Function(&asked::USERS)),
    ("pg_settings", Made::Function(&asked::SETTINGS_SHOWN)),
    ("pg_tables", Made::Rows(rows::pg_tables)),
    ("pg_views", Made::Rows(rows::pg_views)),
    ("pg_matviews", Made::Rows(rows::pg_matviews)),
    ("pg_indexes", Made::Rows(rows::pg_indexes)),
    ("pg_sequences", Made::Expressions(rows::pg_sequences)),
    ("pg_shdescription", Made::Rows(rows::pg_shdescription)),
    ("pg_cast", Made::Rows(rows::pg_cast)),
    ("pg_operator", Made::Rows(rows::pg_operator)),
    ("pg_aggregate", Made::Rows(rows::pg_aggregate)),
];

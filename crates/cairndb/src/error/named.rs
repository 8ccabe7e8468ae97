//! Errors that many places find, each by a name of its own: what is missing, what is there already, what was said twice.
//!
//! PostgreSQL's words and codes. A name is put into the message as it is given, without its quotes.

use std::fmt::Display;

use super::{Error, SqlState};

/// Errors of one kind: the name, its code and its message, with a place for each argument.
macro_rules! named {
    ($($name:ident($($arg:ident),+) = $code:ident, $message:literal;)*) => {
        impl Error {
            $(
                #[doc = concat!("`", $message, "`")]
                pub(crate) fn $name($($arg: impl Display),+) -> Error {
                    Error::new(SqlState::$code, format!($message))
                }
            )*
        }
    };
}

named! {
    undefined_column(column) = UNDEFINED_COLUMN, "column \"{column}\" does not exist";
    undefined_column_of(column, relation) = UNDEFINED_COLUMN, "column \"{column}\" of relation \"{relation}\" does not exist";
    existing_column(column, relation) = DUPLICATE_COLUMN, "column \"{column}\" of relation \"{relation}\" already exists";
    repeated_column(column) = DUPLICATE_COLUMN, "column \"{column}\" specified more than once";
    undefined_relation(relation) = UNDEFINED_TABLE, "relation \"{relation}\" does not exist";
    existing_relation(relation) = DUPLICATE_TABLE, "relation \"{relation}\" already exists";
    repeated_alias(alias) = DUPLICATE_ALIAS, "table name \"{alias}\" specified more than once";
    undefined_constraint_for(constraint, table) = UNDEFINED_OBJECT, "constraint \"{constraint}\" for table \"{table}\" does not exist";
    existing_trigger(trigger, relation) = DUPLICATE_OBJECT, "trigger \"{trigger}\" for relation \"{relation}\" already exists";
    undefined_type(name) = UNDEFINED_OBJECT, "type \"{name}\" does not exist";
    undefined_schema(schema) = INVALID_SCHEMA_NAME, "schema \"{schema}\" does not exist";
    existing_schema(schema) = DUPLICATE_SCHEMA, "schema \"{schema}\" already exists";
}

impl Error {
    /// SQLSTATE 25P02.
    pub(crate) fn aborted_transaction() -> Error {
        let message = "current transaction is aborted, commands ignored until end of transaction block";
        Error::new(SqlState::IN_FAILED_SQL_TRANSACTION, message)
    }

    /// SQLSTATE 0A000: a prepared statement's columns are not those that it was prepared with.
    pub(crate) fn changed_result() -> Error {
        let mut error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
        error.0.about.routine = Some("RevalidateCachedQuery");
        error
    }
}

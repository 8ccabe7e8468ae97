//! Commands, and parts of them, that are refused: which feature of PostgreSQL they are of, by the words that they begin with.

use super::clause::Clause;
use crate::Error;
use crate::error::Feature;

/// The words, in SQL's order; of a part of ALTER TABLE those behind its name.
static WORDS: &[(Feature, &[&str])] = &[
    (Feature::Databases, &["CREATE DATABASE", "ALTER DATABASE", "DROP DATABASE"]),
    (Feature::Tablespaces, &["CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE"]),
    (
        Feature::ForeignData,
        &[
            "CREATE FOREIGN DATA WRAPPER",
            "CREATE SERVER",
            "CREATE FOREIGN TABLE",
            "CREATE USER MAPPING",
            "IMPORT FOREIGN SCHEMA",
        ],
    ),
    (
        Feature::Roles,
        &[
            "CREATE ROLE",
            "CREATE USER",
            "CREATE GROUP",
            "ALTER ROLE",
            "ALTER USER",
            "ALTER GROUP",
            "DROP ROLE",
            "DROP USER",
            "DROP GROUP",
            "SET ROLE",
            "SET SESSION AUTHORIZATION",
            "REASSIGN OWNED BY",
            "DROP OWNED BY",
            "SECURITY LABEL ON",
        ],
    ),
    (
        Feature::RowSecurity,
        &["CREATE POLICY", "ALTER POLICY", "DROP POLICY", "ENABLE ROW LEVEL SECURITY", "FORCE ROW LEVEL SECURITY"],
    ),
    (Feature::Inheritance, &["INHERIT"]),
    (Feature::Rules, &["CREATE RULE", "ALTER RULE", "DROP RULE"]),
    (Feature::Languages, &["CREATE LANGUAGE"]),
    (Feature::Operators, &["CREATE OPERATOR", "ALTER OPERATOR", "CREATE CAST"]),
    (Feature::Collations, &["CREATE COLLATION", "ALTER COLLATION"]),
    (Feature::TableLocks, &["LOCK TABLE"]),
    (Feature::SharedSnapshots, &["SET TRANSACTION SNAPSHOT"]),
    (Feature::ConfigurationFiles, &["ALTER SYSTEM SET", "ALTER SYSTEM RESET"]),
    (Feature::Cluster, &["CLUSTER"]),
];

impl Clause<'_> {
    /// SQLSTATE 0A000 of what begins with these words, where this begins. `of`: what stands before them in the error.
    pub(super) fn unsupported_words(self, of: &str, words: &str) -> Error {
        let what = format!("{of}{words}");
        self.here(match feature_of(words) {
            Some(feature) => Error::lacking(feature, what),
            None => Error::unsupported(what),
        })
    }
}

fn feature_of(words: &str) -> Option<Feature> {
    let is_it =
        |begins: &&str| words.strip_prefix(*begins).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    WORDS.iter().find(|(_, all)| all.iter().any(is_it)).map(|(feature, _)| *feature)
}

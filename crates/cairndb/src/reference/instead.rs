//! The hint of an error that refuses something: what the page "What is not supported" says of it.

use super::differences::UNSUPPORTED;

/// Says that there is nothing to do instead.
const NOTHING: &str = "not planned";

/// How the errors call what the page has: the beginning of their text, in whole words.
static CALLED: &[(&str, &[&str])] = &[
    ("Databases", &["CREATE DATABASE", "ALTER DATABASE", "DROP DATABASE"]),
    ("Tablespaces", &["TABLESPACE", "CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE", "SET TABLESPACE"]),
    (
        "Roles",
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
            "AUTHORIZATION",
            "REASSIGN OWNED BY",
            "DROP OWNED BY",
            "SECURITY LABEL ON",
        ],
    ),
    (
        "Row security",
        &[
            "CREATE POLICY",
            "ALTER POLICY",
            "DROP POLICY",
            "ALTER TABLE ... ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE ... FORCE ROW LEVEL SECURITY",
        ],
    ),
    ("Partitioned tables", &["a partitioned table", "PARTITION BY"]),
    ("Inheritance", &["INHERITS", "ALTER TABLE ... INHERIT"]),
    ("Rules", &["CREATE RULE", "ALTER RULE", "DROP RULE"]),
    (
        "Replication",
        &[
            "CREATE PUBLICATION",
            "ALTER PUBLICATION",
            "DROP PUBLICATION",
            "CREATE SUBSCRIPTION",
            "ALTER SUBSCRIPTION",
            "DROP SUBSCRIPTION",
        ],
    ),
    (
        "Foreign data",
        &[
            "CREATE FOREIGN DATA WRAPPER",
            "CREATE SERVER",
            "CREATE FOREIGN TABLE",
            "CREATE USER MAPPING",
            "IMPORT FOREIGN SCHEMA",
        ],
    ),
    ("Functions in other languages", &["LANGUAGE", "CREATE LANGUAGE"]),
    ("Own aggregates in SQL", &["CREATE AGGREGATE", "ALTER AGGREGATE"]),
    ("Own operators and casts", &["CREATE OPERATOR", "ALTER OPERATOR", "CREATE CAST"]),
    ("Collations other than \"C\"", &["CREATE COLLATION", "ALTER COLLATION"]),
    ("Range types", &["CREATE TYPE ... AS RANGE"]),
    ("Exclusion constraints", &["an exclusion constraint"]),
    ("Extended statistics", &["CREATE STATISTICS", "ALTER STATISTICS"]),
    ("Functions of rows in definitions", &["a function of a table's rows in a definition"]),
    ("Arrays of domains", &["an array of a domain"]),
    ("Functions that differ in domains only", &["a function whose arguments differ from another's in domains only"]),
    (
        "Cursors WITH HOLD over functions that write, outside of transactions",
        &["a cursor WITH HOLD over functions that may change rows outside of a transaction"],
    ),
    (
        "Functions of domains over composite types",
        &["a function of a domain over a composite type", "a variable of a domain over a composite type"],
    ),
    ("Money", &["type money"]),
    ("Network addresses", &["type inet", "type cidr", "type macaddr", "type macaddr8"]),
    ("XML", &["type xml"]),
    ("Bit strings", &["a bit string", "type bit", "type bit varying"]),
    (
        "Bytes beyond ASCII in \"char\"",
        &["a \"char\" that is no character of ASCII", "a \"char\" given as an octal number"],
    ),
    ("Locks on tables", &["LOCK TABLE"]),
    ("Sharing snapshots", &["SET TRANSACTION SNAPSHOT"]),
    ("Unlogged tables", &["an unlogged table", "ALTER TABLE ... SET UNLOGGED"]),
    ("Configuration files", &["ALTER SYSTEM SET", "ALTER SYSTEM RESET"]),
    ("CLUSTER", &["CLUSTER"]),
];

/// What to do instead, as a sentence.
pub(crate) fn instead(refused: &str) -> Option<String> {
    let is_it = |begins: &&str| {
        refused.strip_prefix(*begins).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    let (what, _) = CALLED.iter().find(|(_, called)| called.iter().any(is_it))?;
    let found = UNSUPPORTED.iter().find(|found| found.what == *what).filter(|found| found.instead != NOTHING)?;
    let mut letters = found.instead.chars();
    let first = letters.next()?.to_uppercase();
    Some(format!("{first}{}.", letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_so_is_on_the_page() {
        for (what, _) in CALLED {
            assert!(UNSUPPORTED.iter().any(|found| found.what == *what), "{what}");
        }
        assert_eq!(instead("CREATE ROLES"), None);
        assert_eq!(instead("type money").as_deref(), Some("Use numeric."));
    }
}

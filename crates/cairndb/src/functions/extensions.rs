//! PostgreSQL's extensions of which what applications use is built in. CREATE EXTENSION says in which schema its functions are found
//! besides.

use super::{citext, hstore, intarray, trigrams};
use crate::Error;
use crate::types::ExtensionTypeKind;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension {
    pub(crate) name: &'static str,
    /// PostgreSQL 15's.
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
    /// The names of its functions that are here, and nowhere else.
    pub(crate) functions: &'static [&'static str],
    /// Those that are not here: calls of them are refused with the hint.
    refused: &'static [&'static str],
    instead: &'static str,
    /// Names of PostgreSQL's own functions that it adds others to.
    pub(crate) added_to: &'static [&'static str],
    pub(crate) operators: &'static [&'static str],
    /// The names of the classes by which columns of its type are ordered.
    pub(crate) classes: &'static [&'static str],
    /// Those by which inverted indexes take values apart.
    item_classes: &'static [&'static str],
    /// The type that it brings.
    pub(crate) of_type: Option<ExtensionTypeKind>,
}

impl Extension {
    const fn new(name: &'static str, version: &'static str, comment: &'static str) -> Extension {
        Extension {
            name,
            version,
            comment,
            functions: &[],
            refused: &[],
            instead: "",
            added_to: &[],
            operators: &[],
            classes: &[],
            item_classes: &[],
            of_type: None,
        }
    }

    /// Whether it has a function of the name, be it one that is refused.
    pub(crate) fn has_function(&self, name: &str) -> bool {
        [self.functions, self.added_to, self.refused].iter().any(|names| names.contains(&name))
    }
}

/// By name.
pub(crate) const EXTENSIONS: &[Extension] = &[
    Extension {
        functions: citext::FUNCTIONS,
        added_to: citext::ADDED_TO,
        operators: citext::OPERATORS,
        classes: citext::CLASSES,
        of_type: Some(ExtensionTypeKind::Citext),
        ..Extension::new("citext", "1.6", "data type for case-insensitive character strings")
    },
    Extension {
        functions: hstore::FUNCTIONS,
        operators: hstore::OPERATORS,
        classes: hstore::CLASSES,
        item_classes: &["gin_hstore_ops"],
        of_type: Some(ExtensionTypeKind::Hstore),
        ..Extension::new("hstore", "1.8", "data type for storing sets of (key, value) pairs")
    },
    Extension {
        functions: intarray::FUNCTIONS,
        operators: intarray::OPERATORS,
        item_classes: &["gin__int_ops"],
        refused: &["boolop", "querytree", "rboolop"],
        instead: "There is no type query_int: combine @>, && and NOT.",
        ..Extension::new("intarray", "1.5", "functions, operators, and index support for 1-D arrays of integers")
    },
    Extension {
        functions: &["pg_stat_statements_reset"],
        ..Extension::new(
            "pg_stat_statements",
            "1.10",
            "track planning and execution statistics of all SQL statements executed",
        )
    },
    Extension {
        functions: trigrams::FUNCTIONS,
        operators: trigrams::OPERATORS,
        item_classes: &["gin_trgm_ops"],
        ..Extension::new("pg_trgm", "1.6", "text similarity measurement and index searching based on trigrams")
    },
    Extension {
        functions: &["crypt", "digest", "gen_random_bytes", "gen_random_uuid", "gen_salt", "hmac"],
        refused: &[
            "armor",
            "dearmor",
            "decrypt",
            "decrypt_iv",
            "encrypt",
            "encrypt_iv",
            "pgp_armor_headers",
            "pgp_key_id",
            "pgp_pub_decrypt",
            "pgp_pub_decrypt_bytea",
            "pgp_pub_encrypt",
            "pgp_pub_encrypt_bytea",
            "pgp_sym_decrypt",
            "pgp_sym_decrypt_bytea",
            "pgp_sym_encrypt",
            "pgp_sym_encrypt_bytea",
        ],
        instead: "Encrypt in the application, where the key is, and store bytea.",
        ..Extension::new("pgcrypto", "1.3", "cryptographic functions")
    },
    Extension::new(PLPGSQL, "1.0", "PL/pgSQL procedural language"),
    Extension {
        functions: &["normal_rand"],
        refused: &["connectby", "crosstab", "crosstab2", "crosstab3", "crosstab4", "crosstabn"],
        instead: "A query says the same: a column for each category by max(value) FILTER (WHERE category = 'a'), a tree by WITH RECURSIVE.",
        ..Extension::new("tablefunc", "1.0", "functions that manipulate whole tables, including crosstab")
    },
    Extension {
        functions: &["unaccent"],
        ..Extension::new("unaccent", "1.1", "text search dictionary that removes accents")
    },
    Extension {
        functions: &[
            "uuid_generate_v1",
            "uuid_generate_v1mc",
            "uuid_generate_v3",
            "uuid_generate_v4",
            "uuid_generate_v5",
            "uuid_nil",
            "uuid_ns_dns",
            "uuid_ns_oid",
            "uuid_ns_url",
            "uuid_ns_x500",
        ],
        ..Extension::new("uuid-ossp", "1.1", "generate universally unique identifiers (UUIDs)")
    },
];

/// That a function of one of them is not here; `None`: none of them has one of the name that is not.
pub(crate) fn refused(name: &str) -> Option<Error> {
    let of = EXTENSIONS.iter().find(|of| of.refused.contains(&name))?;
    let what = format!("function {name}() of the extension {}", of.name);
    Some(Error::unsupported(what).with_hint(of.instead))
}

/// The one that a function is of; `None`: it is PostgreSQL's own.
pub(crate) fn extension_of(function: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|of| of.functions.contains(&function) && function != "gen_random_uuid")
}

/// Whether it is a class of operators for the type of an extension.
pub(crate) fn has_class(kind: ExtensionTypeKind, class: &str) -> bool {
    extension(kind.name()).is_some_and(|of| of.classes.contains(&class))
}

/// Whether it is a class of operators of one of them.
pub(crate) fn is_class(name: &str) -> bool {
    EXTENSIONS.iter().any(|of| of.classes.contains(&name))
}

/// Whether it is a class of inverted indexes of one of them.
pub(crate) fn is_item_class(name: &str) -> bool {
    EXTENSIONS.iter().any(|of| of.item_classes.contains(&name))
}

/// The one that is always there, in `pg_catalog`.
pub(crate) const PLPGSQL: &str = "plpgsql";

/// The one of a name.
pub(crate) fn extension(name: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function_names;

    #[test]
    fn what_extensions_have_is_there() {
        let known: Vec<&str> = function_names().collect();
        for of in EXTENSIONS {
            let missing: Vec<_> = of
                .functions
                .iter()
                .chain(of.added_to)
                .chain(of.operators)
                .filter(|name| !known.contains(*name))
                .collect();
            // What the server is asked for is no function of the catalogue.
            assert!(of.refused.iter().all(|name| !known.contains(name)), "{}", of.name);
            assert!(missing.is_empty() || of.name == "pg_stat_statements", "{}: {missing:?}", of.name);
        }
        assert!(EXTENSIONS.is_sorted_by_key(|of| of.name));
        for kind in ExtensionTypeKind::ALL {
            assert_eq!(extension(kind.name()).and_then(|of| of.of_type), Some(kind));
        }
    }
}

//! PostgreSQL's extensions of which what applications use is built in. CREATE EXTENSION says in which schema its functions are found
//! besides.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension {
    pub(crate) name: &'static str,
    /// PostgreSQL 15's.
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
    /// The names of its functions that are here.
    pub(crate) functions: &'static [&'static str],
}

/// By name.
pub(crate) const EXTENSIONS: &[Extension] = &[
    Extension {
        name: "pg_stat_statements",
        version: "1.10",
        comment: "track planning and execution statistics of all SQL statements executed",
        functions: &["pg_stat_statements_reset"],
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        functions: &["digest", "gen_random_bytes", "gen_random_uuid", "hmac"],
    },
    Extension { name: PLPGSQL, version: "1.0", comment: "PL/pgSQL procedural language", functions: &[] },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
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
    },
];

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
            let missing: Vec<_> = of.functions.iter().filter(|name| !known.contains(*name)).collect();
            // What the server is asked for is no function of the catalogue.
            assert!(missing.is_empty() || of.name == "pg_stat_statements", "{}: {missing:?}", of.name);
        }
        assert!(EXTENSIONS.is_sorted_by_key(|of| of.name));
    }
}

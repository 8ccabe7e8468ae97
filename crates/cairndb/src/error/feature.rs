//! What PostgreSQL has and there is nothing of here, as far as there is something to say of it: what to do instead. The page of what is
//! not supported and the hints of errors are made of it.

use std::fmt::Display;

use super::Error;

macro_rules! features {
    ($($feature:ident = $name:literal, $instead:literal;)*) => {
        /// Something that is not supported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Feature {
            $(#[doc = $name] $feature),*
        }

        impl Feature {
            /// What it is.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Feature::$feature => $name),*
                }
            }

            /// What to do instead.
            pub(crate) const fn instead(self) -> &'static str {
                match self {
                    $(Feature::$feature => $instead),*
                }
            }
        }

        #[cfg(test)]
        pub(crate) const FEATURES: &[Feature] = &[$(Feature::$feature),*];
    };
}

features! {
    Databases = "Databases", "a database is a file: open another one";
    Tablespaces = "Tablespaces", "a database is one file";
    Roles = "Roles", "whoever can open the file may do everything; GRANT and OWNER TO say in a NOTICE that they do nothing";
    RowSecurity = "Row security", "there are no roles; use views";
    Partitions = "Partitioned tables", "use one table and an index";
    Inheritance = "Inheritance", "use LIKE, or a foreign key to the parent";
    Rules = "Rules", "use triggers";
    ForeignData = "Foreign data", "use COPY, or functions of the host program";
    Languages = "Functions in other languages", "write them in SQL or PL/pgSQL, or register a closure of the host program";
    Aggregates = "Ordered-set, hypothetical-set and variadic aggregates in SQL", "collect with array_agg(.. ORDER BY ..), and call a function on that";
    Operators = "Own operators and casts", "call a function";
    Collations = "Collations other than \"C\"", "sort in the host program";
    Ranges = "Range types", "use two columns and a CHECK";
    Exclusions = "Exclusion constraints", "use UNIQUE, or a trigger";
    RowsInDefinitions = "Functions of rows in definitions", "make a function that takes the columns it needs";
    ArraysOfDomains = "Arrays of domains", "use CHECK on the array";
    DomainOverloads = "Functions that differ in domains only", "give one of them another name: a value of a domain is one of its base type, so that no call could say which is meant";
    HeldCursors = "Cursors WITH HOLD over functions that write, outside of transactions", "declare it between BEGIN and COMMIT, which reads it to its end";
    DomainsOfRows = "Functions of domains over composite types", "use the composite type, and cast to the domain in the body";
    Money = "Money", "use numeric";
    Xml = "XML", "use text";
    BitStrings = "Bit strings", "use bytea or integers";
    OtherCharacters = "Bytes beyond ASCII in \"char\"", "use text";
    TableLocks = "Locks on tables", "transactions are serializable without locks";
    SharedSnapshots = "Sharing snapshots", "read all in one transaction";
    ConfigurationFiles = "Configuration files", "use SET, or the options of opening";
    Cluster = "CLUSTER", "rows lie in the primary key's order";
}

impl Error {
    /// A thing of a kind that is not supported: SQLSTATE 0A000, with what to do instead.
    pub(crate) fn lacking(feature: Feature, what: impl Display) -> Error {
        let mut letters = feature.instead().chars();
        let first = letters.next().map(char::to_uppercase).into_iter().flatten();
        let hint: String = first.chain(letters).chain(['.']).collect();
        Error::unsupported(what).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_sentences() {
        let error = Error::lacking(Feature::Money, "type money");
        assert_eq!((error.message(), error.hint()), ("type money is not supported", Some("Use numeric.")));
        for feature in FEATURES {
            assert!(!feature.instead().is_empty() && !feature.instead().ends_with('.'), "{feature:?}");
        }
    }
}

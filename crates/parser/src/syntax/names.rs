//! Names.

use crate::tree::{List, Text, syntax};

syntax! {
    family 0;
    /// A name: folded to lower case and cut to 63 bytes as PostgreSQL does, unless it was quoted (then only cut). The
    /// span is what was written; `Tree::is_quoted` tells whether it was quoted.
    pub struct Name { text: Text }
}

syntax! {
    family 26;
    /// The name of a table or the like, with its schema (and database) if they are given.
    pub struct QualifiedName { parts: List<Name> }
}

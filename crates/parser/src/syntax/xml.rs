//! XML.

use super::{Expr, Name, TypeName};
use crate::tree::{Id, List, syntax};

syntax! {
    family 32;
    /// `XMLTABLE (XMLNAMESPACES (...), row PASSING document COLUMNS ...)`
    pub struct XmlTable {
        namespaces: List<XmlNamespace>,
        row: Id<Expr>,
        document: Id<Expr>,
        columns: List<XmlColumn>,
    }
}

syntax! {
    family 33;
    /// `uri AS name`, `DEFAULT uri`
    pub struct XmlNamespace { uri: Id<Expr>, name: Option<Id<Name>> }
}

syntax! {
    family 34;
    /// `name type PATH a DEFAULT b NOT NULL`, `name FOR ORDINALITY`
    pub struct XmlColumn {
        name: Id<Name>,
        /// None: FOR ORDINALITY.
        data_type: Option<Id<TypeName>>,
        path: Option<Id<Expr>>,
        default: Option<Id<Expr>>,
        not_null: bool,
    }
}

syntax! {
    family 35;
    /// `value AS name`
    pub struct XmlAttribute { value: Id<Expr>, name: Option<Id<Name>> }
}

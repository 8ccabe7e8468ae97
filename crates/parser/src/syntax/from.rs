//! What FROM may have.

use super::{Expr, Name, QualifiedName, Query, TypeName, XmlTable};
use crate::tree::{Id, List, scalar, syntax};

syntax! {
    family 27;
    /// An item of FROM.
    pub enum TableRef {
        /// `t AS x TABLESAMPLE ...`
        Table { name: Id<QualifiedName>, only: bool, alias: Option<Id<Alias>>, sample: Option<Id<TableSample>> },
        /// `f(a) WITH ORDINALITY AS x`, `ROWS FROM (f(a), g(b))`
        Function { functions: List<FunctionItem>, rows_from: bool, ordinality: bool, lateral: bool, alias: Option<Id<Alias>> },
        /// `(SELECT ...) AS x`
        Subquery { query: Id<Query>, lateral: bool, alias: Option<Id<Alias>> },
        /// `a LEFT JOIN b ON ...`, `(a JOIN b USING (c) AS x) AS y`
        Join {
            kind: JoinKind,
            natural: bool,
            left: Id<TableRef>,
            right: Id<TableRef>,
            on: Option<Id<Expr>>,
            using: List<Name>,
            using_alias: Option<Id<Name>>,
            alias: Option<Id<Alias>>,
        },
        /// `XMLTABLE (...)`
        Xml { table: Id<XmlTable>, lateral: bool, alias: Option<Id<Alias>> },
    }
}

scalar! {
    /// Which rows a join keeps.
    pub enum JoinKind { Inner, Left, Right, Full, Cross }
}

syntax! {
    family 28;
    /// A function in FROM: a call or another expression that is written like one.
    pub struct FunctionItem { function: Id<Expr>, columns: List<FunctionColumn> }
}

syntax! {
    family 29;
    /// A column that a function in FROM is said to return.
    pub struct FunctionColumn { name: Id<Name>, data_type: Id<TypeName>, collation: List<Name> }
}

syntax! {
    family 30;
    /// `AS name (columns)`, `AS (name type, ...)`
    pub struct Alias { name: Option<Id<Name>>, columns: List<Name>, definitions: List<FunctionColumn> }
}

syntax! {
    family 31;
    /// `TABLESAMPLE method (args) REPEATABLE (seed)`
    pub struct TableSample { method: List<Name>, args: List<Expr>, repeatable: Option<Id<Expr>> }
}

syntax! {
    family 36;
    /// A table that is changed: `ONLY t AS x`.
    pub struct Relation { name: Id<QualifiedName>, only: bool, alias: Option<Id<Name>> }
}

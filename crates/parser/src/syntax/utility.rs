//! Utility commands: what neither queries nor changes rows of its own.

use super::{Expr, Name, Operator, QualifiedName, Relation, Statement, TableRef, TypeName};
use crate::tree::{Id, List, syntax};

syntax! {
    family 50;
    /// A part of a utility command, in the order of its words. The command itself is a [`Part::Rule`].
    pub enum Part {
        /// What a rule of the grammar took; `Parts` tells which.
        Rule { rule: u32, parts: List<Part> },
        /// A keyword or symbol: the number of its token's kind.
        Keyword { kind: u32 },
        /// A name that stands like a column's.
        Name { name: Id<Name> },
        /// A name that is no keyword.
        Ident { name: Id<Name> },
        /// A name where any word may stand.
        Label { name: Id<Name> },
        /// A name that stands like a function's or type's.
        FunctionWord { name: Id<Name> },
        /// A name with dots: a function's.
        Names { names: List<Name> },
        /// A constant or an expression.
        Expr { expr: Id<Expr> },
        /// A call, or what the grammar has a call's form for, such as CAST.
        Call { expr: Id<Expr> },
        /// An expression of the kind that DEFAULT has: without NOT, AND, OR, IN at its top.
        RestrictedExpr { expr: Id<Expr> },
        Type { data_type: Id<TypeName> },
        Table { name: Id<QualifiedName> },
        Relation { relation: Id<Relation> },
        From { tables: List<TableRef> },
        Operator { operator: Id<Operator> },
        Statement { statement: Id<Statement> },
    }
}

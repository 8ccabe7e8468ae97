//! Statements that change rows.

use super::{
    Direction, Expr, Indirection, Name, NullsOrder, Operator, QualifiedName, Query, Relation, TableRef, Target,
    TypeName, With,
};
use crate::tree::{Id, List, scalar, syntax};

syntax! {
    family 37;
    /// A column, or a part of one, that is assigned to.
    pub struct AssignmentTarget { column: Id<Name>, steps: List<Indirection> }
}

syntax! {
    family 38;
    /// An assignment of UPDATE.
    pub enum Assignment {
        /// `a = b`
        One { target: Id<AssignmentTarget>, value: Id<Expr> },
        /// `(a, b) = ...`
        Many { targets: List<AssignmentTarget>, value: Id<Expr> },
    }
}

syntax! {
    family 39;
    /// `INSERT INTO table (columns) source ON CONFLICT ... RETURNING ...`
    pub struct Insert {
        with: Option<Id<With>>,
        table: Id<QualifiedName>,
        alias: Option<Id<Name>>,
        columns: List<AssignmentTarget>,
        overriding: Option<Overriding>,
        /// None: DEFAULT VALUES.
        source: Option<Id<Query>>,
        conflict: Option<Id<OnConflict>>,
        returning: Option<Id<Returning>>,
    }
}

scalar! {
    /// `OVERRIDING ... VALUE`
    pub enum Overriding { User, System }
}

syntax! {
    family 40;
    /// `ON CONFLICT (index) WHERE ... DO UPDATE SET ... WHERE ...`
    pub struct OnConflict {
        index: List<IndexElement>,
        index_filter: Option<Id<Expr>>,
        constraint: Option<Id<Name>>,
        update: bool,
        assignments: List<Assignment>,
        filter: Option<Id<Expr>>,
    }
}

syntax! {
    family 41;
    /// What is indexed: a column (an [`Expr::Column`] of one name), a call, or any expression in parentheses.
    pub struct IndexElement {
        expr: Id<Expr>,
        collation: List<Name>,
        operator_class: List<Name>,
        options: List<StorageOption>,
        direction: Option<Direction>,
        nulls: Option<NullsOrder>,
    }
}

syntax! {
    family 48;
    /// An option of storage: `name = value`, `space.name`.
    pub struct StorageOption { name: List<Name>, value: Option<Id<OptionValue>> }
}

syntax! {
    family 49;
    /// An option's value.
    pub enum OptionValue {
        /// A word that may be a type's name, and most often is just a word.
        Type { data_type: Id<TypeName> },
        /// A reserved word, or NONE.
        Word { word: Id<Name> },
        /// An operator.
        Operator { operator: Id<Operator> },
        /// A number with or without a sign, or a string.
        Constant { value: Id<Expr> },
    }
}

syntax! {
    family 42;
    /// `RETURNING WITH (OLD AS o, NEW AS n) targets`
    pub struct Returning { old: Option<Id<Name>>, new: Option<Id<Name>>, targets: List<Target> }
}

syntax! {
    family 43;
    /// `UPDATE table SET ... FROM ... WHERE ... RETURNING ...`
    pub struct Update {
        with: Option<Id<With>>,
        table: Id<Relation>,
        assignments: List<Assignment>,
        from: List<TableRef>,
        filter: Option<Id<Expr>>,
        /// `WHERE CURRENT OF cursor`
        current_of: Option<Id<Name>>,
        returning: Option<Id<Returning>>,
    }
}

syntax! {
    family 44;
    /// `DELETE FROM table USING ... WHERE ... RETURNING ...`
    pub struct Delete {
        with: Option<Id<With>>,
        table: Id<Relation>,
        using: List<TableRef>,
        filter: Option<Id<Expr>>,
        /// `WHERE CURRENT OF cursor`
        current_of: Option<Id<Name>>,
        returning: Option<Id<Returning>>,
    }
}

syntax! {
    family 45;
    /// `MERGE INTO table USING source ON condition WHEN ...`
    pub struct Merge {
        with: Option<Id<With>>,
        table: Id<Relation>,
        source: Id<TableRef>,
        on: Id<Expr>,
        clauses: List<MergeClause>,
        returning: Option<Id<Returning>>,
    }
}

syntax! {
    family 46;
    /// `WHEN MATCHED AND condition THEN action`
    pub struct MergeClause { matched: MergeMatch, condition: Option<Id<Expr>>, action: Id<MergeAction> }
}

scalar! {
    /// Which rows a clause of MERGE is for.
    pub enum MergeMatch {
        Matched,
        /// `NOT MATCHED [BY TARGET]`
        NotMatched,
        /// `NOT MATCHED BY SOURCE`
        NotMatchedBySource,
    }
}

syntax! {
    family 47;
    /// What MERGE does.
    pub enum MergeAction {
        /// `UPDATE SET ...`
        Update { assignments: List<Assignment> },
        /// `DELETE`
        Delete,
        /// `INSERT (columns) VALUES (...)`
        Insert { columns: List<AssignmentTarget>, overriding: Option<Overriding>, values: List<Expr> },
        /// `INSERT DEFAULT VALUES`
        InsertDefaults,
        /// `DO NOTHING`
        DoNothing,
    }
}

//! Queries.

use super::{Expr, Name, Operator, QualifiedName, Relation, Statement, TableRef};
use crate::tree::{Id, List, scalar, syntax};

syntax! {
    family 13;
    /// A query with what stands around its SELECT.
    pub struct Query {
        with: Option<Id<With>>,
        body: Id<QueryBody>,
        order_by: List<SortKey>,
        /// `LIMIT a`, `FETCH FIRST a ROWS`; what it means, `limit_form` tells.
        limit: Option<Id<Expr>>,
        limit_form: LimitForm,
        offset: Option<Id<Expr>>,
        locking: List<Locking>,
    }
}

scalar! {
    /// How the number of rows is limited.
    pub enum LimitForm {
        /// Not, or by `LIMIT limit`, or by `FETCH FIRST limit ROWS ONLY`.
        Plain,
        /// `LIMIT ALL`
        All,
        /// `FETCH FIRST limit ROWS WITH TIES`
        WithTies,
    }
}

syntax! {
    family 14;
    /// A query's middle.
    pub enum QueryBody {
        /// `SELECT ...`
        Select {
            quantifier: SelectQuantifier,
            /// `DISTINCT ON (...)`
            distinct_on: List<Expr>,
            targets: List<Target>,
            into: Option<Id<Into>>,
            from: List<TableRef>,
            filter: Option<Id<Expr>>,
            group_by: List<GroupItem>,
            /// `GROUP BY DISTINCT`
            group_distinct: bool,
            having: Option<Id<Expr>>,
            windows: List<WindowDefinition>,
        },
        /// `VALUES (...), (...)`
        Values { rows: List<Row> },
        /// `TABLE t`
        Table { relation: Id<Relation> },
        /// `left UNION ALL right`
        SetOperation { operation: SetOperation, all: bool, left: Id<Query>, right: Id<Query> },
    }
}

scalar! {
    /// What stands behind SELECT.
    pub enum SelectQuantifier { All, Distinct, DistinctOn }
}

scalar! {
    /// How two queries' rows are combined.
    pub enum SetOperation { Union, Intersect, Except }
}

syntax! {
    family 15;
    /// `WITH [RECURSIVE] ...`
    pub struct With { recursive: bool, ctes: List<Cte> }
}

syntax! {
    family 16;
    /// `name (columns) AS MATERIALIZED (statement) SEARCH ... CYCLE ...`
    pub struct Cte {
        name: Id<Name>,
        columns: List<Name>,
        materialized: Option<Materialized>,
        statement: Id<Statement>,
        search: Option<Id<SearchClause>>,
        cycle: Option<Id<CycleClause>>,
    }
}

scalar! {
    /// Whether a WITH query is computed once on its own.
    pub enum Materialized { Yes, No }
}

syntax! {
    family 17;
    /// `SEARCH DEPTH FIRST BY columns SET name`
    pub struct SearchClause { breadth_first: bool, columns: List<Name>, sequence: Id<Name> }
}

syntax! {
    family 18;
    /// `CYCLE columns SET mark TO value DEFAULT default USING path`
    pub struct CycleClause {
        columns: List<Name>,
        mark: Id<Name>,
        value: Option<Id<Expr>>,
        default: Option<Id<Expr>>,
        path: Id<Name>,
    }
}

syntax! {
    family 19;
    /// `expr AS alias`
    pub struct Target { expr: Id<Expr>, alias: Option<Id<Name>> }
}

syntax! {
    family 20;
    /// `INTO TEMP TABLE name`
    pub struct Into { persistence: Persistence, name: Id<QualifiedName> }
}

scalar! {
    /// How long a table lives.
    pub enum Persistence { Permanent, Temporary, Unlogged }
}

syntax! {
    family 21;
    /// A row of VALUES.
    pub struct Row { values: List<Expr> }
}

syntax! {
    family 22;
    /// What is grouped by.
    pub enum GroupItem {
        /// An expression; a row means its columns.
        Expr { expr: Id<Expr> },
        /// `()`
        Empty,
        /// `ROLLUP (a, b)`
        Rollup { items: List<Expr> },
        /// `CUBE (a, b)`
        Cube { items: List<Expr> },
        /// `GROUPING SETS (...)`
        Sets { items: List<GroupItem> },
    }
}

syntax! {
    family 23;
    /// `WINDOW name AS (spec)`
    pub struct WindowDefinition { name: Id<Name>, spec: Id<WindowSpec> }
}

syntax! {
    family 8;
    /// A window.
    pub struct WindowSpec {
        base: Option<Id<Name>>,
        partition_by: List<Expr>,
        order_by: List<SortKey>,
        frame: Option<Id<Frame>>,
    }
}

syntax! {
    family 9;
    /// Which rows around a row a window function sees.
    pub struct Frame {
        unit: FrameUnit,
        start: Id<FrameBound>,
        /// Without BETWEEN: none.
        end: Option<Id<FrameBound>>,
        exclusion: Option<Exclusion>,
    }
}

scalar! {
    /// What a frame counts.
    pub enum FrameUnit { Range, Rows, Groups }
}

scalar! {
    /// What a frame leaves out.
    pub enum Exclusion { CurrentRow, Group, Ties, NoOthers }
}

syntax! {
    family 10;
    /// An end of a frame.
    pub enum FrameBound {
        UnboundedPreceding,
        UnboundedFollowing,
        CurrentRow,
        Preceding { offset: Id<Expr> },
        Following { offset: Id<Expr> },
    }
}

syntax! {
    family 24;
    /// `expr DESC NULLS LAST`, `expr USING >`
    pub struct SortKey { expr: Id<Expr>, direction: Option<Direction>, operator: Option<Id<Operator>>, nulls: Option<NullsOrder> }
}

scalar! {
    /// Which way is sorted.
    pub enum Direction { Ascending, Descending }
}

scalar! {
    /// Where NULLs are sorted.
    pub enum NullsOrder { First, Last }
}

syntax! {
    family 25;
    /// `FOR UPDATE OF t SKIP LOCKED`; `FOR READ ONLY` says nothing and is not in the tree.
    pub struct Locking { strength: LockStrength, tables: List<QualifiedName>, wait: Option<LockWait> }
}

scalar! {
    /// How strongly rows are locked.
    pub enum LockStrength { Update, NoKeyUpdate, Share, KeyShare }
}

scalar! {
    /// What happens where a row is locked by somebody else.
    pub enum LockWait { NoWait, SkipLocked }
}

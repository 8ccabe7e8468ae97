//! The physical plan: how to compute a query. The optimizer makes it, `exec` runs it, `EXPLAIN` prints it.
//!
//! What must hold:
//! - `Column { index }` in a node's expressions is a position in the row of its input (of a join: the left row, then
//!   the right row; of a scan: its `columns`). `fields` describes the node's own output row.
//! - Every node runs under a stack of outer rows: `Outer { level: 1 }` is its top. Evaluating a [`Subplan`] pushes the
//!   row that the expression is evaluated on; a lateral join pushes the left row while it runs the right side. Nothing
//!   else pushes, so a node and its children see the same stack.
//! - No `Expr::Subquery` is left: each has become an `Expr::Subplan`.
//! - Node ids number the nodes of a whole plan, subplans included, from 0 without gaps ([`PhysicalPlan::node_count`]),
//!   so that counters for `EXPLAIN ANALYZE` fit a vector. Subplan ids do so likewise.
//! - Children are shared (`Arc`) so that an operator can keep the part of the plan that it re-evaluates.

use std::sync::Arc;

use super::constant_rows::ConstantRows;
use super::expressions::expr::{AggregateCall, Expr, SubqueryKind};
use super::expressions::walk::walk;
use super::expressions::window::WindowCall;
use super::logical::{CteId, Field, JoinKind, SetOperator, SortKey};
use super::modification::Modification;
use super::scans::system_rows::SystemRows;
use crate::catalog::{Index, Table};
use crate::inverted::ItemOperator;

/// A node of the physical plan.
#[derive(Clone, Debug)]
pub struct PhysicalPlan {
    /// Position in the whole plan's numbering.
    pub id: usize,
    /// The output columns.
    pub fields: Vec<Field>,
    /// What the optimizer expects of it, its inputs included.
    pub estimate: Estimate,
    /// What it does.
    pub node: PhysicalNode,
    /// What the query calls the relation that it reads (of an index join: that it looks up), if not by its name.
    pub alias: Option<Arc<str>>,
}

/// The rows that a statement changes, or makes new ones from.
#[derive(Clone, Debug)]
pub enum ModifiedRows {
    /// They have to be computed.
    Plan(Arc<PhysicalPlan>),
    /// The same, but they are few, and computed of nothing but parameters: `Values` that need no operators.
    Few(Arc<PhysicalPlan>),
    /// They are there.
    Constants(Arc<ConstantRows>),
}

/// Up to so many rows, operators cost more than they save.
const FEW: usize = 8;

impl ModifiedRows {
    /// The rows of a plan.
    pub(super) fn of(plan: Arc<PhysicalPlan>) -> ModifiedRows {
        let is_alone = |expr: &Expr| {
            let mut is_alone = true;
            walk(expr, 0, &mut |expr, _| {
                let asks =
                    matches!(expr, Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } | Expr::Column { .. });
                is_alone &= !asks;
            });
            is_alone
        };
        match &plan.node {
            PhysicalNode::Values { rows } if (1..=FEW).contains(&rows.len()) && rows.iter().flatten().all(is_alone) => {
                ModifiedRows::Few(plan)
            }
            _ => ModifiedRows::Plan(plan),
        }
    }
}

/// Expected cost (in units of a sequentially read page, as PostgreSQL counts) and size of a node's result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Cost before the first row.
    pub startup: f64,
    /// Cost of all rows.
    pub total: f64,
    /// Rows returned.
    pub rows: f64,
    /// Bytes of a row.
    pub width: f64,
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum PhysicalNode {
    /// Rows of expressions without columns (they may use outer rows and parameters).
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// Rows of the table's tree in key order (descending if `reverse`) whose keys lie in one of `ranges`.
    TableScan {
        /// The table.
        table: Arc<Table>,
        /// Positions in `table.columns`; [`Table::ROW_NUMBER`] is the hidden row number of a table without primary key.
        columns: Vec<usize>,
        /// What comes behind the columns: parts of long values ([`stored_part`](super::stored_part)), over the table's
        /// columns.
        fields: Vec<Expr>,
        /// Over the primary key's columns; see [`KeyRange`].
        ranges: Vec<KeyRange>,
        /// Over `columns` and `fields`.
        filter: Option<Expr>,
        /// From the last key to the first.
        reverse: bool,
    },
    /// Rows by an index, in index order (the reverse of it if `reverse`).
    IndexScan {
        /// The table.
        table: Arc<Table>,
        /// The index.
        index: Arc<Index>,
        /// As in `TableScan`.
        columns: Vec<usize>,
        /// Over the index's columns; see [`KeyRange`].
        ranges: Vec<KeyRange>,
        /// Over `columns`.
        filter: Option<Expr>,
        /// From the last entry to the first.
        reverse: bool,
        /// The index entry alone tells all of `columns`: the table need not be read.
        covering: bool,
        /// Not 0: of the entries that begin with the same values of so many of the index's columns only the first one. Then
        /// there is no filter.
        firsts: usize,
        /// Another index, and ranges of it in which each row that passes the filter has an entry.
        both: Option<(Arc<Index>, Vec<KeyRange>)>,
    },
    /// Rows by an inverted index, in key order: those that it finds for `items`, of which `filter` asks again.
    ItemScan {
        /// The table.
        table: Arc<Table>,
        /// The index.
        index: Arc<Index>,
        /// As in `TableScan`.
        columns: Vec<usize>,
        /// What the index is asked.
        items: Items<ItemCondition>,
        /// Over `columns`.
        filter: Option<Expr>,
    },
    /// At most one row, by the whole primary key (`index` none) or the whole key of a unique index. A NULL in the key:
    /// no row.
    PointGet {
        /// The table.
        table: Arc<Table>,
        /// The unique index, or none for the primary key.
        index: Option<Arc<Index>>,
        /// As in `TableScan`.
        columns: Vec<usize>,
        /// One value per key column, of that column's type; without columns.
        key: Vec<Expr>,
        /// Over `columns`.
        filter: Option<Expr>,
    },
    /// Rows for which the predicate is true.
    Filter {
        /// The rows to choose from.
        input: Arc<PhysicalPlan>,
        /// Conjuncts are in the order of evaluation.
        predicate: Expr,
    },
    /// One expression per output column; plain columns are to be passed on without copying.
    Project {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// The output columns.
        exprs: Vec<Expr>,
    },
    /// Builds a table of the right side, probes it with the left's rows, whose order it keeps (`Right` and `Full`: the
    /// unmatched right rows come last). `RightSemi`, `RightAnti`: right rows only, in their order, when the left's were read.
    HashJoin {
        /// `Semi`, `Anti`: the output is the left row; `RightSemi`, `RightAnti`: the right row.
        kind: JoinKind,
        /// The probe side.
        left: Arc<PhysicalPlan>,
        /// The build side.
        right: Arc<PhysicalPlan>,
        /// Over the left row; never empty.
        left_keys: Vec<Expr>,
        /// Over the right row (alone: index 0 is its first column); types equal the left keys' (modifiers aside). A
        /// NULL key matches nothing.
        right_keys: Vec<Expr>,
        /// The rest of the join condition, over both rows.
        residual: Option<Expr>,
    },
    /// Goes through both sides side by side. Keeps the left's order, and that of the right rows of each left row (`Right` and
    /// `Full`: neither).
    MergeJoin {
        /// `Semi`, `Anti`: the output is the left row. Never `RightSemi` or `RightAnti`.
        kind: JoinKind,
        /// Comes in the order of `left_keys`.
        left: Arc<PhysicalPlan>,
        /// Comes in the order of `right_keys`, in the directions of `left_keys`.
        right: Arc<PhysicalPlan>,
        /// Over the left row; never empty.
        left_keys: Vec<SortKey>,
        /// Over the right row alone, as in `HashJoin`. A NULL key matches nothing.
        right_keys: Vec<Expr>,
        /// No two right rows have the same keys.
        right_differs: bool,
        /// The rest of the join condition, over both rows.
        residual: Option<Expr>,
    },
    /// For each left row, the right rows that `on` accepts.
    NestedLoopJoin {
        /// `Semi`, `Anti`: the output is the left row. `Right` and `Full` only if not lateral.
        kind: JoinKind,
        /// The outer loop.
        left: Arc<PhysicalPlan>,
        /// The inner loop.
        right: Arc<PhysicalPlan>,
        /// Over both rows.
        on: Option<Expr>,
        /// Run `right` anew for each left row, pushed as its outer row; otherwise run it once and keep its rows.
        lateral: bool,
    },
    /// For each left row, the table's rows under a key computed from it. Keeps the left's order.
    IndexJoin {
        /// `Inner`, `Left`, `Semi` or `Anti`.
        kind: JoinKind,
        /// The outer loop.
        left: Arc<PhysicalPlan>,
        /// The table looked up.
        table: Arc<Table>,
        /// The index, or none for the primary key.
        index: Option<Arc<Index>>,
        /// As in `TableScan`: the right row.
        columns: Vec<usize>,
        /// Over the left row: values for the leading key columns, of those columns' types. A NULL matches nothing.
        keys: Vec<Expr>,
        /// The last of `keys` is where a range of values begins, in which this is the last one.
        to: Option<Expr>,
        /// `keys` covers a unique key: at most one row.
        unique: bool,
        /// The rest of the join condition, over the left row and `columns`.
        residual: Option<Expr>,
        /// As in `IndexScan`.
        covering: bool,
        /// What is expected of one lookup.
        inner: Estimate,
    },
    /// Output: the group expressions, then the aggregates, in the order of the groups' first rows. Without group expressions one
    /// row always.
    Aggregate {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// NULLs are one group.
        group_by: Vec<Expr>,
        /// The aggregates.
        aggregates: Vec<AggregateCall>,
        /// The rows of a group come together in the input; otherwise they are found by hashing.
        sorted: bool,
    },
    /// The input's columns, then the calls' answers for each row.
    Window {
        /// Ordered by `partition_by` (in some way) and within that by `order_by`; stays so.
        input: Arc<PhysicalPlan>,
        /// Rows with the same values are a partition. NULLs are the same.
        partition_by: Vec<Expr>,
        /// Rows that it does not tell apart are peers.
        order_by: Vec<SortKey>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// All rows in order; stable.
    Sort {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// The order.
        keys: Vec<SortKey>,
        /// Rows come in the order of so many of the keys, the first ones, already.
        presorted: usize,
    },
    /// `Limit` over `Sort`, keeping only as many rows as are needed (a NULL limit: all).
    TopN {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// The order.
        keys: Vec<SortKey>,
        /// As in `Sort`.
        presorted: usize,
        /// Without columns; of type BIGINT.
        limit: Expr,
        /// Without columns; of type BIGINT.
        offset: Option<Expr>,
    },
    /// Some of the rows. Negative values are errors (2201W, 2201X); NULL: no limit, no offset.
    Limit {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// Without columns.
        limit: Option<Expr>,
        /// Without columns.
        offset: Option<Expr>,
        /// The rows behind the last one that are its equals by these keys are given, too.
        ties: Vec<SortKey>,
    },
    /// Each different row once (NULLs equal); the first of each, in input order.
    Distinct {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// Equal rows come together in the input; otherwise they are found by hashing.
        sorted: bool,
    },
    /// The first row for each value of `on`, in input order.
    DistinctOn {
        /// The input.
        input: Arc<PhysicalPlan>,
        /// What makes rows the same.
        on: Vec<Expr>,
        /// As in `Distinct`.
        sorted: bool,
    },
    /// UNION ALL: the rows of each input in turn.
    Append {
        /// At least one.
        inputs: Vec<Arc<PhysicalPlan>>,
    },
    /// The other set operations (`UNION` without ALL is `Distinct` over `Append`).
    SetOperation {
        /// `Intersect` or `Except`.
        op: SetOperator,
        /// Keep duplicates: multisets.
        all: bool,
        /// The left input.
        left: Arc<PhysicalPlan>,
        /// The right input.
        right: Arc<PhysicalPlan>,
    },
    /// Changes rows; its own are what RETURNING says. Runs once, to its end, when it is first asked.
    Modify {
        /// What becomes of each row.
        change: Arc<Modification>,
        /// From which.
        rows: ModifiedRows,
    },
    /// WITH: `definition` runs once, when first scanned, and is kept for each `CteScan { id }` in `body` (also those in
    /// its subplans). Both run under this node's outer rows; when those change, it runs anew.
    Cte {
        /// Unique in the statement.
        id: CteId,
        /// The name in the query.
        name: String,
        /// What is shared.
        definition: Arc<PhysicalPlan>,
        /// Who uses it.
        body: Arc<PhysicalPlan>,
    },
    /// WITH RECURSIVE: `base`, then `step` over the rows of the round before (`CteScan { id }`) until it gives none;
    /// unless `all`, rows seen before are dropped. `body` scans the whole.
    RecursiveCte {
        /// Unique in the statement.
        id: CteId,
        /// The name in the query.
        name: String,
        /// The first round.
        base: Arc<PhysicalPlan>,
        /// The next rounds.
        step: Arc<PhysicalPlan>,
        /// UNION ALL.
        all: bool,
        /// Who uses it.
        body: Arc<PhysicalPlan>,
    },
    /// The rows kept under `id`.
    CteScan {
        /// Which.
        id: CteId,
        /// The name in the query.
        name: String,
    },
    /// A relation that the system makes, as it is under a catalog.
    SystemScan {
        /// What it is.
        relation: Arc<dyn SystemRows>,
        /// Positions in the relation's columns.
        columns: Vec<usize>,
        /// Rows are asked for by the column at this position among all, which has this value: without columns (outer rows and parameters
        /// are possible). Those of others may be there, too.
        only: Option<(usize, Expr)>,
    },
    /// A set-returning function in FROM.
    TableFunction {
        /// The call, without columns (outer rows and parameters are possible).
        call: Expr,
    },
}

/// Keys with a common prefix, and a range in the key column that follows it.
///
/// - Expressions have no columns; they are evaluated when the scan starts. Each has the type of its key column, or, in a
///   prefix, is an array of that type, which stands for each of its elements that is not NULL, or, where it is a call of
///   [`Function::nearest_spans`](crate::functions::Function::nearest_spans), for ranges from one element to the next. What follows a
///   range in the prefix counts where it is of one value only.
/// - If any of them is NULL the range is empty.
/// - `lower` and `upper` speak of values, whatever the direction in which the key column is kept. Where one of them is
///   given, NULLs in that column are outside. Both on the same column, the one after the prefix.
/// - A scan with several ranges has only prefixes of the same length in them; equal ones count once, and rows come in
///   key order over all of them: sort the encoded prefixes, drop duplicates.
/// - The empty range (no prefix, no bounds) is all keys. A scan without ranges returns nothing.
#[derive(Clone, Debug, Default)]
pub struct KeyRange {
    /// Values of the leading key columns.
    pub prefix: Vec<Expr>,
    /// Lower bound of the next key column.
    pub lower: Option<KeyBound>,
    /// Upper bound of the next key column.
    pub upper: Option<KeyBound>,
}

impl KeyRange {
    /// Whether it is all keys.
    pub(crate) fn is_whole(&self) -> bool {
        self.prefix.is_empty() && self.lower.is_none() && self.upper.is_none()
    }
}

/// Conditions of which all, or any, are to be true; each with something more.
#[derive(Clone, Debug)]
pub enum Items<T> {
    /// One condition.
    One(T),
    /// At least one.
    And(Vec<Items<T>>),
    /// At least one.
    Or(Vec<Items<T>>),
}

impl<T> Items<T> {
    /// The conditions, from the first to the last.
    pub(crate) fn each(&self) -> Vec<&T> {
        match self {
            Items::One(one) => vec![one],
            Items::And(parts) | Items::Or(parts) => parts.iter().flat_map(Items::each).collect(),
        }
    }

    /// As [`Items::each`], to change them.
    pub(crate) fn each_mut(&mut self) -> Vec<&mut T> {
        match self {
            Items::One(one) => vec![one],
            Items::And(parts) | Items::Or(parts) => parts.iter_mut().flat_map(Items::each_mut).collect(),
        }
    }

    /// The same of what is made of each condition.
    pub(crate) fn try_map<U, E>(&self, make: &mut dyn FnMut(&T) -> Result<U, E>) -> Result<Items<U>, E> {
        let mut all = |parts: &[Items<T>]| parts.iter().map(|part| part.try_map(make)).collect::<Result<Vec<_>, E>>();
        Ok(match self {
            Items::And(parts) => Items::And(all(parts)?),
            Items::Or(parts) => Items::Or(all(parts)?),
            Items::One(one) => Items::One(make(one)?),
        })
    }
}

/// What an inverted index is asked: `column operator value`.
#[derive(Clone, Debug)]
pub struct ItemCondition {
    /// Which of the index's columns.
    pub(crate) column: usize,
    pub(crate) operator: ItemOperator,
    /// Without columns. NULL: no row.
    pub(crate) value: Expr,
}

/// One end of a range.
#[derive(Clone, Debug)]
pub struct KeyBound {
    /// The value.
    pub value: Expr,
    /// Whether the value itself is in the range.
    pub inclusive: bool,
}

/// A query in an expression that runs as it is written, whenever the expression is evaluated.
///
/// Evaluation pushes the row that the expression is evaluated on, and runs `plan`. With `depends_on` empty the result
/// is the same for the whole statement: compute it once, and for `Quantified` by `=` hash it. Otherwise it may be
/// kept per values of `depends_on`.
#[derive(Clone, Debug)]
pub struct Subplan {
    /// Position in the whole plan's numbering of subplans.
    pub id: usize,
    /// What the value is.
    pub kind: SubqueryKind,
    /// The query.
    pub plan: Arc<PhysicalPlan>,
    /// The outer columns used inside, as (level, index) with level 1 the row of the expression.
    pub depends_on: Vec<(usize, usize)>,
}

impl PhysicalPlan {
    /// An INSERT of rows that are there, for which there is nothing to choose.
    pub(crate) fn of_constants(change: Arc<Modification>, rows: ConstantRows) -> PhysicalPlan {
        let fields = change.fields().to_vec();
        let node = PhysicalNode::Modify { change, rows: ModifiedRows::Constants(Arc::new(rows)) };
        PhysicalPlan { id: 0, fields, estimate: Estimate::default(), node, alias: None }
    }

    /// How many node ids this plan (a whole one) uses.
    pub fn node_count(&self) -> usize {
        super::number::count(self).0
    }

    /// The node's own expressions.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        super::number::node_exprs(&self.node)
    }

    /// The inputs, in the order that `EXPLAIN` shows them.
    pub fn children(&self) -> Vec<&Arc<PhysicalPlan>> {
        use PhysicalNode as N;
        match &self.node {
            N::Values { .. } | N::TableScan { .. } | N::IndexScan { .. } | N::PointGet { .. } => vec![],
            N::ItemScan { .. } | N::CteScan { .. } | N::SystemScan { .. } | N::TableFunction { .. } => vec![],
            N::Modify { rows: ModifiedRows::Plan(input) | ModifiedRows::Few(input), .. } => vec![input],
            N::Modify { rows: ModifiedRows::Constants(_), .. } => vec![],
            N::Filter { input, .. }
            | N::Project { input, .. }
            | N::Aggregate { input, .. }
            | N::Window { input, .. }
            | N::Sort { input, .. }
            | N::TopN { input, .. }
            | N::Limit { input, .. }
            | N::Distinct { input, .. }
            | N::DistinctOn { input, .. } => vec![input],
            N::IndexJoin { left, .. } => vec![left],
            N::HashJoin { left, right, .. }
            | N::MergeJoin { left, right, .. }
            | N::NestedLoopJoin { left, right, .. }
            | N::SetOperation { left, right, .. } => vec![left, right],
            N::Append { inputs } => inputs.iter().collect(),
            N::Cte { definition, body, .. } => vec![definition, body],
            N::RecursiveCte { base, step, body, .. } => vec![base, step, body],
        }
    }
}

//! The logical plan: what to compute, as the binder understood it; the optimizer rewrites it and chooses how.

use std::sync::Arc;

use super::expressions::expr::{AggregateCall, Expr};
use super::expressions::window::WindowCall;
use super::modification::Modification;
use super::scans::indexes::BoundIndexes;
use super::scans::system_rows::SystemRows;
use crate::catalog::Table;
use crate::types::DataType;

/// An output column.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let rows = conn.query("SELECT 1 AS a", ())?;
/// let field = &rows.columns()[0];
/// assert_eq!((field.name.as_str(), field.data_type), ("a", cairndb::DataType::Integer));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The type.
    pub data_type: DataType,
}

/// Rows that a plan reads in several places, or that are there when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CteId {
    /// Those of a query of its WITH, numbered as they are bound.
    Query(usize),
    /// What a change gives to its RETURNING where that has subqueries: no two in a process have one number.
    Returned(usize),
    /// The rows that were changed of one of the tables that a followed query reads (`plan/maintained/changes.rs`).
    Changed(usize),
    /// The one row that a query of a row program is over.
    Row,
}

/// A node of the logical plan.
#[derive(Clone, Debug)]
pub enum LogicalPlan {
    /// Literal rows; one row of no columns is the input of a SELECT without FROM.
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// Chosen columns of a table (positions in `table.columns`), in that order. [`Table::ROW_NUMBER`] is the hidden row number
    /// of a table without primary key, a BIGINT.
    Scan {
        /// The table.
        table: Arc<Table>,
        /// Positions in the table's columns.
        columns: Vec<usize>,
        /// What the table's indexes rest on; `None`: nothing but columns.
        indexes: Option<Arc<BoundIndexes>>,
        /// What the query calls the table, if not by its name.
        alias: Option<Arc<str>>,
    },
    /// Rows for which the predicate is true.
    Filter {
        /// The input.
        input: Box<LogicalPlan>,
        /// The condition.
        predicate: Expr,
    },
    /// Computed columns.
    Project {
        /// The input.
        input: Box<LogicalPlan>,
        /// One for each output column.
        exprs: Vec<Expr>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// Output: the left row's columns, then the right's (`Semi` and `Anti`, made by the optimizer: the left's only).
    /// `on` sees both. `lateral`: the right side's `Outer { level: 1 }` is the left row.
    Join {
        /// What kind.
        kind: JoinKind,
        /// The left side.
        left: Box<LogicalPlan>,
        /// The right side.
        right: Box<LogicalPlan>,
        /// The expressions that decide.
        on: Option<Expr>,
        /// The right side sees the left row.
        lateral: bool,
    },
    /// Output: the group expressions, then the aggregates. No group expressions: one row always.
    Aggregate {
        /// The input.
        input: Box<LogicalPlan>,
        /// The group expressions.
        group_by: Vec<Expr>,
        /// The aggregates.
        aggregates: Vec<AggregateCall>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// Output: the input's columns, then the calls' answers for each row. In which order rows come is not said.
    Window {
        /// The input.
        input: Box<LogicalPlan>,
        /// Rows with the same values are a partition. NULLs are the same.
        partition_by: Vec<Expr>,
        /// The order within partitions; rows that it does not tell apart are peers.
        order_by: Vec<SortKey>,
        /// The calls.
        calls: Vec<WindowCall>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// Rows in an order; stable.
    Sort {
        /// The input.
        input: Box<LogicalPlan>,
        /// The order.
        keys: Vec<SortKey>,
    },
    /// Expressions without columns; NULL means no limit.
    Limit {
        /// The input.
        input: Box<LogicalPlan>,
        /// How many.
        limit: Option<Expr>,
        /// How many to skip.
        offset: Option<Expr>,
        /// WITH TIES: the order of the input, by which rows behind the last one are as good as it.
        ties: Vec<SortKey>,
    },
    /// `on`: DISTINCT ON expressions (first row of each, in input order); empty: whole rows.
    Distinct {
        /// The input.
        input: Box<LogicalPlan>,
        /// The expressions that decide.
        on: Vec<Expr>,
    },
    /// UNION, INTERSECT, EXCEPT.
    SetOperation {
        /// Which operation.
        op: SetOperator,
        /// Keep duplicates.
        all: bool,
        /// The left side.
        left: Box<LogicalPlan>,
        /// The right side.
        right: Box<LogicalPlan>,
    },
    /// WITH: `id` names the shared result inside `body`.
    With {
        /// Unique in the statement.
        id: CteId,
        /// Its name.
        name: String,
        /// AS MATERIALIZED: it is computed on its own, whatever the query around it asks of it.
        materialized: bool,
        /// The shared query.
        definition: Box<LogicalPlan>,
        /// The query that uses it.
        body: Box<LogicalPlan>,
    },
    /// WITH RECURSIVE: `step` reads the rows of the last round through `CteScan { id }`.
    RecursiveWith {
        /// Unique in the statement.
        id: CteId,
        /// Its name.
        name: String,
        /// The first round.
        base: Box<LogicalPlan>,
        /// The next rounds.
        step: Box<LogicalPlan>,
        /// Keep duplicates.
        all: bool,
        /// The query that uses it.
        body: Box<LogicalPlan>,
    },
    /// The rows of a WITH query.
    CteScan {
        /// Unique in the statement.
        id: CteId,
        /// What the query calls it, if not by its name.
        alias: Option<Arc<str>>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// Rows that are changed, from those of the input. Output: what RETURNING says.
    Modify {
        /// What becomes of each row.
        change: Arc<Modification>,
        /// As the change asks for (see `BoundInsert`, `BoundUpdate`, `BoundDelete`).
        input: Box<LogicalPlan>,
    },
    /// A relation that the system makes, as it is under a catalog: its columns at these positions.
    SystemScan {
        /// What it is.
        relation: Arc<dyn SystemRows>,
        /// Positions in the relation's columns.
        columns: Vec<usize>,
        /// The output columns.
        fields: Vec<Field>,
    },
    /// A set-returning function in FROM (`generate_series`).
    TableFunction {
        /// The call.
        call: Expr,
        /// The output columns.
        fields: Vec<Field>,
    },
}

/// How rows without partner are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// And left rows without partner.
    Left,
    /// And right rows without partner.
    Right,
    /// And both.
    Full,
    /// Left rows with a partner.
    Semi,
    /// Left rows without one.
    Anti,
    /// Right rows with a partner: a semi join with its sides exchanged. Hash joins only.
    RightSemi,
    /// Right rows without one. Hash joins only.
    RightAnti,
}

impl JoinKind {
    /// Whether the left side's columns are in the result.
    pub fn shows_left(self) -> bool {
        !matches!(self, JoinKind::RightSemi | JoinKind::RightAnti)
    }

    /// Whether the right side's columns are in the result.
    pub fn shows_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// Which set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// One part of an order.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What is compared.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// The columns of a table at these positions.
pub(super) fn scanned_fields(table: &Table, columns: &[usize]) -> Vec<Field> {
    let field = |&at: &usize| match table.columns.get(at) {
        Some(column) => Field { name: column.name.clone(), data_type: column.data_type },
        // The hidden row number of a table without primary key.
        None => Field { name: String::new(), data_type: DataType::BigInt },
    };
    columns.iter().map(field).collect()
}

impl LogicalPlan {
    /// Whether an output column is of such a type.
    pub(crate) fn has_field(&self, is_such: impl Fn(DataType) -> bool) -> bool {
        let is_such = |field: &Field| is_such(field.data_type);
        match self {
            LogicalPlan::Project { fields, .. } => fields.iter().any(is_such),
            plan => plan.fields().iter().any(is_such),
        }
    }

    /// The output columns.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::with_capacity(self.width());
        self.add_fields(&mut fields);
        fields
    }

    /// Once through the plan: a deep one is asked at each of its levels.
    fn add_fields(&self, all: &mut Vec<Field>) {
        match self {
            LogicalPlan::Values { fields, .. }
            | LogicalPlan::Project { fields, .. }
            | LogicalPlan::Aggregate { fields, .. }
            | LogicalPlan::Window { fields, .. }
            | LogicalPlan::CteScan { fields, .. }
            | LogicalPlan::SystemScan { fields, .. }
            | LogicalPlan::TableFunction { fields, .. } => all.extend_from_slice(fields),
            LogicalPlan::Modify { change, .. } => all.extend_from_slice(change.fields()),
            LogicalPlan::Scan { table, columns, .. } => all.extend(scanned_fields(table, columns)),
            LogicalPlan::Filter { input: plan, .. }
            | LogicalPlan::Sort { input: plan, .. }
            | LogicalPlan::Limit { input: plan, .. }
            | LogicalPlan::Distinct { input: plan, .. }
            | LogicalPlan::Join { kind: JoinKind::Semi | JoinKind::Anti, left: plan, .. }
            | LogicalPlan::SetOperation { left: plan, .. }
            | LogicalPlan::With { body: plan, .. }
            | LogicalPlan::RecursiveWith { body: plan, .. } => plan.add_fields(all),
            LogicalPlan::Join { left, right, .. } => {
                left.add_fields(all);
                right.add_fields(all);
            }
        }
    }

    /// How many they are.
    pub(crate) fn width(&self) -> usize {
        match self {
            LogicalPlan::Values { fields, .. }
            | LogicalPlan::Project { fields, .. }
            | LogicalPlan::Aggregate { fields, .. }
            | LogicalPlan::Window { fields, .. }
            | LogicalPlan::CteScan { fields, .. }
            | LogicalPlan::SystemScan { fields, .. }
            | LogicalPlan::TableFunction { fields, .. } => fields.len(),
            LogicalPlan::Modify { change, .. } => change.fields().len(),
            LogicalPlan::Scan { columns, .. } => columns.len(),
            LogicalPlan::Filter { input: plan, .. }
            | LogicalPlan::Sort { input: plan, .. }
            | LogicalPlan::Limit { input: plan, .. }
            | LogicalPlan::Distinct { input: plan, .. }
            | LogicalPlan::Join { kind: JoinKind::Semi | JoinKind::Anti, left: plan, .. }
            | LogicalPlan::SetOperation { left: plan, .. }
            | LogicalPlan::With { body: plan, .. }
            | LogicalPlan::RecursiveWith { body: plan, .. } => plan.width(),
            LogicalPlan::Join { left, right, .. } => left.width() + right.width(),
        }
    }
}

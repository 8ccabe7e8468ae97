//! What a statement does to rows of a table, as it was bound: what a node [`Modify`](LogicalPlan::Modify) has besides its input.
//! How it is done is `dml`'s, which compiles it where it runs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::expressions::expr::Expr;
use super::logical::{Field, LogicalPlan};
use crate::catalog::{Table, TriggerEvent};

/// What becomes of each row that a node is given.
#[derive(Clone, Debug)]
pub struct Modification {
    /// Whose rows are changed: a table, or what INSTEAD OF triggers see of a view, which are given each row then.
    pub table: Arc<Table>,
    /// What is done to them.
    pub kind: ModificationKind,
    /// RETURNING; what its expressions are over is said where the kinds of statements are bound.
    pub returning: Option<Returning>,
    /// What views that rows go through ask of them.
    pub view_checks: Vec<ViewCheck>,
}

/// What is done to rows. The rows that a node is given for it are described where statements are bound (`bind::BoundInsert` and its
/// kin).
#[derive(Clone, Debug)]
pub enum ModificationKind {
    /// Each row is a new one.
    Insert {
        /// What to do with those that others are in the way of.
        on_conflict: Option<OnConflict>,
    },
    /// The row gets other values.
    Update {
        /// The columns to set, in the order of their new values.
        assigned: Vec<usize>,
        /// A target row may come more than once.
        is_joined: bool,
    },
    /// The row goes.
    Delete,
    /// One of the steps, which the row says.
    Merge {
        /// The position of the step's number.
        action_at: usize,
        /// By number.
        steps: Vec<MergeStep>,
        /// The positions of the data source's columns.
        extra: Range<usize>,
    },
}

/// ON CONFLICT.
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Which uniqueness; other violations are errors as ever.
    pub arbiter: Arbiter,
    /// What to do.
    pub action: ConflictAction,
}

/// The uniqueness that ON CONFLICT names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// Any of the table's (DO NOTHING without a target).
    Any,
    /// All that fit the target.
    Keys {
        /// The primary key is one of them.
        primary_key: bool,
        /// Unique indexes: positions in `table.indexes`.
        indexes: Vec<usize>,
    },
}

impl Arbiter {
    pub(crate) const PRIMARY_KEY: Arbiter = Arbiter::Keys { primary_key: true, indexes: vec![] };
}

/// DO NOTHING or DO UPDATE.
#[derive(Clone, Debug)]
pub enum ConflictAction {
    /// Keep the row that is there.
    Nothing,
    /// Expressions see the existing row's columns, then the row proposed for insertion (`excluded`): twice the table's
    /// width.
    Update {
        /// Column position and its new value.
        assignments: Vec<(usize, Expr)>,
        /// WHERE: rows for which it is not true stay as they are.
        filter: Option<Expr>,
        /// What the update asks by subqueries: over the one row of both (`CteId::Row`), the new values that have such, which
        /// stand behind both rows' columns in `assignments`; no row where it is to stay as it is.
        query: Option<Box<LogicalPlan>>,
        /// What views that the statement goes through show: a row in the way that is not among it is an error.
        shown: Vec<ViewCheck>,
    },
}

/// What MERGE does with a row.
#[derive(Clone, Debug)]
pub enum MergeStep {
    /// DO NOTHING.
    Nothing,
    /// DELETE.
    Delete,
    /// UPDATE.
    Update {
        /// The columns to set, in the order of their new values.
        assigned: Vec<usize>,
        /// Where these begin.
        at: usize,
    },
    /// INSERT.
    Insert {
        /// Where its complete row begins.
        at: usize,
    },
}

/// RETURNING: expressions over the affected row's columns (then others, see the statements).
#[derive(Clone, Debug)]
pub struct Returning {
    /// One per output column.
    pub exprs: Vec<Expr>,
    /// Names and types.
    pub fields: Vec<Field>,
}

/// The condition of a view that a row has to satisfy when it is given to it, or to one that is made of it.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// The view's name.
    pub view: String,
    /// Over the table's columns.
    pub condition: Expr,
}

impl Modification {
    /// What it is called.
    pub(crate) fn verb(&self) -> &'static str {
        match self.kind {
            ModificationKind::Insert { .. } => "Insert",
            ModificationKind::Update { .. } => "Update",
            ModificationKind::Delete => "Delete",
            ModificationKind::Merge { .. } => "Merge",
        }
    }

    /// The columns of its rows: RETURNING's.
    pub(crate) fn fields(&self) -> &[Field] {
        self.returning.as_ref().map_or(&[], |returning| &returning.fields)
    }

    /// What triggers of the table may be for, in the order in which they are told of it; none, where it has no triggers.
    pub(crate) fn events(&self) -> Vec<TriggerEvent> {
        use TriggerEvent as E;
        if self.table.triggers.is_empty() {
            return vec![];
        }
        match &self.kind {
            ModificationKind::Insert { on_conflict } if updates(on_conflict) => vec![E::Insert, E::Update],
            ModificationKind::Insert { .. } => vec![E::Insert],
            ModificationKind::Update { .. } => vec![E::Update],
            ModificationKind::Delete => vec![E::Delete],
            ModificationKind::Merge { steps, .. } => {
                let does = |event: &E| steps.iter().any(|step| step.event() == Some(*event));
                [E::Insert, E::Update, E::Delete].into_iter().filter(does).collect()
            }
        }
    }

    /// The columns that its updates assign.
    pub(crate) fn assigned(&self) -> Arc<[usize]> {
        match &self.kind {
            ModificationKind::Update { assigned, .. } => assigned.as_slice().into(),
            ModificationKind::Insert { on_conflict: Some(OnConflict { action, .. }) } => match action {
                ConflictAction::Update { assignments, .. } => assignments.iter().map(|(column, _)| *column).collect(),
                ConflictAction::Nothing => Arc::default(),
            },
            ModificationKind::Insert { on_conflict: None } | ModificationKind::Delete => Arc::default(),
            ModificationKind::Merge { steps, .. } => {
                let assigned = steps.iter().flat_map(|step| match step {
                    MergeStep::Update { assigned, .. } => assigned.as_slice(),
                    _ => &[],
                });
                assigned.copied().collect::<BTreeSet<usize>>().into_iter().collect()
            }
        }
    }
}

impl MergeStep {
    fn event(&self) -> Option<TriggerEvent> {
        match self {
            MergeStep::Nothing => None,
            MergeStep::Delete => Some(TriggerEvent::Delete),
            MergeStep::Update { .. } => Some(TriggerEvent::Update),
            MergeStep::Insert { .. } => Some(TriggerEvent::Insert),
        }
    }
}

fn updates(on_conflict: &Option<OnConflict>) -> bool {
    on_conflict.as_ref().is_some_and(|conflict| matches!(conflict.action, ConflictAction::Update { .. }))
}

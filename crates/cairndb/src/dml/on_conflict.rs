//! ON CONFLICT.

use std::collections::HashSet;

use super::constraints::{check_row, fit_lengths};
use super::foreign_keys::ForeignKeys;
use super::writer::Duplicate;
use super::{DmlContext, Target, Writer};
use crate::bind::{Arbiter, ConflictAction, OnConflict};
use crate::exec::eval_row;
use crate::plan::Expr;
use crate::{Error, Result, SqlState, Value};

/// ON CONFLICT of one INSERT.
#[derive(Debug)]
pub(crate) struct ConflictPlan(OnConflict);

/// What becomes of a row proposed for insertion.
pub(super) enum Resolution {
    /// Nothing is in its way.
    Insert,
    /// It is dropped.
    Skip,
    /// The row that was there was updated to this.
    Updated(Vec<Value>),
}

impl ConflictPlan {
    pub(super) fn new(bound: OnConflict) -> ConflictPlan {
        ConflictPlan(bound)
    }

    /// What binding made of the clause.
    pub(crate) fn bound(&self) -> &OnConflict {
        &self.0
    }

    pub(super) fn updates(&self) -> bool {
        matches!(self.0.action, ConflictAction::Update { .. })
    }

    pub(super) fn resolve(
        &self,
        writer: &mut Writer<'_>,
        keys: &mut ForeignKeys<'_>,
        touched: &mut HashSet<Vec<u8>>,
        key: &[u8],
        row: &[Value],
        context: &DmlContext<'_>,
    ) -> Result<Resolution> {
        let Some(duplicate) = writer.find_duplicate(key, row)? else { return Ok(Resolution::Insert) };
        let Some(existing) = self.arbitrate(writer, duplicate, row)? else {
            // `arbitrate` only gives up on a duplicate that the arbiter does not cover.
            let duplicate = writer.find_duplicate(key, row)?.ok_or_else(|| Error::internal("a duplicate vanished"))?;
            return Err(writer.duplicate_error(&duplicate, row));
        };
        match &self.0.action {
            ConflictAction::Nothing => Ok(Resolution::Skip),
            ConflictAction::Update { assignments, filter } => {
                let old = read_row(writer.target, &existing, context)?;
                if touched.contains(&existing) {
                    return Err(affected_twice());
                }
                let new = match updated(writer.target, &old, row, assignments, filter.as_ref(), context)? {
                    Some(new) => new,
                    None => return Ok(Resolution::Skip),
                };
                let new_key =
                    if writer.target.layout.has_row_numbers() { existing.clone() } else { writer.new_key(&new)? };
                writer.begin_update(&existing, &old, &new_key, &new)?;
                writer.finish_update(&existing, &old, &new_key, &new)?;
                keys.updated(&writer.target.table, &new_key, &old, &new)?;
                touched.insert(new_key);
                Ok(Resolution::Updated(new))
            }
        }
    }

    /// The key of the existing row, where its conflict is the arbiter's to settle.
    fn arbitrate(&self, writer: &mut Writer<'_>, duplicate: Duplicate, row: &[Value]) -> Result<Option<Vec<u8>>> {
        match self.0.arbiter {
            Arbiter::Any => Ok(Some(duplicate.existing)),
            Arbiter::PrimaryKey => Ok(duplicate.index.is_none().then_some(duplicate.existing)),
            Arbiter::Index(index) if duplicate.index == Some(index) => Ok(Some(duplicate.existing)),
            Arbiter::Index(index) => writer.find_in_index(index, row),
        }
    }
}

fn read_row(target: &Target, key: &[u8], context: &DmlContext<'_>) -> Result<Vec<Value>> {
    let read = context.tx.reader().get_with(target.table.tree, key, |value| target.layout.decode(key, value))?;
    read.ok_or_else(|| Error::new(SqlState::DATA_CORRUPTED, "an index entry has no row"))?
}

fn updated(
    target: &Target,
    old: &[Value],
    proposed: &[Value],
    assignments: &[(usize, Expr)],
    filter: Option<&Expr>,
    context: &DmlContext<'_>,
) -> Result<Option<Vec<Value>>> {
    let both = [old, proposed].concat();
    if let Some(filter) = filter
        && !eval_row(filter, &both, context.exec)?.is_true()
    {
        return Ok(None);
    }
    let mut new = old.to_vec();
    for (column, expr) in assignments {
        new[*column] = eval_row(expr, &both, context.exec)?;
    }
    fit_lengths(&target.table, &mut new, context.exec)?;
    check_row(target, &new, context.exec)?;
    Ok(Some(new))
}

fn affected_twice() -> Error {
    Error::new(SqlState::CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .with_hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        )
}

//! Point statements: one row by its whole key, from parameters to the tree and back.
//!
//! What qualifies is recognised in the plan, never in the text: a SELECT of columns, an UPDATE or a DELETE whose source
//! is a `PointGet` by parameters or literals, and an INSERT of one row of parameters or literals, on tables whose
//! constraints need nothing beyond the row and its unique keys. Everything else takes the general path, and so does a
//! point statement whenever something is out of the ordinary: the schema changed, a parameter needs converting, a
//! constraint is violated. The general path then plans, converts, or words the error.
//!
//! - The catalog's stamp is compared in the same state (for writes: under the commit lock) as the row is read in.
//! - In steady state nothing is allocated: keys and rows are encoded into the statement's buffers from lent values.

mod delete;
mod insert;
mod key;
mod operand;
mod place;
mod row_ref;
mod select;
mod shape;
mod update;

use cairn_storage::{Error as StorageError, WriteError};

use super::prepared::Body;
use crate::Error;
pub(super) use delete::PointDelete;
pub(super) use insert::PointInsert;
pub(super) use place::Place;
pub use row_ref::RowRef;
pub(super) use select::PointSelect;
pub(super) use update::PointUpdate;

/// A statement that qualifies.
#[derive(Debug)]
pub(super) enum PointPlan {
    Select(Box<PointSelect>),
    Insert(Box<PointInsert>),
    Update(Box<PointUpdate>),
    Delete(Box<PointDelete>),
}

impl PointPlan {
    pub(super) fn of(body: &Body) -> Option<PointPlan> {
        match body {
            Body::Query(plan) => PointSelect::of(plan).map(|plan| PointPlan::Select(Box::new(plan))),
            Body::Insert(plan) => PointInsert::of(plan).map(|plan| PointPlan::Insert(Box::new(plan))),
            Body::Update(plan) => PointUpdate::of(plan).map(|plan| PointPlan::Update(Box::new(plan))),
            Body::Delete(plan) => PointDelete::of(plan).map(|plan| PointPlan::Delete(Box::new(plan))),
            Body::Explain(_) | Body::Utility => None,
        }
    }
}

/// Why a point statement did not give an answer.
#[derive(Debug)]
pub(super) enum Miss {
    /// The general path must decide.
    General,
    Error(Error),
}

impl From<StorageError> for Miss {
    fn from(error: StorageError) -> Miss {
        Miss::Error(error.into())
    }
}

impl From<Error> for Miss {
    fn from(error: Error) -> Miss {
        Miss::Error(error)
    }
}

/// Out of a point write.
pub(super) fn missed(error: WriteError<Miss>) -> Miss {
    match error {
        // A value outside its leaf, or too much for one point write.
        WriteError::Storage(StorageError::TooLarge) => Miss::General,
        WriteError::Storage(error) => error.into(),
        WriteError::Caller(miss) => miss,
    }
}

/// Ends a point write from within.
pub(super) fn general<T>() -> Result<T, WriteError<Miss>> {
    Err(WriteError::Caller(Miss::General))
}

/// The statement's buffers, reused by every execution.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) key: Vec<u8>,
    pub(super) row: Vec<u8>,
    /// One per index of the table.
    pub(super) entries: Vec<insert::Entry>,
    pub(super) update: update::Scratch,
}

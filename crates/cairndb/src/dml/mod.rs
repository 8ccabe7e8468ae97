//! INSERT, UPDATE, DELETE and MERGE: rows and their index entries written together, constraints enforced, in the caller's
//! storage transaction.
//!
//! - A statement reads all its input before its first write, so it never sees its own changes.
//! - NOT NULL and CHECK are checked row by row, uniqueness once every replaced row of the statement is out of the way,
//!   foreign keys when all rows are written.
//! - A failed statement leaves half its writes in the transaction: the caller rolls back.

mod changing;
mod context;
mod deferred;
mod delete;
mod feed;
mod insert;
mod instead;
mod merge;
mod pending;
mod programs;
mod referencing;
mod returning;
pub(crate) mod row;
mod source;
mod statement;
mod transition;
mod triggers;
mod update;

pub(crate) use context::DmlContext;
pub(crate) use deferred::{Deferred, DeferredMark};
use delete::DeletePlan;
pub(crate) use feed::Feed;
pub(crate) use insert::{InsertPlan, Inserter, InserterBuffers, InserterState, OfRow, insert_each};
use instead::InsteadPlan;
use merge::MergePlan;
pub(crate) use pending::verify_foreign_key;
pub(crate) use programs::Programs;
use returning::DmlResult;
pub(crate) use returning::beneath_returning;
pub(crate) use row::{BatchRow, Entries, Target, key_detail};
pub(crate) use statement::{Done, Statement, one_row_insert, run};
pub(crate) use triggers::{ReadyTriggers, Running, TableTriggers, changed_by_trigger, has_trigger, is_told};
use update::UpdatePlan;

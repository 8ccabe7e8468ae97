//! Runs what keeps a result current ([`crate::plan::Maintenance`]): rows that changed go in, rows with weights come out.

mod direct;
mod groups;
mod lookup;
mod rows;
mod stages;
mod terms;
mod top;

pub(crate) use direct::Direct;
pub(crate) use rows::{Changed, ChangedReader, RowChanges, changed_rows, entry_row_key};
pub(crate) use stages::KeptState;
pub(crate) use terms::{MaintenanceEnv, Terms};

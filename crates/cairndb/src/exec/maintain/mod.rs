//! Runs what keeps a result current ([`crate::plan::Maintenance`]): rows that changed go in, rows with weights come out.

mod direct;
mod groups;
mod rows;
mod stages;
mod top;

pub(crate) use direct::Direct;
pub(crate) use rows::{Changed, ChangedReader, RowChanges, changed_rows, entry_row_key, run_term, weight_of};
pub(crate) use stages::KeptState;

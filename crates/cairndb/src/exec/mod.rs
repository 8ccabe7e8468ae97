//! The executor: runs a physical plan as operators that hand each other batches of typed columns.

mod aggregate;
mod build;
mod collected;
mod context;
mod distinct;
mod entry_sort;
mod expr;
mod facts;
#[cfg(test)]
mod hesitant;
mod join;
mod limit;
mod maintain;
mod modify;
mod operator;
#[cfg(test)]
mod resumable_tests;
mod row_by_row;
mod row_eval;
pub(crate) mod row_order;
mod rows;
mod scan;
mod scroll;
mod simple;
mod sort;
mod sort_runs;
mod spill;
mod stored;
mod stream;
mod system_scan;
mod table_function;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unique;
#[cfg(test)]
mod vector_tests;
mod window;
mod with;

pub(crate) use collected::Collected;
pub use context::{BatchSizes, DEFAULT_MEMORY_BUDGET, DEFAULT_WORK_MEM, ExecContext, SequenceSource, SequenceState};
pub(crate) use context::{Charge, Cx, Shared, Turn, pages_between};
pub(crate) use entry_sort::{EntrySorter, SortedEntries};
pub(crate) use facts::is_volatile;
#[cfg(test)]
pub(crate) use hesitant::{Hesitation, hesitantly, on_another_thread};
pub(crate) use maintain::{
    Changed, ChangedReader, Direct, KeptState, MaintenanceEnv, RowChanges, Terms, changed_rows, entry_row_key,
};
pub(crate) use operator::{NoAnswer, SourceRows, Step, Writes, until_done};
pub use row_eval::eval_row;
pub(crate) use row_eval::{draw, sequence};
pub(crate) use scroll::{Keep, ScrolledRows, only_forward};
pub use spill::SpillSpace;
pub(crate) use spill::{BatchList, SpillTotals};
pub(crate) use stored::Stored;
pub(crate) use stream::{Kept, execute_kept, execute_over};
pub use stream::{RowStream, execute};

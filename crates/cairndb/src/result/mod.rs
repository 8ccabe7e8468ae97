//! Results as programs read them: what a statement did, its rows, their values; and what a result belongs to.

mod batches;
mod executed;
mod few;
mod from_row;
mod outcome;
mod owned;
mod part;
mod row;
mod rows;

pub use executed::Executed;
pub(crate) use few::FewRows;
pub use from_row::{FromRow, column_of};
pub use outcome::{Outcome, command_tag};
pub use owned::{IntoRows, Mapped, OwnedRow, RowsAs};
pub(crate) use part::{Part, Whole};
pub(crate) use row::{BatchRow, RowValues};
pub use row::{Row, RowIndex};
pub(crate) use rows::EndlessRows;
pub use rows::{Prefetched, Rows, Timeslice};

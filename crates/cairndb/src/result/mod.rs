//! Rows of results as programs read them.

mod from_row;
mod row;

pub use from_row::{FromRow, column_of};
pub(crate) use row::{BatchRow, RowValues};
pub use row::{Row, RowIndex};

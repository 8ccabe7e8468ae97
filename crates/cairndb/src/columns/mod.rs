//! Values by column: vectors of one type, batches of rows made of them, and how those are equal, ordered and hashed.
//!
//! Knows types and nothing else: what binds, plans and changes rows has values by column as well as the operators.

mod batch;
mod bitmap;
mod byte_strings;
mod compare;
mod decimals;
mod hash;
mod made;
mod read;
mod vector;

pub use batch::Batch;
pub(crate) use batch::{append_columns, check_count, row_number};
pub use bitmap::Bitmap;
pub use byte_strings::ByteStrings;
pub(crate) use compare::{compare_values, float_prefix, rows_equal, rows_that_differ, values_equal};
pub use decimals::Decimals;
pub(crate) use hash::{HashTable, QuickHashes, hash_rows, remix, trim_blanks};
pub use vector::{Data, NO_ROW, Vector};
pub(crate) use vector::{Operand, Representation};

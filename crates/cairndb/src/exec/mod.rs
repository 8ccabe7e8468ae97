//! The executor: runs a physical plan as operators that hand each other batches of typed columns.

mod batch;
mod bitmap;
mod context;
mod row_eval;
mod stream;
mod vector;

pub use batch::Batch;
pub use bitmap::Bitmap;
pub use context::{BatchSizes, DEFAULT_MEMORY_BUDGET, ExecContext, SequenceSource};
pub use row_eval::eval_row;
pub use stream::{RowStream, execute};
pub use vector::{ByteStrings, Data, NO_ROW, Representation, Vector};

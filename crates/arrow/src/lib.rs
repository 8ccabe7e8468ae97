//! CairnDB's rows as Arrow's arrays, and Arrow's arrays as rows: one pass a column, in batches, both ways.
//!
//! ```
//! use arrow_array::RecordBatchReader;
//! use cairndb_arrow::{Incoming, Outgoing};
//!
//! let conn = cairndb::Database::open_in_memory()?.connect()?;
//! conn.execute_script("CREATE TABLE planet (id int, name text); INSERT INTO planet VALUES (3, 'Earth'), (4, NULL)")?;
//! let rows = Outgoing::of_rows(conn.query("SELECT * FROM planet ORDER BY id", ())?)?;
//! assert_eq!(rows.schema().field(1).name(), "name");
//! // What one library gives, another takes: pandas, polars, DuckDB; or CairnDB.
//! let incoming = Incoming::of_reader(rows)?;
//! conn.execute("CREATE TABLE copied (id int, name text)", ())?;
//! assert_eq!(conn.append_batches("copied", &["id", "name"], incoming)?, 2);
//! # Ok::<(), cairndb::Error>(())
//! ```

mod error;
mod export;
mod import;
mod incoming;
#[cfg(feature = "ipc")]
mod ipc;
mod outgoing;
mod shape;
mod table;

pub use import::batch_of;
pub use incoming::Incoming;
#[cfg(feature = "ipc")]
pub use ipc::{Encoder, MEDIA_TYPE};
pub use outgoing::Outgoing;
pub use shape::Shape;
pub use table::{arrow_field, sql_fields, sql_type};

//! CairnDB for asynchronous programs: the same statements, asked without keeping the thread that asks waiting. Any runtime will
//! do, or none.
//!
//! ```
//! # fn main() -> cairndb::Result<()> {
//! # let work = async {
//! let db = cairndb_async::Database::open_in_memory().await?;
//! db.execute("CREATE TABLE planet (id int PRIMARY KEY, name text NOT NULL)", ()).await?;
//! db.execute("INSERT INTO planet VALUES ($1, $2), (4, 'Mars')", (3, "Earth")).await?;
//! let name: String = db.query_row("SELECT name FROM planet WHERE id = $1", (3,), |row| row.get(0)).await?;
//! assert_eq!(name, "Earth");
//!
//! let mut rows = db.query("SELECT id FROM planet ORDER BY id", ()).await?;
//! while let Some(row) = rows.next().await? {
//!     println!("{}", row.get::<i32>(0)?);
//! }
//! db.close().await
//! # };
//! # pollster::block_on(work)
//! # }
//! ```
//!
//! - A statement of one row by its key, whose pages are in memory, is answered where it is asked, in the first poll. A write of
//!   that kind is done there too; its future is ready once the commit is durable, and no thread waits for that.
//! - Everything else is done by a few threads with connections of their own. What they are to do queues up, at most
//!   [`Options::queue`] statements; who asks for more waits for a place.
//! - Rows come in batches, as they are asked for. A reader that is slow, or stops, keeps no thread.
//! - A future that is dropped ends what it asked for: what has not begun is not begun, what runs is interrupted. A statement, and
//!   a transaction, is done as a whole or not at all; a write whose future is dropped after its first poll may be done.
//! - There is no session: what a statement would leave behind in one (`SET`, `BEGIN`, temporary tables, `PREPARE`) is
//!   refused outside of [`Database::transaction`] and [`Database::call`].

mod batch;
mod changes;
mod collection;
mod database;
mod error;
mod gate;
mod live;
mod notifications;
mod options;
mod pool;
mod rows;
mod shared;
mod task;
mod transaction;

pub use changes::Changes;
pub use collection::Collection;
pub use database::{Database, Performed};
pub use live::Live;
pub use notifications::Notifications;
pub use options::Options;
pub use pool::{Pool, PoolStatus};
pub use rows::{Mapped, Rows};
pub use transaction::Transaction;

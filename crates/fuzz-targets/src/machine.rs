//! Databases on a simulated disk, without threads of their own: the input decides everything, and an execution takes
//! well under a millisecond to set up.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::io::SimDisk;
use cairn_storage::{Environment, Options, QuietHost, Store};
use cairndb::{Connection, Database, Error};

pub(crate) const DATABASE: &str = "db";
pub(crate) const LOG: &str = "db-log";

/// Bytes of a segment of the log: the least there may be.
pub(crate) const SEGMENT_BYTES: usize = 16 << 10;

/// How long a statement may run.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// How much memory it may take, and as much on disk.
const STATEMENT_BYTES: usize = 64 << 20;

/// Opens the store on this disk, in small pages and a small log.
pub(crate) fn open_store(disk: &SimDisk, page_size: usize) -> Result<Store, cairn_storage::Error> {
    Store::open_with(Path::new(DATABASE), store_options(page_size), environment(disk))
}

pub(crate) fn environment(disk: &SimDisk) -> Environment {
    Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) }
}

/// Small pages and a small log.
pub(crate) fn store_options(page_size: usize) -> Options {
    let mut options = Options::default();
    options.page_size = page_size;
    options.cache_bytes = 4 << 20;
    options.log_segment_bytes = SEGMENT_BYTES;
    options.log_limit_bytes = 16 << 20;
    options.checkpoint_log_bytes = 1 << 40;
    options.max_snapshots = 16;
    options.max_pages = 1 << 14;
    options
}

/// Opens the SQL database on this disk.
pub(crate) fn open_database(disk: &SimDisk, page_size: usize) -> cairndb::Result<Database> {
    let options = cairndb::Options::default().statement_mem(STATEMENT_BYTES).temp_file_limit(STATEMENT_BYTES as u64);
    Database::over(open_store(disk, page_size)?, options)
}

/// A connection whose statements end in time.
pub(crate) fn connect(database: &Database) -> cairndb::Result<Connection> {
    let connection = database.connect()?;
    connection.set_statement_timeout(Some(TIME_LIMIT))?;
    Ok(connection)
}

/// Every row of a query as text, one line per row, in sorted order.
pub(crate) fn lines(connection: &Connection, sql: &str) -> cairndb::Result<Vec<String>> {
    let rows = connection.query_map(sql, (), |row| Ok(format!("{:?}", row.values())))?;
    let mut lines: Vec<String> = rows.collect::<cairndb::Result<_>>()?;
    lines.sort();
    Ok(lines)
}

/// Panics on an error that only a mistake of ours gives.
pub(crate) fn assert_typed(error: &Error, what: &str) {
    assert_ne!(error.sqlstate().0, "XX000", "{what}: {error:?}");
}

//! What only a server knows, as SQL asks it: databases, sessions, statements, cancelling.
//!
//! - It answers the statements that clients say themselves, and never what stands in a view, a routine, a trigger, a default or a
//!   constraint: a file's code is its author's, not the administrator's. (`bind` tells the two apart by whose text a name stands in.)
//! - The library has none: a program sees its own session and its own database.

use std::fmt;

use cairn_storage::Stats;

use crate::Result;

/// What a server tells a session of itself and of others: see [`Connection::serve`](crate::Connection::serve).
///
/// ```
/// # use cairndb::{Result, ServedDatabase, ServedSession, ServedStatement};
/// #[derive(Debug)]
/// struct Alone;
///
/// impl cairndb::Server for Alone {
///     fn process(&self) -> i32 {
///         7
///     }
///     fn user(&self) -> &str {
///         "alice"
///     }
///     fn databases(&self) -> Vec<ServedDatabase> {
///         let (name, settings) = ("shop".to_owned(), Vec::new());
///         vec![ServedDatabase { name, connections_max: None, sessions: 1, bytes: 0, settings, stats: None }]
///     }
///     fn sessions(&self) -> Vec<ServedSession> {
///         Vec::new()
///     }
///     fn statements(&self) -> Vec<ServedStatement> {
///         Vec::new()
///     }
///     fn forget_statements(&self) -> Result<()> {
///         Ok(())
///     }
///     fn cancel(&self, _: i32) -> Result<bool> {
///         Ok(false)
///     }
///     fn terminate(&self, _: i32, _: u64) -> Result<Option<bool>> {
///         Ok(None)
///     }
/// }
///
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.serve(std::sync::Arc::new(Alone));
/// assert_eq!(conn.query_row_as::<i32>("SELECT pg_backend_pid()", ())?, 7);
/// assert_eq!(conn.query_row_as::<String>("SELECT datname FROM pg_database", ())?, "shop");
/// assert_eq!(conn.query_row_as::<String>("SELECT current_user", ())?, "alice");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub trait Server: fmt::Debug + Send + Sync {
    /// The number of the session that asks.
    fn process(&self) -> i32;

    /// As whom the session that asks has come in.
    fn user(&self) -> &str;

    /// The databases that there are.
    fn databases(&self) -> Vec<ServedDatabase>;

    /// The sessions, that which asks among them.
    fn sessions(&self) -> Vec<ServedSession>;

    /// What was run since the server began, or they were forgotten.
    fn statements(&self) -> Vec<ServedStatement>;

    /// Forgets them.
    ///
    /// # Errors
    ///
    /// 42501 for who may not.
    fn forget_statements(&self) -> Result<()>;

    /// Stops what a session runs; false: there is no session of this number.
    ///
    /// # Errors
    ///
    /// 42501 for who may not.
    fn cancel(&self, process: i32) -> Result<bool>;

    /// Ends a session, and waits so many milliseconds until it has ended (0: does not wait); false: it has not by then; `None`: there
    /// is no session of this number.
    ///
    /// # Errors
    ///
    /// 42501 for who may not.
    fn terminate(&self, process: i32, wait_ms: u64) -> Result<Option<bool>>;
}

/// A database that a server has.
///
/// ```
/// let (name, settings) = ("shop".to_owned(), vec![("timezone".to_owned(), "Europe/Rome".to_owned())]);
/// let shop = cairndb::ServedDatabase { name, connections_max: None, sessions: 0, bytes: 8192, settings, stats: None };
/// assert!(shop.stats.is_none(), "it is not open");
/// ```
#[derive(Clone, Debug)]
pub struct ServedDatabase {
    /// What clients call it.
    pub name: String,
    /// How many sessions there may be in it; `None`: as many as there may be at all.
    pub connections_max: Option<usize>,
    /// How many there are.
    pub sessions: usize,
    /// Bytes of its files.
    pub bytes: u64,
    /// The settings that its sessions begin with.
    pub settings: Vec<(String, String)>,
    /// What it has counted; `None`: it is not open.
    pub stats: Option<Stats>,
}

/// A session of a server. Times are microseconds since 2000-01-01 UTC.
///
/// ```
/// let session = cairndb::ServedSession {
///     process: 7,
///     database: "shop".to_owned(),
///     user: "alice".to_owned(),
///     application_name: "psql".to_owned(),
///     client: Some("127.0.0.1:40000".parse().unwrap()),
///     begun: 0,
///     transaction_begun: None,
///     statement_begun: None,
///     state_since: 0,
///     state: "idle",
///     waits_for: Some(("Client", "ClientRead")),
///     statement: Some("SELECT ?".to_owned()),
/// };
/// assert_eq!(session.state, "idle");
/// ```
#[derive(Clone, Debug)]
pub struct ServedSession {
    /// Its number.
    pub process: i32,
    /// In which database it is.
    pub database: String,
    /// Who came in.
    pub user: String,
    /// What the client calls itself.
    pub application_name: String,
    /// The client's address; `None`: it came over a Unix socket.
    pub client: Option<std::net::SocketAddr>,
    /// When it began.
    pub begun: i64,
    /// When its open transaction began.
    pub transaction_begun: Option<i64>,
    /// When the statement began that it runs, or ran last.
    pub statement_begun: Option<i64>,
    /// Since when it does what it does.
    pub state_since: i64,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: &'static str,
    /// The kind and the name of what it waits for.
    pub waits_for: Option<(&'static str, &'static str)>,
    /// The statement that it runs, or ran last, without constants; `None`: not for who asks to see.
    pub statement: Option<String>,
}

/// A statement that was run, with all that differ from it in constants only.
///
/// ```
/// let run = cairndb::ServedStatement {
///     user: "alice".to_owned(),
///     database: "shop".to_owned(),
///     id: 42,
///     text: Some("SELECT ?".to_owned()),
///     calls: 2,
///     rows: 2,
///     total_ns: 3_000,
///     min_ns: 1_000,
///     max_ns: 2_000,
/// };
/// assert_eq!(run.total_ns / run.calls, 1_500);
/// ```
#[derive(Clone, Debug)]
pub struct ServedStatement {
    /// Whose it was.
    pub user: String,
    /// In which database.
    pub database: String,
    /// Tells its text from others.
    pub id: i64,
    /// Without constants; `None`: not for who asks to see.
    pub text: Option<String>,
    /// How often it was run to its end.
    pub calls: u64,
    /// The rows that it gave or changed.
    pub rows: u64,
    /// All of its time.
    pub total_ns: u64,
    /// The shortest run.
    pub min_ns: u64,
    /// The longest run.
    pub max_ns: u64,
}

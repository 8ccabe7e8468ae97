//! What a connection is told of: what its channels say, what becomes of queries, and where commits stand.

use std::time::Duration;

use super::{Connection, LiveQuery, Notifications, Params, Position};
use crate::Result;

impl Connection {
    /// What the channels tell to which this connection listens, now and later: see [`Notifications`].
    pub fn notifications(&self) -> Notifications {
        self.session.notifications()
    }

    /// `LISTEN` to the channel of this name, taken as it is.
    ///
    /// # Errors
    ///
    /// 22023 where there is no channel of such a name.
    pub fn listen(&self, channel: &str) -> Result<()> {
        self.session.listen(channel)
    }

    /// Watches a query's result: see [`LiveQuery`]. The session's settings are those that it has now.
    ///
    /// # Errors
    ///
    /// - 42601: it is no query. 0A000, with the part of it that is in the way: its result may change without a commit (`now()`,
    ///   `random()`, values of sequences), or it reads temporary tables.
    /// - 25001: in an open transaction, whose changes nobody else sees.
    /// - 57014: the session's `statement_timeout` was over, or it was [interrupted](crate::InterruptHandle).
    /// - What running the query fails with.
    pub fn live(&self, sql: &str, params: impl Params) -> Result<LiveQuery> {
        self.session.live(sql, params)
    }

    /// The position of this connection's last commit: a snapshot that has it has the commit. `None`: nothing was committed so far.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let db = cairndb::Database::open_in_memory()?;
    /// let (writer, reader) = (db.connect()?, db.connect()?);
    /// writer.execute("CREATE TABLE t (id int PRIMARY KEY)", ())?;
    /// let position = writer.position().expect("a commit");
    /// assert!(reader.wait_for(position, Duration::from_secs(1))?);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn position(&self) -> Option<Position> {
        self.session.position()
    }

    /// Waits until statements of any connection see the commit at this position, for at most so long; false: not so far.
    ///
    /// # Errors
    ///
    /// 57014 after an [interrupt](super::InterruptHandle::interrupt) or the statement's timeout; 55000 once the database is closed,
    /// and for a position that it never comes to: of a commit that a crash took, of another database (a copy is another), or told so
    /// many crashes ago (eight are known) that it is not known what became of it.
    pub fn wait_for(&self, position: Position, time: Duration) -> Result<bool> {
        self.session.wait_for(position, time)
    }

    /// The position of the state that a maintained materialized view shows: that of the connection's newest state for one that
    /// commits keep current; for one that follows, that of its last change. `None`: it has not begun to follow.
    ///
    /// # Errors
    ///
    /// 42P01 where there is no such view; 42809 for one that is not maintained.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (id int); CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT count(*) FROM t")?;
    /// println!("it has what was committed before {:?}", conn.view_position("v")?);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn view_position(&self, view: &str) -> Result<Option<Position>> {
        self.session.view_position(view)
    }

    /// Waits until a maintained materialized view shows a state of this [position](crate::Connection::position), or a later one, for at
    /// most so long; false: not so far.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let db = cairndb::Database::open_in_memory()?;
    /// let conn = db.connect()?;
    /// conn.execute_script(
    ///     "CREATE TABLE sale (shop text, amount int);
    ///      CREATE MATERIALIZED VIEW best WITH (maintained) AS SELECT shop, max(amount) AS amount FROM sale GROUP BY shop",
    /// )?;
    /// conn.execute("INSERT INTO sale VALUES ('north', 5), ('north', 7)", ())?;
    /// assert!(conn.wait_for_view("best", conn.position().expect("a commit"), Duration::from_secs(20))?);
    /// assert_eq!(conn.query_row("SELECT amount FROM best WHERE shop = 'north'", (), |row| row.get::<i32>(0))?, 7);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Connection::view_position`](crate::Connection::view_position) and [`Connection::wait_for`](crate::Connection::wait_for); 55000 for a view that is not kept current any more.
    pub fn wait_for_view(&self, view: &str, position: Position, time: Duration) -> Result<bool> {
        self.session.wait_for_view(view, position, time)
    }
}

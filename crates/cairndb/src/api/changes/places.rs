//! Where consumers begin: the places of change feeds, and what is kept behind them.

use std::time::Duration;

use super::super::{Connection, Database, Position};
use super::{ChangedTable, Changes};
use crate::catalog::Table;
use crate::change_feed::{self, Epochs, feeds_tree};
use crate::session::Shared;
use crate::sql::relation_name;
use crate::{Error, Result, SqlState};

/// How much of a table's changes is kept for consumers that come later.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on, change_feed_age = '1 day')", ())?;
/// let limits = conn.change_feed_limits("task")?.expect("it has a feed");
/// assert_eq!(limits.age.as_secs(), 24 * 60 * 60);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeFeedLimits {
    /// How old they may become; zero: as old as they like.
    pub age: Duration,
    /// How many bytes of them; zero: as many as there are.
    pub bytes: u64,
}

impl Connection {
    /// What is kept of the changes of a table, which SQL names so; `None`: it has no change feed.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on, change_feed_bytes = '1MB')", ())?;
    /// assert_eq!(conn.change_feed_limits("task")?.map(|limits| limits.bytes), Some(1 << 20));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn change_feed_limits(&self, table: &str) -> Result<Option<ChangeFeedLimits>> {
        let catalog = self.session.catalog()?;
        let name = relation_name(table)?;
        let relation = catalog.relation(&name).ok_or_else(|| catalog.no_relation(&name))?;
        let Some(feed) = relation.table().and_then(|table| table.feed) else { return Ok(None) };
        let snapshot = self.session.shared().store.snapshot()?;
        let Some(feeds) = feeds_tree(snapshot.reader())? else { return Ok(None) };
        let known = change_feed::all(snapshot.reader(), feeds)?.into_iter().find(|known| known.tree == feed.tree);
        let limits = known.map(|known| known.limits);
        Ok(limits.map(|limits| ChangeFeedLimits { age: Duration::from_micros(limits.age), bytes: limits.bytes }))
    }
}

impl Database {
    /// What commits do to tables with a change feed: behind the token, or (`None`) from now on.
    ///
    /// # Errors
    ///
    /// 55000 where some of it is not kept any more, or the token is of commits that a crash took, or of another database: read the
    /// tables anew, and go on from there ([`Connection::change_token`]).
    pub fn changes(&self, from: Option<Position>) -> Result<Changes> {
        // It listens before it looks.
        let listener = self.shared.store.listen_to_appends();
        let snapshot = self.shared.store.durable_snapshot()?;
        let reader = snapshot.reader();
        let epochs = feeds_tree(reader)?.map(|feeds| Epochs::read(reader, feeds)).transpose()?;
        let session = epochs.as_ref().map_or(Ok(0), Epochs::newest)?;
        let position = match from {
            None => snapshot.position(),
            Some(token) => self.place_in_feeds(&token.0, epochs.as_ref())?,
        };
        Changes::begin(self, listener, session, position)
    }

    /// What commits did to tables with a change feed, from the oldest on of which all that follows is kept: what is read once, to look back.
    ///
    /// ```
    /// # use cairndb::Next;
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
    /// conn.execute("INSERT INTO task VALUES (7)", ())?;
    /// let mut kept = db.kept_changes()?;
    /// let mut ids = vec![];
    /// // (The first tells of the table, and has no row.)
    /// while let Next::Item(change) = kept.next_change_within(std::time::Duration::ZERO)? {
    ///     ids.extend(change.new_row().map(|row| row.get::<i32>("id")).transpose()?);
    /// }
    /// assert_eq!(ids, [7]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of reading: SQLSTATE 58030, XX001. What goes while it is read is told by [`Changes::next_change`] (55000).
    pub fn kept_changes(&self) -> Result<Changes> {
        let listener = self.shared.store.listen_to_appends();
        let snapshot = self.shared.store.durable_snapshot()?;
        let reader = snapshot.reader();
        let Some(feeds) = feeds_tree(reader)? else { return Changes::begin(self, listener, 0, snapshot.position()) };
        let horizons = change_feed::all(reader, feeds)?.into_iter().map(|feed| feed.horizon);
        let oldest = horizons.fold(change_feed::forgotten(reader, feeds)?, u64::max);
        let session = Epochs::read(reader, feeds)?.newest()?;
        Changes::begin(self, listener, session, oldest.saturating_sub(1))
    }

    /// What the feeds know of sessions goes farther back than what the database knows of openings, and clean ends are in it: so
    /// they notice that a file was replaced by an earlier copy.
    fn place_in_feeds(&self, token: &cairn_storage::Position, sessions: Option<&Epochs>) -> Result<u64> {
        let is_known = sessions.is_some_and(|sessions| sessions.has(token.session(), token.bare()));
        if is_known || (token.is_of_earlier_version() && token.session() == 0 && sessions.is_none()) {
            return Ok(token.bare());
        }
        if token.is_of_earlier_version() || (sessions.is_some() && token.session() != 0) {
            return Err(too_late("they are of commits that this database does not have"));
        }
        Ok(self.shared.store.place_of(token)?)
    }
}

impl Connection {
    /// The place in the change feeds of the state that this connection reads: within a transaction its own, otherwise the newest.
    /// Who reads tables in a transaction and goes on with the changes from there sees each change once.
    pub fn change_token(&self) -> Result<Position> {
        let shared = self.session.shared();
        let snapshot = shared.store.durable_snapshot()?;
        let position = match &self.session.state.borrow().transaction {
            Some(open) => open.tx.reader().database().position()?,
            None => snapshot.position(),
        };
        let reader = snapshot.reader();
        let session = match feeds_tree(reader)? {
            Some(feeds) => Epochs::read(reader, feeds)?.newest()?,
            None => 0,
        };
        Ok(token_of(shared, session, position))
    }
}

impl Connection {
    /// The table, which SQL names so, as its change feed describes it in the state that this connection reads: who begins with the
    /// table's rows in a transaction, and goes on from its [token](Connection::change_token), has the numbers of their columns
    /// here. `None`: it has no change feed.
    ///
    /// # Errors
    ///
    /// 42P01 where there is no such table.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
    /// let task = conn.changed_table("task")?.expect("it has a feed");
    /// let columns: Vec<(u32, &str)> = task.columns.iter().map(|column| (column.number, column.name.as_str())).collect();
    /// assert_eq!(columns, [(1, "id"), (2, "title")]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn changed_table(&self, table: &str) -> Result<Option<ChangedTable>> {
        let catalog = self.session.catalog()?;
        let name = relation_name(table)?;
        let relation = catalog.relation(&name).ok_or_else(|| catalog.no_relation(&name))?;
        let Some(table) = relation.table().filter(|table| table.feed.is_some()) else { return Ok(None) };
        let schema = catalog.schema_name(table.schema).unwrap_or_default().to_owned();
        Ok(Some(ChangedTable::of(Table::clone(table), schema)))
    }
}

/// As the feeds' `session` tells it: who only reads has none, and tells what the last one would have.
pub(super) fn token_of(shared: &Shared, session: u64, position: u64) -> Position {
    let Position(told) = shared.told(position);
    Position(if told.session() == 0 { told.in_session(session) } else { told })
}

pub(super) fn too_late(why: &str) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "can no longer get changes from this place")
        .with_detail(format!("Not all that follows is kept: {why}."))
        .with_hint("Read the tables anew in a transaction, and go on from its change token.")
}

//! The change feed as its consumers see it: what every commit did to the tables that ask for it, in order.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cairn_storage::{AppendCall, AppendListener, Appended, Reader, TreeId};

use super::next::{Next, Stop, StopHandle};
use super::{Connection, Database, Position, Row};
use crate::catalog::{ObjectId, Table, TableLayout, schema_name_of};
use crate::change_feed::{self, Entry, EntryKind, Epochs, FeedInfo, description, feeds_tree};
use crate::plan::Field;
use crate::sql::relation_name;
use crate::{Error, Result, SqlState, Value};

/// Changes that are read ahead, and bytes of them.
const AHEAD: usize = 256;
const AHEAD_BYTES: usize = 1 << 20;

/// What a change is.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::ChangeKind;
///
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(Some(conn.change_token()?))?;
/// conn.execute_script("INSERT INTO task VALUES (1); DELETE FROM task; TRUNCATE task")?;
/// let kinds = [(); 3].map(|()| changes.next_change().ok().flatten().map(|change| change.kind()));
/// assert_eq!(kinds, [ChangeKind::Insert, ChangeKind::Delete, ChangeKind::Truncate].map(Some));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A row came.
    Insert,
    /// A row is another, under the same key. One whose key changes is told as deleted, then inserted.
    Update,
    /// A row went.
    Delete,
    /// All rows went at once.
    Truncate,
    /// The table has other columns, another key or another name from here on: [`Change::table`] has them. Rows that stay as they
    /// are stored have [`ChangeColumn::missing`] in columns that came; others are told as [`ChangeKind::Rewrite`].
    Alter,
    /// All rows are written anew because the table was altered: each follows as [`ChangeKind::Rewrite`]. Who keeps rows by key
    /// takes them all out first: keys may be others'.
    Rewriting,
    /// The row was written anew because the table was altered: with other values, or under another key. Old and new rows have the
    /// columns from before and after that.
    Rewrite,
    /// The table is told of from here on: its rows are those of this position.
    Begin,
    /// The table is told of no more.
    End,
    /// The table was dropped.
    Drop,
}

/// A table, as it was when something changed.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(None)?;
/// conn.execute("INSERT INTO task VALUES (1, 'told')", ())?;
/// let change = changes.next_change()?.expect("a change");
/// let table = change.table();
/// assert_eq!((table.schema.as_str(), table.name.as_str()), ("public", "task"));
/// assert_eq!(table.columns[table.primary_key[0]].name, "id");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChangedTable {
    /// Names the table for the life of the database, whatever it is called.
    pub id: u32,
    /// The schema that it is in; empty where that is gone.
    pub schema: String,
    /// What it was called.
    pub name: String,
    /// In order.
    pub columns: Vec<ChangeColumn>,
    /// Positions of the primary key's columns; none: rows are told apart by [`Change::old_key`] and [`Change::new_key`] alone.
    pub primary_key: Vec<usize>,
    fields: Vec<Field>,
    layout: TableLayout,
    /// The positions of columns that rows have: of virtual ones nothing is told.
    told: Vec<usize>,
}

/// A column of a table.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(None)?;
/// conn.execute("ALTER TABLE task ADD done boolean NOT NULL DEFAULT false", ())?;
/// conn.execute("INSERT INTO task VALUES (1)", ())?;
/// let mut last = changes.next_change()?.expect("a change");
/// while last.new_row().is_none() {
///     last = changes.next_change()?.expect("a change");
/// }
/// let column = &last.table().columns[1];
/// // What rows have in it that were there before it was.
/// assert_eq!((column.name.as_str(), &column.missing), ("done", &cairndb::Value::Boolean(false)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeColumn {
    /// Names the column for the life of the table, whatever it is called.
    pub number: u32,
    /// What it was called.
    pub name: String,
    /// The value that rows have in it which were there before it came.
    pub missing: Value,
}

/// One change of a commit.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
/// conn.execute("INSERT INTO task VALUES (1, 'begin')", ())?;
/// let mut changes = db.changes(Some(conn.change_token()?))?;
/// conn.execute("UPDATE task SET title = 'end' WHERE id = 1", ())?;
/// let change = changes.next_change()?.expect("a change");
/// assert_eq!(change.kind(), cairndb::ChangeKind::Update);
/// assert_eq!(change.old().expect("it was there").get::<String>("title")?, "begin");
/// assert_eq!(change.new_row().expect("it is there").get::<String>("title")?, "end");
/// assert_eq!(change.old_key(), change.new_key());
/// assert_eq!(change.old_table().id, change.table().id);
/// assert!(change.is_last() && change.position() <= conn.position().expect("a commit"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Change {
    kind: ChangeKind,
    table: Arc<ChangedTable>,
    old_table: Arc<ChangedTable>,
    position: Position,
    is_last: bool,
    old: Option<(Box<[u8]>, Vec<Value>)>,
    new: Option<(Box<[u8]>, Vec<Value>)>,
}

impl Change {
    /// What it is.
    pub fn kind(&self) -> ChangeKind {
        self.kind
    }

    /// The table, as it is from this change on.
    pub fn table(&self) -> &ChangedTable {
        &self.table
    }

    /// The table, as the old row has it; for [`ChangeKind::Alter`] as it was before (or as it is, where the types that it had
    /// are gone).
    pub fn old_table(&self) -> &ChangedTable {
        &self.old_table
    }

    /// The position of the commit: the same for all of its changes, greater than those of commits before.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether it is the last of its commit.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// The row as it was, where there was one.
    pub fn old(&self) -> Option<Row<'_>> {
        self.old.as_ref().map(|(_, values)| Row::new(&self.old_table.fields, values))
    }

    /// The row as it is, where there is one.
    pub fn new_row(&self) -> Option<Row<'_>> {
        self.new.as_ref().map(|(_, values)| Row::new(&self.table.fields, values))
    }

    /// Bytes that tell the old row from all others of its table.
    pub fn old_key(&self) -> Option<&[u8]> {
        self.old.as_ref().map(|(key, _)| &**key)
    }

    /// Bytes that tell the new row from all others of its table.
    pub fn new_key(&self) -> Option<&[u8]> {
        self.new.as_ref().map(|(key, _)| &**key)
    }
}

/// What commits did to the tables that have a change feed, in the order of commits, within a commit in its own order, all
/// durable. One that stops goes on from its [token](Changes::token), also after a crash, and misses nothing, as long as the
/// feeds keep it.
///
/// ```
/// use cairndb::ChangeKind;
///
/// let db = cairndb::Database::open_in_memory()?;
/// let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(None)?;
/// conn.execute("INSERT INTO task VALUES (1, 'told')", ())?;
/// let change = changes.next_change()?.expect("a change");
/// assert_eq!((change.kind(), change.table().name.as_str()), (ChangeKind::Insert, "task"));
/// assert_eq!(change.new_row().expect("a row").get::<String>("title")?, "told");
///
/// let token = changes.token();
/// conn.execute("DELETE FROM task", ())?;
/// let mut later = db.changes(Some(token))?;
/// assert_eq!(later.next_change()?.expect("a change").kind(), ChangeKind::Delete);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Changes {
    listener: AppendListener,
    stop: Arc<Stopped>,
    /// Of the session that tells of them.
    session: u64,
    /// The entry that was read last; `u32::MAX`: all of its commit's.
    at: (u64, u32),
    /// Behind the last commit that was handed out whole.
    done: u64,
    /// Read ahead, each with the place of its commit.
    waiting: VecDeque<(u64, Change)>,
    tables: HashMap<(TreeId, u32), Arc<ChangedTable>>,
    listed: Listed,
    /// Feeds by their trees, and the stamps of those of which all was read: they are looked at again once they are others.
    read: HashMap<TreeId, u64>,
    /// Keeps the database open; let go of last.
    database: Database,
}

/// The feeds that there are, as they were read last.
#[derive(Default)]
struct Listed {
    /// Of the tree that lists them.
    stamp: Option<u64>,
    all: Vec<FeedInfo>,
    forgotten: u64,
}

impl Listed {
    fn look(&mut self, reader: &Reader, feeds: TreeId) -> Result<()> {
        let stamp = reader.tree_stamp(feeds)?;
        if self.stamp != Some(stamp) {
            let (all, forgotten) = (change_feed::all(reader, feeds)?, change_feed::forgotten(reader, feeds)?);
            *self = Listed { stamp: Some(stamp), all, forgotten };
        }
        Ok(())
    }
}

/// Whether somebody has stopped it, and how he calls who waits.
struct Stopped {
    is_stopped: AtomicBool,
    call: AppendCall,
}

impl Stop for Stopped {
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.call.call();
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({})", self.token())
    }
}

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
        let catalog = self.catalog()?;
        let name = relation_name(table)?;
        let relation = catalog.relation(&name).ok_or_else(|| catalog.no_relation(&name))?;
        let Some(feed) = relation.table().and_then(|table| table.feed) else { return Ok(None) };
        let snapshot = self.shared().store.snapshot()?;
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
        let stop = Arc::new(Stopped { is_stopped: AtomicBool::new(false), call: listener.caller() });
        let mut changes = Changes {
            listener,
            stop,
            session,
            at: (position, u32::MAX),
            done: position,
            waiting: VecDeque::new(),
            tables: HashMap::new(),
            listed: Listed::default(),
            read: HashMap::new(),
            database: self.clone(),
        };
        changes.fill()?;
        Ok(changes)
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
        let shared = self.shared();
        let snapshot = shared.store.durable_snapshot()?;
        let position = match &self.state.borrow().transaction {
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
        let catalog = self.catalog()?;
        let name = relation_name(table)?;
        let relation = catalog.relation(&name).ok_or_else(|| catalog.no_relation(&name))?;
        let Some(table) = relation.table().filter(|table| table.feed.is_some()) else { return Ok(None) };
        let schema = catalog.schema_name(table.schema).unwrap_or_default().to_owned();
        Ok(Some(ChangedTable::of(Table::clone(table), schema)))
    }
}

/// As the feeds' `session` tells it: who only reads has none, and tells what the last one would have.
fn token_of(shared: &super::database::Shared, session: u64, position: u64) -> Position {
    let Position(told) = shared.told(position);
    Position(if told.session() == 0 { told.in_session(session) } else { told })
}

fn too_late(why: &str) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "can no longer get changes from this place")
        .with_detail(format!("Not all that follows is kept: {why}."))
        .with_hint("Read the tables anew in a transaction, and go on from its change token.")
}

/// A feed's next entry.
struct Head {
    tree: TreeId,
    entries: Appended,
    at: (u64, u32),
    value: Vec<u8>,
}

impl Head {
    /// The first entry behind `after`, up to the position; `None`: there is none.
    fn new(reader: &Reader, tree: TreeId, after: (u64, u32), last: u64) -> Result<Option<Head>> {
        let entries = reader.appended(tree, after)?;
        let mut head = Head { tree, entries, at: after, value: Vec::new() };
        Ok(head.step(last)?.then_some(head))
    }

    fn step(&mut self, last: u64) -> Result<bool> {
        let Some((position, ordinal, value)) = self.entries.next()? else { return Ok(false) };
        self.at = (position, ordinal);
        self.value.clear();
        self.value.extend_from_slice(value);
        Ok(position <= last)
    }
}

impl Changes {
    /// Where to go on from: behind the last commit whose last change was handed out.
    pub fn token(&self) -> Position {
        self.at_place(self.done)
    }

    fn at_place(&self, position: u64) -> Position {
        token_of(&self.database.shared, self.session, position)
    }

    /// Waits for the next change. `None`: the database was closed, or it was [stopped](Changes::stop_handle).
    ///
    /// # Errors
    ///
    /// 55000 where it was too slow: what it has not taken yet is not kept any more. Begin again.
    pub fn next_change(&mut self) -> Result<Option<Change>> {
        self.next_until(None).map(Next::item)
    }

    /// The next change, if it was read with one before it: nothing is read, or waited for.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
    /// let mut changes = db.changes(Some(conn.change_token()?))?;
    /// conn.execute("INSERT INTO task VALUES (1), (2)", ())?;
    /// assert!(changes.take_read().is_none() && changes.next_change()?.is_some());
    /// assert!(changes.take_read().is_some() && changes.take_read().is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn take_read(&mut self) -> Option<Change> {
        if self.is_stopped() {
            return None;
        }
        let (place, change) = self.waiting.pop_front()?;
        if change.is_last {
            self.done = place;
        }
        Some(change)
    }

    /// Ends it from another thread, also while it is waited for. Its token stays good.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle::of(&self.stop)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_stopped.load(Ordering::SeqCst)
    }

    /// As `next_change`, for at most so long.
    ///
    /// # Errors
    ///
    /// See [`Changes::next_change`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
    /// let mut changes = db.changes(None)?;
    /// let next = changes.next_change_within(std::time::Duration::from_millis(10))?;
    /// assert!(matches!(next, cairndb::Next::NotYet));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn next_change_within(&mut self, time: Duration) -> Result<Next<Change>> {
        self.next_until(Instant::now().checked_add(time))
    }

    /// For tasks of an asynchronous program: the next change, or its waker is woken once there may be one.
    ///
    /// # Errors
    ///
    /// See [`Changes::next_change`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
    /// let mut changes = db.changes(None)?;
    /// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// assert!(changes.poll_change(&mut context)?.is_pending());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn poll_change(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Change>>> {
        loop {
            match self.take() {
                Ok(None) => {}
                taken => return Poll::Ready(taken),
            }
            if self.has_ended() {
                return Poll::Ready(Ok(None));
            }
            // (Whoever stops it calls when it is stopped.)
            if self.listener.wake(context.waker()) {
                return if self.has_ended() { Poll::Ready(Ok(None)) } else { Poll::Pending };
            }
        }
    }

    fn next_until(&mut self, until: Option<Instant>) -> Result<Next<Change>> {
        loop {
            if let Some(change) = self.take()? {
                return Ok(Next::Item(change));
            }
            if self.has_ended() {
                return Ok(Next::End);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Next::NotYet);
            }
            self.listener.wait(left);
        }
    }

    fn has_ended(&self) -> bool {
        self.is_stopped() || self.listener.check().is_err()
    }

    /// What there is now.
    fn take(&mut self) -> Result<Option<Change>> {
        self.database.shared.store.process().check()?;
        if self.waiting.is_empty() && !self.is_stopped() {
            self.fill()?;
        }
        Ok(self.take_read())
    }

    /// Reads on, in the newest durable state; no state is held in between.
    fn fill(&mut self) -> Result<()> {
        self.listener.note();
        let snapshot = self.database.shared.store.snapshot()?;
        // More may be seen than is durable.
        let last = self.listener.durable().min(snapshot.position());
        let reader = snapshot.reader();
        let Some(feeds) = feeds_tree(reader)? else {
            self.idle(last);
            return Ok(());
        };
        if self.session == 0 {
            self.session = Epochs::read(reader, feeds)?.newest()?;
        }
        self.listed.look(reader, feeds)?;
        self.check_kept()?;
        let mut heads = self.heads(reader, last, last == snapshot.position())?;
        let mut bytes = 0;
        while let Some(next) = (0..heads.len()).min_by_key(|&head| heads[head].at) {
            let (position, ordinal) = heads[next].at;
            if let Some((_, before)) = self.waiting.back_mut().filter(|(place, _)| *place != position) {
                before.is_last = true;
            }
            if self.waiting.len() >= AHEAD || bytes >= AHEAD_BYTES {
                return Ok(());
            }
            bytes += heads[next].value.len();
            let change = self.change(reader, heads[next].tree, position, &heads[next].value)?;
            self.waiting.push_back((position, change));
            self.at = (position, ordinal);
            if !heads[next].step(last)? {
                heads.swap_remove(next);
            }
        }
        match self.waiting.back_mut() {
            Some((place, change)) => {
                change.is_last = true;
                self.at = (*place, u32::MAX);
            }
            None => self.idle(last),
        }
        Ok(())
    }

    /// The feeds that have something, up to the position. `is_all`: there is nothing behind that.
    fn heads(&mut self, reader: &Reader, last: u64, is_all: bool) -> Result<Vec<Head>> {
        let mut heads = Vec::new();
        for feed in &self.listed.all {
            let stamp = reader.tree_stamp(feed.tree)?;
            if self.read.get(&feed.tree) == Some(&stamp) {
                continue;
            }
            match Head::new(reader, feed.tree, self.at, last)? {
                Some(head) => heads.push(head),
                None if is_all => drop(self.read.insert(feed.tree, stamp)),
                None => {}
            }
        }
        Ok(heads)
    }

    /// There is nothing up to the position.
    fn idle(&mut self, last: u64) {
        if last > self.at.0 && self.at.1 == u32::MAX {
            self.at = (last, u32::MAX);
            self.done = self.done.max(last);
        }
    }

    /// Fails if something behind where this stands may be gone.
    fn check_kept(&self) -> Result<()> {
        let (position, ordinal) = self.at;
        let needed = if ordinal == u32::MAX { position + 1 } else { position };
        let mut horizons = self.listed.all.iter().map(|feed| feed.horizon).chain([self.listed.forgotten]);
        match horizons.any(|horizon| horizon > needed) {
            true => Err(too_late("it is older, or more, than the feed's age or size allows")),
            false => Ok(()),
        }
    }

    fn change(&mut self, reader: &Reader, tree: TreeId, position: u64, value: &[u8]) -> Result<Change> {
        let entry = Entry::read(value)?;
        let table = self.table(reader, tree, entry.schema)?;
        let old_table = match entry.kind {
            // Each description has the number behind the one before. (What types it speaks of may be gone since.)
            EntryKind::Altered => self.table(reader, tree, entry.schema - 1).unwrap_or_else(|_| table.clone()),
            _ => self.table(reader, tree, entry.old_schema)?,
        };
        let row = |row: Option<(&[u8], &[u8])>, table: &ChangedTable| {
            row.map(|(key, row)| Ok::<_, Error>((Box::from(key), table.row(key, row)?))).transpose()
        };
        Ok(Change {
            kind: match entry.kind {
                EntryKind::Insert => ChangeKind::Insert,
                EntryKind::Update => ChangeKind::Update,
                EntryKind::Delete => ChangeKind::Delete,
                EntryKind::Truncate => ChangeKind::Truncate,
                EntryKind::Altered => ChangeKind::Alter,
                EntryKind::Rewritten => ChangeKind::Rewrite,
                EntryKind::Begun => ChangeKind::Begin,
                EntryKind::Ended => ChangeKind::End,
                EntryKind::Dropped => ChangeKind::Drop,
                EntryKind::Rewriting => ChangeKind::Rewriting,
            },
            position: self.at_place(position),
            is_last: false,
            old: row(entry.old, &old_table)?,
            new: row(entry.new, &table)?,
            table,
            old_table,
        })
    }

    fn table(&mut self, reader: &Reader, tree: TreeId, schema: u32) -> Result<Arc<ChangedTable>> {
        if let Some(known) = self.tables.get(&(tree, schema)) {
            return Ok(known.clone());
        }
        // A type that a column had may be gone with the table.
        let described = description(reader, tree, schema).ok().flatten();
        let described = described.ok_or_else(|| too_late("the types of the rows are gone"))?;
        let of_schema = schema_name_of(reader, described.schema)?;
        let table = Arc::new(ChangedTable::of(described, of_schema));
        self.tables.insert((tree, schema), table.clone());
        Ok(table)
    }
}

impl ChangedTable {
    fn of(table: Table, schema: String) -> ChangedTable {
        let layout = TableLayout::new(&table);
        let missing = |at: usize| layout.stored_columns().iter().position(|&stored| stored == at);
        let told: Vec<usize> = (0..table.columns.len()).filter(|&at| !table.columns[at].is_virtual).collect();
        let columns = told.iter().map(|&at| (at, &table.columns[at])).map(|(at, column)| ChangeColumn {
            number: column.number,
            name: column.name.clone(),
            missing: missing(at).map_or(Value::Null, |place| layout.missing_value(place)),
        });
        let field = |column: &crate::catalog::Column| Field { name: column.name.clone(), data_type: column.data_type };
        let ObjectId(id) = table.id;
        ChangedTable {
            id,
            schema,
            columns: columns.collect(),
            primary_key: table.primary_key.iter().filter_map(|at| told.binary_search(at).ok()).collect(),
            fields: told.iter().map(|&at| field(&table.columns[at])).collect(),
            layout,
            told,
            name: table.name,
        }
    }

    fn row(&self, key: &[u8], row: &[u8]) -> Result<Vec<Value>> {
        let mut row = self.layout.decode(key, row)?;
        if row.len() != self.told.len() {
            row = self.told.iter().map(|&at| std::mem::replace(&mut row[at], Value::Null)).collect();
        }
        Ok(row)
    }
}

//! The changes of all feeds, read in the order of commits.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cairn_storage::{AppendCall, AppendListener, Appended, Reader, TreeId};

use super::super::{Database, Position};
use super::places::{token_of, too_late};
use super::{Change, ChangeKind, ChangedTable};
use crate::catalog::schema_name_of;
use crate::change_feed::{self, Entry, EntryKind, Epochs, FeedInfo, description, feeds_tree};
use crate::session::{Next, Stop, StopHandle};
use crate::sync;
use crate::{Error, Result};

/// Changes that are read ahead, and bytes of them.
const AHEAD: usize = 256;
const AHEAD_BYTES: usize = 1 << 20;

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
    pub(super) fn begin(database: &Database, listener: AppendListener, session: u64, position: u64) -> Result<Changes> {
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
            database: database.clone(),
        };
        changes.fill()?;
        Ok(changes)
    }

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
        self.next_until(sync::now().checked_add(time))
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
            let left = until.map(|until| until.saturating_duration_since(sync::now()));
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

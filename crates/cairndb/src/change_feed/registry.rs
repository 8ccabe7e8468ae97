//! What is known of all feeds: a tree beside the catalog, so that what changes often changes no plan.
//!
//! ```text
//! 0                      the database's id: a copy has another
//! 1, feed's tree         the feed: whose it is, its limits, what may be missing, how large it is
//! 2, position            the time at which commits stood there, in microseconds
//! 3, number              an opening of the database: a random number, and where commits stood before
//! 4                      the position before which feeds that are gone had entries
//! ```

use std::ops::Bound;

use cairn_storage::{Reader, Store, TreeId};

use crate::catalog::{ObjectId, feeds_tree_of, put_feeds_tree};
use crate::state::Transaction;
use crate::{Error, Result};

pub(crate) use crate::catalog::feeds_tree_of as feeds_tree;

const DATABASE: u8 = 0;
const FEED: u8 = 1;
pub(super) const CLOCK: u8 = 2;
const EPOCH: u8 = 3;
const FORGOTTEN: u8 = 4;

/// Openings that are known: a token of an earlier one is too old.
const EPOCHS: usize = 64;

/// How much of a feed is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Microseconds.
    pub(crate) age: u64,
    pub(crate) bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { age: 7 * 24 * 3_600_000_000, bytes: 1 << 30 }
    }
}

/// A feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeedInfo {
    pub(crate) tree: TreeId,
    pub(crate) table: ObjectId,
    pub(crate) limits: Limits,
    /// Nothing is written to it any more.
    pub(crate) is_over: bool,
    /// Entries of commits before this may be gone.
    pub(crate) horizon: u64,
    /// Bytes of its entries up to a position.
    pub(crate) counted: u64,
    pub(crate) size: u64,
}

impl FeedInfo {
    fn encode(&self) -> Vec<u8> {
        let numbers = [
            self.table.0.into(),
            self.limits.age,
            self.limits.bytes,
            self.is_over.into(),
            self.horizon,
            self.counted,
            self.size,
        ];
        numbers.iter().flat_map(|number: &u64| number.to_le_bytes()).collect()
    }

    fn decode(key: &[u8], bytes: &[u8]) -> Result<FeedInfo> {
        let word = |at: usize| number(bytes.get(8 * at..8 * at + 8).unwrap_or_default());
        let tree = key.get(1..5).and_then(|tree| tree.try_into().ok()).map(u32::from_be_bytes).ok_or_else(damaged)?;
        Ok(FeedInfo {
            tree: TreeId(tree),
            table: ObjectId(u32::try_from(word(0)?).map_err(|_| damaged())?),
            limits: Limits { age: word(1)?, bytes: word(2)? },
            is_over: word(3)? != 0,
            horizon: word(4)?,
            counted: word(5)?,
            size: word(6)?,
        })
    }
}

fn damaged() -> Error {
    Error::damaged("what is known of the change feeds is damaged")
}

pub(super) fn number(bytes: &[u8]) -> Result<u64> {
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| damaged())
}

fn feed_key(tree: TreeId) -> [u8; 5] {
    let [a, b, c, d] = tree.0.to_be_bytes();
    [FEED, a, b, c, d]
}

pub(super) fn position_key(kind: u8, position: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&position.to_be_bytes());
    key
}

/// Calls `each` with every entry of a kind, in order.
pub(super) fn each_of(
    reader: &Reader,
    feeds: TreeId,
    kind: u8,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let (from, to) = ([kind], [kind + 1]);
    let mut cursor = reader.cursor(feeds, Bound::Included(&from[..]), Bound::Excluded(&to[..]))?;
    while let Some((key, value)) = cursor.next()? {
        each(key, value)?;
    }
    Ok(())
}

/// All feeds.
pub(crate) fn all(reader: &Reader, feeds: TreeId) -> Result<Vec<FeedInfo>> {
    let mut all = Vec::new();
    each_of(reader, feeds, FEED, |key, value| {
        all.push(FeedInfo::decode(key, value)?);
        Ok(())
    })?;
    Ok(all)
}

/// The position before which feeds that are gone had entries.
pub(crate) fn forgotten(reader: &Reader, feeds: TreeId) -> Result<u64> {
    reader.get(feeds, &[FORGOTTEN])?.map_or(Ok(0), |bytes| number(&bytes))
}

/// Writes what is known of a feed.
pub(crate) fn put(tx: &cairn_storage::Transaction, feeds: TreeId, feed: &FeedInfo) -> Result<()> {
    Ok(tx.put(feeds, &feed_key(feed.tree), &feed.encode())?)
}

/// What is known of the feed of this tree.
pub(super) fn get(reader: &Reader, feeds: TreeId, tree: TreeId) -> Result<Option<FeedInfo>> {
    let key = feed_key(tree);
    reader.get(feeds, &key)?.map(|bytes| FeedInfo::decode(&key, &bytes)).transpose()
}

/// Takes a feed and its tree away.
pub(super) fn remove(tx: &cairn_storage::Transaction, feeds: TreeId, feed: &FeedInfo) -> Result<()> {
    let gone = forgotten(tx.reader(), feeds)?.max(feed.horizon);
    tx.put(feeds, &[FORGOTTEN], &gone.to_le_bytes())?;
    tx.delete(feeds, &feed_key(feed.tree))?;
    Ok(tx.drop_appended(feed.tree)?)
}

/// The tree of all feeds, made if there is none yet.
pub(crate) fn ensure(tx: &Transaction, store: &Store) -> Result<TreeId> {
    if let Some(feeds) = feeds_tree_of(tx.reader().database())? {
        return Ok(feeds);
    }
    let feeds = tx.create_tree(ObjectId::PUBLIC)?;
    put_feeds_tree(tx, feeds)?;
    tx.put(feeds, &[DATABASE], &store.database_id().to_le_bytes())?;
    tx.put(feeds, &position_key(EPOCH, 1), &epoch_of(store, 0))?;
    Ok(feeds)
}

/// A feed begins.
pub(crate) fn add(tx: &Transaction, feeds: TreeId, feed: &FeedInfo) -> Result<()> {
    put(tx.database(), feeds, feed)
}

/// Nothing more is written to a feed.
pub(crate) fn end(tx: &Transaction, tree: TreeId) -> Result<()> {
    let reader = tx.reader().database();
    let Some(feeds) = feeds_tree_of(reader)? else { return Ok(()) };
    match get(reader, feeds, tree)? {
        Some(feed) => put(tx.database(), feeds, &FeedInfo { is_over: true, ..feed }),
        None => Ok(()),
    }
}

/// Openings of the database, oldest first: the number that tokens name, and where commits stood before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Epochs(Vec<(u64, u64)>);

impl Epochs {
    pub(crate) fn read(reader: &Reader, feeds: TreeId) -> Result<Epochs> {
        let mut epochs = Vec::new();
        each_of(reader, feeds, EPOCH, |_, value| {
            let (epoch, end) = value.split_at_checked(8).ok_or_else(damaged)?;
            epochs.push((number(epoch)?, number(end)?));
            Ok(())
        })?;
        Ok(Epochs(epochs))
    }

    /// That of now.
    pub(crate) fn newest(&self) -> Result<u64> {
        self.0.last().map(|(epoch, _)| *epoch).ok_or_else(damaged)
    }

    /// Whether commits stood at the position in this epoch, and no crash took that back.
    pub(crate) fn has(&self, epoch: u64, position: u64) -> bool {
        let Some(at) = self.0.iter().position(|(known, _)| *known == epoch) else { return false };
        self.0.get(at + 1).is_none_or(|(_, end)| position <= *end)
    }
}

fn epoch_of(store: &Store, end: u64) -> Vec<u8> {
    [store.session_number().to_le_bytes(), end.to_le_bytes()].concat()
}

/// The database is opened to be written: notes where commits stand, before there is another; where the feeds are a copy of
/// another database's, takes out what they have, for positions are others here.
pub(crate) fn open(store: &Store) -> Result<()> {
    let snapshot = store.snapshot()?;
    let reader = snapshot.reader();
    let Some(feeds) = feeds_tree_of(reader)? else { return Ok(()) };
    let tx = store.begin()?;
    let id = store.database_id().to_le_bytes();
    if reader.get(feeds, &[DATABASE])?.as_deref() != Some(&id[..]) {
        tx.put(feeds, &[DATABASE], &id)?;
        for kind in [CLOCK, EPOCH, FORGOTTEN] {
            each_of(reader, feeds, kind, |key, _| Ok(tx.delete(feeds, key).map(drop)?))?;
        }
        for feed in all(reader, feeds)? {
            while tx.forget_appended(feed.tree, u64::MAX, 1000)?.is_some() {}
            put(&tx, feeds, &FeedInfo { horizon: 0, counted: 0, size: 0, ..feed })?;
        }
    }
    let mut keys = Vec::new();
    each_of(tx.reader(), feeds, EPOCH, |key, _| {
        keys.push(key.to_vec());
        Ok(())
    })?;
    let last = keys.last().and_then(|key| key[1..].try_into().ok()).map_or(0, u64::from_be_bytes);
    tx.put(feeds, &position_key(EPOCH, last + 1), &epoch_of(store, snapshot.position()))?;
    let excess = keys.len().saturating_sub(EPOCHS);
    keys.iter().take(excess).try_for_each(|key| tx.delete(feeds, key).map(drop))?;
    Ok(tx.commit(Some(cairn_storage::Durability::Full))?)
}

/// Takes all feeds away, for a database of which it is not known what it lost.
pub(crate) fn remove_all(tx: &Transaction) -> Result<bool> {
    let reader = tx.reader().database();
    let Some(feeds) = feeds_tree_of(reader)? else { return Ok(false) };
    let trees = store_trees(reader, feeds);
    for tree in trees {
        // What is damaged may name trees that are not there.
        let _ = tx.database().drop_appended(tree);
    }
    let _ = tx.database().drop_tree(feeds);
    crate::catalog::delete_feeds_tree(tx)?;
    Ok(true)
}

fn store_trees(reader: &Reader, feeds: TreeId) -> Vec<TreeId> {
    all(reader, feeds).unwrap_or_default().into_iter().map(|feed| feed.tree).collect()
}

//! Keeps feeds within their limits: a thread, in a database that has any.
//!
//! Every so often it notes the time and where commits stand, counts what came, and forgets what is older than a feed's age, or
//! more than its bytes; whole commits, in transactions of bounded size. It reads each entry once, when it came, and once more when
//! it goes.
//!
//! What must hold: with what is forgotten, the same transaction says up to where entries may be missing (`FeedInfo::horizon`).
//! The thread is stopped, and waited for, before the database's handle is gone: it keeps no file open longer.

use std::sync::Arc;
use std::time::Duration;

use cairn_storage::{Join, Store, TreeId};

use super::registry::{self, CLOCK, FeedInfo, each_of, number, position_key};
use crate::Result;
use crate::catalog::feeds_tree_of;
use crate::sync::{self, Condvar, Mutex};
use crate::types::datetime::clock_micros;

/// Between two looks, at most; and at least, where a feed is to be young.
const LONGEST: Duration = Duration::from_secs(20);
const SHORTEST: Duration = Duration::from_millis(50);
/// Entries that one transaction forgets.
const STEP: usize = 1000;
/// Of its limit, a feed that passed it keeps so much.
const KEPT: (u64, u64) = (9, 10);

/// See the module.
#[derive(Default)]
pub(crate) struct Keeper {
    running: Mutex<Option<Join>>,
    stop: Arc<Stop>,
}

#[derive(Default)]
struct Stop {
    is_told: Mutex<bool>,
    told: Condvar,
}

impl Stop {
    /// Sleeps; whether it is over.
    fn wait(&self, time: Duration) -> bool {
        let until = sync::now() + time;
        let mut is_told = self.is_told.lock();
        while !*is_told {
            let left = until.saturating_duration_since(sync::now());
            if left.is_zero() {
                break;
            }
            is_told = self.told.wait_for(is_told, left);
        }
        *is_told
    }

    fn is_over(&self) -> bool {
        *self.is_told.lock()
    }
}

impl Keeper {
    /// Begins, unless it has.
    pub(crate) fn start(&self, store: &Store) -> Result<()> {
        let mut running = self.running.lock();
        if running.is_none() {
            let (kept, stop) = (store.clone(), self.stop.clone());
            *running = Some(store.spawn("cairn-feeds", Box::new(move || keep(&kept, &stop)))?);
        }
        Ok(())
    }

    /// Ends, and waits for the end.
    pub(crate) fn stop(&self) {
        *self.stop.is_told.lock() = true;
        self.stop.told.notify_all();
        if let Some(join) = self.running.lock().take() {
            join();
        }
    }
}

fn keep(store: &Store, stop: &Stop) {
    let mut pause = SHORTEST;
    while !stop.wait(pause) {
        // What fails now is tried again: another has changed the same, or a disk is full.
        pause = look(store, stop).unwrap_or(LONGEST);
    }
}

/// Looks at all feeds once; when to look again.
fn look(store: &Store, stop: &Stop) -> Result<Duration> {
    let snapshot = store.durable_snapshot()?;
    let Some(feeds) = feeds_tree_of(snapshot.reader())? else { return Ok(LONGEST) };
    let all = registry::all(snapshot.reader(), feeds)?;
    let youngest = all.iter().map(|feed| feed.limits.age).filter(|age| *age > 0).min().unwrap_or(u64::MAX);
    let pause = Duration::from_micros(youngest / 8).clamp(SHORTEST, LONGEST);
    let mut has_news = false;
    for feed in &all {
        if stop.is_over() {
            return Ok(pause);
        }
        has_news |= count_and_forget(store, stop, feeds, feed.tree)?;
    }
    if has_news || all.iter().any(|feed| feed.size > 0) {
        note_time(store, feeds, snapshot.position(), has_news)?;
    }
    Ok(pause)
}

/// Notes the time, and forgets notes that no feed needs.
fn note_time(store: &Store, feeds: TreeId, position: u64, has_news: bool) -> Result<()> {
    let tx = store.begin()?;
    let oldest = registry::all(tx.reader(), feeds)?.iter().map(|feed| feed.limits.age).max().unwrap_or(0);
    let now = clock_micros();
    let mut old = Vec::new();
    each_of(tx.reader(), feeds, CLOCK, |key, value| {
        let time = number(value)?.cast_signed();
        if oldest > 0 && now.saturating_sub(time).unsigned_abs() > oldest.saturating_mul(2) {
            old.push(key.to_vec());
        }
        Ok(())
    })?;
    old.iter().try_for_each(|key| tx.delete(feeds, key).map(drop))?;
    if has_news {
        tx.put(feeds, &position_key(CLOCK, position), &now.to_le_bytes())?;
    }
    if tx.has_changes() { Ok(tx.commit(None)?) } else { Ok(()) }
}

/// The position before which commits are older than so many microseconds.
fn position_of_age(reader: &cairn_storage::Reader, feeds: TreeId, age: u64) -> Result<u64> {
    let before = clock_micros().saturating_sub_unsigned(age);
    let mut found = 0;
    each_of(reader, feeds, CLOCK, |key, value| {
        let position = key[1..].try_into().map_or(0, u64::from_be_bytes);
        if number(value)?.cast_signed() <= before {
            found = position + 1;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Counts what came, forgets what is too old or too much; whether something came.
fn count_and_forget(store: &Store, stop: &Stop, feeds: TreeId, tree: TreeId) -> Result<bool> {
    let snapshot = store.durable_snapshot()?;
    let reader = snapshot.reader();
    let Some(mut feed) = registry::get(reader, feeds, tree)? else { return Ok(false) };
    let before = feed.clone();
    let mut came = reader.appended(tree, (feed.counted, u32::MAX))?;
    while let Some((position, _, value)) = came.next()? {
        (feed.counted, feed.size) = (position, feed.size + entry_size(value));
    }
    drop(came);
    let mut bound = match feed.limits.age {
        0 => 0,
        age => position_of_age(reader, feeds, age)?,
    };
    bound = bound.max(bound_of_size(reader, &feed)?);
    let goes = size_before(reader, tree, bound)?;
    let has_news = feed.counted != before.counted;
    let is_empty = goes.0 > 0 && reader.appended(tree, (bound.saturating_sub(1), u32::MAX))?.next()?.is_none()
        || goes.0 == 0 && reader.appended(tree, (0, u32::MAX))?.next()?.is_none();
    if goes.0 == 0 && feed == before && !(feed.is_over && is_empty) {
        return Ok(has_news);
    }
    feed.size -= goes.1.min(feed.size);
    drop(snapshot);
    forget(store, stop, feeds, &feed, bound, is_empty)?;
    Ok(has_news)
}

fn entry_size(value: &[u8]) -> u64 {
    (value.len() + cairn_storage::AppendKey::BYTES) as u64
}

/// Where the part begins that is kept of a feed that is too large: never behind the last commit.
fn bound_of_size(reader: &cairn_storage::Reader, feed: &FeedInfo) -> Result<u64> {
    if feed.limits.bytes == 0 || feed.size <= feed.limits.bytes {
        return Ok(0);
    }
    let excess = feed.size - feed.limits.bytes / KEPT.1 * KEPT.0;
    let (mut gone, mut bound) = (0, 0);
    let mut entries = reader.appended(feed.tree, (0, u32::MAX))?;
    while let Some((position, _, value)) = entries.next()? {
        if position != bound && gone >= excess || position == feed.counted {
            return Ok(position);
        }
        bound = position;
        gone += entry_size(value);
    }
    Ok(bound)
}

/// How many entries, and bytes, there are of commits before the position.
fn size_before(reader: &cairn_storage::Reader, tree: TreeId, bound: u64) -> Result<(u64, u64)> {
    let mut size = (0, 0);
    if bound == 0 {
        return Ok(size);
    }
    let mut entries = reader.appended(tree, (0, u32::MAX))?;
    while let Some((position, _, value)) = entries.next()?
        && position < bound
    {
        size = (size.0 + 1, size.1 + entry_size(value));
    }
    Ok(size)
}

/// Forgets all before the position, step by step; with the last, the feed itself where nothing is left and nothing comes.
fn forget(store: &Store, stop: &Stop, feeds: TreeId, feed: &FeedInfo, bound: u64, is_empty: bool) -> Result<()> {
    loop {
        let tx = store.begin()?;
        // Its limits may be others by now, and it may be over.
        let Some(now) = registry::get(tx.reader(), feeds, feed.tree)? else { return Ok(()) };
        let last = if bound > 0 { tx.forget_appended(feed.tree, bound, STEP)? } else { None };
        let horizon = last.map_or(now.horizon, |last| now.horizon.max(last + 1));
        let kept = FeedInfo { horizon, counted: feed.counted, size: feed.size, ..now };
        match last.is_none() && now.is_over && is_empty {
            true => registry::remove(&tx, feeds, &kept)?,
            false => registry::put(&tx, feeds, &kept)?,
        }
        tx.commit(None)?;
        if last.is_none() || stop.is_over() {
            return Ok(());
        }
    }
}

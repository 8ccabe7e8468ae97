//! A table's change feed: where it begins and ends, and what is told of besides single rows.

use std::sync::Arc;

use super::context::Ddl;
use crate::catalog::{Feed, ObjectId, Table};
use crate::change_feed::{self, EntryKind, FeedInfo, Limits, write_entry};
use crate::command::FeedOptions;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    /// ALTER TABLE .. SET (change_feed = ..).
    pub(super) fn alter_change_feed(&mut self, table: &Table, options: FeedOptions) -> Result<()> {
        match (table.feed, options.is_on) {
            (None, Some(true)) => {
                let feed = Some(self.begin_feed(table.id, table.schema, options)?);
                self.store.put_table(&Table { feed, ..table.clone() })
            }
            (Some(feed), Some(false)) => {
                self.end_feed(feed, EntryKind::Ended)?;
                self.store.put_table(&Table { feed: None, ..table.clone() })
            }
            (Some(feed), _) => self.limit_feed(feed, options),
            (None, _) if options.age.is_some() || options.bytes.is_some() => {
                let message = format!("table \"{}\" has no change feed", table.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_hint("Say SET (change_feed = on) with it."))
            }
            (None, _) => Ok(()),
        }
    }

    /// The feed of a table that is about to be stored with it. SQLSTATE 0A000 for one that is temporary.
    pub(super) fn begin_feed(&mut self, table: ObjectId, schema: ObjectId, options: FeedOptions) -> Result<Feed> {
        if schema.is_temporary() {
            return Err(Error::unsupported("a change feed of a temporary table")
                .with_hint("Only this session changes it: take what RETURNING says."));
        }
        let feeds = change_feed::ensure(self.dml.tx, self.dml.store)?;
        let tree = self.dml.tx.create_tree(schema)?;
        let limits = limited(Limits::default(), options);
        let info = FeedInfo { tree, table, limits, is_over: false, horizon: 0, counted: 0, size: 0 };
        change_feed::add(self.dml.tx, feeds, &info)?;
        self.session.keep_feeds()?;
        Ok(Feed { tree, schema: 0 })
    }

    /// Tells in the feed that it is over.
    pub(super) fn end_feed(&self, feed: Feed, why: EntryKind) -> Result<()> {
        self.tell(feed, why)?;
        change_feed::end(self.dml.tx, feed.tree)
    }

    /// Tells in the table's feed, if it has one, of what is not about single rows.
    pub(super) fn tell_feed(&self, table: &Table, what: EntryKind) -> Result<()> {
        table.feed.map_or(Ok(()), |feed| self.tell(feed, what))
    }

    fn tell(&self, feed: Feed, what: EntryKind) -> Result<()> {
        let mut entry = Vec::new();
        write_entry(what, feed.schema, None, None, &mut entry);
        Ok(self.dml.tx.append(feed.tree, &entry)?)
    }

    fn limit_feed(&self, feed: Feed, options: FeedOptions) -> Result<()> {
        let reader = self.dml.tx.reader().database();
        let Some(feeds) = change_feed::feeds_tree(reader)? else { return Ok(()) };
        let known = change_feed::all(reader, feeds)?.into_iter().find(|known| known.tree == feed.tree);
        let Some(known) = known else { return Ok(()) };
        let limits = limited(known.limits, options);
        change_feed::put(self.dml.tx.database(), feeds, &FeedInfo { limits, ..known })
    }

    /// The table as the catalog of this transaction has it now: its feed knows the number of its description.
    pub(super) fn feed_now(&mut self, table: &Table) -> Result<Option<Feed>> {
        match table.feed {
            None => Ok(None),
            Some(_) => {
                self.reload()?;
                let now: Arc<Table> = self.table_of(table.id)?;
                Ok(now.feed)
            }
        }
    }
}

fn limited(limits: Limits, options: FeedOptions) -> Limits {
    Limits { age: options.age.unwrap_or(limits.age), bytes: options.bytes.unwrap_or(limits.bytes) }
}

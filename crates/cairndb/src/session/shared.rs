//! What the sessions of an open database share, and what keeps it open.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use cairn_storage::{Reader, Store};

use super::Options;
use super::advisory::AdvisoryLocks;
use super::backup_requests::Answers;
use super::channels::Channels;
use super::live::{Followers, LiveQueries, User};
use super::sequences::SequenceValues;
use crate::catalog::{Catalog, CatalogCache, CatalogStamp, SystemTrees, bootstrap, load_after, system_trees};
use crate::change_feed::{self, Keeper, feeds_tree};
use crate::ddl;
use crate::dml::{Deferred, DmlContext, InserterBuffers};
use crate::exec::{ExecContext, SpillSpace, SpillTotals};
use crate::functions::DATABASE_NAME;
use crate::plan::OptimizerOptions;
use crate::sql::ParsedStatement;
use crate::state::{RowNumbers, Transaction};
use crate::types::datetime::clock_micros;
use crate::types::{Builds, UseCounts};
use crate::{Error, Result};

/// Keeps a database open.
#[derive(Clone)]
pub(crate) struct Handle {
    /// `None`: it is the engine's own, for a while. Let go of first: views may have something to write.
    _user: Option<User>,
    shared: Arc<Shared>,
}

impl Handle {
    /// A user's.
    pub(crate) fn new(shared: Arc<Shared>) -> Handle {
        let user = User::new(&shared.followers);
        Handle { shared, _user: Some(user) }
    }

    /// One that whoever drops the last of the others waits for.
    pub(super) fn of_engine(shared: &Arc<Shared>) -> Handle {
        Handle { shared: shared.clone(), _user: None }
    }
}

impl Deref for Handle {
    type Target = Arc<Shared>;
    #[inline]
    fn deref(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// Statements that were not done where they were asked, beside those that the storage counts by cause.
#[derive(Default)]
pub(crate) struct HandedOver {
    pub(crate) all: AtomicU64,
    pub(crate) for_plan: AtomicU64,
    pub(crate) for_sequence: AtomicU64,
}

/// What all sessions of a database share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) options: Options,
    catalogs: CatalogCache,
    /// `None`: opened read-only before anything was written.
    pub(crate) trees: Option<SystemTrees>,
    pub(crate) row_numbers: RowNumbers,
    pub(crate) sequences: SequenceValues,
    pub(crate) spilled: Arc<SpillTotals>,
    pub(crate) handed_over: HandedOver,
    pub(crate) live: LiveQueries,
    pub(crate) channels: Arc<Channels>,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    pub(crate) builds: Arc<Builds>,
    pub(crate) uses: UseCounts,
    feeds: Keeper,
    pub(crate) followers: Arc<Followers>,
    pub(crate) backup_answers: Answers,
    /// The last number that a transaction was given.
    transaction_number: AtomicI64,
}

impl Shared {
    /// A number that no transaction of the database has been given, and larger than any was: microseconds since 2000, or one more than the
    /// last. (They grow beyond a restart, unless the clock goes back.)
    pub(crate) fn next_transaction_number(&self) -> i64 {
        let now = clock_micros();
        let next = |last: i64| Some(now.max(last + 1));
        let last = self.transaction_number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map_or(now, |last| now.max(last + 1))
    }

    pub(crate) fn new(store: Store, options: Options) -> Result<Arc<Shared>> {
        if !options.read_only {
            bootstrap(&store)?;
            ddl::upgrade(&store)?;
            change_feed::open(&store)?;
        }
        let trees = system_trees(store.snapshot()?.reader())?;
        let name = options.name.as_deref().unwrap_or(DATABASE_NAME).into();
        let shared = Arc::new(Shared {
            store,
            options,
            catalogs: CatalogCache::new(name),
            trees,
            row_numbers: RowNumbers::default(),
            sequences: SequenceValues::default(),
            spilled: Arc::default(),
            handed_over: HandedOver::default(),
            live: LiveQueries::default(),
            channels: Arc::default(),
            advisory: Arc::default(),
            builds: Arc::default(),
            uses: UseCounts::default(),
            feeds: Keeper::default(),
            followers: Arc::default(),
            backup_answers: Answers::default(),
            transaction_number: AtomicI64::new(0),
        });
        let has_feeds = !shared.options.read_only && feeds_tree(shared.store.snapshot()?.reader())?.is_some();
        if has_feeds {
            shared.keep_feeds()?;
        }
        shared.follow_views_there_are()?;
        Ok(shared)
    }

    /// What the database is called.
    pub(crate) fn name(&self) -> &Arc<str> {
        self.catalogs.name()
    }

    /// Has change feeds kept within their limits from now on.
    pub(crate) fn keep_feeds(&self) -> Result<()> {
        self.feeds.start(&self.store)
    }

    /// Room for a session's temporary files.
    pub(crate) fn spill_space(&self) -> SpillSpace {
        SpillSpace::new(self.options.temp_directory.as_deref().map(Arc::from), self.spilled.clone())
    }

    /// The catalog as `reader` sees it.
    pub(crate) fn catalog(&self, reader: &Reader) -> Result<(CatalogStamp, Arc<Catalog>)> {
        self.catalogs.get(reader, self.trees)
    }

    /// The same, if it was read already.
    pub(crate) fn known_catalog(&self, reader: &Reader) -> Result<Option<Arc<Catalog>>> {
        Ok(self.catalogs.peek(CatalogStamp::of(reader, self.trees)?))
    }

    /// The catalog of an open transaction, whose own changes are nobody else's business.
    pub(crate) fn catalog_of_transaction(&self, reader: &Reader, stamp: CatalogStamp) -> Result<Arc<Catalog>> {
        if let Some(catalog) = self.catalogs.peek(stamp) {
            return Ok(catalog);
        }
        // Read in the transaction, all of it would be noted as read.
        let snapshot = self.store.snapshot()?;
        match self.catalog(snapshot.reader())? {
            (newest, catalog) if newest == stamp => Ok(catalog),
            (_, newest) => Ok(Arc::new(load_after(reader, &newest)?)),
        }
    }

    /// The same, with its stamp, as the transaction has it now.
    pub(crate) fn catalog_within(&self, tx: &Transaction) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let database = tx.reader().database();
        let stamp = CatalogStamp::of(database, self.trees)?;
        Ok((stamp, self.catalog_of_transaction(database, stamp)?))
    }

    /// What rows are written with in a transaction. `deferred`: what is looked at when that commits.
    pub(crate) fn dml<'a>(
        &'a self,
        tx: &'a Transaction,
        catalog: &'a Arc<Catalog>,
        exec: &'a ExecContext,
        (deferred, room): (Option<&'a Deferred>, &'a Cell<InserterBuffers>),
    ) -> DmlContext<'a> {
        DmlContext { tx, catalog, exec, store: &self.store, row_numbers: &self.row_numbers, deferred, room }
    }

    /// Changes the schema, and rows with it. `is_alone`: in a transaction of its own.
    pub(crate) fn change_schema(
        &self,
        parsed: &ParsedStatement,
        (dml, options): (&DmlContext<'_>, &OptimizerOptions),
        host: &dyn ddl::SchemaHost,
        is_alone: bool,
    ) -> Result<ddl::Done> {
        let trees = self.trees.ok_or_else(|| Error::internal("the database has no system trees"))?;
        ddl::execute(parsed, dml, trees, options, host, is_alone)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A child of the process has none of the threads, and the files are its parent's.
        if !self.store.process().is_current() {
            return;
        }
        self.backup_answers.stop();
        self.followers.stop();
        self.feeds.stop();
        if let (Some(trees), false) = (self.trees, self.options.read_only) {
            self.sequences.settle(&self.store, trees.sequences);
        }
    }
}

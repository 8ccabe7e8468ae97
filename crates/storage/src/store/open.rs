//! Opening and creating: from the file's meta pages and the log to a running engine.
//!
//! What must hold: before the first commit after opening, the meta page durably says which log it needs, and the log
//! begins a new epoch, so that nothing left behind the end of the old one can ever pass for a commit. Whatever does
//! not fit together (a missing, foreign or damaged log, a meta page older than what the log tells of) is an error:
//! going on would be silent loss. What can not be read is an error too, not missing; and an opening that fails leaves the
//! files as they were, but for what `docs/format.md` lists: the same files, readable again, have lost nothing.
//!
//! What is removed, renamed or opened a second time by its name is known to be the file that was looked at.

use std::path::Path;
use std::sync::Arc;

use super::beside::{self, Beside};
use super::create::{cannot_open, create, replaced, unused};
use super::gate::Gate;
use super::progress::Told;
use crate::broken::{self, Broken};
use crate::engine::checkpoint::CheckpointState;
use crate::engine::copies::{self, CatalogCopy};
use crate::engine::lists::{decode_directory, decode_runs, read_chain};
use crate::engine::meta::{self, EPOCHS_MAX, META_BYTES, Meta, MetaPage};
use crate::engine::{
    Chain, Changes, Dropped, Engine, LatestTrees, Opening, Openings, Publisher, Queue, Signals, Spares, Stage, Tickets,
    TreeList, VersionPtr, Watch, Writer,
};
use crate::env::Environment;
use crate::io::{AlignedBuf, Create, File, LockGuard, OpenHow, Overlay};
use crate::log::format::{BLOCK, LogIdentity};
use crate::log::{self, Epoch, OpenBatch, ScanEnd, Segments, log_path};
use crate::page::layout::Kind;
use crate::page::{PageRef, Pages};
use crate::stats::Counters;
use crate::sync::{AtomicU32, AtomicU64, Awake, Mutex, Ordering};
use crate::tree::{Scratch, is_well_formed};
use crate::{Error, Options, Result, TreeId};

/// Opens (or creates) the database; the caller holds its lock. Returns with it what locks the file itself, if it was made here.
pub(crate) fn open(path: &Path, options: &Options, env: &Environment) -> Result<(Arc<Engine>, Option<LockGuard>)> {
    let files = env.files.as_ref();
    let may_create = !options.read_only && !options.must_exist;
    let lock = match files.exists(path).map_err(cannot_open(path))? {
        false if may_create => Some(create(path, None, options, env)?),
        false => return Err(cannot_open(path)(std::io::ErrorKind::NotFound.into())),
        true => match may_create.then(|| unused(path, files)).transpose()?.flatten() {
            Some(empty) => Some(create(path, Some(&*empty), options, env)?),
            None => None,
        },
    };
    let how = OpenHow { create: Create::Never, read_only: options.read_only, direct: true };
    let file = files.open(path, how).map_err(cannot_open(path))?;
    let meta = read_meta(&file, path)?;
    let beside = match meta.clean {
        true => beside::left_over(path, files, &file, &meta)?,
        false => beside::log_of(path, files, &meta, options.read_only)?,
    };
    let needed = needed_at_most(&beside, options)?;
    let mut told = Told::new(options.on_opening.as_ref(), env);
    let started = start(path, options, env, file.clone(), meta, beside, &mut told);
    let engine = match started {
        Err(Error::DiskFull { .. }) if !options.read_only && beside::give_back(path, files, &file, options)? => {
            let meta = read_meta(&file, path)?;
            let beside = beside::log_of(path, files, &meta, false)?;
            start(path, options, env, file, meta, beside, &mut told)
        }
        started => started,
    };
    Ok((engine.map_err(|error| error.needing(needed))?, lock))
}

/// Bytes that an opening may need besides what there is: a log, or what is to be replayed.
fn needed_at_most(beside: &Beside, options: &Options) -> Result<u64> {
    match beside {
        Beside::Log(log, _) => log.len().map_err(Error::io("read the log's length")),
        Beside::LeftOver(_) => Ok(2 * options.log_segment_bytes as u64),
    }
}

fn id(first: u64, second: u64) -> u128 {
    u128::from(first) << 64 | u128::from(second)
}

/// The id of a database that is made as a copy: by its second half it is known as that.
fn copys_id(random: u64) -> u128 {
    // The finalizer of SplitMix64.
    let mut mixed = random ^ 0x636f_7079_636f_7079;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    id(random, mixed ^ (mixed >> 31))
}

/// Whether a database of this id was made as a copy.
pub(super) fn is_copys(database: u128) -> bool {
    database == copys_id((database >> 64) as u64)
}

/// Both meta pages of a new database.
pub(super) fn write_new(file: &dyn File, options: &Options, env: &Environment) -> Result<()> {
    let meta = Meta {
        incompatible: 0,
        page_size: options.page_size as u32,
        clean: true,
        database: if options.is_copy { copys_id(env.host.random()) } else { id(env.host.random(), env.host.random()) },
        timeline: 1,
        sequence: 1,
        checkpoint: 1,
        version: 1,
        position: 0,
        needed_from: 0,
        next_stamp: 2,
        next_tree: 2,
        end: 2,
        directory: PageRef::NONE,
        free_map: PageRef::NONE,
        log_segment_bytes: options.log_segment_bytes as u32,
        epochs: Vec::new(),
        log_places: 0,
        openings: Openings::FIRST,
        lists: Vec::new(),
    };
    let mut pages = AlignedBuf::zeroed(2 * options.page_size);
    meta.encode(&mut pages[..META_BYTES]);
    meta.encode(&mut pages[options.page_size..][..META_BYTES]);
    file.write_at(&pages, 0).map_err(Error::io("write the new database"))?;
    file.sync().map_err(Error::io("sync the new database"))
}

/// Reads both meta pages. The second's place depends on the page size, which the first tells unless it is damaged.
pub(crate) fn read_meta(file: &Arc<dyn File>, path: &Path) -> Result<Meta> {
    let mut first = AlignedBuf::zeroed(META_BYTES);
    let length = file.len().map_err(Error::io("read the file's length"))?;
    if length < META_BYTES as u64 {
        return Err(Error::NotADatabase { path: path.to_path_buf() });
    }
    file.read_at(&mut first, 0).map_err(Error::io("read the meta page"))?;
    let first = Meta::decode(&first);
    let sizes: Vec<u32> = match &first {
        MetaPage::Whole(meta) => vec![meta.page_size],
        _ => (9..=15).map(|bits| 1 << bits).collect(),
    };
    let mut second = MetaPage::Foreign;
    for size in sizes {
        let mut bytes = AlignedBuf::zeroed(META_BYTES);
        if u64::from(size) + META_BYTES as u64 > length {
            continue;
        }
        // It may be the newest: one that can not be read is not one that is not there.
        match file.read_at(&mut bytes, size as u64) {
            Err(_) if broken::is(Broken::MetaUnreadable) => continue,
            read => read.map_err(Error::io("read the second meta page"))?,
        }
        match Meta::decode(&bytes) {
            MetaPage::Whole(meta) if meta.page_size == size => {
                second = MetaPage::Whole(meta);
                break;
            }
            newer @ MetaPage::Newer(_) => second = newer,
            MetaPage::Damaged if second == MetaPage::Foreign => second = MetaPage::Damaged,
            _ => {}
        }
    }
    meta::choose(first, second, path)
}

/// Builds the engine on the checkpoint, replays the log, and begins a new epoch.
fn start(
    path: &Path,
    options: &Options,
    env: &Environment,
    file: Arc<dyn File>,
    mut meta: Meta,
    beside: Beside,
    told: &mut Told<'_>,
) -> Result<Arc<Engine>> {
    let page_size = match broken::is(Broken::PagesAsAsked) {
        false => meta.page_size as usize,
        true => options.page_size,
    };
    let counters = Arc::new(Counters::default());
    let pages: Arc<dyn File> = match &beside {
        // Recovered in memory: nothing may be written.
        Beside::Log(..) if options.read_only && !broken::is(Broken::ReadOnlyWrites) => {
            Arc::new(Overlay::over(file.clone(), page_size, options.overlay_bytes() / page_size))
        }
        _ => file.clone(),
    };
    let pages = Pages::new(pages, options, page_size, counters.clone(), is_well_formed, meta.end)?;
    let restored = restore(&pages, &mut meta)?;
    let mut engine = assemble(path, options, env, pages, counters, &meta, restored);
    if options.read_only {
        engine.opening.began = match beside {
            Beside::Log(log, identity) => beside::replay(&engine, &meta, (&log, identity), None, told)?.position,
            Beside::LeftOver(_) => meta.position,
        };
        return Ok(Arc::new(engine));
    }
    let (position, found) = match beside {
        Beside::LeftOver(left_over) => {
            engine.write_meta(&engine.checkpoint.lock(), &meta)?;
            (meta.position, Found::Nothing(left_over))
        }
        Beside::Log(log, identity) => {
            let end = recover(&mut engine, &meta, file, (&log, identity), told)?;
            (end.position, Found::Log(log, identity, end))
        }
    };
    engine.opening.began = position;
    begin_epoch(&mut engine, &meta, position, found).map_err(of_failure)?;
    Ok(Arc::new(engine))
}

/// Replays the log, and makes durable what was found. Before the first page is written the meta page is, once more: an earlier
/// run's sync of it may have failed: then it is in the system's cache only, and a crash would find the one before, whose
/// pages are about to be used again.
fn recover(
    engine: &mut Engine,
    meta: &Meta,
    file: Arc<dyn File>,
    (log, identity): (&Arc<dyn File>, LogIdentity),
    told: &mut Told<'_>,
) -> Result<ScanEnd> {
    let gate = Arc::new(Gate::before(file.clone(), beside::before_first_page(&engine.path, meta, log, identity)));
    engine.pages.go_through(gate.clone());
    let end = beside::replay(engine, meta, (log, identity), Some(&gate), told);
    engine.pages.go_through(file);
    let end = end.map_err(|error| gate.check().err().unwrap_or(error))?;
    if !gate.is_open() {
        engine.write_meta(&engine.checkpoint.lock(), meta)?;
    }
    if !broken::is(Broken::RecoveryUnsettled) {
        log::rewrite_end(log, &end)?;
    }
    Ok(end)
}

/// What made the database read-only before anybody had it: an opening tells of that itself.
fn of_failure(error: Error) -> Error {
    match error {
        Error::Poisoned { cause } => Error::io("begin the log")(std::io::Error::other(cause)),
        error => error,
    }
}

/// The log beside the file.
enum Found {
    Log(Arc<dyn File>, LogIdentity, ScanEnd),
    /// None that is needed, and maybe a file that an earlier run left.
    Nothing(Option<Arc<dyn File>>),
}

/// What a checkpoint's lists say.
struct Restored {
    trees: TreeList,
    drops: Vec<Dropped>,
    own_pages: Vec<u32>,
    catalog: CatalogCopy,
}

/// Reads the checkpoint's lists into the allocation of pages. `meta` gets the copies of them that its page holds.
fn restore(pages: &Pages, meta: &mut Meta) -> Result<Restored> {
    let mut restored = Restored {
        trees: TreeList::default(),
        drops: Vec::new(),
        own_pages: Vec::new(),
        catalog: CatalogCopy::default(),
    };
    let (mut directory, mut free_map, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let broken = |what: &str| Error::corrupt(format!("the checkpoint's {what} is malformed"));
    if !meta.directory.is_none() {
        let (bytes, ids) = read_chain(pages, Kind::Directory, meta.directory)?;
        let mut rest = bytes.as_slice();
        let listed = decode_directory(&mut rest, meta.version).ok_or_else(|| broken("list of trees"))?;
        (restored.trees, restored.drops) = listed;
        restored.catalog = copies::after_directory(rest).map(|copies| copies.catalog).unwrap_or_default();
        restored.own_pages.extend(ids);
        directory.extend_from_slice(&bytes[..bytes.len() - rest.len()]);
    }
    if !meta.free_map.is_none() {
        let (bytes, ids) = read_chain(pages, Kind::FreeMap, meta.free_map)?;
        runs = decode_runs(&mut bytes.as_slice()).ok_or_else(|| broken("free map"))?;
        restored.own_pages.extend(ids);
        free_map = bytes;
    }
    if restored.trees.root(TreeId::CATALOG).is_none() {
        restored.trees.set(TreeId::CATALOG, PageRef::NONE);
    }
    meta.lists = copies::encode_lists(meta.checkpoint, &directory, &free_map, pages.page_size() - META_BYTES);
    pages.restore(meta.version, meta.end, &runs)?;
    pages.hold(meta.version);
    Ok(restored)
}

fn assemble(
    path: &Path,
    options: &Options,
    env: &Environment,
    pages: Pages,
    counters: Arc<Counters>,
    meta: &Meta,
    restored: Restored,
) -> Engine {
    let Restored { trees, drops, own_pages, catalog } = restored;
    // A jump, so that stamps used after the checkpoint and lost in a crash are never given out again: a page's id and
    // birth stay unique even against what lies in the file unreferenced.
    let next_stamp = meta.next_stamp + if meta.clean { 1 } else { 1 << 32 };
    let latest = LatestTrees::new(&trees, meta.version, next_stamp);
    let last = CheckpointState { meta: meta.clone(), own_pages, catalog, trees };
    let published = VersionPtr::allocate();
    // SAFETY: just allocated; nobody else knows it. Its trees are read by who registers with it.
    unsafe { published.fill(meta.version, meta.position, meta.position, &latest) };
    let stage = if options.read_only { Stage::ReadOnly } else { Stage::Open };
    Engine {
        env: env.clone(),
        options: options.clone(),
        path: path.to_path_buf(),
        database: meta.database,
        opening: Opening { timeline: meta.timeline, openings: meta.openings, ..Opening::default() },
        pages,
        counters,
        segments: None,
        writer: Mutex::new(Writer {
            stamp: next_stamp,
            trees: latest,
            changes: Changes::default(),
            seen_before: next_stamp,
            changed: false,
            batch: OpenBatch::new(meta.position, 1, 0, false, 0),
            appended: meta.position,
            has_appends: false,
            queue: Queue::default(),
            open_parts: Vec::new(),
            scratch: Scratch::default(),
            spare: Spares::default(),
        }),
        awake: Awake::new(),
        publisher: Publisher::new(published, meta.position, stage),
        chain: Mutex::new(Chain::new(0)),
        next_stamp: AtomicU64::new(next_stamp + 1),
        next_tree: AtomicU32::new(meta.next_tree),
        checkpoint: Mutex::new(last),
        checkpoint_position: AtomicU64::new(meta.position),
        checkpoint_number: AtomicU64::new(meta.checkpoint),
        rounds: Default::default(),
        drops: Mutex::new(drops.into()),
        freeing: Mutex::default(),
        freed: AtomicU64::new(0),
        pressure_us: AtomicU64::new(0),
        synced_at_us: AtomicU64::new(0),
        turns: Default::default(),
        signals: Signals::default(),
        tickets: Tickets::default(),
        watch: Watch::default(),
        features: AtomicU32::new(meta.incompatible),
        published: Default::default(),
        appended: Default::default(),
    }
}

/// Makes the log ready for commits, and the meta page say so.
fn begin_epoch(engine: &mut Engine, meta: &Meta, position: u64, found: Found) -> Result<()> {
    if !engine.pages.file().has_name(&engine.path).map_err(cannot_open(&engine.path))? {
        return Err(replaced(&engine.path));
    }
    let (files, method) = (engine.env.files.clone(), engine.options.sync_method);
    let limit = engine.options.log_limit_bytes;
    let (segments, last) = match found {
        Found::Log(file, identity, end) => {
            let mut live: Vec<(u64, u32)> = end.segments.iter().map(|(number, place)| (*number, *place)).collect();
            live.sort_unstable();
            let needed = meta.needed_from / identity.segment_bytes as u64;
            let last = live.last().map_or(0, |(number, _)| *number);
            live.retain(|(number, _)| *number >= needed);
            let log = log_path(&engine.path);
            let growing = Segments::open_to_grow(files.as_ref(), &log)?;
            if !file.has_name(&log).map_err(Error::io("look for the log"))? {
                return Err(replaced(&log));
            }
            (Segments::resume(file, growing, identity, limit, method, live.into(), end.places)?, last)
        }
        Found::Nothing(left_over) => {
            let identity =
                LogIdentity { database: engine.database, segment_bytes: engine.options.log_segment_bytes as u32 };
            let log = log_path(&engine.path);
            if let Some(old) = left_over {
                if !old.has_name(&log).map_err(Error::io("look for the log"))? {
                    return Err(replaced(&log));
                }
                files.remove(&log).map_err(Error::io("remove the old log"))?;
            }
            let segments = Segments::create(files.as_ref(), &log, identity, limit, method)?;
            // It was opened by its name once more, to make it longer.
            if !segments.file.has_name(&log).map_err(Error::io("look for the log"))? {
                return Err(replaced(&log));
            }
            (segments, 0)
        }
    };
    // A segment that no epoch has touched: behind every position, and behind every segment, whole or not.
    let number = (position / segments.size()).max(last) + 1;
    let start = number * segments.size();
    let epoch = Epoch { seed: engine.env.host.random() | 1, start, end: Epoch::OPEN };
    let alignment = segments.file.alignment();
    engine.segments = Some(segments);
    engine.chain = Mutex::new(Chain::new(epoch.seed));
    {
        let separate = engine.options.separate_blocks;
        let mut writer = engine.lock_writer();
        let segment_bytes = match broken::is(Broken::SegmentsAsAsked) {
            false => engine.segments()?.identity.segment_bytes as usize,
            true => engine.options.log_segment_bytes,
        };
        writer.batch = OpenBatch::new(start, alignment, epoch.seed, separate, segment_bytes);
    }
    make_place(engine, position)?;
    let is_after_crash = !meta.clean && !broken::is(Broken::OpeningKept);
    announce(engine, position, epoch, is_after_crash)?;
    first_batch(engine)
}

/// Writes the meta page that names the new epoch (and where the one before it ended), and the new opening after a crash.
fn announce(engine: &mut Engine, position: u64, epoch: Epoch, is_after_crash: bool) -> Result<()> {
    if engine.checkpoint.lock().meta.epochs.len() >= EPOCHS_MAX {
        // Many crashes without a checkpoint in between: the list is full, so one is made now.
        compact_epochs(engine, position)?;
    }
    let mut state = engine.checkpoint.lock();
    if let Some(last) = state.meta.epochs.last_mut() {
        last.end = position;
    }
    state.meta.epochs.push(epoch);
    state.meta.clean = false;
    state.meta.next_stamp = engine.next_stamp.load(Ordering::Relaxed);
    state.meta.sequence += 1;
    if is_after_crash || state.meta.openings.number == 0 {
        state.meta.openings = state.meta.openings.next(position, state.meta.sequence);
    }
    // Random numbers may come again where a simulation draws them; epochs begin elsewhere each time.
    let session = (engine.env.host.random() ^ epoch.start.rotate_left(32)).max(1);
    let segment_bytes = engine.segments()?.identity.segment_bytes;
    state.meta.log_places = engine.segments()?.places();
    state.meta.log_segment_bytes = segment_bytes;
    if !broken::is(Broken::EpochUnannounced) {
        engine.write_meta(&state, &state.meta)?;
    }
    let openings = state.meta.openings;
    drop(state);
    engine.opening = Opening { openings, session, ..engine.opening };
    Ok(())
}

/// A place for the first segment. A log all of which is in use grows where that leaves room for a checkpoint, else only once one
/// could be written: on a full disk it would take the room of that, each time that there is some.
fn make_place(engine: &Engine, position: u64) -> Result<()> {
    let segments = engine.segments()?;
    if segments.ready() > 0 {
        return Ok(());
    }
    let is_new = segments.places() == 0 || broken::is(Broken::GrowsFirst);
    match segments.add_place(|| if is_new { 0 } else { engine.checkpoint_room() }) {
        Err(Error::DiskFull { .. }) if !is_new => {}
        added => return added,
    }
    compact_epochs(engine, position)?;
    if engine.checkpoint.lock().meta.needed_from >= position {
        // The new epoch begins in a segment behind all of them.
        segments.release_before(u64::MAX);
    }
    if segments.ready() == 0 { segments.add_place(|| 0) } else { Ok(()) }
}

fn compact_epochs(engine: &Engine, position: u64) -> Result<()> {
    engine.publisher.set_durable(position);
    if let Some(last) = engine.checkpoint.lock().meta.epochs.last_mut() {
        last.end = position;
    }
    engine.run_checkpoint()
}

/// An empty batch, durable before the first commit: the log is there from then on, or it is missing.
fn first_batch(engine: &Engine) -> Result<()> {
    let mut writer = engine.lock_writer();
    let room = writer.batch.reserve(0, engine.segments()?, engine.database);
    let segment = engine.segments()?.size();
    room.map_err(|_| Error::DiskFull { what: "begin the log", needed: segment })?;
    let start = writer.batch.position();
    writer.appended = start;
    engine.lead(writer);
    engine.check_writable()
}

const _: () = assert!(BLOCK.is_multiple_of(META_BYTES));

//! Opening and creating: from the file's meta pages and the log to a running engine.
//!
//! What must hold: before the first commit after opening, the meta page durably says which log it needs, and the log
//! begins a new epoch, so that nothing left behind the end of the old one can ever pass for a commit. Whatever does
//! not fit together (a missing, foreign or damaged log, a meta page older than what the log tells of) is an error:
//! going on would be silent loss.

use std::path::Path;
use std::sync::Arc;

use crate::broken::{self, Broken};
use crate::engine::checkpoint::CheckpointState;
use crate::engine::copies::{self, CatalogCopy};
use crate::engine::lists::{decode_directory, decode_runs, read_chain};
use crate::engine::meta::{self, EPOCHS_MAX, META_BYTES, Meta, MetaPage};
use crate::engine::{
    Chain, Changes, Dropped, Engine, Publisher, Queue, Signals, Spares, Stage, Tickets, Trees, VersionPtr, Watch,
    Writer,
};
use crate::env::Environment;
use crate::io::{AlignedBuf, Create, File, FileSystem, OpenHow, Overlay};
use crate::log::format::{BLOCK, LogIdentity};
use crate::log::{self, Epoch, OpenBatch, Scan, ScanEnd, Segments, log_path, scan};
use crate::page::layout::Kind;
use crate::page::{PageRef, Pages};
use crate::stats::Counters;
use crate::sync::{AtomicU32, AtomicU64, Awake, Mutex, Ordering};
use crate::tree::{Scratch, is_well_formed};
use crate::{Error, Options, Result, TreeId};

/// Opens (or creates) the database; the caller holds its lock.
pub(crate) fn open(path: &Path, options: &Options, env: &Environment) -> Result<Arc<Engine>> {
    let files = env.files.as_ref();
    if !files.exists(path).map_err(cannot_open(path))? {
        if options.read_only || options.must_exist {
            return Err(cannot_open(path)(std::io::ErrorKind::NotFound.into()));
        }
        create(path, options, env)?;
    } else if !options.read_only && !options.must_exist && is_unused(path, files)? {
        create(path, options, env)?;
    }
    let how = OpenHow { create: Create::Never, read_only: options.read_only, direct: true };
    let file = files.open(path, how).map_err(cannot_open(path))?;
    let meta = read_meta(&file, path)?;
    if meta.clean {
        check_left_over(path, files, &file, &meta)?;
        return start(path, options, env, file, meta, None);
    }
    let log = open_log(path, files, &meta, options.read_only)?;
    // Recovered in memory: nothing may be written.
    let file = match options.read_only {
        true => {
            let page_size = meta.page_size as usize;
            Arc::new(Overlay::over(file, page_size, options.overlay_bytes() / page_size))
        }
        false => file,
    };
    start(path, options, env, file, meta, Some(log))
}

/// Whether somebody made the file, but not yet a database of it, as programs do that ask for the name of a temporary file.
/// An empty file with a log beside it was a database once.
fn is_unused(path: &Path, files: &dyn FileSystem) -> Result<bool> {
    if files.exists(&log_path(path)).map_err(Error::io("look for the log"))? {
        return Ok(false);
    }
    let how = OpenHow { create: Create::Never, read_only: true, direct: false };
    let file = files.open(path, how).map_err(cannot_open(path))?;
    Ok(file.len().map_err(Error::io("read the file's length"))? == 0)
}

fn cannot_open(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |error| Error::CannotOpen { path, error: Arc::new(error) }
}

/// Makes an empty, cleanly closed database; it appears under its name only when it is whole.
fn create(path: &Path, options: &Options, env: &Environment) -> Result<()> {
    let mut unfinished = path.as_os_str().to_os_string();
    unfinished.push("-new");
    let unfinished = Path::new(&unfinished);
    let files = env.files.as_ref();
    if files.exists(unfinished).map_err(cannot_open(path))? {
        files.remove(unfinished).map_err(cannot_open(path))?;
        // Or a crash could keep the renaming below, and not this: the old file would have the database's name.
        files.sync_directory(unfinished).map_err(Error::io("sync the new database's directory"))?;
    }
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    let file = files.open(unfinished, how).map_err(cannot_open(path))?;
    let meta = Meta {
        incompatible: 0,
        page_size: options.page_size as u32,
        clean: true,
        database: (env.host.random() as u128) << 64 | env.host.random() as u128,
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
        lists: Vec::new(),
    };
    let mut pages = AlignedBuf::zeroed(2 * options.page_size);
    meta.encode(&mut pages[..META_BYTES]);
    meta.encode(&mut pages[options.page_size..][..META_BYTES]);
    file.write_at(&pages, 0).map_err(Error::io("write the new database"))?;
    file.sync().map_err(Error::io("sync the new database"))?;
    drop(file);
    files.take_place(unfinished, path).map_err(Error::io("name the new database"))?;
    files.sync_directory(path).map_err(Error::io("sync the new database's directory"))
}

/// Reads both meta pages. The second's place depends on the page size, which the first tells unless it is damaged.
pub(crate) fn read_meta(file: &Arc<dyn File>, path: &Path) -> Result<Meta> {
    let mut first = AlignedBuf::zeroed(META_BYTES);
    if file.len().map_err(Error::io("read the file's length"))? < META_BYTES as u64 {
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
        if file.read_at(&mut bytes, size as u64).is_err() {
            continue;
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

fn open_log(path: &Path, files: &dyn FileSystem, meta: &Meta, read_only: bool) -> Result<(Arc<dyn File>, LogIdentity)> {
    let log = log_path(path);
    if !files.exists(&log).map_err(Error::io("look for the log"))? {
        return Err(Error::MissingLog { path: log });
    }
    let opened = Segments::open(files, &log, read_only)?;
    opened.filter(|(_, identity)| identity.database == meta.database).ok_or(Error::ForeignLog { path: log })
}

/// A log beside a clean database is left over from its closing, or was begun and not used yet. Any other holds commits
/// that this file does not have.
fn check_left_over(path: &Path, files: &dyn FileSystem, file: &Arc<dyn File>, meta: &Meta) -> Result<()> {
    let log = log_path(path);
    if !files.exists(&log).map_err(Error::io("look for the log"))? {
        return Ok(());
    }
    let Some((log_file, identity)) = Segments::open(files, &log, true)? else { return check_both_metas(file, meta) };
    let is_later = || log::has_later_epoch(&log_file, identity, &meta.epochs, meta.position);
    match identity.database != meta.database || is_later()? {
        true => Err(Error::ForeignLog { path: log }),
        false => Ok(()),
    }
}

/// A log whose header can not be read was begun and not used yet, if the newest meta page is clean. If one of the two is
/// damaged, that one may have been the newest, and the log's header be damaged too.
fn check_both_metas(file: &Arc<dyn File>, meta: &Meta) -> Result<()> {
    for at in [0, u64::from(meta.page_size)] {
        let mut bytes = AlignedBuf::zeroed(META_BYTES);
        file.read_at(&mut bytes, at).map_err(Error::io("read the meta page"))?;
        if !matches!(Meta::decode(&bytes), MetaPage::Whole(_)) {
            return Err(Error::corrupt(
                "a meta page and the log's header are damaged: acknowledged commits may be missing",
            ));
        }
    }
    Ok(())
}

/// Builds the engine on the checkpoint, replays the log, and begins a new epoch.
fn start(
    path: &Path,
    options: &Options,
    env: &Environment,
    file: Arc<dyn File>,
    mut meta: Meta,
    log: Option<(Arc<dyn File>, LogIdentity)>,
) -> Result<Arc<Engine>> {
    let page_size = meta.page_size as usize;
    let counters = Arc::new(Counters::default());
    let pages = Pages::new(file, options, page_size, counters.clone(), is_well_formed)?;
    let restored = restore(&pages, &mut meta)?;
    let mut engine = assemble(path, options, env, pages, counters, &meta, restored);
    if !options.read_only {
        // An earlier run's sync of it may have failed: then it is in the system's cache only, and a crash would find the
        // one before, whose pages are about to be used again.
        engine.write_meta(&engine.checkpoint.lock(), &meta)?;
        // Before anything else uses the pages: an earlier run may have freed, and used again, some of them. What cannot
        // be read now is left for later.
        let _ = engine.work_off_drops();
    }
    let (position, found) = match log {
        None => (meta.position, None),
        Some((file, identity)) => {
            let end = replay(&mut engine, &meta, &file, identity)?;
            if !options.read_only && !broken::is(Broken::RecoveryUnsettled) {
                log::rewrite_end(&file, &end)?;
            }
            (end.position, Some((file, identity, end)))
        }
    };
    if !options.read_only {
        begin_epoch(&mut engine, &meta, position, found)?;
    }
    let engine = Arc::new(engine);
    Ok(engine)
}

/// What a checkpoint's lists say.
struct Restored {
    trees: Trees,
    drops: Vec<Dropped>,
    own_pages: Vec<u32>,
    catalog: CatalogCopy,
}

/// Reads the checkpoint's lists into the allocation of pages. `meta` gets the copies of them that its page holds.
fn restore(pages: &Pages, meta: &mut Meta) -> Result<Restored> {
    let mut restored =
        Restored { trees: Trees::default(), drops: Vec::new(), own_pages: Vec::new(), catalog: CatalogCopy::default() };
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
    let published = VersionPtr::allocate();
    // SAFETY: just allocated; nobody else knows it.
    unsafe { published.fill(meta.version, meta.position, meta.position, &trees) };
    // A jump, so that stamps used after the checkpoint and lost in a crash are never given out again: a page's id and
    // birth stay unique even against what lies in the file unreferenced.
    let next_stamp = meta.next_stamp + if meta.clean { 1 } else { 1 << 32 };
    let stage = if options.read_only { Stage::ReadOnly } else { Stage::Open };
    Engine {
        env: env.clone(),
        options: options.clone(),
        path: path.to_path_buf(),
        database: meta.database,
        pages,
        counters,
        segments: None,
        writer: Mutex::new(Writer {
            stamp: next_stamp,
            trees,
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
        checkpoint: Mutex::new(CheckpointState { meta: meta.clone(), own_pages, catalog }),
        checkpoint_position: AtomicU64::new(meta.position),
        checkpoint_number: AtomicU64::new(meta.checkpoint),
        drops: Mutex::new(drops.into()),
        freeing: Mutex::new(()),
        pressure_us: AtomicU64::new(0),
        turns: Default::default(),
        signals: Signals::default(),
        tickets: Tickets::default(),
        watch: Watch::default(),
        features: AtomicU32::new(meta.incompatible),
        published: Default::default(),
        appended: Default::default(),
    }
}

/// Applies every commit behind the checkpoint.
fn replay(engine: &mut Engine, meta: &Meta, file: &Arc<dyn File>, identity: LogIdentity) -> Result<ScanEnd> {
    if log::places(file, identity)? < log::noted_places(file)?.max(meta.log_places) {
        return Err(Error::corrupt("the log is shorter than it was: acknowledged commits may be missing"));
    }
    let mut replay = super::replay::Replay::new(engine, meta.position);
    let request = Scan { file, identity, epochs: &meta.epochs, from: meta.needed_from, must_reach: meta.position };
    let mut epoch = usize::MAX;
    let end = scan(&request, &mut |batch| {
        if batch.epoch != epoch {
            // What an earlier run left uncommitted stays so.
            replay.forget_parts();
            epoch = batch.epoch;
        }
        replay.batch(file, &batch)
    });
    // Also where the log is damaged: what was whole before is for `salvage` to keep.
    replay.flush()?;
    let end = end?;
    replay.finish(end.position)?;
    if log::has_later_epoch(file, identity, &meta.epochs, end.position)? {
        return Err(Error::ForeignLog { path: log_path(&engine.path) });
    }
    if end.checkpoint > meta.checkpoint && !broken::is(Broken::OlderMeta) {
        return Err(Error::corrupt(format!(
            "the newest meta page is damaged: the log tells of checkpoint {}, the file has {}",
            end.checkpoint, meta.checkpoint
        )));
    }
    Ok(end)
}

/// Makes the log ready for commits, and the meta page say so.
fn begin_epoch(
    engine: &mut Engine,
    meta: &Meta,
    position: u64,
    found: Option<(Arc<dyn File>, LogIdentity, ScanEnd)>,
) -> Result<()> {
    let (files, method) = (engine.env.files.clone(), engine.options.sync_method);
    let limit = engine.options.log_limit_bytes;
    let (segments, last) = match found {
        Some((file, identity, end)) => {
            let mut live: Vec<(u64, u32)> = end.segments.iter().map(|(number, place)| (*number, *place)).collect();
            live.sort_unstable();
            let needed = meta.needed_from / identity.segment_bytes as u64;
            let last = live.last().map_or(0, |(number, _)| *number);
            live.retain(|(number, _)| *number >= needed);
            let growing = Segments::open_to_grow(files.as_ref(), &log_path(&engine.path))?;
            (Segments::resume(file, growing, identity, limit, method, live.into(), end.places)?, last)
        }
        None => {
            let identity =
                LogIdentity { database: engine.database, segment_bytes: engine.options.log_segment_bytes as u32 };
            let log = log_path(&engine.path);
            (Segments::create(files.as_ref(), &log, identity, limit, method)?, 0)
        }
    };
    // A segment that no epoch has touched: behind every position, and behind every segment, whole or not.
    let number = (position / segments.size()).max(last) + 1;
    let start = number * segments.size();
    let epoch = Epoch { seed: engine.env.host.random() | 1, start, end: Epoch::OPEN };
    let alignment = segments.file.alignment();
    if segments.ready() == 0 {
        segments.add_place()?;
    }
    engine.segments = Some(segments);
    engine.chain = Mutex::new(Chain::new(epoch.seed));
    {
        let separate = engine.options.separate_blocks;
        let mut writer = engine.lock_writer();
        let segment_bytes = engine.segments()?.identity.segment_bytes as usize;
        writer.batch = OpenBatch::new(start, alignment, epoch.seed, separate, segment_bytes);
    }
    announce(engine, position, epoch)?;
    first_batch(engine)
}

/// Writes the meta page that names the new epoch (and where the one before it ended).
fn announce(engine: &mut Engine, position: u64, epoch: Epoch) -> Result<()> {
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
    let segment_bytes = engine.segments()?.identity.segment_bytes;
    state.meta.log_places = engine.segments()?.places();
    state.meta.log_segment_bytes = segment_bytes;
    match broken::is(Broken::EpochUnannounced) {
        false => engine.write_meta(&state, &state.meta),
        true => Ok(()),
    }
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
    room.map_err(|_| Error::DiskFull { what: "begin the log" })?;
    let start = writer.batch.position();
    writer.appended = start;
    engine.lead(writer);
    engine.check_writable()
}

const _: () = assert!(BLOCK.is_multiple_of(META_BYTES));

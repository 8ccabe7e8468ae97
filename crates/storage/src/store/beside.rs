//! The log beside a database's file: whether the two belong together, and what it holds that the file does not.
//!
//! What must hold: the log is the one that the newest meta page speaks of, and the meta page the newest that the log tells
//! of. Where they do not belong together, nothing is written to either (`super::gate`).

use std::path::Path;
use std::sync::Arc;

use super::create::replaced;
use super::gate::Gate;
use super::open::read_meta;
use super::progress::Told;
use super::replay::Replay;
use crate::broken::{self, Broken};
use crate::engine::Engine;
use crate::engine::meta::{META_BYTES, Meta, MetaPage};
use crate::io::{AlignedBuf, File, FileSystem};
use crate::log::format::LogIdentity;
use crate::log::{self, Scan, ScanEnd, Segments, log_path, scan};
use crate::{Error, Options, Result};

/// What lies there.
pub(super) enum Beside {
    /// The log that recovery needs.
    Log(Arc<dyn File>, LogIdentity),
    /// Nothing, or a log that a clean database does not need.
    LeftOver(Option<Arc<dyn File>>),
}

/// The log of a database that was not closed.
pub(super) fn log_of(path: &Path, files: &dyn FileSystem, meta: &Meta, read_only: bool) -> Result<Beside> {
    let log = log_path(path);
    if !files.exists(&log).map_err(Error::io("look for the log"))? {
        return Err(Error::MissingLog { path: log });
    }
    match Segments::open(files, &log, read_only)? {
        (file, Some(identity)) if identity.database == meta.database => Ok(Beside::Log(file, identity)),
        _ => Err(Error::ForeignLog { path: log }),
    }
}

/// A log beside a clean database is left over from its closing, or was begun and not used yet. Any other holds commits
/// that this file does not have.
pub(super) fn left_over(path: &Path, files: &dyn FileSystem, file: &Arc<dyn File>, meta: &Meta) -> Result<Beside> {
    let log = log_path(path);
    if !files.exists(&log).map_err(Error::io("look for the log"))? {
        return Ok(Beside::LeftOver(None));
    }
    let (log_file, identity) = Segments::open(files, &log, true)?;
    let Some(identity) = identity else {
        check_both_metas(file, meta)?;
        return Ok(Beside::LeftOver(Some(log_file)));
    };
    let is_later = || log::has_later_epoch(&log_file, identity, &meta.epochs, meta.position);
    match identity.database != meta.database || is_later()? {
        true => Err(Error::ForeignLog { path: log }),
        false => Ok(Beside::LeftOver(Some(log_file))),
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

/// What has to be so before a page is written: log and meta page belong together, and the meta page is durable.
pub(super) fn before_first_page(
    path: &Path,
    meta: &Meta,
    log: &Arc<dyn File>,
    identity: LogIdentity,
) -> impl FnOnce(&dyn File) -> Result<()> + Send + use<> {
    let (path, meta, log) = (path.to_path_buf(), meta.clone(), log.clone());
    move |file| {
        let end = scan(&request(&meta, &log, identity), &mut |_| Ok(()))?;
        check_together(&path, &meta, &log, identity, &end)?;
        write_meta(file, &meta)
    }
}

fn request<'a>(meta: &'a Meta, file: &'a Arc<dyn File>, identity: LogIdentity) -> Scan<'a> {
    Scan { file, identity, epochs: &meta.epochs, from: meta.needed_from, must_reach: meta.position }
}

/// On a disk that is full for the recovery of a database whose log belongs to it: has the log give back what no recovery needs of
/// it. Whether that was anything.
pub(super) fn give_back(path: &Path, files: &dyn FileSystem, file: &Arc<dyn File>, options: &Options) -> Result<bool> {
    let mut meta = read_meta(file, path)?;
    if meta.clean {
        return Ok(false);
    }
    meta.lists = lists_of(file, &meta)?;
    let Beside::Log(log, identity) = log_of(path, files, &meta, false)? else { return Ok(false) };
    let growing = Segments::open_to_grow(files, &log_path(path))?;
    if !log.has_name(&log_path(path)).map_err(Error::io("look for the log"))? {
        return Err(replaced(&log_path(path)));
    }
    let (live, count) = log::live_segments(&request(&meta, &log, identity))?;
    let (limit, method) = (options.log_limit_bytes, options.sync_method);
    let segments = Segments::resume(log.clone(), growing, identity, limit, method, live, count)?;
    segments.give_back(|log_places| {
        (0..2).try_for_each(|_| {
            (meta.log_places, meta.sequence) = (log_places, meta.sequence + 1);
            write_meta(&**file, &meta)
        })
    })
}

/// What a meta page holds for salvage.
fn lists_of(file: &Arc<dyn File>, meta: &Meta) -> Result<Vec<u8>> {
    let (mut page, at) = meta.page();
    file.read_at(&mut page, at).map_err(Error::io("read the meta page"))?;
    Ok(page[META_BYTES..].to_vec())
}

fn write_meta(file: &dyn File, meta: &Meta) -> Result<()> {
    let (page, at) = meta.page();
    file.write_at(&page, at).map_err(Error::io("write the meta page"))?;
    file.sync().map_err(Error::io("sync the database file"))
}

/// Applies every commit behind the checkpoint, as far as the gate lets it.
pub(super) fn replay(
    engine: &Engine,
    meta: &Meta,
    (file, identity): (&Arc<dyn File>, LogIdentity),
    gate: Option<&Gate>,
    told: &mut Told<'_>,
) -> Result<ScanEnd> {
    if log::places(file, identity)? < log::noted_places(file)?.max(meta.log_places) {
        return Err(Error::corrupt("the log is shorter than it was: acknowledged commits may be missing"));
    }
    told.begins(|| {
        let ((live, _), bytes) = (log::live_segments(&request(meta, file, identity))?, identity.segment_bytes as u64);
        let first = live.front().map_or(0, |(number, _)| number * bytes);
        Ok::<_, Error>((first.max(meta.needed_from), live.len() as u64 * bytes))
    })?;
    let mut replay = Replay::new(engine, meta.position, told);
    let mut epoch = usize::MAX;
    let end = scan(&request(meta, file, identity), &mut |batch| {
        gate.map_or(Ok(()), |gate| gate.check())?;
        if batch.epoch != epoch {
            // What an earlier run left uncommitted stays so.
            replay.forget_parts();
            epoch = batch.epoch;
        }
        replay.batch(file, &batch)
    })?;
    check_together(&engine.path, meta, file, identity, &end)?;
    replay.finish(end.position)?;
    Ok(end)
}

/// Whether a scan's end is that of the log that the meta page speaks of, and the meta page the newest one.
fn check_together(path: &Path, meta: &Meta, file: &Arc<dyn File>, identity: LogIdentity, end: &ScanEnd) -> Result<()> {
    if log::has_later_epoch(file, identity, &meta.epochs, end.position)? {
        return Err(Error::ForeignLog { path: log_path(path) });
    }
    if end.checkpoint > meta.checkpoint && !broken::is(Broken::OlderMeta) {
        return Err(Error::corrupt(format!(
            "the newest meta page is damaged: the log tells of checkpoint {}, the file has {}",
            end.checkpoint, meta.checkpoint
        )));
    }
    Ok(())
}

//! Where a run's data lives, and the engines opened there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Result;
use crate::args::Args;
use crate::engine::{Engine, Entries, Kind, Shape, SqlEngine, SqlKind, SqlOptions, open_entries};
use crate::floor::Floor;
use crate::machine::filesystem_of;
use crate::report::Report;
use crate::rows::ROW_BYTES;
use crate::terminal::say;

/// Rows per transaction when a table is filled.
pub const LOAD_BATCH: i64 = 1000;

/// A medium's folder of this run; removed at the end.
#[derive(Debug)]
pub struct Medium {
    pub name: &'static str,
    root: PathBuf,
    folders: AtomicU32,
}

impl Medium {
    /// A new folder in `parent`.
    pub fn new(name: &'static str, parent: &Path) -> Result<Medium> {
        let root = parent.join(format!("cairn-bench-{}", std::process::id()));
        std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Medium { name, root, folders: AtomicU32::new(0) })
    }

    /// What the folder's file system is, in words.
    pub fn filesystem(&self) -> String {
        filesystem_of(&self.root).unwrap_or_else(|| "an unknown file system".to_string())
    }

    /// A new, empty folder.
    pub fn folder(&self) -> Result<PathBuf> {
        let path = self.root.join(self.folders.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    /// The floors by name, the one that ratios are taken to first.
    pub fn floors(&self) -> Result<Vec<(&'static str, Floor)>> {
        let dir = self.folder()?;
        Ok(match self.name {
            "disk" => vec![("floor", Floor::disk(&dir)?)],
            _ => vec![("floor", Floor::tmpfs(&dir, 4096)?), ("floor 100 bytes", Floor::tmpfs(&dir, ROW_BYTES)?)],
        })
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// A run's arguments and media.
#[derive(Debug)]
pub struct Setup {
    pub args: Args,
    /// The medium of `--dir`.
    pub disk: Medium,
    tmpfs: Option<Medium>,
}

impl Setup {
    pub fn new(args: Args) -> Result<Setup> {
        let is_memory = matches!(filesystem_of(&args.dir).as_deref(), Some("tmpfs" | "ramfs"));
        let disk = Medium::new(if is_memory { "tmpfs" } else { "disk" }, &args.dir)?;
        // A memory file system is measured once, and never under a disk's name.
        let tmpfs = args.tmpfs.as_deref().filter(|_| !is_memory);
        let tmpfs = tmpfs.map(|dir| Medium::new("tmpfs", dir)).transpose()?;
        Ok(Setup { args, disk, tmpfs })
    }

    /// The disk, and the memory file system if there is one.
    pub fn media(&self) -> impl Iterator<Item = &Medium> {
        std::iter::once(&self.disk).chain(&self.tmpfs)
    }

    /// The fastest medium there is, for workloads that measure no medium.
    pub fn fastest(&self) -> &Medium {
        self.tmpfs.as_ref().unwrap_or(&self.disk)
    }

    /// The engines of a comparison that were not left out by the command line.
    pub fn kinds(&self, of: &[Kind]) -> Vec<Kind> {
        of.iter().filter(|kind| self.wants(kind.name())).copied().collect()
    }

    /// Opens one engine in a folder of its own, and says how it is set.
    pub fn open(&self, kind: Kind, medium: &Medium, report: &mut Report) -> Result<(Box<dyn Engine>, PathBuf)> {
        let dir = medium.folder()?;
        let engine = kind.open(&dir)?;
        note(engine.name(), engine.setting(), report);
        Ok((engine, dir))
    }

    /// The SQL engines of a comparison that were not left out by the command line.
    pub fn sql_kinds(&self, of: &[SqlKind]) -> Vec<SqlKind> {
        of.iter().filter(|kind| self.wants(kind.name())).copied().collect()
    }

    fn wants(&self, engine: &str) -> bool {
        self.args.engines.as_ref().is_none_or(|engines| engines.contains(&engine))
    }

    /// As [`Setup::open`], a SQL engine.
    pub fn open_sql(&self, kind: SqlKind, medium: &Medium, report: &mut Report) -> Result<Box<dyn SqlEngine>> {
        self.open_sql_in(kind, &medium.folder()?, report)
    }

    /// Opens a SQL engine in this folder, which may hold its database, and says how it is set.
    pub fn open_sql_in(&self, kind: SqlKind, dir: &Path, report: &mut Report) -> Result<Box<dyn SqlEngine>> {
        let engine = kind.open(dir, SqlOptions::default())?;
        note(engine.name(), engine.setting(), report);
        Ok(engine)
    }

    /// As [`Setup::open`], a store of entries.
    pub fn open_entries(
        &self,
        kind: Kind,
        medium: &Medium,
        shape: Shape,
        report: &mut Report,
    ) -> Result<Box<dyn Entries>> {
        let store = open_entries(kind, &medium.folder()?, shape)?;
        note(store.name(), store.setting(), report);
        Ok(store)
    }

    /// Opens the engines and fills each one's table.
    pub fn open_filled(
        &self,
        kinds: &[Kind],
        medium: &Medium,
        rows: i64,
        report: &mut Report,
    ) -> Result<Vec<Box<dyn Engine>>> {
        let mut engines = Vec::new();
        for kind in self.kinds(kinds) {
            let (engine, _) = self.open(kind, medium, report)?;
            fill(&*engine, rows)?;
            engines.push(engine);
        }
        Ok(engines)
    }
}

/// Says how an engine is set, once.
pub fn note(engine: &'static str, setting: String, report: &mut Report) {
    if report.setting(engine, setting.clone()) {
        say(format!("{engine:<8} {setting}"));
    }
}

/// Inserts the keys below `rows` in ascending order.
pub fn fill(engine: &dyn Engine, rows: i64) -> Result<()> {
    engine.with_session(&mut |session| {
        (0..rows).step_by(LOAD_BATCH as usize).try_for_each(|from| session.load(from..rows.min(from + LOAD_BATCH)))
    })
}

/// Closes all, so that none works in the background of what follows.
pub fn close_all(engines: Vec<Box<dyn Engine>>) -> Result<()> {
    engines.into_iter().try_for_each(|engine| engine.close())
}

/// Bytes that the files below a folder take on the medium.
pub fn bytes_below(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let data = entry.metadata()?;
        bytes += if data.is_dir() { bytes_below(&entry.path())? } else { size_on_medium(&data) };
    }
    Ok(bytes)
}

/// A file with holes counts for what it holds.
#[cfg(unix)]
fn size_on_medium(data: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    data.len().min(data.blocks() * 512)
}

#[cfg(not(unix))]
fn size_on_medium(data: &std::fs::Metadata) -> u64 {
    data.len()
}

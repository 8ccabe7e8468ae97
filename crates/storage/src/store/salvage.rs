//! Copying what can still be read of a damaged database into a new one, and saying what could not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine::Engine;
use super::handle::Store;
use super::open;
use crate::env::Environment;
use crate::io::FileSystem;
use crate::log::log_path;
use crate::page::PageRef;
use crate::sync::Ordering;
use crate::tree::node::Node;
use crate::tree::{Value, overflow_value, walk};
use crate::txn::TreeId;
use crate::{Durability, Error, Options, Result};

/// What a salvage found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Entries copied.
    pub entries: u64,
    /// What is missing or doubtful, a sentence each.
    pub losses: Vec<String>,
}

/// Copies what can be read of the database at `from` into a new database at `to`.
///
/// The damaged file is only read. What its newest whole meta page leads to is copied; the log is applied as far as it
/// is whole. Every page that cannot be read is named in the result.
pub fn salvage(from: impl AsRef<Path>, to: impl AsRef<Path>, options: Options) -> Result<Salvage> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let env = Environment::real();
    refuse_existing(env.files.as_ref(), to)?;
    let scratch = Scratch::copy(from, to)?;
    let mut found = Salvage::default();
    let engine = open::salvage_engine(&scratch.0, &options, &env, &mut found.losses)?;
    let target = Store::open(to, Options { page_size: engine.pages.page_size(), ..options })?;
    let trees = engine.writer.lock().trees.clone();
    for entry in trees.entries() {
        copy_tree(&engine, &target, entry.id, entry.root, &mut found)?;
    }
    let next_tree = engine.next_tree.load(Ordering::Relaxed);
    target.engine().next_tree.fetch_max(next_tree, Ordering::Relaxed);
    target.close()?;
    Ok(found)
}

fn refuse_existing(files: &dyn FileSystem, path: &Path) -> Result<()> {
    match files.exists(path).map_err(Error::io("look for the target"))? {
        false => Ok(()),
        true => Err(cannot_open(path, std::io::ErrorKind::AlreadyExists.into())),
    }
}

fn cannot_open(path: &Path, error: std::io::Error) -> Error {
    Error::CannotOpen { path: path.to_path_buf(), error: Arc::new(error) }
}

/// A copy of the damaged files to work on, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn copy(from: &Path, to: &Path) -> Result<Scratch> {
        let mut name = to.as_os_str().to_os_string();
        name.push("-salvage");
        let scratch = Scratch(PathBuf::from(name));
        std::fs::copy(from, &scratch.0).map_err(|error| cannot_open(from, error))?;
        let log = log_path(from);
        if log.exists() {
            std::fs::copy(&log, log_path(&scratch.0)).map_err(|error| cannot_open(&log, error))?;
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(log_path(&self.0));
    }
}

/// Copies a tree's readable entries; what cannot be read is named in `found`.
fn copy_tree(engine: &Engine, target: &Store, tree: TreeId, root: PageRef, found: &mut Salvage) -> Result<()> {
    let slot = engine.pages.slots.claim()?;
    let transaction = std::cell::RefCell::new(Some(target.begin()?));
    transaction.borrow().iter().try_for_each(|transaction| transaction.ensure_tree(tree))?;
    let losses = std::cell::RefCell::new(Vec::new());
    let mut entries = 0;
    let mut key = Vec::new();
    let mut value = Vec::new();
    let result = walk(
        &engine.pages,
        slot,
        root,
        &|_| true,
        &mut |visit| {
            if visit.fences.is_none() || Node::new(visit.bytes).is_inner() {
                return Ok(true);
            }
            let node = Node::new(visit.bytes);
            for i in 0..node.count() {
                node.key_into(i, &mut key);
                match node.cell(i).0.into() {
                    Value::Inline(bytes) => put(&transaction, tree, &key, bytes)?,
                    Value::Long(length, first) => {
                        match overflow_value(&engine.pages, slot, length, first, &mut value) {
                            Ok(()) => put(&transaction, tree, &key, &value)?,
                            Err(error) => {
                                losses
                                    .borrow_mut()
                                    .push(format!("tree {}: a long value is lost: {error}", tree.number()));
                                continue;
                            }
                        }
                    }
                }
                entries += 1;
            }
            commit_step(target, &transaction)?;
            Ok(true)
        },
        &mut |page, error| {
            losses.borrow_mut().push(format!(
                "tree {}: what lies below page {} is lost: {error}",
                tree.number(),
                page.id
            ));
            Ok(())
        },
    );
    engine.pages.slots.release(slot);
    result?;
    found.entries += entries;
    found.losses.extend(losses.into_inner());
    transaction.into_inner().map_or(Ok(()), |transaction| transaction.commit(None))
}

type Open = std::cell::RefCell<Option<crate::Transaction>>;

fn put(transaction: &Open, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
    transaction.borrow().as_ref().ok_or(Error::Ended)?.put(tree, key, value)
}

/// Commits what a leaf brought, so that no transaction grows large.
fn commit_step(target: &Store, transaction: &Open) -> Result<()> {
    if let Some(done) = transaction.borrow_mut().take() {
        done.commit(Some(Durability::Off))?;
    }
    *transaction.borrow_mut() = Some(target.begin()?);
    Ok(())
}

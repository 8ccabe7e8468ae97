//! Copying what the roots lead to, leaf by leaf in key order, and noting what is missing on the way.

use std::path::PathBuf;

use super::reasons::Fault;
use super::report::{Doubt, Lost, Salvage};
use super::source::{PageSet, Source};
use super::state::State;
use super::target::{Target, Uncertain, UncertainEntry};
use crate::engine::lists::chain_piece;
use crate::env::Environment;
use crate::page::PageRef;
use crate::page::layout::{Kind, tree_of};
use crate::tree::node::Node;
use crate::tree::{MAX_DEPTH, Value};
use crate::{Error, Options, Result, TreeId};

/// A page that a tree has and that can not be read.
#[derive(Debug)]
pub(super) struct Hole {
    pub(super) tree: TreeId,
    /// The keys that it leads to: lower included, upper excluded.
    pub(super) lower: Vec<u8>,
    pub(super) upper: Option<Vec<u8>>,
    /// `None`: the root, whose level only it knew.
    pub(super) level: Option<u8>,
    pub(super) page: u32,
    pub(super) why: Fault,
    /// Pages that belong here were found although nothing refers to them.
    pub(super) found: bool,
}

impl Hole {
    pub(super) fn covers(&self, tree: TreeId, key: &[u8]) -> bool {
        self.tree == tree && self.lower.as_slice() <= key && self.upper.as_deref().is_none_or(|upper| key < upper)
    }
}

/// A salvage under way.
pub(super) struct Rescue<'s, 'p> {
    pub(super) source: &'s mut Source<'p>,
    pub(super) state: &'s State,
    pub(super) target: Target,
    pub(super) report: Salvage,
    pub(super) reached: PageSet,
    pub(super) holes: Vec<Hole>,
    pub(super) uncertain: UncertainFile<'s>,
    /// Pages of long values of uncertain entries that may still be read: several entries may have the same value.
    chain_budget: u64,
}

/// Where uncertain entries go, made with the first.
pub(super) struct UncertainFile<'s> {
    pub(super) path: PathBuf,
    pub(super) options: &'s Options,
    pub(super) env: &'s Environment,
}

/// A page to copy, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Step<'k> {
    pub(super) tree: TreeId,
    pub(super) page: PageRef,
    pub(super) level: Option<u8>,
    pub(super) lower: &'k [u8],
    pub(super) upper: Option<&'k [u8]>,
}

impl<'s, 'p> Rescue<'s, 'p> {
    pub(super) fn new(
        source: &'s mut Source<'p>,
        state: &'s State,
        target: Target,
        uncertain: UncertainFile<'s>,
    ) -> Rescue<'s, 'p> {
        let (reached, chain_budget) = (PageSet::new(source.pages), source.pages.into());
        let report = Salvage { notes: state.notes.clone(), pages_replaced: state.pages_replaced, ..Salvage::default() };
        Rescue { source, state, target, report, reached, holes: Vec::new(), uncertain, chain_budget }
    }

    /// Copies what the list of trees leads to.
    pub(super) fn trees(&mut self) -> Result<()> {
        let state = self.state;
        let Some(trees) = &state.trees else { return Ok(()) };
        for entry in trees.entries() {
            self.target.ensure_tree(entry.id)?;
            if !entry.id.is_derived() && !entry.root.is_none() {
                self.page(Step { tree: entry.id, page: entry.root, level: None, lower: &[], upper: None })?;
            }
        }
        Ok(())
    }

    /// Copies what lies at or below a page.
    pub(super) fn page(&mut self, step: Step<'_>) -> Result<()> {
        let read = self.source.node(step.page, step.tree.0);
        let read = read.and_then(|bytes| match fits(&bytes, step) {
            true => Ok(bytes),
            false => Err(Fault::of(step.page.id, "is not the one that was meant")),
        });
        let bytes = match read {
            Ok(bytes) if self.reached.insert(step.page.id) => bytes,
            Ok(_) => return self.hole(step, Fault::of(step.page.id, "is referred to twice")),
            Err(why) => return self.hole(step, why),
        };
        let node = Node::new(&bytes);
        match node.is_inner() {
            true => self.children(&node, step),
            false => self.leaf(&node, step.tree),
        }
    }

    fn hole(&mut self, step: Step<'_>, why: Fault) -> Result<()> {
        let Step { tree, page, level, lower, upper } = step;
        let (lower, upper) = (lower.to_vec(), upper.map(<[u8]>::to_vec));
        self.holes.push(Hole { tree, lower, upper, level, page: page.id, why, found: false });
        Ok(())
    }

    fn children(&mut self, node: &Node<'_>, step: Step<'_>) -> Result<()> {
        let (mut from, mut to) = (step.lower.to_vec(), Vec::new());
        for child in 0..=node.count() {
            let last = child == node.count();
            if !last {
                node.key_into(child, &mut to);
            }
            let upper = if last { step.upper } else { Some(to.as_slice()) };
            let level = Some(node.level() - 1);
            self.page(Step { page: node.child(child), level, lower: &from, upper, ..step })?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(())
    }

    fn leaf(&mut self, node: &Node<'_>, tree: TreeId) -> Result<()> {
        let mut key = Vec::new();
        for i in 0..node.count() {
            node.key_into(i, &mut key);
            let saved = match node.cell(i).0.into() {
                Value::Inline(value) => self.put(tree, &key, value)?,
                Value::Long(length, first) => match self.long(tree, length, first, true) {
                    Ok(value) => self.put(tree, &key, &value)?,
                    Err(why) => Err(why),
                },
            };
            if let Err(why) = saved {
                self.report.lost(tree, Lost::Entry(key.clone()), why);
            }
        }
        Ok(())
    }

    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<Result<(), Fault>> {
        match self.target.put(tree, key, value) {
            Err(error @ Error::KeyTooLong { .. }) => Ok(Err(error.to_string().into())),
            result => result.map(Ok),
        }
    }

    /// A long value. `sure`: its pages are nobody else's.
    fn long(&mut self, tree: TreeId, length: u64, first: PageRef, sure: bool) -> Result<Vec<u8>, Fault> {
        if length > u64::from(self.source.pages) * self.source.page_size as u64 {
            return Err("it is longer than the file".into());
        }
        let (mut value, mut at) = (Vec::new(), first);
        while (value.len() as u64) < length {
            let bytes = self.source.page_of(at, &[Kind::Overflow])?;
            let is_new = match sure {
                true => self.reached.insert(at.id),
                false => self.chain_budget > 0,
            };
            let piece = chain_piece(&bytes).filter(|(piece, _)| is_new && !piece.is_empty());
            let Some((piece, next)) = piece.filter(|_| tree_of(&bytes) == tree.0) else {
                return Err(Fault::of(at.id, "is malformed"));
            };
            self.chain_budget -= u64::from(!sure);
            value.extend_from_slice(piece);
            at = next;
        }
        match value.len() as u64 == length {
            true => Ok(value),
            false => Err("its pages hold more than it has".into()),
        }
    }

    /// Hands a leaf's entries over apart.
    pub(super) fn uncertain_leaf(&mut self, bytes: &[u8], tree: TreeId, page: PageRef) -> Result<()> {
        let node = Node::new(bytes);
        for i in 0..node.count() {
            let mut key = Vec::new();
            node.key_into(i, &mut key);
            let value = match node.cell(i).0.into() {
                Value::Inline(value) => Ok(value.to_vec()),
                Value::Long(length, first) => self.long(tree, length, first, false),
            };
            match value {
                Ok(value) => self.doubt(UncertainEntry { tree, key, value, doubt: Doubt::Unreferenced, page })?,
                Err(why) => self.report.lost(tree, Lost::Entry(key), why),
            }
        }
        Ok(())
    }

    pub(super) fn doubt(&mut self, entry: UncertainEntry) -> Result<()> {
        let file = match &mut self.report.uncertain {
            Some(file) => file,
            none => {
                let UncertainFile { path, options, env } = &self.uncertain;
                none.insert(Uncertain::create(path.clone(), self.source.page_size, options, env)?)
            }
        };
        match file.push(&entry) {
            Err(Error::KeyTooLong { .. }) => Ok(()),
            result => result,
        }
    }

    /// Fills what is missing of the catalog from its copy.
    pub(super) fn catalog(&mut self) -> Result<()> {
        let of_catalog = |tree: TreeId| tree == TreeId::CATALOG;
        let is_damaged = self.holes.iter().any(|hole| of_catalog(hole.tree))
            || self.report.losses.iter().any(|loss| of_catalog(loss.tree));
        let root = self.state.trees.as_ref().and_then(|trees| trees.root(TreeId::CATALOG));
        let is_of = |root: PageRef| self.state.catalog.as_ref().filter(|copy| is_damaged && copy.is_of(root));
        let copy = root.and_then(is_of);
        let Some(copy) = copy else { return Ok(()) };
        let target = &mut self.target;
        copy.for_each(|key, value| target.put(TreeId::CATALOG, key, value))?;
        let missing = self.holes.len();
        self.holes.retain(|hole| !of_catalog(hole.tree));
        self.report.losses.retain(|loss| !of_catalog(loss.tree));
        self.report.pages_replaced += (missing - self.holes.len()).max(1) as u64;
        Ok(())
    }
}

/// Whether a page has the level and the keys that its parent says.
fn fits(bytes: &[u8], step: Step<'_>) -> bool {
    let node = Node::new(bytes);
    let level = node.level();
    if usize::from(level) >= MAX_DEPTH || step.level.is_some_and(|expected| expected != level) {
        return false;
    }
    let mut key = Vec::new();
    let is_inside = |key: &[u8]| step.lower <= key && step.upper.is_none_or(|upper| key < upper);
    [0, node.count().saturating_sub(1)].into_iter().filter(|&i| i < node.count()).all(|i| {
        node.key_into(i, &mut key);
        is_inside(&key)
    })
}

//! Pages that nothing which is left refers to, because what referred to them is damaged.
//!
//! A page that the free map has in use, that is its tree's and that the walk from the roots did not reach, was reached
//! from a page that can not be read: it is live. Without the free map it may as well be what an update left behind, and
//! goes to the uncertain entries.

use std::collections::HashSet;

use super::report::Lost;
use super::rescue::{Hole, Rescue, Step};
use super::source::{PAGES_MAX, is_node_of};
use crate::broken::{self, Broken};
use crate::page::PageRef;
use crate::page::layout::{self, Kind, tree_of};
use crate::tree::node::Node;
use crate::{Result, TreeId};

/// An inner page that nothing refers to.
struct InnerPage {
    level: u8,
    tree: TreeId,
    page: PageRef,
}

impl Rescue<'_, '_> {
    /// Copies what lies in such pages, and notes what is missing for good.
    pub(super) fn orphans(&mut self) -> Result<()> {
        let is_needed = self.state.trees.is_none() || self.holes.iter().any(|hole| hole.level != Some(0));
        // Pages that were in use and can not be read; `None`: it is not known which were in use.
        let mut unread = Some(Vec::new());
        if is_needed {
            let inner = self.look(&mut unread);
            for InnerPage { tree, page, .. } in inner {
                if !self.reached.contains(page.id) {
                    self.assign(tree, page)?;
                }
            }
            self.leaves()?;
        }
        let known: HashSet<u32> = self.holes.iter().map(|hole| hole.page).collect();
        self.state_losses(unread.map(|ids| ids.iter().filter(|id| !known.contains(id)).count()));
        Ok(())
    }

    fn is_unused(&self, id: u32) -> bool {
        self.reached.contains(id) || self.state.unused.as_ref().is_some_and(|unused| unused.contains(id))
    }

    /// Whether pages of the tree can be missing a reference.
    fn lacks_pages(&self, tree: TreeId) -> bool {
        let lacks = || self.holes.iter().any(|hole| hole.tree == tree && hole.level != Some(0));
        !tree.is_derived() && (self.state.trees.is_none() || lacks())
    }

    /// Looks at all pages that nothing refers to: finds the inner ones, the highest first, and counts those that can not
    /// be read.
    fn look(&mut self, unread: &mut Option<Vec<u32>>) -> Vec<InnerPage> {
        let mut inner = Vec::new();
        if self.state.unused.is_none() {
            *unread = None;
            return inner;
        }
        for id in 2..self.state.end.unwrap_or(0).max(self.source.pages).min(PAGES_MAX) {
            if self.is_unused(id) {
                continue;
            }
            match self.source.page(id) {
                Ok(bytes) => {
                    let tree = TreeId(tree_of(&bytes));
                    if Kind::of(&bytes) == Some(Kind::Inner) && self.lacks_pages(tree) && is_node_of(&bytes, tree.0) {
                        inner.push(InnerPage { level: bytes[5], tree, page: layout::identity(&bytes) });
                    }
                }
                Err(_) => unread.iter_mut().for_each(|ids| ids.push(id)),
            }
        }
        inner.sort_by_key(|page| std::cmp::Reverse(page.level));
        inner
    }

    /// Copies what lies below a page that nothing refers to. What is missing there is missing in the hole that it fills.
    fn assign(&mut self, tree: TreeId, page: PageRef) -> Result<()> {
        let Ok(bytes) = self.source.node(page, tree.0) else { return Ok(()) };
        let level = Node::new(&bytes).level();
        let Some((lower, upper)) = self.place(tree, &bytes) else { return Ok(()) };
        self.target.ensure_tree(tree)?;
        self.page(Step { tree, page, level: Some(level), lower: &lower, upper: upper.as_deref() })
    }

    /// Marks the hole that the page belongs in; the keys that lead to it.
    fn place(&mut self, tree: TreeId, bytes: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let node = Node::new(bytes);
        let mut key = Vec::new();
        if node.count() > 0 {
            node.key_into(0, &mut key);
        }
        let fits = |hole: &&mut Hole| hole.level.is_none_or(|level| level > node.level()) && hole.covers(tree, &key);
        match self.holes.iter_mut().find(fits) {
            Some(hole) => {
                hole.found = true;
                Some((hole.lower.clone(), hole.upper.clone()))
            }
            None => self.state.trees.is_none().then_some((Vec::new(), None)),
        }
    }

    fn leaves(&mut self) -> Result<()> {
        let sure = self.state.unused.is_some();
        for id in 2..self.source.pages {
            if self.is_unused(id) {
                continue;
            }
            let Ok(bytes) = self.source.page(id) else { continue };
            let tree = TreeId(tree_of(&bytes));
            if Kind::of(&bytes) != Some(Kind::Leaf) || !self.lacks_pages(tree) || !is_node_of(&bytes, tree.0) {
                continue;
            }
            let page = layout::identity(&bytes);
            let sure = sure || broken::is(Broken::SalvageRaisesDead);
            match (sure, self.place(tree, &bytes)) {
                (true, Some((lower, upper))) => {
                    self.target.ensure_tree(tree)?;
                    self.page(Step { tree, page, level: Some(0), lower: &lower, upper: upper.as_deref() })?;
                }
                // It was written after the checkpoint that is gone by, or belongs elsewhere.
                _ => self.uncertain_leaf(&bytes, tree, page)?,
            }
        }
        Ok(())
    }

    /// Says what the holes are that nothing filled. `unread`: pages that could be what is missing.
    fn state_losses(&mut self, unread: Option<usize>) {
        let holes = std::mem::take(&mut self.holes);
        for hole in &holes {
            let (from, to) = (hole.lower.clone(), hole.upper.clone());
            let what = match (hole.level, hole.found, unread) {
                (Some(0), ..) | (None, false, Some(0)) => Lost::Range { from, to },
                (_, true, Some(0)) => {
                    self.report.pages_replaced += 1;
                    continue;
                }
                (_, false, _) => Lost::Range { from, to },
                (_, true, _) => Lost::Part { from, to },
            };
            self.report.lost(hole.tree, what, hole.why.clone());
        }
        if self.state.trees.is_none() && unread.is_some_and(|count| count > 0) {
            let count = unread.unwrap_or_default();
            self.report
                .notes
                .push(format!("{count} pages that were in use can not be read, and it is not known whose they were"));
        }
        self.holes = holes;
    }
}

//! Which checkpoint the file holds, and what is left of its lists.

use std::collections::HashSet;

use super::source::{FoundMeta, PAGES_MAX, PageSet, Source};
use crate::engine::TreeList;
use crate::engine::copies::{CatalogCopy, DirectoryCopies, ListCopies, after_directory};
use crate::engine::lists::{chain_piece, decode_directory, decode_runs, next_u32};
use crate::engine::meta::Meta;
use crate::page::PageRef;
use crate::page::layout::{self, Kind};

/// What is known of the newest checkpoint.
#[derive(Debug, Default)]
pub(super) struct State {
    /// `None`: no meta page is left, and no copy of one.
    pub(super) meta: Option<Meta>,
    /// A meta page was lost: it may have told of an epoch of the log that no other does.
    pub(super) meta_lost: bool,
    pub(super) trees: Option<TreeList>,
    /// Pages that hold nothing of the checkpoint's trees: free, the lists' own, or behind the end.
    pub(super) unused: Option<PageSet>,
    pub(super) end: Option<u32>,
    pub(super) catalog: Option<CatalogCopy>,
    pub(super) notes: Vec<String>,
    pub(super) pages_replaced: u64,
}

/// A page of one of the lists, found by looking at all pages.
struct ListPage {
    kind: Kind,
    page: PageRef,
    next: PageRef,
}

/// A list of trees that was found so.
struct FoundDirectory {
    first: PageRef,
    trees: TreeList,
    copies: Option<DirectoryCopies>,
}

impl State {
    pub(super) fn find(source: &mut Source<'_>, metas: Vec<FoundMeta>) -> State {
        let mut state = State { meta_lost: metas.len() < 2, ..State::default() };
        let newest = metas.into_iter().max_by_key(|found| found.meta.sequence);
        let (meta, lists) = newest.map(|found| (Some(found.meta), found.lists)).unwrap_or_default();
        let mut found = Vec::new();
        if state.meta_lost {
            state.pages_replaced += u64::from(meta.is_some());
            found = list_pages(source);
        }
        match newer_directory(source, &found, meta.as_ref()) {
            Some(newer) => state.take_directory(source, &found, newer),
            None => match meta {
                Some(meta) => state.take_meta(source, meta, lists),
                None => state.notes.push("both meta pages are damaged, and no list of trees is whole".into()),
            },
        }
        state
    }

    /// Goes by a meta page, and its copies where the lists themselves are damaged.
    fn take_meta(&mut self, source: &mut Source<'_>, meta: Meta, lists: ListCopies) {
        let mut own_pages = Vec::new();
        let directory = self.list(source, Kind::Directory, meta.directory, lists.directory, &mut own_pages);
        let free_map = self.list(source, Kind::FreeMap, meta.free_map, lists.free_map, &mut own_pages);
        if let Some(bytes) = directory {
            let mut rest = bytes.as_slice();
            self.trees = decode_directory(&mut rest, meta.version).map(|(trees, _)| trees);
            self.catalog = after_directory(rest).map(|copies| copies.catalog);
        }
        if let Some(bytes) = free_map {
            self.unused = unused_pages(&bytes, meta.end, source.pages, &own_pages);
        }
        self.end = Some(meta.end);
        self.meta = Some(meta);
    }

    /// The bytes of a list, from its chain or from its copy.
    fn list(
        &mut self,
        source: &mut Source<'_>,
        kind: Kind,
        first: PageRef,
        copy: Option<Vec<u8>>,
        own_pages: &mut Vec<u32>,
    ) -> Option<Vec<u8>> {
        // A database that was never written to has no lists: an empty one decodes from a zero.
        if first.is_none() {
            return Some(vec![0, 0]);
        }
        let chain = read_chain(source, kind, first, own_pages);
        if chain.is_none() {
            let name = if kind == Kind::Directory { "list of trees" } else { "free map" };
            match copy {
                Some(_) => self.pages_replaced += 1,
                None => self.notes.push(format!("the {name} is damaged, and the meta page has no copy of it")),
            }
        }
        chain.or(copy)
    }

    /// Goes by a list of trees that no meta page is left to name.
    fn take_directory(&mut self, source: &mut Source<'_>, found: &[ListPage], directory: FoundDirectory) {
        let mut own_pages = Vec::new();
        read_chain(source, Kind::Directory, directory.first, &mut own_pages);
        let birth = directory.first.birth;
        let free_map = heads(found, Kind::FreeMap).into_iter().find(|head| head.birth == birth);
        if let Some(bytes) = free_map.and_then(|first| read_chain(source, Kind::FreeMap, first, &mut own_pages)) {
            let mut rest = bytes.as_slice();
            self.end = decode_runs(&mut rest).and_then(|_| next_u32(&mut rest));
            self.unused = self.end.and_then(|end| unused_pages(&bytes, end, source.pages, &own_pages));
        }
        self.trees = Some(directory.trees);
        if let Some(DirectoryCopies { meta, catalog }) = directory.copies {
            self.pages_replaced += 2;
            self.meta = Some(meta);
            self.catalog = Some(catalog);
        } else {
            self.notes.push("both meta pages are damaged, and the list of trees has no copy of them".into());
        }
    }
}

/// Reads a chain of list pages; its pages are noted also where it is broken.
fn read_chain(source: &mut Source<'_>, kind: Kind, first: PageRef, ids: &mut Vec<u32>) -> Option<Vec<u8>> {
    let (mut bytes, mut seen, mut at) = (Vec::new(), HashSet::new(), first);
    while !at.is_none() {
        ids.push(at.id);
        let page = source.page_of(at, &[kind]).ok()?;
        let (piece, next) = chain_piece(&page)?;
        // A chain that comes back to itself is forged.
        if !seen.insert(at.id) {
            return None;
        }
        bytes.extend_from_slice(piece);
        at = next;
    }
    Some(bytes)
}

/// The pages that a free map has as free, and those of the lists themselves.
fn unused_pages(map: &[u8], end: u32, pages: u32, own_pages: &[u32]) -> Option<PageSet> {
    let mut rest = map;
    let runs = decode_runs(&mut rest)?;
    // Also of those that were cut off it is told whether they were in use.
    let known = pages.max(end.min(PAGES_MAX));
    let mut unused = PageSet::new(known);
    let ids = runs.iter().flat_map(|&(first, length)| first..first.saturating_add(length).min(known));
    ids.chain(end..pages).chain(own_pages.iter().copied()).for_each(|id| {
        unused.insert(id);
    });
    Some(unused)
}

/// All pages of lists in the file.
fn list_pages(source: &mut Source<'_>) -> Vec<ListPage> {
    let mut found = Vec::new();
    for id in 2..source.pages {
        let Ok(bytes) = source.page(id) else { continue };
        if let Some(kind @ (Kind::Directory | Kind::FreeMap)) = Kind::of(&bytes)
            && let Some((_, next)) = chain_piece(&bytes)
        {
            found.push(ListPage { kind, page: layout::identity(&bytes), next });
        }
    }
    found
}

/// Where chains begin: at pages that no other page of the same list comes before. The newest first.
fn heads(found: &[ListPage], kind: Kind) -> Vec<PageRef> {
    let of_kind = || found.iter().filter(|page| page.kind == kind);
    let followers: HashSet<PageRef> = of_kind().map(|page| page.next).collect();
    let mut heads: Vec<PageRef> = of_kind().map(|page| page.page).filter(|page| !followers.contains(page)).collect();
    heads.sort_unstable_by_key(|head| std::cmp::Reverse(head.birth));
    heads
}

/// The newest whole list of trees, if it is of a later checkpoint than the meta page. A checkpoint that did not come to its
/// meta page is as good, if its pages are there: what it is of was durable in the log.
fn newer_directory(source: &mut Source<'_>, found: &[ListPage], meta: Option<&Meta>) -> Option<FoundDirectory> {
    let mut newest = None;
    for first in heads(found, Kind::Directory) {
        let Some(bytes) = read_chain(source, Kind::Directory, first, &mut Vec::new()) else { continue };
        let mut rest = bytes.as_slice();
        let Some((trees, _)) = decode_directory(&mut rest, 0) else { continue };
        let copies = after_directory(rest);
        if let Some(meta) = meta {
            let is_newer = copies.as_ref().is_some_and(|copies| copies.meta.checkpoint > meta.checkpoint);
            if !is_newer {
                return None;
            }
        }
        let mut is_there = |root: PageRef| root.is_none() || source.page_of(root, &[Kind::Leaf, Kind::Inner]).is_ok();
        let is_whole = trees.entries().iter().all(|entry| is_there(entry.root));
        let directory = FoundDirectory { first, trees, copies };
        if is_whole {
            return Some(directory);
        }
        newest = newest.or(Some(directory));
    }
    newest.filter(|_| meta.is_none())
}

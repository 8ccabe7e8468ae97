//! The pages that one owner (a private tree, or the latest state between two versions) has made and that no version
//! holds yet.
//!
//! Such a page is free at once when its owner replaces it, or a transaction that changes much more than the cache holds
//! would make the file grow by every generation of its pages. One that a savepoint or a cursor still sees waits until
//! they are gone. Each page's own record says where in the list it stands.
//!
//! What must hold: a savepoint remembers lengths of these lists; what it sees was born before it, so nothing before
//! those lengths is removed while it lives.

use super::cache::Pages;
use crate::PageRef;
use crate::sync::Ordering;

/// A list of pages; those at its front were given to eviction.
#[derive(Debug, Default)]
pub(crate) struct Created {
    ids: Vec<u32>,
    /// `ids` up to here were given to eviction.
    evictable: usize,
    /// A transaction's first stamp: what was born before is not its own. `None`: nothing waits.
    began: Option<u64>,
    /// Replaced, but still seen by a savepoint or a cursor.
    waiting: Vec<PageRef>,
    /// The newest stamp that kept one of them since they were looked through.
    waits_for: u64,
    /// How many have to wait before they are looked through again.
    look_at: usize,
    /// The owner frees pages: he may take ids that are kept for that.
    pub(crate) frees: bool,
}

impl Created {
    /// For a transaction whose first stamp this is.
    pub(crate) fn of_transaction(began: u64) -> Created {
        Created { began: Some(began), ..Created::default() }
    }

    pub(crate) fn push(&mut self, pages: &Pages, id: u32) {
        self.ids.push(id);
        self.note_place(pages, self.ids.len() - 1);
    }

    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.waiting.clear();
        self.evictable = 0;
    }

    /// Takes over another owner's pages; those that waited are `dead` now. (The pages' records keep their old places;
    /// such pages are not freed at once.)
    pub(crate) fn append(&mut self, other: &mut Created, dead: &mut Vec<u32>) {
        self.ids.append(&mut other.ids);
        dead.extend(other.waiting.drain(..).map(|page| page.id));
        other.evictable = 0;
    }

    /// How many were not given to eviction yet.
    pub(crate) fn kept(&self) -> usize {
        self.ids.len() - self.evictable
    }

    /// Gives all to eviction; the owner has sealed them.
    pub(crate) fn allow_eviction(&mut self, pages: &Pages) {
        pages.allow_eviction(&self.ids[self.evictable..]);
        self.evictable = self.ids.len();
    }

    /// The owner has replaced a page. False if it is not the owner's own: it is dead then, but others may see it.
    ///
    /// `seen_before`: pages born before this are seen by somebody else.
    pub(crate) fn let_go(&mut self, pages: &Pages, page: PageRef, seen_before: u64) -> bool {
        if page.birth >= seen_before {
            return self.free(pages, page.id);
        }
        let waits = self.began.is_some_and(|began| page.birth >= began) && self.place(pages, page.id).is_some();
        if waits {
            self.waiting.push(page);
            self.waits_for = self.waits_for.max(seen_before);
        }
        waits
    }

    /// Frees pages that nobody sees any more. Cheap to call often.
    pub(crate) fn free_waiting(&mut self, pages: &Pages, seen_before: u64) {
        if self.waiting.len() <= self.look_at || seen_before >= self.waits_for {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|page| page.birth < seen_before || !self.free(pages, page.id));
        // Those that stay are looked at again when a quarter more are there.
        self.look_at = waiting.len() + waiting.len() / 4 + 64;
        self.waits_for = seen_before;
        self.waiting = waiting;
    }

    /// Where in the list a page is.
    fn place(&self, pages: &Pages, id: u32) -> Option<usize> {
        let at = pages.info.at(id).next.load(Ordering::Relaxed) as usize;
        (self.ids.get(at) == Some(&id)).then_some(at)
    }

    /// Frees a page of the list that nobody but its owner sees; false if it is not in the list.
    pub(crate) fn free(&mut self, pages: &Pages, id: u32) -> bool {
        let Some(at) = self.place(pages, id) else { return false };
        self.remove(pages, at);
        pages.free_private(&[id]);
        true
    }

    /// Frees the pages from this place on.
    pub(crate) fn free_from(&mut self, pages: &Pages, at: usize) {
        let waiting = if at == 0 { 0 } else { self.waiting.len() };
        pages.free_private(&self.cut(at, waiting));
    }

    /// Goes back to earlier lengths: takes the pages from there on out of the list, and those that have waited since
    /// are the owner's again.
    pub(crate) fn cut(&mut self, at: usize, waiting: usize) -> Vec<u32> {
        self.evictable = self.evictable.min(at);
        self.waiting.truncate(waiting);
        self.ids.split_off(at)
    }

    /// The gap is closed by the last of its part, and that of the front part by the last of all.
    fn remove(&mut self, pages: &Pages, mut at: usize) {
        if at < self.evictable {
            self.evictable -= 1;
            self.shift(pages, self.evictable, at);
            at = self.evictable;
        }
        self.shift(pages, self.ids.len() - 1, at);
        self.ids.pop();
    }

    fn shift(&mut self, pages: &Pages, from: usize, to: usize) {
        self.ids[to] = self.ids[from];
        self.note_place(pages, to);
    }

    fn note_place(&self, pages: &Pages, at: usize) {
        pages.info.at(self.ids[at]).next.store(at as u32, Ordering::Relaxed);
    }
}

//! Trees and long values that left: they leave the newest version at once, and their pages are freed one by one, in the
//! background.
//!
//! What must hold: a checkpoint names what is still to be freed of what its version dropped, and a recovery from it
//! begins again there. So children are freed before their parents, and a walk enters no page that is free already.

use super::shared::{Dropped, Engine};
use super::writer::Changes;
use crate::page::{Owner, PAGES_ONLY, PageRef};
use crate::{Error, Result};

impl Engine {
    /// Notes pages that left the newest version all at once; the background frees them one by one.
    pub(crate) fn drop_later(&self, version: u64, changes: &Changes) {
        let mut drops = self.drops.lock();
        drops.extend(changes.drops.iter().map(|&first| Dropped { first, is_tree: true, version }));
        drops.extend(changes.chains.iter().map(|&first| Dropped { first, is_tree: false, version }));
        drop(drops);
        self.signals.raise(super::signals::Signal::House);
    }

    /// Buries the pages of what was dropped: children first, so that after a crash in between a second walk from the
    /// same root finds all that the first did not get to.
    pub(crate) fn work_off_drops(&self) -> Result<()> {
        let _one = self.freeing.lock();
        loop {
            let Some(dropped) = self.drops.lock().front().copied() else { return Ok(()) };
            let slot = self.pages.slots.claim(Owner::Engine, PAGES_ONLY)?;
            let mut ids = Vec::new();
            let result = self.walk_dropped(slot, dropped, &mut ids);
            self.pages.slots.release(slot);
            result?;
            self.pages.bury_dropped(dropped.version, &ids);
            self.drops.lock().pop_front();
        }
    }

    fn walk_dropped(&self, slot: crate::page::SlotId, dropped: Dropped, ids: &mut Vec<u32>) -> Result<()> {
        let mut visit = |visit: crate::tree::Visit<'_>| {
            ids.push(visit.page.id);
            if ids.len() >= 1024 {
                self.pages.bury_dropped(dropped.version, ids);
                ids.clear();
            }
            Ok(true)
        };
        // What a walk before a crash freed is passed by, with all below it. A damaged page stays allocated, which harms
        // nobody; one that cannot be read now may be readable later.
        let enter = |page: PageRef| self.pages.can_bury(page.id, dropped.version);
        let mut broken = |_, error| match error {
            Error::Corrupt { .. } => Ok(()),
            error => Err(error),
        };
        match dropped.is_tree {
            true => crate::tree::walk(&self.pages, slot, dropped.first, &enter, &mut visit, &mut broken),
            false => crate::tree::chain(&self.pages, slot, u64::MAX, dropped.first, &enter, &mut visit, &mut broken),
        }
        .map(drop)
    }
}

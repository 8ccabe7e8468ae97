//! Trees and long values that left: they leave the newest version at once, and their pages are freed one by one, in the
//! background.
//!
//! What must hold: a checkpoint names what is still to be freed of what its version dropped, and a recovery from it
//! begins again there. So children are freed before their parents, and a walk enters no page that is free already.

use std::time::Duration;

use super::shared::{Dropped, Engine};
use super::turns::GivesUp;
use super::writer::Changes;
use crate::page::{Owner, PAGES_ONLY, PageRef};
use crate::sync::MutexGuard;
use crate::{Error, Result};

/// How often who waits until another has freed what was dropped looks whether he may still wait.
const LOOK: Duration = Duration::from_millis(1);

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
        self.work_off_drops_for(None)
    }

    /// As `work_off_drops`, for who may give up: what he leaves is begun again by who comes next.
    pub(crate) fn work_off_drops_for(&self, gives_up: GivesUp<'_>) -> Result<()> {
        let _one = self.lock_freeing(gives_up)?;
        loop {
            let Some(dropped) = self.drops.lock().front().copied() else { return Ok(()) };
            let slot = self.pages.slots.claim(Owner::Engine, PAGES_ONLY)?;
            let mut ids = Vec::new();
            let result = self.walk_dropped(slot, dropped, &mut ids, gives_up);
            self.pages.slots.release(slot);
            result?;
            self.pages.bury_dropped(dropped.version, &ids);
            self.drops.lock().pop_front();
        }
    }

    fn lock_freeing(&self, gives_up: GivesUp<'_>) -> Result<MutexGuard<'_, ()>> {
        if gives_up.is_none() {
            return Ok(self.freeing.lock());
        }
        loop {
            match self.freeing.lock_at_once() {
                Some(one) => return Ok(one),
                None => check_patience(gives_up)?,
            }
            self.env.host.sleep(LOOK);
        }
    }

    fn walk_dropped(
        &self,
        slot: crate::page::SlotId,
        dropped: Dropped,
        ids: &mut Vec<u32>,
        gives_up: GivesUp<'_>,
    ) -> Result<()> {
        let mut visit = |visit: crate::tree::Visit<'_>| {
            check_patience(gives_up)?;
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

fn check_patience(gives_up: GivesUp<'_>) -> Result<()> {
    match gives_up.is_some_and(|gives_up| gives_up()) {
        true => Err(Error::GivenUp),
        false => Ok(()),
    }
}

//! Bringing pages from the file into memory.
//!
//! What must hold:
//! - Bytes are checked before anybody sees them under a page's id.
//! - Who loads may have no hold on the page: its id may be another page's when the bytes arrive. They do not stay then.

use super::cache::Pages;
use super::frames::{DIRTY, FIXED, Frame, WRITING};
use super::layout;
use crate::broken::{self, Broken};
use crate::io::AlignedBuf;
use crate::sync::{AtomicU32, Ordering};
use crate::{Error, PageRef, Result, Wait};

impl Pages {
    pub(super) fn renewals(&self, id: u32) -> &AtomicU32 {
        &self.renewals[id as usize % self.renewals.len()]
    }

    /// Brings a page into memory. The caller must not be pinned: making room may have to wait for readers.
    ///
    /// The caller's version may be gone by now (it let go of the commit lock, or its snapshot was ended), and the id
    /// another page's, which was written out and evicted while the old bytes were on their way: they must not stay under
    /// the new page's id. Who meets them there comes here, and waits.
    #[cold]
    pub(crate) fn load(&self, page: PageRef) -> Result<()> {
        if page.is_none() || !self.is_known(page.id) {
            return Err(Error::corrupt(format!("reference to page {}, which can not exist", page.id)));
        }
        let _one = self.loading[page.id as usize % self.loading.len()].lock();
        // Who reads ahead does not wait for others: the page may have come meanwhile, and may even have gone again.
        while !self.is_loaded(page)? {}
        Ok(())
    }

    /// Whether the page is in memory now; if not, it has to be tried again.
    fn is_loaded(&self, page: PageRef) -> Result<bool> {
        let renewals = self.renewals(page.id).load(Ordering::SeqCst);
        let entry = self.frames.address_of(page.id);
        if entry != 0 {
            return match self.frames.identity_at(entry) == page {
                true => Ok(true),
                false => self.drop_late(page).map(|()| false),
            };
        }
        self.counters.page_misses.add(1);
        let mut frame = self.take_frame()?;
        if let Err(error) = self.read(page, self.bytes_of(&mut frame)) {
            self.give_back(frame);
            return Err(error);
        }
        self.enter(page, frame, renewals, 0)
    }

    /// Makes room for a page whose id another's bytes stand under: who read ahead, for whom nobody waits, may have brought
    /// them there after the id had become this page's, and not have noticed yet. Damage only if the file says so too.
    #[cold]
    fn drop_late(&self, page: PageRef) -> Result<()> {
        let Some(place) = self.frames.find(page.id) else { return Ok(()) };
        let found = self.frames.identity_at(self.frames.memory.address(place.frame));
        // Without a pin, the frame may have become another page's since the entry was looked at.
        let is_still_there = || self.frames.find(page.id).is_some_and(|now| now.is_same_use(place));
        if found == page || !is_still_there() {
            return Ok(());
        }
        // What was made here is no late bytes.
        let is_own = place.state.any(DIRTY | FIXED | WRITING) || broken::is(Broken::LateBytes);
        if is_own || self.read(page, &mut AlignedBuf::zeroed(self.page_size())).is_err() {
            return if is_still_there() { Err(misplaced(page, found)) } else { Ok(()) };
        }
        // Nothing refers to the page that was there, so nobody looks at its frame.
        self.frames.take(page.id, place).into_iter().for_each(|late| self.give_back(late));
        Ok(())
    }

    /// A frame's bytes, to be read over. They are not cleared where they were a page's before, for clearing a page costs
    /// a quarter of what reading it from memory does.
    pub(super) fn bytes_of<'f>(&self, frame: &'f mut Frame) -> &'f mut [u8] {
        let address = self.frames.memory.address(frame.index());
        let is_initialised = self.frames.was_given(frame);
        // SAFETY: the frame is its owner's alone, who lends it here; its bytes are initialised here, or were for the
        // page that had it.
        unsafe {
            if !is_initialised {
                self.frames.memory.clear_or_copy(address, None);
            }
            self.frames.memory.page_mut(address)
        }
    }

    /// Takes back a frame that is no page's.
    pub(super) fn give_back(&self, frame: Frame) {
        self.supply.lock().frames.push(frame);
    }

    /// Shows everybody a page that was read into a frame, and how it is to stand in the table: `mark`. `renewals`: as
    /// counted before the page was seen to be missing. False: something else is there by now.
    pub(super) fn enter(&self, page: PageRef, frame: Frame, renewals: u32, mark: u64) -> Result<bool> {
        let address = self.frames.memory.address(frame.index());
        if let Err(frame) = self.frames.give(frame, page.id, 0, mark) {
            self.give_back(frame);
            return Ok(false);
        }
        self.ghosts.iter().for_each(|ghosts| ghosts.look(page.id));
        match self.renewals(page.id).load(Ordering::SeqCst) == renewals || broken::is(Broken::LateBytes) {
            true => Ok(true),
            false => self.check_again(page, address).map(|()| true),
        }
    }

    /// Makes sure that the file still has the page that was just read from it and brought to `address`.
    #[cold]
    fn check_again(&self, page: PageRef, address: u64) -> Result<()> {
        let mut bytes = AlignedBuf::zeroed(self.page_size());
        self.read(page, &mut bytes).inspect_err(|_| {
            // It may have been evicted by now, and its frame given to the id's new page. Nothing refers to the old page,
            // so nobody looks at its frame.
            while let Some(place) = self.frames.find(page.id)
                && self.frames.memory.address(place.frame) == address
                && self.frames.identity_at(address) == page
            {
                if let Some(frame) = self.frames.take(page.id, place) {
                    self.give_back(frame);
                }
            }
        })
    }

    /// Reads a page from the file and checks it.
    pub(crate) fn read(&self, page: PageRef, bytes: &mut [u8]) -> Result<()> {
        self.counters.pages_read.add(1);
        let read = || self.file().read_at(bytes, u64::from(page.id) * self.page_size() as u64);
        Wait::PageRead.during(read).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::corrupt(format!("page {} is beyond the end of the file", page.id))
            }
            _ => Error::io("read a page")(error),
        })?;
        self.check(page, bytes)
    }

    /// Checks a page's bytes as the file has them.
    pub(super) fn check(&self, page: PageRef, bytes: &[u8]) -> Result<()> {
        layout::check(bytes, page)?;
        match (self.is_well_formed)(bytes) {
            false => Err(Error::corrupt(format!("page {}: its entries are malformed", page.id))),
            true => Ok(()),
        }
    }
}

fn misplaced(expected: PageRef, found: PageRef) -> Error {
    Error::corrupt(format!(
        "page {}: expected birth {}, found page {} of birth {}",
        expected.id, expected.birth, found.id, found.birth
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{SlowFile, create, evict_all, few_pages};
    use super::*;

    /// A page that was freed while somebody without a hold on it was loading it, and its id given to another, which was
    /// evicted before the old bytes arrived: readers of the new page found the old one, and called that damage.
    #[test]
    fn a_page_that_arrives_late_does_not_stay_under_an_id_that_is_anothers() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = create(&pages, 1);
        evict_all(&pages);
        pages.free_private(&[old.id]);
        let shared = pages.clone();
        slow.during_next_read(move || {
            assert_eq!(create(&shared, 2).id, old.id);
            evict_all(&shared);
        });
        assert!(matches!(pages.load(old), Err(Error::Corrupt { .. })));
        pages.load(PageRef { id: old.id, birth: 2 }).unwrap();
        assert_eq!(pages.frames_free(), 63);
    }

    /// Who found out that the page it had loaded late was another's by now took the frame's newest page, which nothing
    /// had written yet, for the old one, and dropped it.
    #[test]
    fn a_page_that_arrives_late_does_not_take_a_new_page_with_it() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = create(&pages, 1);
        evict_all(&pages);
        pages.free_private(&[old.id]);
        let (first, second) = (pages.clone(), pages.clone());
        slow.during_next_read(move || {
            assert_eq!(create(&first, 2).id, old.id);
            evict_all(&first);
        });
        slow.during_next_read(move || {
            second.free_private(&[old.id]);
            assert_eq!(create(&second, 3).id, old.id);
        });
        assert!(matches!(pages.load(old), Err(Error::Corrupt { .. })));
        assert!(pages.is_dirty(old.id));
        evict_all(&pages);
        pages.load(PageRef { id: old.id, birth: 3 }).unwrap();
    }
}

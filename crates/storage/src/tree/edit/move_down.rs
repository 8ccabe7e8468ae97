//! Moving a tree's pages to lower ids, so that the file can end sooner.

use super::{Path, TreeEdit};
use crate::Result;
use crate::page::PageRef;
use crate::tree::node::Cell;
use crate::tree::overflow;
use crate::tree::read::Stop;

impl TreeEdit<'_> {
    /// Copies pages with ids at or beyond `end` (copies get the lowest free ids), leaf by leaf from the key `from`, which
    /// it advances (`None`: done), until `created` has at least `limit` pages, or until `left` leaves were looked at, also over
    /// several calls. Entries whose long values begin beyond `end` are listed in `long`.
    pub(crate) fn move_down(
        &mut self,
        end: u32,
        (limit, left): (usize, &mut usize),
        from: &mut Option<Vec<u8>>,
        long: &mut Vec<(Vec<u8>, u64, PageRef)>,
    ) -> Result<()> {
        self.scratch.forget_place();
        while let Some(key) = from.as_deref()
            && self.created.len() < limit
            && *left > 0
        {
            if self.root.is_none() {
                *from = None;
                break;
            }
            let mut path = Path::default();
            self.descend(key, &mut path)?;
            let next = self.fence(&path)?;
            let lies_beyond = |&(page, _): &(PageRef, usize)| page.id >= end && page.birth != self.stamp;
            if path.steps[..path.depth].iter().any(lies_beyond) {
                self.own_path(&mut path)?;
            }
            self.note_long(path.steps[path.leaf()].0, end, long)?;
            *from = next;
            *left -= 1;
        }
        Ok(())
    }

    /// The separator to the right of the path: where the next leaf begins.
    fn fence(&self, path: &Path) -> Result<Option<Vec<u8>>, Stop> {
        for &(page, child) in path.steps[..path.leaf()].iter().rev() {
            let node = self.node(page)?;
            if child < node.count() {
                let mut key = Vec::new();
                node.key_into(child, &mut key);
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn note_long(&self, leaf: PageRef, end: u32, long: &mut Vec<(Vec<u8>, u64, PageRef)>) -> Result<(), Stop> {
        let node = self.node(leaf)?;
        for i in 0..node.count() {
            let (Cell::Overflow(reference), _) = node.cell(i) else { continue };
            let (length, first) = overflow::parse(reference);
            if first.id >= end {
                let mut key = Vec::new();
                node.key_into(i, &mut key);
                long.push((key, length, first));
            }
        }
        Ok(())
    }
}

//! The damaged file: what of its pages is whole.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::reasons::Fault;
use crate::engine::copies::{ListCopies, decode_lists};
use crate::engine::meta::{META_BYTES, Meta, MetaPage, newer_format};
use crate::env::Environment;
use crate::io::{AlignedBuf, BLOCK, Create, File, OpenHow, SyncMethod};
use crate::page::PageRef;
use crate::page::layout::{self, Kind};
use crate::tree::node::Node;
use crate::{Error, Result};

/// Pages looked at to find out how large pages are, where no meta page says it.
const PROBED: u64 = 4096;

/// More pages than a database has: what a damaged file says of its end beyond this is not believed.
pub(super) const PAGES_MAX: u32 = 1 << 26;

/// Pages between two reports of progress.
const STRIDE: u64 = 256;

/// A meta page that is whole.
#[derive(Debug)]
pub(super) struct FoundMeta {
    pub(super) meta: Meta,
    pub(super) lists: ListCopies,
}

/// The damaged file.
pub(super) struct Source<'a> {
    file: Arc<dyn File>,
    pub(super) page_size: usize,
    /// Whole pages, damaged or not.
    pub(super) pages: u32,
    progress: &'a mut dyn FnMut(u64, u64),
    read: u64,
}

impl<'a> Source<'a> {
    /// Opens the file for reading, and finds its meta pages that are whole.
    pub(super) fn open(
        path: &Path,
        env: &Environment,
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Result<(Source<'a>, Vec<FoundMeta>)> {
        let how = OpenHow { create: Create::Never, read_only: true, direct: false };
        let error = |error| Error::CannotOpen { path: path.to_path_buf(), error: Arc::new(error) };
        let file = env.files.open(path, how).map_err(error)?;
        let length = file.len().map_err(Error::io("read the file's length"))?;
        let mut metas = Vec::new();
        let mut is_database = false;
        for at in std::iter::once(0).chain((9..=15).map(|bits| 1 << bits)) {
            let mut bytes = [0; META_BYTES];
            if file.read_at(&mut bytes, at).is_err() {
                continue;
            }
            match Meta::decode(&bytes) {
                MetaPage::Whole(meta) if at == 0 || at == u64::from(meta.page_size) => {
                    metas.push(with_lists(file.as_ref(), at, *meta));
                }
                MetaPage::Newer(found) => return Err(newer_format(found)),
                MetaPage::Damaged => is_database = true,
                _ => {}
            }
        }
        // A page size that only one of two says: the other is no meta page, but bytes that look like one.
        let size = metas.first().map(|found| found.meta.page_size as usize).or_else(|| probe(file.as_ref(), length));
        let Some(page_size) = size else {
            return Err(match is_database {
                true => Error::corrupt("no page of the file is whole"),
                false => Error::NotADatabase { path: path.to_path_buf() },
            });
        };
        metas.retain(|found| found.meta.page_size as usize == page_size);
        let pages = (length / page_size as u64).min(u64::from(u32::MAX)) as u32;
        Ok((Source { file, page_size, pages, progress, read: 0 }, metas))
    }

    /// The bytes of a page that is whole; otherwise what is wrong with it.
    pub(super) fn page(&mut self, id: u32) -> Result<AlignedBuf, Fault> {
        self.read += 1;
        if self.read.is_multiple_of(STRIDE) {
            (self.progress)(self.read, self.pages.into());
        }
        if id < 2 || id >= self.pages {
            return Err(Fault::of(id, "lies behind the file's end"));
        }
        let mut bytes = AlignedBuf::zeroed(self.page_size);
        let read = self.file.read_at(&mut bytes, u64::from(id) * self.page_size as u64);
        read.map_err(|error| Fault::of(id, format!("can not be read: {error}")))?;
        match layout::checksum_ok(&bytes) && layout::identity(&bytes).id == id {
            true => Ok(bytes),
            false => Err(Fault::of(id, "is damaged")),
        }
    }

    /// The bytes of the page meant.
    pub(super) fn page_of(&mut self, page: PageRef, kinds: &[Kind]) -> Result<AlignedBuf, Fault> {
        let bytes = self.page(page.id)?;
        let is_meant = layout::identity(&bytes) == page && Kind::of(&bytes).is_some_and(|kind| kinds.contains(&kind));
        is_meant.then_some(bytes).ok_or_else(|| Fault::of(page.id, "was overwritten"))
    }

    /// The bytes of a tree's page, if it is sound.
    pub(super) fn node(&mut self, page: PageRef, tree: u32) -> Result<AlignedBuf, Fault> {
        let bytes = self.page_of(page, &[Kind::Leaf, Kind::Inner])?;
        match is_node_of(&bytes, tree) {
            true => Ok(bytes),
            false => Err(Fault::of(page.id, "is malformed")),
        }
    }
}

pub(super) fn is_node_of(bytes: &[u8], tree: u32) -> bool {
    matches!(Kind::of(bytes), Some(Kind::Leaf | Kind::Inner)) && layout::tree_of(bytes) == tree && Node::is_valid(bytes)
}

fn with_lists(file: &dyn File, at: u64, meta: Meta) -> FoundMeta {
    let mut rest = vec![0; meta.page_size as usize - META_BYTES];
    let read = file.read_at(&mut rest, at + META_BYTES as u64);
    let lists = read.ok().and_then(|()| decode_lists(meta.checkpoint, &rest)).unwrap_or_default();
    FoundMeta { meta, lists }
}

/// The size for which most of the file's first pages are whole.
fn probe(file: &dyn File, length: u64) -> Option<usize> {
    let whole = |size: &usize| {
        let mut bytes = AlignedBuf::zeroed(*size);
        let is_whole = |id: &u64| {
            let read = file.read_at(&mut bytes, id * *size as u64).is_ok();
            read && layout::checksum_ok(&bytes) && u64::from(layout::identity(&bytes).id) == *id
        };
        (2..(length / *size as u64).min(PROBED)).filter(is_whole).count()
    };
    let counts = (9..=15).map(|bits| 1 << bits).map(|size| (whole(&size), size));
    counts.max().filter(|(count, _)| *count > 0).map(|(_, size)| size)
}

/// A set of pages, a bit each.
#[derive(Debug)]
pub(super) struct PageSet(Vec<u64>);

impl PageSet {
    pub(super) fn new(pages: u32) -> PageSet {
        PageSet(vec![0; (pages as usize).div_ceil(64)])
    }

    /// Whether it was not in the set. Pages that the set is too small for never are.
    pub(super) fn insert(&mut self, id: u32) -> bool {
        let Some(word) = self.0.get_mut(id as usize / 64) else { return false };
        let is_new = *word & 1 << (id % 64) == 0;
        *word |= 1 << (id % 64);
        is_new
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        self.0.get(id as usize / 64).is_some_and(|word| word & 1 << (id % 64) != 0)
    }
}

/// A log whose last segment may have been cut, and of which some blocks may not be readable: there it reads as zeroes.
#[derive(Debug)]
pub(super) struct WholeSegments {
    pub(super) file: Arc<dyn File>,
    pub(super) length: u64,
}

impl File for WholeSegments {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let there = self.file.len()?.saturating_sub(offset).min(buf.len() as u64) as usize;
        let (front, rest) = buf.split_at_mut(there);
        rest.fill(0);
        if self.file.read_at(front, offset).is_err() {
            for (i, block) in front.chunks_mut(BLOCK).enumerate() {
                if self.file.read_at(block, offset + (i * BLOCK) as u64).is_err() {
                    block.fill(0);
                }
            }
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn write_durable_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.file.sync_method()
    }

    fn choose_sync_method(&self, _: SyncMethod, _: &[u8], _: u64) -> io::Result<SyncMethod> {
        Ok(self.file.sync_method())
    }
}

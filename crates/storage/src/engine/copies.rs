//! What a checkpoint keeps twice, for salvage alone: nothing else reads it.
//!
//! - In both meta pages, behind their 512 bytes, as far as the page has room: the list of trees and the free map. So a
//!   file whose list or map is damaged, or cut off, still says which pages are live.
//! - In the chain of the list of trees, behind the list: the meta page (without what is not known yet when the list is
//!   written), and the entries of the catalog tree. So a file without meta pages still says which log belongs to it, and
//!   one whose catalog is damaged what its tables are.
//!
//! Libraries that do not know the copies read past them and write none: a file without copies is as good as any, until
//! it is damaged.

use super::lists::{next_u32, push_number};
use super::meta::{META_BYTES, Meta, MetaPage};
use super::shared::Engine;
use super::trees::TreeList;
use crate::bytes::{get_u32, put_u32};
use crate::log::format::read_varint;
use crate::page::{Owner, PAGES_ONLY, PageRef};
use crate::tree::node::Node;
use crate::tree::{Value, overflow_value, walk};
use crate::{Error, Result, TreeId};

/// A catalog is kept twice if it takes no more than one in so many of the bytes in use, or the smaller of these: the copy is
/// written at each checkpoint. It never is beyond the larger.
const CATALOG_SHARE: usize = 64;
const CATALOG_BYTES: [usize; 2] = [12 << 10, 1 << 20];

/// In front of the copies in the meta page: checksum and length.
const HEAD: usize = 8;

/// Says that copies follow the list of trees, and in which form.
const FORM: u64 = 1;

/// The catalog tree's entries, one after the other, and the root that they were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CatalogCopy {
    root: PageRef,
    bytes: Vec<u8>,
    /// Whether these are all: otherwise the catalog is too large, or can not be read, and there is no copy.
    is_whole: bool,
    /// The pages that the catalog itself lies in, ascending, if it was read by this process.
    pages: Vec<u32>,
    /// How many bytes it was to take at most when it was read last; 0: it was not, or could not be.
    limit: usize,
}

/// What the chain of the list of trees holds behind the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DirectoryCopies {
    /// Without the places of the lists, and the end of pages.
    pub(crate) meta: Meta,
    pub(crate) catalog: CatalogCopy,
}

/// A list of trees and a free map as their chains hold them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ListCopies {
    pub(crate) directory: Option<Vec<u8>>,
    pub(crate) free_map: Option<Vec<u8>>,
}

impl CatalogCopy {
    /// Whether it is of this catalog.
    pub(crate) fn is_of(&self, root: PageRef) -> bool {
        self.is_whole && self.root == root
    }

    /// The pages that the catalog itself lies in, ascending; none if they are not known.
    pub(super) fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// Calls `each` with every entry.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = self.bytes.as_slice();
        while let (Some(key), Some(value)) = (next_slice(&mut bytes), next_slice(&mut bytes)) {
            each(key, value)?;
        }
        Ok(())
    }

    /// Adds an entry; false where the copy becomes too large.
    fn push(&mut self, key: &[u8], value: &[u8], limit: usize) -> bool {
        push_slice(&mut self.bytes, key);
        push_slice(&mut self.bytes, value);
        self.bytes.len() <= limit
    }
}

fn push_slice(out: &mut Vec<u8>, slice: &[u8]) {
    push_number(out, slice.len() as u64);
    out.extend_from_slice(slice);
}

fn next_slice<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_varint(bytes)?).ok()?;
    let (slice, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(slice)
}

/// Appends the copies to a list of trees.
pub(crate) fn append_to_directory(out: &mut Vec<u8>, meta: &Meta, catalog: &CatalogCopy) {
    push_number(out, FORM);
    let mut page = [0; META_BYTES];
    meta.encode(&mut page);
    out.extend_from_slice(&page);
    push_number(out, catalog.is_whole.into());
    push_number(out, catalog.root.id.into());
    push_number(out, catalog.root.birth);
    push_slice(out, if catalog.is_whole { &catalog.bytes } else { &[] });
}

/// Reads what follows a list of trees; `None` if nothing does, or nothing known.
pub(crate) fn after_directory(mut bytes: &[u8]) -> Option<DirectoryCopies> {
    let bytes = &mut bytes;
    if read_varint(bytes)? != FORM {
        return None;
    }
    let (page, rest) = bytes.split_at_checked(META_BYTES)?;
    *bytes = rest;
    let MetaPage::Whole(meta) = Meta::decode(page) else { return None };
    let is_whole = read_varint(bytes)? == 1;
    let root = PageRef { id: next_u32(bytes)?, birth: read_varint(bytes)? };
    let bytes = next_slice(bytes)?.to_vec();
    Some(DirectoryCopies { meta: *meta, catalog: CatalogCopy { root, bytes, is_whole, ..CatalogCopy::default() } })
}

/// What a meta page of checkpoint `number` holds behind its own bytes: each list, if there is `room` for it.
pub(crate) fn encode_lists(number: u64, directory: &[u8], free_map: &[u8], room: usize) -> Vec<u8> {
    let mut out = vec![0; HEAD];
    push_number(&mut out, number);
    for list in [directory, free_map] {
        // A length takes ten bytes at most; that the other list is missing takes one.
        match out.len() + list.len() + 11 <= room {
            true => {
                push_number(&mut out, list.len() as u64 + 1);
                out.extend_from_slice(list);
            }
            false => push_number(&mut out, 0),
        }
    }
    let length = (out.len() - HEAD) as u32;
    put_u32(&mut out, 4, length);
    let crc = crc32c::crc32c(&out[4..]);
    put_u32(&mut out, 0, crc);
    if out.len() <= room { out } else { Vec::new() }
}

/// Reads what a meta page of checkpoint `number` holds behind its own bytes.
pub(crate) fn decode_lists(number: u64, bytes: &[u8]) -> Option<ListCopies> {
    let length = get_u32(bytes.get(..HEAD)?, 4) as usize;
    let bytes = bytes.get(..HEAD.checked_add(length)?)?;
    if get_u32(bytes, 0) != crc32c::crc32c(&bytes[4..]) {
        return None;
    }
    let bytes = &mut &bytes[HEAD..];
    if read_varint(bytes)? != number {
        return None;
    }
    Some(ListCopies { directory: next_list(bytes)?, free_map: next_list(bytes)? })
}

fn next_list(bytes: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    let Some(length) = usize::try_from(read_varint(bytes)?).ok()?.checked_sub(1) else { return Some(None) };
    let (list, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Some(list.to_vec()))
}

impl Engine {
    /// The catalog of a version that is held, read again only if it is another than the last copy's, or if that is none and
    /// one may be larger now. A checkpoint does not fail for one that can not be read.
    pub(super) fn copy_catalog(&self, trees: &TreeList, last: &CatalogCopy) -> CatalogCopy {
        let root = trees.root(TreeId::CATALOG).unwrap_or(PageRef::NONE);
        let (end, free) = self.pages.page_counts();
        let in_use = (end.saturating_sub(free)) as usize * self.pages.page_size();
        let limit = (in_use / CATALOG_SHARE).clamp(CATALOG_BYTES[0], CATALOG_BYTES[1]);
        // The copy that an opening finds does not say where the catalog lies.
        let is_known = last.is_whole && !last.pages.is_empty();
        if root == last.root && (is_known || last.limit >= limit || root.is_none()) {
            return last.clone();
        }
        let mut copy = CatalogCopy { root, ..CatalogCopy::default() };
        let read = self.read_catalog(&mut copy, limit);
        copy.limit = if read.is_ok() { limit } else { 0 };
        copy.is_whole = read.unwrap_or(false);
        copy.pages.sort_unstable();
        if root == last.root && last.is_whole {
            // Where pages of the catalog are damaged, this is all that is left of them.
            return CatalogCopy { pages: copy.pages, ..last.clone() };
        }
        if !copy.is_whole {
            copy.bytes = Vec::new();
        }
        copy
    }

    fn read_catalog(&self, copy: &mut CatalogCopy, limit: usize) -> Result<bool> {
        let slot = self.pages.slots.claim(Owner::Engine, PAGES_ONLY)?;
        let (mut key, mut long) = (Vec::new(), Vec::new());
        let result = walk(
            &self.pages,
            slot,
            copy.root,
            &mut |visit| {
                copy.pages.push(visit.page.id);
                if visit.fences.is_none() || Node::new(visit.bytes).is_inner() {
                    return Ok(true);
                }
                let node = Node::new(visit.bytes);
                for i in 0..node.count() {
                    node.key_into(i, &mut key);
                    let fits = match node.cell(i).0.into() {
                        Value::Inline(value) => copy.push(&key, value, limit),
                        Value::Long(length, _) if length > limit as u64 => false,
                        Value::Long(length, first) => {
                            overflow_value(&self.pages, slot, length, first, &mut long)?;
                            copy.push(&key, &long, limit)
                        }
                    };
                    if !fits {
                        return Ok(false);
                    }
                }
                Ok(true)
            },
            &mut |_, error| Err::<(), Error>(error),
        );
        self.pages.slots.release(slot);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_from_the_meta_page_as_far_as_there_was_room() {
        let (directory, free_map) = (vec![1; 300], vec![2; 500]);
        for (room, has) in [(2000, [true, true]), (600, [true, false]), (200, [false, false])] {
            let bytes = encode_lists(7, &directory, &free_map, room);
            assert!(bytes.len() <= room);
            let lists = decode_lists(7, &bytes).unwrap();
            assert_eq!(lists.directory, has[0].then(|| directory.clone()), "{room}");
            assert_eq!(lists.free_map, has[1].then(|| free_map.clone()), "{room}");
            assert_eq!(decode_lists(8, &bytes), None, "of another checkpoint");
        }
        assert_eq!(encode_lists(7, &directory, &free_map, 0), []);
        assert_eq!(decode_lists(7, &[]), None);
    }

    /// A catalog that was too large for the database when it was made was never kept twice: it was looked at again only
    /// when it changed.
    #[test]
    fn a_catalog_is_kept_twice_once_the_database_is_large_enough() {
        let store = crate::Store::open_in_memory(crate::Options::default()).unwrap();
        let put = |tree, keys: std::ops::Range<u32>, length| {
            let transaction = store.begin().unwrap();
            keys.for_each(|key| transaction.put(tree, &key.to_be_bytes(), &vec![7; length]).unwrap());
            transaction.commit(None).unwrap();
            store.checkpoint().unwrap();
        };
        let is_kept = || store.engine().checkpoint.lock().catalog.is_whole;
        let transaction = store.begin().unwrap();
        let table = transaction.create_tree().unwrap();
        transaction.commit(None).unwrap();
        put(TreeId::CATALOG, 0..200, 100);
        assert!(!is_kept());
        put(table, 0..2000, 1000);
        assert!(is_kept());
    }

    #[test]
    fn every_flipped_bit_of_the_lists_is_noticed() {
        let mut bytes = encode_lists(7, &[1; 30], &[2; 50], 1000);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_lists(7, &bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

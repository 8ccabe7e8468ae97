//! The bytes of a checkpoint's lists, of trees and of free pages: numbers in LEB128, in chains of pages laid out like long
//! values. (`docs/format.md`)

use super::shared::Dropped;
use super::trees::TreeList;
use crate::bytes::{get_u16, put_u16};
use crate::io::AlignedBuf;
use crate::log::format::{read_varint, varint_into};
use crate::page::layout::{self, HEADER, Kind};
use crate::page::{PageRef, Pages};
use crate::{Error, Result, TreeId};

const NEXT: usize = HEADER;
const LENGTH: usize = NEXT + PageRef::BYTES;
const DATA: usize = LENGTH + 4;

/// How many pages so many bytes take.
pub(super) fn pieces(bytes: usize, page_size: usize) -> usize {
    bytes.div_ceil(page_size - DATA).max(1)
}

pub(super) fn push_number(out: &mut Vec<u8>, n: u64) {
    let mut bytes = [0; 10];
    let length = varint_into(&mut bytes, n);
    out.extend_from_slice(&bytes[..length]);
}

pub(super) fn encode_directory(trees: &TreeList, drops: &[Dropped]) -> Vec<u8> {
    let mut out = Vec::new();
    push_number(&mut out, trees.entries().len() as u64);
    for entry in trees.entries() {
        [entry.id.0 as u64, entry.root.id as u64, entry.root.birth].iter().for_each(|&n| push_number(&mut out, n));
    }
    push_number(&mut out, drops.len() as u64);
    for dropped in drops {
        let numbers = [dropped.is_tree as u64, dropped.first.id as u64, dropped.first.birth];
        numbers.iter().for_each(|&n| push_number(&mut out, n));
    }
    out
}

pub(super) fn encode_runs(runs: &[(u32, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    push_number(&mut out, runs.len() as u64);
    let mut behind = 0;
    for &(first, length) in runs {
        push_number(&mut out, (first - behind) as u64);
        push_number(&mut out, length as u64);
        behind = first + length;
    }
    out
}

/// Writes bytes over the pages given, all of which become part of the chain.
pub(super) fn write_chain(pages: &Pages, kind: Kind, birth: u64, ids: &[u32], bytes: &[u8]) -> Result<PageRef> {
    let size = pages.page_size();
    let mut page = AlignedBuf::zeroed(size);
    let mut next = PageRef::NONE;
    for (i, &id) in ids.iter().enumerate().rev() {
        let from = (i * (size - DATA)).min(bytes.len());
        let piece = &bytes[from..(from + size - DATA).min(bytes.len())];
        let this = PageRef { id, birth };
        page.fill(0);
        layout::format(&mut page, kind, 0, 0, this);
        page[NEXT..LENGTH].copy_from_slice(&next.to_bytes());
        put_u16(&mut page, LENGTH, piece.len() as u16);
        page[DATA..DATA + piece.len()].copy_from_slice(piece);
        layout::seal_checksum(&mut page);
        pages.file().write_at(&page, id as u64 * size as u64).map_err(Error::io("write a checkpoint's list"))?;
        next = this;
    }
    pages.counters.pages_written.add(ids.len() as u64);
    Ok(next)
}

/// A chain page's piece, and the page that follows; `None` if it is malformed.
pub(crate) fn chain_piece(page: &[u8]) -> Option<(&[u8], PageRef)> {
    let piece = page.get(DATA..DATA + get_u16(page, LENGTH) as usize)?;
    Some((piece, PageRef::read(&page[NEXT..])))
}

/// Reads a chain: its bytes, and its pages.
pub(crate) fn read_chain(pages: &Pages, kind: Kind, first: PageRef) -> Result<(Vec<u8>, Vec<u32>)> {
    let (mut bytes, mut ids) = (Vec::new(), Vec::new());
    let mut page = AlignedBuf::zeroed(pages.page_size());
    let mut at = first;
    // A chain that comes back to a page of its own has no end: it meets the page noted last, which is moved on each time
    // the chain turns out to be twice as long.
    let mut noted = PageRef::NONE;
    while !at.is_none() {
        pages.read(at, &mut page)?;
        let piece = chain_piece(&page).filter(|_| Kind::of(&page) == Some(kind) && at != noted);
        let Some((piece, next)) = piece else {
            return Err(Error::corrupt(format!("page {} is not part of the checkpoint's lists", at.id)));
        };
        bytes.extend_from_slice(piece);
        ids.push(at.id);
        if ids.len().is_power_of_two() {
            noted = at;
        }
        at = next;
    }
    Ok((bytes, ids))
}

pub(crate) fn next_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(read_varint(bytes)?).ok()
}

fn next_page(bytes: &mut &[u8]) -> Option<PageRef> {
    Some(PageRef { id: next_u32(bytes)?, birth: read_varint(bytes)? })
}

/// Takes a list of trees, and of what was dropped but not yet freed, off the front of `bytes`.
pub(crate) fn decode_directory(bytes: &mut &[u8], version: u64) -> Option<(TreeList, Vec<Dropped>)> {
    let mut trees = TreeList::default();
    for _ in 0..read_varint(bytes)? {
        trees.set(TreeId(next_u32(bytes)?), next_page(bytes)?);
    }
    let mut drops = Vec::new();
    for _ in 0..read_varint(bytes)? {
        let is_tree = read_varint(bytes)? == 1;
        drops.push(Dropped { first: next_page(bytes)?, is_tree, version });
    }
    Some((trees, drops))
}

/// Takes a free map off the front of `bytes`: runs of (first page, length).
pub(crate) fn decode_runs(bytes: &mut &[u8]) -> Option<Vec<(u32, u32)>> {
    let mut behind = 0u32;
    let mut runs = Vec::new();
    for _ in 0..read_varint(bytes)? {
        let first = behind.checked_add(next_u32(bytes)?)?;
        let length = next_u32(bytes)?;
        behind = first.checked_add(length)?;
        runs.push((first, length));
    }
    Some(runs)
}

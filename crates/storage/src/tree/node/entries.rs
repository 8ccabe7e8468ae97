//! How entries are shared out among pages: those that split, and those that become one.

use super::Node;
use super::layout::{
    COUNT, HEAP, PREFIX, Payload, SLOT, SUFFIX, VARIABLE, body_start, head_of, init_body, key_length_bytes, write_cell,
};
use crate::bytes::put_u16;
use crate::page::PageRef;

/// A list of entries: those of a node, before entry `at` a new one, and at the end those of its right neighbour.
pub(crate) struct Entries<'a> {
    pub(super) node: Node<'a>,
    pub(super) at: usize,
    pub(super) new: Option<(&'a [u8], Payload<'a>)>,
    pub(super) tail: Option<Node<'a>>,
}

impl<'a> Entries<'a> {
    /// With one more, before entry `at`.
    pub(crate) fn with(node: Node<'a>, at: usize, key: &'a [u8], payload: Payload<'a>) -> Entries<'a> {
        Entries { node, at, new: Some((key, payload)), tail: None }
    }

    /// Two neighbours; between those of inner pages, `separator` comes down to lead to the right one's leftmost child.
    pub(crate) fn merged(left: Node<'a>, separator: &'a [u8], right: Node<'a>) -> Entries<'a> {
        let down = left.inner.then(|| (separator, Payload::Child(right.child(0))));
        let at = if left.inner { left.count } else { usize::MAX };
        Entries { node: left, at, new: down, tail: Some(right) }
    }

    pub(crate) fn len(&self) -> usize {
        self.node.count + self.new.is_some() as usize + self.tail.map_or(0, |tail| tail.count)
    }

    /// The key in two pieces, and what comes with it.
    fn get(&self, i: usize) -> (&'a [u8], &'a [u8], Payload<'a>) {
        let old = match (self.new, i.cmp(&self.at)) {
            (Some((key, payload)), std::cmp::Ordering::Equal) => return (key, &[], payload),
            (Some(_), std::cmp::Ordering::Greater) => i - 1,
            _ => i,
        };
        let (node, old) = match self.tail {
            Some(tail) if old >= self.node.count => (tail, old - self.node.count),
            _ => (self.node, old),
        };
        let payload = match node.inner {
            true => Payload::Child(node.child(old + 1)),
            false => Payload::Value(node.cell(old).0),
        };
        (node.prefix(), node.suffix(old), payload)
    }

    /// The whole key of entry `i`.
    pub(crate) fn key(&self, i: usize) -> Vec<u8> {
        let (a, b, _) = self.get(i);
        [a, b].concat()
    }

    /// The child of inner entry `i`.
    pub(crate) fn child(&self, i: usize) -> PageRef {
        match self.get(i).2 {
            Payload::Child(child) => child,
            Payload::Value(_) => unreachable!("asked a leaf for a child"),
        }
    }

    /// Length of the prefix that entries `from..to` share.
    fn common(&self, from: usize, to: usize) -> usize {
        let (a, b, _) = self.get(from);
        let (c, d, _) = self.get(to - 1);
        let first = a.iter().chain(b);
        first.zip(c.iter().chain(d)).take_while(|(x, y)| x == y).count()
    }

    /// The bytes that entries `from..to` would take in a page of their own (prefix, slots and cells).
    pub(crate) fn size(&self, from: usize, to: usize) -> usize {
        if from == to {
            return 0;
        }
        let form = self.form(from, to);
        let cells: usize = (from..to).map(|i| self.entry_size(i, form)).sum();
        form.0 + cells
    }

    /// (prefix length, suffix length or VARIABLE) for entries `from..to`.
    fn form(&self, from: usize, to: usize) -> (usize, u16) {
        let prefix = self.common(from, to);
        let length = |i: usize| {
            let (a, b, _) = self.get(i);
            a.len() + b.len() - prefix
        };
        let first = length(from);
        let fixed = (from..to).all(|i| length(i) == first);
        (prefix, if fixed { first as u16 } else { VARIABLE })
    }

    fn entry_size(&self, i: usize, (prefix, suffix): (usize, u16)) -> usize {
        let (a, b, payload) = self.get(i);
        let key = a.len() + b.len() - prefix;
        SLOT + key + payload.size() + if suffix == VARIABLE { key_length_bytes(key) } else { 0 }
    }

    /// Bytes of entry `i` in a page without prefix: for choosing where to split.
    fn weight(&self, i: usize) -> usize {
        let (a, b, payload) = self.get(i);
        SLOT + a.len() + b.len() + payload.size()
    }

    /// Writes entries `from..to` as the body of `page`, whose header's kind and level are set (and, for inner pages,
    /// its leftmost child). They must fit.
    pub(crate) fn build(&self, page: &mut [u8], from: usize, to: usize) {
        init_body(page);
        if from == to {
            return;
        }
        let inner = self.node.inner;
        let (prefix, suffix) = self.form(from, to);
        let start = body_start(inner);
        let (a, b, _) = self.get(from);
        let (a_part, b_part) = (prefix.min(a.len()), prefix.saturating_sub(a.len()));
        page[start..start + a_part].copy_from_slice(&a[..a_part]);
        page[start + a_part..start + prefix].copy_from_slice(&b[..b_part]);
        let slots = start + prefix;
        let mut heap = page.len();
        for i in from..to {
            let (a, b, payload) = self.get(i);
            let (a, b) = (&a[prefix.min(a.len())..], &b[prefix.saturating_sub(a.len())..]);
            let length_bytes = if suffix == VARIABLE { key_length_bytes(a.len() + b.len()) } else { 0 };
            let size = length_bytes + a.len() + b.len() + payload.size();
            write_cell(&mut page[heap - size..heap], suffix == VARIABLE, a, b, payload, inner);
            heap -= size;
            let slot = slots + (i - from) * SLOT;
            put_u16(page, slot, head_of(a, b));
            put_u16(page, slot + 2, heap as u16);
        }
        assert!(heap >= slots + (to - from) * SLOT, "entries were measured to fit");
        put_u16(page, COUNT, (to - from) as u16);
        put_u16(page, HEAP, heap as u16);
        put_u16(page, PREFIX, prefix as u16);
        put_u16(page, SUFFIX, suffix);
    }

    /// Where to split so that both sides fit in `capacity`: entries before it stay left. In an inner page the entry at
    /// the split point moves up, so the right side begins after it.
    ///
    /// A new last key splits off alone, so that ascending inserts leave full pages; otherwise the most even split that
    /// fits is taken. One always fits: the common prefix can only shrink for a new key at either end, and then the
    /// others fitted together before.
    pub(crate) fn split_point(&self, capacity: usize) -> usize {
        let n = self.len();
        let up = self.node.inner as usize;
        if self.at == n - 1 {
            return n - 1 - up;
        }
        let fits = |k: usize| self.size(0, k) <= capacity && self.size(k + up, n) <= capacity;
        let total: usize = (0..n).map(|i| self.weight(i)).sum();
        let mut left = 0;
        let middle = (0..n).position(|i| {
            left += self.weight(i);
            left >= total / 2
        });
        let middle = middle.unwrap_or(n / 2).clamp(1, n - 1 - up);
        let farther = (1..n).flat_map(|d| [middle.checked_sub(d), Some(middle + d)]).flatten();
        std::iter::once(middle)
            .chain(farther)
            .filter(|&k| (1..=n - 1 - up).contains(&k))
            .find(|&k| fits(k))
            .expect("entries are bounded so that some split fits")
    }
}

/// The shortest key above `left` and not above `right`: what an inner page needs to tell two leaves apart.
pub(crate) fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    right[..separator_length(left, right)].to_vec()
}

/// How much of `right` tells it from `left`.
pub(crate) fn separator_length(left: &[u8], right: &[u8]) -> usize {
    let shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    (shared + 1).min(right.len())
}

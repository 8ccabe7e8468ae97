//! What a transaction of a few operations has written: a small sorted list that its reads look through.
//!
//! No page is copied for it. The operations are applied once, under the commit lock, as those of a point statement are. What
//! outgrows the list, or wants more of a tree than single keys, is moved into private trees (`State::open`).
//!
//! What must hold: a tree's writes are either here or in its private tree, never in both. Bytes are only appended, so that a
//! savepoint is a copy of the places and a length.

use crate::TreeId;

/// Writes that the list takes, and bytes of their keys and values.
pub(super) const WRITES: usize = 32;
const BYTES: usize = 8 << 10;
/// For how many writes and bytes room is made at first.
const FEW: (usize, usize) = (8, 512);

/// One key's last write.
#[derive(Clone, Copy, Debug)]
struct Place {
    tree: TreeId,
    /// The key's bytes, behind them the value's.
    start: u32,
    key: u32,
    /// `None`: the key was deleted.
    value: Option<u32>,
    /// It is what was added to a value of others': who reads it rests on that.
    is_sum: bool,
}

/// See above.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    /// By tree and key.
    places: Vec<Place>,
    bytes: Vec<u8>,
    /// Grows with each change of the list, and is never less again.
    changes: u64,
}

/// Where a list can be set back to.
#[derive(Debug)]
pub(super) struct OwnMark {
    places: Vec<Place>,
    bytes: usize,
}

/// What the list says of a key: its value, or that it is deleted.
pub(super) type Own<'a> = Option<&'a [u8]>;

impl OwnWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the list takes one more write.
    pub(super) fn has_room(&self, key: &[u8], value: usize) -> bool {
        // An empty value under the empty key takes no bytes, but operations.
        self.places.len() < WRITES && self.changes < BYTES as u64 && self.bytes.len() + key.len() + value <= BYTES
    }

    fn key(&self, place: &Place) -> &[u8] {
        &self.bytes[place.start as usize..][..place.key as usize]
    }

    fn value(&self, place: &Place) -> Own<'_> {
        let start = (place.start + place.key) as usize;
        place.value.map(|length| &self.bytes[start..][..length as usize])
    }

    fn find(&self, tree: TreeId, key: &[u8]) -> Result<usize, usize> {
        self.places.binary_search_by(|place| place.tree.cmp(&tree).then_with(|| self.key(place).cmp(key)))
    }

    /// What was written under the key; `None`: nothing.
    #[inline]
    pub(super) fn get(&self, tree: TreeId, key: &[u8]) -> Option<Own<'_>> {
        self.get_noted(tree, key).map(|(own, _)| own)
    }

    /// As `get`; and whether that is the sum of what others wrote and what was added.
    #[inline]
    pub(super) fn get_noted(&self, tree: TreeId, key: &[u8]) -> Option<(Own<'_>, bool)> {
        if self.places.is_empty() {
            return None;
        }
        let place = &self.places[self.find(tree, key).ok()?];
        Some((self.value(place), place.is_sum))
    }

    /// Writes a value, or that the key is deleted.
    pub(super) fn write(&mut self, tree: TreeId, key: &[u8], value: Own<'_>) {
        self.write_patched(tree, key, value, 0, &[]);
    }

    /// Writes what a value comes to with something added; `is_sum`: it was none of the transaction's own.
    pub(super) fn write_sum(&mut self, tree: TreeId, key: &[u8], value: Own<'_>, is_sum: bool) {
        self.write(tree, key, value);
        if let Ok(at) = self.find(tree, key) {
            self.places[at].is_sum = is_sum;
        }
    }

    /// Writes a value with some of its bytes replaced. They must lie within it.
    pub(super) fn write_patched(&mut self, tree: TreeId, key: &[u8], value: Own<'_>, offset: usize, bytes: &[u8]) {
        if self.places.capacity() == 0 {
            self.places.reserve(FEW.0);
            self.bytes.reserve(FEW.1);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.bytes[start + key.len() + offset..][..bytes.len()].copy_from_slice(bytes);
        let length = value.map(|value| value.len() as u32);
        self.set(Place { tree, start: start as u32, key: key.len() as u32, value: length, is_sum: false });
    }

    /// As [`OwnWrites::write_patched`], of the key's own last value; false if the bytes do not lie within it.
    pub(super) fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> bool {
        let Some(Some(value)) = self.get(tree, key) else { return false };
        let (from, length) = (value.as_ptr() as usize - self.bytes.as_ptr() as usize, value.len());
        if offset.checked_add(bytes.len()).is_none_or(|end| end > length) {
            return false;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_within(from..from + length);
        self.bytes[start + key.len() + offset..][..bytes.len()].copy_from_slice(bytes);
        self.set(Place { tree, start: start as u32, key: key.len() as u32, value: Some(length as u32), is_sum: false });
        true
    }

    fn set(&mut self, place: Place) {
        self.changes += 1;
        let key = &self.bytes[place.start as usize..][..place.key as usize];
        match self.find(place.tree, key) {
            Ok(at) => self.places[at] = place,
            Err(at) => self.places.insert(at, place),
        }
    }

    /// How often the list was changed, if it has writes of the tree.
    pub(super) fn changes_of(&self, tree: TreeId) -> Option<u64> {
        self.places.iter().any(|place| place.tree == tree).then_some(self.changes)
    }

    /// A tree that the list has writes of.
    pub(super) fn any_tree(&self) -> Option<TreeId> {
        self.places.first().map(|place| place.tree)
    }

    /// What was written to a tree, in order.
    pub(super) fn of(&self, tree: TreeId) -> impl Iterator<Item = (&[u8], Own<'_>)> {
        self.places.iter().filter(move |place| place.tree == tree).map(|place| (self.key(place), self.value(place)))
    }

    /// Forgets what was written to a tree.
    pub(super) fn remove(&mut self, tree: TreeId) {
        self.changes += 1;
        self.places.retain(|place| place.tree != tree);
    }

    pub(super) fn mark(&self) -> OwnMark {
        OwnMark { places: self.places.clone(), bytes: self.bytes.len() }
    }

    pub(super) fn cut(&mut self, mark: &OwnMark) {
        self.changes += 1;
        self.places.clone_from(&mark.places);
        self.bytes.truncate(mark.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TreeId = TreeId(1);
    const B: TreeId = TreeId(2);

    #[test]
    fn the_last_write_of_each_key_is_found_by_tree() {
        let mut own = OwnWrites::default();
        for (tree, key) in [(B, b"x"), (A, b"z"), (A, b"a"), (B, b"a")] {
            own.write(tree, key, Some(&[tree.0 as u8; 3]));
        }
        own.write(A, b"z", None);
        assert!(own.patch(B, b"x", 1, b"yy"));
        assert!(!own.patch(B, b"x", 2, b"yy") && !own.patch(A, b"z", 0, b"") && !own.patch(B, b"z", 0, b""));
        assert_eq!(own.get(B, b"x"), Some(Some(&[2, b'y', b'y'][..])));
        assert_eq!((own.get(A, b"z"), own.get(B, b"z")), (Some(None), None));
        let of_a: Vec<_> = own.of(A).collect();
        assert_eq!(of_a, [(&b"a"[..], Some(&[1; 3][..])), (b"z", None)]);
        own.remove(A);
        assert_eq!((own.get(A, b"a"), own.changes_of(A), own.any_tree()), (None, None, Some(B)));
    }

    #[test]
    fn a_list_set_back_has_what_it_had_and_says_that_it_changed() {
        let mut own = OwnWrites::default();
        own.write(A, b"key", Some(b"one"));
        let mark = own.mark();
        own.write(A, b"key", Some(b"two"));
        own.write(A, b"other", Some(b"three"));
        let changes = own.changes_of(A);
        own.cut(&mark);
        assert_eq!((own.get(A, b"key"), own.get(A, b"other")), (Some(Some(&b"one"[..])), None));
        assert!(own.changes_of(A) > changes);
        own.write(A, b"new", Some(b"four"));
        assert_eq!(own.get(A, b"key"), Some(Some(&b"one"[..])));
    }

    #[test]
    fn the_list_is_small() {
        let mut own = OwnWrites::default();
        let written = (0..100u8).take_while(|key| {
            let room = own.has_room(&[*key], 10);
            own.write(A, &[*key], Some(&[0; 10]));
            room
        });
        assert_eq!(written.count(), WRITES);
        assert!(!OwnWrites::default().has_room(b"key", BYTES));
    }
}

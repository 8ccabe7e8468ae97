//! What a node's fields may be; each takes one word.

use std::num::NonZeroU32;

use super::ids::{Id, List};
use super::node::{Node, Tree};
use super::walk::FieldSort;

/// A value that fits one word of a tree.
pub(crate) trait Field: Copy {
    const SORT: FieldSort;
    fn pack(self) -> u32;
    fn unpack(word: u32, node: &Node) -> Self;
    /// How deep the tree is below this field.
    #[inline]
    fn depth(self, _tree: &Tree<'_>) -> u16 {
        0
    }
}

/// What a constant or name says. `Tree::text` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Number plus one among the tree's decoded texts; 0: as written, between its quotes.
    pub(crate) decoded: u32,
}

impl<T> Field for Id<T> {
    const SORT: FieldSort = FieldSort::Node;
    #[inline]
    fn pack(self) -> u32 {
        self.0.get()
    }
    #[inline]
    fn unpack(word: u32, _: &Node) -> Id<T> {
        // Only what `pack` wrote is unpacked; node 1 is there in every tree that has one.
        Id::new(NonZeroU32::new(word).unwrap_or(NonZeroU32::MIN))
    }
    #[inline]
    fn depth(self, tree: &Tree<'_>) -> u16 {
        tree.node(self.0.get()).depth
    }
}

impl<T> Field for Option<Id<T>> {
    const SORT: FieldSort = FieldSort::Optional;
    #[inline]
    fn pack(self) -> u32 {
        self.map_or(0, |id| id.0.get())
    }
    #[inline]
    fn unpack(word: u32, _: &Node) -> Option<Id<T>> {
        NonZeroU32::new(word).map(Id::new)
    }
    #[inline]
    fn depth(self, tree: &Tree<'_>) -> u16 {
        self.map_or(0, |id| id.depth(tree))
    }
}

impl<T> Field for List<T> {
    const SORT: FieldSort = FieldSort::List;
    #[inline]
    fn pack(self) -> u32 {
        self.0
    }
    #[inline]
    fn unpack(word: u32, _: &Node) -> List<T> {
        List::new(word)
    }
    #[inline]
    fn depth(self, tree: &Tree<'_>) -> u16 {
        tree.list_words(self.0).iter().map(|word| tree.node(*word).depth).max().unwrap_or(0)
    }
}

impl Field for Text {
    const SORT: FieldSort = FieldSort::Text;
    #[inline]
    fn pack(self) -> u32 {
        self.decoded
    }
    #[inline]
    fn unpack(word: u32, node: &Node) -> Text {
        Text { start: node.start, end: node.end, decoded: word }
    }
}

impl Field for bool {
    const SORT: FieldSort = FieldSort::Scalar;
    #[inline]
    fn pack(self) -> u32 {
        u32::from(self)
    }
    #[inline]
    fn unpack(word: u32, _: &Node) -> bool {
        word != 0
    }
}

impl Field for u32 {
    const SORT: FieldSort = FieldSort::Scalar;
    #[inline]
    fn pack(self) -> u32 {
        self
    }
    #[inline]
    fn unpack(word: u32, _: &Node) -> u32 {
        word
    }
}

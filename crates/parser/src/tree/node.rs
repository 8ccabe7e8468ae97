//! Storage of a tree.
//!
//! A node is 16 bytes: kind, depth, span, and one word that is its only field or the place of its fields among the
//! tree's words. A list is its length and its nodes' numbers. So a constant in a row costs 20 bytes, dropping a tree
//! frees four vectors however deep it is, and the depth of what hangs below a node is known without a walk: whoever
//! walks a tree by recursion knows beforehand how deep it goes.

use std::borrow::Cow;
use std::num::NonZeroU32;

use super::field::Text;
use super::ids::{Id, List};
use super::walk::{NodeRef, Syntax};
use crate::syntax::Part;
use crate::token::literal::dollar_tag_end;

/// A node as it is stored.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Node {
    pub(crate) kind: u16,
    pub(crate) depth: u16,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) data: u32,
}

/// Bytes of the source, from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset behind the last byte.
    pub end: u32,
}

/// A statement's (or an expression's) tree and the text it came from.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    source: Cow<'a, str>,
    nodes: Vec<Node>,
    words: Vec<u32>,
    decoded: String,
    texts: Vec<(u32, u32)>,
    parameters: u32,
}

/// Vectors that trees are made in, one after another.
#[derive(Debug, Default)]
pub(crate) struct TreeRoom {
    nodes: Vec<Node>,
    words: Vec<u32>,
}

/// A tree of more than this is not copied, and its room not kept.
const SMALL_NODES: usize = 4096;
const SMALL_WORDS: usize = 2 * SMALL_NODES;

/// How much a tree holds.
#[derive(Clone, Copy)]
pub(crate) struct TreeSize {
    nodes: usize,
    words: usize,
    decoded: usize,
    texts: usize,
    parameters: u32,
}

/// A node about to be added.
#[doc(hidden)]
pub struct Draft {
    pub(crate) kind: u16,
    pub(crate) depth: u16,
    pub(crate) data: u32,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(source: &'a str, room: TreeRoom) -> Tree<'a> {
        let TreeRoom { mut nodes, mut words } = room;
        nodes.clear();
        words.clear();
        // What most statements need, before the first one grows them step by step.
        nodes.reserve(32);
        words.reserve(64);
        let (decoded, texts) = (String::new(), Vec::new());
        let mut tree = Tree { source: Cow::Borrowed(source), nodes, words, decoded, texts, parameters: 0 };
        tree.nodes.push(Node { kind: u16::MAX, depth: 0, start: 0, end: 0, data: 0 });
        tree.words.push(0);
        tree
    }

    /// Makes room for what a text of this length may need; a room that is kept is for statements of a script.
    pub(crate) fn reserve(&mut self, text_bytes: usize, is_kept: bool) {
        let most = if is_kept { SMALL_NODES } else { 1 << 16 };
        self.nodes.reserve((text_bytes / 6).min(most));
        self.words.reserve((text_bytes / 5).min(most));
    }

    /// What was read. Where the room is kept, a small tree is copied out of it; others take it with them.
    pub(crate) fn finished(&mut self, is_kept: bool) -> Tree<'a> {
        let Tree { source, decoded, texts, parameters, .. } = self;
        let is_small = self.nodes.len() <= SMALL_NODES && self.words.len() <= SMALL_WORDS;
        let (nodes, words) = match is_kept {
            true if is_small => (self.nodes.as_slice().to_vec(), self.words.as_slice().to_vec()),
            _ => {
                if self.nodes.capacity() > SMALL_NODES {
                    self.nodes.shrink_to_fit();
                    self.words.shrink_to_fit();
                }
                (std::mem::take(&mut self.nodes), std::mem::take(&mut self.words))
            }
        };
        let (decoded, texts) = (std::mem::take(decoded), std::mem::take(texts));
        Tree { source: source.clone(), nodes, words, decoded, texts, parameters: *parameters }
    }

    /// The buffers, for the next tree.
    pub(crate) fn take_room(&mut self) -> TreeRoom {
        TreeRoom { nodes: std::mem::take(&mut self.nodes), words: std::mem::take(&mut self.words) }
    }

    /// Forgets the text from byte `end` on, in which no node may be.
    pub fn cut_source(&mut self, end: usize) {
        if let Cow::Borrowed(source) = self.source {
            self.source = Cow::Borrowed(source.get(..end).unwrap_or(source));
        }
    }

    /// The tree with a copy of its text.
    pub fn into_owned(self) -> Tree<'static> {
        Tree {
            source: Cow::Owned(self.source.into_owned()),
            nodes: self.nodes,
            words: self.words,
            decoded: self.decoded,
            texts: self.texts,
            parameters: self.parameters,
        }
    }

    /// The whole text; spans count in it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// How many parameters the statement has: the highest number.
    pub fn parameters(&self) -> u32 {
        self.parameters
    }

    pub(crate) fn note_parameter(&mut self, number: u32) {
        self.parameters = self.parameters.max(number);
    }

    /// What the node says.
    #[inline]
    pub fn get<T: Syntax>(&self, id: Id<T>) -> T {
        T::decode(self, self.node(id.0.get()))
    }

    /// Where the node stands in the source.
    #[inline]
    pub fn span<T>(&self, id: Id<T>) -> Span {
        let node = self.node(id.0.get());
        Span { start: node.start, end: node.end }
    }

    /// The node's text as written.
    pub fn written<T>(&self, id: Id<T>) -> &str {
        let Span { start, end } = self.span(id);
        self.source.get(start as usize..end as usize).unwrap_or("")
    }

    /// How many levels of nodes there are below the node.
    pub fn depth<T>(&self, id: Id<T>) -> u16 {
        self.node(id.0.get()).depth
    }

    /// A list's nodes in order.
    #[inline]
    pub fn list<T>(&self, list: List<T>) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator + Clone + '_ {
        let number = |word: &u32| Id::new(NonZeroU32::new(*word).unwrap_or(NonZeroU32::MIN));
        self.list_words(list.0).iter().map(number)
    }

    /// How many nodes a list has.
    pub fn len<T>(&self, list: List<T>) -> usize {
        self.list_words(list.0).len()
    }

    /// A list's node, counted from 0.
    pub fn nth<T>(&self, list: List<T>, index: usize) -> Option<Id<T>> {
        self.list(list).nth(index)
    }

    /// What a constant or name says.
    #[inline]
    pub fn text(&self, text: Text) -> &str {
        if let Some(number) = text.decoded.checked_sub(1) {
            let (start, end) = self.texts.get(number as usize).copied().unwrap_or((0, 0));
            return self.decoded.get(start as usize..end as usize).unwrap_or("");
        }
        let written = self.source.get(text.start as usize..text.end as usize).unwrap_or("");
        unquoted(written)
    }

    /// Bytes that the nodes and what belongs to them take, without the source.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
            + self.words.len() * size_of::<u32>()
            + self.decoded.len()
            + self.texts.len() * size_of::<(u32, u32)>()
    }

    /// The statement as a node of any kind, to walk the tree from.
    pub fn reference<T>(&self, id: Id<T>) -> NodeRef {
        NodeRef(id.0.get())
    }

    /// The node, where it is a part of a command.
    pub(crate) fn part(&self, node: NodeRef) -> Option<Id<Part>> {
        let is_part = self.kind(node).name.starts_with("Part::");
        NonZeroU32::new(node.0).filter(|_| is_part).map(Id::new)
    }

    /// The numbers of all nodes.
    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        1..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    pub(crate) fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    #[inline]
    pub(crate) fn words(&self, start: u32, count: usize) -> &[u32] {
        &self.words[start as usize..start as usize + count]
    }

    #[inline]
    pub(crate) fn list_words(&self, start: u32) -> &[u32] {
        let start = start as usize;
        let length = self.words[start] as usize;
        &self.words[start + 1..start + 1 + length]
    }

    #[inline]
    pub(crate) fn add(&mut self, draft: Draft, start: u32, end: u32) -> NonZeroU32 {
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { kind: draft.kind, depth: draft.depth, start, end, data: draft.data });
        NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
    }

    /// A node's fields as its one word: the only field, or the place of several.
    #[inline]
    pub(crate) fn add_fields(&mut self, fields: &[u32]) -> u32 {
        match fields {
            [] => 0,
            [only] => *only,
            several => {
                let start = self.words.len() as u32;
                self.words.extend_from_slice(several);
                start
            }
        }
    }

    #[inline]
    pub(crate) fn add_list<T>(&mut self, items: &[u32]) -> List<T> {
        List::new(self.add_list_words(items))
    }

    #[inline]
    pub(crate) fn add_list_words(&mut self, items: &[u32]) -> u32 {
        if items.is_empty() {
            return 0;
        }
        let start = self.words.len() as u32;
        self.words.push(items.len() as u32);
        self.words.extend_from_slice(items);
        start
    }

    /// The word of a node's field.
    pub(crate) fn field_word_mut(&mut self, node: NodeRef, field: usize) -> &mut u32 {
        let count = self.kind(node).fields.len();
        let node = &mut self.nodes[node.0 as usize];
        if count == 1 { &mut node.data } else { &mut self.words[node.data as usize + field] }
    }

    /// Where decoded texts are gathered, and how to note one that was.
    pub(crate) fn decoded_buffer(&mut self) -> &mut String {
        &mut self.decoded
    }

    /// The number plus one of the decoded text that begins at `from` and ends the buffer.
    pub(crate) fn note_decoded(&mut self, from: usize) -> u32 {
        self.texts.push((from as u32, self.decoded.len() as u32));
        self.texts.len() as u32
    }

    /// How much there is now.
    pub(crate) fn size(&self) -> TreeSize {
        TreeSize {
            nodes: self.nodes.len(),
            words: self.words.len(),
            decoded: self.decoded.len(),
            texts: self.texts.len(),
            parameters: self.parameters,
        }
    }

    /// Takes away what was added since.
    pub(crate) fn cut_to(&mut self, size: TreeSize) {
        self.nodes.truncate(size.nodes);
        self.words.truncate(size.words);
        self.decoded.truncate(size.decoded);
        self.texts.truncate(size.texts);
        self.parameters = size.parameters;
    }
}

/// The text between the quotes, or the whole where there are none.
fn unquoted(written: &str) -> &str {
    match written.as_bytes() {
        [b'\'' | b'"', .., _] => &written[1..written.len() - 1],
        [b'b' | b'B' | b'x' | b'X', b'\'', .., _] => &written[2..written.len() - 1],
        [b'$', ..] => match dollar_tag_end(written.as_bytes(), 0) {
            Some(tag) if written.len() >= 2 * tag => &written[tag..written.len() - tag],
            _ => written,
        },
        _ => written,
    }
}

//! Trees without regard to what their nodes mean: comparing, hashing, visiting. None of it recurses.

use super::node::{Draft, Node, Tree};
use crate::syntax::kind_info;

/// A set of node kinds with their fields: `Expr`, `Query`, `Name`.
pub trait Syntax: Copy {
    #[doc(hidden)]
    fn decode(tree: &Tree<'_>, node: &Node) -> Self;
    #[doc(hidden)]
    fn encode(self, tree: &mut Tree<'_>) -> Draft;
}

/// What a field is to one who does not know its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSort {
    /// A node.
    Node,
    /// A node, or none.
    Optional,
    /// A list of nodes.
    List,
    /// What a constant or name says.
    Text,
    /// A number, a flag, a choice.
    Scalar,
}

/// A kind of node and its fields.
#[derive(Debug)]
pub struct KindInfo {
    /// The kind's name.
    pub name: &'static str,
    /// Names and sorts of its fields.
    pub fields: &'static [(&'static str, FieldSort)],
}

/// A node of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRef(pub(crate) u32);

impl Tree<'_> {
    /// The kind of a node.
    pub fn kind(&self, node: NodeRef) -> &'static KindInfo {
        kind_info(self.node(node.0).kind)
    }

    /// Every node of the tree, in no order that means something.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef> {
        self.numbers().map(NodeRef)
    }

    /// Where a node stands.
    pub fn place(&self, node: NodeRef) -> super::Span {
        let node = self.node(node.0);
        super::Span { start: node.start, end: node.end }
    }

    /// The nodes right below a node, in the order of its fields.
    pub fn children(&self, node: NodeRef, mut visit: impl FnMut(NodeRef)) {
        let info = self.kind(node);
        for ((_, sort), word) in info.fields.iter().zip(self.field_words(node, info)) {
            match sort {
                FieldSort::Node | FieldSort::Optional if *word != 0 => visit(NodeRef(*word)),
                FieldSort::List => self.list_words(*word).iter().for_each(|item| visit(NodeRef(*item))),
                _ => {}
            }
        }
    }

    /// Whether two trees say the same, wherever their parts stand in their sources.
    pub fn same(&self, root: NodeRef, other: &Tree<'_>, other_root: NodeRef) -> bool {
        let mut pairs = vec![(root, other_root)];
        while let Some((left, right)) = pairs.pop() {
            if !self.same_node(left, other, right, &mut pairs) {
                return false;
            }
        }
        true
    }

    fn same_node(&self, left: NodeRef, other: &Tree<'_>, right: NodeRef, pairs: &mut Vec<(NodeRef, NodeRef)>) -> bool {
        if self.node(left.0).kind != other.node(right.0).kind {
            return false;
        }
        let info = self.kind(left);
        let fields = self.field_words(left, info).iter().zip(other.field_words(right, info));
        fields.zip(info.fields).all(|((mine, theirs), (_, sort))| match sort {
            FieldSort::Scalar => mine == theirs,
            FieldSort::Text => self.text_of(left, *mine) == other.text_of(right, *theirs),
            FieldSort::Optional if *mine == 0 || *theirs == 0 => mine == theirs,
            FieldSort::Node | FieldSort::Optional => {
                pairs.push((NodeRef(*mine), NodeRef(*theirs)));
                true
            }
            FieldSort::List => {
                let (mine, theirs) = (self.list_words(*mine), other.list_words(*theirs));
                pairs.extend(mine.iter().zip(theirs).map(|(mine, theirs)| (NodeRef(*mine), NodeRef(*theirs))));
                mine.len() == theirs.len()
            }
        })
    }

    /// The tree without what a node's field says: without the node, without a list's items, with the first of the choices.
    /// `field`: its place in the kind's fields. `None` where nothing is said, or something must be. For tests that ask what
    /// a field is good for: what is left may be no statement that anybody can write.
    pub fn without(&self, node: NodeRef, field: usize) -> Option<Self> {
        let info = self.kind(node);
        let (_, sort) = info.fields.get(field)?;
        let is_required = matches!(sort, FieldSort::Node | FieldSort::Text);
        let nothing = match sort {
            FieldSort::List => self.list_words(self.field_words(node, info)[field]).is_empty(),
            _ => self.field_words(node, info)[field] == 0,
        };
        if is_required || nothing {
            return None;
        }
        let mut tree = self.clone();
        *tree.field_word_mut(node, field) = 0;
        Some(tree)
    }

    /// As [`Tree::without`], without one of a list's items.
    pub fn without_item(&self, node: NodeRef, field: usize, item: usize) -> Option<Self> {
        let info = self.kind(node);
        let (_, FieldSort::List) = info.fields.get(field)? else { return None };
        let mut items = self.list_words(self.field_words(node, info)[field]).to_vec();
        if item >= items.len() {
            return None;
        }
        items.remove(item);
        let mut tree = self.clone();
        *tree.field_word_mut(node, field) = tree.add_list_words(&items);
        Some(tree)
    }

    /// What the text field with this word says.
    pub(crate) fn text_of(&self, node: NodeRef, word: u32) -> &str {
        self.text(super::Field::unpack(word, self.node(node.0)))
    }

    pub(crate) fn field_words(&self, node: NodeRef, info: &KindInfo) -> &[u32] {
        let node = self.node(node.0);
        match info.fields.len() {
            0 => &[],
            1 => std::slice::from_ref(&node.data),
            count => self.words(node.data, count),
        }
    }
}

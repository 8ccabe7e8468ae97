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
    /// A node, or none.
    Node,
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
                FieldSort::Node if *word != 0 => visit(NodeRef(*word)),
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
            FieldSort::Node if *mine == 0 || *theirs == 0 => mine == theirs,
            FieldSort::Node => {
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

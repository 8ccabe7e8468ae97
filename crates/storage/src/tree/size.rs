//! How many entries a tree has, and a sample of them, without reading the tree: for who plans how to read it.
//!
//! A tree is its root's children times what a child has on average. A few children are looked at on each level, evenly
//! spread, and only those that are in memory; a level of which none is there is taken to be as full as pages mostly are.

use super::MAX_DEPTH;
use super::node::{Cell, Node};
use super::read::Stop;
use crate::page::layout::HEADER;
use crate::page::{PageRef, Pages, Pin};

/// Children looked at in each inner page.
const CHILDREN: usize = 4;
/// The share of a page that is mostly used.
const FILLED: f64 = 0.7;

/// A tree's root: how far it is from the leaves, and its entries. While these stay much the same, so does the tree's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeShape {
    /// 0: the root is the only leaf.
    pub level: u8,
    /// Children, or entries if it is a leaf.
    pub fan_out: usize,
}

impl TreeShape {
    fn of(root: Node<'_>) -> TreeShape {
        TreeShape { level: root.level(), fan_out: root.count() + usize::from(root.is_inner()) }
    }
}

/// The tree's root.
pub(crate) fn shape(pages: &Pages, pin: &Pin<'_>, root: PageRef) -> Result<TreeShape, Stop> {
    match root.is_none() {
        true => Ok(TreeShape::default()),
        false => pages.get(pin, root).map(|page| TreeShape::of(Node::new(page))).ok_or(Stop::Miss(root)),
    }
}

/// About how many entries the tree has; exactly, if the root is its only leaf. `entry_bytes`: what one entry takes, as far as
/// the caller knows. Only the root has to be in memory.
pub(crate) fn entries(pages: &Pages, pin: &Pin<'_>, root: PageRef, entry_bytes: f64) -> Result<f64, Stop> {
    if root.is_none() {
        return Ok(0.0);
    }
    let page = pages.get(pin, root).ok_or(Stop::Miss(root))?;
    Ok(below(pages, pin, Node::new(page), entry_bytes.max(1.0)))
}

fn below(pages: &Pages, pin: &Pin<'_>, node: Node<'_>, entry_bytes: f64) -> f64 {
    if !node.is_inner() {
        return node.count() as f64;
    }
    let children = node.count() + 1;
    let resident = |child: PageRef| pages.get(pin, child).map(Node::new).filter(|child| child.level() < node.level());
    let mut looked_at: Vec<Node<'_>> = some_children(node, CHILDREN).filter_map(resident).collect();
    if looked_at.is_empty() {
        // Any that are there, then.
        looked_at.extend((0..children).filter_map(|child| resident(node.child(child))).take(CHILDREN));
    }
    let seen = looked_at.len() as f64;
    let found: f64 = looked_at.into_iter().map(|child| below(pages, pin, child, entry_bytes)).sum();
    let each = match seen > 0.0 {
        true => found / seen,
        false => {
            let room = (pages.page_size() - HEADER) as f64 * FILLED;
            let fan_out = (room / (node.used() as f64 / children as f64).max(1.0)).max(2.0);
            fan_out.powi(i32::from(node.level()) - 1) * (room / entry_bytes).max(1.0)
        }
    };
    children as f64 * each
}

/// The share of leaves that were written after `since`, the stamp that the tree had at some time, as far as inner pages in
/// memory tell.
pub(crate) fn changed(pages: &Pages, pin: &Pin<'_>, root: PageRef, since: u64) -> Result<f64, Stop> {
    if root.birth <= since {
        return Ok(0.0);
    }
    let page = pages.get(pin, root).ok_or(Stop::Miss(root))?;
    let (younger, seen) = younger(pages, pin, Node::new(page), since);
    // A leaf that is the root is younger.
    Ok(if seen > 0.0 { younger / seen } else { 1.0 })
}

/// How many of some leaves below are younger, and of how many.
fn younger(pages: &Pages, pin: &Pin<'_>, node: Node<'_>, since: u64) -> (f64, f64) {
    let (mut younger_ones, mut seen) = (0.0, 0.0);
    if !node.is_inner() {
        return (younger_ones, seen);
    }
    // The children of the lowest inner pages need not be looked at.
    let wanted = if node.level() > 1 { CHILDREN } else { 4 * CHILDREN };
    for child in some_children(node, wanted) {
        let page = if node.level() > 1 { pages.get(pin, child).map(Node::new) } else { None };
        let below = page.filter(|page| page.level() < node.level()).map(|page| younger(pages, pin, page, since));
        let (these, of) = below.unwrap_or((f64::from(u8::from(child.birth > since)), 1.0));
        younger_ones += these;
        seen += of;
    }
    (younger_ones, seen)
}

/// As many children of an inner page, evenly spread.
fn some_children(node: Node<'_>, wanted: usize) -> impl Iterator<Item = PageRef> + '_ {
    let children = node.count() + 1;
    let wanted = wanted.min(children);
    (0..wanted).map(move |part| node.child((2 * part + 1) * children / (2 * wanted)))
}

/// The leaf at `place` of the way (from 0 to below 1) through the tree, and what is left of the place within it.
pub(crate) fn leaf_at<'p>(
    pages: &Pages,
    pin: &'p Pin<'_>,
    root: PageRef,
    mut place: f64,
) -> Result<(Node<'p>, f64), Stop> {
    let mut at = root;
    for _ in 0..MAX_DEPTH {
        let node = Node::new(pages.get(pin, at).ok_or(Stop::Miss(at))?);
        if !node.is_inner() {
            return Ok((node, place));
        }
        let scaled = place * (node.count() + 1) as f64;
        let child = (scaled as usize).min(node.count());
        (at, place) = (node.child(child), scaled - child as f64);
    }
    Err(Stop::Misplaced(at))
}

/// Calls `each` with `wanted` entries of the leaf, evenly spread behind `place`, but not with those whose value lies
/// outside it.
pub(crate) fn some_of(
    leaf: Node<'_>,
    place: f64,
    wanted: usize,
    key: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8], &[u8]),
) {
    let count = leaf.count();
    let wanted = wanted.min(count);
    for part in 0..wanted {
        let at = ((part as f64 + place) / wanted as f64 * count as f64) as usize;
        if let (Cell::Inline(value), _) = leaf.cell(at.min(count - 1)) {
            key.clear();
            leaf.key_into(at.min(count - 1), key);
            each(key, value);
        }
    }
}

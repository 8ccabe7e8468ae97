//! What changed between two roots of a tree, in a key range.
//!
//! Both trees are walked side by side, depth first, in key order. Where both stand before the same page (same id and
//! birth: the same entries) they step over it; references are compared in the parents, so a shared page is not even
//! looked at. Otherwise whichever stands at lower keys goes down, or both.
//!
//! ```text
//! older:  root ── .. ── [A][B][C]      A: in both, stepped over        B, B': both entered, their entries compared
//! newer:  root' ── .. ── [A][B'][C]    C: in both, stepped over
//! ```
//! What must hold:
//! - Entries come in key order, each that differs once, whatever pages were split, merged or taken out in between.
//! - The walk keeps its place over everything that stops it: a page that is not in memory, a change that was told, a
//!   pause. It needs two pages in memory at a time (one of each tree), however much differs.
//! - The pages below both roots never change while it walks (somebody holds the states).

use std::cmp::Ordering;
use std::ops::Bound;

use super::MAX_DEPTH;
use super::node::{Cell, Node};
use super::read::Stop;
use crate::page::{PageRef, Pages, Pin};

/// An entry that differs. A long value that was written again has another chain, so it is told as changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    pub(crate) key: &'a [u8],
    /// `None`: the key is not there.
    pub(crate) older: Option<Cell<'a>>,
    pub(crate) newer: Option<Cell<'a>>,
}

/// What the walk came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    Changed(Changed<'a>),
    /// It entered as many pages as it was allowed; [`Difference::allow`] lets it go on.
    Paused,
    End,
}

/// A walk over the entries that differ.
#[derive(Debug)]
pub(crate) struct Difference {
    older: Side,
    newer: Side,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// Of the change that was told last.
    key: Vec<u8>,
    entered: u64,
    /// How many pages may be entered in all.
    allowed: u64,
}

impl Difference {
    pub(crate) fn new(older: PageRef, newer: PageRef, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Difference {
        let mut difference = Difference {
            older: Side::new(older),
            newer: Side::new(newer),
            lower: Bound::Unbounded,
            upper: upper.map(<[u8]>::to_vec),
            key: Vec::new(),
            entered: 0,
            allowed: u64::MAX,
        };
        difference.go_to(lower);
        difference
    }

    /// Goes on at another lower bound of the same states.
    pub(crate) fn go_to(&mut self, lower: Bound<&[u8]>) {
        self.lower = lower.map(<[u8]>::to_vec);
        let is_empty = super::cursor::is_empty(lower, borrowed(&self.upper));
        self.older.restart(is_empty);
        self.newer.restart(is_empty);
    }

    /// How many pages were entered so far: it grows as the walk gets on.
    pub(crate) fn entered(&self) -> u64 {
        self.entered
    }

    /// The walk pauses when it has entered so many more pages.
    pub(crate) fn allow(&mut self, pages: u64) {
        self.allowed = self.entered.saturating_add(pages);
    }

    /// Comes to the next entry that differs. After a miss, call it again once the page is in memory.
    pub(crate) fn next<'a>(&'a mut self, pages: &'a Pages, pin: &'a Pin<'_>) -> Result<Next<'a>, Stop> {
        loop {
            let upper = borrowed(&self.upper);
            self.older.step_on(pages, pin, upper)?;
            self.newer.step_on(pages, pin, upper)?;
            match (self.older.place, self.newer.place) {
                (Place::End, Place::End) => return Ok(Next::End),
                (Place::Entry, Place::Entry) => {
                    if let Some((in_older, in_newer)) = self.compare_leaves(pages, pin)? {
                        return self.tell(pages, pin, in_older, in_newer);
                    }
                }
                (Place::Entry, _) if self.older.is_before(&self.newer, pages, pin)? => {
                    return self.tell(pages, pin, true, false);
                }
                (_, Place::Entry) if self.newer.is_before(&self.older, pages, pin)? => {
                    return self.tell(pages, pin, false, true);
                }
                _ if self.step_over_shared() => {}
                _ if self.entered >= self.allowed => return Ok(Next::Paused),
                _ => self.enter(pages, pin)?,
            }
        }
    }

    /// Where both sides stand at the beginning of the same page: it has no differences.
    fn step_over_shared(&mut self) -> bool {
        let shared = self.older.beginnings().find_map(|(older, page)| {
            self.newer.beginnings().find(|(_, other)| *other == page).map(|(newer, _)| (older, newer))
        });
        if let Some((older, newer)) = shared {
            self.older.step_over(older);
            self.newer.step_over(newer);
        }
        shared.is_some()
    }

    /// Looks into the page that the side at lower keys stands before, or into both.
    fn enter(&mut self, pages: &Pages, pin: &Pin<'_>) -> Result<(), Stop> {
        let (enter_older, enter_newer) = match (self.older.place, self.newer.place) {
            (Place::Before(older), Place::Before(newer)) => match self.older.fence.cmp(&self.newer.fence) {
                Ordering::Less => (true, false),
                Ordering::Greater => (false, true),
                Ordering::Equal => {
                    let level =
                        |page| pages.get(pin, page).map(|bytes| Node::new(bytes).level()).ok_or(Stop::Miss(page));
                    let (a, b) = (level(older)?, level(newer)?);
                    (a >= b, b >= a)
                }
            },
            (older, newer) => (matches!(older, Place::Before(_)), matches!(newer, Place::Before(_))),
        };
        for (side, wanted) in [(&mut self.older, enter_older), (&mut self.newer, enter_newer)] {
            if wanted {
                side.enter(pages, pin, borrowed(&self.lower), borrowed(&self.upper))?;
                self.entered += 1;
            }
        }
        Ok(())
    }

    /// Walks along the entries of two leaves as long as they are the same. `Some`: which sides have the one that is not.
    fn compare_leaves(&mut self, pages: &Pages, pin: &Pin<'_>) -> Result<Option<(bool, bool)>, Stop> {
        let ((a, i), (b, j)) = (self.older.entry(pages, pin)?, self.newer.entry(pages, pin)?);
        let (count_a, count_b) = (self.older.last().end, self.newer.last().end);
        let (mut i, mut j, mut differs) = (i, j, None);
        // Written again with what was there.
        if (i, count_a) == (j, count_b) && a.is_copy_of(&b) {
            (i, j) = (count_a, count_b);
        }
        while i < count_a && j < count_b {
            let order = a.key_order(i, &b, j);
            if order.is_ne() || a.cell(i).0 != b.cell(j).0 {
                differs = Some((order.is_le(), order.is_ge()));
                break;
            }
            (i, j) = (i + 1, j + 1);
        }
        self.older.come_to(i);
        self.newer.come_to(j);
        Ok(differs)
    }

    /// Tells the entry that one side or both stand at, and goes on behind it.
    fn tell<'a>(&'a mut self, pages: &'a Pages, pin: &'a Pin<'_>, older: bool, newer: bool) -> Result<Next<'a>, Stop> {
        let a = if older { Some(self.older.entry(pages, pin)?) } else { None };
        let b = if newer { Some(self.newer.entry(pages, pin)?) } else { None };
        if let Some((node, at)) = a.as_ref().or(b.as_ref()) {
            node.key_into(*at, &mut self.key);
        }
        for (side, told) in [(&mut self.older, &a), (&mut self.newer, &b)] {
            if let Some((_, at)) = told {
                side.come_to(at + 1);
            }
        }
        let cell = |told: Option<(Node<'a>, usize)>| told.map(|(node, at)| node.cell(at).0);
        Ok(Next::Changed(Changed { key: &self.key, older: cell(a), newer: cell(b) }))
    }
}

/// Whether one key's entry differs between two roots. All pages must be in memory.
pub(crate) fn differs_at(
    pages: &Pages,
    pin: &Pin<'_>,
    older: PageRef,
    newer: PageRef,
    key: &[u8],
) -> Result<bool, Stop> {
    let node = |page: PageRef| match page.is_none() {
        true => Ok(None),
        false => pages.get(pin, page).map(|bytes| Some(Node::new(bytes))).ok_or(Stop::Miss(page)),
    };
    let (mut older, mut newer) = (older, newer);
    for _ in 0..2 * MAX_DEPTH {
        if older == newer {
            return Ok(false);
        }
        let (a, b) = (node(older)?, node(newer)?);
        let level = |node: &Option<Node<'_>>| node.as_ref().map_or(0, Node::level);
        let (level_a, level_b) = (level(&a), level(&b));
        if level_a == 0 && level_b == 0 {
            return Ok(a.and_then(|leaf| entry_at(leaf, key)) != b.and_then(|leaf| entry_at(leaf, key)));
        }
        if let Some(node) = a.filter(|_| level_a >= level_b) {
            older = node.child(node.child_for(key));
        }
        if let Some(node) = b.filter(|_| level_b >= level_a) {
            newer = node.child(node.child_for(key));
        }
    }
    Err(Stop::Misplaced(newer))
}

fn entry_at<'p>(leaf: Node<'p>, key: &[u8]) -> Option<Cell<'p>> {
    let (at, found) = leaf.search(key);
    found.then(|| leaf.cell(at).0)
}

/// A page on the way down.
#[derive(Clone, Copy, Debug)]
struct Step {
    page: PageRef,
    level: u8,
    /// The child or entry that the walk is at, and the first of them that is in range.
    at: usize,
    start: usize,
    /// Entries of a leaf from here on are beyond the range.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The page is next, and was not looked at yet.
    Before(PageRef),
    /// At an entry of the last step's leaf.
    Entry,
    /// Done with what the last step is at.
    Behind,
    End,
}

/// One of the two trees, and how far the walk has come in it.
#[derive(Debug)]
struct Side {
    root: PageRef,
    steps: Vec<Step>,
    place: Place,
    /// No entry from here on has a key below this.
    fence: Vec<u8>,
    /// On the way that the lower bound leads.
    by_bound: bool,
}

impl Side {
    fn new(root: PageRef) -> Side {
        Side { root, steps: Vec::new(), place: Place::End, fence: Vec::new(), by_bound: true }
    }

    fn restart(&mut self, is_empty: bool) {
        self.steps.clear();
        self.fence.clear();
        self.by_bound = true;
        self.place = if self.root.is_none() || is_empty { Place::End } else { Place::Before(self.root) };
    }

    fn last(&self) -> &Step {
        self.steps.last().expect("an entry lies in a leaf")
    }

    /// The leaf and the entry in it.
    fn entry<'a>(&self, pages: &'a Pages, pin: &'a Pin<'_>) -> Result<(Node<'a>, usize), Stop> {
        let Step { page, at, .. } = *self.last();
        pages.get(pin, page).map(|bytes| (Node::new(bytes), at)).ok_or(Stop::Miss(page))
    }

    /// To another entry of the same leaf, or behind all of them.
    fn come_to(&mut self, at: usize) {
        let last = self.steps.last_mut().expect("an entry lies in a leaf");
        last.at = at;
        self.place = if at < last.end { Place::Entry } else { Place::Behind };
    }

    /// Whether the entry lies before all that the other side, which stands before a page or at its end, has left.
    fn is_before(&self, other: &Side, pages: &Pages, pin: &Pin<'_>) -> Result<bool, Stop> {
        if other.place == Place::End {
            return Ok(true);
        }
        let (node, at) = self.entry(pages, pin)?;
        Ok(node.key_cmp(at, &other.fence).is_lt())
    }

    /// The pages of which nothing that is in range was passed yet, from the lowest up, each with the number of steps
    /// above it.
    fn beginnings(&self) -> impl Iterator<Item = (usize, PageRef)> + '_ {
        let before = match self.place {
            Place::Before(page) => Some((self.steps.len(), page)),
            _ => None,
        };
        let untouched = |step: &Step| step.at == step.start && self.place != Place::End;
        let untouched = self.steps.iter().enumerate().rev().take_while(move |(_, step)| untouched(step));
        before.into_iter().chain(untouched.map(|(above, step)| (above, step.page)))
    }

    /// Behind the page that has so many steps above it.
    fn step_over(&mut self, above: usize) {
        self.steps.truncate(above);
        self.place = Place::Behind;
        self.by_bound = false;
    }

    /// From behind something to what comes after it.
    fn step_on(&mut self, pages: &Pages, pin: &Pin<'_>, upper: Bound<&[u8]>) -> Result<(), Stop> {
        while self.place == Place::Behind {
            let Some(last) = self.steps.last_mut() else {
                self.place = Place::End;
                break;
            };
            let node = Node::new(pages.get(pin, last.page).ok_or(Stop::Miss(last.page))?);
            if !node.is_inner() || last.at >= node.count() {
                self.place = match node.is_inner() || last.end == node.count() {
                    true => Place::Behind,
                    false => Place::End,
                };
                self.steps.pop();
                continue;
            }
            let is_beyond = match upper {
                Bound::Unbounded => false,
                Bound::Included(upper) => node.key_cmp(last.at, upper).is_gt(),
                Bound::Excluded(upper) => node.key_cmp(last.at, upper).is_ge(),
            };
            node.key_into(last.at, &mut self.fence);
            last.at += 1;
            self.by_bound = false;
            self.place = if is_beyond { Place::End } else { Place::Before(node.child(last.at)) };
        }
        Ok(())
    }

    /// Looks into the page that is next.
    fn enter(&mut self, pages: &Pages, pin: &Pin<'_>, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<(), Stop> {
        let Place::Before(page) = self.place else { return Ok(()) };
        let node = Node::new(pages.get(pin, page).ok_or(Stop::Miss(page))?);
        let level = node.level();
        let is_misplaced = self.steps.last().is_some_and(|above| above.level != level + 1);
        if is_misplaced || self.steps.len() == MAX_DEPTH || (level == 0) == node.is_inner() {
            return Err(Stop::Misplaced(page));
        }
        let lower = if self.by_bound { lower } else { Bound::Unbounded };
        if node.is_inner() {
            let start = match lower {
                Bound::Unbounded => 0,
                Bound::Included(key) | Bound::Excluded(key) => node.child_for(key),
            };
            self.steps.push(Step { page, level, at: start, start, end: usize::MAX });
            self.place = Place::Before(node.child(start));
            return Ok(());
        }
        let start = match lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => node.search(key).0,
            Bound::Excluded(key) => node.child_for(key),
        };
        let end = match upper {
            Bound::Unbounded => node.count(),
            Bound::Included(key) => node.child_for(key),
            Bound::Excluded(key) => node.search(key).0,
        };
        self.by_bound = false;
        self.steps.push(Step { page, level, at: start, start, end });
        self.come_to(start);
        Ok(())
    }
}

fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

//! The order of joins: dynamic programming over sets of units, greedily where there are many.
//!
//! Sets without a condition between them are joined only where nothing else is left.

use std::collections::HashMap;

use super::graph::{JoinGraph, Units, Way};
use super::method::{Candidate, Pair};
use crate::Result;
use crate::plan::options::OptimizerOptions;
use crate::plan::order::Order;
use crate::plan::physical::Estimate;

/// Up to this many units every order is considered: 3^n pairs of sets.
const DYNAMIC_MAX: usize = 9;

/// How a set is made.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Unit(usize),
    /// The different rows of a semi join's unit.
    Keys(usize),
    Join {
        left: Box<Tree>,
        right: Box<Tree>,
        chosen: Candidate,
    },
}

impl Tree {
    /// The unit whose order it has.
    pub(in crate::plan) fn first(&self) -> usize {
        match self {
            Tree::Unit(unit) | Tree::Keys(unit) => *unit,
            Tree::Join { left, .. } => left.first(),
        }
    }

    /// The units in it.
    pub(in crate::plan) fn units(&self) -> Units {
        match self {
            Tree::Unit(unit) | Tree::Keys(unit) => 1 << unit,
            Tree::Join { left, right, .. } => left.units() | right.units(),
        }
    }

    fn join(left: Tree, right: Tree, chosen: Candidate) -> Tree {
        let keys = |tree: Tree| match tree {
            Tree::Unit(unit) => Tree::Keys(unit),
            other => other,
        };
        let (left, right) = match chosen.way {
            Way::AsWritten => (left, right),
            Way::LeftKeys => (keys(left), right),
            Way::RightKeys => (left, keys(right)),
        };
        Tree::Join { left: Box::new(left), right: Box::new(right), chosen }
    }
}

/// The best known way to make a set.
struct Entry {
    estimate: Estimate,
    /// By global columns.
    order: Order,
    split: Option<(Units, Units, Candidate)>,
}

/// Chooses the order and the methods.
pub(in crate::plan) fn choose(graph: &JoinGraph, options: &OptimizerOptions) -> Result<Option<Tree>> {
    let chosen = match graph.units.len() {
        0 => return Ok(None),
        1 => return Ok(Some(Tree::Unit(0))),
        _ if !options.rewrites || !options.reorder_joins => None,
        count if count <= DYNAMIC_MAX => dynamic(graph, options)?,
        _ => greedy(graph, options)?,
    };
    Ok(chosen.or_else(|| as_written(graph, options)))
}

/// From the first unit to the last.
fn as_written(graph: &JoinGraph, options: &OptimizerOptions) -> Option<Tree> {
    let mut parts = leaves(graph).into_iter();
    let first = parts.next()?;
    let join = |left: Part, right: Part| {
        let sets = ((left.units, left.estimate), (right.units, right.estimate));
        let pair = Pair::new(graph, options, sets.0, sets.1, Way::AsWritten);
        let chosen = pair.best(None, (&left.order, &right.order));
        left.joined(right, chosen, (graph, options))
    };
    Some(parts.fold(first, join).tree)
}

/// A set on its way to the whole.
struct Part {
    tree: Tree,
    units: Units,
    estimate: Estimate,
    order: Order,
}

fn leaves(graph: &JoinGraph) -> Vec<Part> {
    let part = |(place, unit): (usize, &super::graph::Unit)| Part {
        tree: Tree::Unit(place),
        units: 1 << place,
        estimate: unit.planned.estimate(),
        order: unit.order.clone(),
    };
    graph.units.iter().enumerate().map(part).collect()
}

/// The cheapest way to join two sets, if they can be joined; if `connected`, by a condition.
fn candidate(
    graph: &JoinGraph,
    options: &OptimizerOptions,
    (left, right): ((Units, Estimate), (Units, Estimate)),
    orders: (&Order, &Order),
    connected: bool,
    rows: &mut Option<f64>,
) -> Option<Candidate> {
    let ways = graph.ways(left.0, right.0).filter(|&way| !connected || graph.is_connected(left.0, right.0, way));
    let candidates = ways.map(|way| {
        let pair = Pair::new(graph, options, left, right, way);
        let rows = *rows.get_or_insert_with(|| pair.rows());
        pair.best(Some(rows), orders)
    });
    candidates.min_by(|a, b| graph.cost_of_share(a.estimate).total_cmp(&graph.cost_of_share(b.estimate)))
}

impl Part {
    fn joined(self, right: Part, chosen: Candidate, (graph, options): (&JoinGraph, &OptimizerOptions)) -> Part {
        let (units, estimate) = (self.units | right.units, chosen.estimate);
        let sets = ((self.units, self.estimate), (right.units, right.estimate));
        let order = Pair::new(graph, options, sets.0, sets.1, chosen.way).order(&chosen, &self.order);
        Part { tree: Tree::join(self.tree, right.tree, chosen), units, estimate, order }
    }
}

/// Joins, again and again, the two parts that give the fewest rows.
///
/// What a pair costs is worked out once for as long as both its parts are there: a query of n units asks for n^2 pairs, not n^3.
fn greedy(graph: &JoinGraph, options: &OptimizerOptions) -> Result<Option<Tree>> {
    let mut parts: Vec<(usize, Part)> = leaves(graph).into_iter().enumerate().collect();
    let mut pairs = [Pairs::default(), Pairs::default()];
    for next in parts.len().. {
        if parts.len() < 2 {
            break;
        }
        let [connected, others] = &mut pairs;
        let mut best = cheapest_pair((graph, options), &parts, true, connected)?;
        if best.is_none() {
            best = cheapest_pair((graph, options), &parts, false, others)?;
        }
        let Some((left, right, chosen)) = best else { return Ok(None) };
        let (_, right_part) = parts.remove(right);
        let (_, left_part) = parts.remove(if right < left { left - 1 } else { left });
        parts.push((next, left_part.joined(right_part, chosen, (graph, options))));
    }
    Ok(parts.pop().map(|(_, part)| part.tree))
}

/// By the numbers of two parts: how they are joined best, if they can be.
type Pairs = HashMap<(usize, usize), Option<Candidate>>;

/// Two parts by their places, how cheap their join is, and their numbers.
type Cheapest = (usize, usize, (f64, f64), (usize, usize));

fn cheapest_pair(
    (graph, options): (&JoinGraph, &OptimizerOptions),
    parts: &[(usize, Part)],
    connected: bool,
    pairs: &mut Pairs,
) -> Result<Option<(usize, usize, Candidate)>> {
    let mut best: Option<Cheapest> = None;
    for (i, (left_number, left)) in parts.iter().enumerate() {
        options.check()?;
        for (j, (right_number, right)) in parts.iter().enumerate().filter(|(j, _)| *j != i) {
            let numbers = (*left_number, *right_number);
            let found = pairs.entry(numbers).or_insert_with(|| {
                let sets = ((left.units, left.estimate), (right.units, right.estimate));
                candidate(graph, options, sets, (&left.order, &right.order), connected, &mut None)
            });
            let Some(Candidate { estimate, .. }) = found else { continue };
            let rank = (estimate.rows, graph.cost_of_share(*estimate));
            if best.as_ref().is_none_or(|(_, _, least, _)| rank < *least) {
                best = Some((i, j, rank, numbers));
            }
        }
    }
    let chosen = |(i, j, _, numbers)| Some((i, j, pairs.get(&numbers).cloned().flatten()?));
    Ok(best.and_then(chosen))
}

/// The best tree of every set that can be made, from small sets to large ones.
fn dynamic(graph: &JoinGraph, options: &OptimizerOptions) -> Result<Option<Tree>> {
    let count = graph.units.len();
    let mut entries: HashMap<Units, Entry> = HashMap::new();
    for (place, unit) in graph.units.iter().enumerate() {
        let (estimate, order) = (unit.planned.estimate(), unit.order.clone());
        entries.insert(1 << place, Entry { estimate, order, split: None });
    }
    let full: Units = (1 << count) - 1;
    let mut sets: Vec<Units> = (1..=full).filter(|set| set.count_ones() > 1).collect();
    sets.sort_by_key(|set| set.count_ones());
    for set in sets {
        options.check()?;
        let entry = best_split(graph, options, &entries, set, true)
            .or_else(|| best_split(graph, options, &entries, set, false));
        if let Some(entry) = entry {
            entries.insert(set, entry);
        }
    }
    Ok(tree(&entries, full))
}

fn best_split(
    graph: &JoinGraph,
    options: &OptimizerOptions,
    entries: &HashMap<Units, Entry>,
    set: Units,
    connected: bool,
) -> Option<Entry> {
    let mut best: Option<(Units, Units, Candidate)> = None;
    let mut rows = None;
    let mut left = (set - 1) & set;
    while left != 0 {
        let right = set & !left;
        if let (Some(a), Some(b)) = (entries.get(&left), entries.get(&right)) {
            let sets = ((left, a.estimate), (right, b.estimate));
            let found = candidate(graph, options, sets, (&a.order, &b.order), connected, &mut rows);
            let cost = |candidate: &Candidate| graph.cost_of_share(candidate.estimate);
            if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| cost(found) < cost(&best.2))) {
                best = Some((left, right, found));
            }
        }
        left = (left - 1) & set;
    }
    let (left, right, chosen) = best?;
    let (a, b) = (entries.get(&left)?, entries.get(&right)?);
    let pair = Pair::new(graph, options, (left, a.estimate), (right, b.estimate), chosen.way);
    let order = pair.order(&chosen, &a.order);
    Some(Entry { estimate: chosen.estimate, order, split: Some((left, right, chosen)) })
}

fn tree(entries: &HashMap<Units, Entry>, set: Units) -> Option<Tree> {
    match &entries.get(&set)?.split {
        None => Some(Tree::Unit(set.trailing_zeros() as usize)),
        Some((left, right, chosen)) => Some(Tree::join(tree(entries, *left)?, tree(entries, *right)?, chosen.clone())),
    }
}

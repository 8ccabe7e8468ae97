//! What indexes rest on besides columns, bound, and where conditions speak of it.

use std::borrow::Cow;

use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::conjuncts;
use crate::plan::expressions::walk;
use crate::plan::rewrites::fold::fold;

/// An index's expressions, over its table's columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundIndex {
    /// What stands for each in the index's key, and it.
    pub(crate) expressions: Vec<(usize, Expr)>,
    /// Rows for which it is not true have no entry.
    pub(crate) predicate: Option<Expr>,
    /// It rests on functions or types that users made, whatever became of their calls.
    pub(crate) of_users: bool,
}

impl BoundIndex {
    /// The same of rows that have their entries: what domains ask for was looked at when these were made, and their conditions may be
    /// others by now.
    pub(crate) fn kept(&self) -> BoundIndex {
        BoundIndex {
            expressions: self.expressions.iter().map(|(column, expr)| (*column, unasked(expr))).collect(),
            predicate: self.predicate.as_ref().map(unasked),
            of_users: self.of_users,
        }
    }

    /// All that is evaluated for an entry.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> + Clone {
        self.expressions.iter().map(|(_, expr)| expr).chain(&self.predicate)
    }
}

/// The same value, of no domain.
fn unasked(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    walk::rewrite(&mut expr, 0, &mut |expr, _| match expr {
        Expr::Call { function, args } if function.asks_only_domain() => args.first().map(unasked),
        _ => None,
    });
    expr
}

/// One for each index of a table, of which at least one has expressions.
#[derive(Debug)]
pub(crate) struct BoundIndexes {
    pub(crate) all: Vec<BoundIndex>,
    /// By index: see [`BoundIndex::kept`].
    pub(crate) kept: Vec<BoundIndex>,
    /// By index: as [`BoundIndex::expressions`], but folded as a query's are.
    keys: Vec<Vec<(usize, Expr)>>,
    /// By index: the folded parts of its predicate.
    predicates: Vec<Vec<Expr>>,
}

impl BoundIndexes {
    pub(crate) fn new(all: Vec<BoundIndex>) -> BoundIndexes {
        let folded = |expr: &Expr| {
            let mut expr = expr.clone();
            fold(&mut expr);
            expr
        };
        let key = |(key, expr): &(usize, Expr)| (*key, folded(expr));
        let parts = |index: &BoundIndex| index.predicate.iter().map(folded).flat_map(conjuncts).collect();
        BoundIndexes {
            keys: all.iter().map(|index| index.expressions.iter().map(key).collect()).collect(),
            predicates: all.iter().map(parts).collect(),
            kept: all.iter().map(BoundIndex::kept).collect(),
            all,
        }
    }

    /// The parts of an index's predicate, over the table's columns; none where every row has an entry.
    pub(in crate::plan) fn predicate(&self, index: usize) -> &[Expr] {
        self.predicates.get(index).map_or(&[], Vec::as_slice)
    }

    /// The expression that stands in an index's key, over some of the table's columns.
    pub(super) fn expression_of(&self, index: usize, key: usize, columns: &[usize]) -> Option<Expr> {
        let (_, expr) = self.keys.get(index)?.iter().find(|(own, _)| *own == key)?;
        over(expr, columns)
    }

    /// The columns, with an index's expressions behind them; and the conditions over those, as its key can answer them.
    pub(super) fn keyed<'a>(&self, index: usize, columns: &'a [usize], conditions: &'a [Expr]) -> Keyed<'a> {
        let keys: Vec<(usize, Expr)> = self.keys(index, columns).collect();
        if keys.is_empty() {
            return Keyed { columns: columns.into(), conditions: conditions.into() };
        }
        let replaced = |condition: &Expr| with_keys(condition, columns.len(), &keys);
        let all = columns.iter().copied().chain(keys.iter().map(|(key, _)| *key));
        Keyed { columns: all.collect(), conditions: conditions.iter().map(replaced).collect() }
    }

    /// What stands for an index's expressions in its key, and they, over some of the table's columns.
    pub(super) fn keys(&self, index: usize, columns: &[usize]) -> impl Iterator<Item = (usize, Expr)> {
        let keys = self.keys.get(index).map_or(&[][..], Vec::as_slice);
        keys.iter().filter_map(move |(key, expr)| Some((*key, over(expr, columns)?)))
    }
}

/// A condition over columns, of which there are so many, as one over those and the expressions of keys behind them.
pub(super) fn with_keys(condition: &Expr, columns: usize, keys: &[(usize, Expr)]) -> Expr {
    let mut condition = condition.clone();
    walk::rewrite(&mut condition, 0, &mut |expr, depth| {
        let at = keys.iter().position(|(_, key)| depth == 0 && same_expr(key, expr))?;
        Some(Expr::Column { index: columns + at, data_type: expr.data_type() })
    });
    condition
}

/// What keys see of a table: columns, expressions of indexes, and conditions over both.
pub(in crate::plan) struct Keyed<'a> {
    pub(in crate::plan) columns: Cow<'a, [usize]>,
    pub(in crate::plan) conditions: Cow<'a, [Expr]>,
}

/// An expression over a table's columns as one over some of them, in their order; `None`: it has others.
pub(crate) fn over(expr: &Expr, columns: &[usize]) -> Option<Expr> {
    let (mut expr, mut complete) = (expr.clone(), true);
    walk::rewrite(&mut expr, 0, &mut |expr, _| {
        let Expr::Column { index, data_type } = expr else { return None };
        let place = columns.iter().position(|column| column == index);
        complete &= place.is_some();
        Some(Expr::Column { index: place.unwrap_or(*index), data_type: *data_type })
    });
    complete.then_some(expr)
}

//! Access paths: every way to read a table under some conditions, with its cost and the order it gives.

use std::sync::Arc;

use super::implied::is_implied;
use super::indexes::{BoundIndexes, Keyed, over};
use super::keys::{KeyCondition, KeyPart, elements_of, key_any, key_condition, key_list};
use super::known::Known;
use crate::catalog::{Index, IndexColumn, Table};
use crate::inverted::{ItemClass, Query, commuted};
use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::has_subquery;
use crate::plan::expressions::refs::{conjuncts, is_constant};
use crate::plan::logical::{LogicalPlan, scanned_fields};
use crate::plan::order::Order;
use crate::plan::physical::{Estimate, ItemCondition, Items, KeyBound, KeyRange};
use crate::plan::statistics::cost;
use crate::plan::statistics::estimate::{ColumnInfo, table_rows};
use crate::types::key::is_decodable;
use crate::types::{DataType, Value};

/// More ranges than this come of no IN list.
const RANGES_MAX: usize = 256;

/// A table's columns under conditions over them: `Filter`s over a `Scan`.
#[derive(Clone, Debug)]
pub(in crate::plan) struct TableShape {
    pub(in crate::plan) table: Arc<Table>,
    pub(in crate::plan) alias: Option<Arc<str>>,
    pub(in crate::plan) columns: Vec<usize>,
    pub(in crate::plan) indexes: Option<Arc<BoundIndexes>>,
    pub(in crate::plan) conditions: Vec<Expr>,
}

impl TableShape {
    /// The shape, if the plan has it.
    pub(in crate::plan) fn of(plan: &LogicalPlan) -> Option<TableShape> {
        match plan {
            LogicalPlan::Scan { table, columns, indexes, alias } => Some(TableShape {
                table: table.clone(),
                alias: alias.clone(),
                columns: columns.clone(),
                indexes: indexes.clone(),
                conditions: vec![],
            }),
            LogicalPlan::Filter { input, predicate } => {
                let mut shape = TableShape::of(input)?;
                shape.conditions.extend(conjuncts(predicate.clone()));
                Some(shape)
            }
            _ => None,
        }
    }

    /// What is known of each column, before the conditions.
    pub(in crate::plan) fn infos(&self) -> Vec<ColumnInfo> {
        self.columns.iter().map(|&column| ColumnInfo::of_table(&self.table, column)).collect()
    }

    /// What is known of its rows, and of those that the conditions let pass.
    pub(in crate::plan) fn known(&self) -> Known<'_> {
        let within = (0..self.table.indexes.len()).filter(|at| self.indexes.is_some() && self.is_within(*at));
        let keys = within.flat_map(|at| self.indexes.iter().flat_map(move |of| of.keys(at, &self.columns)));
        Known::of((&self.table, self.infos()), keys, &self.conditions)
    }

    /// What in its rows stands for a column of the path's key: a column, or an index's expression.
    fn shown(&self, column: usize, path: &AccessPath) -> Option<Expr> {
        if let Some(index) = self.columns.iter().position(|&own| own == column) {
            let data_type = self.table.columns.get(column).map_or(DataType::BigInt, |column| column.data_type);
            return Some(Expr::Column { index, data_type });
        }
        let index = path.index.as_ref()?;
        let at = self.table.indexes.iter().position(|known| known.id == index.id)?;
        self.expression(at, column)
    }

    /// What a column of the index at this position stands for, over the columns, if it is an expression.
    pub(in crate::plan) fn expression(&self, index: usize, column: usize) -> Option<Expr> {
        self.indexes.as_ref()?.expression_of(index, column, &self.columns)
    }

    /// How many different values a column of the table or of one of its indexes has.
    pub(in crate::plan) fn distinct(&self, column: usize) -> f64 {
        ColumnInfo::of_table(&self.table, column).distinct
    }

    /// What the key of the index at this position sees of it; `None`: the primary key.
    pub(in crate::plan) fn keyed(&self, index: Option<usize>) -> Keyed<'_> {
        match (&self.indexes, index) {
            (Some(indexes), Some(index)) => indexes.keyed(index, &self.columns, &self.conditions),
            _ => Keyed { columns: (&*self.columns).into(), conditions: (&*self.conditions).into() },
        }
    }

    /// What the entries of the index at this position have in common, over the columns.
    fn predicate(&self, index: usize) -> Vec<Expr> {
        let parts = self.indexes.iter().flat_map(|indexes| indexes.predicate(index));
        parts.filter_map(|part| over(part, &self.columns)).collect()
    }

    /// Whether every row under the conditions has an entry in the index at this position.
    pub(in crate::plan) fn is_within(&self, index: usize) -> bool {
        let predicate = self.indexes.as_ref().map_or(&[][..], |indexes| indexes.predicate(index));
        predicate.iter().all(|part| over(part, &self.columns).is_some_and(|part| is_implied(&part, &self.conditions)))
    }
}

/// A way to read a table.
#[derive(Clone, Debug)]
pub(in crate::plan) struct AccessPath {
    /// None: the table's own tree.
    pub(in crate::plan) index: Option<Arc<Index>>,
    pub(in crate::plan) ranges: Vec<KeyRange>,
    /// In place of ranges: what an inverted index is asked.
    pub(in crate::plan) items: Option<Items<ItemCondition>>,
    /// As in `PhysicalNode::IndexScan`.
    pub(in crate::plan) both: Option<(Arc<Index>, Vec<KeyRange>)>,
    /// The whole of a unique key is given: at most one row.
    pub(in crate::plan) point: bool,
    /// Positions of the conditions that the ranges answer.
    pub(in crate::plan) answered: Vec<usize>,
    /// Positions of those that the ranges answer but for rows that are asked again.
    pub(super) narrowed: Vec<usize>,
    pub(in crate::plan) covering: bool,
    /// The key columns, and how many of them have one value only.
    pub(in crate::plan) key: Vec<IndexColumn>,
    pub(in crate::plan) fixed: usize,
    /// Rows in the ranges, before the other conditions.
    pub(super) matched: f64,
    pub(in crate::plan) estimate: Estimate,
}

/// A whole unique key.
#[derive(Debug)]
pub(super) struct PointKey {
    /// None: the primary key.
    pub(in crate::plan) index: Option<Arc<Index>>,
    /// One value for each of its columns.
    pub(in crate::plan) key: Vec<Expr>,
    /// Positions of the conditions that it answers.
    pub(in crate::plan) answered: Vec<usize>,
}

/// All paths, the plain scan first.
pub(in crate::plan) fn paths(shape: &TableShape, indexes: bool) -> Vec<AccessPath> {
    let known = shape.known();
    let mut found = vec![full_scan(shape, &known)];
    if !indexes {
        return found;
    }
    let keyed = shape.keyed(None);
    let key = shape.table.row_key().to_vec();
    found.extend(Matcher::new((shape, &keyed), key, true).finish(None, &known));
    for (at, index) in shape.table.indexes.iter().enumerate().filter(|(at, _)| shape.is_within(*at)) {
        let keyed = shape.keyed(Some(at));
        if index.is_inverted() {
            found.extend(by_items((shape, &keyed), index, &known));
            continue;
        }
        let matcher = Matcher::new((shape, &keyed), index.columns.clone(), index.unique);
        found.extend(matcher.finish(Some((at, index)), &known));
    }
    found
}

/// The only whole unique key that conditions over a table's columns give; none where there is no such key, or a choice of
/// them, which costs decide. [`Planner::scan`](crate::plan::planner::Planner::scan) prefers its path to any other.
pub(super) fn only_point(table: &Table, columns: &[usize], conditions: &[&Expr]) -> Option<PointKey> {
    let mut points = table.unique_indexes().filter_map(|index| {
        let (key, answered) = whole_key(table, columns, conditions, index.positions())?;
        Some(PointKey { index: (!table.lies_by(index)).then(|| index.clone()), key, answered })
    });
    let only = points.next()?;
    points.next().is_none().then_some(only)
}

/// A value for each column of a key, and the conditions that give them.
fn whole_key(
    table: &Table,
    columns: &[usize],
    conditions: &[&Expr],
    parts: impl ExactSizeIterator<Item = usize>,
) -> Option<(Vec<Expr>, Vec<usize>)> {
    let type_of = |position: usize| Some(table.columns.get(*columns.get(position)?)?.data_type);
    let (mut key, mut answered) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
    for part in parts {
        let open = conditions.iter().copied().enumerate().filter(|(place, _)| !answered.contains(place));
        let (place, value) = equality(open, columns, part, &type_of)?;
        key.push(value);
        answered.push(place);
    }
    (!key.is_empty()).then_some((key, answered))
}

/// The first condition that says which value the table's column has.
fn equality<'e>(
    mut conditions: impl Iterator<Item = (usize, &'e Expr)>,
    columns: &[usize],
    column: usize,
    type_of: &dyn Fn(usize) -> Option<DataType>,
) -> Option<(usize, Expr)> {
    conditions.find_map(|(place, condition)| {
        let found = key_condition(condition, type_of)?;
        let KeyPart::Equal(value) = found.key else { return None };
        (columns.get(found.column) == Some(&column)).then_some((place, value))
    })
}

pub(in crate::plan) fn table_width(table: &Arc<Table>) -> f64 {
    (0..table.columns.len()).fold(0.0, |sum, column| sum + ColumnInfo::of_table(table, column).width)
}

fn entry_width(table: &Arc<Table>, index: &Index) -> f64 {
    let row_key = table.row_key();
    let columns = index.columns.iter().chain(row_key).map(|part| part.column);
    // Rows without a key have their number.
    let columns = columns.chain(row_key.is_empty().then_some(Table::ROW_NUMBER));
    columns.fold(0.0, |sum, column| sum + ColumnInfo::of_table(table, column).width)
}

fn full_scan(shape: &TableShape, known: &Known<'_>) -> AccessPath {
    let all = table_rows(&shape.table);
    let rows = (all * known.share()).max(1.0);
    let filter = shape.conditions.len() as f64 * cost::OPERATOR;
    // A scan too begins by finding a place in the tree: reading one row by key is never dearer, however small the table.
    let total = cost::LOOKUP + cost::sequential(all, table_width(&shape.table)) + all * (cost::ROW + filter);
    AccessPath {
        index: None,
        ranges: vec![KeyRange::default()],
        items: None,
        both: None,
        point: false,
        answered: vec![],
        narrowed: vec![],
        covering: false,
        key: shape.table.row_key().to_vec(),
        fixed: 0,
        matched: all,
        estimate: Estimate { startup: 0.0, total, rows, width: known.width },
    }
}

/// Finds the conditions that a key answers.
struct Matcher<'a> {
    shape: &'a TableShape,
    keyed: &'a Keyed<'a>,
    key: Vec<IndexColumn>,
    unique: bool,
    prefixes: Vec<Vec<Expr>>,
    lower: Option<KeyBound>,
    upper: Option<KeyBound>,
    answered: Vec<usize>,
    narrowed: Vec<usize>,
    /// Leading key columns with one value only.
    fixed: usize,
    /// How many values each prefix has in place of an array, which stands for its elements, or its spans.
    elements: Option<f64>,
    /// Columns are behind spans: their values are asked for within those that are of one value only.
    behind_spans: bool,
}

impl<'a> Matcher<'a> {
    fn new((shape, keyed): (&'a TableShape, &'a Keyed<'a>), key: Vec<IndexColumn>, unique: bool) -> Self {
        let mut matcher = Matcher {
            shape,
            keyed,
            key,
            unique,
            prefixes: vec![vec![]],
            lower: None,
            upper: None,
            answered: vec![],
            narrowed: vec![],
            fixed: 0,
            elements: None,
            behind_spans: false,
        };
        matcher.run();
        matcher
    }

    fn run(&mut self) {
        for position in 0..self.key.len() {
            let column = self.key[position].column;
            if let Some((condition, value)) = self.equality(column) {
                self.push(condition, &value, true);
                self.fixed += usize::from(self.is_one_prefix());
            } else if let Some((condition, values)) = self.list(column) {
                let with = |prefix: &Vec<Expr>, value: &Expr| [prefix.clone(), vec![value.clone()]].concat();
                self.prefixes =
                    self.prefixes.iter().flat_map(|prefix| values.iter().map(|value| with(prefix, value))).collect();
                self.note(condition, true);
            } else if let Some((condition, key)) = self.any(column) {
                let (array, exact, is_spans) = match key {
                    KeyPart::Equal(array) => (array, true, false),
                    KeyPart::Within { spans, exact } => (spans, exact, true),
                    KeyPart::Range { .. } => return,
                };
                self.elements = Some(elements_of(&array));
                self.push(condition, &array, exact);
                self.behind_spans |= is_spans;
            } else {
                if self.is_one_prefix() {
                    self.bounds(column);
                }
                return;
            }
        }
    }

    /// Each prefix goes on with a value, or what stands for several.
    fn push(&mut self, condition: usize, value: &Expr, exact: bool) {
        self.prefixes.iter_mut().for_each(|prefix| prefix.push(value.clone()));
        self.note(condition, exact);
    }

    fn note(&mut self, condition: usize, exact: bool) {
        let is_answered = exact && !self.behind_spans;
        if is_answered { &mut self.answered } else { &mut self.narrowed }.push(condition);
    }

    fn type_of(&self, position: usize) -> Option<DataType> {
        self.shape.table.key_type(*self.keyed.columns.get(position)?)
    }

    fn is_column(&self, position: usize, column: usize) -> bool {
        self.keyed.columns.get(position) == Some(&column)
    }

    fn conditions(&self, column: usize) -> impl Iterator<Item = (usize, KeyCondition)> + '_ {
        let conditions = self.keyed.conditions.iter().enumerate().filter(|(place, _)| !self.answered.contains(place));
        conditions.filter_map(move |(place, condition)| {
            let found = key_condition(condition, &|position| self.type_of(position))?;
            self.is_column(found.column, column).then_some((place, found))
        })
    }

    fn equality(&self, column: usize) -> Option<(usize, Expr)> {
        let conditions = self.keyed.conditions.iter().enumerate();
        let open = conditions.filter(|(place, _)| !self.answered.contains(place));
        equality(open, &self.keyed.columns, column, &|position| self.type_of(position))
    }

    fn list(&self, column: usize) -> Option<(usize, Vec<Expr>)> {
        let mut lists = self.keyed.conditions.iter().enumerate().filter_map(|(place, condition)| {
            let (position, values) = key_list(condition, &|position| self.type_of(position))?;
            self.is_column(position, column).then_some((place, values))
        });
        lists.find(|(_, values)| values.len().saturating_mul(self.prefixes.len()) <= RANGES_MAX)
    }

    /// What the column has to be one of, or within. At most one array: several would multiply to who knows how many ranges.
    fn any(&self, column: usize) -> Option<(usize, KeyPart)> {
        if self.elements.is_some() {
            return None;
        }
        let spans = self.conditions(column).find(|(_, found)| matches!(found.key, KeyPart::Within { .. }));
        let arrays = || {
            self.keyed.conditions.iter().enumerate().find_map(|(place, condition)| {
                let found = key_any(condition, &|position| self.type_of(position))?;
                self.is_column(found.column, column).then_some((place, found))
            })
        };
        spans.or_else(arrays).map(|(place, found)| (place, found.key))
    }

    fn is_one_prefix(&self) -> bool {
        self.prefixes.len() == 1 && self.elements.is_none()
    }

    fn bounds(&mut self, column: usize) {
        let (mut lower, mut upper): (Option<KeyBound>, Option<KeyBound>) = (None, None);
        let (mut answered, mut narrowed) = (vec![], vec![]);
        for (place, KeyCondition { key, .. }) in self.conditions(column) {
            let KeyPart::Range { lower: from, upper: to, exact } = key else { continue };
            if (from.is_some() && lower.is_some()) || (to.is_some() && upper.is_some()) {
                continue;
            }
            (lower, upper) = (lower.or(from), upper.or(to));
            if exact { &mut answered } else { &mut narrowed }.push(place);
        }
        (self.lower, self.upper) = (lower, upper);
        self.answered.extend(answered);
        self.narrowed.extend(narrowed);
    }

    /// The path, if it is of any use: it answers something, gives an order, or reads less.
    fn finish(self, index: Option<(usize, &Arc<Index>)>, known: &Known<'_>) -> Option<AccessPath> {
        if self.key.is_empty() || (index.is_none() && self.answered.is_empty() && self.narrowed.is_empty()) {
            return None;
        }
        let predicate = index.map_or_else(Vec::new, |(at, _)| self.shape.predicate(at));
        let index = index.map(|(_, index)| index);
        let point = self.unique && self.is_one_prefix() && self.fixed == self.key.len();
        let covering = index.is_some_and(|index| is_covering(self.shape, index));
        let mut path = AccessPath {
            index: index.cloned(),
            ranges: vec![],
            items: None,
            both: None,
            point,
            answered: self.answered,
            narrowed: self.narrowed,
            covering,
            key: self.key,
            fixed: self.fixed,
            matched: 0.0,
            estimate: Estimate::default(),
        };
        let ranges = self.prefixes.len() as f64 * self.elements.unwrap_or(1.0);
        let (lower, upper) = (self.lower, self.upper);
        let whole = self.unique && lower.is_none() && upper.is_none();
        (path.matched, path.estimate) = estimate((self.shape, predicate), &path, ranges, whole, known);
        let ranges = self.prefixes.into_iter();
        path.ranges = ranges.map(|prefix| KeyRange { prefix, lower: lower.clone(), upper: upper.clone() }).collect();
        Some(path)
    }
}

/// The rows that an inverted index finds for the conditions that it can be asked; all are asked again. None where there are none.
fn by_items((shape, keyed): (&TableShape, &Keyed<'_>), index: &Arc<Index>, known: &Known<'_>) -> Option<AccessPath> {
    let asked = |condition: &Expr| items_of((shape, keyed), index, condition);
    let found = keyed.conditions.iter().enumerate().filter_map(|(at, condition)| Some((at, asked(condition)?)));
    let (places, items): (Vec<usize>, Vec<Items<ItemCondition>>) = found.unzip();
    if items.is_empty() {
        return None;
    }
    let all = table_rows(&shape.table);
    let conditions: Vec<Expr> = places.iter().map(|&place| known.conditions[place].clone()).collect();
    let matched = all * known.share_of(&conditions);
    let rows = (all * known.share()).clamp(1.0, matched.max(1.0));
    let filters = shape.conditions.len() as f64 * cost::OPERATOR;
    // Each item is looked for in lists and in notes.
    let row = cost::row_by_entry(table_width(&shape.table));
    let items = Items::And(items);
    let total = 2.0 * items.each().len() as f64 * cost::LOOKUP + matched * (row + filters);
    Some(AccessPath {
        index: Some(index.clone()),
        ranges: vec![],
        items: Some(items),
        both: None,
        point: false,
        answered: vec![],
        narrowed: vec![],
        covering: false,
        key: vec![],
        fixed: 0,
        matched,
        estimate: Estimate { startup: 0.0, total, rows, width: known.width },
    })
}

/// What of a condition the index can be asked: of an OR all of it or nothing.
fn items_of(of: (&TableShape, &Keyed<'_>), index: &Index, condition: &Expr) -> Option<Items<ItemCondition>> {
    let asked = |parts: &[Expr]| parts.iter().map(|part| items_of(of, index, part)).collect::<Vec<_>>();
    match condition {
        Expr::Or(parts) => Some(Items::Or(asked(parts).into_iter().collect::<Option<_>>()?)),
        Expr::And(parts) => {
            let parts: Vec<_> = asked(parts).into_iter().flatten().collect();
            (!parts.is_empty()).then_some(Items::And(parts))
        }
        _ => item_condition(of, index, condition).map(Items::One),
    }
}

/// The condition as one that the index can be asked.
fn item_condition((shape, keyed): (&TableShape, &Keyed<'_>), index: &Index, condition: &Expr) -> Option<ItemCondition> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    let symbol = &*function.name;
    let one_sided = |key: &Expr, symbol: &str, value: &Expr| {
        let Expr::Column { index: place, .. } = key else { return None };
        let is_asked = is_constant(value) && !has_subquery(value);
        let column = *keyed.columns.get(*place)?;
        let classes = &index.inverted.as_ref()?.classes;
        let parts = index.columns.iter().zip(classes).enumerate().filter(|(_, (part, _))| part.column == column);
        let found = parts.filter(|_| is_asked).find_map(|(at, (_, class))| Some((at, *class, class.operator(symbol)?)));
        let (at, class, operator) = found?;
        let data_type = shape.table.key_type(column)?;
        let is_same = match (data_type.element(), value.data_type().element()) {
            (Some(ours), Some(theirs)) if class == ItemClass::Array => ours.base() == theirs.base(),
            _ => class != ItemClass::Array,
        };
        let tells =
            |value: &Value| Query::of((class, at, data_type), operator, value).is_ok_and(|asks| asks != Query::All);
        let is_worth = !matches!(value, Expr::Literal { value, .. } if !tells(value));
        (is_same && is_worth).then(|| ItemCondition { column: at, operator, value: value.clone() })
    };
    one_sided(first, symbol, second).or_else(|| one_sided(second, commuted(symbol)?, first))
}

/// The rows in the path's ranges, and what reading them costs. `whole`: each range has at most one row, if it says all of
/// the key.
fn estimate(
    (shape, predicate): (&TableShape, Vec<Expr>),
    path: &AccessPath,
    ranges: f64,
    whole: bool,
    known: &Known<'_>,
) -> (f64, Estimate) {
    let all = table_rows(&shape.table);
    let answered = path.answered.iter().chain(&path.narrowed).map(|&place| known.conditions[place].clone());
    let mut answered: Vec<Expr> = answered.collect();
    for part in predicate.iter().map(|part| known.seen(part)) {
        if !answered.iter().any(|answered| same_expr(answered, &part)) {
            answered.push(part);
        }
    }
    let mut matched = all * known.share_of(&answered);
    if whole && path.answered.len() == path.key.len() {
        matched = matched.min(ranges);
    }
    let rows = (all * known.share()).clamp(1.0, matched.max(1.0));
    let filters = (shape.conditions.len() - path.answered.len()) as f64 * cost::OPERATOR;
    let width = table_width(&shape.table);
    let entry = match (&path.index, path.covering) {
        (None, _) => cost::sequential(1.0, width) + cost::ROW,
        // Nothing is asked of an entry but that it is there.
        (Some(index), true) if shape.columns.is_empty() => {
            cost::sequential(1.0, entry_width(&shape.table, index)) + cost::ROW
        }
        (Some(_), true) => cost::sequential(1.0, known.width) + cost::ENTRY + cost::COVERED,
        (Some(_), false) => cost::row_by_entry(width),
    };
    let total = ranges * cost::LOOKUP + matched * (entry + filters);
    (matched, Estimate { startup: 0.0, total, rows, width: known.width })
}

/// Whether an index entry tells all columns of the shape.
pub(in crate::plan) fn is_covering(shape: &TableShape, index: &Index) -> bool {
    tells_all(&shape.table, index, &shape.columns)
}

/// Whether an index entry tells all of a table's columns that are asked for.
pub(in crate::plan) fn tells_all(table: &Table, index: &Index, columns: &[usize]) -> bool {
    columns.iter().all(|&column| {
        let in_entry = index.columns.iter().any(|key| key.column == column)
            || table.is_in_row_key(column)
            || column == Table::ROW_NUMBER;
        in_entry && table.columns.get(column).is_none_or(|column| is_decodable(column.data_type))
    })
}

impl AccessPath {
    /// The order of its rows, read forwards.
    pub(in crate::plan) fn order(&self, shape: &TableShape) -> Order {
        let table = &*shape.table;
        let shown = |column: usize| shape.shown(column, self);
        let mut order = match &self.index {
            _ if self.point => return Order::of_one_row(&scanned_fields(table, &shape.columns)),
            Some(_) if self.items.is_some() => Order::of_key((table, None), table.row_key(), 0, false, &shown),
            index => Order::of_key((table, index.as_deref()), &self.key, self.fixed, false, &shown),
        };
        shape.conditions.iter().for_each(|condition| order.learn(condition));
        order
    }
}

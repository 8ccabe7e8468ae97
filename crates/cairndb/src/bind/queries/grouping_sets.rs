//! GROUPING SETS, ROLLUP and CUBE.
//!
//! The query's input is computed once (as a WITH query's), aggregated once for each set, and the results are put
//! together by UNION ALL. Whatever the set, a row is: every group expression (NULL where the set lacks it), the
//! aggregates, then the GROUPING calls.

use std::collections::HashSet;

use cairn_parser::{self as ast, GroupItem, Id, List};

use super::select::Output;
use crate::bind::binder::Binder;
use crate::bind::expressions::coerce::null;
use crate::bind::relations::scope::Env;
use crate::plan::{AggregateCall, Expr, Field, LogicalPlan, SetOperator, same_expr};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// PostgreSQL's limit.
const SETS_MAX: usize = 4096;

/// GROUP BY: the expressions, and the sets of them (positions) where there is more than the one of all.
#[derive(Default)]
pub(in crate::bind) struct GroupBy {
    pub(in crate::bind) exprs: Vec<Expr>,
    pub(in crate::bind) sets: Option<Vec<Vec<usize>>>,
}

impl GroupBy {
    /// The expression's position; the same expression has one.
    fn add(&mut self, expr: Expr) -> usize {
        self.exprs.iter().position(|other| same_expr(other, &expr)).unwrap_or_else(|| {
            self.exprs.push(expr);
            self.exprs.len() - 1
        })
    }

    /// Several elements of GROUP BY combine: each set of one with each of the other.
    fn combine(&mut self, alternatives: Vec<Vec<usize>>) -> Result<()> {
        let known = self.sets.take().unwrap_or_else(|| vec![vec![]]);
        check_count(known.len().saturating_mul(alternatives.len()))?;
        let joined = known.iter().flat_map(|set| alternatives.iter().map(move |other| union(set, other)));
        self.sets = Some(joined.collect());
        Ok(())
    }
}

fn check_count(sets: usize) -> Result<()> {
    if sets <= SETS_MAX {
        return Ok(());
    }
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message))
}

/// GROUP BY DISTINCT: of sets of the same groups the first.
fn keep_distinct(sets: &mut Vec<Vec<usize>>) {
    let mut seen = HashSet::new();
    sets.retain(|set| {
        let mut sorted = set.clone();
        sorted.sort_unstable();
        seen.insert(sorted)
    });
}

fn union(left: &[usize], right: &[usize]) -> Vec<usize> {
    let mut all = left.to_vec();
    all.extend(right.iter().filter(|group| !left.contains(group)));
    all
}

impl Binder<'_> {
    /// What GROUP BY lists.
    pub(super) fn group_items(
        &mut self,
        items: List<GroupItem>,
        distinct: bool,
        outputs: &[Output],
        env: &Env,
    ) -> Result<GroupBy> {
        let tree = self.tree;
        let mut groups = GroupBy::default();
        let mut several = false;
        for item in tree.list(items) {
            let alternatives = self.alternatives(item, &mut groups, outputs, env)?;
            several |= alternatives.len() != 1;
            groups.combine(alternatives)?;
        }
        match groups.sets.as_mut() {
            Some(sets) if several && distinct => keep_distinct(sets),
            _ if several => {}
            _ => groups.sets = None,
        }
        Ok(groups)
    }

    /// The sets of one item.
    fn alternatives(
        &mut self,
        item: Id<GroupItem>,
        groups: &mut GroupBy,
        outputs: &[Output],
        env: &Env,
    ) -> Result<Vec<Vec<usize>>> {
        let tree = self.tree;
        match tree.get(item) {
            GroupItem::Expr { expr } => Ok(vec![self.composite(expr, groups, outputs, env)?]),
            GroupItem::Empty => Ok(vec![vec![]]),
            GroupItem::Rollup { items } => Ok(prefixes(&self.composites(items, groups, outputs, env)?)),
            GroupItem::Cube { items } => subsets(&self.composites(items, groups, outputs, env)?),
            GroupItem::Sets { items } => {
                let mut sets = vec![];
                for item in tree.list(items) {
                    sets.extend(self.alternatives(item, groups, outputs, env)?);
                    check_count(sets.len())?;
                }
                Ok(sets)
            }
        }
    }

    fn composites(
        &mut self,
        items: List<ast::Expr>,
        groups: &mut GroupBy,
        outputs: &[Output],
        env: &Env,
    ) -> Result<Vec<Vec<usize>>> {
        let tree = self.tree;
        tree.list(items).map(|item| self.composite(item, groups, outputs, env)).collect()
    }

    /// `(a, b)` is two expressions that come and go together; what else there is is one.
    fn composite(
        &mut self,
        expr: Id<ast::Expr>,
        groups: &mut GroupBy,
        outputs: &[Output],
        env: &Env,
    ) -> Result<Vec<usize>> {
        let tree = self.tree;
        let ast::Expr::Row { items, explicit: false } = tree.get(expr) else {
            let group = self.group(expr, outputs, env)?;
            self.check_equality(group.data_type(), tree.span(expr))?;
            return Ok(vec![groups.add(group)]);
        };
        let mut set = vec![];
        for item in tree.list(items) {
            set = union(&set, &self.composite(item, groups, outputs, env)?);
        }
        Ok(set)
    }

    /// The plan for all the sets.
    pub(super) fn aggregate_sets(
        &mut self,
        input: LogicalPlan,
        groups: &[Expr],
        sets: &[Vec<usize>],
        aggregates: &[AggregateCall],
        groupings: &[Vec<usize>],
    ) -> Result<LogicalPlan> {
        let id = self.new_cte_id();
        let scan = LogicalPlan::CteScan { id, alias: None, fields: input.fields() };
        let mut body: Option<LogicalPlan> = None;
        for set in sets {
            for group in groups {
                self.duplicate(group)?;
            }
            let one = aggregate_one(scan.clone(), groups, set, aggregates, groupings);
            body = Some(match body {
                None => one,
                Some(before) => LogicalPlan::SetOperation {
                    op: SetOperator::Union,
                    all: true,
                    left: Box::new(before),
                    right: Box::new(one),
                },
            });
        }
        let body = body.ok_or_else(|| Error::internal("no grouping set"))?;
        let name = "grouping sets".to_owned();
        let (definition, body) = (Box::new(input), Box::new(body));
        Ok(LogicalPlan::With { id, name, materialized: false, definition, body })
    }
}

fn aggregate_one(
    input: LogicalPlan,
    groups: &[Expr],
    set: &[usize],
    aggregates: &[AggregateCall],
    groupings: &[Vec<usize>],
) -> LogicalPlan {
    let field = |data_type: DataType| Field { name: String::new(), data_type };
    let chosen: Vec<Expr> = set.iter().filter_map(|group| groups.get(*group).cloned()).collect();
    let types = chosen.iter().map(Expr::data_type).chain(aggregates.iter().map(|call| call.aggregate.returns));
    let fields: Vec<Field> = types.map(field).collect();
    let of_groups = groups.iter().enumerate().map(|(group, expr)| {
        let data_type = expr.data_type();
        match set.iter().position(|member| *member == group) {
            Some(index) => Expr::Column { index, data_type },
            None => null(data_type),
        }
    });
    let of_aggregates = aggregates
        .iter()
        .enumerate()
        .map(|(position, call)| Expr::Column { index: set.len() + position, data_type: call.aggregate.returns });
    let of_groupings = groupings.iter().map(|args| grouping_bits(args, set));
    let exprs: Vec<Expr> = of_groups.chain(of_aggregates).chain(of_groupings).collect();
    let projected = exprs.iter().map(|expr| field(expr.data_type())).collect();
    let input =
        LogicalPlan::Aggregate { input: Box::new(input), group_by: chosen, aggregates: aggregates.to_vec(), fields };
    LogicalPlan::Project { input: Box::new(input), exprs, fields: projected }
}

/// GROUPING's answer for a set: a bit for each argument, the last one lowest, set where the group is lacking.
fn grouping_bits(args: &[usize], set: &[usize]) -> Expr {
    let bits = args.iter().fold(0i32, |bits, group| (bits << 1) | i32::from(!set.contains(group)));
    Expr::Literal { value: Value::Integer(bits), data_type: DataType::Integer }
}

/// ROLLUP: all, all but the last, ..., none.
fn prefixes(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let prefix = |count: usize| parts.iter().take(count).fold(vec![], |set, part| union(&set, part));
    (0..=parts.len()).rev().map(prefix).collect()
}

/// CUBE: every subset.
fn subsets(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if parts.len() > 12 {
        return Err(Error::new(SqlState::TOO_MANY_COLUMNS, "CUBE is limited to 12 elements"));
    }
    let subset = |mask: usize| {
        let members = parts.iter().enumerate().filter(|(place, _)| mask & (1 << (parts.len() - 1 - place)) != 0);
        members.fold(vec![], |set, (_, part)| union(&set, part))
    };
    Ok((0..1usize << parts.len()).rev().map(subset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollup_and_cube_are_sets() {
        assert_eq!(prefixes(&[vec![0], vec![1, 2]]), [vec![0, 1, 2], vec![0], vec![]]);
        assert_eq!(subsets(&[vec![0], vec![1]]).expect("few"), [vec![0, 1], vec![0], vec![1], vec![]]);
    }
}

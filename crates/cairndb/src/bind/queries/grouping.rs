//! Grouping: expressions over the FROM row become expressions over the groups' row.
//!
//! Binding leaves aggregates as columns that stand in for them ([`StandIn`]). Here every subexpression that is a group
//! expression becomes that group's column, and a column that is left over must depend on the groups (its table's primary key is
//! among them) or is an error. Such dependent columns are added as groups of their own: that splits no group.

use cairn_parser::Span;

use super::grouping_sets::GroupBy;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::Context;
use crate::bind::relations::scope::Scope;
use crate::plan::{AggregateCall, Expr, Field, LogicalPlan, StandIn, same_expr, walk};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// A grouped query in the making.
pub(in crate::bind) struct Grouping<'s> {
    scope: &'s Scope,
    groups: Vec<Expr>,
    sets: Option<Vec<Vec<usize>>>,
    aggregates: Vec<AggregateCall>,
    groupings: Vec<Vec<(Expr, Span)>>,
    mentions: Vec<(usize, Span)>,
}

impl<'s> Grouping<'s> {
    pub(in crate::bind) fn new(
        scope: &'s Scope,
        groups: GroupBy,
        aggregates: Vec<AggregateCall>,
        context: Context,
    ) -> Grouping<'s> {
        let GroupBy { exprs, sets } = groups;
        let Context { groupings, mentions, .. } = context;
        Grouping { scope, groups: exprs, sets, aggregates, groupings: groupings.into_inner(), mentions }
    }

    /// Rewrites the expressions that follow the grouping, and makes the plan that groups `input`.
    pub(in crate::bind) fn apply<'x>(
        mut self,
        binder: &mut Binder,
        input: LogicalPlan,
        exprs: impl Iterator<Item = &'x mut Expr>,
    ) -> Result<LogicalPlan> {
        let mut exprs: Vec<&mut Expr> = exprs.collect();
        for expr in &mut exprs {
            self.regroup(binder, expr)?;
        }
        self.check_direct(binder)?;
        for expr in &mut exprs {
            self.renumber(expr);
        }
        if self.sets.is_some() || !self.groupings.is_empty() {
            return self.apply_sets(binder, input);
        }
        let fields = self.fields();
        let Grouping { groups, aggregates, .. } = self;
        Ok(LogicalPlan::Aggregate { input: Box::new(input), group_by: groups, aggregates, fields })
    }

    fn apply_sets(self, binder: &mut Binder, input: LogicalPlan) -> Result<LogicalPlan> {
        let mut groupings = Vec::with_capacity(self.groupings.len());
        for args in &self.groupings {
            let positions = args.iter().map(|(arg, span)| {
                self.groups.iter().position(|group| same_expr(group, arg)).ok_or_else(|| {
                    let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                    binder.at(Error::new(SqlState::GROUPING_ERROR, message), *span)
                })
            });
            groupings.push(positions.collect::<Result<Vec<usize>>>()?);
        }
        let sets = self.sets.unwrap_or_else(|| vec![(0..self.groups.len()).collect()]);
        binder.aggregate_sets(input, &self.groups, &sets, &self.aggregates, &groupings)
    }

    fn fields(&self) -> Vec<Field> {
        let unnamed = "?column?".to_owned();
        let group = |expr: &Expr| Field {
            name: match expr {
                Expr::Column { index, .. } => self.scope.name_of(*index).unwrap_or_else(|| unnamed.clone()),
                _ => unnamed.clone(),
            },
            data_type: expr.data_type(),
        };
        let aggregate =
            |call: &AggregateCall| Field { name: call.aggregate.name.to_string(), data_type: call.aggregate.returns };
        self.groups.iter().map(group).chain(self.aggregates.iter().map(aggregate)).collect()
    }

    /// Direct arguments have one value for a group. They are evaluated with its rows.
    fn check_direct(&mut self, binder: &Binder) -> Result<()> {
        let direct = |call: &AggregateCall| call.args[..call.aggregate.direct.unwrap_or(0)].to_vec();
        let direct: Vec<Expr> = self.aggregates.iter().flat_map(direct).collect();
        for mut arg in direct {
            let detail = "Direct arguments of an ordered-set aggregate must use only grouped columns.";
            self.regroup(binder, &mut arg).map_err(|error| error.with_detail(detail))?;
        }
        Ok(())
    }

    fn regroup(&mut self, binder: &Binder, expr: &mut Expr) -> Result<()> {
        let mut failure = None;
        walk::rewrite(expr, 0, &mut |expr, depth| match self.replacement(binder, expr, depth) {
            Ok(replacement) => replacement,
            Err(error) => {
                failure.get_or_insert(error);
                None
            }
        });
        failure.map_or(Ok(()), Err)
    }

    fn replacement(&mut self, binder: &Binder, expr: &Expr, depth: usize) -> Result<Option<Expr>> {
        if depth == 0
            && let Some(group) = self.groups.iter().position(|group| same_expr(group, expr))
        {
            return Ok(Some(Expr::Column { index: StandIn::Group(group).column(), data_type: expr.data_type() }));
        }
        match *expr {
            Expr::Column { index, data_type } if depth == 0 && StandIn::of(index).is_none() => {
                let group = self.dependent(binder, index, data_type, false)?;
                Ok(Some(Expr::Column { index: StandIn::Group(group).column(), data_type }))
            }
            Expr::Outer { level, index, data_type } if level == depth && depth > 0 && StandIn::of(index).is_none() => {
                let column = Expr::Column { index, data_type };
                let group = match self.groups.iter().position(|group| same_expr(group, &column)) {
                    Some(group) => group,
                    None => self.dependent(binder, index, data_type, true)?,
                };
                Ok(Some(Expr::Outer { level, index: StandIn::Group(group).column(), data_type }))
            }
            _ => Ok(None),
        }
    }

    /// Adds a column that the groups determine; any other is an error.
    fn dependent(&mut self, binder: &Binder, index: usize, data_type: DataType, inside: bool) -> Result<usize> {
        let determined = self.scope.table_of(index).is_some_and(|(table, start)| {
            let grouped = |column: usize| {
                self.groups.iter().any(|group| matches!(group, Expr::Column { index, .. } if *index == start + column))
            };
            let key = table.primary.as_ref().filter(|_| self.sets.is_none());
            let determined = key.is_some_and(|key| key.positions().all(grouped));
            if determined {
                binder.note_key(table);
            }
            determined
        });
        if !determined {
            return Err(self.ungrouped(binder, index, inside));
        }
        self.groups.push(Expr::Column { index, data_type });
        Ok(self.groups.len() - 1)
    }

    fn ungrouped(&self, binder: &Binder, index: usize, inside: bool) -> Error {
        let name = self.scope.name_of(index).unwrap_or_else(|| "?column?".to_owned());
        let message = match inside {
            true => format!("subquery uses ungrouped column \"{name}\" from outer query"),
            false => {
                format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
            }
        };
        let span = self.mentions.iter().find(|(column, _)| *column == index).map_or(NOWHERE, |(_, span)| *span);
        binder.at(Error::new(SqlState::GROUPING_ERROR, message), span)
    }

    /// Final numbers: the groups first, then the aggregates.
    fn renumber(&self, expr: &mut Expr) {
        let place = |index: usize| match StandIn::of(index)? {
            StandIn::Group(group) => Some(group),
            StandIn::Aggregate(aggregate) => Some(self.groups.len() + aggregate),
            StandIn::Grouping(grouping) => Some(self.groups.len() + self.aggregates.len() + grouping),
            _ => None,
        };
        walk::rewrite(expr, 0, &mut |expr, depth| match *expr {
            Expr::Column { index, data_type } if depth == 0 => {
                place(index).map(|index| Expr::Column { index, data_type })
            }
            Expr::Outer { level, index, data_type } if level == depth => {
                place(index).map(|index| Expr::Outer { level, index, data_type })
            }
            _ => None,
        });
    }
}

/// How many levels outwards the innermost query is whose columns these expressions use: there an aggregate of them belongs
/// (PostgreSQL 15, 4.2.7). They become expressions of that query.
pub(in crate::bind) fn raise<'x>(exprs: impl Iterator<Item = &'x mut Expr>) -> Result<usize> {
    let mut exprs: Vec<&mut Expr> = exprs.collect();
    let mut innermost: Option<usize> = None;
    for expr in &exprs {
        walk::walk(expr, 0, &mut |expr, depth| {
            let level = match *expr {
                Expr::Column { .. } if depth == 0 => 0,
                Expr::Outer { level, .. } if level >= depth => level - depth,
                _ => return,
            };
            innermost = Some(innermost.map_or(level, |least| least.min(level)));
        });
    }
    let Some(raised @ 1..) = innermost else { return Ok(0) };
    let mut is_nested = false;
    for expr in &mut exprs {
        walk::rewrite(expr, 0, &mut |expr, depth| match *expr {
            Expr::Outer { level, index, data_type } if level >= depth => {
                let is_grouped = |of: StandIn| of.is_aggregate() || of.is_grouping();
                is_nested |= level - depth == raised && StandIn::of(index).is_some_and(is_grouped);
                Some(match level - raised {
                    0 => Expr::Column { index, data_type },
                    level => Expr::Outer { level, index, data_type },
                })
            }
            _ => None,
        });
    }
    match is_nested {
        true => Err(Error::new(SqlState::GROUPING_ERROR, "aggregate function calls cannot be nested")),
        false => Ok(raised),
    }
}

//! What a live query needs to know of its plan: whether its rows can be kept current at all, which columns of which tables it
//! looks at, and by which columns its rows are told apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairn_storage::TreeId;

use crate::catalog::Table;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::used_columns;
use crate::plan::expressions::walk::{inputs, walk, walk_plan};
use crate::plan::logical::{JoinKind, LogicalPlan};
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};
use crate::{Error, Result};

/// SQLSTATE 0A000, with the part of the query that is in the way, where its result may change without a commit that
/// changes what it reads.
pub(crate) fn refuse_unwatchable(plan: &LogicalPlan) -> Result<()> {
    let mut refused = None;
    walk_plan(plan, 0, &mut |expr, _| {
        let hint = match expr {
            Expr::Sequence { .. } => "Values of sequences are not watched.".to_owned(),
            Expr::Call { function, .. } if function.routine().is_some() => {
                format!(
                    "The function {} is not part of the query's plan. Write what it does into the query, or make it a SQL function of one expression.",
                    function.name
                )
            }
            Expr::Call { function, .. } if function.looks_at_database() => changes_unseen(&function.name),
            Expr::Call { function, .. } if function.is_volatile() => {
                format!("The function {} may answer anew at every call.", function.name)
            }
            Expr::Call { function, .. } if function.clock => {
                format!("What {} says changes without a commit. Give the time as a parameter.", function.name)
            }
            _ => return,
        };
        refused.get_or_insert(hint);
    });
    refuse_functions(plan, &mut refused);
    match refused {
        None => Ok(()),
        Some(hint) => Err(Error::unsupported("a live query whose result depends on more than tables").with_hint(hint)),
    }
}

fn changes_unseen(function: &str) -> String {
    format!("What {function} says changes without a commit.")
}

fn refuse_functions(plan: &LogicalPlan, refused: &mut Option<String>) {
    if let LogicalPlan::Modify { .. } = plan {
        refused.get_or_insert_with(|| "It changes rows.".to_owned());
    }
    if let LogicalPlan::SystemScan { relation, .. } = plan
        && relation.changes_unseen()
    {
        refused.get_or_insert_with(|| changes_unseen(relation.name()));
    }
    inputs(plan).into_iter().for_each(|(input, _)| refuse_functions(input, refused));
}

/// Calls `visit` with every node, those of subqueries included.
fn each_node(plan: &PhysicalPlan, visit: &mut dyn FnMut(&PhysicalPlan)) {
    visit(plan);
    for expr in plan.exprs() {
        walk(expr, 0, &mut |expr, _| {
            if let Expr::Subplan(subplan) = expr {
                each_node(&subplan.plan, visit);
            }
        });
    }
    plan.children().into_iter().for_each(|child| each_node(child, visit));
}

/// By the tree of a table, the table as the plan has it (a view that commits keep is read by its groups), and the positions of the
/// columns that are looked at: a row of which no other column changed is the same to the plan.
pub(crate) fn columns_read(plan: &PhysicalPlan) -> BTreeMap<TreeId, (Arc<Table>, BTreeSet<usize>)> {
    let mut read = BTreeMap::<TreeId, (Arc<Table>, BTreeSet<usize>)>::new();
    each_node(plan, &mut |plan| {
        let mut add = |table: &Arc<Table>, columns: &[usize]| {
            let known = columns.iter().filter(|column| **column < table.columns.len());
            read.entry(table.tree).or_insert_with(|| (table.clone(), BTreeSet::new())).1.extend(known);
        };
        match &plan.node {
            N::TableScan { table, columns, fields, .. } => {
                add(table, columns);
                let of_fields: Vec<usize> = fields.iter().flat_map(used_columns).collect();
                add(table, &of_fields);
            }
            N::IndexScan { table, columns, .. }
            | N::ItemScan { table, columns, .. }
            | N::PointGet { table, columns, .. }
            | N::IndexJoin { table, columns, .. } => add(table, columns),
            _ => {}
        }
    });
    read
}

/// The trees of the tables that the plan reads, and of their indexes.
pub(crate) fn trees_read(plan: &PhysicalPlan) -> BTreeSet<TreeId> {
    let mut trees = BTreeSet::new();
    each_node(plan, &mut |plan| match &plan.node {
        N::TableScan { table, .. }
        | N::IndexScan { table, .. }
        | N::ItemScan { table, .. }
        | N::PointGet { table, .. }
        | N::IndexJoin { table, .. } => {
            trees.insert(table.tree);
            trees.extend(table.indexes.iter().map(|index| index.tree));
        }
        _ => {}
    });
    trees
}

/// Output columns whose values no two rows share, if the plan shows that there are some: no columns where there is one row at
/// most.
pub(crate) fn result_key(plan: &PhysicalPlan) -> Option<Vec<usize>> {
    let of_table = |table: &Table, columns: &[usize]| {
        table
            .row_identity()
            .iter()
            .map(|key| columns.iter().position(|column| column == key))
            .collect::<Option<Vec<_>>>()
    };
    match &plan.node {
        N::Values { rows } => (rows.len() == 1).then(Vec::new),
        N::TableScan { table, columns, .. }
        | N::IndexScan { table, columns, .. }
        | N::ItemScan { table, columns, .. } => of_table(table, columns),
        N::PointGet { .. } => Some(Vec::new()),
        N::Filter { input, .. }
        | N::Sort { input, .. }
        | N::TopN { input, .. }
        | N::Limit { input, .. }
        | N::Window { input, .. } => result_key(input),
        N::Project { input, exprs } => {
            let key = result_key(input)?;
            let shown = |column: &usize| {
                exprs.iter().position(|expr| matches!(expr, Expr::Column { index, .. } if index == column))
            };
            key.iter().map(shown).collect()
        }
        N::Aggregate { group_by, .. } => Some((0..group_by.len()).collect()),
        N::Distinct { input, .. } => Some((0..input.fields.len()).collect()),
        N::DistinctOn { input, .. } => result_key(input),
        N::HashJoin { kind, left, right, .. }
        | N::MergeJoin { kind, left, right, .. }
        | N::NestedLoopJoin { kind, left, right, .. } => {
            let (of_left, of_right) = (result_key(left), result_key(right));
            match (kind, left.fields.len()) {
                (JoinKind::Semi | JoinKind::Anti, _) => of_left,
                (JoinKind::RightSemi | JoinKind::RightAnti, _) => of_right,
                (JoinKind::Inner | JoinKind::Left, width) => {
                    let right = of_right?.into_iter().map(|column| column + width);
                    Some(of_left?.into_iter().chain(right).collect())
                }
                // Rows without partner have no key on one side.
                (JoinKind::Right | JoinKind::Full, _) => None,
            }
        }
        N::IndexJoin { kind, left, table, columns, unique, .. } => match kind {
            JoinKind::Semi | JoinKind::Anti => result_key(left),
            _ if *unique => result_key(left),
            _ => {
                let width = left.fields.len();
                let right = of_table(table, columns)?.into_iter().map(|column| column + width);
                Some(result_key(left)?.into_iter().chain(right).collect())
            }
        },
        N::Cte { body, .. } => result_key(body),
        _ => None,
    }
}

//! Looks through projections to the `PointGet` below.

use std::sync::Arc;

use super::key::KeyTemplate;
use crate::catalog::Table;
use crate::plan::{Expr, PhysicalNode, PhysicalPlan};

/// A plan that reads one row by key and computes `outputs` from it.
pub(super) struct PointSource {
    pub(super) table: Arc<Table>,
    /// Position among the table's indexes; `None`: by the primary key.
    pub(super) index: Option<usize>,
    pub(super) key: KeyTemplate,
    /// Over the table's columns.
    pub(super) outputs: Vec<Expr>,
}

impl PointSource {
    pub(super) fn of(plan: &PhysicalPlan) -> Option<PointSource> {
        match &plan.node {
            PhysicalNode::Project { input, exprs } => {
                let mut source = PointSource::of(input)?;
                source.outputs = exprs.iter().map(|expr| substitute(expr, &source.outputs)).collect::<Option<_>>()?;
                Some(source)
            }
            PhysicalNode::PointGet { table, index, columns, key, filter: None } => {
                let template = KeyTemplate::of(table, index.as_deref(), key)?;
                let position = |index: &Arc<crate::catalog::Index>| table.indexes.iter().position(|i| i.id == index.id);
                let index = match index {
                    Some(index) => Some(position(index)?),
                    None => None,
                };
                let column =
                    |&index: &usize| Some(Expr::Column { index, data_type: table.columns.get(index)?.data_type });
                let outputs = columns.iter().map(column).collect::<Option<_>>()?;
                Some(PointSource { table: table.clone(), index, key: template, outputs })
            }
            _ => None,
        }
    }
}

/// `expr` over the inputs of `columns`; only for the few kinds of expressions that point statements know.
fn substitute(expr: &Expr, columns: &[Expr]) -> Option<Expr> {
    Some(match expr {
        Expr::Column { index, .. } => columns.get(*index)?.clone(),
        Expr::Literal { .. } | Expr::Parameter { .. } => expr.clone(),
        Expr::Cast { input, to } => Expr::Cast { input: Box::new(substitute(input, columns)?), to: *to },
        Expr::Call { function, args } => {
            let args = args.iter().map(|arg| substitute(arg, columns)).collect::<Option<_>>()?;
            Expr::Call { function, args }
        }
        _ => return None,
    })
}

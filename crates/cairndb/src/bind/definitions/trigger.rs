//! WHEN of a trigger: a condition over the row as it is to be and as it was.

use std::sync::Arc;

use cairn_parser::{self as ast, Id};

use super::definition::{noting, settled};
use crate::Result;
use crate::bind::ParameterTypes;
use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::entry::no_parameters;
use crate::bind::relations::scope::{Env, Relation, Scope};
use crate::catalog::{Catalog, KnownColumn, Table};
use crate::plan::Expr;
use crate::sql::{self, with_deep_stack};
use crate::types::EvalContext;

/// The condition over the columns of NEW, then those of OLD. `known`: which names the columns had when it was written.
pub(crate) fn bind_when(text: &str, known: &[KnownColumn], table: &Arc<Table>, catalog: &Catalog) -> Result<Expr> {
    let parsed = sql::parse_expression(text)?;
    with_deep_stack(parsed.depth, || {
        let mut parameters = ParameterTypes::default();
        let mut binder = Binder::new(catalog, &mut parameters, &parsed.tree, None, parsed.depth);
        let bound = when_condition(&mut binder, parsed.expr, known, table)?;
        no_parameters(&parameters).map(|()| bound)
    })?
}

/// The condition's text and what it says, when it is made.
pub(crate) fn resolve_when(
    text: String,
    known: &[KnownColumn],
    table: &Arc<Table>,
    (catalog, maker): (&Catalog, Option<&EvalContext>),
) -> Result<(String, Expr)> {
    let (definition, bound) = settled(text, maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| when_condition(binder, parsed.expr, known, table))
    })?;
    Ok((definition.text, bound))
}

fn when_condition(
    binder: &mut Binder<'_>,
    expr: Id<ast::Expr>,
    known: &[KnownColumn],
    table: &Arc<Table>,
) -> Result<Expr> {
    let width = table.columns.len();
    let row = |name: &str, from: usize| {
        let column = |column: &KnownColumn| {
            let at = table.position_of_number(column.number)?;
            let data_type = table.columns[at].data_type;
            Some((column.name.clone(), Expr::Column { index: from + at, data_type }))
        };
        Relation::new(name.to_owned(), known.iter().filter_map(column).collect())
    };
    let mut scope = Scope::of(row("new", 0), width);
    scope = scope.joined(Scope::of(row("old", 0), width))?;
    let env = Env { scope: &scope, outer: None, within: None };
    let (bound, span) = binder.operand(expr, &mut Context::new(Some(&env), Clause::TriggerWhen))?;
    binder.condition(bound, "WHEN", span)
}

//! What indexes rest on besides columns: expressions in their keys, and which rows have entries.

use std::sync::Arc;

use cairn_parser::{self as ast, Id};

use super::definition::{noting, numbers_of, settled};
use crate::bind::binder::Binder;
use crate::bind::context::Clause;
use crate::bind::entry::{alone, over_columns};
use crate::bind::queries::output_name::output_name;
use crate::catalog::{Catalog, Definition, Index, RowExpression, Table};
use crate::functions::{Function, Operator};
use crate::plan::{BoundIndex, BoundIndexes, Expr, walk};
use crate::sql;
use crate::types::{DataType, EvalContext, TypeCategory, cast_is_immutable};
use crate::{Error, Result, SqlState};

/// What the table's indexes rest on, made once for each version of the catalog; `None`: columns only.
pub(crate) fn bound_indexes(table: &Arc<Table>, catalog: &Catalog) -> Result<Option<Arc<BoundIndexes>>> {
    if table.indexes.iter().all(|index| index.is_plain()) {
        return Ok(None);
    }
    let bound = || table.indexes.iter().map(|index| bind_index(index, table, catalog)).collect::<Result<_>>();
    catalog.compiled(table, || Ok(BoundIndexes::new(bound()?))).map(Some)
}

/// An index's expressions over the columns of its table.
pub(crate) fn bind_index(index: &Index, table: &Table, catalog: &Catalog) -> Result<BoundIndex> {
    let key = |key: &crate::catalog::KeyExpression| {
        let definition = &key.expression.definition;
        let bound = alone(definition, catalog, |binder, expr| over_columns(binder, expr, table, Clause::IndexKey))?;
        Ok((key.column, bound.0))
    };
    let predicate = index
        .predicate
        .as_ref()
        .map(|predicate| alone(&predicate.definition, catalog, |binder, expr| index_predicate(binder, expr, table)));
    let is_of_users = |definition: &Definition| match &definition.references {
        Some(references) => !references.is_empty(),
        // (An older library wrote it.)
        None => catalog.has_routines(),
    };
    Ok(BoundIndex {
        expressions: index.expressions.iter().map(key).collect::<Result<_>>()?,
        predicate: predicate.transpose()?,
        of_users: index.row_expressions().any(|expression| is_of_users(&expression.definition)),
    })
}

pub(super) fn index_predicate(binder: &mut Binder<'_>, expr: Id<ast::Expr>, table: &Table) -> Result<Expr> {
    let (bound, span) = over_columns(binder, expr, table, Clause::IndexPredicate)?;
    binder.condition(bound, "WHERE", span)
}

/// An expression of a key with what the names in it mean now, its type, and what an index of it is called by.
pub(crate) fn resolve_key(
    text: &str,
    table: &Table,
    (catalog, maker): (&Catalog, Option<&EvalContext>),
) -> Result<(RowExpression, DataType, String)> {
    let parsed = sql::parse_expression(text)?;
    let tree = &parsed.tree;
    let name = match output_name(tree, parsed.expr) {
        name if name == "?column?" => "expr".to_owned(),
        name => name,
    };
    let (definition, (bound, _)) = settled(in_parentheses(tree, parsed.expr), maker, |text| {
        let parsed = sql::parse_expression(text)?;
        let bind = |binder: &mut Binder<'_>| over_columns(binder, parsed.expr, table, Clause::IndexKey);
        noting(&parsed.tree, parsed.depth, catalog, bind)
    })?;
    refuse_mutable(&bound, "index expression")?;
    Ok((RowExpression { definition, columns: numbers_of(&bound, table) }, bound.data_type(), name))
}

/// A predicate with what the names in it mean now.
pub(crate) fn resolve_predicate(
    text: &str,
    table: &Table,
    (catalog, maker): (&Catalog, Option<&EvalContext>),
) -> Result<RowExpression> {
    let parsed = sql::parse_expression(text)?;
    let (definition, bound) = settled(in_parentheses(&parsed.tree, parsed.expr), maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| index_predicate(binder, parsed.expr, table))
    })?;
    refuse_mutable(&bound, "index predicate")?;
    Ok(RowExpression { definition, columns: numbers_of(&bound, table) })
}

/// The expression's text, in parentheses unless it is a column or a call: as a definition of an index shows it, and what
/// a generated column is computed from.
pub(in crate::bind) fn in_parentheses(tree: &ast::Tree<'_>, expr: Id<ast::Expr>) -> String {
    let printed = tree.print(expr);
    match tree.get(expr) {
        ast::Expr::Column { .. } | ast::Expr::Call { .. } | ast::Expr::Special { .. } => printed,
        _ => format!("({printed})"),
    }
}

/// SQLSTATE 42P17: entries are looked for by what the expression gives another time.
fn refuse_mutable(expr: &Expr, what: &str) -> Result<()> {
    let Some(part) = mutable_part(expr) else { return Ok(()) };
    let message = format!("functions in {what} must be marked IMMUTABLE");
    Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).with_detail(part))
}

/// Whether the expression gives the same for the same row, whenever it is asked.
pub(crate) fn is_immutable(expr: &Expr) -> bool {
    mutable_part(expr).is_none()
}

/// A part of the expression that may give something else for the same row another time, as a sentence says it.
pub(crate) fn mutable_part(expr: &Expr) -> Option<String> {
    let mut found = None;
    walk::walk(expr, 0, &mut |expr, _| {
        if found.is_none() {
            found = mutable_here(expr);
        }
    });
    found
}

fn mutable_here(expr: &Expr) -> Option<String> {
    // What stands beside a text is cast to text.
    let is_steady = |arg: &Expr| {
        matches!(arg.data_type().category(), TypeCategory::String | TypeCategory::Numeric | TypeCategory::Boolean)
    };
    match expr {
        Expr::Call { function, args } if function.op == Some(Operator::Concat) && args.iter().all(is_steady) => None,
        Expr::Call { function, .. } | Expr::InList { equal: function, .. } if !function.is_immutable() => {
            Some(of_function(function))
        }
        Expr::Cast { input, to } if !cast_is_immutable(input.data_type(), *to) => {
            let (from, to) = (input.data_type().type_name(), to.type_name());
            Some(format!("The cast from {from} to {to} is STABLE: it depends on the session's settings."))
        }
        Expr::Sequence { .. } => Some("What a sequence says is VOLATILE.".to_owned()),
        Expr::Parameter { .. } | Expr::Outer { .. } => Some("It depends on more than its row.".to_owned()),
        _ => None,
    }
}

/// `Function f(text) is STABLE.`
fn of_function(function: &Function) -> String {
    let args: Vec<&str> = function.args.iter().map(|arg| arg.type_name()).collect();
    let is_name = function.name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    let (kind, of) = match (is_name, args.as_slice()) {
        (false, [left, right]) => ("Operator", format!("{left} {} {right}", function.name)),
        _ => ("Function", format!("{}({})", function.name, args.join(", "))),
    };
    format!("{kind} {of} is {}.", function.volatility.word().to_uppercase())
}

//! From a stored text to PostgreSQL's.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cairn_parser::{self as ast, Id, Tree};

use super::facts::Facts;
use super::query::Shown;
use super::text::{Deparser, Level, Named};
use crate::Result;
use crate::bind::ParameterTypes;
use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::relations::scope::{Env, Relation, Scope};
use crate::catalog::{Catalog, Definition, Table};
use crate::plan::Expr;
use crate::sql::{self, with_deep_stack};
use crate::system::{DefinitionStyle, ExpressionOver};
use crate::types::DataType;

/// What is nested deeper is told as it is stored.
const DEPTH_MAX: usize = 200;

/// A query as PostgreSQL writes it, under these names for its columns.
pub(in crate::bind) fn query_text(
    query: &Definition,
    names: &[String],
    catalog: &Catalog,
    style: DefinitionStyle,
) -> Option<String> {
    // What tables got besides is nobody's matter who has the names that there were.
    let (text, known) = match catalog.is_as_written(query) {
        true => (query.text.clone(), Some(query)),
        false => (catalog.text_of(query), None),
    };
    let parsed = sql::parse_query(&text).ok().filter(|parsed| parsed.depth <= DEPTH_MAX)?;
    let written = with_deep_stack(parsed.depth, || {
        let of = (catalog, known);
        let facts = facts(&parsed.tree, parsed.depth, of, |binder| binder.query(parsed.query, None).map(drop))?;
        let mut deparser = Deparser::new(catalog, &parsed.tree, &facts, style);
        deparser.is_prefixed = true;
        deparser.shown_query(parsed.query, Shown { names: Some(names), types: None, is_visible: true })?;
        Some(deparser.out)
    });
    written.ok().flatten()
}

/// An expression as PostgreSQL writes it; `wanted`: the type of what it is for.
pub(in crate::bind) fn expression_text(
    text: &str,
    over: ExpressionOver<'_>,
    wanted: Option<DataType>,
    (catalog, style): (&Catalog, DefinitionStyle),
) -> Option<String> {
    let parsed = sql::parse_expression(text).ok().filter(|parsed| parsed.depth <= DEPTH_MAX)?;
    let written = with_deep_stack(parsed.depth, || {
        let facts = facts(&parsed.tree, parsed.depth, (catalog, None), |binder| over_scope(binder, parsed.expr, over))?;
        let mut deparser = Deparser::new(catalog, &parsed.tree, &facts, style);
        if let ExpressionOver::Rows(_) = over {
            deparser.is_prefixed = true;
            let row = |name: &str| Named { item: None, alias: name.to_owned(), shown: name.to_owned(), columns: None };
            deparser.levels.push(Level { relations: vec![row("new"), row("old")], is_hidden: false });
        }
        deparser.is_of_domain = matches!(over, ExpressionOver::Value(_));
        let value = deparser.build(parsed.expr)?;
        let value = match wanted {
            Some(wanted) if value.is_unknown() => deparser.taken_as(value, wanted),
            _ => deparser.known(value),
        };
        deparser.node(&value.node, false)?;
        Some(deparser.out)
    });
    written.ok().flatten()
}

/// What binding finds out.
fn facts<'t>(
    tree: &'t Tree<'t>,
    depth: usize,
    (catalog, known): (&'t Catalog, Option<&'t Definition>),
    bind: impl FnOnce(&mut Binder<'_>) -> Result<()>,
) -> Option<Facts> {
    let mut parameters = ParameterTypes::default();
    let mut binder = Binder::new(catalog, &mut parameters, tree, None, depth);
    binder.facts = Some(RefCell::default());
    binder.definition = known;
    bind(&mut binder).ok()?;
    binder.facts.take().map(RefCell::into_inner)
}

fn over_scope(binder: &mut Binder<'_>, expr: Id<ast::Expr>, over: ExpressionOver<'_>) -> Result<()> {
    let (scope, clause) = match over {
        ExpressionOver::Nothing => (Scope::default(), Clause::Default),
        ExpressionOver::Table(table) => {
            let width = table.columns.len();
            (Scope::of_table(table.name.clone(), None, &Arc::new(table.clone()), width), Clause::Check)
        }
        ExpressionOver::Rows(table) => {
            let both = Scope::of(row("new", table, 0), table.columns.len());
            (both.joined(Scope::of(row("old", table, 0), table.columns.len()))?, Clause::TriggerWhen)
        }
        ExpressionOver::Value(base) => return binder.domain_condition(expr, base, 0).map(drop),
    };
    let env = Env { scope: &scope, outer: None, within: None };
    binder.expr(expr, &mut Context::new(Some(&env), clause)).map(drop)
}

fn row(name: &str, table: &Table, from: usize) -> Relation {
    let columns = table.columns.iter().enumerate();
    let column = |(at, column): (usize, &crate::catalog::Column)| {
        (column.name.clone(), Expr::Column { index: from + at, data_type: column.data_type })
    };
    Relation::new(name.to_owned(), columns.map(column).collect())
}

impl<'a> Deparser<'a> {
    fn new(catalog: &'a Catalog, tree: &'a Tree<'a>, facts: &'a Facts, style: DefinitionStyle) -> Deparser<'a> {
        let (levels, ctes, out) = (Vec::new(), Vec::new(), String::new());
        Deparser {
            catalog,
            tree,
            facts,
            style,
            levels,
            ctes,
            is_prefixed: false,
            is_of_domain: false,
            out,
            indent: 0,
            depth: Cell::new(0),
        }
    }
}

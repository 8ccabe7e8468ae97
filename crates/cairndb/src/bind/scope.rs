//! Names in sight: the relations of a FROM clause and the columns they give a row.
//!
//! Invariants: `Scope.columns` are what an unqualified name or `*` sees, in order; a relation's columns are what
//! `alias.name` sees. Both map to expressions over the row (usually a column of it; for a column merged by a FULL JOIN
//! with USING, a COALESCE). Rows are joined left to right, so a scope is joined by shifting the right one.

use std::sync::Arc;

use cairn_parser::{Id, List, Name};

use super::binder::{Binder, NOWHERE};
use super::nearest::nearest;
use crate::catalog::Table;
use crate::plan::{Expr, Field, walk};
use crate::sql::{list_span, name_text};
use crate::{Error, Result, SqlState};

/// A named expression over the row.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    pub(super) name: String,
    pub(super) expr: Expr,
    /// Where it comes from: position in `Scope.relations`; `None` once merged by USING.
    pub(super) relation: Option<usize>,
}

/// A FROM item under its alias.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) alias: String,
    /// Whether no alias was given, so that `public.t` names it too.
    pub(super) by_own_name: bool,
    pub(super) columns: Vec<(String, Expr)>,
    /// The table, where its columns are the row's columns from `start` on.
    pub(super) table: Option<(Arc<Table>, usize)>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) relations: Vec<Relation>,
    pub(super) columns: Vec<ScopeColumn>,
    /// Columns of the row.
    pub(super) width: usize,
}

/// A scope and those around it, innermost first. One step outwards is one `Outer` level.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) scope: &'a Scope,
    pub(super) outer: Option<&'a Env<'a>>,
}

impl Scope {
    /// One relation whose row is these fields.
    pub(super) fn of_fields(alias: String, fields: &[Field]) -> Scope {
        let columns: Vec<(String, Expr)> = fields
            .iter()
            .enumerate()
            .map(|(index, field)| (field.name.clone(), Expr::Column { index, data_type: field.data_type }))
            .collect();
        let relation = Relation { alias, by_own_name: false, columns, table: None };
        Scope { columns: visible(&relation, 0), relations: vec![relation], width: fields.len() }
    }

    /// One table whose columns start the row.
    pub(super) fn of_table(alias: String, by_own_name: bool, table: &Arc<Table>, width: usize) -> Scope {
        let fields: Vec<Field> = table
            .columns
            .iter()
            .map(|column| Field { name: column.name.clone(), data_type: column.data_type })
            .collect();
        let mut scope = Scope::of_fields(alias, &fields);
        if let Some(relation) = scope.relations.first_mut() {
            relation.by_own_name = by_own_name;
            relation.table = Some((Arc::clone(table), 0));
        }
        scope.width = width;
        scope
    }

    /// The row that starts `by` columns later.
    pub(super) fn shifted(mut self, by: usize) -> Scope {
        for relation in &mut self.relations {
            relation.columns.iter_mut().for_each(|(_, expr)| shift(expr, by));
            if let Some((_, start)) = &mut relation.table {
                *start += by;
            }
        }
        self.columns.iter_mut().for_each(|column| shift(&mut column.expr, by));
        self
    }

    /// The names over a row that lacks `count` columns (that no name means) from `from` on.
    pub(super) fn without_columns(&self, from: usize, count: usize) -> Scope {
        let mut scope = self.clone();
        let close = |expr: &mut Expr| {
            walk::rewrite(expr, 0, &mut |expr, depth| match expr {
                Expr::Column { index, data_type } if depth == 0 && *index >= from => {
                    Some(Expr::Column { index: index - count, data_type: *data_type })
                }
                _ => None,
            });
        };
        for relation in &mut scope.relations {
            relation.columns.iter_mut().for_each(|(_, expr)| close(expr));
            relation.table = None;
        }
        scope.columns.iter_mut().for_each(|column| close(&mut column.expr));
        scope.width -= count;
        scope
    }

    /// Both scopes' names over the joined row. Table names must differ (42712).
    pub(super) fn joined(mut self, right: Scope) -> Result<Scope> {
        for relation in &right.relations {
            if self.relations.iter().any(|other| other.alias == relation.alias && !relation.alias.is_empty()) {
                let message = format!("table name \"{}\" specified more than once", relation.alias);
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message));
            }
        }
        let (offset, width) = (self.relations.len(), self.width);
        let right = right.shifted(width);
        self.columns.extend(right.columns.into_iter().map(|mut column| {
            column.relation = column.relation.map(|relation| relation + offset);
            column
        }));
        self.relations.extend(right.relations);
        self.width += right.width;
        Ok(self)
    }

    /// The relation and name of a row's column, for messages.
    pub(super) fn name_of(&self, index: usize) -> Option<String> {
        let is_it = |expr: &Expr| matches!(expr, Expr::Column { index: i, .. } if *i == index);
        self.relations.iter().find_map(|relation| {
            let (name, _) = relation.columns.iter().find(|(_, expr)| is_it(expr))?;
            Some(if relation.alias.is_empty() { name.clone() } else { format!("{}.{name}", relation.alias) })
        })
    }

    /// The table whose column this is, with the row position of the table's first column.
    pub(super) fn table_of(&self, index: usize) -> Option<(&Arc<Table>, usize)> {
        self.relations.iter().find_map(|relation| {
            let (table, start) = relation.table.as_ref()?;
            (*start <= index && index < start + table.columns.len()).then_some((table, *start))
        })
    }
}

/// What `*` shows of a relation.
pub(super) fn visible(relation: &Relation, position: usize) -> Vec<ScopeColumn> {
    let column = |(name, expr): &(String, Expr)| ScopeColumn {
        name: name.clone(),
        expr: expr.clone(),
        relation: Some(position),
    };
    relation.columns.iter().map(column).collect()
}

fn shift(expr: &mut Expr, by: usize) {
    walk::rewrite(expr, 0, &mut |expr, depth| match expr {
        Expr::Column { index, data_type } if depth == 0 => {
            Some(Expr::Column { index: index + by, data_type: *data_type })
        }
        _ => None,
    });
}

/// The same expression seen from `level` queries further in.
fn seen_from(expr: &Expr, level: usize) -> Expr {
    let mut expr = expr.clone();
    if level > 0 {
        walk::rewrite(&mut expr, 0, &mut |expr, _| match expr {
            Expr::Column { index, data_type } => Some(Expr::Outer { level, index: *index, data_type: *data_type }),
            _ => None,
        });
    }
    expr
}

impl Binder<'_> {
    /// An unqualified column.
    pub(super) fn resolve(&self, env: Option<&Env>, ident: Id<Name>) -> Result<Expr> {
        let (name, span) = (name_text(self.tree, ident), self.tree.span(ident));
        let (mut next, mut level) = (env, 0);
        while let Some(env) = next {
            let mut found = env.scope.columns.iter().filter(|column| column.name == name);
            if let Some(first) = found.next() {
                if found.next().is_some() {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span));
                }
                return Ok(seen_from(&first.expr, level));
            }
            (next, level) = (env.outer, level + 1);
        }
        let error = Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"));
        Err(self.at(hinted(error, name, env), span))
    }

    /// Whether an unqualified name is a column in sight of the innermost scope.
    pub(super) fn is_column(&self, scope: &Scope, name: &str) -> bool {
        scope.columns.iter().any(|column| column.name == name)
    }

    /// `table.column` or `public.table.column`.
    pub(super) fn resolve_qualified(&self, env: Option<&Env>, names: List<Name>) -> Result<Expr> {
        let parts: Vec<Id<Name>> = self.tree.list(names).collect();
        let Some((column, qualifier)) = parts.split_last() else {
            return Err(Error::internal("a name without parts"));
        };
        let span = list_span(self.tree, names).unwrap_or(NOWHERE);
        let (relation, level) = self.relation_of(env, qualifier)?;
        let name = name_text(self.tree, *column);
        let mut found = relation.columns.iter().filter(|(candidate, _)| *candidate == name);
        match (found.next(), found.next()) {
            (Some((_, expr)), None) => Ok(seen_from(expr, level)),
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span))
            }
            _ => {
                let message = format!("column {}.{name} does not exist", relation.alias);
                let error = hinted(Error::new(SqlState::UNDEFINED_COLUMN, message), name, env);
                Err(self.at(error, span))
            }
        }
    }

    /// The relation that a qualifier names, and how many queries out it is.
    pub(super) fn relation<'e>(&self, env: Option<&'e Env>, qualifier: List<Name>) -> Result<(&'e Relation, usize)> {
        let parts: Vec<Id<Name>> = self.tree.list(qualifier).collect();
        self.relation_of(env, &parts)
    }

    fn relation_of<'e>(&self, env: Option<&'e Env>, qualifier: &[Id<Name>]) -> Result<(&'e Relation, usize)> {
        let (mut next, mut level) = (env, 0);
        let text = |name: &Id<Name>| name_text(self.tree, *name);
        let alias = qualifier.last().map_or("", text);
        let schema = match qualifier {
            [] | [_] => None,
            [schema, ..] => Some(text(schema)),
        };
        while let Some(env) = next {
            let found = env.scope.relations.iter().find(|relation| {
                relation.alias == alias && (schema.is_none() || schema == Some("public") && relation.by_own_name)
            });
            if let Some(relation) = found {
                return Ok((relation, level));
            }
            (next, level) = (env.outer, level + 1);
        }
        let span = qualifier.first().map_or(NOWHERE, |first| self.tree.span(*first));
        Err(self.at(self.no_entry(alias, env), span))
    }
}

impl Binder<'_> {
    /// No relation in sight has this name; perhaps one goes by another, or stands out of reach.
    fn no_entry(&self, alias: &str, env: Option<&Env>) -> Error {
        let invalid = || {
            let message = format!("invalid reference to FROM-clause entry for table \"{alias}\"");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        };
        let mut next = env;
        while let Some(env) = next {
            let is_table = |relation: &&Relation| relation.table.as_ref().is_some_and(|(table, _)| table.name == alias);
            if let Some(relation) = env.scope.relations.iter().find(is_table) {
                let hint = format!("Perhaps you meant to reference the table alias \"{}\".", relation.alias);
                return invalid().with_hint(hint);
            }
            next = env.outer;
        }
        if self.unreachable.iter().any(|name| name == alias) {
            return invalid().with_hint(format!(
                "There is an entry for table \"{alias}\", but it cannot be referenced from this part of the query."
            ));
        }
        let message = format!("missing FROM-clause entry for table \"{alias}\"");
        hinted_table(Error::new(SqlState::UNDEFINED_TABLE, message), alias, env)
    }
}

/// With PostgreSQL's suggestion of the nearest column in sight.
fn hinted(error: Error, name: &str, env: Option<&Env>) -> Error {
    let mut candidates = vec![];
    let mut next = env;
    while let Some(env) = next {
        for relation in &env.scope.relations {
            candidates.extend(relation.columns.iter().map(|(column, _)| (column.as_str(), (relation, column))));
        }
        next = env.outer;
    }
    let near = nearest(name, candidates.into_iter());
    let quoted: Vec<String> = near
        .iter()
        .take(2)
        .map(|(relation, column)| match relation.alias.as_str() {
            "" => format!("the column \"{column}\""),
            alias => format!("the column \"{alias}.{column}\""),
        })
        .collect();
    if quoted.is_empty() || near.len() > 2 {
        return error;
    }
    error.with_hint(format!("Perhaps you meant to reference {}.", quoted.join(" or ")))
}

fn hinted_table(error: Error, alias: &str, env: Option<&Env>) -> Error {
    let mut candidates = vec![];
    let mut next = env;
    while let Some(env) = next {
        candidates.extend(env.scope.relations.iter().map(|relation| relation.alias.as_str()));
        next = env.outer;
    }
    match nearest(alias, candidates.into_iter().map(|name| (name, name))).as_slice() {
        [near, ..] => error.with_hint(format!("Perhaps you meant to reference the table alias \"{near}\".")),
        [] => error,
    }
}

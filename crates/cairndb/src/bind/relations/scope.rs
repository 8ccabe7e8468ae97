//! Names in sight: the relations of a FROM clause and the columns they give a row.
//!
//! Invariants: a scope's columns are what an unqualified name or `*` sees, in order; a relation's columns are what
//! `alias.name` sees. Both map to expressions over the row (usually a column of it; for a column merged by a FULL JOIN
//! with USING, a COALESCE). Rows are joined left to right, so a scope is joined by shifting the right one. The names of a
//! table's columns are looked up in the table: none is copied before something changes what is seen of it.

use std::borrow::Cow;
use std::sync::Arc;

use cairn_parser::{Id, List, Name, Span};

use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::Context;
use crate::bind::nearest::nearest;
use crate::catalog::{ObjectId, Table};
use crate::plan::{Expr, Field, walk};
use crate::sql::{list_span, name_text};
use crate::system::oid_of;
use crate::types::{CompositeType, DataType};
use crate::{Error, Result, SqlState, Value};

/// A named expression over the row.
pub(in crate::bind) type Named = (String, Expr);

/// A FROM item under its alias.
#[derive(Clone, Debug)]
pub(in crate::bind) struct Relation {
    pub(in crate::bind) alias: String,
    /// Its schema, where no alias was given: then `s.t` names it too.
    pub(in crate::bind) schema: Option<Arc<str>>,
    /// None: the table's.
    listed: Option<Vec<Named>>,
    /// A function's rows of a single value: its alias means that value.
    pub(super) is_scalar: bool,
    /// The recursive query that the SELECT is a term of; its columns may be followed by some that are not seen.
    pub(in crate::bind) is_recursive: bool,
    /// The table, where its columns are the row's columns from `start` on.
    pub(in crate::bind) table: Option<(Arc<Table>, usize)>,
    /// PostgreSQL's oid of the table, if it is one of the system's.
    pub(super) system: Option<i64>,
    /// A column that is NULL in the rows for which an outer join found none of the relation.
    pub(in crate::bind) present: Option<usize>,
    /// The type of its rows, if they have one with a name.
    pub(in crate::bind) row_type: Option<CompositeType>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(in crate::bind) struct Scope {
    pub(in crate::bind) relations: Vec<Relation>,
    /// None: all columns of all relations.
    listed: Option<Vec<Named>>,
    /// Columns of the row.
    pub(in crate::bind) width: usize,
}

impl Relation {
    /// A relation of these columns.
    pub(in crate::bind) fn new(alias: String, columns: Vec<Named>) -> Relation {
        Relation {
            alias,
            schema: None,
            listed: Some(columns),
            is_scalar: false,
            is_recursive: false,
            table: None,
            system: None,
            present: None,
            row_type: None,
        }
    }

    /// The oid of the table that it is.
    fn table_oid(&self) -> Option<i64> {
        self.table.as_ref().map(|(table, _)| oid_of(table.id)).or(self.system)
    }

    /// Whether it is a function's rows of a single value, which its name means.
    pub(in crate::bind) fn is_value_called(&self, name: &str) -> bool {
        self.is_scalar && self.alias == name
    }

    /// The domain of a table's column.
    pub(in crate::bind) fn domain_of(&self, column: &str) -> Option<ObjectId> {
        let (table, _) = self.table.as_ref()?;
        table.columns.iter().find(|known| known.name == column)?.domain
    }

    /// Its columns in order.
    pub(in crate::bind) fn columns(&self) -> impl Iterator<Item = (&str, Cow<'_, Expr>)> {
        let table = self.table.as_ref().filter(|_| self.listed.is_none());
        let of_table = table.into_iter().flat_map(|(table, start)| {
            let column = move |(index, column): (usize, &'_ crate::catalog::Column)| Expr::Column {
                index: start + index,
                data_type: column.data_type,
            };
            table.columns.iter().enumerate().map(move |at| (at.1.name.as_str(), Cow::Owned(column(at))))
        });
        of_table.chain(self.listed.iter().flatten().map(borrowed))
    }

    /// Its columns, to change them.
    pub(in crate::bind) fn columns_mut(&mut self) -> &mut Vec<Named> {
        let listed = self.listed.take().unwrap_or_else(|| self.columns().map(owned).collect());
        self.listed.insert(listed)
    }
}

fn borrowed((name, expr): &Named) -> (&str, Cow<'_, Expr>) {
    (name, Cow::Borrowed(expr))
}

fn owned((name, expr): (&str, Cow<'_, Expr>)) -> Named {
    (name.to_owned(), expr.into_owned())
}

/// A scope and those around it, innermost first. One step outwards is one `Outer` level.
#[derive(Clone, Copy)]
pub(in crate::bind) struct Env<'a> {
    pub(in crate::bind) scope: &'a Scope,
    pub(in crate::bind) outer: Option<&'a Env<'a>>,
    /// The expression of this query that what is bound stands in, where it may have aggregates of this query.
    pub(in crate::bind) within: Option<&'a Context<'a>>,
}

impl<'a> Env<'a> {
    /// So many steps outwards.
    pub(in crate::bind) fn out(&'a self, level: usize) -> Option<&'a Env<'a>> {
        (0..level).try_fold(self, |env, _| env.outer)
    }
}

impl Scope {
    /// Whether the recursive query is read right here whose term this belongs to.
    pub(in crate::bind) fn reads_itself(&self) -> bool {
        self.relations.iter().any(|relation| relation.is_recursive)
    }

    /// One relation whose row is these fields.
    pub(super) fn of_fields(alias: String, fields: &[Field]) -> Scope {
        let columns = fields.iter().enumerate();
        let column =
            |(index, field): (usize, &Field)| (field.name.clone(), Expr::Column { index, data_type: field.data_type });
        Scope::of(Relation::new(alias, columns.map(column).collect()), fields.len())
    }

    /// One table whose columns start the row.
    pub(in crate::bind) fn of_table(
        alias: String,
        schema: Option<Arc<str>>,
        table: &Arc<Table>,
        width: usize,
    ) -> Scope {
        let table = Some((Arc::clone(table), 0));
        let relation = Relation { schema, listed: None, table, ..Relation::new(alias, vec![]) };
        Scope::of(relation, width)
    }

    /// One relation, all of whose columns are seen.
    pub(in crate::bind) fn of(relation: Relation, width: usize) -> Scope {
        Scope { relations: vec![relation], listed: None, width }
    }

    /// What an unqualified name or `*` sees, in order.
    pub(in crate::bind) fn columns(&self) -> impl Iterator<Item = (&str, Cow<'_, Expr>)> {
        let relations = self.relations.iter().filter(|_| self.listed.is_none());
        relations.flat_map(Relation::columns).chain(self.listed.iter().flatten().map(borrowed))
    }

    /// What an unqualified name or `*` sees, to change it.
    pub(in crate::bind) fn columns_mut(&mut self) -> &mut Vec<Named> {
        let listed = self.listed.take().unwrap_or_else(|| self.columns().map(owned).collect());
        self.listed.insert(listed)
    }

    /// The first column that an unqualified name means, and whether there is another.
    pub(in crate::bind) fn find(&self, name: &str) -> Option<(Cow<'_, Expr>, bool)> {
        match (&self.listed, self.relations.as_slice()) {
            (None, [Relation { listed: None, table: Some((table, start)), .. }]) => {
                // A table's columns have names of their own.
                let index = table.columns.iter().position(|column| column.name == name)?;
                let data_type = table.columns[index].data_type;
                Some((Cow::Owned(Expr::Column { index: start + index, data_type }), false))
            }
            _ => {
                let mut found = self.columns().filter(|(column, _)| *column == name);
                match found.next() {
                    Some((_, first)) => Some((first, found.next().is_some())),
                    None => {
                        let is_it = |relation: &&Relation| relation.is_scalar && relation.alias == name;
                        let (_, value) = self.relations.iter().find(is_it)?.columns().next()?;
                        Some((value, false))
                    }
                }
            }
        }
    }

    /// The row that starts `by` columns later.
    pub(in crate::bind) fn shifted(mut self, by: usize) -> Scope {
        for relation in &mut self.relations {
            relation.listed.iter_mut().flatten().for_each(|(_, expr)| shift(expr, by));
            if let Some((_, start)) = &mut relation.table {
                *start += by;
            }
            relation.present.iter_mut().for_each(|present| *present += by);
        }
        self.listed.iter_mut().flatten().for_each(|(_, expr)| shift(expr, by));
        self
    }

    /// The names over a row that lacks `count` columns (that no name means) from `from` on.
    pub(in crate::bind) fn without_columns(&self, from: usize, count: usize) -> Scope {
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
            relation.columns_mut().iter_mut().for_each(|(_, expr)| close(expr));
            relation.table = None;
            if let Some(present) = relation.present.as_mut().filter(|present| **present >= from) {
                *present -= count;
            }
        }
        scope.listed.iter_mut().flatten().for_each(|(_, expr)| close(expr));
        scope.width -= count;
        scope
    }

    /// Both scopes' names over the joined row. Table names must differ (42712).
    pub(in crate::bind) fn joined(mut self, right: Scope) -> Result<Scope> {
        for relation in &right.relations {
            let clashes = |other: &Relation| {
                let both = other.schema.is_some() && relation.schema.is_some();
                other.alias == relation.alias
                    && !relation.alias.is_empty()
                    && !(both && other.schema != relation.schema)
            };
            if self.relations.iter().any(clashes) {
                return Err(Error::repeated_alias(&relation.alias));
            }
        }
        let width = self.width;
        let mut right = right.shifted(width);
        if self.listed.is_some() || right.listed.is_some() {
            let columns = std::mem::take(right.columns_mut());
            self.columns_mut().extend(columns);
        }
        self.relations.extend(right.relations);
        self.width += right.width;
        Ok(self)
    }

    /// The relation and name of a row's column, for messages.
    pub(in crate::bind) fn name_of(&self, index: usize) -> Option<String> {
        let is_it = |expr: &Expr| matches!(expr, Expr::Column { index: i, .. } if *i == index);
        self.relations.iter().find_map(|relation| {
            let (name, _) = relation.columns().find(|(_, expr)| is_it(expr))?;
            Some(if relation.alias.is_empty() { name.to_owned() } else { format!("{}.{name}", relation.alias) })
        })
    }

    /// The table whose column this is, with the row position of the table's first column.
    pub(in crate::bind) fn table_of(&self, index: usize) -> Option<(&Arc<Table>, usize)> {
        self.relations.iter().find_map(|relation| {
            let (table, start) = relation.table.as_ref()?;
            (*start <= index && index < start + table.columns.len()).then_some((table, *start))
        })
    }
}

/// The columns of the row that an expression looks at.
pub(in crate::bind) fn columns_in(expr: &Expr, mut found: impl FnMut(usize)) {
    walk::walk(expr, 0, &mut |expr, depth| {
        if let (Expr::Column { index, .. }, 0) = (expr, depth) {
            found(*index);
        }
    });
}

pub(in crate::bind) fn shift(expr: &mut Expr, by: usize) {
    walk::rewrite(expr, 0, &mut |expr, depth| match expr {
        Expr::Column { index, data_type } if depth == 0 => {
            Some(Expr::Column { index: index + by, data_type: *data_type })
        }
        _ => None,
    });
}

/// The same expression seen from `level` queries further in.
pub(in crate::bind) fn seen_from(expr: Cow<'_, Expr>, level: usize) -> Expr {
    let mut expr = expr.into_owned();
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
    pub(in crate::bind) fn resolve(&self, env: Option<&Env>, ident: Id<Name>) -> Result<Expr> {
        let (name, span) = (name_text(self.tree, ident), self.tree.span(ident));
        let (mut next, mut level) = (env, 0);
        while let Some(env) = next {
            if let Some((first, ambiguous)) = env.scope.find(name) {
                if ambiguous {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span));
                }
                self.note_use(env.scope, &first);
                return Ok(seen_from(first, level));
            }
            if let Some(found) = self.system_column(name, &env.scope.relations, span)? {
                return Ok(seen_from(Cow::Owned(found), level));
            }
            (next, level) = (env.outer, level + 1);
        }
        let error = Error::undefined_column(name);
        Err(self.at(hinted(error, name, env), span))
    }

    /// Whether an unqualified name is a column in sight of the innermost scope.
    pub(in crate::bind) fn is_column(&self, scope: &Scope, name: &str) -> bool {
        scope.find(name).is_some()
    }

    /// `table.column` or `public.table.column`.
    pub(in crate::bind) fn resolve_qualified(&self, env: Option<&Env>, names: List<Name>) -> Result<Expr> {
        let parts: Vec<Id<Name>> = self.tree.list(names).collect();
        let Some((column, qualifier)) = parts.split_last() else {
            return Err(Error::internal("a name without parts"));
        };
        let span = list_span(self.tree, names).unwrap_or(NOWHERE);
        let (relation, level, scope) = self.relation_of(env, qualifier)?;
        let name = name_text(self.tree, *column);
        let mut found = relation.columns().filter(|(candidate, _)| *candidate == name);
        match (found.next(), found.next()) {
            (Some((_, expr)), None) => {
                self.note_use(scope, &expr);
                Ok(seen_from(expr, level))
            }
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span))
            }
            _ => {
                if let Some(found) = self.system_column(name, std::slice::from_ref(relation), span)? {
                    return Ok(seen_from(Cow::Owned(found), level));
                }
                let message = format!("column {}.{name} does not exist", relation.alias);
                let error = hinted(Error::new(SqlState::UNDEFINED_COLUMN, message), name, env);
                Err(self.at(error, span))
            }
        }
    }

    /// The relation that a qualifier names, how many queries out it is, and the scope that it is in.
    pub(in crate::bind) fn relation_of<'e>(
        &self,
        env: Option<&'e Env>,
        qualifier: &[Id<Name>],
    ) -> Result<(&'e Relation, usize, &'e Scope)> {
        let (mut next, mut level) = (env, 0);
        let text = |name: &Id<Name>| name_text(self.tree, *name);
        let alias = qualifier.last().map_or("", text);
        let schema = match qualifier {
            [] | [_] => None,
            [schema, ..] => Some(text(schema)),
        };
        while let Some(env) = next {
            let found =
                env.scope.relations.iter().find(|relation| {
                    relation.alias == alias && (schema.is_none() || relation.schema.as_deref() == schema)
                });
            if let Some(relation) = found {
                return Ok((relation, level, env.scope));
            }
            (next, level) = (env.outer, level + 1);
        }
        let span = qualifier.first().map_or(NOWHERE, |first| self.tree.span(*first));
        Err(self.at(self.no_entry(alias, env), span))
    }
}

/// The columns that every table has in PostgreSQL, behind those that it says.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

impl Binder<'_> {
    /// `tableoid` of the table among these relations. The others tell where PostgreSQL keeps a row, and which transactions
    /// wrote it: SQLSTATE 0A000.
    fn system_column(&self, name: &str, relations: &[Relation], span: Span) -> Result<Option<Expr>> {
        if !SYSTEM_COLUMNS.contains(&name) {
            return Ok(None);
        }
        let mut tables = relations.iter().filter_map(|relation| Some((relation.table_oid()?, relation.present)));
        let Some((oid, present)) = tables.next() else { return Ok(None) };
        if tables.next().is_some() {
            let message = format!("column reference \"{name}\" is ambiguous");
            return Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span));
        }
        if name != "tableoid" {
            let error = Error::unsupported(format!("the system column \"{name}\""));
            return Err(self.at(error.with_hint("Rows are told apart by the table's key."), span));
        }
        let oid = Expr::Literal { value: Value::BigInt(oid), data_type: DataType::Oid };
        let Some(present) = present else { return Ok(Some(oid)) };
        let missing = Expr::IsNull(Box::new(Expr::Column { index: present, data_type: DataType::Boolean }));
        let branches = vec![(missing, crate::bind::expressions::coerce::null(DataType::Oid))];
        Ok(Some(Expr::Case { branches, otherwise: Some(Box::new(oid)), data_type: DataType::Oid }))
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
            candidates.extend(relation.columns().map(|(column, _)| (column, (relation, column))));
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

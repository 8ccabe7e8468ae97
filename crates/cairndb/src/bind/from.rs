//! FROM: tables, views, WITH queries, subqueries, functions; and how items combine.
//!
//! An item that may look at what stands left of it (LATERAL, a function) is bound one level further in, its `Outer` level
//! 1 being the left row. Where it turns out not to look, the level is taken out again and the join is an ordinary one.

use std::sync::Arc;

use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, ObjectName, Query, Spanned, TableAlias, TableFactor, TableWithJoins,
};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, dotted, fold, name_span, plain_name};
use super::context::{Clause, Context};
use super::nearest::nearest;
use super::scope::{Env, Scope};
use crate::catalog::{Table, View};
use crate::plan::{Expr, Field, JoinKind, LogicalPlan, walk};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Views within views.
const VIEW_DEPTH_MAX: usize = 32;

/// A FROM item and its names. `lateral`: `Outer { level: 1 }` in the plan is the row to the left.
pub(super) struct Item {
    pub(super) plan: LogicalPlan,
    pub(super) scope: Scope,
    pub(super) lateral: bool,
}

impl Item {
    fn plain(plan: LogicalPlan, scope: Scope) -> Item {
        Item { plan, scope, lateral: false }
    }
}

/// One row without columns: what a SELECT without FROM reads.
pub(super) fn one_row() -> LogicalPlan {
    LogicalPlan::Values { rows: vec![vec![]], fields: vec![] }
}

impl Binder<'_> {
    /// The whole clause, items joined from left to right.
    pub(super) fn all_items(&mut self, items: &[TableWithJoins], outer: Option<&Env>) -> Result<(LogicalPlan, Scope)> {
        let mut joined: Option<(LogicalPlan, Scope)> = None;
        for item in items {
            joined = Some(self.add_item(joined, item, outer)?);
        }
        Ok(joined.unwrap_or_else(|| (one_row(), Scope::default())))
    }

    /// Joins one more item of the list.
    pub(super) fn add_item(
        &mut self,
        left: Option<(LogicalPlan, Scope)>,
        item: &TableWithJoins,
        outer: Option<&Env>,
    ) -> Result<(LogicalPlan, Scope)> {
        let right = self.table_with_joins(item, left.as_ref().map(|(_, scope)| scope), outer)?;
        match left {
            None => Ok((right.plan, right.scope)),
            Some(left) => self.cross(left, right, item),
        }
    }

    fn cross(
        &mut self,
        (left, left_scope): (LogicalPlan, Scope),
        right: Item,
        item: &TableWithJoins,
    ) -> Result<(LogicalPlan, Scope)> {
        let scope = left_scope.joined(right.scope).map_err(|error| self.at(error, item.relation.span()))?;
        let (left, right_plan) = (Box::new(left), Box::new(right.plan));
        let plan =
            LogicalPlan::Join { kind: JoinKind::Inner, left, right: right_plan, on: None, lateral: right.lateral };
        Ok((plan, scope))
    }

    /// An item with its joins. Only an item without joins may look at `left`.
    fn table_with_joins(&mut self, item: &TableWithJoins, left: Option<&Scope>, outer: Option<&Env>) -> Result<Item> {
        let first = self.table_factor(&item.relation, left, outer)?;
        if item.joins.is_empty() {
            return Ok(first);
        }
        if first.lateral {
            let error = Error::unsupported("a join whose first item is LATERAL");
            return Err(self.at(error, item.relation.span()));
        }
        let mut joined = (first.plan, first.scope);
        for join in &item.joins {
            joined = self.join(joined, join, outer)?;
        }
        Ok(Item::plain(joined.0, joined.1))
    }

    /// One relation, its names given by its alias.
    pub(super) fn table_factor(
        &mut self,
        factor: &TableFactor,
        left: Option<&Scope>,
        outer: Option<&Env>,
    ) -> Result<Item> {
        self.charge_relation()?;
        match factor {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => self.named(name, alias.as_ref()),
            TableFactor::Table { name, alias, args: Some(args), with_ordinality: false, .. } => {
                self.table_function(name, &args.args, alias.as_ref(), left, outer)
            }
            TableFactor::Function { name, args, alias, with_ordinality: false, .. } => {
                self.table_function(name, args, alias.as_ref(), left, outer)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                self.derived(*lateral, subquery, alias.as_ref(), left, outer)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let item = self.table_with_joins(table_with_joins, None, outer)?;
                match alias {
                    None => Ok(item),
                    Some(alias) => self.aliased_join(item, alias),
                }
            }
            other => Err(self.at(Error::unsupported(format!("{other} in FROM")), other.span())),
        }
    }

    /// A WITH query, a table or a view.
    fn named(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Item> {
        let Some((plain, span)) = plain_name(name) else { return Err(self.no_relation(name)) };
        let cte = self.ctes.iter().rev().find(|cte| cte.name == plain && name.0.len() == 1);
        if let Some(cte) = cte {
            let (id, fields) = (cte.id, cte.fields.clone());
            let scope = self.fields_scope(&plain, fields.clone(), alias)?;
            return Ok(Item::plain(LogicalPlan::CteScan { id, fields }, scope));
        }
        if let Some(table) = self.catalog.table(&plain) {
            return self.table(&Arc::clone(table), alias);
        }
        match self.catalog.view(&plain) {
            Some(view) => self.view(&Arc::clone(view), alias, span),
            None => Err(self.no_relation(name)),
        }
    }

    fn table(&mut self, table: &Arc<Table>, alias: Option<&TableAlias>) -> Result<Item> {
        let width = table.columns.len();
        let plan = LogicalPlan::Scan { table: Arc::clone(table), columns: (0..width).collect() };
        let own = alias.is_none();
        let name = alias.map_or_else(|| table.name.clone(), |alias| fold(&alias.name));
        let mut scope = Scope::of_table(name, own, table, width);
        if let Some(alias) = alias {
            self.rename(&mut scope, alias)?;
        }
        Ok(Item::plain(plan, scope))
    }

    /// `relation "x" does not exist`, with the nearest name.
    pub(super) fn no_relation(&self, name: &ObjectName) -> Error {
        let full = dotted(name);
        let error = Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"));
        let names = self.catalog.tables.keys().chain(self.catalog.views.keys());
        let near = nearest(&full, names.map(|name| (name.as_str(), name)));
        let error = match near.as_slice() {
            [near, ..] => error.with_hint(format!("Perhaps you meant the relation \"{near}\".")),
            [] => error,
        };
        self.at(error, name_span(name))
    }

    fn view(&mut self, view: &View, alias: Option<&TableAlias>, span: Span) -> Result<Item> {
        if self.views.contains(&view.name) || self.views.len() >= VIEW_DEPTH_MAX {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(self.at(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message), span));
        }
        let (query, _) = crate::sql::parse_query(&view.query)?;
        self.views.push(view.name.clone());
        let plan = self.isolated(|binder| binder.query(&query, None));
        self.views.pop();
        let plan = plan?;
        let mut fields = plan.fields();
        for (field, name) in fields.iter_mut().zip(&view.columns) {
            field.name.clone_from(name);
        }
        let mut scope = self.fields_scope(&view.name, fields, alias)?;
        if let (Some(relation), None) = (scope.relations.first_mut(), alias) {
            relation.by_own_name = true;
        }
        Ok(Item::plain(plan, scope))
    }

    /// A scope of one relation called by its alias, or by `name`.
    fn fields_scope(&mut self, name: &str, fields: Vec<Field>, alias: Option<&TableAlias>) -> Result<Scope> {
        let Some(alias) = alias else { return Ok(Scope::of_fields(name.to_owned(), &fields)) };
        let fields = renamed(fields, alias).map_err(|error| self.at(error, alias.name.span))?;
        Ok(Scope::of_fields(fold(&alias.name), &fields))
    }

    /// Applies an alias's column names.
    fn rename(&self, scope: &mut Scope, alias: &TableAlias) -> Result<()> {
        let Some(relation) = scope.relations.first_mut() else { return Ok(()) };
        check_column_count("table", relation.columns.len(), alias).map_err(|error| self.at(error, alias.name.span))?;
        for ((name, _), new) in relation.columns.iter_mut().zip(&alias.columns) {
            *name = fold(&new.name);
        }
        for (column, new) in scope.columns.iter_mut().zip(&alias.columns) {
            column.name = fold(&new.name);
        }
        Ok(())
    }

    fn derived(
        &mut self,
        lateral: bool,
        query: &Query,
        alias: Option<&TableAlias>,
        left: Option<&Scope>,
        outer: Option<&Env>,
    ) -> Result<Item> {
        let (plan, lateral) = if lateral {
            let scope = left.cloned().unwrap_or_default();
            let plan = self.query(query, Some(&Env { scope: &scope, outer }))?;
            settle(plan)
        } else {
            let hidden = self.unreachable.len();
            let aliases = left.iter().flat_map(|left| &left.relations).map(|relation| relation.alias.clone());
            self.unreachable.extend(aliases);
            let plan = self.query(query, outer);
            self.unreachable.truncate(hidden);
            (plan?, false)
        };
        let scope = match alias {
            Some(_) => self.fields_scope("", plan.fields(), alias)?,
            None => Scope::of_fields(String::new(), &plan.fields()),
        };
        Ok(Item { plan, scope, lateral })
    }

    /// `generate_series(...)`: one column, named by the alias.
    fn table_function(
        &mut self,
        name: &ObjectName,
        args: &[FunctionArg],
        alias: Option<&TableAlias>,
        left: Option<&Scope>,
        outer: Option<&Env>,
    ) -> Result<Item> {
        let plain = plain_name(name).map(|(plain, _)| plain).unwrap_or_else(|| dotted(name));
        let scope = left.cloned().unwrap_or_default();
        let left = Env { scope: &scope, outer };
        // The function's row of its own has no columns; the left row is one level out.
        let nothing = Scope::default();
        let env = Env { scope: &nothing, outer: Some(&left) };
        let mut context = Context::new(Some(&env), Clause::From);
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
                return Err(self.at(Error::unsupported(format!("argument {arg}")), name_span(name)));
            };
            bound.push((self.expr(arg, &mut context)?, arg.span()));
        }
        let (args, data_type) = self.series(&plain, bound, name_span(name))?;
        let column = alias.map_or_else(|| plain.clone(), |alias| fold(&alias.name));
        let fields = vec![Field { name: column, data_type }];
        let (plan, lateral) = settle(LogicalPlan::TableFunction { name: plain.clone(), args, fields: fields.clone() });
        let scope = self.fields_scope(&plain, fields, alias)?;
        Ok(Item { plan, scope, lateral })
    }

    /// The arguments of `generate_series`, of one type (timestamps: and an interval).
    pub(super) fn series(&mut self, name: &str, args: Vec<(Expr, Span)>, span: Span) -> Result<(Vec<Expr>, DataType)> {
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = || super::overload::no_function(name, &types);
        if name != "generate_series" || !(2..=3).contains(&args.len()) {
            return Err(self.at(none(), span));
        }
        let ends: Vec<(DataType, Span)> = args.iter().take(2).map(|(arg, at)| (arg.data_type(), *at)).collect();
        let timed =
            ends.iter().any(|(end, _)| matches!(end, DataType::Timestamp | DataType::TimestampTz | DataType::Date));
        let considered: Vec<(DataType, Span)> = match timed {
            true => ends,
            false => args.iter().map(|(arg, at)| (arg.data_type(), *at)).collect(),
        };
        let common = self.common_type("generate_series", &considered).map_err(|_| self.at(none(), span))?;
        let common = match common.base() {
            DataType::SmallInt | DataType::Text => DataType::Integer,
            DataType::Date => DataType::TimestampTz,
            other => other,
        };
        let possible = matches!(common, DataType::Integer | DataType::BigInt | DataType::Numeric(None))
            || matches!(common, DataType::Timestamp | DataType::TimestampTz) && args.len() == 3;
        if !possible {
            return Err(self.at(none(), span));
        }
        let mut converted = Vec::with_capacity(args.len());
        for (position, (arg, at)) in args.into_iter().enumerate() {
            let to = if timed && position == 2 { DataType::Interval } else { common };
            converted.push(self.implicit(arg, to, at)?);
        }
        Ok((converted, common))
    }

    /// `(a JOIN b ...) AS alias`: one relation of all the columns.
    fn aliased_join(&mut self, item: Item, alias: &TableAlias) -> Result<Item> {
        let columns: Vec<(String, Expr)> =
            item.scope.columns.iter().map(|column| (column.name.clone(), column.expr.clone())).collect();
        let name = fold(&alias.name);
        let relation = super::scope::Relation { alias: name, by_own_name: false, columns, table: None };
        let columns = super::scope::visible(&relation, 0);
        let mut scope = Scope { relations: vec![relation], columns, width: item.scope.width };
        self.rename(&mut scope, alias)?;
        Ok(Item::plain(item.plan, scope))
    }
}

/// The fields under an alias's column names.
pub(super) fn renamed(fields: Vec<Field>, alias: &TableAlias) -> Result<Vec<Field>> {
    check_column_count("table", fields.len(), alias)?;
    Ok(with_names(fields, alias))
}

/// The same for a WITH query.
pub(super) fn renamed_query(fields: Vec<Field>, alias: &TableAlias) -> Result<Vec<Field>> {
    check_column_count("WITH query", fields.len(), alias)?;
    Ok(with_names(fields, alias))
}

fn with_names(mut fields: Vec<Field>, alias: &TableAlias) -> Vec<Field> {
    for (field, new) in fields.iter_mut().zip(&alias.columns) {
        field.name = fold(&new.name);
    }
    fields
}

fn check_column_count(what: &str, available: usize, alias: &TableAlias) -> Result<()> {
    if alias.columns.len() > available {
        let given = alias.columns.len();
        let name = fold(&alias.name);
        let message = format!("{what} \"{name}\" has {available} columns available but {given} columns specified");
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
    }
    Ok(())
}

/// Each row of `plan` with each value of `generate_series` over it.
pub(super) fn with_series(plan: LogicalPlan, mut args: Vec<Expr>, data_type: DataType) -> LogicalPlan {
    for arg in &mut args {
        walk::rewrite(arg, 0, &mut |expr, depth| match *expr {
            Expr::Column { index, data_type } if depth == 0 => Some(Expr::Outer { level: 1, index, data_type }),
            Expr::Outer { level, index, data_type } if level >= depth && level > 0 => {
                Some(Expr::Outer { level: level + 1, index, data_type })
            }
            _ => None,
        });
    }
    let name = "generate_series".to_owned();
    let fields = vec![Field { name: name.clone(), data_type }];
    let (right, lateral) = settle(LogicalPlan::TableFunction { name, args, fields });
    LogicalPlan::Join { kind: JoinKind::Inner, left: Box::new(plan), right: Box::new(right), on: None, lateral }
}

/// Takes the level for the left row out again where nothing uses it. The other result: whether the join is lateral.
fn settle(mut plan: LogicalPlan) -> (LogicalPlan, bool) {
    let mut looks_left = false;
    walk::walk_plan(&plan, 0, &mut |expr, depth| {
        looks_left |= matches!(expr, Expr::Outer { level, .. } if *level == depth + 1);
    });
    if !looks_left {
        walk::rewrite_plan(&mut plan, 0, &mut |expr, depth| match expr {
            Expr::Outer { level, index, data_type } if *level > depth => {
                Some(Expr::Outer { level: level - 1, index: *index, data_type: *data_type })
            }
            _ => None,
        });
    }
    (plan, looks_left)
}

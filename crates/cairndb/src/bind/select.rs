//! SELECT: the order in which its clauses mean something.
//!
//! FROM, WHERE, groups, HAVING, the select list (with columns that only sorting needs behind it), DISTINCT, ORDER BY,
//! LIMIT, and last the hidden columns are cut off.

use sqlparser::ast::{
    self, Distinct, GroupByExpr, OrderByExpr, Select, SelectItem, SelectItemQualifiedWildcardKind, Spanned,
};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, fold};
use super::context::{Clause, Context};
use super::equal::same_expr;
use super::grouping::Grouping;
use super::grouping_sets::GroupBy;
use super::output_name::output_name;
use super::query::{Window, limited};
use super::scope::Env;
use crate::plan::{Expr, Field, LogicalPlan, SortKey};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// PostgreSQL's limit on target lists.
const COLUMNS_MAX: usize = 1664;

/// A column of the select list.
pub(super) struct Output {
    pub(super) expr: Expr,
    pub(super) name: String,
    pub(super) span: Span,
}

/// A SELECT, its expressions bound over the FROM row (aggregates standing in as columns).
struct Parts {
    outputs: Vec<Output>,
    having: Option<Expr>,
    /// Sort keys over the projected row.
    sort: Vec<SortKey>,
    /// Columns that only sorting needs.
    hidden: Vec<Expr>,
    distinct: Deduplication,
}

enum Deduplication {
    None,
    Rows,
    /// DISTINCT ON: columns of the projected row.
    On(Vec<Expr>),
}

impl Binder<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        keys: &[OrderByExpr],
        window: Window,
        outer: Option<&Env>,
    ) -> Result<LogicalPlan> {
        self.refuse_select_extensions(select)?;
        let (mut plan, scope) = self.all_items(&select.from, outer)?;
        let env = Env { scope: &scope, outer };
        if let Some(condition) = &select.selection {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut context = Context::with_aggregates(&env, Clause::Select);
        let mut outputs = self.outputs(&select.projection, &mut context)?;
        let groups = self.group_by(&select.group_by, &outputs, &env)?;
        let having = self.having(select.having.as_ref(), &mut context)?;
        if !keys.is_empty() || select.distinct.is_some() {
            for output in &mut outputs {
                let expr = std::mem::replace(&mut output.expr, super::coerce::boolean(true));
                output.expr = self.known(expr)?;
            }
        }
        let mut parts = Parts { outputs, having, sort: vec![], hidden: vec![], distinct: Deduplication::None };
        context.clause = Clause::OrderBy;
        self.distinct(select.distinct.as_ref(), &mut parts, &mut context)?;
        self.order_by(keys, &mut parts, &mut context)?;
        let aggregates = context.aggregates.take().unwrap_or_default();
        if let Some((args, data_type)) = context.series.take() {
            plan = super::from::with_series(plan, args, data_type);
        }
        if groups.is_some() || !aggregates.is_empty() || parts.having.is_some() {
            let grouping = Grouping::new(&scope, groups.unwrap_or_default(), aggregates, context);
            let exprs = parts.outputs.iter_mut().map(|output| &mut output.expr);
            let exprs = exprs.chain(&mut parts.having).chain(&mut parts.hidden);
            plan = grouping.apply(self, plan, exprs)?;
        }
        Ok(assemble(plan, parts, window))
    }

    /// WHERE.
    pub(super) fn filter(&mut self, condition: &ast::Expr, env: &Env) -> Result<Expr> {
        let bound = self.expr(condition, &mut Context::new(Some(env), Clause::Where))?;
        self.condition(bound, "WHERE", condition.span())
    }

    fn having(&mut self, condition: Option<&ast::Expr>, context: &mut Context) -> Result<Option<Expr>> {
        let Some(condition) = condition else { return Ok(None) };
        context.clause = Clause::Having;
        let bound = self.expr(condition, context)?;
        self.condition(bound, "HAVING", condition.span()).map(Some)
    }

    fn refuse_select_extensions(&self, select: &Select) -> Result<()> {
        let odd = select.top.is_some()
            || select.into.is_some()
            || select.prewhere.is_some()
            || select.qualify.is_some()
            || select.exclude.is_some()
            || !select.lateral_views.is_empty()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty();
        match (odd, select.named_window.is_empty()) {
            (true, _) => Err(Error::unsupported("this clause of another SQL dialect")),
            (_, false) => Err(Error::unsupported("WINDOW")),
            _ => Ok(()),
        }
    }

    /// The select list (or RETURNING's), `*` expanded.
    pub(super) fn outputs(&mut self, items: &[SelectItem], context: &mut Context) -> Result<Vec<Output>> {
        let mut outputs = Vec::with_capacity(items.len());
        for item in items {
            self.output(item, context, &mut outputs)?;
            if outputs.len() > COLUMNS_MAX {
                let message = format!("target lists can have at most {COLUMNS_MAX} entries");
                return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
            }
        }
        Ok(outputs)
    }

    fn output(&mut self, item: &SelectItem, context: &mut Context, outputs: &mut Vec<Output>) -> Result<()> {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                outputs.push(Output { expr: self.expr(expr, context)?, name: output_name(expr), span: expr.span() });
            }
            SelectItem::ExprWithAlias { expr, alias } if alias.quote_style == Some('\'') => {
                let message = format!("syntax error at or near \"'{}'\"", alias.value);
                return Err(self.at_end_of(Error::new(SqlState::SYNTAX_ERROR, message), expr.span()));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                outputs.push(Output { expr: self.expr(expr, context)?, name: fold(alias), span: expr.span() });
            }
            SelectItem::Wildcard(options) => self.wildcard(options, context, outputs)?,
            SelectItem::QualifiedWildcard(kind, options) => {
                self.qualified_wildcard(kind, options.wildcard_token.0.span, context, outputs)?;
            }
            SelectItem::ExprWithAliases { expr, .. } => {
                return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, "one alias per column"), expr.span()));
            }
        }
        Ok(())
    }

    fn wildcard(
        &self,
        options: &ast::WildcardAdditionalOptions,
        context: &mut Context,
        outputs: &mut Vec<Output>,
    ) -> Result<()> {
        let span = options.wildcard_token.0.span;
        if let Some(alias) = &options.opt_alias {
            let message = format!("syntax error at or near \"{}\"", alias.value);
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), alias.span));
        }
        let columns = context.env.map_or(&[][..], |env| &env.scope.columns);
        if context.env.is_none_or(|env| env.scope.relations.is_empty()) {
            let message = "SELECT * with no tables specified is not valid";
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
        }
        for column in columns {
            mention(context.mentions.entry(index_of(&column.expr)), span);
            outputs.push(Output { expr: column.expr.clone(), name: column.name.clone(), span });
        }
        Ok(())
    }

    fn qualified_wildcard(
        &self,
        kind: &SelectItemQualifiedWildcardKind,
        span: Span,
        context: &mut Context,
        outputs: &mut Vec<Output>,
    ) -> Result<()> {
        let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(self.at(Error::unsupported("a row's fields"), span));
        };
        let idents: Vec<ast::Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
        let (relation, level) = self.relation(context.env, &idents)?;
        if level > 0 {
            return Err(self.at(Error::unsupported("an outer query's table.*"), span));
        }
        for (name, expr) in &relation.columns {
            mention(context.mentions.entry(index_of(expr)), span);
            outputs.push(Output { expr: expr.clone(), name: name.clone(), span });
        }
        Ok(())
    }

    /// The group expressions; `None` without GROUP BY.
    fn group_by(&mut self, clause: &GroupByExpr, outputs: &[Output], env: &Env) -> Result<Option<GroupBy>> {
        let GroupByExpr::Expressions(exprs, modifiers) = clause else {
            return Err(Error::unsupported("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(Error::unsupported("GROUP BY ... WITH"));
        }
        if exprs.is_empty() {
            return Ok(None);
        }
        self.group_elements(exprs, outputs, env).map(Some)
    }

    /// A position, an input column, an output name, or any expression; in this order.
    pub(super) fn group(&mut self, expr: &ast::Expr, outputs: &[Output], env: &Env) -> Result<Expr> {
        let chosen = match self.position(expr, "GROUP BY", outputs.len())? {
            Some(position) => outputs.get(position),
            None => match expr {
                ast::Expr::Identifier(ident) if !self.is_column(env.scope, &fold(ident)) => {
                    self.named_output(outputs, &fold(ident), "GROUP BY", ident.span)?
                }
                _ => None,
            },
        };
        let bound = match chosen {
            Some(output) => output.expr.clone(),
            None => self.expr(expr, &mut Context::new(Some(env), Clause::GroupBy))?,
        };
        if contains_aggregate(&bound) {
            let message = "aggregate functions are not allowed in GROUP BY";
            let span = chosen.map_or_else(|| expr.span(), |output| output.span);
            return Err(self.at(Error::new(SqlState::GROUPING_ERROR, message), span));
        }
        self.known(bound)
    }

    /// The output column of this name; two of one name must be the same expression.
    fn named_output<'o>(
        &self,
        outputs: &'o [Output],
        name: &str,
        clause: &str,
        span: Span,
    ) -> Result<Option<&'o Output>> {
        let mut found = outputs.iter().filter(|output| output.name == name);
        let Some(first) = found.next() else { return Ok(None) };
        if found.any(|other| !same_expr(&other.expr, &first.expr)) {
            let message = format!("{clause} \"{name}\" is ambiguous");
            return Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span));
        }
        Ok(Some(first))
    }

    fn distinct(&mut self, distinct: Option<&Distinct>, parts: &mut Parts, context: &mut Context) -> Result<()> {
        parts.distinct = match distinct {
            None | Some(Distinct::All) => Deduplication::None,
            Some(Distinct::Distinct) => Deduplication::Rows,
            Some(Distinct::On(exprs)) => {
                let mut columns = Vec::with_capacity(exprs.len());
                for expr in exprs {
                    columns.push(self.sorted_column(expr, "SELECT DISTINCT ON", parts, context)?);
                }
                Deduplication::On(columns)
            }
        };
        Ok(())
    }

    fn order_by(&mut self, keys: &[OrderByExpr], parts: &mut Parts, context: &mut Context) -> Result<()> {
        for key in keys {
            let visible = parts.hidden.len();
            let column = self.sorted_column(&key.expr, "ORDER BY", parts, context)?;
            if parts.hidden.len() > visible && matches!(parts.distinct, Deduplication::Rows) {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                return Err(self.at(error, key.expr.span()));
            }
            parts.sort.push(self.sort_key(column, key)?);
        }
        self.check_distinct_on(parts, keys)
    }

    /// DISTINCT ON takes the first row of each run: the sort must begin with its expressions.
    fn check_distinct_on(&self, parts: &Parts, keys: &[OrderByExpr]) -> Result<()> {
        let Deduplication::On(columns) = &parts.distinct else { return Ok(()) };
        let is_on = |key: &SortKey| columns.iter().any(|column| same_expr(column, &key.expr));
        let leading = parts.sort.iter().take_while(|key| is_on(key)).count();
        let stray = parts.sort.iter().skip(leading).any(is_on);
        let covered =
            columns.iter().all(|column| parts.sort.iter().take(leading).any(|key| same_expr(column, &key.expr)));
        if stray || leading < parts.sort.len() && !covered {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
            return Err(keys.first().map_or(error.clone(), |key| self.at(error, key.expr.span())));
        }
        Ok(())
    }

    /// A column of the projected row that has the key's value; added where no output has it.
    fn sorted_column(
        &mut self,
        key: &ast::Expr,
        clause: &str,
        parts: &mut Parts,
        context: &mut Context,
    ) -> Result<Expr> {
        if let Some(index) = self.position(key, clause, parts.outputs.len())? {
            return Ok(column_of(parts, index));
        }
        if let ast::Expr::Identifier(ident) = key
            && let Some(output) = self.named_output(&parts.outputs, &fold(ident), clause, ident.span)?
        {
            let index = parts.outputs.iter().position(|other| std::ptr::eq(other, output)).unwrap_or(0);
            return Ok(column_of(parts, index));
        }
        let bound = self.expr(key, context)?;
        let bound = self.known(bound)?;
        let known = parts.outputs.iter().map(|output| &output.expr).chain(&parts.hidden);
        let known = known.collect::<Vec<_>>().iter().position(|other| same_expr(other, &bound));
        let data_type = bound.data_type();
        let index = known.unwrap_or_else(|| {
            parts.hidden.push(bound);
            parts.outputs.len() + parts.hidden.len() - 1
        });
        Ok(Expr::Column { index, data_type })
    }
}

fn column_of(parts: &Parts, index: usize) -> Expr {
    let data_type = parts.outputs.get(index).map_or(DataType::Unknown, |output| output.expr.data_type());
    Expr::Column { index, data_type }
}

fn mention(entry: std::collections::hash_map::Entry<usize, Span>, span: Span) {
    entry.or_insert(span);
}

fn index_of(expr: &Expr) -> usize {
    match expr {
        Expr::Column { index, .. } => *index,
        _ => usize::MAX,
    }
}

fn contains_aggregate(expr: &Expr) -> bool {
    let mut found = false;
    crate::plan::walk::walk(expr, 0, &mut |expr, depth| {
        found |= depth == 0 && matches!(expr, Expr::Column { index, .. } if *index >= super::context::AGGREGATE_BASE);
    });
    found
}

/// Stacks the clauses' nodes.
fn assemble(mut plan: LogicalPlan, parts: Parts, window: Window) -> LogicalPlan {
    if let Some(predicate) = parts.having {
        plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
    }
    let fields: Vec<Field> = parts
        .outputs
        .iter()
        .map(|output| Field { name: output.name.clone(), data_type: output.expr.data_type() })
        .collect();
    let visible = fields.len();
    let hidden_fields = parts.hidden.iter().map(|expr| Field { name: String::new(), data_type: expr.data_type() });
    let all_fields = fields.iter().cloned().chain(hidden_fields).collect();
    let has_hidden = !parts.hidden.is_empty();
    let exprs = parts.outputs.into_iter().map(|output| output.expr).chain(parts.hidden).collect();
    plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields: all_fields };
    if matches!(parts.distinct, Deduplication::Rows) {
        plan = LogicalPlan::Distinct { input: Box::new(plan), on: vec![] };
    }
    if !parts.sort.is_empty() {
        plan = LogicalPlan::Sort { input: Box::new(plan), keys: parts.sort };
    }
    if let Deduplication::On(on) = parts.distinct {
        plan = LogicalPlan::Distinct { input: Box::new(plan), on };
    }
    plan = limited(plan, window);
    if has_hidden { first_columns(plan, fields, visible) } else { plan }
}

/// Cuts off what only sorting needed.
fn first_columns(plan: LogicalPlan, fields: Vec<Field>, count: usize) -> LogicalPlan {
    let columns = fields.iter().take(count).enumerate();
    let exprs = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type }).collect();
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

//! SELECT: the order in which its clauses mean something.
//!
//! FROM, WHERE, groups, HAVING, the select list (with columns that only sorting needs behind it), DISTINCT, ORDER BY,
//! LIMIT, and last the hidden columns are cut off.

use std::cell::RefCell;

use cairn_parser::{
    self as ast, GroupItem, Id, Indirection, List, Name, QueryBody, Relation, SelectQuantifier, Span, TableRef, Target,
    WindowDefinition,
};

use super::grouping::Grouping;
use super::grouping_sets::GroupBy;
use super::late::{Late, Ordering};
use super::output_name::output_name;
use super::query::{RowLimits, limited};
use super::windows::{BoundWindows, Windows};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::SetCall;
use crate::bind::context::{Clause, Context};
use crate::bind::relations::from::Side;
use crate::bind::relations::scope::{Env, seen_from};
use crate::bind::relations::star;
use crate::plan::{Expr, Field, LogicalPlan, SortKey, StandIn, same_expr};
use crate::sql::name_text;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// PostgreSQL's limit on target lists.
const COLUMNS_MAX: usize = 1664;

/// A column of the select list.
pub(in crate::bind) struct Output {
    pub(in crate::bind) expr: Expr,
    pub(in crate::bind) name: String,
    pub(in crate::bind) span: Span,
}

/// What a SELECT says. `TABLE t` says less.
struct Clauses {
    quantifier: SelectQuantifier,
    distinct_on: List<ast::Expr>,
    output: OutputList,
    input: Input,
    filter: Option<Id<ast::Expr>>,
    group_by: List<GroupItem>,
    group_distinct: bool,
    having: Option<Id<ast::Expr>>,
    windows: List<WindowDefinition>,
}

enum OutputList {
    Targets(List<Target>),
    /// Every column of this relation, which is where that is said.
    All(Id<Relation>),
}

enum Input {
    From(List<TableRef>),
    Relation(Id<Relation>),
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
    /// SELECT or TABLE, with the ORDER BY and LIMIT behind it.
    pub(super) fn select(&mut self, query: &ast::Query, limits: RowLimits, outer: Option<&Env>) -> Result<LogicalPlan> {
        let (body, keys) = (query.body, query.order_by);
        let clauses = self.clauses(body)?;
        let carried = self.take_carried(body);
        let (mut plan, scope) = self.input(&clauses.input, outer)?;
        let handed_on = match carried {
            None => vec![],
            Some(carried) => {
                let (stopped, handed_on) = self.hand_on(carried, plan, &scope)?;
                plan = stopped;
                handed_on
            }
        };
        self.locked_relations(query.locking, &scope)?;
        let env = Env { scope: &scope, outer, within: None };
        if let Some(condition) = clauses.filter {
            let predicate = self.filter(condition, &env)?;
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut context = Context::with_aggregates(&env, Clause::Select);
        context.windows = Some(Windows::new(self.tree, clauses.windows));
        let mut outputs = match clauses.output {
            OutputList::Targets(targets) => self.outputs(targets, &mut context)?,
            OutputList::All(relation) => {
                if let Some(stars) = &mut self.stars {
                    stars.note_table(self.tree.span(body), star::every_name(&scope), self.tree.written(relation));
                }
                self.every_column(self.tree.span(relation), &mut context)?
            }
        };
        outputs.extend(handed_on);
        let groups = self.group_by(&clauses, &outputs, &env)?;
        let having = self.having(clauses.having, &mut context)?;
        if !keys.is_empty() || clauses.quantifier != SelectQuantifier::All {
            for output in &mut outputs {
                let expr = std::mem::replace(&mut output.expr, crate::bind::expressions::coerce::boolean(true));
                output.expr = self.known(expr)?;
            }
        }
        let mut parts = Parts { outputs, having, sort: vec![], hidden: vec![], distinct: Deduplication::None };
        context.clause = Clause::OrderBy;
        self.distinct(&clauses, &mut parts, &mut context)?;
        self.order_by(keys, &mut parts, &mut context)?;
        let has_windows = context.windows.as_ref().is_some_and(Windows::has_calls);
        let mut windows = self.bind_windows(&mut context)?;
        let aggregates = context.aggregates.take().map(RefCell::into_inner).unwrap_or_default();
        let unlockable = unlockable(&clauses, !aggregates.is_empty(), has_windows, !context.series.is_empty());
        self.locking_beside(query.locking, unlockable)?;
        let mut series = std::mem::take(&mut context.series);
        // What is grouped by comes before the grouping, all else after it.
        let mut groups = groups;
        if groups.iter().flat_map(|groups| &groups.exprs).any(|group| contains_stand_in(group, StandIn::is_rows)) {
            let exprs = parts.outputs.iter_mut().map(|output| &mut output.expr);
            let exprs = exprs.chain(&mut parts.having).chain(&mut parts.hidden).chain(windows.exprs_mut());
            let exprs = exprs.chain(groups.iter_mut().flat_map(|groups| &mut groups.exprs));
            plan = self.with_series(plan, std::mem::take(&mut series), exprs)?;
        }
        if groups.is_some()
            || !aggregates.is_empty()
            || parts.having.is_some()
            || !context.groupings.borrow().is_empty()
        {
            let grouping = Grouping::new(&scope, groups.unwrap_or_default(), aggregates, context);
            let exprs = parts.outputs.iter_mut().map(|output| &mut output.expr);
            let exprs = exprs.chain(&mut parts.having).chain(&mut parts.hidden).chain(windows.exprs_mut());
            plan = grouping.apply(self, plan, exprs.chain(series.iter_mut().map(|waiting| &mut waiting.call)))?;
        }
        self.assemble(plan, parts, windows, series, limits)
    }

    fn clauses(&self, body: Id<QueryBody>) -> Result<Clauses> {
        let tree = self.tree;
        match tree.get(body) {
            QueryBody::Select {
                quantifier,
                distinct_on,
                targets,
                into,
                from,
                filter,
                group_by,
                group_distinct,
                having,
                windows,
            } => {
                if let Some(into) = into
                    && self.into != Some(into)
                {
                    let error = match self.stars.is_some() {
                        true => {
                            let message = "views must not contain SELECT INTO";
                            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                        }
                        false => Error::new(SqlState::SYNTAX_ERROR, "SELECT ... INTO is not allowed here"),
                    };
                    return Err(self.at(error, tree.span(into)));
                }
                let (output, input) = (OutputList::Targets(targets), Input::From(from));
                Ok(Clauses {
                    quantifier,
                    distinct_on,
                    output,
                    input,
                    filter,
                    group_by,
                    group_distinct,
                    having,
                    windows,
                })
            }
            QueryBody::Table { relation } => Ok(Clauses {
                quantifier: SelectQuantifier::All,
                distinct_on: List::EMPTY,
                output: OutputList::All(relation),
                input: Input::Relation(relation),
                filter: None,
                group_by: List::EMPTY,
                group_distinct: false,
                having: None,
                windows: List::EMPTY,
            }),
            _ => Err(Error::internal("not a SELECT")),
        }
    }

    fn input(&mut self, input: &Input, outer: Option<&Env>) -> Result<Side> {
        match *input {
            Input::From(items) => self.all_items(items, outer),
            Input::Relation(relation) => {
                self.charge_relation()?;
                let item = self.named(self.tree.get(relation).name, None)?;
                Ok((item.plan, item.scope))
            }
        }
    }

    /// WHERE.
    pub(in crate::bind) fn filter(&mut self, condition: Id<ast::Expr>, env: &Env) -> Result<Expr> {
        let bound = self.expr(condition, &mut Context::new(Some(env), Clause::Where))?;
        self.condition(bound, "WHERE", self.tree.span(condition))
    }

    fn having(&mut self, condition: Option<Id<ast::Expr>>, context: &mut Context) -> Result<Option<Expr>> {
        let Some(condition) = condition else { return Ok(None) };
        context.clause = Clause::Having;
        let bound = self.expr(condition, context)?;
        self.condition(bound, "HAVING", self.tree.span(condition)).map(Some)
    }

    /// The select list (or RETURNING's), `*` expanded.
    pub(in crate::bind) fn outputs(&mut self, targets: List<Target>, context: &mut Context) -> Result<Vec<Output>> {
        let tree = self.tree;
        let mut outputs = Vec::with_capacity(tree.len(targets));
        for target in tree.list(targets) {
            self.output(target, context, &mut outputs)?;
            if outputs.len() > COLUMNS_MAX {
                let message = format!("target lists can have at most {COLUMNS_MAX} entries");
                return Err(self.at(Error::new(SqlState::TOO_MANY_COLUMNS, message), tree.span(target)));
            }
        }
        Ok(outputs)
    }

    fn output(&mut self, target: Id<Target>, context: &mut Context, outputs: &mut Vec<Output>) -> Result<()> {
        let tree = self.tree;
        let Target { expr, alias } = tree.get(target);
        let span = tree.span(expr);
        match tree.get(expr) {
            ast::Expr::All { qualifier } if qualifier.is_empty() => {
                outputs.extend(self.every_column(span, context)?);
                if let (Some(stars), Some(env)) = (&mut self.stars, context.env) {
                    stars.note(span, star::every_name(env.scope));
                }
            }
            ast::Expr::All { qualifier } => self.columns_of(qualifier, span, context, outputs)?,
            ast::Expr::Indirection { base, steps } if self.is_all(steps) => {
                let all = self.all_attributes(base, steps, context)?;
                outputs.extend(all.into_iter().map(|(name, expr)| Output { expr, name, span }));
            }
            _ => {
                let name = alias.map(|alias| name_text(tree, alias).to_owned());
                let bound = self.expr(expr, context)?;
                outputs.push(Output { expr: bound, name: name.unwrap_or_else(|| output_name(tree, expr)), span });
            }
        }
        Ok(())
    }

    fn is_all(&self, steps: List<Indirection>) -> bool {
        self.tree.list(steps).next_back().is_some_and(|last| self.tree.get(last) == Indirection::All)
    }

    /// `*`
    fn every_column(&self, span: Span, context: &mut Context) -> Result<Vec<Output>> {
        let Some(env) = context.env.filter(|env| !env.scope.relations.is_empty()) else {
            let message = "SELECT * with no tables specified is not valid";
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
        };
        let mut outputs = Vec::with_capacity(env.scope.width);
        for (name, expr) in env.scope.columns() {
            self.note_use(env.scope, &expr);
            context.mention(&expr, span);
            outputs.push(Output { expr: expr.into_owned(), name: name.to_owned(), span });
        }
        Ok(outputs)
    }

    /// `t.*`
    fn columns_of(
        &mut self,
        qualifier: List<Name>,
        span: Span,
        context: &mut Context,
        outputs: &mut Vec<Output>,
    ) -> Result<()> {
        if let Some(row) = self.variable_row(qualifier)? {
            let all = self.attributes(row);
            outputs.extend(all.into_iter().map(|(name, expr)| Output { expr, name, span }));
            return Ok(());
        }
        let names: Vec<Id<Name>> = self.tree.list(qualifier).collect();
        let (relation, level, scope) = self.relation_of(context.env, &names)?;
        for (name, expr) in relation.columns() {
            self.note_use(scope, &expr);
            let expr = seen_from(expr, level);
            context.mention(&expr, span);
            outputs.push(Output { expr, name: name.to_owned(), span });
        }
        if let Some(stars) = &mut self.stars {
            stars.note(span, star::names_of(relation));
        }
        Ok(())
    }

    /// Stacks the clauses' nodes.
    fn assemble(
        &mut self,
        mut plan: LogicalPlan,
        mut parts: Parts,
        windows: BoundWindows,
        mut series: Vec<SetCall>,
        limits: RowLimits,
    ) -> Result<LogicalPlan> {
        if let Some(predicate) = parts.having {
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let outputs = parts.outputs.iter_mut().map(|output| &mut output.expr);
        let args = series.iter_mut().map(|waiting| &mut waiting.call);
        plan = windows.apply(plan, outputs.chain(&mut parts.hidden).chain(args));
        let visible = parts.outputs.len();
        let (mut exprs, mut fields) = (Vec::with_capacity(visible), Vec::with_capacity(visible));
        for Output { expr, name, .. } in parts.outputs {
            fields.push(Field { name, data_type: expr.data_type() });
            exprs.push(expr);
        }
        let shown = (!parts.hidden.is_empty()).then(|| fields.clone());
        for expr in parts.hidden {
            fields.push(Field { name: String::new(), data_type: expr.data_type() });
            exprs.push(expr);
        }
        let on = match &parts.distinct {
            Deduplication::On(on) => Some(on.as_slice()),
            Deduplication::None | Deduplication::Rows => None,
        };
        let ordering = Ordering { sort: &parts.sort, on };
        let differ = matches!(parts.distinct, Deduplication::Rows);
        plan = match Late::of(&exprs, &ordering).filter(|_| !differ) {
            Some(late) => self.sorted_first(plan, series, (exprs, fields), (late, ordering))?,
            None => {
                plan = self.with_series(plan, series, exprs.iter_mut())?;
                ordering.over(LogicalPlan::Project { input: Box::new(plan), exprs, fields }, differ)
            }
        };
        plan = limited(plan, limits, &parts.sort);
        Ok(match shown {
            Some(fields) => first_columns(plan, fields),
            None => plan,
        })
    }

    /// The group expressions; `None` without GROUP BY.
    fn group_by(&mut self, clauses: &Clauses, outputs: &[Output], env: &Env) -> Result<Option<GroupBy>> {
        if clauses.group_by.is_empty() {
            return Ok(None);
        }
        self.group_items(clauses.group_by, clauses.group_distinct, outputs, env).map(Some)
    }

    /// A position, an input column, an output name, or any expression; in this order.
    pub(in crate::bind) fn group(&mut self, expr: Id<ast::Expr>, outputs: &[Output], env: &Env) -> Result<Expr> {
        let span = self.tree.span(expr);
        let chosen = match self.position(expr, "GROUP BY", outputs.len())? {
            Some(position) => outputs.get(position),
            None => match self.plain_column(expr) {
                Some(name) if !self.is_column(env.scope, name) => self.named_output(outputs, name, "GROUP BY", span)?,
                _ => None,
            },
        };
        let bound = match chosen {
            Some(output) => output.expr.clone(),
            None => self.expr(expr, &mut Context::new(Some(env), Clause::GroupBy))?,
        };
        if contains_stand_in(&bound, StandIn::is_window) {
            let message = "window functions are not allowed in GROUP BY";
            let span = chosen.map_or(span, |output| output.span);
            return Err(self.at(Error::new(SqlState::WINDOWING_ERROR, message), span));
        }
        if contains_stand_in(&bound, |of| of.is_aggregate() || of.is_grouping()) {
            let message = "aggregate functions are not allowed in GROUP BY";
            let span = chosen.map_or(span, |output| output.span);
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

    fn distinct(&mut self, clauses: &Clauses, parts: &mut Parts, context: &mut Context) -> Result<()> {
        let tree = self.tree;
        parts.distinct = match clauses.quantifier {
            SelectQuantifier::All => Deduplication::None,
            SelectQuantifier::Distinct => {
                for output in &parts.outputs {
                    self.check_equality(output.expr.data_type(), NOWHERE)?;
                }
                Deduplication::Rows
            }
            SelectQuantifier::DistinctOn => {
                let mut columns = Vec::with_capacity(tree.len(clauses.distinct_on));
                for expr in tree.list(clauses.distinct_on) {
                    let column = self.sorted_column(expr, "SELECT DISTINCT ON", parts, context)?;
                    self.check_equality(column.data_type(), tree.span(expr))?;
                    columns.push(column);
                }
                Deduplication::On(columns)
            }
        };
        Ok(())
    }

    fn order_by(&mut self, keys: List<ast::SortKey>, parts: &mut Parts, context: &mut Context) -> Result<()> {
        let tree = self.tree;
        for key in tree.list(keys) {
            let (visible, expr) = (parts.hidden.len(), tree.get(key).expr);
            let column = self.sorted_column(expr, "ORDER BY", parts, context)?;
            if parts.hidden.len() > visible && matches!(parts.distinct, Deduplication::Rows) {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                return Err(self.at(error, tree.span(expr)));
            }
            parts.sort.push(self.sort_key(column, key)?);
        }
        self.check_distinct_on(parts, keys)
    }

    /// DISTINCT ON takes the first row of each run: the sort must begin with its expressions.
    fn check_distinct_on(&self, parts: &Parts, keys: List<ast::SortKey>) -> Result<()> {
        let Deduplication::On(columns) = &parts.distinct else { return Ok(()) };
        let is_on = |key: &SortKey| columns.iter().any(|column| same_expr(column, &key.expr));
        let leading = parts.sort.iter().take_while(|key| is_on(key)).count();
        let stray = parts.sort.iter().skip(leading).any(is_on);
        let covered =
            columns.iter().all(|column| parts.sort.iter().take(leading).any(|key| same_expr(column, &key.expr)));
        if stray || leading < parts.sort.len() && !covered {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
            let place = self.tree.nth(keys, 0).map_or(NOWHERE, |key| self.tree.span(key));
            return Err(self.at(error, place));
        }
        Ok(())
    }

    /// A column of the projected row that has the key's value; added where no output has it.
    fn sorted_column(
        &mut self,
        key: Id<ast::Expr>,
        clause: &str,
        parts: &mut Parts,
        context: &mut Context,
    ) -> Result<Expr> {
        if let Some(index) = self.position(key, clause, parts.outputs.len())? {
            return Ok(column_of(parts, index));
        }
        if let Some(name) = self.plain_column(key)
            && let Some(output) = self.named_output(&parts.outputs, name, clause, self.tree.span(key))?
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

/// Whether such a column of its row stands in it for something, also within its subqueries.
pub(in crate::bind) fn contains_stand_in(expr: &Expr, is_such: impl Fn(StandIn) -> bool) -> bool {
    let is_such = |index: &usize| StandIn::of(*index).is_some_and(&is_such);
    let mut found = false;
    crate::plan::walk::walk(expr, 0, &mut |expr, depth| {
        found |= depth == 0 && matches!(expr, Expr::Column { index, .. } if is_such(index));
        found |= matches!(expr, Expr::Outer { level, index, .. } if *level == depth && is_such(index));
    });
    found
}

/// Cuts off what only sorting needed.
fn first_columns(plan: LogicalPlan, fields: Vec<Field>) -> LogicalPlan {
    let columns = fields.iter().enumerate();
    let exprs = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type }).collect();
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

/// What a SELECT has that rows cannot be locked through.
fn unlockable(clauses: &Clauses, aggregates: bool, windows: bool, series: bool) -> Option<&'static str> {
    let found = [
        (clauses.quantifier != SelectQuantifier::All, "is not allowed with DISTINCT clause"),
        (!clauses.group_by.is_empty(), "is not allowed with GROUP BY clause"),
        (clauses.having.is_some(), "is not allowed with HAVING clause"),
        (aggregates, "is not allowed with aggregate functions"),
        (windows, "is not allowed with window functions"),
        (series, "is not allowed with set-returning functions in the target list"),
    ];
    found.into_iter().find_map(|(there, told)| there.then_some(told))
}

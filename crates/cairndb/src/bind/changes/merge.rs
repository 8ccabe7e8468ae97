//! MERGE: a join of the table and a source, which clause each row of it is for, and what that clause gives it.
//!
//! Everything is worked out from the state that the statement began with: the number of the clause by a CASE over the joined
//! row, and each clause's values only for its own rows.

use std::sync::Arc;

use cairn_parser::{self as ast, AssignmentTarget, Id, List, Merge, MergeAction, MergeClause, MergeMatch, Overriding};

use super::insert::Targets;
use super::update::returning_scope;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::expressions::expr::conjunction;
use crate::bind::relations::from::Around;
use crate::bind::relations::scope::{Env, Scope};
use crate::bind::statement::BoundMerge;
use crate::catalog::Table;
use crate::plan::{Expr, Field, JoinKind, LogicalPlan, MergeStep};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// The joined row, by what may be seen of it.
struct Sides {
    both: Scope,
    target: Scope,
    source: Scope,
    /// Whether the row has a part of either.
    has_target: Expr,
    has_source: Option<Expr>,
}

impl Binder<'_> {
    pub(in crate::bind) fn merge_into(&mut self, merge: Id<Merge>) -> Result<BoundMerge> {
        let merge = self.tree.get(merge);
        self.within_with(merge.with, |binder| binder.plain_merge(&merge), |bound| &mut bound.source)
    }

    fn plain_merge(&mut self, merge: &Merge) -> Result<BoundMerge> {
        let tree = self.tree;
        let clauses: Vec<MergeClause> = tree.list(merge.clauses).map(|clause| tree.get(clause)).collect();
        self.refuse_unreachable(merge.clauses)?;
        let target = tree.get(merge.table);
        let changed = self.target_table(target.name, "merge into")?;
        let (scan, target_scope) = self.target_scan(&changed, target.alias)?;
        let table = changed.table.clone();
        let target_width = target_scope.width;
        let source = self.item(merge.source, Around::of(None))?;
        let (source_width, source_scope) = (source.scope.width, source.scope);
        let wants = |matched: MergeMatch| clauses.iter().any(|clause| clause.matched == matched);
        let keeps_target = wants(MergeMatch::NotMatchedBySource);
        let kind = match (keeps_target, wants(MergeMatch::NotMatched)) {
            (true, true) => JoinKind::Full,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Inner,
        };
        let both = target_scope.clone().joined(source_scope.clone()).map_err(|error| {
            let name = target_scope.relations.first().map_or("", |relation| relation.alias.as_str());
            let message = format!("name \"{name}\" specified more than once");
            let detail = "The name is used both as MERGE target table and data source.";
            self.at(Error::new(error.sqlstate(), message).with_detail(detail), tree.span(merge.source))
        })?;
        let env = Env { scope: &both, outer: None, within: None };
        let on = self.expr(merge.on, &mut Context::new(Some(&env), Clause::Join))?;
        let on = self.condition(on, "JOIN/ON", tree.span(merge.on))?;
        let right = if keeps_target { marked(source.plan) } else { source.plan };
        let plan =
            LogicalPlan::Join { kind, left: Box::new(scan), right: Box::new(right), on: Some(on), lateral: false };
        // The key, or the row's number.
        let told_by = table.row_key().first().map_or(table.columns.len(), |part| part.column);
        let fields = plan.fields();
        let is_there = |index: usize| {
            let data_type = fields.get(index).map_or(DataType::Boolean, |field| field.data_type);
            Expr::Not(Box::new(Expr::IsNull(Box::new(Expr::Column { index, data_type }))))
        };
        let sides = Sides {
            target: target_scope,
            source: source_scope.shifted(target_width),
            has_target: is_there(told_by),
            has_source: keeps_target.then(|| is_there(target_width + source_width)),
            both,
        };
        let (mut branches, mut steps, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (number, clause) in clauses.iter().enumerate() {
            let hidden = self.unreachable.len();
            self.unreachable.extend(sides.hidden_from(clause.matched));
            branches.push((self.merge_condition(clause, &sides)?, number_literal(number)));
            let (step, given) = self.merge_step(clause, &table, &sides, target_width + 1 + values.len())?;
            self.unreachable.truncate(hidden);
            steps.push(step);
            values.extend(given.into_iter().map(|value| (number, value)));
        }
        let action = Expr::Case { branches, otherwise: None, data_type: DataType::Integer };
        let returning = match merge.returning {
            None => None,
            clause => {
                let seen = returning_scope(&sides.both, target_width, &table);
                self.merge_action = Some(table.columns.len() + source_width);
                let returning = self.returning(clause, &seen, &changed);
                self.merge_action = None;
                returning?
            }
        };
        let extra = if returning.is_some() { source_width } else { 0 };
        let extra_at = target_width + 1 + values.len();
        let source = self.merge_rows(plan, action, (target_width, extra), values)?;
        Ok(BoundMerge { table, source, action_at: target_width, steps, extra: extra_at..extra_at + extra, returning })
    }

    /// SQLSTATE 42601 for a clause behind one of its kind that has no condition.
    fn refuse_unreachable(&self, clauses: List<MergeClause>) -> Result<()> {
        let mut through: Vec<MergeMatch> = Vec::new();
        for id in self.tree.list(clauses) {
            let clause = self.tree.get(id);
            if through.contains(&clause.matched) {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            if clause.condition.is_none() {
                through.push(clause.matched);
            }
        }
        Ok(())
    }

    /// Whether a clause is for a row, as far as those before it are not.
    fn merge_condition(&mut self, clause: &MergeClause, sides: &Sides) -> Result<Expr> {
        let not = |expr: &Expr| Expr::Not(Box::new(expr.clone()));
        let mut all: Vec<Expr> = match clause.matched {
            MergeMatch::Matched => std::iter::once(&sides.has_target).chain(&sides.has_source).cloned().collect(),
            MergeMatch::NotMatched => vec![not(&sides.has_target)],
            MergeMatch::NotMatchedBySource => sides.has_source.iter().map(not).collect(),
        };
        if let Some(condition) = clause.condition {
            let env = Env { scope: sides.seen_by(clause.matched), outer: None, within: None };
            let bound = self.expr(condition, &mut Context::new(Some(&env), Clause::MergeWhen))?;
            all.push(self.condition(bound, "WHEN", self.tree.span(condition))?);
        }
        Ok(conjunction(all))
    }

    /// What a clause does, with the values that it gives: they begin at `at` of the source's row.
    fn merge_step(
        &mut self,
        clause: &MergeClause,
        table: &Arc<Table>,
        sides: &Sides,
        at: usize,
    ) -> Result<(MergeStep, Vec<Expr>)> {
        let env = Env { scope: sides.seen_by(clause.matched), outer: None, within: None };
        Ok(match self.tree.get(clause.action) {
            MergeAction::DoNothing => (MergeStep::Nothing, vec![]),
            MergeAction::Delete => (MergeStep::Delete, vec![]),
            MergeAction::Update { assignments } => {
                let mut context = Context::new(Some(&env), Clause::Update);
                let (assigned, values) = self.assignments(table, assignments, &mut context)?.into_iter().unzip();
                (MergeStep::Update { assigned, at }, values)
            }
            MergeAction::Insert { columns, overriding, values } => {
                let row = self.merged_row(table, (columns, overriding, Some(values)), &env)?;
                (MergeStep::Insert { at }, row)
            }
            MergeAction::InsertDefaults => {
                (MergeStep::Insert { at }, self.merged_row(table, (List::EMPTY, None, None), &env)?)
            }
        })
    }

    fn merged_row(
        &mut self,
        table: &Arc<Table>,
        (names, overriding, values): (List<AssignmentTarget>, Option<Overriding>, Option<List<ast::Expr>>),
        env: &Env,
    ) -> Result<Vec<Expr>> {
        let mut targets = Targets::new(table, self.insert_columns(table, names)?, names, overriding);
        let mut context = Context::new(Some(env), Clause::Values);
        match values {
            Some(values) => self.only_row(values, &mut targets, &mut context),
            None => self.defaults_row(&mut targets),
        }
    }

    /// The rows that MERGE goes through: the target's columns, the number of the clause, the clauses' values, and of the source
    /// what RETURNING may see.
    fn merge_rows(
        &mut self,
        plan: LogicalPlan,
        action: Expr,
        (target_width, extra): (usize, usize),
        values: Vec<(usize, Expr)>,
    ) -> Result<LogicalPlan> {
        let mut fields = plan.fields();
        let column = |fields: &[Field], index: usize| Expr::Column { index, data_type: fields[index].data_type };
        let action_at = fields.len();
        let mut exprs: Vec<Expr> = (0..action_at).map(|index| column(&fields, index)).collect();
        exprs.push(action);
        fields.push(Field { name: "action".to_owned(), data_type: DataType::Integer });
        let plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields: fields.clone() };
        let mut exprs: Vec<Expr> = (0..target_width).map(|index| column(&fields, index)).collect();
        exprs.push(column(&fields, action_at));
        let mut names: Vec<Field> = fields[..target_width].to_vec();
        names.push(fields[action_at].clone());
        for (number, value) in values {
            let data_type = value.data_type();
            let sides = vec![(column(&fields, action_at), NOWHERE), (number_literal(number), NOWHERE)];
            let is_its = self.operator("=", sides, None)?;
            exprs.push(Expr::Case { branches: vec![(is_its, value)], otherwise: None, data_type });
            names.push(Field { name: "value".to_owned(), data_type });
        }
        for index in target_width..target_width + extra {
            exprs.push(column(&fields, index));
            names.push(fields[index].clone());
        }
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: names })
    }
}

impl Sides {
    /// What of the joined row a clause sees.
    fn seen_by(&self, matched: MergeMatch) -> &Scope {
        match matched {
            MergeMatch::Matched => &self.both,
            MergeMatch::NotMatched => &self.source,
            MergeMatch::NotMatchedBySource => &self.target,
        }
    }

    /// The names of the relations that it does not see.
    fn hidden_from(&self, matched: MergeMatch) -> Vec<String> {
        let seen = &self.seen_by(matched).relations;
        let all = self.both.relations.iter().map(|relation| &relation.alias);
        all.filter(|alias| seen.iter().all(|relation| relation.alias != **alias)).cloned().collect()
    }
}

fn number_literal(number: usize) -> Expr {
    let value = Value::Integer(i32::try_from(number).unwrap_or(i32::MAX));
    Expr::Literal { value, data_type: DataType::Integer }
}

/// With a column behind the others that is not NULL.
fn marked(plan: LogicalPlan) -> LogicalPlan {
    let mut fields = plan.fields();
    let column = |(index, field): (usize, &Field)| Expr::Column { index, data_type: field.data_type };
    let mut exprs: Vec<Expr> = fields.iter().enumerate().map(column).collect();
    exprs.push(Expr::Literal { value: Value::Boolean(true), data_type: DataType::Boolean });
    fields.push(Field { name: "is_there".to_owned(), data_type: DataType::Boolean });
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

//! ON CONFLICT: which uniqueness decides, and what then happens.

use cairn_parser::{self as ast, Id, IndexElement, List, Name};

use super::parts::with_parts_of;
use super::updatable::TargetTable;
use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::definitions::index::bound_indexes;
use crate::bind::relations::scope::{Env, Scope};
use crate::catalog::{Index, Table};
use crate::plan::{Arbiter, ConflictAction, CteId, Expr, Field, LogicalPlan, OnConflict, is_implied, same_expr, walk};
use crate::sql::{list_span, name_text};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn on_conflict(
        &mut self,
        clause: Id<ast::OnConflict>,
        changed: &TargetTable,
        target: &Scope,
    ) -> Result<OnConflict> {
        let (clause, table) = (self.tree.get(clause), &changed.table);
        let arbiter = match clause.constraint {
            Some(name) => self.arbiter_of_constraint(changed, name)?,
            None if clause.index.is_empty() => {
                (0..table.indexes.len()).try_for_each(|at| check_arbiter(table, at))?;
                Arbiter::Any
            }
            None => {
                let env = Env { scope: target, outer: None, within: None };
                let filter = clause.index_filter.map(|condition| self.filter(condition, &env)).transpose()?;
                self.arbiter_of_columns(changed, clause.index, (target, filter))?
            }
        };
        let action = match clause.update {
            false => ConflictAction::Nothing,
            true if arbiter == Arbiter::Any => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(
                    Error::new(SqlState::SYNTAX_ERROR, message).with_hint("For example, ON CONFLICT (column_name).")
                );
            }
            true => self.conflict_update(&clause, changed, target)?,
        };
        Ok(OnConflict { arbiter, action })
    }

    fn conflict_update(
        &mut self,
        clause: &ast::OnConflict,
        changed: &TargetTable,
        target: &Scope,
    ) -> Result<ConflictAction> {
        // Unqualified names are the existing row's; the proposed row is seen as `excluded` only.
        let mut excluded = changed.scope("excluded".to_owned(), None, changed.table.columns.len());
        excluded.columns_mut().clear();
        let scope = target.clone().joined(excluded)?;
        let env = Env { scope: &scope, outer: None, within: None };
        let mut context = Context::new(Some(&env), Clause::Update);
        let assignments = self.assignments(&changed.seen, clause.assignments, &mut context)?;
        let filter = clause.filter.map(|condition| self.filter(condition, &env)).transpose()?;
        let shown = changed.face.as_ref().map_or_else(Vec::new, |face| face.shown.clone());
        Ok(ConflictAction::Update { assignments, filter, query: None, shown })
    }

    /// The unique indexes of these columns and expressions. One of some rows will do if the condition says that the row is
    /// among them.
    fn arbiter_of_columns(
        &mut self,
        changed: &TargetTable,
        elements: List<IndexElement>,
        (target, filter): (&Scope, Option<Expr>),
    ) -> Result<Arbiter> {
        let table = &changed.table;
        let bound = bound_indexes(table, self.catalog)?;
        let tree = self.tree;
        let mut wanted = Vec::with_capacity(tree.len(elements));
        for element in tree.list(elements) {
            wanted.push(self.arbiter_column(changed, element, target)?);
        }
        let primary = table.primary.as_ref();
        let primary_key = primary.is_some_and(|index| is_of(&wanted, index, &[]));
        let filter = filter.as_slice();
        let fits = |at: &usize| {
            let index = &table.indexes[*at];
            let (expressions, predicate) = match bound.as_ref().and_then(|bound| bound.all.get(*at)) {
                Some(bound) => (&*bound.expressions, bound.predicate.as_ref()),
                None => (&[][..], None),
            };
            index.is_told_unique()
                && is_of(&wanted, index, expressions)
                && predicate.is_none_or(|predicate| is_implied(predicate, filter))
        };
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(fits).collect();
        if !primary_key && indexes.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        indexes.iter().try_for_each(|at| check_arbiter(table, *at))?;
        Ok(Arbiter::Keys { primary_key, indexes })
    }

    /// A column of the table or the view, or an expression over its columns.
    fn arbiter_column(&mut self, changed: &TargetTable, element: Id<IndexElement>, target: &Scope) -> Result<Expr> {
        let tree = self.tree;
        let IndexElement { expr, collation, operator_class, direction, nulls, .. } = tree.get(element);
        let place = tree.span(expr);
        let refused = match (direction, nulls) {
            (Some(_), _) => Some("ASC/DESC is not allowed in ON CONFLICT clause"),
            (None, Some(_)) => Some("NULLS FIRST/LAST is not allowed in ON CONFLICT clause"),
            (None, None) => None,
        };
        if let Some(message) = refused {
            return Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), place));
        }
        self.check_collation(collation)?;
        if let Some(span) = list_span(tree, operator_class) {
            return Err(self.at(Error::unsupported("an operator class in ON CONFLICT"), span));
        }
        let Some(name) = self.plain_column(expr) else {
            let env = Env { scope: target, outer: None, within: None };
            return Ok(self.operand(expr, &mut Context::new(Some(&env), Clause::IndexKey))?.0);
        };
        changed.column_named(name).ok_or_else(|| self.at(Error::undefined_column(name), place))
    }

    fn arbiter_of_constraint(&self, changed: &TargetTable, name: Id<Name>) -> Result<Arbiter> {
        let (plain, table) = (name_text(self.tree, name), &changed.table);
        // A view has no constraints.
        let is_table = changed.face.is_none();
        if is_table && table.primary.as_ref().is_some_and(|index| index.name == plain) {
            return Ok(Arbiter::PRIMARY_KEY);
        }
        let index = table.indexes.iter().position(|index| is_table && index.constraint && index.name == plain);
        let Some(at) = index else {
            return Err(self.at(Error::undefined_constraint_for(plain, &changed.seen.name), self.tree.span(name)));
        };
        check_arbiter(table, at)?;
        Ok(Arbiter::Keys { primary_key: false, indexes: vec![at] })
    }
}

/// Whether these are the columns and expressions of a key, in whatever order.
fn is_of(wanted: &[Expr], key: &Index, expressions: &[(usize, Expr)]) -> bool {
    let is = |wanted: &Expr, column: usize| match expressions.iter().find(|(key, _)| *key == column) {
        Some((_, expr)) => same_expr(wanted, expr),
        None => matches!(wanted, Expr::Column { index, .. } if *index == column),
    };
    key.positions().all(|column| wanted.iter().any(|wanted| is(wanted, column)))
        && wanted.iter().all(|wanted| key.positions().any(|column| is(wanted, column)))
}

/// SQLSTATE 55000 for an index whose constraint may wait.
fn check_arbiter(table: &Table, at: usize) -> Result<()> {
    match table.indexes[at].is_deferrable() {
        true => Err(Error::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
        )),
        false => Ok(()),
    }
}

impl OnConflict {
    /// Takes what has subqueries out of an update, to be asked by itself. What is left of such new values are columns behind the
    /// proposed row's. `around`: the rows that are proposed, which have the parts of the statement's WITH around them.
    pub(super) fn take_query(&mut self, table: &Table, around: &LogicalPlan) -> Result<()> {
        let ConflictAction::Update { assignments, filter, query, .. } = &mut self.action else { return Ok(()) };
        if !assignments.iter().map(|(_, expr)| expr).chain(&*filter).any(has_subquery) {
            return Ok(());
        }
        let field = |data_type| Field { name: String::new(), data_type };
        let width = table.columns.len();
        let types = || table.columns.iter().map(|column| column.data_type);
        let fields = types().chain(types()).map(field).collect();
        let mut plan = LogicalPlan::CteScan { id: CteId::Row, alias: None, fields };
        if let Some(predicate) = filter.take() {
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut exprs = Vec::new();
        for (_, expr) in assignments.iter_mut().filter(|(_, expr)| has_subquery(expr)) {
            let answer = Expr::Column { index: 2 * width + exprs.len(), data_type: expr.data_type() };
            exprs.push(std::mem::replace(expr, answer));
        }
        let fields = exprs.iter().map(|expr| field(expr.data_type())).collect();
        let plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields };
        *query = Some(Box::new(with_parts_of(around, (plan, CteId::Row), "ON CONFLICT DO UPDATE")?));
        Ok(())
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Subquery(_)));
    found
}

//! JOIN: kinds, ON, USING and NATURAL with their merged columns.

use cairn_parser::{self as ast, Id, List, Name, Span, TableRef};

use super::from::{Around, Side};
use super::scope::{Env, Relation, Scope};
use crate::bind::binder::{Binder, Confine, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::expressions::expr::conjunction;
use crate::plan::{Expr, JoinKind, LogicalPlan};
use crate::sql::name_text;
use crate::{Error, Result, SqlState};

/// What rows must have in common to be joined.
enum Condition {
    None,
    On(Id<ast::Expr>),
    /// USING or NATURAL: columns of these names, and where they are named.
    Merged {
        names: Vec<(String, Span)>,
        alias: Option<Id<Name>>,
    },
}

impl Binder<'_> {
    /// One join, its left side being bound already; `confine`: of its right side.
    pub(in crate::bind) fn join(
        &mut self,
        left: Side,
        join: Id<TableRef>,
        confine: Option<Confine>,
        around: Around,
    ) -> Result<Side> {
        let tree = self.tree;
        let TableRef::Join { kind, natural, right: right_item, on, using, using_alias, .. } = tree.get(join) else {
            return Err(Error::internal("not a join"));
        };
        let (kind, place) = (kind_of(kind), tree.span(right_item));
        let mut right = self.within(confine, |binder| binder.item(right_item, around.beside(Some(&left.1))))?;
        if right.lateral && matches!(kind, JoinKind::Right | JoinKind::Full) {
            let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, "invalid reference to FROM-clause entry")
                .with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
            return Err(self.at(error, place));
        }
        let left = if matches!(kind, JoinKind::Right | JoinKind::Full) { self.with_presence(left) } else { left };
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            (right.plan, right.scope) = self.with_presence((right.plan, right.scope));
        }
        let condition = match on {
            Some(on) => Condition::On(on),
            None if natural => {
                let names = self.shared_names(&left.1, &right.scope);
                self.know_shared(join, names.iter().map(|(name, _)| name.clone()));
                Condition::Merged { names, alias: None }
            }
            None if using.is_empty() => Condition::None,
            None => Condition::Merged { names: self.using_names(using)?, alias: using_alias },
        };
        let (left_width, left_scope) = (left.1.width, left.1.clone());
        let joined = left.1.joined(right.scope.clone()).map_err(|error| self.at(error, place))?;
        let (on, scope) = match condition {
            Condition::None => (None, joined),
            Condition::On(condition) => (Some(self.on(condition, &joined, around.plain)?), joined),
            Condition::Merged { names, alias } => {
                let sides = (left_scope, right.scope.shifted(left_width));
                let (on, scope) = self.merge(kind, &names, &sides, joined)?;
                (on, self.with_using_alias(scope, names.len(), alias)?)
            }
        };
        let (left, right_plan) = (Box::new(left.0), Box::new(right.plan));
        Ok((LogicalPlan::Join { kind, left, right: right_plan, on, lateral: right.lateral }, scope))
    }

    fn on(&mut self, condition: Id<ast::Expr>, scope: &Scope, outer: Option<&Env>) -> Result<Expr> {
        let env = Env { scope, outer, within: None };
        let bound = self.expr(condition, &mut Context::new(Some(&env), Clause::Join))?;
        self.condition(bound, "JOIN/ON", self.tree.span(condition))
    }

    fn using_names(&self, names: List<Name>) -> Result<Vec<(String, Span)>> {
        let tree = self.tree;
        let mut found: Vec<(String, Span)> = Vec::with_capacity(tree.len(names));
        for (name, span) in tree.list(names).map(|name| (name_text(tree, name), tree.span(name))) {
            if found.iter().any(|(other, _)| other == name) {
                let message = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(self.at(Error::new(SqlState::DUPLICATE_COLUMN, message), span));
            }
            found.push((name.to_owned(), span));
        }
        Ok(found)
    }

    /// What NATURAL finds.
    fn shared_names(&self, left: &Scope, right: &Scope) -> Vec<(String, Span)> {
        let shared = left.columns().filter(|(name, _)| self.is_column(right, name));
        shared.map(|(name, _)| (name.to_owned(), NOWHERE)).collect()
    }

    /// The equalities, and the scope in which each pair is one column, shown first.
    fn merge(
        &mut self,
        kind: JoinKind,
        names: &[(String, Span)],
        (left, right): &(Scope, Scope),
        mut joined: Scope,
    ) -> Result<(Option<Expr>, Scope)> {
        let (mut conditions, mut merged) = (vec![], vec![]);
        for (name, span) in names {
            let left = self.side_column(left, name, *span, "left")?;
            let right = self.side_column(right, name, *span, "right")?;
            let equal = self.operator("=", vec![(left.clone(), *span), (right.clone(), *span)], Some(*span))?;
            conditions.push(equal);
            let expr = self.merged_column(kind, left, right, *span)?;
            merged.push((name.clone(), expr));
        }
        let columns = joined.columns_mut();
        columns.retain(|(column, _)| !names.iter().any(|(name, _)| name == column));
        columns.splice(0..0, merged);
        Ok(((!conditions.is_empty()).then(|| conjunction(conditions)), joined))
    }

    /// `USING (...) AS alias`: a relation of the merged columns, which are the first; `*` does not show it again.
    fn with_using_alias(&self, mut scope: Scope, merged: usize, alias: Option<Id<Name>>) -> Result<Scope> {
        let Some(alias) = alias else { return Ok(scope) };
        let (name, place) = (name_text(self.tree, alias), self.tree.span(alias));
        if scope.relations.iter().any(|relation| relation.alias == name) {
            return Err(self.at(Error::repeated_alias(name), place));
        }
        let columns = scope.columns_mut().iter().take(merged).cloned().collect();
        scope.relations.push(Relation::new(name.to_owned(), columns));
        Ok(scope)
    }

    /// What the merged column is worth: the side that always has a row, or whichever has one.
    fn merged_column(&mut self, kind: JoinKind, left: Expr, right: Expr, span: Span) -> Result<Expr> {
        let types = [(left.data_type(), span), (right.data_type(), span)];
        let common = self.common_type("JOIN/USING", &types)?;
        Ok(match kind {
            JoinKind::Right => self.explicit(right, common, span)?,
            JoinKind::Full => {
                let args = vec![self.implicit(left, common, span)?, self.implicit(right, common, span)?];
                Expr::Coalesce { args, data_type: common }
            }
            _ => self.explicit(left, common, span)?,
        })
    }

    fn side_column(&self, scope: &Scope, name: &str, span: Span, side: &str) -> Result<Expr> {
        match scope.find(name) {
            Some((column, false)) => {
                self.note_use(scope, &column);
                Ok(column.into_owned())
            }
            Some((_, true)) => {
                let message = format!("common column name \"{name}\" appears more than once in {side} table");
                Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span))
            }
            None => {
                let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                Err(self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), span))
            }
        }
    }
}

fn kind_of(kind: ast::JoinKind) -> JoinKind {
    match kind {
        ast::JoinKind::Inner | ast::JoinKind::Cross => JoinKind::Inner,
        ast::JoinKind::Left => JoinKind::Left,
        ast::JoinKind::Right => JoinKind::Right,
        ast::JoinKind::Full => JoinKind::Full,
    }
}

//! JOIN: kinds, ON, USING and NATURAL with their merged columns.

use sqlparser::ast::{Expr as SyntaxExpr, Join, JoinConstraint, JoinOperator, ObjectName, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, name_span, plain_name};
use super::context::{Clause, Context};
use super::expr::conjunction;
use super::scope::{Env, Scope, ScopeColumn};
use crate::plan::{Expr, JoinKind, LogicalPlan};
use crate::{Error, Result, SqlState};

type Side = (LogicalPlan, Scope);

impl Binder<'_> {
    pub(super) fn join(&mut self, left: Side, join: &Join, outer: Option<&Env>) -> Result<Side> {
        let (kind, constraint) = kind_of(&join.join_operator)?;
        let right = self.table_factor(&join.relation, Some(&left.1), outer)?;
        if right.lateral && matches!(kind, JoinKind::Right | JoinKind::Full) {
            let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, "invalid reference to FROM-clause entry")
                .with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
            return Err(self.at(error, join.relation.span()));
        }
        let names = self.merged_names(constraint, &left.1, &right.scope)?;
        let (left_width, left_scope) = (left.1.width, left.1.clone());
        let joined = left.1.joined(right.scope.clone()).map_err(|error| self.at(error, join.relation.span()))?;
        let (on, scope) = match constraint {
            JoinConstraint::On(condition) => (Some(self.on(condition, &joined, outer)?), joined),
            JoinConstraint::None if kind == JoinKind::Inner && is_cross(&join.join_operator) => (None, joined),
            JoinConstraint::None => {
                return Err(
                    self.at(Error::new(SqlState::SYNTAX_ERROR, "JOIN without ON or USING"), join.relation.span())
                );
            }
            JoinConstraint::Using(_) | JoinConstraint::Natural => {
                let sides = (left_scope, right.scope.shifted(left_width));
                self.merge(kind, &names, &sides, joined)?
            }
        };
        let (left, right_plan) = (Box::new(left.0), Box::new(right.plan));
        Ok((LogicalPlan::Join { kind, left, right: right_plan, on, lateral: right.lateral }, scope))
    }

    fn on(&mut self, condition: &SyntaxExpr, scope: &Scope, outer: Option<&Env>) -> Result<Expr> {
        let env = Env { scope, outer };
        let bound = self.expr(condition, &mut Context::new(Some(&env), Clause::Join))?;
        self.condition(bound, "JOIN/ON", condition.span())
    }

    /// The columns that USING names, or that NATURAL finds.
    fn merged_names(&self, constraint: &JoinConstraint, left: &Scope, right: &Scope) -> Result<Vec<(String, Span)>> {
        match constraint {
            JoinConstraint::Using(names) => names.iter().map(|name| self.using_name(name)).collect(),
            JoinConstraint::Natural => {
                let shared = left.columns.iter().filter(|column| self.is_column(right, &column.name));
                Ok(shared.map(|column| (column.name.clone(), Span::empty())).collect())
            }
            _ => Ok(vec![]),
        }
    }

    fn using_name(&self, name: &ObjectName) -> Result<(String, Span)> {
        let plain = plain_name(name).map(|(plain, _)| plain);
        plain
            .map(|plain| (plain, name_span(name)))
            .ok_or_else(|| self.at(Error::new(SqlState::SYNTAX_ERROR, "USING takes column names"), name_span(name)))
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
            let equal = self.operator("=", vec![(left.clone(), *span), (right.clone(), *span)])?;
            conditions.push(equal);
            let expr = self.merged_column(kind, left, right, *span)?;
            merged.push(ScopeColumn { name: name.clone(), expr, relation: None });
        }
        let is_merged = |column: &ScopeColumn| names.iter().any(|(name, _)| *name == column.name);
        let others = joined.columns.into_iter().filter(|column| !is_merged(column));
        joined.columns = merged.into_iter().chain(others).collect();
        Ok(((!conditions.is_empty()).then(|| conjunction(conditions)), joined))
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
        let mut found = scope.columns.iter().filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.expr.clone()),
            (Some(_), Some(_)) => {
                let message = format!("common column name \"{name}\" appears more than once in {side} table");
                Err(self.at(Error::new(SqlState::AMBIGUOUS_COLUMN, message), span))
            }
            _ => {
                let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                Err(self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), span))
            }
        }
    }
}

fn kind_of(operator: &JoinOperator) -> Result<(JoinKind, &JoinConstraint)> {
    use JoinOperator as J;
    Ok(match operator {
        J::Join(constraint) | J::Inner(constraint) | J::CrossJoin(constraint) => (JoinKind::Inner, constraint),
        J::Left(constraint) | J::LeftOuter(constraint) => (JoinKind::Left, constraint),
        J::Right(constraint) | J::RightOuter(constraint) => (JoinKind::Right, constraint),
        J::FullOuter(constraint) => (JoinKind::Full, constraint),
        _ => return Err(Error::unsupported("this kind of join")),
    })
}

fn is_cross(operator: &JoinOperator) -> bool {
    matches!(operator, JoinOperator::CrossJoin(_))
}

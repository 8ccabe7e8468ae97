//! The binder's state: what every part of binding needs at hand.
//!
//! Invariants: the syntax tree's depth is bounded by `sql::limits`; what binding may multiply (views within views,
//! operands that are needed twice) is charged to a budget, so no statement makes a plan of absurd size.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::{Location, Span};

use super::ParameterTypes;
use crate::catalog::Catalog;
use crate::plan::{Expr, Field, walk};
use crate::sql::TextPosition;
use crate::{Error, Result, SqlState};

/// How many expression nodes may be made by duplication, and how many relations read, in one statement.
const DUPLICATION_LIMIT: usize = 4_000_000;
const RELATION_LIMIT: usize = 2_000;

/// A WITH query in sight.
#[derive(Clone, Debug)]
pub(super) struct CteBinding {
    pub(super) name: String,
    pub(super) id: usize,
    pub(super) fields: Vec<Field>,
}

/// The state of binding one statement.
pub(super) struct Binder<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) parameters: &'a mut ParameterTypes,
    /// For positions; `None` inside views, defaults and checks, whose text the user did not write here.
    source: Option<&'a TextPosition>,
    pub(super) ctes: Vec<CteBinding>,
    next_cte: usize,
    /// Relations that stand left of a subquery in FROM, which cannot see them.
    pub(super) unreachable: Vec<String>,
    /// Views being expanded, outermost first.
    pub(super) views: Vec<String>,
    duplicated: usize,
    relations: usize,
}

impl<'a> Binder<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        parameters: &'a mut ParameterTypes,
        source: Option<&'a TextPosition>,
    ) -> Binder<'a> {
        let (ctes, unreachable, views) = (vec![], vec![], vec![]);
        Binder { catalog, parameters, source, ctes, next_cte: 0, unreachable, views, duplicated: 0, relations: 0 }
    }

    pub(super) fn new_cte_id(&mut self) -> usize {
        self.next_cte += 1;
        self.next_cte
    }

    /// Runs `work` without positions and without the WITH queries in sight: a view's query stands for itself.
    pub(super) fn isolated<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (source, ctes) = (self.source.take(), std::mem::take(&mut self.ctes));
        let result = work(self);
        (self.source, self.ctes) = (source, ctes);
        result
    }

    /// The error, at the place where `span` starts.
    pub(super) fn at(&self, error: Error, span: Span) -> Error {
        match self.source.and_then(|source| source.of(span.start)) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// The error, at the operator that stands between two operands.
    pub(super) fn at_operator(&self, error: Error, left: Span, right: Span) -> Error {
        let Some(source) = self.source else { return error };
        let Some(from) = source.byte_of(left.end) else { return error };
        let to = source.byte_of(right.start).unwrap_or(source.text().len());
        let between = source.text().get(from..to).unwrap_or_default();
        match between.find(|ch: char| !ch.is_whitespace() && ch != ')') {
            Some(at) => error.at(source.of_byte(from + at)),
            None => error,
        }
    }

    /// The error, at the first thing after `span` (an operator such as `::`).
    pub(super) fn at_end_of(&self, error: Error, span: Span) -> Error {
        self.at_operator(error, span, Span::new(Location { line: u64::MAX, column: 1 }, Location::empty()))
    }

    /// The error, at the parenthesis that opens before `span`.
    pub(super) fn at_parenthesis(&self, error: Error, span: Span) -> Error {
        let Some(source) = self.source else { return error };
        let before = source.byte_of(span.start).and_then(|start| source.text().get(..start));
        match before.and_then(|before| before.rfind('(')) {
            Some(open) => error.at(source.of_byte(open)),
            None => self.at(error, span),
        }
    }

    /// A second copy of an expression, charged to the budget.
    pub(super) fn duplicate(&mut self, expr: &Expr) -> Result<Expr> {
        let mut nodes = 0;
        walk::walk(expr, 0, &mut |_, _| nodes += 1);
        self.duplicated += nodes;
        if self.duplicated > DUPLICATION_LIMIT {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "statement is too complex"));
        }
        Ok(expr.clone())
    }

    /// Counts a relation in FROM.
    pub(super) fn charge_relation(&mut self) -> Result<()> {
        self.relations += 1;
        if self.relations > RELATION_LIMIT {
            let message = format!("a statement may read at most {RELATION_LIMIT} relations");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        Ok(())
    }
}

/// A name as the catalog has it: folded to lower case unless quoted.
pub(super) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// The last part of a name, folded, where the parts before it are a schema we have (`public`, `pg_catalog`, or none).
pub(super) fn plain_name(name: &ObjectName) -> Option<(String, Span)> {
    let mut parts = Vec::with_capacity(2);
    for part in &name.0 {
        let ObjectNamePart::Identifier(ident) = part else { return None };
        parts.push(ident);
    }
    let (last, schemas) = parts.split_last()?;
    let known = match schemas {
        [] => true,
        [schema] => matches!(fold(schema).as_str(), "public" | "pg_catalog"),
        _ => false,
    };
    known.then(|| (fold(last), parts.first().map_or(last.span, |first| first.span)))
}

/// A name of any parts as messages show it.
pub(super) fn dotted(name: &ObjectName) -> String {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => fold(ident),
            other => other.to_string(),
        })
        .collect();
    parts.join(".")
}

/// Where a name starts.
pub(super) fn name_span(name: &ObjectName) -> Span {
    match name.0.first() {
        Some(ObjectNamePart::Identifier(ident)) => ident.span,
        _ => Span::empty(),
    }
}

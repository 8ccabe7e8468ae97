//! WITH and WITH RECURSIVE.
//!
//! A WITH query's rows are computed once per run of the query it belongs to, and read through its id.

use sqlparser::ast::{self, Cte, SetExpr, SetQuantifier, Spanned, With};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, CteBinding, fold};
use super::from::renamed_query;
use super::query::column_spans;
use super::scope::Env;
use crate::plan::{Field, LogicalPlan};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Queries of one WITH clause.
const MAX_WITH_QUERIES: usize = 100;

/// A WITH query, bound, waiting for the body.
pub(super) enum Definition {
    Plain { id: usize, name: String, materialized: bool, plan: LogicalPlan },
    Recursive { id: usize, name: String, base: LogicalPlan, step: LogicalPlan, all: bool },
}

impl Binder<'_> {
    /// Binds the queries and puts them in sight, one after the other.
    pub(super) fn with(&mut self, with: &With, outer: Option<&Env>) -> Result<Vec<Definition>> {
        // Each is one level of the plan.
        if with.cte_tables.len() > MAX_WITH_QUERIES {
            let message = format!("a WITH clause can have at most {MAX_WITH_QUERIES} queries");
            return Err(self.at(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message), with.span()));
        }
        let mut definitions = Vec::with_capacity(with.cte_tables.len());
        let mut names: Vec<String> = vec![];
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            if names.contains(&name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(self.at(Error::new(SqlState::DUPLICATE_ALIAS, message), cte.alias.name.span));
            }
            let definition = match recursive_parts(cte).filter(|_| with.recursive) {
                Some((base, step, all)) if mentions(step, &name) => {
                    self.recursive(cte, &name, [base, step], all, outer)?
                }
                _ => self.plain(cte, &name, outer)?,
            };
            names.push(name);
            definitions.push(definition);
        }
        Ok(definitions)
    }

    fn plain(&mut self, cte: &Cte, name: &str, outer: Option<&Env>) -> Result<Definition> {
        let plan = self.query(&cte.query, outer)?;
        let fields = self.cte_fields(plan.fields(), cte)?;
        let id = self.show(name, fields);
        let materialized = cte.materialized == Some(ast::CteAsMaterialized::Materialized);
        Ok(Definition::Plain { id, name: name.to_owned(), materialized, plan })
    }

    fn cte_fields(&self, fields: Vec<Field>, cte: &Cte) -> Result<Vec<Field>> {
        renamed_query(fields, &cte.alias).map_err(|error| self.at(error, cte.alias.name.span))
    }

    fn show(&mut self, name: &str, fields: Vec<Field>) -> usize {
        let id = self.new_cte_id();
        self.ctes.push(CteBinding { name: name.to_owned(), id, fields });
        id
    }

    fn recursive(
        &mut self,
        cte: &Cte,
        name: &str,
        [base, step]: [&SetExpr; 2],
        all: bool,
        outer: Option<&Env>,
    ) -> Result<Definition> {
        let spans = column_spans(base);
        let base = self.set_expr(base, outer)?;
        let base = self.typed(base)?;
        let fields = self.cte_fields(base.fields(), cte)?;
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type).collect();
        let id = self.show(name, fields);
        let step_plan = self.set_expr(step, outer)?;
        self.check_step(name, &base.fields(), &step_plan.fields(), cte, &spans)?;
        let step = self.retype(step_plan, &types, &column_spans(step))?;
        Ok(Definition::Recursive { id, name: name.to_owned(), base, step, all })
    }

    /// The recursive term's columns must be of the base's types.
    fn check_step(&self, name: &str, base: &[Field], step: &[Field], cte: &Cte, spans: &[Span]) -> Result<()> {
        if base.len() != step.len() {
            let error = Error::new(SqlState::SYNTAX_ERROR, "each UNION query must have the same number of columns");
            return Err(self.at(error, cte.query.span()));
        }
        for (number, (base, step)) in base.iter().zip(step).enumerate() {
            let fits = step.data_type.base() == base.data_type.base()
                || step.data_type == DataType::Unknown
                || crate::types::can_cast(step.data_type, base.data_type, crate::types::CastContext::Implicit)
                    && !base.data_type.is_integer();
            if !fits {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    number + 1,
                    base.data_type,
                    step.data_type
                );
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type.");
                return Err(self.at(error, spans.get(number).copied().unwrap_or(Span::empty())));
            }
        }
        Ok(())
    }
}

/// Wraps a body in its WITH queries, the first outermost.
pub(super) fn wrap(definitions: Vec<Definition>, body: LogicalPlan) -> LogicalPlan {
    definitions.into_iter().rev().fold(body, |body, definition| {
        let body = Box::new(body);
        match definition {
            Definition::Plain { id, name, materialized, plan } => {
                LogicalPlan::With { id, name, materialized, definition: Box::new(plan), body }
            }
            Definition::Recursive { id, name, base, step, all } => {
                LogicalPlan::RecursiveWith { id, name, base: Box::new(base), step: Box::new(step), all, body }
            }
        }
    })
}

/// `base UNION [ALL] step`, where the query is that and no more.
fn recursive_parts(cte: &Cte) -> Option<(&SetExpr, &SetExpr, bool)> {
    let plain = cte.query.order_by.is_none() && cte.query.limit_clause.is_none() && cte.query.with.is_none();
    match &*cte.query.body {
        SetExpr::SetOperation { left, op: ast::SetOperator::Union, set_quantifier, right } if plain => {
            Some((left, right, *set_quantifier == SetQuantifier::All))
        }
        _ => None,
    }
}

/// Whether the term reads the query of this name. (By its text: a mention anywhere will do, for then the recursive form
/// is right, and harmless where the mention is of something else.)
fn mentions(step: &SetExpr, name: &str) -> bool {
    step.to_string().to_ascii_lowercase().contains(&name.to_ascii_lowercase())
}

//! WITH and WITH RECURSIVE.
//!
//! A WITH query's rows are computed once per run of the query it belongs to, and read through its id.

use cairn_parser::{Cte, Id, Materialized, NodeRef, Query, QueryBody, SetOperation, Span, Statement, With};

use super::from::Naming;
use super::scope::Env;
use crate::bind::binder::{Binder, Confine, CteBinding, Recursive};
use crate::bind::queries::query::{column_spans, span_at};
use crate::plan::{CteId, Field, LogicalPlan};
use crate::sql::name_text;
use crate::types::{CastContext, DataType};
use crate::{Error, Result, SqlState};

/// Queries of one WITH clause.
const MAX_WITH_QUERIES: usize = 300;

/// A WITH query, bound, waiting for the body.
pub(in crate::bind) enum Definition {
    Plain { id: CteId, name: String, materialized: bool, plan: LogicalPlan },
    Recursive { id: CteId, name: String, base: LogicalPlan, step: LogicalPlan, all: bool },
}

/// `base UNION [ALL] step`
struct Recursion {
    base: Id<Query>,
    step: Id<Query>,
    all: bool,
}

impl Binder<'_> {
    /// Binds the queries and puts them in sight, one after the other.
    pub(in crate::bind) fn with(&mut self, with: Id<With>, outer: Option<&Env>) -> Result<Vec<Definition>> {
        let tree = self.tree;
        let With { recursive, ctes } = tree.get(with);
        // Each is one level of the plan.
        if tree.len(ctes) > MAX_WITH_QUERIES {
            let message = format!("a WITH clause can have at most {MAX_WITH_QUERIES} queries");
            return Err(self.at(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message), tree.span(with)));
        }
        let is_top = self.top == Some(with);
        let mut ctes: Vec<Cte> = tree.list(ctes).map(|id| tree.get(id)).collect();
        let mut names: Vec<&str> = vec![];
        for cte in &ctes {
            let name = name_text(tree, cte.name);
            if names.contains(&name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(self.at(Error::new(SqlState::DUPLICATE_ALIAS, message), tree.span(cte.name)));
            }
            names.push(name);
        }
        if recursive {
            ctes = self.in_order_of_use(ctes)?;
        }
        let mut definitions = Vec::with_capacity(ctes.len());
        for cte in &ctes {
            let name = name_text(tree, cte.name);
            let before = self.ctes.len();
            let own = self.own_queries(cte, recursive, outer)?;
            let seen = self.ctes.len();
            let definition = self.definition(cte, name, (recursive, is_top), outer)?;
            // Nobody else sees what a recursive query has of its own.
            self.ctes.drain(before..seen);
            definitions.extend(own);
            definitions.push(definition);
        }
        Ok(definitions)
    }

    /// The WITH that a recursive query has in front of both of its terms.
    fn own_queries(&mut self, cte: &Cte, recursive: bool, outer: Option<&Env>) -> Result<Vec<Definition>> {
        let tree = self.tree;
        let Statement::Query { query } = tree.get(cte.statement) else { return Ok(vec![]) };
        match tree.get(query).with.filter(|_| recursive && self.mentions(tree.reference(query), cte)) {
            Some(with) if self.mentions(tree.reference(with), cte) => {
                let name = name_text(tree, cte.name);
                let message = format!("recursive reference to query \"{name}\" must not appear within a subquery");
                Err(self.at(Error::new(SqlState::INVALID_RECURSION, message), tree.span(with)))
            }
            Some(with) => self.with(with, outer),
            None => Ok(vec![]),
        }
    }

    /// Behind WITH RECURSIVE a query may read those behind it as well: each comes behind what it reads.
    fn in_order_of_use(&self, ctes: Vec<Cte>) -> Result<Vec<Cte>> {
        let tree = self.tree;
        let read_by = |(index, cte): (usize, &Cte)| {
            let others = ctes.iter().enumerate().filter(|(other, _)| *other != index);
            let read = others.filter(|(_, other)| self.mentions(tree.reference(cte.statement), other));
            (index, read.map(|(other, _)| other).collect::<Vec<_>>())
        };
        let mut waiting: Vec<(usize, Vec<usize>)> = ctes.iter().enumerate().map(read_by).collect();
        let mut ordered = Vec::with_capacity(ctes.len());
        while let Some((first, _)) = waiting.first() {
            let is_waiting = |index: &usize| waiting.iter().any(|(other, _)| other == index);
            let Some(ready) = waiting.iter().position(|(_, read)| !read.iter().any(is_waiting)) else {
                let error = Error::unsupported("mutual recursion between WITH items");
                return Err(self.at(error, tree.span(ctes[*first].name)));
            };
            ordered.push(ctes[waiting.remove(ready).0]);
        }
        Ok(ordered)
    }

    /// Binds a statement that changes rows with its WITH queries in sight, and wraps its source in them.
    pub(in crate::bind) fn within_with<T>(
        &mut self,
        with: Option<Id<With>>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
        source: impl FnOnce(&mut T) -> &mut LogicalPlan,
    ) -> Result<T> {
        let Some(with) = with else { return bind(self) };
        let in_sight = self.ctes.len();
        let definitions = self.with(with, None)?;
        let mut bound = bind(self)?;
        self.ctes.truncate(in_sight);
        let source = source(&mut bound);
        let body = std::mem::replace(source, LogicalPlan::Values { rows: vec![], fields: vec![] });
        *source = wrap(definitions, body);
        Ok(bound)
    }

    fn definition(
        &mut self,
        cte: &Cte,
        name: &str,
        (recursive, is_top): (bool, bool),
        outer: Option<&Env>,
    ) -> Result<Definition> {
        let tree = self.tree;
        let statement = tree.get(cte.statement);
        if !is_top && !matches!(statement, Statement::Query { .. }) {
            let message = match self.stars {
                Some(_) => "views must not contain data-modifying statements in WITH",
                None => "WITH clause containing a data-modifying statement must be at the top level",
            };
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(self.at(error, tree.span(cte.statement)));
        }
        let changes = !matches!(statement, Statement::Query { .. });
        if changes && recursive && self.mentions(tree.reference(cte.statement), cte) {
            let message = format!("recursive query \"{name}\" must not contain data-modifying statements");
            return Err(self.at(Error::new(SqlState::INVALID_RECURSION, message), tree.span(cte.statement)));
        }
        let query = match statement {
            Statement::Query { query } => query,
            Statement::Insert { insert } => {
                let bound = self.insert(insert)?;
                let plan = bound.plan()?;
                return self.changing(cte, name, plan);
            }
            Statement::Update { update } => {
                let bound = self.update(update)?;
                let plan = bound.plan();
                return self.changing(cte, name, plan);
            }
            Statement::Delete { delete } => {
                let bound = self.delete(delete)?;
                let plan = bound.plan();
                return self.changing(cte, name, plan);
            }
            Statement::Merge { merge } => {
                let bound = self.merge_into(merge)?;
                let plan = bound.plan();
                return self.changing(cte, name, plan);
            }
            Statement::Utility { .. } => {
                return Err(self.at(Error::unsupported("this statement in WITH"), tree.span(cte.statement)));
            }
        };
        if recursive && self.mentions(tree.reference(query), cte) {
            let recursion = self.recursion(name, query)?;
            return self.recursive(cte, name, &recursion, outer);
        }
        self.refuse_marks(cte)?;
        self.plain(cte, name, query, outer)
    }

    /// A statement that changes rows; what it returns is what the query gives.
    fn changing(&mut self, cte: &Cte, name: &str, plan: LogicalPlan) -> Result<Definition> {
        let fields = plan.fields();
        let returns = !fields.is_empty();
        let fields = if returns { self.cte_fields(fields, cte)? } else { fields };
        let id = self.show(name, fields, returns);
        Ok(Definition::Plain { id, name: name.to_owned(), materialized: true, plan })
    }

    fn plain(&mut self, cte: &Cte, name: &str, query: Id<Query>, outer: Option<&Env>) -> Result<Definition> {
        let plan = self.query(query, outer)?;
        let fields = self.cte_fields(plan.fields(), cte)?;
        let id = self.show(name, fields, true);
        let materialized = cte.materialized == Some(Materialized::Yes);
        Ok(Definition::Plain { id, name: name.to_owned(), materialized, plan })
    }

    fn cte_fields(&self, fields: Vec<Field>, cte: &Cte) -> Result<Vec<Field>> {
        self.renamed("WITH query", fields, Naming { name: cte.name, columns: cte.columns })
    }

    fn show(&mut self, name: &str, fields: Vec<Field>, returns: bool) -> CteId {
        let id = self.new_cte_id();
        self.ctes.push(CteBinding { name: name.to_owned(), id, fields, returns, recursion: None, unseen: 0 });
        id
    }

    /// Binds a term of a recursive query, which may refer to it.
    fn term<T>(
        &mut self,
        (name, fields, unseen): (&str, Vec<Field>, usize),
        confine: Option<Confine>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(CteId, T)> {
        let at = self.ctes.len();
        let id = self.show(name, fields, true);
        self.ctes[at].unseen = unseen;
        self.ctes[at].recursion = Some(Recursive { confines: self.confines(), is_referred_to: false });
        let bound = self.within(confine, bind)?;
        self.ctes.truncate(at);
        Ok((id, bound))
    }

    fn recursive(
        &mut self,
        cte: &Cte,
        name: &str,
        &Recursion { base: base_query, step, all }: &Recursion,
        outer: Option<&Env>,
    ) -> Result<Definition> {
        let spans = column_spans(self.tree, base_query);
        let term = |binder: &mut Self| {
            let base = binder.untyped_query(base_query, outer)?;
            binder.typed(base)
        };
        let (_, mut base) = self.term((name, vec![], 0), Some(Confine::NonRecursiveTerm), term)?;
        let own = self.cte_fields(base.fields(), cte)?;
        let types: Vec<DataType> = own.iter().map(|field| field.data_type).collect();
        let marks = self.marks(cte, &own)?;
        let mut fields = own;
        if let Some(marks) = &marks {
            let step_body = self.tree.get(step).body;
            self.check_terms(self.tree.get(base_query).body, step_body)?;
            fields = marks.fields()?;
            self.carried = Some(self.carried(marks, name, step_body)?);
        }
        let unseen = fields.len() - types.len();
        let (id, step_plan) =
            self.term((name, fields.clone(), unseen), None, |binder| binder.untyped_query(step, outer))?;
        let step_fields = step_plan.fields();
        self.check_step(name, &base.fields(), &step_fields[..step_fields.len() - unseen], cte, &spans)?;
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type).collect();
        let mut step = self.retype(step_plan, (&types, CastContext::Implicit), &column_spans(self.tree, step))?;
        if let Some(marks) = &marks {
            base = self.begun(marks, base)?;
            step = self.continued(marks, step)?;
        }
        self.ctes.push(CteBinding { name: name.to_owned(), id, fields, returns: true, recursion: None, unseen: 0 });
        Ok(Definition::Recursive { id, name: name.to_owned(), base, step, all })
    }

    /// Behind SEARCH and CYCLE, both terms must be SELECTs.
    fn check_terms(&self, base: Id<QueryBody>, step: Id<QueryBody>) -> Result<()> {
        let is_select = |body| matches!(self.tree.get(body), QueryBody::Select { .. } | QueryBody::Table { .. });
        let (code, side) = match () {
            () if !is_select(base) && !matches!(self.tree.get(base), QueryBody::Values { .. }) => {
                (SqlState::FEATURE_NOT_SUPPORTED, "left")
            }
            () if !is_select(step) => (SqlState::SYNTAX_ERROR, "right"),
            () => return Ok(()),
        };
        let message = format!("with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT");
        Err(Error::new(code, message))
    }

    /// The recursive term's columns must be of the base's types.
    fn check_step(&self, name: &str, base: &[Field], step: &[Field], cte: &Cte, spans: &[Span]) -> Result<()> {
        if base.len() != step.len() {
            let error = Error::new(SqlState::SYNTAX_ERROR, "each UNION query must have the same number of columns");
            return Err(self.at(error, self.tree.span(cte.statement)));
        }
        for (number, (base, step)) in base.iter().zip(step).enumerate() {
            let span = span_at(spans, number);
            let overall = self.common_type("UNION", &[(base.data_type, span), (step.data_type, span)])?;
            let fits = overall == base.data_type;
            if !fits {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    number + 1,
                    base.data_type,
                    overall
                );
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type.");
                return Err(self.at(error, span));
            }
        }
        Ok(())
    }

    /// `base UNION [ALL] step`, which the query has to be, and no more.
    fn recursion(&self, name: &str, query: Id<Query>) -> Result<Recursion> {
        let tree = self.tree;
        let span = tree.span(query);
        let query = tree.get(query);
        let QueryBody::SetOperation { operation: SetOperation::Union, all, left, right } = tree.get(query.body) else {
            let message = format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            );
            return Err(self.at(Error::new(SqlState::INVALID_RECURSION, message), span));
        };
        let not_there = [
            (!query.order_by.is_empty(), "ORDER BY"),
            (query.offset.is_some(), "OFFSET"),
            (query.limit.is_some(), "LIMIT"),
            (!query.locking.is_empty(), "FOR UPDATE/SHARE"),
        ];
        match not_there.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, what)) => {
                let message = format!("{what} in a recursive query is not implemented");
                Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), span))
            }
            None => Ok(Recursion { base: left, step: right, all }),
        }
    }

    /// Whether the term reads from something of the query's name, outside queries with a WITH query of their own by that name.
    fn mentions(&self, term: NodeRef, cte: &Cte) -> bool {
        let tree = self.tree;
        let name = tree.reference(cte.name);
        let is_called = |node| {
            let mut found = false;
            tree.children(node, |child| found |= tree.same(child, tree, name));
            found
        };
        let mut waiting = vec![term];
        while let Some(node) = waiting.pop() {
            let first = waiting.len();
            tree.children(node, |child| waiting.push(child));
            if tree.kind(node).name == "QualifiedName" && waiting.len() == first + 1 && is_called(node) {
                return true;
            }
            let hides = |with: &NodeRef| {
                let mut hidden = false;
                tree.children(*with, |query| hidden |= is_called(query));
                tree.kind(*with).name == "With" && hidden
            };
            if waiting[first..].iter().any(hides) {
                waiting.truncate(first);
            }
        }
        false
    }
}

/// Wraps a body in its WITH queries, the first outermost.
pub(in crate::bind) fn wrap(definitions: Vec<Definition>, body: LogicalPlan) -> LogicalPlan {
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

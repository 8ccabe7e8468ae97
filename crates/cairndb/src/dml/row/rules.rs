//! What a row must satisfy: NOT NULL, CHECK, and that the rows it refers to are there.

use std::sync::Arc;

use super::asked::Viewed;
use super::entry::grow;
use super::env::{self, Env};
use super::violation::failing_row;
use super::{Lookup, Stop, Target, Trees, Violation, Wanted, exists};
use crate::catalog::Table;
use crate::plan::{Columns, Held, ViewCheck};
use crate::types::ValueRef;
use crate::{Error, Result, SqlState, Value};

/// The rules that a kind of change can break.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) target: Arc<Target>,
    /// The columns that could become NULL and must not.
    not_null: Box<[usize]>,
    /// The same of virtual ones.
    not_null_virtual: Box<[usize]>,
    /// Positions among the target's columns of domains of those that get values.
    domains: Box<[usize]>,
    /// Positions of the foreign keys that could come to refer elsewhere.
    pub(crate) references: Box<[usize]>,
    /// What views ask of a row that was written through them.
    pub(super) views: Box<[Viewed]>,
}

impl Rules {
    /// `touched`: whether the statement gives the column a new value.
    pub(crate) fn of(target: &Arc<Target>, touched: impl Fn(usize) -> bool) -> Rules {
        let table = &target.table;
        let must_not = |column: &usize| table.columns[*column].not_null;
        let is_virtual = |column: &usize| table.columns[*column].is_virtual;
        let not_null =
            (0..table.columns.len()).filter(|column| must_not(column) && !is_virtual(column) && touched(*column));
        let not_null_virtual = (0..table.columns.len()).filter(|column| must_not(column) && is_virtual(column));
        let refers = |at: &usize| table.foreign_keys[*at].columns.iter().any(|&column| touched(column));
        let references = (0..table.foreign_keys.len()).filter(refers);
        let domains = target
            .bound
            .domains
            .iter()
            .enumerate()
            .filter(|(_, (column, _))| touched(*column))
            .map(|(at, _)| at)
            .collect();
        let (not_null, references) = (not_null.collect(), references.collect());
        Rules {
            not_null,
            not_null_virtual: not_null_virtual.collect(),
            domains,
            references,
            target: target.clone(),
            views: Box::default(),
        }
    }

    /// The rules of a whole row.
    pub(crate) fn of_row(target: &Arc<Target>) -> Rules {
        Rules::of(target, |_| true)
    }

    /// The columns that must not be NULL, but for virtual ones.
    pub(super) fn not_null(&self) -> &[usize] {
        &self.not_null
    }

    /// Whether they can be looked after while this is held, and what is kept of a row besides it.
    pub(crate) fn are_evaluable(&self, held: Held) -> bool {
        let generated = self.target.bound.generated.iter().map(|generated| &generated.value);
        let domains =
            self.target.bound.domains.iter().flat_map(|(_, rules)| &rules.conditions).map(|(_, condition)| condition);
        let views = self.views.iter().filter_map(Viewed::plain);
        let virtuals = self.not_null_virtual.iter().filter_map(|column| self.target.bound.virtuals.expression(*column));
        let all = self.target.bound.checks.iter().chain(generated).chain(virtuals).chain(domains).chain(views);
        !self.ask_queries() && self.target.held >= Some(held) && all.into_iter().all(|expr| held.allows(expr))
    }

    /// Whether views ask subqueries of the row.
    pub(crate) fn ask_queries(&self) -> bool {
        self.views.iter().any(|view| view.plain().is_none())
    }

    /// What views ask of a row from now on.
    pub(super) fn set_views(&mut self, views: &[ViewCheck]) -> Result<()> {
        self.views = views.iter().map(|check| Viewed::of(check, &self.target)).collect::<Result<_>>()?;
        Ok(())
    }

    /// WITH CHECK OPTION: each view's condition is to be true of the row that is written.
    pub(super) fn check_views(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        match self.views.iter().find_map(|view| view.is_true(row, env).map(|is| (!is).then_some(view)).transpose()) {
            Some(view) => Err(violates_view(&view?.view, &self.target.table, row, env)),
            None => Ok(()),
        }
    }

    /// What domains ask for, then NOT NULL, then CHECK (none may be false), as PostgreSQL orders them.
    #[inline]
    pub(crate) fn check(&self, row: &impl Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        if !self.domains.is_empty() {
            self.check_domains(row, env)?;
        }
        for &column in &self.not_null {
            if row.column(column)?.is_null() {
                return Err(Violation::NotNull(column).into());
            }
        }
        if !self.not_null_virtual.is_empty() {
            self.check_virtual(row, env)?;
        }
        if self.target.bound.checks.is_empty() { Ok(()) } else { self.check_conditions(row, env) }
    }

    fn check_virtual(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        for &column in &self.not_null_virtual {
            let value =
                self.target.bound.virtuals.expression(column).map(|value| env::eval(value, row, env)).transpose()?;
            if value.is_none_or(|value| value.is_null()) {
                return Err(Violation::NotNull(column).into());
            }
        }
        Ok(())
    }

    /// Whether what a row must satisfy is more than NOT NULL of what is given to its columns.
    pub(super) fn are_computed(&self) -> bool {
        !self.target.bound.checks.is_empty()
            || !self.target.bound.domains.is_empty()
            || !self.not_null_virtual.is_empty()
    }

    fn check_domains(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        for &domain in &self.domains {
            let (column, rules) = &self.target.bound.domains[domain];
            if rules.not_null && row.column(*column)?.is_null() {
                return Err(Violation::Domain { domain, condition: None }.into());
            }
            for (at, (_, condition)) in rules.conditions.iter().enumerate() {
                if matches!(env::eval(condition, row, env)?.get(), ValueRef::Boolean(false)) {
                    return Err(Violation::Domain { domain, condition: Some(at) }.into());
                }
            }
        }
        Ok(())
    }

    fn check_conditions(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<(), Stop> {
        for (at, condition) in self.target.bound.checks.iter().enumerate() {
            if matches!(env::eval(condition, row, env)?.get(), ValueRef::Boolean(false)) {
                return Err(Violation::Check(at).into());
            }
        }
        Ok(())
    }

    /// The keys of the rows that the row refers to, one per `references`, to the beginning of `lookups`.
    #[inline]
    pub(crate) fn encode_references(
        &self,
        row: &impl Columns<Stop>,
        env: Env<'_>,
        lookups: &mut Vec<Lookup>,
    ) -> Result<(), Stop> {
        grow(lookups, self.references.len());
        for (&at, lookup) in self.references.iter().zip(lookups) {
            self.target.references[at].encode(row, env.eval, lookup)?;
        }
        Ok(())
    }
}

/// SQLSTATE 44000 for a row of a table that is none of the views'.
pub(crate) fn check_views(
    views: &[ViewCheck],
    table: &Table,
    row: &dyn Columns<Stop>,
    env: Env<'_>,
) -> Result<(), Stop> {
    for ViewCheck { view, condition } in views {
        if !env::eval(condition, row, env)?.is_true() {
            return Err(violates_view(view, table, row, env));
        }
    }
    Ok(())
}

/// SQLSTATE 44000.
fn violates_view(view: &str, table: &Table, row: &dyn Columns<Stop>, env: Env<'_>) -> Stop {
    let values = (0..table.columns.len()).map(|column| Ok(row.column(column)?.into_value()));
    match values.collect::<Result<Vec<Value>, Stop>>() {
        Ok(values) => {
            let message = format!("new row violates check option for view \"{view}\"");
            Error::new(SqlState::WITH_CHECK_OPTION_VIOLATION, message)
                .with_detail(failing_row(&values, table, env.eval))
                .into()
        }
        Err(stop) => stop,
    }
}

impl super::Reference {
    /// Whether there is nothing to be found, or it is there.
    pub(crate) fn is_kept(&self, trees: &mut dyn Trees, lookup: &Lookup) -> Result<bool, Stop> {
        match lookup.wanted {
            Wanted::No => Ok(true),
            Wanted::Yes => Ok(exists(trees, self.tree, &lookup.key)?),
            Wanted::Nowhere => Ok(false),
        }
    }
}

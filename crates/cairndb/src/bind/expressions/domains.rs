//! Domains: what a value must satisfy to be of one.
//!
//! A domain's value is one of its base type, and is of that type everywhere; what the domain adds is looked at where something
//! becomes one: by a cast, here, and in a column, by the row program.

use std::borrow::Cow;
use std::sync::Arc;

use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::definitions::definition::{noting, settled};
use crate::bind::definitions::index::in_parentheses;
use crate::bind::entry::alone;
use crate::bind::parameters::Callees;
use crate::bind::relations::scope::{Env, Relation, Scope};
use crate::catalog::{Catalog, Check, Definition, TypeKind, UserType};
use crate::functions::{Checked, Cost, Function, OF_DOMAIN};
use crate::plan::{EvalEnv, Expr, Held, SequenceOp, asks_catalog, eval, is_immutable, walk};
use crate::sql;
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, SqlState, Value};

/// What a value of a domain must be, as PostgreSQL looks at it: NOT NULL of any level first, then the conditions of what it is
/// made from before its own, each level's by name.
#[derive(Clone, Debug)]
pub(crate) struct DomainRules {
    /// The domain's name as messages tell it.
    pub(crate) name: String,
    /// Its schema, and its name there.
    place: (String, String),
    pub(crate) not_null: bool,
    pub(crate) conditions: Vec<(String, Expr)>,
}

impl DomainRules {
    /// `column`: the place that the value has in the row.
    pub(crate) fn of(domain: &UserType, column: usize, catalog: &Catalog) -> Result<DomainRules> {
        DomainRules::of_those(domain, column, catalog, |_| true)
    }

    /// What is known of all values, those that were there before the condition among them.
    pub(crate) fn known(domain: &UserType, column: usize, catalog: &Catalog) -> Result<DomainRules> {
        DomainRules::of_those(domain, column, catalog, |check| check.valid)
    }

    fn of_those(
        domain: &UserType,
        column: usize,
        catalog: &Catalog,
        is_wanted: fn(&Check) -> bool,
    ) -> Result<DomainRules> {
        let mut rules = DomainRules {
            name: catalog.shown_type(domain),
            place: (catalog.schema_name(domain.schema).unwrap_or_default().to_owned(), domain.name.clone()),
            not_null: false,
            conditions: Vec::new(),
        };
        let mut levels = Vec::new();
        let mut level = Some(domain);
        while let Some(UserType { kind: TypeKind::Domain(of), .. }) = level {
            levels.push(of);
            level = of.parent.and_then(|parent| catalog.type_by_id(parent)).map(|parent| &**parent);
        }
        for of in levels.into_iter().rev() {
            rules.not_null |= of.not_null;
            let mut checks: Vec<_> = of.checks.iter().filter(|check| is_wanted(check)).collect();
            checks.sort_by_key(|check| &check.name);
            for check in checks {
                let bound =
                    alone(&check.condition, catalog, |binder, expr| binder.domain_condition(expr, of.base, column))?;
                rules.conditions.push((check.name.clone(), bound));
            }
        }
        Ok(rules)
    }

    /// SQLSTATE 23502.
    pub(crate) fn null(&self) -> Error {
        let message = format!("domain {} does not allow null values", self.name);
        self.about(Error::new(SqlState::NOT_NULL_VIOLATION, message))
    }

    /// SQLSTATE 23514: the condition at this place is not true.
    pub(crate) fn violated(&self, at: usize) -> Error {
        let name = self.conditions.get(at).map_or("", |(name, _)| name.as_str());
        let message = format!("value for domain {} violates check constraint \"{name}\"", self.name);
        self.about(Error::new(SqlState::CHECK_VIOLATION, message).with_constraint(name))
    }

    fn about(&self, error: Error) -> Error {
        error.with_schema(&*self.place.0).with_data_type(&*self.place.1)
    }

    /// SQLSTATE 23502, 23514 where the value at its place in the row is not of the domain.
    pub(crate) fn check(&self, column: usize, row: &[Value], context: &EvalContext) -> Result<()> {
        if self.not_null && row.get(column).is_none_or(Value::is_null) {
            return Err(self.null());
        }
        for (at, (_, condition)) in self.conditions.iter().enumerate() {
            if matches!(eval(condition, &row, Alone(context))?.get(), ValueRef::Boolean(false)) {
                return Err(self.violated(at));
            }
        }
        Ok(())
    }
}

/// There is nothing but the value.
#[derive(Clone, Copy)]
struct Alone<'a>(&'a EvalContext);

impl<'a> EvalEnv<'a> for Alone<'a> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'a>> {
        Err(Error::internal(format!("parameter {index} in a domain's condition")))
    }

    fn eval(self) -> &'a EvalContext {
        self.0
    }

    fn sequence(self, _: SequenceOp, _: &Value, _: Option<&Value>) -> Result<Value> {
        Err(Error::unsupported("a sequence in a domain's condition"))
    }

    fn missed(error: Error) -> Error {
        error
    }
}

impl Binder<'_> {
    /// A condition over VALUE, which has this place in the row.
    pub(in crate::bind) fn domain_condition(
        &mut self,
        expr: cairn_parser::Id<cairn_parser::Expr>,
        base: DataType,
        column: usize,
    ) -> Result<Expr> {
        let value = Expr::Column { index: column, data_type: base };
        let scope = Scope::of(Relation::new(String::new(), vec![("value".to_owned(), value)]), column + 1);
        let env = Env { scope: &scope, outer: None, within: None };
        let (bound, span) = self.operand(expr, &mut Context::new(Some(&env), Clause::Check))?;
        self.condition(bound, "CHECK", span)
    }

    /// A value of the base type as one of the domain.
    pub(in crate::bind) fn of_domain(&mut self, value: Expr, domain: &UserType) -> Result<Expr> {
        let rules = DomainRules::of(domain, 0, self.catalog)?;
        if !rules.not_null && rules.conditions.is_empty() {
            return Ok(value);
        }
        let (data_type, name) = (value.data_type(), rules.name.clone());
        let mut calls = false;
        for (_, condition) in &rules.conditions {
            walk::walk(condition, 0, &mut |expr, _| {
                calls |= matches!(expr, Expr::Call { function, .. } if function.calls_routines());
            });
        }
        if calls {
            self.parameters.calls = self.parameters.calls.max(Callees::Readers);
        }
        let conditions = || rules.conditions.iter().map(|(_, condition)| condition);
        let immutable = conditions().all(is_immutable);
        let cost = if conditions().all(|of| Held::Commit.allows(of)) { Cost::Bounded } else { Cost::Unknown };
        if conditions().any(asks_catalog) {
            self.rests.borrow_mut().add_everything();
        }
        let check = move |value: &Value, context: &EvalContext| {
            rules.check(0, std::slice::from_ref(value), context).map(|()| value.clone())
        };
        // Of one version of the domain: two calls with the same value are the same.
        let entry = OF_DOMAIN | u64::from(domain.id.0) << 32 | domain.change & u64::from(u32::MAX);
        let checked =
            Checked { name: Cow::Owned(name), data_type, immutable, cost, calls, entry, check: Arc::new(check) };
        Ok(Expr::Call { function: Arc::new(Function::checked(checked)), args: vec![value] })
    }
}

/// A condition over VALUE with what the names in it mean now.
pub(crate) fn resolve_domain_check(
    text: String,
    base: DataType,
    catalog: &Catalog,
    maker: Option<&EvalContext>,
) -> Result<Definition> {
    let parsed = sql::parse_expression(&text)?;
    let (definition, _) = settled(in_parentheses(&parsed.tree, parsed.expr), maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| binder.domain_condition(parsed.expr, base, 0))
    })?;
    Ok(definition)
}

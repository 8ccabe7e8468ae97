//! What asks the catalog: the system's functions, and constants of `regclass` and its kin.

use std::sync::Arc;

use cairn_parser::Span;

use super::functions::Call;
use super::overload::{Choice, ambiguous_function, choose, no_function};
use crate::Result;
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::bind::expressions::coerce::fixed_context;
use crate::bind::relations::views::Views;
use crate::plan::{Expr, Field, LogicalPlan, Returning};
use crate::system::{self, Takes};
use crate::types::{CastContext, DataType, Reg, RegValue, Value, from_text, names_oids};

impl<'a> Binder<'a> {
    /// The catalog for a function that asks it; the plan rests on all of the schema.
    fn asked(&self) -> Arc<crate::catalog::Catalog> {
        self.rests.borrow_mut().add_everything();
        Arc::new(self.catalog.clone())
    }

    /// What `pg_typeof` answers.
    pub(super) fn type_of(&self, expr: &Expr) -> Expr {
        let value = RegValue { of: Reg::Type, oid: expr.data_type().oid() };
        Expr::Literal { value: Value::Reg(value), data_type: DataType::Reg(Reg::Type) }
    }

    /// A call of one of the system's functions.
    pub(super) fn system_call(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        let args = self.operands(call.arguments(), context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let entry = match choose(system::entries(call.name), &types, false) {
            Choice::One(entry) => entry,
            Choice::None => return Err(self.at(no_function(call.name, &types), call.span)),
            Choice::Several => return Err(self.at(ambiguous_function(call.name, &types), call.span)),
        };
        let mut converted = Vec::with_capacity(args.len());
        for ((arg, span), takes) in args.into_iter().zip(entry.takes()) {
            let fits = self.system_argument(arg, *takes, span)?;
            converted.push(fits.ok_or_else(|| self.at(no_function(call.name, &types), call.span))?);
        }
        let types = converted.iter().map(Expr::data_type).collect();
        let function = entry.asking(types, self.asked(), (&Views, self.is_clients()));
        Ok(Expr::Call { function: Arc::new(function), args: converted })
    }

    /// The argument as the function takes it; `None`: it is of another type.
    fn system_argument(&mut self, arg: Expr, takes: Takes, span: Span) -> Result<Option<Expr>> {
        let to = match takes {
            Takes::Any => return self.known(arg).map(Some),
            Takes::Class if is_text(&arg) => {
                let named = self.implicit(arg, DataType::Reg(Reg::Class), span)?;
                return self.implicit(named, DataType::Oid, span).map(Some);
            }
            Takes::Oid | Takes::Class => DataType::Oid,
            Takes::Text => DataType::Text,
            Takes::Integer => DataType::Integer,
            Takes::BigInt => DataType::BigInt,
            Takes::Boolean => DataType::Boolean,
        };
        self.coerce(arg, to, CastContext::Implicit, span)
    }

    /// A constant of a type within which there are names that only the catalog knows.
    pub(in crate::bind) fn named_literal(&mut self, text: &str, to: DataType, span: Span) -> Result<Expr> {
        let mut context = fixed_context().clone();
        context.know_oids(self.asked());
        let value = from_text(text, to, &context).map_err(|error| self.at(error, span))?;
        // What is stored has the name, and what that means then.
        if self.definition.is_some() || self.noted.is_some() {
            return Ok(Expr::Cast { input: Box::new(crate::bind::expressions::coerce::text(text)), to });
        }
        Ok(Expr::Literal { value, data_type: to })
    }

    /// What is shown of oids, or read of names, follows the schema.
    pub(in crate::bind) fn note_names(&self, from: DataType, to: DataType) {
        if names_oids(from, to) {
            self.rests.borrow_mut().add_everything();
        }
    }

    /// A statement's rows as whoever asked for them sees them: with names where a column is of a type that has them. A function's
    /// statements go on with what they read.
    pub(in crate::bind) fn shown(&self, plan: LogicalPlan) -> LogicalPlan {
        let is_read_on = self.parameters.has_variables();
        if is_read_on || !plan.has_field(|data_type| matches!(data_type, DataType::Reg(_))) {
            return plan;
        }
        let fields = plan.fields();
        let (mut exprs, mut shown) = (vec![], vec![]);
        for (index, field) in fields.into_iter().enumerate() {
            let column = Expr::Column { index, data_type: field.data_type };
            let (expr, data_type) = match field.data_type {
                DataType::Reg(of) => (self.as_name(column), DataType::RegName(of)),
                data_type => (column, data_type),
            };
            shown.push(Field { data_type, ..field });
            exprs.push(expr);
        }
        LogicalPlan::Project { input: Box::new(plan), exprs, fields: shown }
    }

    /// The same of RETURNING.
    pub(in crate::bind) fn show_returned(&mut self, returning: &mut Option<Returning>) {
        let Some(Returning { exprs, fields }) = returning.as_mut().filter(|_| !self.parameters.has_variables()) else {
            return;
        };
        for (expr, field) in exprs.iter_mut().zip(fields) {
            if let DataType::Reg(of) = field.data_type {
                *expr = self.as_name(std::mem::replace(expr, crate::bind::expressions::coerce::null(DataType::Oid)));
                field.data_type = DataType::RegName(of);
            }
        }
    }

    /// The name that an oid has; the plan rests on the schema, since it follows that.
    fn as_name(&self, expr: Expr) -> Expr {
        self.rests.borrow_mut().add_everything();
        Expr::Cast { input: Box::new(expr), to: DataType::Text }
    }
}

fn is_text(expr: &Expr) -> bool {
    let data_type = expr.data_type();
    data_type == DataType::Unknown || data_type.is_string()
}

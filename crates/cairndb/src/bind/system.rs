//! What asks the catalog: the system's functions, and `regclass` and its kin.

use std::sync::Arc;

use cairn_parser::{self as ast, BaseType, Id, Span};

use super::binder::{Binder, NOWHERE};
use super::candidates::{Chosen, listed_for};
use super::coerce::{null, text};
use super::context::Context;
use super::functions::Call;
use super::overload::{ambiguous_function, no_function};
use crate::functions::Function;
use crate::plan::{Expr, Field, LogicalPlan, walk};
use crate::sql::name_text;
use crate::system::{self, Reg, Takes};
use crate::types::{CastContext, DataType, can_cast};
use crate::{Error, Result, SqlState};

/// Whether the expression asks the catalog: it has what that said when the expression was bound.
pub(crate) fn asks_catalog(expr: &Expr) -> bool {
    let mut asks = false;
    walk::walk(expr, 0, &mut |expr, _| {
        asks |= matches!(expr, Expr::Call { function, .. } if function.asks_catalog());
    });
    asks
}

impl<'a> Binder<'a> {
    /// The catalog for a function that asks it; the plan rests on all of the schema.
    fn asked(&self) -> Arc<crate::catalog::Catalog> {
        self.rests.borrow_mut().add_everything();
        Arc::new(self.catalog.clone())
    }

    /// What `pg_typeof` answers: a text, which results call a `regtype`.
    pub(super) fn type_of(&self, expr: &Expr) -> Expr {
        let name = match expr {
            Expr::Call { function, .. } if function.names_type() => Reg::Type.name(),
            expr => reg_of(expr).map_or_else(|| expr.data_type().type_name(), Reg::name),
        };
        let function = Function::type_name(Arc::new(self.catalog.clone()));
        Expr::Call { function: Arc::new(function), args: vec![text(name)] }
    }

    /// A call of one of the system's functions.
    pub(super) fn system_call(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        let args = self.operands(call.arguments(), context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let function = match (listed_for(call.name, &types), system::function(call.name, args.len())) {
            (Some(Chosen::Several), _) => return Err(self.at(ambiguous_function(call.name, &types), call.span)),
            (Some(Chosen::None), _) | (_, None) => return Err(self.at(no_function(call.name, &types), call.span)),
            (_, Some(function)) => function,
        };
        let mut converted = Vec::with_capacity(args.len());
        for ((arg, span), takes) in args.into_iter().zip(function.takes) {
            let fits = self.system_argument(arg, *takes, span)?;
            converted.push(fits.ok_or_else(|| self.at(no_function(call.name, &types), call.span))?);
        }
        let types = converted.iter().map(Expr::data_type).collect();
        let function = Function::of_system(function, types, self.asked());
        Ok(Expr::Call { function: Arc::new(function), args: converted })
    }

    /// The argument as the function takes it; `None`: it is of another type.
    fn system_argument(&mut self, arg: Expr, takes: Takes, span: Span) -> Result<Option<Expr>> {
        let to = match takes {
            Takes::Any => return self.known(arg).map(Some),
            Takes::Class if is_text(&arg) => return self.read_reg(Reg::Class, arg, span).map(Some),
            Takes::Oid | Takes::Class => DataType::Oid,
            Takes::Text => DataType::Text,
            Takes::Integer => DataType::Integer,
            Takes::BigInt => DataType::BigInt,
            Takes::Boolean => DataType::Boolean,
        };
        self.coerce(arg, to, CastContext::Implicit, span)
    }

    /// `x::regclass`, where the type is one of those; also `x::oid`, whose value is then no longer of such a type.
    pub(super) fn reg_cast(
        &mut self,
        operand: Id<ast::Expr>,
        to: Id<ast::TypeName>,
        context: &mut Context,
    ) -> Result<Option<Expr>> {
        let Some(name) = self.catalog_type(to) else { return Ok(None) };
        let (bound, span) = self.operand(operand, context)?;
        self.as_catalog_type(bound, &name, span).map(Some)
    }

    /// As [`Binder::reg_cast`], of `regclass 't'`.
    pub(super) fn reg_literal(&mut self, to: Id<ast::TypeName>, literal: Expr, span: Span) -> Result<Option<Expr>> {
        let Some(name) = self.catalog_type(to) else { return Ok(None) };
        self.as_catalog_type(literal, &name, span).map(Some)
    }

    fn as_catalog_type(&mut self, bound: Expr, name: &str, span: Span) -> Result<Expr> {
        let Some(reg) = Reg::named(name) else { return self.explicit(without_reg(bound), DataType::Oid, span) };
        if is_text(&bound) {
            return self.read_reg(reg, bound, span);
        }
        let from = bound.data_type();
        if !can_cast(from, DataType::Oid, CastContext::Implicit) {
            let message = format!("cannot cast type {from} to {name}");
            return Err(self.at(Error::new(SqlState::CANNOT_COERCE, message), span));
        }
        let oid = self.explicit(without_reg(bound), DataType::Oid, span)?;
        let function = Function::marked_reg(reg, self.asked());
        Ok(Expr::Call { function: Arc::new(function), args: vec![oid] })
    }

    /// The name of a type that only the catalog's columns have.
    fn catalog_type(&self, to: Id<ast::TypeName>) -> Option<String> {
        let ast::TypeName { base: BaseType::Named, names, bounds, .. } = self.tree.get(to) else { return None };
        let names: Vec<&str> = self.tree.list(names).map(|name| name_text(self.tree, name)).collect();
        let name = match names.as_slice() {
            [name] | ["pg_catalog", name] if bounds.is_empty() => *name,
            _ => return None,
        };
        (name == "oid" || Reg::named(name).is_some()).then(|| name.to_owned())
    }

    fn read_reg(&mut self, reg: Reg, text: Expr, span: Span) -> Result<Expr> {
        let catalog = self.asked();
        if let Expr::Literal { value: crate::Value::Text(text), .. } = &text {
            reg.read(&catalog, text).map_err(|error| self.at(error, span))?;
        }
        let text = self.implicit(text, DataType::Text, span)?;
        let function = Function::read_reg(reg, catalog);
        Ok(Expr::Call { function: Arc::new(function), args: vec![text] })
    }

    /// An oid of such a type as text.
    pub(super) fn reg_as_text(&self, expr: Expr) -> Expr {
        match reg_of(&expr) {
            Some(reg) => self.written(reg, expr),
            None => expr,
        }
    }

    fn written(&self, reg: Reg, expr: Expr) -> Expr {
        let function = Function::write_reg(reg, self.asked());
        Expr::Call { function: Arc::new(function), args: vec![expr] }
    }

    /// A statement's rows, with names where a column is of such a type, and vectors as PostgreSQL writes them.
    pub(super) fn show_regs(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let shown = |column| shown_column(&plan, column, &mut vec![]);
        let columns = 0..plan.width();
        if columns.clone().all(|column| shown(column).is_none()) {
            return Ok(plan);
        }
        let (fields, shown) = (plan.fields(), columns.map(shown).collect::<Vec<_>>());
        let (mut exprs, mut texts) = (vec![], vec![]);
        for (index, (field, shown)) in fields.into_iter().zip(shown).enumerate() {
            let column = Expr::Column { index, data_type: field.data_type };
            let expr = match &shown {
                None | Some(Shown::TypeName) => column,
                Some(Shown::Reg(reg)) => self.written(*reg, column),
                Some(Shown::Vector) => {
                    self.call("array_to_string", vec![(column, NOWHERE), (text(" "), NOWHERE)], NOWHERE)?
                }
            };
            let data_type = match shown {
                Some(Shown::Reg(reg)) => DataType::Reg(reg),
                Some(Shown::TypeName) => DataType::Reg(Reg::Type),
                Some(Shown::Vector) | None => expr.data_type(),
            };
            texts.push(Field { data_type, ..field });
            exprs.push(expr);
        }
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: texts })
    }
}

/// A column that does not leave the statement as it is.
enum Shown {
    Reg(Reg),
    /// It is the name of a type already.
    TypeName,
    /// PostgreSQL's `int2vector` or `oidvector`: numbers with blanks between them.
    Vector,
}

fn is_text(expr: &Expr) -> bool {
    let data_type = expr.data_type();
    data_type == DataType::Unknown || data_type.is_string()
}

/// What an expression is an oid of.
pub(super) fn reg_of(expr: &Expr) -> Option<Reg> {
    if let Expr::Call { function, .. } = expr { function.reg() } else { None }
}

/// The oid, no longer of such a type.
fn without_reg(expr: Expr) -> Expr {
    match expr {
        Expr::Call { function, mut args } if function.marks_reg() => args.pop().unwrap_or_else(|| null(DataType::Oid)),
        // `+` has no name to be written with.
        expr if reg_of(&expr).is_some() => Expr::Coalesce { args: vec![expr], data_type: DataType::Oid },
        expr => expr,
    }
}

/// What a column is an oid of. `parts`: the parts of WITH around the plan.
fn shown_column<'p>(
    plan: &'p LogicalPlan,
    column: usize,
    parts: &mut Vec<(crate::plan::CteId, &'p LogicalPlan)>,
) -> Option<Shown> {
    let mut shown = |input: &'p LogicalPlan, expr: &Expr| match expr {
        Expr::Column { index, .. } => shown_column(input, *index, parts),
        Expr::Call { function, .. } if function.names_type() => Some(Shown::TypeName),
        expr => reg_of(expr).map(Shown::Reg),
    };
    match plan {
        LogicalPlan::Project { input, exprs, .. } => shown(input, exprs.get(column)?),
        LogicalPlan::Aggregate { input, group_by, .. } => shown(input, group_by.get(column)?),
        LogicalPlan::Filter { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. }
        | LogicalPlan::Distinct { input, .. } => shown_column(input, column, parts),
        LogicalPlan::Window { input, .. } if column < input.width() => shown_column(input, column, parts),
        LogicalPlan::Join { left, right, .. } => match left.width() {
            width if column < width => shown_column(left, column, parts),
            width => shown_column(right, column - width, parts),
        },
        LogicalPlan::SetOperation { left, .. } => shown_column(left, column, parts),
        LogicalPlan::With { id, definition: part, body, .. }
        | LogicalPlan::RecursiveWith { id, base: part, body, .. } => {
            parts.push((*id, part));
            shown_column(body, column, parts)
        }
        LogicalPlan::CteScan { id, .. } => {
            let (_, part) = parts.iter().find(|(known, _)| known == id)?;
            shown_column(part, column, parts)
        }
        LogicalPlan::Values { rows, fields } => match rows.first().and_then(|row| reg_of(row.get(column)?)) {
            Some(reg) => Some(Shown::Reg(reg)),
            // Nobody else's VALUES has columns of such names.
            None => system::is_vector(&fields.get(column)?.name).then_some(Shown::Vector),
        },
        LogicalPlan::SystemScan { fields, .. } => system::is_vector(&fields.get(column)?.name).then_some(Shown::Vector),
        _ => None,
    }
}

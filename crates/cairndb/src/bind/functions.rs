//! Function calls: ordinary functions, aggregates, and the few with rules of their own (COALESCE, GREATEST, nextval).

use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Spanned,
};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, dotted, name_span, plain_name};
use super::coerce::text;
use super::context::{AGGREGATE_BASE, Clause, Context, GROUPING_BASE};
use super::equal::{is_volatile, same_call, same_expr};
use super::operators::Operand;
use super::overload::no_function;
use crate::functions::aggregate_overloads;
use crate::plan::{AggregateCall, Expr, SequenceOp};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// A call's syntax, taken apart.
struct Call<'s> {
    name: String,
    span: Span,
    args: Vec<&'s ast::Expr>,
    /// `count(*)`.
    star: bool,
    distinct: bool,
    order_by: &'s [ast::OrderByExpr],
    filter: Option<&'s ast::Expr>,
}

impl Binder<'_> {
    pub(super) fn function(&mut self, function: &ast::Function, context: &mut Context) -> Result<Expr> {
        let call = self.take_apart(function)?;
        if !aggregate_overloads(&call.name).is_empty() {
            return self.aggregate(&call, context);
        }
        self.refuse_aggregate_syntax(&call)?;
        match call.name.as_str() {
            "coalesce" => self.coalesce(&call, context),
            "nullif" => self.nullif(&call, context),
            "greatest" | "least" => self.extreme(&call, context),
            "nextval" | "currval" | "setval" => self.sequence(&call, context),
            "generate_series" if context.clause == Clause::Select && !context.in_aggregate => {
                self.series_in_select(&call, context)
            }
            "grouping" if context.aggregates.is_some() && !context.in_aggregate => self.grouping(&call, context),
            "pg_typeof" => self.type_name(&call, context),
            "current_date" | "current_timestamp" | "localtimestamp" | "localtime" if call.args.is_empty() => {
                self.clock(&call)
            }
            _ => {
                let args = self.operands_of(&call, context)?;
                self.call(&call.name, args, call.span)
            }
        }
    }

    fn take_apart<'s>(&self, function: &'s ast::Function) -> Result<Call<'s>> {
        let span = name_span(&function.name);
        let Some((name, _)) = plain_name(&function.name) else {
            let full = dotted(&function.name);
            let schema = full.rsplit_once('.').map_or("", |(schema, _)| schema);
            let message = format!("schema \"{schema}\" does not exist");
            return Err(self.at(Error::new(SqlState::INVALID_SCHEMA_NAME, message), span));
        };
        if function.over.is_some() {
            return Err(self.at(Error::unsupported("a window function"), span));
        }
        if !function.within_group.is_empty() {
            return Err(self.at(Error::unsupported("WITHIN GROUP"), span));
        }
        let mut call = Call {
            name,
            span,
            args: vec![],
            star: false,
            distinct: false,
            order_by: &[],
            filter: function.filter.as_deref(),
        };
        if let FunctionArguments::List(list) = &function.args {
            call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            list.args.iter().try_for_each(|arg| take_argument(&mut call, arg))?;
            list.clauses.iter().try_for_each(|clause| take_clause(&mut call, clause))?;
        } else if let FunctionArguments::Subquery(_) = &function.args {
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, "a subquery argument needs parentheses"), span));
        }
        Ok(call)
    }

    /// DISTINCT, FILTER, ORDER BY and `*` are for aggregates.
    fn refuse_aggregate_syntax(&self, call: &Call) -> Result<()> {
        let what = match call {
            Call { distinct: true, .. } => "DISTINCT",
            Call { filter: Some(_), .. } => "FILTER",
            Call { order_by: [_, ..], .. } => "ORDER BY",
            Call { star: true, .. } => return Err(self.at(no_function(&call.name, &[]), call.span)),
            _ => return Ok(()),
        };
        if crate::functions::overloads(&call.name).is_empty() {
            return Err(self.at(no_function(&call.name, &[]), call.span));
        }
        let message = format!("{what} specified, but {} is not an aggregate function", call.name);
        Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), call.span))
    }

    fn operands_of(&mut self, call: &Call, context: &mut Context) -> Result<Vec<Operand>> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.operand(arg, context)?);
        }
        Ok(args)
    }

    fn aggregate(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        if let Some(error) = context.refuse_aggregate() {
            return Err(self.at(error, call.span));
        }
        context.in_aggregate = true;
        let bound = self.aggregate_call(call, context);
        context.in_aggregate = false;
        let bound = bound?;
        let data_type = bound.aggregate.returns;
        let calls = context.aggregates.get_or_insert_default();
        let position = calls.iter().position(|other| same_call(other, &bound)).unwrap_or_else(|| {
            calls.push(bound);
            calls.len() - 1
        });
        Ok(Expr::Column { index: AGGREGATE_BASE + position, data_type })
    }

    fn aggregate_call(&mut self, call: &Call, context: &mut Context) -> Result<AggregateCall> {
        let args = self.operands_of(call, context)?;
        if args.is_empty() && !call.star && call.name == "count" {
            let error = Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                "count(*) must be used to call a parameterless aggregate function",
            );
            return Err(self.at(error, call.span));
        }
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let aggregate = self.find_aggregate(&call.name, &types, call.span)?;
        let mut converted = Vec::with_capacity(args.len());
        for (i, (arg, span)) in args.into_iter().enumerate() {
            converted.push(self.argument(arg, aggregate.args.get(i).copied(), span)?);
        }
        let filter = match call.filter {
            Some(filter) => {
                let bound = self.expr(filter, context)?;
                Some(self.condition(bound, "FILTER", filter.span())?)
            }
            None => None,
        };
        let order_by = self.sort_keys(call.order_by, context)?;
        let unlisted = |key: &crate::plan::SortKey| !converted.iter().any(|arg| same_expr(arg, &key.expr));
        if call.distinct && order_by.iter().any(unlisted) {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            let span = call.order_by.first().map_or(call.span, |key| key.expr.span());
            return Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), span));
        }
        Ok(AggregateCall { aggregate, args: converted, distinct: call.distinct, filter, order_by })
    }

    fn coalesce(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let args = self.operands_of(call, context)?;
        if args.is_empty() {
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\""), call.span));
        }
        let (args, data_type) = self.unify("COALESCE", args)?;
        Ok(Expr::Coalesce { args, data_type })
    }

    /// `CASE WHEN a = b THEN NULL ELSE a END`.
    fn nullif(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let mut args = self.operands_of(call, context)?;
        let (Some(right), Some(left), 2) = (args.pop(), args.pop(), call.args.len()) else {
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, "NULLIF takes two arguments"), call.span));
        };
        let result = self.duplicate(&left.0)?;
        let equal = self.operator("=", vec![left, right])?;
        let result = self.known(result)?;
        // The result is what was compared: a varchar was compared as text.
        let compared = match &equal {
            Expr::Call { function, .. } => function.args.first().copied(),
            _ => None,
        };
        let data_type =
            compared.filter(|compared| *compared != result.data_type().base()).unwrap_or(result.data_type());
        let result = self.implicit(result, data_type, call.span)?;
        let null = super::coerce::null(data_type);
        Ok(Expr::Case { branches: vec![(equal, null)], otherwise: Some(Box::new(result)), data_type })
    }

    fn extreme(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let args = self.operands_of(call, context)?;
        let (args, common) = self.unify(&call.name.to_uppercase(), args)?;
        // Texts among varchars are one representation, but the name of the result's type is at stake.
        let labelled = |arg: Expr| match arg.data_type().base() == common.base() {
            true => arg,
            false => Expr::Cast { input: Box::new(arg), to: common.base() },
        };
        self.call(&call.name, args.into_iter().map(|arg| (labelled(arg), call.span)).collect(), call.span)
    }

    fn sequence(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let op = match call.name.as_str() {
            "nextval" => SequenceOp::NextVal,
            "currval" => SequenceOp::CurrVal,
            _ => SequenceOp::SetVal,
        };
        let (Some(name), wanted) = (call.args.first(), usize::from(op == SequenceOp::SetVal) + 1) else {
            return Err(self.at(no_function(&call.name, &[]), call.span));
        };
        if call.args.len() != wanted {
            let message = format!("{} with {} arguments", call.name, call.args.len());
            return Err(self.at(Error::unsupported(message), call.span));
        }
        // `'name'::regclass` is how PostgreSQL writes a sequence's name.
        let name = match name {
            ast::Expr::Cast { expr, data_type, .. } if is_regclass(data_type) => expr,
            other => *other,
        };
        let bound = self.expr(name, context)?;
        let name = Box::new(plain_sequence_name(self.implicit(bound, DataType::Text, name.span())?));
        let value = match call.args.get(1) {
            Some(value) => {
                let bound = self.expr(value, context)?;
                Some(Box::new(self.implicit(bound, DataType::BigInt, value.span())?))
            }
            None => None,
        };
        Ok(Expr::Sequence { op, name, value })
    }

    /// `generate_series` in the select list: a row for each value. It becomes the column after the FROM row's.
    fn series_in_select(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let args = self.operands_of(call, context)?;
        let (args, data_type) = self.series(&call.name, args, call.span)?;
        let index = context.env.map_or(0, |env| env.scope.width);
        let fixed = !args.iter().any(is_volatile);
        let same = |other: &[Expr]| {
            fixed && other.len() == args.len() && other.iter().zip(&args).all(|(a, b)| same_expr(a, b))
        };
        match &context.series {
            Some((other, _)) if !same(other) => {
                Err(self.at(Error::unsupported("more than one set-returning function in a select list"), call.span))
            }
            _ => {
                context.series = Some((args, data_type));
                Ok(Expr::Column { index, data_type })
            }
        }
    }

    /// `GROUPING(a, b)`: which of the groups the row's grouping set lacks.
    fn grouping(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        if call.args.is_empty() || call.args.len() >= 32 {
            let error = Error::new(SqlState::TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments");
            return Err(self.at(error, call.span));
        }
        let args = self.operands_of(call, context)?;
        context.groupings.push(args);
        Ok(Expr::Column { index: GROUPING_BASE + context.groupings.len() - 1, data_type: DataType::Integer })
    }

    /// `pg_typeof(x)` is known at once.
    fn type_name(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        match self.operands_of(call, context)?.as_slice() {
            [(arg, _)] => Ok(text(arg.data_type().type_name())),
            _ => Err(self.at(no_function(&call.name, &[]), call.span)),
        }
    }

    /// The SQL standard's names for parts of `now()`.
    fn clock(&mut self, call: &Call) -> Result<Expr> {
        let now = self.call("now", vec![], call.span)?;
        match call.name.as_str() {
            "current_date" => self.explicit(now, DataType::Date, call.span),
            "localtimestamp" => self.explicit(now, DataType::Timestamp, call.span),
            "localtime" => self.explicit(now, DataType::Time, call.span),
            _ => Ok(now),
        }
    }

    /// Sort keys that are plain expressions (no output names): inside aggregates.
    fn sort_keys(&mut self, keys: &[ast::OrderByExpr], context: &mut Context) -> Result<Vec<crate::plan::SortKey>> {
        let mut bound = Vec::with_capacity(keys.len());
        for key in keys {
            let expr = self.expr(&key.expr, context)?;
            let expr = self.known(expr)?;
            bound.push(self.sort_key(expr, key)?);
        }
        Ok(bound)
    }
}

fn take_argument<'s>(call: &mut Call<'s>, arg: &'s FunctionArg) -> Result<()> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => call.args.push(expr),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
        other => return Err(Error::unsupported(format!("argument {other}"))),
    }
    Ok(())
}

fn take_clause<'s>(call: &mut Call<'s>, clause: &'s FunctionArgumentClause) -> Result<()> {
    match clause {
        FunctionArgumentClause::OrderBy(keys) => call.order_by = keys,
        other => return Err(Error::unsupported(format!("{other} in a call"))),
    }
    Ok(())
}

fn is_regclass(data_type: &ast::DataType) -> bool {
    matches!(data_type, ast::DataType::Regclass) || data_type.to_string().eq_ignore_ascii_case("regclass")
}

/// `public.name` and `"Name"` as the catalog has them.
fn plain_sequence_name(name: Expr) -> Expr {
    let Expr::Literal { value: Value::Text(full), .. } = &name else { return name };
    let last = full.strip_prefix("public.").unwrap_or(full);
    match last.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => text(quoted),
        None => text(&last.to_ascii_lowercase()),
    }
}

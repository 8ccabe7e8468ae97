//! Conversions that the statement did not write: unknown literals and parameters take the type around them, values
//! convert where PostgreSQL converts implicitly or on assignment, and branches agree on one type.

use std::sync::LazyLock;

use cairn_parser::Span;

use crate::bind::binder::{Binder, NOWHERE};
use crate::functions::arrays;
use crate::plan::Expr;
use crate::types::{
    CastContext, DataType, EvalContext, Value, can_cast, cast, cast_is_fixed, common_type, from_text,
    names_fixed_moment,
};
use crate::{Error, Result, SqlState};

/// NULL of a type.
pub(in crate::bind) fn null(data_type: DataType) -> Expr {
    Expr::Literal { value: Value::Null, data_type }
}

/// A text literal.
pub(in crate::bind) fn text(value: &str) -> Expr {
    Expr::Literal { value: Value::Text(value.into()), data_type: DataType::Text }
}

/// A boolean literal.
pub(in crate::bind) fn boolean(value: bool) -> Expr {
    Expr::Literal { value: Value::Boolean(value), data_type: DataType::Boolean }
}

impl Binder<'_> {
    /// Converts `expr` to `to` where `context` allows it; `None` where it does not.
    pub(in crate::bind) fn coerce(
        &mut self,
        expr: Expr,
        to: DataType,
        context: CastContext,
        span: Span,
    ) -> Result<Option<Expr>> {
        let from = expr.data_type();
        match expr {
            expr if from == to => Ok(Some(expr)),
            Expr::Parameter { index, data_type: DataType::Unknown, .. } => {
                let data_type = self.parameters.infer(index, to.base());
                let parameter = Expr::parameter(index, data_type);
                if data_type == DataType::Unknown {
                    return Ok(Some(parameter));
                }
                self.coerce(parameter, to, context, span)
            }
            Expr::Literal { value, data_type: DataType::Unknown } => self.literal(value, to, context, span).map(Some),
            expr if !can_cast(from, to, context) => Ok(drop_expr(expr)),
            expr => {
                self.note_parts(&expr, to);
                self.note_names(from, to);
                Ok(Some(converted(expr, from, to, context)))
            }
        }
    }

    /// Notes what strings in a row are read as.
    fn note_parts(&self, row: &Expr, to: DataType) {
        let (Expr::Call { args, .. }, DataType::Composite(of)) = (row, to) else { return };
        if self.noted.is_none() || !matches!(row.data_type(), DataType::Composite(_)) {
            return;
        }
        for (arg, attribute) in args.iter().zip(of.attributes()) {
            match arg {
                Expr::Literal { value: Value::Text(text), .. } if !is_fixed_text(text, attribute.data_type) => {
                    self.note(|noted| noted.add_moment(NOWHERE, text, attribute.data_type));
                }
                _ => self.note_parts(arg, attribute.data_type),
            }
        }
    }

    /// An untyped literal as a value of `to`: read now where the answer cannot change.
    fn literal(&mut self, value: Value, to: DataType, context: CastContext, span: Span) -> Result<Expr> {
        let Value::Text(text) = &value else { return Ok(null(to)) };
        // A string's length is the cast's business: CAST cuts what input would refuse.
        let of_strings = to.element().unwrap_or(to).is_string();
        // An interval's fields say what its numbers count.
        let whole = context == CastContext::Explicit && !of_strings || matches!(to, DataType::Interval(_));
        let base = if whole { to } else { to.base() };
        if base.is_string() && base == base.base() && !matches!(base, DataType::Char(_) | DataType::Name) {
            let literal = Expr::Literal { value, data_type: base };
            return Ok(if context == CastContext::Explicit { with_modifiers(literal, to, context) } else { literal });
        }
        if base.has_reg() {
            let named = self.named_literal(text, base, span)?;
            return Ok(with_modifiers(named, to, context));
        }
        if !is_fixed_text(text, base) {
            self.note(|noted| noted.add_moment(span, text, base));
            let input = Box::new(Expr::Literal { value, data_type: DataType::Text });
            return Ok(with_modifiers(Expr::Cast { input, to: base }, to, context));
        }
        let value = match base {
            DataType::Enum(of) => self.label(text, of, span).map(Value::Enum),
            base => from_text(text, base, fixed_context()),
        };
        let value = value.map_err(|error| self.at(error, span))?;
        Ok(with_modifiers(Expr::Literal { value, data_type: base }, to, context))
    }

    /// What is still unknown becomes text.
    pub(in crate::bind) fn known(&mut self, expr: Expr) -> Result<Expr> {
        match expr.data_type() {
            DataType::Unknown => self.implicit(expr, DataType::Text, NOWHERE),
            _ => Ok(expr),
        }
    }

    /// An implicit conversion that is known to exist.
    pub(in crate::bind) fn implicit(&mut self, expr: Expr, to: DataType, span: Span) -> Result<Expr> {
        let from = expr.data_type();
        self.coerce(expr, to, CastContext::Implicit, span)?.ok_or_else(|| {
            let message = format!("cannot cast type {} to {}", from.type_name(), to.type_name());
            self.at(Error::new(SqlState::CANNOT_COERCE, message), span)
        })
    }

    /// CAST; errors of its own stand at `place` (see [`Binder::at_place`]), those of what is cast at `span`.
    pub(in crate::bind) fn cast_to(
        &mut self,
        expr: Expr,
        to: DataType,
        span: Span,
        place: Option<Span>,
    ) -> Result<Expr> {
        let from = expr.data_type();
        self.coerce(expr, to, CastContext::Explicit, span)?.ok_or_else(|| {
            let message = format!("cannot cast type {} to {}", from.type_name(), to.type_name());
            self.at_place(Error::new(SqlState::CANNOT_COERCE, message), place, span)
        })
    }

    /// A conversion as by CAST.
    pub(in crate::bind) fn explicit(&mut self, expr: Expr, to: DataType, span: Span) -> Result<Expr> {
        self.cast_to(expr, to, span, Some(span))
    }

    /// A condition: boolean, or an error naming the clause.
    pub(in crate::bind) fn condition(&mut self, expr: Expr, clause: &str, span: Span) -> Result<Expr> {
        let from = expr.data_type();
        self.coerce(expr, DataType::Boolean, CastContext::Implicit, span)?.ok_or_else(|| {
            let message = format!("argument of {clause} must be type boolean, not type {}", from.type_name());
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span)
        })
    }

    /// A value to store in a column. What the column's modifiers ask of it is checked when it is stored.
    pub(in crate::bind) fn assignment(&mut self, expr: Expr, to: DataType, column: &str, span: Span) -> Result<Expr> {
        let from = expr.data_type();
        self.coerce(expr, to, CastContext::Assignment, span)?.ok_or_else(|| {
            let message = format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                to.type_name(),
                from.type_name()
            );
            let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.");
            self.at(error, span)
        })
    }

    /// The type that branches agree on (PostgreSQL's rules for UNION, CASE and the like); `what` names the construct.
    pub(in crate::bind) fn common_type(&self, what: &str, types: &[(DataType, Span)]) -> Result<DataType> {
        let only: Vec<DataType> = types.iter().map(|(data_type, _)| *data_type).collect();
        common_type(&only).map_err(|(at, common)| {
            let (next, span) = types[at];
            let message = format!("{what} types {} and {} cannot be matched", common.type_name(), next.type_name());
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span)
        })
    }

    /// Converts branches to the type they agree on.
    pub(in crate::bind) fn unify(&mut self, what: &str, branches: Vec<(Expr, Span)>) -> Result<(Vec<Expr>, DataType)> {
        let types: Vec<(DataType, Span)> = branches.iter().map(|(expr, span)| (expr.data_type(), *span)).collect();
        let common = self.common_type(what, &types)?;
        let mut exprs = Vec::with_capacity(branches.len());
        for (expr, span) in branches {
            let from = expr.data_type();
            exprs.push(self.coerce(expr, common, CastContext::Implicit, span)?.ok_or_else(|| {
                let what = if what == "CASE" { "CASE/WHEN" } else { what };
                let (from, to) = (from.type_name(), common.type_name());
                let message = format!("{what} could not convert type {from} to {to}");
                self.at(Error::new(SqlState::CANNOT_COERCE, message), span)
            })?);
        }
        Ok((exprs, common))
    }
}

fn drop_expr(_expr: Expr) -> Option<Expr> {
    None
}

/// The conversion node, or the expression itself where the value stays as it is.
fn converted(expr: Expr, from: DataType, to: DataType, context: CastContext) -> Expr {
    // Lengths of strings are enforced where they are stored; until then `char(n)` keeps its blanks.
    let same_string = to.is_string() && from.base() == to.base();
    if context == CastContext::Implicit && from.base() == to || context == CastContext::Assignment && same_string {
        return expr;
    }
    if let (CastContext::Assignment, Some(function)) = (context, arrays::fitted(from, to)) {
        return Expr::Call { function, args: vec![expr] };
    }
    let to = target(to, context);
    let relabelled = matches!((from, to), (DataType::Varchar(_), DataType::Text | DataType::Varchar(None)))
        || matches!((from, to), (DataType::Text, DataType::Varchar(None)));
    if from == to || context != CastContext::Explicit && (relabelled || from.base() == to) {
        return expr;
    }
    match expr {
        Expr::Literal { value, data_type } if cast_is_fixed(data_type, to) => folded(value, data_type, to),
        expr => Expr::Cast { input: Box::new(expr), to },
    }
}

/// A literal is converted now; where that fails, it fails when (and if) it is evaluated.
fn folded(value: Value, from: DataType, to: DataType) -> Expr {
    match cast(&value, from, to, fixed_context()) {
        Ok(value) => Expr::Literal { value, data_type: to },
        Err(_) => Expr::Cast { input: Box::new(Expr::Literal { value, data_type: from }), to },
    }
}

/// Storing enforces the lengths of strings itself (too long is an error there, but a cut by CAST).
fn target(to: DataType, context: CastContext) -> DataType {
    match (context, to) {
        (CastContext::Explicit, to) => to,
        (CastContext::Assignment, DataType::Char(_) | DataType::Varchar(_)) => DataType::Text,
        (_, to) => to,
    }
}

fn with_modifiers(expr: Expr, to: DataType, context: CastContext) -> Expr {
    let from = expr.data_type();
    if from == to { expr } else { converted(expr, from, to, context) }
}

/// Whether a text is the same value of a type whenever it is read.
pub(in crate::bind) fn is_fixed_text(text: &str, to: DataType) -> bool {
    cast_is_fixed(DataType::Unknown, to) || names_fixed_moment(text, to)
}

/// For conversions that depend neither on the clock, nor on the time zone, nor on a style.
pub(in crate::bind) fn fixed_context() -> &'static EvalContext {
    static FIXED: LazyLock<EvalContext> = LazyLock::new(EvalContext::default);
    &FIXED
}

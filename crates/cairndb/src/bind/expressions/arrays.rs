//! Arrays' syntax: `ARRAY[...]`, `ARRAY(SELECT ...)`, `a[1]`, `a[1:2]`, `SET a[1] = x`, `x op ANY (array)`.

use cairn_parser::{self as ast, Id, Indirection, List, Operator, Query, Span};

use super::coerce::{boolean, null};
use super::operators::Operand;
use crate::bind::binder::Binder;
use crate::bind::calls::overload::no_function;
use crate::bind::context::Context;
use crate::bind::queries::subquery::scalar_column;
use crate::functions::hstore::subscript as hstore;
use crate::functions::{aggregate_overloads, arrays, json, no_array_type};
use crate::plan::{AggregateCall, Expr, Field, LogicalPlan, QuantifiedOp, is_volatile};
use crate::sql::name_text;
use crate::types::{Array, CastContext, DIMENSIONS_MAX, DataType, Value, too_many_dimensions};
use crate::{Error, Result, SqlState};

/// What is assigned to a column or a part of it.
#[derive(Clone)]
pub(in crate::bind) enum Assigned {
    Written(Id<ast::Expr>),
    Bound(Operand),
}

impl Binder<'_> {
    /// `ARRAY[...]`; `to`: the array type that it is cast to, which its elements take.
    pub(in crate::bind) fn array(
        &mut self,
        expr: Id<ast::Expr>,
        items: List<ast::Expr>,
        to: Option<DataType>,
        context: &mut Context,
    ) -> Result<Expr> {
        let mut bound = Vec::with_capacity(self.tree.len(items));
        for item in self.tree.list(items) {
            bound.push(match self.tree.get(item) {
                ast::Expr::Array { items } => (self.array(item, items, to, context)?, self.place(item)),
                _ => self.operand(item, context)?,
            });
        }
        let place = self.place(expr);
        match to {
            Some(to) => self.array_of_type(to, bound),
            None if bound.is_empty() => {
                let error = Error::new(SqlState::INDETERMINATE_DATATYPE, "cannot determine type of empty array");
                let hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
                Err(self.at(error.with_hint(hint), place))
            }
            None => {
                let (elements, element) = self.unify("ARRAY", bound)?;
                constructed(element, elements)
            }
        }
    }

    pub(in crate::bind) fn array_of_type(&mut self, to: DataType, items: Vec<Operand>) -> Result<Expr> {
        let element = to.element().ok_or_else(|| Error::internal("not an array type"))?;
        let of_arrays = items.iter().any(|(item, _)| item.data_type().is_array());
        let each = if of_arrays { to } else { element };
        if items.is_empty() {
            let value = Array::empty(element.base()).into();
            return Ok(Expr::Literal { value, data_type: to.base() });
        }
        let mut elements = Vec::with_capacity(items.len());
        for (item, span) in items {
            elements.push(self.explicit(item, each, span)?);
        }
        constructed(each, elements)
    }

    /// `ARRAY(SELECT ...)`: what `array_agg` makes of the query's rows, but an array without elements of none.
    pub(super) fn array_query(&mut self, expr: Id<ast::Expr>, query: Id<Query>, context: &mut Context) -> Result<Expr> {
        let plan = self.inner_query(query, context)?;
        let fields = plan.fields();
        let [only] = fields.as_slice() else {
            let error = Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column");
            return Err(self.at(error, self.place(expr)));
        };
        let types = [only.data_type];
        let collect = aggregate_overloads("array_agg").first().and_then(|aggregate| aggregate.resolve(&types));
        let aggregate = collect.ok_or_else(|| no_function("array_agg", &types))?;
        let data_type = aggregate.returns;
        let field = Field { name: "array".to_owned(), data_type };
        let args = vec![Expr::Column { index: 0, data_type: only.data_type }];
        let call = AggregateCall { aggregate, args, distinct: false, filter: None, order_by: vec![] };
        let plan = LogicalPlan::Aggregate {
            input: Box::new(plan),
            group_by: vec![],
            aggregates: vec![call],
            fields: vec![field.clone()],
        };
        let element = data_type.element().ok_or_else(|| Error::internal("array_agg gives arrays"))?;
        let empty = Expr::Literal { value: Array::empty(element).into(), data_type };
        Ok(Expr::Coalesce { args: vec![scalar_column(plan, 0, field), empty], data_type })
    }

    /// `a[1]`, `a[1][2]`, `a[1:2]`.
    pub(super) fn subscripts(
        &mut self,
        (array, span): Operand,
        steps: &[Id<Indirection>],
        context: &mut Context,
    ) -> Result<Expr> {
        let array = self.known(array)?;
        let data_type = array.data_type();
        let is_slice = |step| matches!(self.tree.get(step), Indirection::Slice { .. });
        let slice = steps.iter().copied().any(is_slice);
        let mut args = vec![array];
        if data_type == DataType::Jsonb {
            if slice {
                let error = Error::new(SqlState::DATATYPE_MISMATCH, "jsonb subscript does not support slices");
                return Err(self.at(error, span));
            }
            args.extend(self.keys_of(steps, context)?);
            return Ok(Expr::Call { function: json::element_at(args.len() - 1), args });
        }
        if let DataType::Hstore(_) = data_type {
            args.push(self.key_of_hstore(steps, context)?);
            return Ok(Expr::Call { function: hstore::element_at(data_type), args });
        }
        if let (DataType::Name, [_], false) = (data_type, steps, slice) {
            args.extend(self.subscripts_of(steps, context)?);
            return Ok(Expr::Call { function: arrays::letter_of_name(), args });
        }
        if !data_type.is_array() {
            return Err(self.at(not_subscriptable(data_type), span));
        }
        let count = self.subscript_count(steps)?;
        if slice {
            args.extend(self.bounds_of(steps, context)?);
            return Ok(Expr::Call { function: arrays::slice_of(data_type, count), args });
        }
        args.extend(self.subscripts_of(steps, context)?);
        let function = arrays::element_at(data_type, count).ok_or_else(|| Error::internal("an array's element"))?;
        Ok(Expr::Call { function, args })
    }

    /// Two for each dimension of a slice; one that is left out is a boolean.
    fn bounds_of(&mut self, steps: &[Id<Indirection>], context: &mut Context) -> Result<Vec<Expr>> {
        let mut bounds = vec![];
        for step in steps.iter().copied() {
            let (lower, upper) = match self.tree.get(step) {
                Indirection::Slice { lower, upper } => (lower, upper),
                // A single subscript beside a slice means everything from 1 to it.
                Indirection::Index { index } => {
                    bounds.push(Expr::Literal { value: Value::Integer(1), data_type: DataType::Integer });
                    bounds.push(self.subscript(index, context)?);
                    continue;
                }
                Indirection::Field { .. } | Indirection::All => return Err(self.refuse_step(steps)),
            };
            for bound in [lower, upper] {
                bounds.push(match bound {
                    Some(bound) => self.subscript(bound, context)?,
                    None => boolean(true),
                });
            }
        }
        Ok(bounds)
    }

    fn subscript_count(&self, steps: &[Id<Indirection>]) -> Result<usize> {
        match steps.len() <= DIMENSIONS_MAX {
            true => Ok(steps.len()),
            false => Err(self.at(too_many_dimensions(steps.len()), self.place_of_steps(steps))),
        }
    }

    fn subscripts_of(&mut self, steps: &[Id<Indirection>], context: &mut Context) -> Result<Vec<Expr>> {
        let mut subscripts = vec![];
        for step in steps.iter().copied() {
            match self.tree.get(step) {
                Indirection::Index { index } => subscripts.push(self.subscript(index, context)?),
                Indirection::Slice { .. } | Indirection::Field { .. } | Indirection::All => {
                    return Err(self.refuse_step(steps));
                }
            }
        }
        Ok(subscripts)
    }

    /// The subscripts of a document as texts: keys, or positions in arrays.
    fn keys_of(&mut self, steps: &[Id<Indirection>], context: &mut Context) -> Result<Vec<Expr>> {
        let mut keys = vec![];
        for step in steps.iter().copied() {
            let Indirection::Index { index } = self.tree.get(step) else { return Err(self.refuse_step(steps)) };
            let (bound, span) = self.operand(index, context)?;
            let data_type = bound.data_type();
            let key = match data_type.is_integer() {
                true => self.explicit(bound, DataType::Text, span)?,
                false => self.coerce(bound, DataType::Text, CastContext::Implicit, span)?.ok_or_else(|| {
                    let message = format!("subscript type {} is not supported", data_type.type_name());
                    let error = Error::new(SqlState::DATATYPE_MISMATCH, message);
                    self.at(error.with_hint("jsonb subscript must be coercible to either integer or text."), span)
                })?,
            };
            keys.push(key);
        }
        Ok(keys)
    }

    /// The one subscript of an hstore. SQLSTATE 0A000, 42804.
    fn key_of_hstore(&mut self, steps: &[Id<Indirection>], context: &mut Context) -> Result<Expr> {
        let step = match steps {
            [step] => self.tree.get(*step),
            _ => return Err(self.at(hstore::several_subscripts(), self.place_of_steps(steps))),
        };
        match step {
            Indirection::Index { index } => {
                let (bound, span) = self.operand(index, context)?;
                let key = self.coerce(bound, DataType::Text, CastContext::Assignment, span)?;
                key.ok_or_else(|| self.at(hstore::no_key(), span))
            }
            Indirection::Slice { .. } => Err(self.at(hstore::several_subscripts(), self.place_of_steps(steps))),
            Indirection::Field { .. } | Indirection::All => Err(self.refuse_step(steps)),
        }
    }

    fn subscript(&mut self, subscript: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let (bound, span) = self.operand(subscript, context)?;
        self.coerce(bound, DataType::Integer, CastContext::Assignment, span)?.ok_or_else(|| {
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, "array subscript must have type integer"), span)
        })
    }

    /// `SET a[1] = value`, `SET a.b = value`: what `before` is with the value in this place of it.
    pub(in crate::bind) fn part_assignment(
        &mut self,
        (before, column): (Expr, &str),
        steps: &[Id<Indirection>],
        value: &Assigned,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let data_type = before.data_type();
        let Some((first, rest)) = steps.split_first() else {
            let (value, span) = self.assigned(value, context)?;
            return self.part(value, data_type, column, span);
        };
        if let Indirection::Field { name } = tree.get(*first) {
            let (of, at) = self.assigned_attribute(data_type, column, name)?;
            let part = super::composite::attribute_at(before.clone(), of, at);
            let (part_type, attribute) = (part.data_type(), name_text(tree, name));
            let part = self.part_assignment((part, attribute), rest, value, context)?;
            return Ok(super::composite::with_attribute_at(before, of, at, part, part_type));
        }
        let is_field = |step: &Id<Indirection>| matches!(tree.get(*step), Indirection::Field { .. });
        let (steps, rest) = steps.split_at(steps.iter().position(is_field).unwrap_or(steps.len()));
        let place = self.place_of_steps(steps);
        if data_type == DataType::Jsonb && rest.is_empty() {
            let keys = self.keys_of(steps, context)?;
            let (value, span) = self.assigned(value, context)?;
            let value = self.part(value, DataType::Jsonb, column, span)?;
            let function = json::with_element(keys.len());
            return Ok(Expr::Call { function, args: [before, value].into_iter().chain(keys).collect() });
        }
        if let DataType::Hstore(_) = data_type {
            let key = self.key_of_hstore(steps, context)?;
            let args = vec![before.clone(), key.clone()];
            let known = Expr::Call { function: hstore::element_at(data_type), args };
            let value = self.part_assignment((known, column), rest, value, context)?;
            return Ok(Expr::Call { function: hstore::with_element(data_type), args: vec![before, value, key] });
        }
        let Some(element) = data_type.element() else { return Err(self.at(not_subscriptable(data_type), place)) };
        let count = self.subscript_count(steps)?;
        if steps.iter().any(|step| matches!(tree.get(*step), Indirection::Slice { .. })) {
            if !rest.is_empty() {
                return Err(self.at(Error::unsupported("an assignment to fields of a slice of an array"), place));
            }
            let bounds = self.bounds_of(steps, context)?;
            let (value, span) = self.assigned(value, context)?;
            let value = self.part(value, data_type, column, span)?;
            let function = arrays::with_slice(data_type, count);
            return Ok(Expr::Call { function, args: [before, value].into_iter().chain(bounds).collect() });
        }
        let subscripts = self.subscripts_of(steps, context)?;
        if !rest.is_empty() && subscripts.iter().any(is_volatile) {
            // It is read by them, and written.
            let error = Error::unsupported("an assignment to a field of an element whose subscript is volatile");
            return Err(self.at(error.with_hint("Compute the subscript beforehand."), place));
        }
        let mut element_at = |binder: &mut Self| {
            let function = arrays::element_at(data_type, count);
            let function = function.ok_or_else(|| Error::internal("an array's element"))?;
            let args = std::iter::once(before.clone()).chain(subscripts.iter().cloned()).collect();
            binder.part_assignment((Expr::Call { function, args }, column), rest, value, context)
        };
        let value = match rest.is_empty() {
            true => {
                let (value, span) = self.assigned(value, context)?;
                self.part(value, element, column, span)?
            }
            false => element_at(self)?,
        };
        let function = arrays::with_element(data_type, count).ok_or_else(|| Error::internal("an array's element"))?;
        let args = [before, value].into_iter().chain(subscripts).collect();
        self.assignment(Expr::Call { function, args }, data_type, column, place)
    }

    pub(in crate::bind) fn assigned(&mut self, value: &Assigned, context: &mut Context) -> Result<Operand> {
        match value {
            Assigned::Written(value) => self.operand(*value, context),
            Assigned::Bound(operand) => Ok(operand.clone()),
        }
    }

    /// The type of what is assigned by these steps; `None`: there is no such part.
    pub(in crate::bind) fn part_type(&self, data_type: DataType, steps: &[Id<Indirection>]) -> Option<DataType> {
        let Some((first, rest)) = steps.split_first() else { return Some(data_type) };
        let of_field = |step: &Id<Indirection>| match self.tree.get(*step) {
            Indirection::Field { name } => Some(name),
            _ => None,
        };
        if let Some(name) = of_field(first) {
            let DataType::Composite(of) = data_type else { return None };
            let at = of.place_of(name_text(self.tree, name))?;
            return self.part_type(of.attributes()[at].data_type, rest);
        }
        let (steps, rest) =
            steps.split_at(steps.iter().position(|step| of_field(step).is_some()).unwrap_or(steps.len()));
        let is_slice = steps.iter().any(|step| matches!(self.tree.get(*step), Indirection::Slice { .. }));
        let part = match data_type {
            DataType::Hstore(_) => DataType::Text,
            _ if is_slice || data_type == DataType::Jsonb => data_type,
            _ => data_type.element()?,
        };
        self.part_type(part, rest)
    }

    /// What is assigned to a part of a column.
    fn part(&mut self, value: Expr, part: DataType, column: &str, span: Span) -> Result<Expr> {
        let given = value.data_type();
        let converted = self.coerce(value, part, CastContext::Assignment, span)?.ok_or_else(|| {
            let message = format!(
                "subscripted assignment to \"{column}\" requires type {} but expression is of type {}",
                part.type_name(),
                given.type_name()
            );
            let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.");
            self.at(error, span)
        })?;
        // Columns look at lengths when they are stored, parts of them do not.
        Ok(match arrays::fitted_part(converted.data_type(), part) {
            Some(function) => Expr::Call { function, args: vec![converted] },
            None => converted,
        })
    }

    /// `x op ANY (array)`, `x op ALL (array)`.
    pub(in crate::bind) fn quantified_over(
        &mut self,
        left: Id<ast::Expr>,
        operator: Id<Operator>,
        right: Id<ast::Expr>,
        quantifier: QuantifiedOp,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let (symbol, place) = (self.symbol(operator)?, tree.span(operator));
        let (input, input_span) = self.operand(left, context)?;
        let (array, span) = self.operand(right, context)?;
        let element = match array.data_type() {
            DataType::Unknown => DataType::Unknown,
            DataType::Array(element) => element.data_type(),
            _ => return Err(self.at(wrong_quantifier("op ANY/ALL (array) requires array on right side"), place)),
        };
        if let (Some(elements), true) = (literals_of(&array, span), (symbol, quantifier) == ("=", QuantifiedOp::Any)) {
            return self.any_of_array((input, input_span), elements, Some(place));
        }
        let op = self.operator_for(symbol, input.data_type(), element).map_err(|error| self.at(error, place))?;
        if op.returns != DataType::Boolean {
            return Err(self.at(wrong_quantifier("op ANY/ALL (array) requires operator to yield boolean"), place));
        }
        let all = quantifier == QuantifiedOp::All;
        let function = arrays::quantified(&op, all, array.data_type());
        let function = function.ok_or_else(|| self.at(wrong_quantifier("could not find array type"), place))?;
        self.convert_arguments(function, vec![(input, input_span), (array, span)])
    }
}

pub(in crate::bind) fn constructed(element: DataType, args: Vec<Expr>) -> Result<Expr> {
    let function = arrays::constructor(element).ok_or_else(|| no_array_type(element))?;
    Ok(Expr::Call { function, args })
}

/// More elements than this are better looked up in an array than written as a list.
const LIST_MAX: usize = 256;

/// The elements of an array that is a constant, if it has some but not too many: a list.
fn literals_of(array: &Expr, span: Span) -> Option<Vec<Operand>> {
    let Expr::Literal { value: Value::Array(array), .. } = array else { return None };
    let literal = |value: &Value| match value {
        Value::Null => (null(array.element()), span),
        value => (Expr::Literal { value: value.clone(), data_type: array.element() }, span),
    };
    (1..=LIST_MAX).contains(&array.values().len()).then(|| array.values().iter().map(literal).collect())
}

fn not_subscriptable(data_type: DataType) -> Error {
    let name = data_type.type_name();
    let message = format!("cannot subscript type {name} because it does not support subscripting");
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

pub(in crate::bind) fn wrong_quantifier(message: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}

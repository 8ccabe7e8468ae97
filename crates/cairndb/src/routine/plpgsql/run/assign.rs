//! Assignments.

use std::sync::Arc;

use super::{Run, error};
use crate::functions::hstore::subscript as hstore;
use crate::functions::{arrays, json};
use crate::routine::plpgsql::convert::converted;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::tree::{Indirection, Into, Kind, Place};
use crate::types::{
    CastContext, Composite, DIMENSIONS_MAX, DataType, Shape, can_cast, cast_assign, too_many_dimensions,
};
use crate::{Error, Result, Value};

impl Run<'_> {
    /// A row of a query goes to its places; without one they become NULL, a variable that is a row one of NULLs.
    pub(super) fn put(&mut self, into: &Into, row: Option<Vec<Value>>, shape: &Arc<Shape>) -> Result<()> {
        if let [Place::Variable(variable)] = into.places.as_slice()
            && matches!(self.code.body.variables[*variable].kind, Kind::Row(_))
        {
            let row = row.unwrap_or_else(|| vec![Value::Null; shape.0.len()]);
            return self.put_row(*variable, Some(row), shape);
        }
        let mut values = row.unwrap_or_default().into_iter();
        for (at, place) in into.places.iter().enumerate() {
            let data_type = shape.0.get(at).map_or(DataType::Text, |(_, data_type)| *data_type);
            self.assign(place, values.next().unwrap_or(Value::Null), data_type)?;
        }
        Ok(())
    }

    pub(super) fn put_row(&mut self, variable: usize, row: Option<Vec<Value>>, shape: &Arc<Shape>) -> Result<()> {
        let fixed = match &self.code.body.variables[variable].kind {
            Kind::Row(fixed) => fixed.clone(),
            Kind::Value(_) => None,
        };
        let is_null = row.is_none();
        let mut values = row.unwrap_or_else(|| vec![Value::Null; shape.0.len()]);
        let Some(fixed) = fixed else {
            let row = self.frame.row_mut(variable)?;
            (row.shape, row.values, row.is_null) = (Some(shape.clone()), values, is_null);
            return Ok(());
        };
        values.resize(fixed.0.len(), Value::Null);
        let mut fitted = Vec::with_capacity(values.len());
        for (at, (value, (_, to))) in values.into_iter().zip(&fixed.0).enumerate() {
            let from = shape.0.get(at).map_or(*to, |(_, from)| *from);
            fitted.push(converted(value, from, *to, &self.context.eval)?);
        }
        let row = self.frame.row_mut(variable)?;
        (row.shape, row.values, row.is_null) = (Some(fixed), fitted, is_null);
        Ok(())
    }

    pub(super) fn assign(&mut self, place: &Place, value: Value, from: DataType) -> Result<()> {
        match place {
            Place::Variable(variable) => {
                let declared = &self.code.body.variables[*variable];
                let Kind::Value(to) = declared.kind else {
                    if let Value::Composite(row) = &value {
                        let shape = Arc::new(Shape::of(row.of()));
                        return self.put_row(*variable, Some(row.values().to_vec()), &shape);
                    }
                    if value.is_null() {
                        let shape = self.frame.row(*variable)?.shape.clone().unwrap_or_default();
                        return self.put_row(*variable, None, &shape);
                    }
                    return Err(error("42804", "cannot assign non-composite value to a record variable"));
                };
                let value = converted(value, from, to, &self.context.eval)?;
                if declared.not_null && value.is_null() {
                    let message =
                        format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", declared.name);
                    return Err(error("22004", message));
                }
                self.set(*variable, value)?;
            }
            Place::Field(variable, field) => {
                let (at, to) = self.field(*variable, field)?;
                let value = converted(value, from, to, &self.context.eval)?;
                let row = self.frame.row_mut(*variable)?;
                row.values[at] = value;
                row.is_null = false;
            }
            Place::Part(place, steps) => {
                let (before, data_type) = self.held(place)?;
                let now = self.with_part((before, data_type), steps, (value, from))?;
                self.assign(place, now, data_type)?;
            }
        }
        Ok(())
    }

    /// Gives a variable a value of its type; SQLSTATE 23502, 23514 where that is none of its domain.
    pub(super) fn set(&mut self, variable: usize, value: Value) -> Result<()> {
        if let Some(rules) = &self.code.body.variables[variable].domain {
            rules.check(0, std::slice::from_ref(&value), &self.context.eval)?;
        }
        self.frame.set(variable, value);
        Ok(())
    }

    pub(super) fn field(&self, variable: usize, field: &str) -> Result<(usize, DataType)> {
        let name = &self.code.body.variables[variable].name;
        let shape =
            self.frame.row(variable)?.shape.clone().ok_or_else(|| crate::routine::plpgsql::scope::unassigned(name))?;
        let at = shape.0.iter().position(|(known, _)| known == field);
        let at = at.ok_or_else(|| crate::routine::plpgsql::scope::no_field(name, field))?;
        Ok((at, shape.0[at].1))
    }

    /// What a place holds, and as which type.
    fn held(&self, place: &Place) -> Result<(Value, DataType)> {
        match place {
            Place::Variable(variable) => match self.code.body.variables[*variable].kind {
                Kind::Value(data_type) => Ok((self.frame.value(*variable).clone(), data_type)),
                Kind::Row(_) => Err(error("42804", "a row has no elements")),
            },
            Place::Field(variable, field) => {
                let (at, data_type) = self.field(*variable, field)?;
                Ok((self.frame.row(*variable)?.values[at].clone(), data_type))
            }
            Place::Part(..) => Err(Error::internal("a part of a part")),
        }
    }

    /// What a value is with another in a part of it.
    fn with_part(
        &mut self,
        (before, data_type): (Value, DataType),
        steps: &[Indirection],
        part: (Value, DataType),
    ) -> Result<Value> {
        let is_field = |step: &Indirection| matches!(step, Indirection::Field(_));
        let (subscripts, rest) = match steps {
            [] => return converted(part.0, part.1, data_type, &self.context.eval),
            [Indirection::Field(field), rest @ ..] => return self.with_field((before, data_type), field, rest, part),
            steps => steps.split_at(steps.iter().position(is_field).unwrap_or(steps.len())),
        };
        if data_type == DataType::Jsonb && rest.is_empty() {
            return self.with_key(before, part, subscripts);
        }
        if let DataType::Hstore(_) = data_type {
            let key = self.key_of_hstore(subscripts)?;
            let known = hstore::element_at(data_type).call(&[before.clone(), key.clone()], &self.context.eval)?;
            let value = self.with_part((known, DataType::Text), rest, part)?;
            return hstore::with_element(data_type).call(&[before, value, key], &self.context.eval);
        }
        let Some(element) = data_type.element() else {
            let message =
                format!("cannot subscript type {} because it does not support subscripting", data_type.type_name());
            return Err(error("42804", message));
        };
        if subscripts.len() > DIMENSIONS_MAX {
            return Err(too_many_dimensions(subscripts.len()));
        }
        if subscripts.iter().any(|step| matches!(step, Indirection::Slice(_))) {
            if !rest.is_empty() {
                return Err(Error::unsupported("an assignment to fields of a slice of an array"));
            }
            let mut args = vec![before, converted(part.0, part.1, data_type, &self.context.eval)?];
            args.extend(self.bounds(subscripts)?);
            return arrays::with_slice(data_type, subscripts.len()).call(&args, &self.context.eval);
        }
        let mut places = Vec::with_capacity(subscripts.len());
        for step in subscripts {
            if let Indirection::Element(subscript) = step {
                places.push(self.subscript(subscript)?);
            }
        }
        let missing = || Error::internal("an array's element");
        let known = match rest.is_empty() {
            true => Value::Null,
            false => {
                let args: Vec<Value> = std::iter::once(before.clone()).chain(places.iter().cloned()).collect();
                let function = arrays::element_at(data_type, places.len()).ok_or_else(missing)?;
                function.call(&args, &self.context.eval)?
            }
        };
        let function = arrays::with_element(data_type, places.len()).ok_or_else(missing)?;
        let args = [before, self.with_part((known, element), rest, part)?].into_iter().chain(places);
        function.call(&args.collect::<Vec<_>>(), &self.context.eval)
    }

    fn with_field(
        &mut self,
        (before, data_type): (Value, DataType),
        field: &str,
        rest: &[Indirection],
        part: (Value, DataType),
    ) -> Result<Value> {
        let DataType::Composite(of) = data_type else {
            let message = format!(
                "cannot assign to field \"{field}\" because its type {} is not a composite type",
                data_type.type_name()
            );
            return Err(error("42804", message));
        };
        let at = of.place_of(field).ok_or_else(|| {
            let message = format!("cannot assign to field \"{field}\" because there is no such column in data type");
            error("42703", format!("{message} {}", data_type.type_name()))
        })?;
        // The type may have been altered since.
        let mut values = match cast_assign(&before, data_type, data_type, &self.context.eval)? {
            Value::Composite(row) => row.values().to_vec(),
            _ => vec![],
        };
        values.resize(of.attributes().len(), Value::Null);
        let known = (values[at].clone(), of.attributes()[at].data_type);
        values[at] = self.with_part(known, rest, part)?;
        Ok(Composite::new(of, values).into())
    }

    fn subscript(&mut self, subscript: &Fragment) -> Result<Value> {
        let (value, from) = self.value(subscript)?;
        converted(value, from, DataType::Integer, &self.context.eval)
    }

    fn key_of_hstore(&mut self, steps: &[Indirection]) -> Result<Value> {
        let [Indirection::Element(subscript)] = steps else { return Err(hstore::several_subscripts()) };
        let (value, from) = self.value(subscript)?;
        match can_cast(from, DataType::Text, CastContext::Assignment) {
            true => converted(value, from, DataType::Text, &self.context.eval),
            false => Err(hstore::no_key()),
        }
    }

    /// As `arrays::with_slice` takes them.
    fn bounds(&mut self, steps: &[Indirection]) -> Result<Vec<Value>> {
        let mut bounds = Vec::with_capacity(2 * steps.len());
        for step in steps {
            match step {
                // A single subscript beside a slice means everything from 1 to it.
                Indirection::Element(upper) => bounds.extend([Value::Integer(1), self.subscript(upper)?]),
                Indirection::Slice(both) => {
                    for bound in both {
                        let left_out = Ok(Value::Boolean(true));
                        bounds.push(bound.as_ref().map_or(left_out, |bound| self.subscript(bound))?);
                    }
                }
                Indirection::Field(_) => return Err(Error::internal("a field among subscripts")),
            }
        }
        Ok(bounds)
    }

    /// A document with a part replaced, or added.
    fn with_key(&mut self, before: Value, (part, from): (Value, DataType), steps: &[Indirection]) -> Result<Value> {
        let mut args = vec![before, converted(part, from, DataType::Jsonb, &self.context.eval)?];
        for step in steps {
            let Indirection::Element(subscript) = step else {
                return Err(error("0A000", "jsonb subscript does not support slices"));
            };
            let (value, from) = self.value(subscript)?;
            if !from.is_integer() && !from.is_string() {
                let message = format!("subscript type {} is not supported", from.type_name());
                let hint = "jsonb subscript must be coercible to either integer or text.";
                return Err(error("42804", message).with_hint(hint));
            }
            args.push(converted(value, from, DataType::Text, &self.context.eval)?);
        }
        json::with_element(steps.len()).call(&args, &self.context.eval)
    }
}

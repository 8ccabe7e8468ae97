//! Assignments.

use std::sync::Arc;

use super::{Run, error};
use crate::routine::plpgsql::convert::converted;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::tree::{Into, Kind, Place, Shape};
use crate::types::DataType;
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
                self.frame.set(*variable, value);
            }
            Place::Field(variable, field) => {
                let (at, to) = self.field(*variable, field)?;
                let value = converted(value, from, to, &self.context.eval)?;
                let row = self.frame.row_mut(*variable)?;
                row.values[at] = value;
                row.is_null = false;
            }
            Place::Element(place, subscripts) => self.assign_element(place, subscripts, value, from)?,
        }
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

    pub(super) fn assign_element(
        &mut self,
        place: &Place,
        subscripts: &[Fragment],
        value: Value,
        from: DataType,
    ) -> Result<()> {
        let (before, data_type) = match place {
            Place::Variable(variable) => match self.code.body.variables[*variable].kind {
                Kind::Value(data_type) => (self.frame.value(*variable).clone(), data_type),
                Kind::Row(_) => return Err(error("42804", "a row has no elements")),
            },
            Place::Field(variable, field) => {
                let (at, data_type) = self.field(*variable, field)?;
                (self.frame.row(*variable)?.values[at].clone(), data_type)
            }
            Place::Element(..) => return Err(Error::internal("an element of an element")),
        };
        if data_type == DataType::Jsonb {
            let document = self.with_part(before, (value, from), subscripts)?;
            return self.assign(place, document, data_type);
        }
        let Some(element) = data_type.element() else {
            let message =
                format!("cannot subscript type {} because it does not support subscripting", data_type.type_name());
            return Err(error("42804", message));
        };
        let mut args = vec![before, converted(value, from, element, &self.context.eval)?];
        for subscript in subscripts {
            let (value, from) = self.value(subscript)?;
            args.push(converted(value, from, DataType::Integer, &self.context.eval)?);
        }
        let function = crate::functions::arrays::with_element(data_type, subscripts.len());
        let function = function.ok_or_else(|| Error::internal("an array's element"))?;
        let array = function.call(&args, &self.context.eval)?;
        self.assign(place, array, data_type)
    }

    /// A document with a part replaced, or added.
    fn with_part(&mut self, before: Value, (part, from): (Value, DataType), subscripts: &[Fragment]) -> Result<Value> {
        let mut args = vec![before, converted(part, from, DataType::Jsonb, &self.context.eval)?];
        for subscript in subscripts {
            let (value, from) = self.value(subscript)?;
            if !from.is_integer() && !from.is_string() {
                let message = format!("subscript type {} is not supported", from.type_name());
                let hint = "jsonb subscript must be coercible to either integer or text.";
                return Err(error("42804", message).with_hint(hint));
            }
            args.push(converted(value, from, DataType::Text, &self.context.eval)?);
        }
        crate::functions::json::with_element(subscripts.len()).call(&args, &self.context.eval)
    }
}

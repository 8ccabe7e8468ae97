//! `array_agg`: the values of a group as an array.

use super::catalogue::AggregateCatalogue;
use crate::functions::arrays::stack_collected;
use crate::functions::{Accumulator, Declared};
use crate::types::{Array, DataType, ELEMENTS_MAX, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut AggregateCatalogue) {
    catalogue.add_polymorphic("array_agg", &[Declared::Element], Declared::Array, |aggregate| {
        let of_arrays = aggregate.args.first().is_some_and(|arg| arg.is_array());
        let element = aggregate.returns.element().unwrap_or(DataType::Unknown);
        Box::new(Collected { element, of_arrays, values: vec![] })
    });
}

#[derive(Clone)]
struct Collected {
    element: DataType,
    of_arrays: bool,
    values: Vec<Value>,
}

impl Accumulator for Collected {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        if self.values.len() >= ELEMENTS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        self.values.extend(args.first().cloned());
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        let values = std::mem::take(&mut self.values);
        match self.of_arrays {
            _ if values.is_empty() => Ok(Value::Null),
            true => stack_collected(self.element, &values).map(Value::from),
            false => Ok(Array::new(self.element, values).into()),
        }
    }

    fn answer(&mut self) -> Result<Value> {
        self.clone().finish()
    }
}

//! What a call gives.

use std::mem;
use std::sync::Arc;

use super::{Flow, Returned, Run, error, not_of_table};
use crate::catalog::Returns;
use crate::routine::Ran;
use crate::routine::plpgsql::convert::converted;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::sql_body::as_record;
use crate::types::{Composite, DataType, Shape};
use crate::{Error, Result, SqlState, Value};

/// What a function gives that returns any record.
fn record(value: Value) -> Result<Value> {
    match value.is_null() || value.as_composite().is_some() {
        true => Ok(value),
        false => Err(error("42804", "cannot return non-composite value from function returning composite type")),
    }
}

impl Run<'_> {
    pub(super) fn give(&mut self, value: Option<&Fragment>) -> Result<Flow> {
        match value {
            None => {}
            Some(value) => {
                let (value, data_type) = self.value(value)?;
                self.returned = match self.routine.returns {
                    Returns::Record => Returned::Value(record(value)?),
                    _ if self.gives_rows() && value.as_composite().is_some() => {
                        Returned::Row(value.as_composite().map(|row| self.columns_of(row)).transpose()?)
                    }
                    Returns::Type(to) if !self.gives_rows() => {
                        Returned::Value(converted(value, data_type, to, &self.context.eval)?)
                    }
                    _ if value.is_null() => Returned::Row(None),
                    _ => {
                        let message = "cannot return non-composite value from function returning composite type";
                        return Err(error("42804", message));
                    }
                };
            }
        }
        Ok(Flow::Return)
    }

    pub(super) fn row_of(&mut self, variable: usize) -> Result<Returned> {
        if self.routine.returns == Returns::Record {
            return self.frame.whole(variable).map(Returned::Value);
        }
        let row = self.frame.row(variable)?;
        let is_other = |wanted: &Arc<Shape>| {
            row.shape.as_ref().is_some_and(|shape| !Arc::ptr_eq(shape, wanted) && shape.0 != wanted.0)
        };
        if self.shape.as_ref().is_some_and(is_other) {
            return Err(not_of_table());
        }
        if !self.gives_rows() {
            return Err(error("42804", "cannot return a row from a function that returns a value"));
        }
        if self.shape.is_some() {
            // Nobody asks the variable any more.
            let row = self.frame.row_mut(variable)?;
            return Ok(Returned::Row((!row.is_null).then(|| mem::take(&mut row.values))));
        }
        let types: Vec<DataType> = row.shape.iter().flat_map(|shape| &shape.0).map(|(_, of)| *of).collect();
        Ok(Returned::Row((!row.is_null).then(|| self.cast_row(row.values.clone(), &types)).transpose()?))
    }

    /// What it gives are rows.
    pub(super) fn gives_rows(&self) -> bool {
        match self.routine.returns {
            Returns::Type(of) => matches!(of, DataType::Composite(_)) && !self.routine.is_output(),
            _ => true,
        }
    }

    /// A row as the result has it.
    pub(super) fn cast_row(&self, values: Vec<Value>, given: &[DataType]) -> Result<Vec<Value>> {
        if given.len() != self.types.len() {
            let detail = format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                given.len(),
                self.types.len()
            );
            let message = "returned record type does not match expected record type";
            return Err(error("42804", message).with_detail(detail));
        }
        for (at, (given, wanted)) in given.iter().zip(&self.types).enumerate() {
            if given.base() != wanted.base() {
                let (given, wanted) = (given.type_name(), wanted.type_name());
                let detail =
                    format!("Returned type {given} does not match expected type {wanted} in column {}.", at + 1);
                let message = "returned record type does not match expected record type";
                return Err(error("42804", message).with_detail(detail));
            }
        }
        let each = values.into_iter().zip(given).zip(&self.types);
        each.map(|((value, from), to)| converted(value, *from, *to, &self.context.eval)).collect()
    }

    /// The columns of a row that is a value.
    pub(super) fn columns_of(&self, row: &Composite) -> Result<Vec<Value>> {
        let types: Vec<DataType> = row.typed().map(|(data_type, _)| data_type).collect();
        if let Some(shape) = &self.shape {
            let wanted = shape.0.iter().map(|(_, data_type)| data_type.base());
            return match wanted.eq(types.iter().map(|data_type| data_type.base())) {
                true => Ok(row.values().to_vec()),
                false => Err(not_of_table()),
            };
        }
        self.cast_row(row.values().to_vec(), &types)
    }

    pub(super) fn give_next(&mut self, value: Option<&Fragment>) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN NEXT in a non-SETOF function"));
        }
        let row = match value {
            None => self.code.outputs.iter().map(|output| self.frame.whole(*output)).collect::<Result<_>>()?,
            Some(value) => {
                let (value, data_type) = self.value(value)?;
                if self.routine.returns == Returns::Record {
                    return self.keep(vec![record(value)?]);
                }
                if let (true, Some(row)) = (self.gives_rows(), value.as_composite()) {
                    let row = self.columns_of(row)?;
                    return self.keep_checked(row);
                }
                let [to] = self.types.as_slice() else {
                    return Err(error("42804", "wrong result type supplied in RETURN NEXT"));
                };
                let row = vec![converted(value, data_type, *to, &self.context.eval)?];
                return self.keep_checked(row);
            }
        };
        self.keep(row)
    }

    /// Keeps a row that may be none of the result's domains.
    fn keep_checked(&mut self, row: Vec<Value>) -> Result<()> {
        if !self.code.results.is_empty() {
            self.code.results.check(&row, &self.context.eval)?;
        }
        self.keep(row)
    }

    pub(super) fn keep(&mut self, row: Vec<Value>) -> Result<()> {
        self.held += row.len() * size_of::<Value>() + size_of::<Vec<Value>>();
        if self.held > self.context.memory_budget {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory"));
        }
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn keep_row(&mut self, values: Vec<Value>, shape: &Shape) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN NEXT in a non-SETOF function"));
        }
        if self.routine.returns == Returns::Record {
            return self.keep(vec![Composite::new(shape.row_type()?, values).into()]);
        }
        let given: Vec<DataType> = shape.0.iter().map(|(_, data_type)| *data_type).collect();
        let row = self.fitted(values, &given)?;
        self.keep_checked(row)
    }

    pub(super) fn fitted(&self, values: Vec<Value>, given: &[DataType]) -> Result<Vec<Value>> {
        if given.len() != self.types.len() {
            let detail = format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                given.len(),
                self.types.len()
            );
            return Err(error("42804", "structure of query does not match function result type").with_detail(detail));
        }
        let types = given.iter().zip(&self.types).enumerate();
        for (at, (given, wanted)) in types {
            if given.base() != wanted.base() {
                let detail = format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    given.type_name(),
                    wanted.type_name(),
                    at + 1
                );
                let message = "structure of query does not match function result type";
                return Err(error("42804", message).with_detail(detail));
            }
        }
        Ok(values)
    }

    pub(super) fn keep_rows(&mut self, ran: Ran) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN QUERY in a non-SETOF function"));
        }
        let given: Vec<DataType> = ran.fields.iter().map(|field| field.data_type).collect();
        self.found(ran.rows.len() as u64);
        let is_record = self.routine.returns == Returns::Record;
        if ran.rows.is_empty() && !is_record {
            return self.fitted(vec![], &given).map(drop);
        }
        let (fields, mut rows) = (ran.fields, ran.rows);
        while let Some(batch) = rows.next_batch(&given)? {
            for row in (0..batch.len()).map(|at| batch.row(at)) {
                match is_record {
                    true => self.keep(vec![as_record(&fields, row)?])?,
                    false => self.keep_checked(self.fitted(row, &given)?)?,
                }
            }
        }
        Ok(())
    }
}

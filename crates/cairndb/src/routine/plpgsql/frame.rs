//! The variables of a call.

use std::sync::Arc;

use super::scope::{Source, Tables, unassigned};
use super::tree::{Declared, Kind};
use crate::Result;
use crate::types::{Composite, Shape};
use crate::{Error, Value};

/// What the variables of a call hold.
#[derive(Debug)]
pub(super) struct Frame {
    slots: Vec<Slot>,
    /// The tables that a trigger sees.
    pub(super) tables: Option<Arc<Tables>>,
}

#[derive(Debug)]
pub(super) enum Slot {
    Value(Value),
    Row(Row),
}

/// A variable that is a row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    name: String,
    /// As it is declared.
    fixed: Option<Arc<Shape>>,
    /// `None`: nothing was assigned yet.
    pub(super) shape: Option<Arc<Shape>>,
    pub(super) values: Vec<Value>,
    /// No row is there: all of it is NULL.
    pub(super) is_null: bool,
}

impl Row {
    /// Nothing was assigned yet.
    pub(super) fn begin(&mut self) {
        self.is_null = true;
        self.shape.clone_from(&self.fixed);
        self.values.clear();
        self.values.resize(self.fixed.as_ref().map_or(0, |shape| shape.0.len()), Value::Null);
    }
}

impl Frame {
    pub(super) fn new(variables: &[Declared]) -> Frame {
        let slot = |declared: &Declared| match &declared.kind {
            Kind::Value(_) => Slot::Value(Value::Null),
            Kind::Row(shape) => {
                let (name, fixed) = (declared.name.clone(), shape.clone());
                let mut row = Row { name, fixed, shape: None, values: vec![], is_null: true };
                row.begin();
                Slot::Row(row)
            }
        };
        Frame { slots: variables.iter().map(slot).collect(), tables: None }
    }

    /// For another call.
    pub(super) fn begin(&mut self) {
        for slot in &mut self.slots {
            match slot {
                Slot::Value(value) => *value = Value::Null,
                Slot::Row(row) => row.begin(),
            }
        }
    }

    pub(super) fn get(&self, source: &Source) -> Result<&Value> {
        let value = match (self.slots.get(source.variable), source.field) {
            (Some(Slot::Value(value)), _) => Some(value),
            (Some(Slot::Row(row)), None) => Some(if row.is_null { &Value::Null } else { &Value::Boolean(true) }),
            (Some(Slot::Row(row)), Some(field)) => {
                if row.shape.is_none() {
                    return Err(unassigned(&row.name));
                }
                row.values.get(field)
            }
            _ => None,
        };
        value.ok_or_else(|| Error::internal("no such variable"))
    }

    /// The values of parameters.
    pub(super) fn parameters(&self, sources: &[Source]) -> Result<Vec<Value>> {
        sources.iter().map(|source| self.get(source).cloned()).collect()
    }

    pub(super) fn set(&mut self, variable: usize, value: Value) {
        if let Some(slot) = self.slots.get_mut(variable) {
            *slot = Slot::Value(value);
        }
    }

    pub(super) fn value(&self, variable: usize) -> &Value {
        match self.slots.get(variable) {
            Some(Slot::Value(value)) => value,
            _ => &Value::Null,
        }
    }

    pub(super) fn row(&self, variable: usize) -> Result<&Row> {
        match self.slots.get(variable) {
            Some(Slot::Row(row)) => Ok(row),
            _ => Err(Error::internal("not a row")),
        }
    }

    pub(super) fn row_mut(&mut self, variable: usize) -> Result<&mut Row> {
        match self.slots.get_mut(variable) {
            Some(Slot::Row(row)) => Ok(row),
            _ => Err(Error::internal("not a row")),
        }
    }

    /// What a variable holds, a row as one value.
    pub(super) fn whole(&self, variable: usize) -> Result<Value> {
        match self.slots.get(variable) {
            Some(Slot::Value(value)) => Ok(value.clone()),
            Some(Slot::Row(Row { is_null: false, shape: Some(shape), values, .. })) => {
                Ok(Composite::new(shape.row_type()?, values.clone()).into())
            }
            _ => Ok(Value::Null),
        }
    }

    /// Gives a variable a value; to a row, its columns.
    pub(super) fn set_whole(&mut self, variable: usize, value: &Value) {
        match (self.slots.get_mut(variable), value) {
            (Some(Slot::Row(row)), Value::Composite(given)) => {
                row.values = given.values().to_vec();
                row.is_null = false;
                if row.shape.is_none() {
                    row.shape = Some(Arc::new(Shape::of(given.of())));
                }
            }
            (Some(Slot::Row(row)), _) => {
                row.values.fill(Value::Null);
                row.is_null = true;
            }
            (_, value) => self.set(variable, value.clone()),
        }
    }

    /// Whether a row has the shape that something was bound with.
    pub(super) fn has_shape(&self, variable: usize, shape: &Arc<Shape>) -> bool {
        let known = self.row(variable).ok().and_then(|row| row.shape.as_ref());
        known.is_some_and(|known| Arc::ptr_eq(known, shape) || known == shape)
    }

    /// Whether a trigger sees these tables.
    pub(super) fn has_tables(&self, tables: Option<&Arc<Tables>>) -> bool {
        match (&self.tables, tables) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            _ => false,
        }
    }

    /// The shapes of all rows.
    pub(super) fn shapes(&self) -> Vec<Option<Arc<Shape>>> {
        let shape = |slot: &Slot| match slot {
            Slot::Row(row) => row.shape.clone(),
            Slot::Value(_) => None,
        };
        self.slots.iter().map(shape).collect()
    }
}

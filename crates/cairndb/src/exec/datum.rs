//! Values of rows and expressions without copying what can be lent.

use crate::types::ValueRef;
use crate::{Error, Result, Value};

/// A value that a row or a parameter lends, or that was computed.
#[derive(Debug)]
pub(crate) enum Datum<'a> {
    Lent(ValueRef<'a>),
    Own(Value),
}

impl Datum<'_> {
    pub(crate) fn get(&self) -> ValueRef<'_> {
        match self {
            Datum::Lent(value) => *value,
            Datum::Own(value) => value.into(),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.get().is_null()
    }

    /// Whether a condition holds (NULL does not).
    pub(crate) fn is_true(&self) -> bool {
        matches!(self.get(), ValueRef::Boolean(true))
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Datum::Lent(value) => value.to_value(),
            Datum::Own(value) => value,
        }
    }
}

/// A row whose columns can be asked for by their position. `M`: why there is no value.
pub(crate) trait Columns<M> {
    fn column(&self, index: usize) -> Result<Datum<'_>, M>;
}

impl<M: From<Error>> Columns<M> for &[Value] {
    fn column(&self, index: usize) -> Result<Datum<'_>, M> {
        let value = self.get(index).ok_or_else(|| Error::internal(format!("no column {index} in the row")))?;
        Ok(Datum::Lent(value.into()))
    }
}

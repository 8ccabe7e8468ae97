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

    /// The value of the `Let` of this number around what is evaluated; none: there is none.
    fn shared(&self, _id: usize) -> Option<Datum<'_>> {
        None
    }
}

/// A row, and what an expression over it worked out for all of its parts.
pub(crate) struct Sharing<'r, M> {
    pub(crate) row: &'r dyn Columns<M>,
    pub(crate) id: usize,
    pub(crate) value: Value,
}

impl<M> Columns<M> for Sharing<'_, M> {
    fn column(&self, index: usize) -> Result<Datum<'_>, M> {
        self.row.column(index)
    }

    fn shared(&self, id: usize) -> Option<Datum<'_>> {
        if id == self.id { Some(Datum::Lent((&self.value).into())) } else { self.row.shared(id) }
    }
}

impl<M: From<Error>> Columns<M> for &[Value] {
    fn column(&self, index: usize) -> Result<Datum<'_>, M> {
        let value = self.get(index).ok_or_else(|| Error::internal(format!("no column {index} in the row")))?;
        Ok(Datum::Lent(value.into()))
    }
}

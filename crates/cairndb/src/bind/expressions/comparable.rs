//! What can be sorted, grouped or told apart: everything but `json`, whose texts may differ and mean the same.

use cairn_parser::Span;

use crate::bind::binder::Binder;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    /// Refuses to find equal values of a type that has no equality.
    pub(in crate::bind) fn check_equality(&self, data_type: DataType, span: Span) -> Result<()> {
        if data_type.is_comparable() {
            return Ok(());
        }
        let message = format!("could not identify an equality operator for type {}", data_type.type_name());
        Err(self.at(Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(HINT), span))
    }

    /// Refuses to sort by values of a type that has no order.
    pub(in crate::bind) fn check_order(&self, data_type: DataType, span: Span) -> Result<()> {
        if data_type.is_comparable() {
            return Ok(());
        }
        let message = format!("could not identify an ordering operator for type {}", data_type.type_name());
        Err(self.at(Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(HINT), span))
    }
}

const HINT: &str = "Cast it to jsonb, which has an order, or to text.";

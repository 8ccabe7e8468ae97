//! Ids of documents, and the one form that each has as text.

use crate::Value;
use crate::types::{DataType, EvalContext, from_text, to_text};

/// Of which type a collection's ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdKind {
    Text,
    Uuid,
    BigInt,
}

impl IdKind {
    pub(crate) const ALL: [IdKind; 3] = [IdKind::Text, IdKind::Uuid, IdKind::BigInt];

    /// `None`: no collection has such ids.
    pub(crate) fn of(data_type: DataType) -> Option<IdKind> {
        match data_type {
            DataType::Text => Some(IdKind::Text),
            DataType::Uuid => Some(IdKind::Uuid),
            DataType::BigInt => Some(IdKind::BigInt),
            _ => None,
        }
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            IdKind::Text => DataType::Text,
            IdKind::Uuid => DataType::Uuid,
            IdKind::BigInt => DataType::BigInt,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            IdKind::Text => "text",
            IdKind::Uuid => "uuid",
            IdKind::BigInt => "bigint",
        }
    }

    /// The id of this text; `None`: it is that of none. Another way to write an id is not its text.
    pub(crate) fn of_text(self, text: &str) -> Option<Value> {
        let data_type = match self {
            IdKind::Text => return Some(Value::text(text)),
            IdKind::Uuid => DataType::Uuid,
            IdKind::BigInt => DataType::BigInt,
        };
        let context = EvalContext::default();
        let value = from_text(text, data_type, &context).ok()?;
        (to_text(&value, &context) == text).then_some(value)
    }

    /// The same of a JSON number.
    pub(crate) fn of_number(self, text: &str) -> Option<Value> {
        match self {
            IdKind::BigInt => text.parse().ok().map(Value::BigInt),
            IdKind::Text | IdKind::Uuid => None,
        }
    }
}

//! Ordered keys.

use super::{DataType, Value};
use crate::{Error, Result};

/// Appends the order-preserving, self-delimiting encoding of `value`.
pub fn encode_value(_value: &Value, _data_type: DataType, _descending: bool, _nulls_first: bool, _out: &mut Vec<u8>) {}

/// Reads one value and moves `bytes` past it.
pub fn decode_value(_bytes: &mut &[u8], _data_type: DataType, _descending: bool, _nulls_first: bool) -> Result<Value> {
    Err(Error::unsupported("keys"))
}

/// The encoding keeps all of a value of this type (not only its order).
pub fn is_decodable(_data_type: DataType) -> bool {
    false
}

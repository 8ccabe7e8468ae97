//! What the modules of functions share.

use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// A function body for arguments of certain variants: `call!((Integer a, Integer b) body)`, with the evaluation
/// context where asked for: `call!((Date a), context body)`. `body` is a `Result<Value>`; the names are references.
macro_rules! call {
    (($($variant:ident $name:ident),*) $body:expr) => {
        |args: &[$crate::types::Value], _: &$crate::types::EvalContext| match args {
            [$($crate::types::Value::$variant($name)),*] => $body,
            _ => Err($crate::functions::support::wrong_arguments(args)),
        }
    };
    (($($variant:ident $name:ident),*), $context:ident $body:expr) => {
        |args: &[$crate::types::Value], $context: &$crate::types::EvalContext| match args {
            [$($crate::types::Value::$variant($name)),*] => $body,
            _ => Err($crate::functions::support::wrong_arguments(args)),
        }
    };
}
pub(super) use call;

/// Binding gave a function values it was not declared for: our mistake, not the statement's.
pub(super) fn wrong_arguments(args: &[Value]) -> Error {
    Error::internal(format!("a function was called with arguments it is not declared for: {args:?}"))
}

/// SQLSTATE 42704: arrays are made of no arrays.
pub(crate) fn no_array_type(data_type: DataType) -> Error {
    let message = format!("could not find array type for data type {}", data_type.type_name());
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

pub(super) fn out_of_range(type_name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

pub(super) fn division_by_zero() -> Error {
    crate::types::division_by_zero()
}

pub(super) fn invalid_parameter(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

pub(super) fn float_overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

pub(super) fn float_underflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

/// A float result, which may be infinite only if an operand was, and zero only where that is exact.
pub(super) fn checked_float(result: f64, inf_is_valid: bool, zero_is_valid: bool) -> Result<f64> {
    if result.is_infinite() && !inf_is_valid {
        Err(float_overflow())
    } else if result == 0.0 && !zero_is_valid {
        Err(float_underflow())
    } else {
        Ok(result)
    }
}

/// The largest string or byte value that a function makes.
pub(super) const RESULT_BYTES_MAX: usize = 1 << 28;

/// Refuses results beyond [`RESULT_BYTES_MAX`].
pub(super) fn check_length(bytes: usize) -> Result<()> {
    if bytes > RESULT_BYTES_MAX {
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large"));
    }
    Ok(())
}

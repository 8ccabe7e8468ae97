//! Arrays: constructors and subscripts, which binding makes for a syntax, and the functions and operators of arrays.

mod concatenate;
mod construct;
mod contain;
mod measure;
mod quantified;
mod search;
mod set;
mod subscript;
mod text;

pub(super) use construct::stack_collected;
pub use construct::{constructor, fitted, fitted_part};
pub use quantified::{Quantifier, quantified};
pub use subscript::{element_at, letter_of_name, slice_of, with_element, with_slice};

use std::sync::Arc;

use super::catalogue::{Catalogue, Kernel, Typed};
use super::support::wrong_arguments;
use super::{Cost, Function};
use crate::types::{Array, DataType, Value};
use crate::{Error, Result};

pub(super) fn register(catalogue: &mut Catalogue) {
    measure::register(catalogue);
    concatenate::register(catalogue);
    contain::register(catalogue);
    search::register(catalogue);
    text::register(catalogue);
    construct::register(catalogue);
    subscript::register(catalogue);
    set::register(catalogue);
}

/// The entries that a syntax calls and no name does.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(super) enum Form {
    Constructor = u64::MAX - 16,
    Element,
    Slice,
    WithElement,
    WithSlice,
    Fitted,
    Row,
    Attribute,
    WithAttribute,
    IsNullRow,
    IsNotNullRow,
    ZonesWritten,
    Populated,
    Sampled,
    RowsOfArray,
    UnnestSideBySide,
    Letter,
}

/// What a syntax calls, for certain types.
pub(super) fn form(
    form: Form,
    name: &'static str,
    args: Box<[DataType]>,
    returns: DataType,
    eval: Typed,
) -> Arc<Function> {
    let function = Function::new(name, args, returns, Kernel::Typed(eval));
    // What puts an element somewhere fills up what is before it.
    let fills = matches!(form, Form::WithElement | Form::WithSlice | Form::Populated | Form::Sampled);
    let cost = if fills { Cost::Unknown } else { Cost::Bounded };
    Arc::new(Function { entry: form as u64, strict: false, cost, ..function })
}

/// An argument that is an array.
fn array_of(value: &Value) -> Result<&Array> {
    value.as_array().ok_or_else(|| wrong_arguments(std::slice::from_ref(value)))
}

/// The type of an array function's elements, by its result's or its first array argument's.
fn element_of(function: &Function) -> Result<DataType> {
    let of_args = || function.args.iter().find_map(|arg| arg.element());
    function.returns.element().or_else(of_args).ok_or_else(|| Error::internal("no array in the function's types"))
}

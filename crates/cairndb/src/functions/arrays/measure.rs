//! How many dimensions and elements arrays have, and where they begin and end.

use super::array_of;
use crate::Result;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function};
use crate::types::{Array, DataType, Dimension, Value};

const INTEGER: Declared = Declared::Type(DataType::Integer);

pub(super) fn register(catalogue: &mut Catalogue) {
    let of_dimension = [Declared::Array, INTEGER];
    catalogue
        .add_polymorphic("array_length", &of_dimension, INTEGER, |_, args, _| {
            dimension(args, |dimension| dimension.length as i64)
        })
        .bounded();
    catalogue
        .add_polymorphic("array_lower", &of_dimension, INTEGER, |_, args, _| {
            dimension(args, |dimension| dimension.lower.into())
        })
        .bounded();
    catalogue
        .add_polymorphic("array_upper", &of_dimension, INTEGER, |_, args, _| dimension(args, Dimension::upper))
        .bounded();
    let text = Declared::Type(DataType::Text);
    let mut whole = |name, returns, eval| {
        catalogue.add_polymorphic(name, &[Declared::Array], returns, eval).bounded();
    };
    whole("array_ndims", INTEGER, |_: &Function, args, _| {
        measure(args, |array| match array.dimensions().len() {
            0 => Value::Null,
            count => Value::Integer(count as i32),
        })
    });
    whole("cardinality", INTEGER, |_, args, _| measure(args, |array| Value::Integer(array.values().len() as i32)));
    whole("array_dims", text, |_, args, _| measure(args, dimensions));
}

fn measure(args: &[Value], of: impl Fn(&Array) -> Value) -> Result<Value> {
    let [array] = args else { return Err(wrong_arguments(args)) };
    array_of(array).map(of)
}

fn dimension(args: &[Value], of: impl Fn(Dimension) -> i64) -> Result<Value> {
    let [array, Value::Integer(nth)] = args else { return Err(wrong_arguments(args)) };
    let nth = usize::try_from(*nth).ok().and_then(|nth| nth.checked_sub(1));
    let dimensions = array_of(array)?.dimensions();
    let found = nth.and_then(|nth| dimensions.get(nth)).map(|dimension| Value::Integer(of(*dimension) as i32));
    Ok(found.unwrap_or(Value::Null))
}

fn dimensions(array: &Array) -> Value {
    if array.dimensions().is_empty() {
        return Value::Null;
    }
    let each = array.dimensions().iter().map(|dimension| format!("[{}:{}]", dimension.lower, dimension.upper()));
    Value::text(each.collect::<String>())
}

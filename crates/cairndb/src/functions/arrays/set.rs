//! Functions that return rows of arrays: `unnest`, `generate_subscripts`, and the information schema's.

use crate::Result;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, SetRows};
use crate::types::{DataType, Value};

pub(super) fn register(catalogue: &mut Catalogue) {
    use Declared::{Array, Element, Type};
    const INTEGER: Declared = Type(DataType::Integer);
    // (Of `tsvector`, and of multiranges.)
    catalogue.add_rows("unnest", &[Array], &[("", Element)], |_, args, _| unnested(args)).beside_others();
    let subscript = [("", INTEGER)];
    catalogue.add_rows("generate_subscripts", &[Array, INTEGER], &subscript, |_, args, _| subscripts(args));
    let reverse = [Array, INTEGER, Type(DataType::Boolean)];
    catalogue.add_rows("generate_subscripts", &reverse, &subscript, |_, args, _| subscripts(args));
    // What asks for the columns of keys calls it there.
    let numbered = [("x", Element), ("n", INTEGER)];
    catalogue.add_rows("information_schema._pg_expandarray", &[Array], &numbered, |_, args, _| expanded(args));
}

fn unnested(args: &[Value]) -> Result<SetRows> {
    match args {
        [Value::Array(array)] => Ok(SetRows::Unnest(vec![Some(array.clone())], 0)),
        _ => Err(wrong_arguments(args)),
    }
}

/// Of more dimensions than one only the first is counted, and has no elements of its own.
fn expanded(args: &[Value]) -> Result<SetRows> {
    let array = match args {
        [Value::Array(array)] => array,
        _ => return Err(wrong_arguments(args)),
    };
    let flat = array.dimensions().len() == 1;
    let count = array.dimensions().first().map_or(0, |first| first.upper() - i64::from(first.lower) + 1);
    let row = |at: i64| {
        let element = usize::try_from(at).ok().and_then(|at| array.values().get(at)).filter(|_| flat);
        let number = i32::try_from(at + 1).unwrap_or(i32::MAX);
        vec![element.cloned().unwrap_or(Value::Null), Value::Integer(number)]
    };
    Ok(SetRows::Rows((0..count).map(row).collect::<Vec<_>>().into_iter()))
}

fn subscripts(args: &[Value]) -> Result<SetRows> {
    let (array, nth, reverse) = match args {
        [Value::Array(array), Value::Integer(nth)] => (array, *nth, false),
        [Value::Array(array), Value::Integer(nth), Value::Boolean(reverse)] => (array, *nth, *reverse),
        _ => return Err(wrong_arguments(args)),
    };
    let nth = usize::try_from(nth).ok().and_then(|nth| nth.checked_sub(1));
    Ok(match nth.and_then(|nth| array.dimensions().get(nth)) {
        None => SetRows::Subscripts(1, 0, 1),
        Some(dimension) if reverse => SetRows::Subscripts(dimension.upper(), dimension.lower.into(), -1),
        Some(dimension) => SetRows::Subscripts(dimension.lower.into(), dimension.upper(), 1),
    })
}

//! The functions and operators of the extension `intarray`: arrays of integers as lists and as sets. Of an array of several dimensions they
//! see the elements in turn; what they make of it has one, but where nothing is left out of it.

use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use super::{Declared, Function};
use crate::types::{Array, DataType, Dimension, EvalContext, Value};
use crate::{Error, Result, SqlState};

/// The names of its functions.
pub(super) const FUNCTIONS: &[&str] = &[
    "icount",
    "idx",
    "intarray_del_elem",
    "intarray_push_array",
    "intarray_push_elem",
    "intset",
    "intset_subtract",
    "intset_union_elem",
    "sort",
    "sort_asc",
    "sort_desc",
    "subarray",
    "uniq",
];

pub(super) const OPERATORS: &[&str] = &["&&", "@>", "<@", "#", "+", "-", "|", "&"];

const INT: Declared = Declared::Type(DataType::Integer);
const TEXT: Declared = Declared::Type(DataType::Text);

fn integers() -> Declared {
    Declared::Type(DataType::Integer.array().unwrap_or(DataType::Integer))
}

pub(super) fn register(catalogue: &mut Catalogue) {
    lists(catalogue);
    sets(catalogue);
    orders(catalogue);
}

/// The elements. SQLSTATE 22004 where one is NULL.
fn elements(array: &Array) -> Result<Vec<i32>> {
    let element = |value: &Value| match value {
        Value::Integer(number) => Ok(*number),
        _ => Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array must not contain nulls")),
    };
    array.values().iter().map(element).collect()
}

fn list(elements: impl IntoIterator<Item = i32>) -> Value {
    Array::new(DataType::Integer, elements.into_iter().map(Value::Integer).collect()).into()
}

/// The array with these elements, and as it was counted; of several dimensions only the first is left where some are left out.
fn with_elements(array: &Array, elements: Vec<i32>) -> Result<Value> {
    if elements.is_empty() {
        return Ok(Array::empty(DataType::Integer).into());
    }
    let mut dimensions: Vec<Dimension> = array.dimensions().to_vec();
    if elements.len() != array.values().len() {
        let lengths = std::iter::once(elements.len()).chain(std::iter::repeat(1));
        dimensions.iter_mut().zip(lengths).for_each(|(dimension, length)| dimension.length = length);
    }
    let values = elements.into_iter().map(Value::Integer).collect();
    Ok(Array::with_dimensions(DataType::Integer, &dimensions, values)?.into())
}

fn sorted(mut elements: Vec<i32>) -> Vec<i32> {
    elements.sort_unstable();
    elements
}

fn set(array: &Array) -> Result<Vec<i32>> {
    let mut elements = sorted(elements(array)?);
    elements.dedup();
    Ok(elements)
}

fn lists(catalogue: &mut Catalogue) {
    catalogue.add_names(&["#", "icount"], &[integers()], INT, |_, args, _| match args {
        [Value::Array(array)] => Ok(Value::Integer(array.values().len() as i32)),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["#", "idx"], &[integers(), INT], INT, |_, args, _| match args {
        [Value::Array(array), Value::Integer(number)] => {
            let at = elements(array)?.iter().position(|element| element == number);
            Ok(Value::Integer(at.map_or(0, |at| at as i32 + 1)))
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["+", "intarray_push_elem"], &[integers(), INT], integers(), |_, args, _| match args {
        [Value::Array(array), Value::Integer(number)] => Ok(list(elements(array)?.into_iter().chain([*number]))),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(
        &["+", "intarray_push_array"],
        &[integers(), integers()],
        integers(),
        |_, args, _| match args {
            [Value::Array(first), Value::Array(second)] => {
                Ok(list(elements(first)?.into_iter().chain(elements(second)?)))
            }
            _ => Err(wrong_arguments(args)),
        },
    );
    catalogue.add_names(&["-", "intarray_del_elem"], &[integers(), INT], integers(), |_, args, _| match args {
        [Value::Array(array), Value::Integer(number)] => {
            let left = elements(array)?.into_iter().filter(|element| element != number).collect();
            with_elements(array, left)
        }
        _ => Err(wrong_arguments(args)),
    });
    for args in [&[integers(), INT] as &[_], &[integers(), INT, INT]] {
        catalogue.add_names(&["subarray"], args, integers(), subarray);
    }
}

/// From a place, counted from the end where it is negative, so many; as many fewer than all where that is negative; all, where it is 0.
fn subarray(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (array, start, count) = match args {
        [Value::Array(array), Value::Integer(start)] => (array, *start, 0),
        [Value::Array(array), Value::Integer(start), Value::Integer(count)] => (array, *start, *count),
        _ => return Err(wrong_arguments(args)),
    };
    let elements = elements(array)?;
    let (all, start, count) = (elements.len() as i64, i64::from(start), i64::from(count));
    let start = match start {
        1.. => start - 1,
        0 => 0,
        _ => all + start,
    };
    let end = match count {
        1.. => start + count,
        0 => all,
        _ => all + count,
    };
    let (start, end) = (start.clamp(0, all) as usize, end.clamp(0, all) as usize);
    Ok(list(elements.get(start..end).unwrap_or_default().iter().copied()))
}

fn sets(catalogue: &mut Catalogue) {
    let pair = [integers(), integers()];
    catalogue.add_names(&["intset"], &[INT], integers(), |_, args, _| match args {
        [Value::Integer(number)] => Ok(list([*number])),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["|", "intset_union_elem"], &[integers(), INT], integers(), |_, args, _| match args {
        [Value::Array(array), Value::Integer(number)] => {
            let mut all = sorted(elements(array)?.into_iter().chain([*number]).collect());
            all.dedup();
            Ok(list(all))
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["|"], &pair, integers(), |_, args, _| match args {
        [Value::Array(first), Value::Array(second)] => {
            let mut all = sorted(elements(first)?.into_iter().chain(elements(second)?).collect());
            all.dedup();
            Ok(list(all))
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["-", "intset_subtract"], &pair, integers(), |_, args, _| match args {
        [Value::Array(first), Value::Array(second)] => {
            let others = set(second)?;
            Ok(list(set(first)?.into_iter().filter(|element| others.binary_search(element).is_err())))
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["&"], &pair, integers(), |_, args, _| match args {
        [Value::Array(first), Value::Array(second)] => {
            let others = set(second)?;
            Ok(list(set(first)?.into_iter().filter(|element| others.binary_search(element).is_ok())))
        }
        _ => Err(wrong_arguments(args)),
    });
}

fn orders(catalogue: &mut Catalogue) {
    fn order(array: &Array, descends: bool) -> Result<Value> {
        let mut elements = sorted(elements(array)?);
        if descends {
            elements.reverse();
        }
        with_elements(array, elements)
    }
    catalogue.add_names(&["sort", "sort_asc"], &[integers()], integers(), |_, args, _| match args {
        [Value::Array(array)] => order(array, false),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["sort_desc"], &[integers()], integers(), |_, args, _| match args {
        [Value::Array(array)] => order(array, true),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["sort"], &[integers(), TEXT], integers(), |_, args, _| match args {
        [Value::Array(array), Value::Text(direction)] => {
            let is = |word: &str| direction.eq_ignore_ascii_case(word);
            // (Of what needs no sorting nobody asks.)
            match array.values().len() < 2 || is("asc") {
                false if !is("desc") => {
                    let message = "second parameter must be \"ASC\" or \"DESC\"";
                    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
                }
                ascends => order(array, !ascends),
            }
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["uniq"], &[integers()], integers(), |_, args, _| match args {
        [Value::Array(array)] => {
            let mut elements = elements(array)?;
            elements.dedup();
            with_elements(array, elements)
        }
        _ => Err(wrong_arguments(args)),
    });
}

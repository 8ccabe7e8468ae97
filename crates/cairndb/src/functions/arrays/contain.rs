//! `@>`, `<@`, `&&`: arrays as sets. NULL is in no set.

use std::collections::HashSet;

use super::array_of;
use crate::Result;
use crate::functions::Declared;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::types::{Array, DataType, Value};

pub(super) fn register(catalogue: &mut Catalogue) {
    let (arrays, boolean) = ([Declared::Array, Declared::Array], Declared::Type(DataType::Boolean));
    for name in ["@>", "arraycontains"] {
        catalogue.add_polymorphic(name, &arrays, boolean, |_, args, _| compare(args, contains));
    }
    for name in ["<@", "arraycontained"] {
        catalogue.add_polymorphic(name, &arrays, boolean, |_, args, _| compare(args, |a, b| contains(b, a)));
    }
    for name in ["&&", "arrayoverlap"] {
        catalogue.add_polymorphic(name, &arrays, boolean, |_, args, _| compare(args, overlap));
    }
}

fn compare(args: &[Value], holds: fn(&Array, &Array) -> bool) -> Result<Value> {
    let [left, right] = args else { return Err(wrong_arguments(args)) };
    Ok(Value::Boolean(holds(array_of(left)?, array_of(right)?)))
}

fn contains(all: &Array, some: &Array) -> bool {
    let has = finder(all);
    some.values().iter().all(|value| !value.is_null() && has(value))
}

fn overlap(left: &Array, right: &Array) -> bool {
    let has = finder(left);
    right.values().iter().any(|value| !value.is_null() && has(value))
}

/// Tells whether an array has a value: by a hash where it has many.
fn finder(array: &Array) -> Box<dyn Fn(&Value) -> bool + '_> {
    let (values, element) = (array.values(), array.element());
    if values.len() < 16 || matches!(element, DataType::Char(_)) {
        return Box::new(move |value| values.iter().any(|other| other.compare_as(value, element).is_eq()));
    }
    #[expect(clippy::mutable_key_type, reason = "a path's pattern has caches, which its hash does not look at")]
    let set: HashSet<&Value> = values.iter().collect();
    Box::new(move |value| set.contains(value))
}

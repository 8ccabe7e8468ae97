//! The functions and operators of the extension `hstore`, as its script defines them.

mod make;
mod output;
pub(crate) mod subscript;

use super::catalogue::Catalogue;
use super::rows::SetRows;
use super::support::wrong_arguments;
use super::{Declared, Function};
use crate::types::{Array, DataType, EvalContext, ExtensionType, ExtensionTypeKind, Hstore, Value};
use crate::{Error, Result};

/// The names of its functions.
pub(super) const FUNCTIONS: &[&str] = &[
    "akeys",
    "avals",
    "defined",
    "delete",
    "each",
    "exist",
    "exists_all",
    "exists_any",
    "fetchval",
    "hs_concat",
    "hs_contained",
    "hs_contains",
    "hstore",
    "hstore_cmp",
    "hstore_eq",
    "hstore_ge",
    "hstore_gt",
    "hstore_le",
    "hstore_lt",
    "hstore_ne",
    "hstore_to_array",
    "hstore_to_json",
    "hstore_to_json_loose",
    "hstore_to_jsonb",
    "hstore_to_jsonb_loose",
    "hstore_to_matrix",
    "isdefined",
    "isexists",
    "populate_record",
    "skeys",
    "slice",
    "slice_array",
    "svals",
    "tconvert",
];

pub(super) const OPERATORS: &[&str] =
    &["->", "?", "?|", "?&", "-", "||", "@>", "<@", "%%", "%#", "#=", "=", "<>", "#<#", "#<=#", "#>#", "#>=#"];

pub(super) const CLASSES: &[&str] = &["btree_hstore_ops", "hash_hstore_ops"];

const HSTORE: Declared = Declared::Extension(ExtensionTypeKind::Hstore);
const TEXT: Declared = Declared::Type(DataType::Text);
const BOOLEAN: Declared = Declared::Type(DataType::Boolean);

fn texts() -> Declared {
    Declared::Type(DataType::Text.array().unwrap_or(DataType::Text))
}

pub(super) fn register(catalogue: &mut Catalogue) {
    lookups(catalogue);
    changes(catalogue);
    lists(catalogue);
    orders(catalogue);
    make::register(catalogue);
    output::register(catalogue);
}

/// An array's texts that are not NULL.
fn keys(array: &Array) -> impl Iterator<Item = &str> {
    array.values().iter().filter_map(Value::as_str)
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn lookups(catalogue: &mut Catalogue) {
    catalogue.add_names(&["->", "fetchval"], &[HSTORE, TEXT], TEXT, |_, args, _| match args {
        [Value::Hstore(of), Value::Text(key)] => Ok(text_or_null(of.get(key).flatten())),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["->", "slice_array"], &[HSTORE, texts()], texts(), |_, args, _| match args {
        [Value::Hstore(of), Value::Array(keys)] => {
            let value = |key: &Value| Ok(text_or_null(key.as_str().and_then(|key| of.get(key).flatten())));
            Ok(keys.map(DataType::Text, value)?.into())
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["slice"], &[HSTORE, texts()], HSTORE, |_, args, _| match args {
        [Value::Hstore(of), Value::Array(array)] => {
            let pairs = keys(array).filter_map(|key| Some((key, of.get(key)?))).collect();
            Hstore::new(of.of(), pairs).map(Value::Hstore)
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["?", "exist", "isexists"], &[HSTORE, TEXT], BOOLEAN, |_, args, _| match args {
        [Value::Hstore(of), Value::Text(key)] => Ok(Value::Boolean(of.get(key).is_some())),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["defined", "isdefined"], &[HSTORE, TEXT], BOOLEAN, |_, args, _| match args {
        [Value::Hstore(of), Value::Text(key)] => Ok(Value::Boolean(of.get(key).flatten().is_some())),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["?|", "exists_any"], &[HSTORE, texts()], BOOLEAN, |_, args, _| match args {
        [Value::Hstore(of), Value::Array(array)] => Ok(Value::Boolean(keys(array).any(|key| of.get(key).is_some()))),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["?&", "exists_all"], &[HSTORE, texts()], BOOLEAN, |_, args, _| match args {
        [Value::Hstore(of), Value::Array(array)] => Ok(Value::Boolean(keys(array).all(|key| of.get(key).is_some()))),
        _ => Err(wrong_arguments(args)),
    });
    let pair = [HSTORE, HSTORE];
    catalogue.add_names(&["@>", "hs_contains"], &pair, BOOLEAN, |_, args, _| match args {
        [Value::Hstore(all), Value::Hstore(part)] => Ok(Value::Boolean(contains(all, part))),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["<@", "hs_contained"], &pair, BOOLEAN, |_, args, _| match args {
        [Value::Hstore(part), Value::Hstore(all)] => Ok(Value::Boolean(contains(all, part))),
        _ => Err(wrong_arguments(args)),
    });
}

fn contains(all: &Hstore, part: &Hstore) -> bool {
    part.pairs().all(|(key, value)| all.get(key) == Some(value))
}

fn changes(catalogue: &mut Catalogue) {
    catalogue.add_names(&["-", "delete"], &[HSTORE, TEXT], HSTORE, |_, args, _| match args {
        [Value::Hstore(of), Value::Text(key)] => without(of, |known, _| *known == **key),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["-", "delete"], &[HSTORE, texts()], HSTORE, |_, args, _| match args {
        [Value::Hstore(of), Value::Array(array)] => {
            let keys: std::collections::HashSet<&str> = keys(array).collect();
            without(of, |known, _| keys.contains(known))
        }
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["-", "delete"], &[HSTORE, HSTORE], HSTORE, |_, args, _| match args {
        [Value::Hstore(of), Value::Hstore(others)] => without(of, |key, value| others.get(key) == Some(value)),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["||", "hs_concat"], &[HSTORE, HSTORE], HSTORE, |_, args, _| match args {
        [Value::Hstore(first), Value::Hstore(second)] => {
            // (Of two pairs the first counts.)
            Hstore::new(first.of(), second.pairs().chain(first.pairs()).collect()).map(Value::Hstore)
        }
        _ => Err(wrong_arguments(args)),
    });
}

fn without(of: &Hstore, goes: impl Fn(&str, Option<&str>) -> bool) -> Result<Value> {
    let pairs = of.pairs().filter(|(key, value)| !goes(key, *value)).collect();
    Hstore::new(of.of(), pairs).map(Value::Hstore)
}

/// The pairs as arrays and as rows.
fn lists(catalogue: &mut Catalogue) {
    fn of(args: &[Value]) -> Result<&Hstore> {
        match args {
            [Value::Hstore(of)] => Ok(of),
            _ => Err(wrong_arguments(args)),
        }
    }
    fn keys(of: &Hstore) -> Vec<Value> {
        of.pairs().map(|(key, _)| Value::text(key)).collect()
    }
    fn values(of: &Hstore) -> Vec<Value> {
        of.pairs().map(|(_, value)| text_or_null(value)).collect()
    }
    fn both(of: &Hstore) -> Vec<Value> {
        of.pairs().flat_map(|(key, value)| [Value::text(key), text_or_null(value)]).collect()
    }
    catalogue
        .add_names(&["akeys"], &[HSTORE], texts(), |_, args, _| Ok(Array::new(DataType::Text, keys(of(args)?)).into()));
    catalogue.add_names(&["avals"], &[HSTORE], texts(), |_, args, _| {
        Ok(Array::new(DataType::Text, values(of(args)?)).into())
    });
    catalogue.add_names(&["%%", "hstore_to_array"], &[HSTORE], texts(), |_, args, _| {
        Ok(Array::new(DataType::Text, both(of(args)?)).into())
    });
    catalogue.add_names(&["%#", "hstore_to_matrix"], &[HSTORE], texts(), |_, args, _| {
        let of = of(args)?;
        let lengths = [of.len(), 2].map(|length| crate::types::Dimension { lower: 1, length });
        match of.is_empty() {
            true => Ok(Array::empty(DataType::Text).into()),
            false => Ok(Array::with_dimensions(DataType::Text, &lengths, both(of))?.into()),
        }
    });
    catalogue.add_rows("skeys", &[HSTORE], &[("", TEXT)], |_, args, _| Ok(SetRows::of(1, keys(of(args)?))));
    catalogue.add_rows("svals", &[HSTORE], &[("", TEXT)], |_, args, _| Ok(SetRows::of(1, values(of(args)?))));
    let columns = [("key", TEXT), ("value", TEXT)];
    catalogue.add_rows("each", &[HSTORE], &columns, |_, args, _| Ok(SetRows::of(2, both(of(args)?))));
}

/// Comparisons by their names. (`=` and `<>` are those of all types.)
fn orders(catalogue: &mut Catalogue) {
    fn compare<const LEAST: i8, const MOST: i8>(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        let [a, b] = args else { return Err(wrong_arguments(args)) };
        Ok(Value::Boolean((LEAST..=MOST).contains(&(a.compare(b) as i8))))
    }
    let pair = [HSTORE, HSTORE];
    catalogue.add_names(&["hstore_eq"], &pair, BOOLEAN, compare::<0, 0>);
    catalogue.add_names(&["hstore_ne"], &pair, BOOLEAN, |_, args, _| match args {
        [a, b] => Ok(Value::Boolean(a != b)),
        _ => Err(wrong_arguments(args)),
    });
    catalogue.add_names(&["#<#", "hstore_lt"], &pair, BOOLEAN, compare::<-1, -1>);
    catalogue.add_names(&["#<=#", "hstore_le"], &pair, BOOLEAN, compare::<-1, 0>);
    catalogue.add_names(&["#>#", "hstore_gt"], &pair, BOOLEAN, compare::<1, 1>);
    catalogue.add_names(&["#>=#", "hstore_ge"], &pair, BOOLEAN, compare::<0, 1>);
    catalogue.add_names(&["hstore_cmp"], &pair, Declared::Type(DataType::Integer), |_, args, _| match args {
        [a, b] => Ok(Value::Integer(a.compare(b) as i32)),
        _ => Err(wrong_arguments(args)),
    });
}

/// The type that a call was resolved for.
fn kind(function: &Function) -> Result<ExtensionType> {
    match function.returns {
        DataType::Hstore(of) => Ok(of),
        _ => Err(Error::internal("an hstore of no type")),
    }
}

//! `@>`, `<@`, `?`, `?|`, `?&`: what a `jsonb` has in it.

use super::{BOOLEAN, JSONB, TEXT, texts};
use crate::Result;
use crate::functions::Declared;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::types::{Array, DataType, Items, Json, JsonNode, Jsonb, Value};

static TWO: [DataType; 2] = [JSONB, JSONB];
static KEY: [DataType; 2] = [JSONB, TEXT];

pub(super) fn register(catalogue: &mut Catalogue) {
    for name in ["@>", "jsonb_contains"] {
        catalogue.add(name, &TWO, BOOLEAN, |args, _| two(args, |a, b| contains(a.root(), b.root(), true)));
    }
    for name in ["<@", "jsonb_contained"] {
        catalogue.add(name, &TWO, BOOLEAN, |args, _| two(args, |a, b| contains(b.root(), a.root(), true)));
    }
    for name in ["?", "jsonb_exists"] {
        catalogue
            .add(name, &KEY, BOOLEAN, |args, _| match args {
                [Value::Jsonb(document), Value::Text(key)] => exists(document, key).map(Value::Boolean),
                _ => Err(wrong_arguments(args)),
            })
            .bounded();
    }
    let (args, boolean) = ([Declared::Type(JSONB), Declared::Type(texts())], Declared::Type(BOOLEAN));
    for name in ["?|", "jsonb_exists_any"] {
        catalogue.add_polymorphic(name, &args, boolean, |_, args, _| several(args, false));
    }
    for name in ["?&", "jsonb_exists_all"] {
        catalogue.add_polymorphic(name, &args, boolean, |_, args, _| several(args, true));
    }
}

fn two(args: &[Value], holds: fn(&Jsonb, &Jsonb) -> Result<bool>) -> Result<Value> {
    match args {
        [Value::Jsonb(a), Value::Jsonb(b)] => holds(a, b).map(Value::Boolean),
        _ => Err(wrong_arguments(args)),
    }
}

/// A string is a key of the object, an element of the array, or the string itself.
fn exists(document: &Jsonb, key: &str) -> Result<bool> {
    Ok(match document.root().read()? {
        Json::Object(items) => items.get(key)?.is_some(),
        Json::Array(items) => has_scalar(items, &Json::String(key))?,
        Json::String(text) => text == key,
        _ => false,
    })
}

/// NULL among the keys is no key.
fn several(args: &[Value], all: bool) -> Result<Value> {
    let [Value::Jsonb(document), Value::Array(keys)] = args else { return Err(wrong_arguments(args)) };
    let keys: &Array = keys;
    for key in keys.values().iter().filter_map(Value::as_str) {
        if exists(document, key)? != all {
            return Ok(Value::Boolean(!all));
        }
    }
    Ok(Value::Boolean(all))
}

/// All that is in `b` is in `a`: objects' pairs, arrays' elements in any order and number. The whole of an array also
/// contains a scalar that is an element of it.
fn contains(a: JsonNode<'_>, b: JsonNode<'_>, whole: bool) -> Result<bool> {
    match (a.read()?, b.read()?) {
        (Json::Object(a), Json::Object(b)) => {
            if a.len() < b.len() {
                return Ok(false);
            }
            for pair in b.pairs() {
                let (key, wanted) = pair?;
                match a.get(key)? {
                    Some(value) if contains(value, wanted, false)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Json::Array(a), Json::Array(b)) => {
            for wanted in b.elements() {
                if !has(a, wanted?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Array(a), scalar) if whole && !matches!(scalar, Json::Object(_)) => has_scalar(a, &scalar),
        (a, b) => Ok(same_scalar(&a, &b)),
    }
}

fn has(items: Items<'_>, wanted: JsonNode<'_>) -> Result<bool> {
    match wanted.read()? {
        Json::Array(_) | Json::Object(_) => {
            for element in items.elements() {
                if contains(element?, wanted, false)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        scalar => has_scalar(items, &scalar),
    }
}

fn has_scalar(items: Items<'_>, wanted: &Json<'_>) -> Result<bool> {
    for element in items.elements() {
        if same_scalar(&element?.read()?, wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn same_scalar(a: &Json<'_>, b: &Json<'_>) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Boolean(a), Json::Boolean(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => a == b,
        (Json::String(a), Json::String(b)) => a == b,
        _ => false,
    }
}

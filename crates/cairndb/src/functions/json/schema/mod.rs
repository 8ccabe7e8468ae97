//! JSON Schema ([2020-12](https://json-schema.org/draft/2020-12), and what 2019-09 and draft 7 say otherwise):
//! `jsonb_matches_schema` and its kin, under the names that PostgreSQL's extension `pg_jsonschema` gives them.
//!
//! A schema is compiled once and kept per thread. A document is looked at where it lies, without being made into anything else,
//! and no longer than its length allows (`check.rs`): a schema that asks for more is an error. What a schema says that is not
//! understood is either an annotation (`title`, `format`, words of one's own), which asks nothing of a document as the
//! specification has it, or refused when it is compiled.

mod check;
mod compile;
mod pattern;
mod rule;
#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::Arc;

use super::{BOOLEAN, JSON, JSONB, TEXT, texts};
use crate::Result;
use crate::functions::Function;
use crate::functions::catalogue::{Catalogue, Parameter};
use crate::functions::kept::Kept;
use crate::functions::support::wrong_arguments;
use crate::types::{Array, DataType, Jsonb, Value};
use rule::Schema;

static OF_JSON: [DataType; 2] = [JSON, JSON];
static OF_JSONB: [DataType; 2] = [JSON, JSONB];
static ALONE: [DataType; 1] = [JSON];
const NAMES: &[Parameter] = &[("schema", None), ("instance", None)];

pub(super) fn register(catalogue: &mut Catalogue) {
    for (name, types) in [("json_matches_schema", &OF_JSON), ("jsonb_matches_schema", &OF_JSONB)] {
        catalogue
            .add(name, types, BOOLEAN, |args, _| with(args, Schema::matches).map(Value::Boolean))
            .parameters(NAMES);
    }
    for types in [&OF_JSON, &OF_JSONB] {
        catalogue.add("jsonschema_validation_errors", types, texts(), |args, _| {
            let errors = schema_errors(args)?.into_iter().map(Value::text).collect();
            Ok(Value::Array(Arc::new(Array::new(TEXT, errors))))
        });
    }
    catalogue.add("jsonschema_is_valid", &ALONE, BOOLEAN, |args, _| match args {
        [Value::Json(schema)] => Ok(Value::Boolean(compiled(schema).is_ok())),
        _ => Err(wrong_arguments(args)),
    });
}

/// What a compiled schema says of a document.
fn with<T>(args: &[Value], asked: impl FnOnce(&Schema, &Jsonb) -> Result<T>) -> Result<T> {
    match args {
        [Value::Json(schema), document] => {
            let schema = compiled(schema)?;
            match document {
                Value::Jsonb(document) => asked(&schema, document),
                Value::Json(document) => asked(&schema, &document.parse()?),
                _ => Err(wrong_arguments(args)),
            }
        }
        _ => Err(wrong_arguments(args)),
    }
}

/// Whether it says if a document is as a schema, its first argument, asks.
pub(crate) fn is_schema_match(function: &Function) -> bool {
    function.is_built_in() && matches!(&*function.name, "json_matches_schema" | "jsonb_matches_schema")
}

/// # Errors
///
/// SQLSTATE 22023: it is no schema. 0A000: it says what is not understood here.
pub(crate) fn check_schema(schema: &Value) -> Result<()> {
    match schema {
        Value::Json(schema) => compiled(schema).map(drop),
        _ => Ok(()),
    }
}

/// What is wrong with a document by a schema: the first few places. The arguments are those of a function that says whether
/// something is.
pub(crate) fn schema_errors(args: &[Value]) -> Result<Vec<String>> {
    with(args, Schema::errors)
}

thread_local! {
    static COMPILED: Kept<Schema> = const { Kept::new() };
}

fn compiled(text: &str) -> Result<Rc<Schema>> {
    let compile = || compile::compile(text.parse::<Jsonb>()?.root());
    COMPILED.with(|kept| kept.get(text, "", compile))
}

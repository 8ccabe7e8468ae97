//! `j['a'][1]`, `SET j['a'][1] = x`.

use std::sync::Arc;

use super::change::{Change, change_at};
use super::{JSONB, TEXT, part};
use crate::Result;
use crate::functions::Function;
use crate::functions::catalogue::Kernel;
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, Document, EvalContext, JsonBuilder, Value};
use crate::{Error, SqlState};

/// Entries that a syntax calls and no name does; arrays have those above.
const ELEMENT: u64 = u64::MAX - 16;
const WITH_ELEMENT: u64 = u64::MAX - 15;

type Typed = fn(&Function, &[Value], &EvalContext) -> Result<Value>;

/// `j[a][b]`: the document and its subscripts as texts.
pub fn element_at(subscripts: usize) -> Arc<Function> {
    let args = std::iter::once(JSONB).chain(std::iter::repeat_n(TEXT, subscripts)).collect();
    form(ELEMENT, "jsonb_subscript", args, get)
}

/// The document with a part replaced: the document, the part, the subscripts as texts.
pub fn with_element(subscripts: usize) -> Arc<Function> {
    let args = [JSONB, JSONB].into_iter().chain(std::iter::repeat_n(TEXT, subscripts)).collect();
    form(WITH_ELEMENT, "jsonb_set_subscript", args, set)
}

fn form(entry: u64, name: &'static str, args: Box<[DataType]>, eval: Typed) -> Arc<Function> {
    Arc::new(Function { entry, strict: false, ..Function::new(name, args, JSONB, Kernel::Typed(eval)) })
}

fn get(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (document, path) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    Document::of(document)?.path(path.iter().filter_map(Value::as_str)).map(part)
}

fn set(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [document, new, path @ ..] = args else { return Err(wrong_arguments(args)) };
    let step = |step: &Value| {
        step.as_str().map(str::to_owned).ok_or_else(|| {
            let message = "jsonb subscript in assignment must not be null";
            Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
        })
    };
    let path = path.iter().map(step).collect::<Result<Vec<_>>>()?;
    let mut null = JsonBuilder::default();
    null.null();
    let null = null.finish()?;
    let new = match new {
        Value::Jsonb(new) => new,
        _ => &null,
    };
    match document {
        Value::Jsonb(document) => change_at(document.root(), &path, Some(new.root()), Change::Assign),
        // What is NULL becomes an array or an object, as the first subscript asks.
        _ => {
            let mut empty = JsonBuilder::default();
            match path.first().is_some_and(|step| step.parse::<i32>().is_ok()) {
                true => empty.begin_array()?,
                false => empty.begin_object()?,
            }
            empty.end()?;
            change_at(empty.finish()?.root(), &path, Some(new.root()), Change::Assign)
        }
    }
}

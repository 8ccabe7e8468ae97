//! `->`, `->>`, `#>`, `#>>`, `json_extract_path`.

use super::{INTEGER, JSON, JSONB, TEXT, part, part_text, strings, texts};
use crate::Result;
use crate::functions::catalogue::{Catalogue, Parameter};
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function};
use crate::types::{DataType, Document, Value};

static BY_KEY: [[DataType; 2]; 2] = [[JSON, TEXT], [JSONB, TEXT]];
static BY_POSITION: [[DataType; 2]; 2] = [[JSON, INTEGER], [JSONB, INTEGER]];
static EXTRACT: [([DataType; 2], [&str; 2]); 2] = [
    ([JSON, TEXT], ["json_extract_path", "json_extract_path_text"]),
    ([JSONB, TEXT], ["jsonb_extract_path", "jsonb_extract_path_text"]),
];

const PATH: &[Parameter] = &[("from_json", None), ("path_elems", None)];

pub(super) fn register(catalogue: &mut Catalogue) {
    for types in BY_KEY.iter().chain(&BY_POSITION) {
        catalogue.add("->", types, types[0], |args, _| found(args).map(part)).bounded();
        catalogue.add("->>", types, TEXT, |args, _| part_text(found(args)?)).bounded();
    }
    for document in [JSON, JSONB].map(Declared::Type) {
        let args = [document, Declared::Type(texts())];
        catalogue.add_polymorphic("#>", &args, document, |_, args, _| found(args).map(part)).bounded();
        catalogue.add_polymorphic("#>>", &args, Declared::Type(TEXT), |_, args, _| part_text(found(args)?)).bounded();
    }
    for (types, [whole, as_text]) in &EXTRACT {
        catalogue.add(whole, types, types[0], |args, _| extract(args).map(part)).variadic().parameters(PATH);
        catalogue.add(as_text, types, TEXT, |args, _| part_text(extract(args)?)).variadic().parameters(PATH);
    }
}

/// What an operator gives of the part that it finds.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) as_text: bool,
    is_path: bool,
}

impl Access {
    /// That of an operator of `jsonb`; `None`: the function is none.
    pub(super) fn of(function: &Function) -> Option<Access> {
        let (as_text, is_path) = match &*function.name {
            "->" => (false, false),
            "->>" => (true, false),
            "#>" => (false, true),
            "#>>" => (true, true),
            _ => return None,
        };
        let of_jsonb = function.is_built_in() && matches!(*function.args, [JSONB, _]);
        of_jsonb.then_some(Access { as_text, is_path })
    }

    /// Whether the operator's right operand can be this.
    pub(super) fn takes(self, key: &Value) -> bool {
        match key {
            Value::Text(_) | Value::Integer(_) => !self.is_path,
            Value::Array(_) => self.is_path,
            _ => false,
        }
    }
}

/// The part of a document that the right operand names.
pub(super) fn step<'d>(document: Document<'d>, key: &Value) -> Result<Option<Document<'d>>> {
    match key {
        Value::Text(key) => document.field(key),
        Value::Integer(index) => {
            // A `jsonb` that is a scalar is its own first element: PostgreSQL keeps it as an array of one.
            let whole = matches!((document, index), (Document::Node(_), 0 | -1)) && document.kind()?.is_scalar();
            if whole { Ok(Some(document)) } else { document.at((*index).into()) }
        }
        Value::Array(path) => match strings(path) {
            Some(path) => document.path(path.into_iter()),
            None => Ok(None),
        },
        _ => Err(wrong_arguments(std::slice::from_ref(key))),
    }
}

fn found(args: &[Value]) -> Result<Option<Document<'_>>> {
    match args {
        [document, key] => step(Document::of(document)?, key),
        _ => Err(wrong_arguments(args)),
    }
}

fn extract(args: &[Value]) -> Result<Option<Document<'_>>> {
    let (document, path) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    Document::of(document)?.path(path.iter().filter_map(Value::as_str))
}

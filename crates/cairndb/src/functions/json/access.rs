//! `->`, `->>`, `#>`, `#>>`, `json_extract_path`.

use super::{INTEGER, JSON, JSONB, TEXT, part, part_text, strings, texts};
use crate::Result;
use crate::functions::Declared;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, Document, Value};

static BY_KEY: [[DataType; 2]; 2] = [[JSON, TEXT], [JSONB, TEXT]];
static BY_POSITION: [[DataType; 2]; 2] = [[JSON, INTEGER], [JSONB, INTEGER]];
static EXTRACT: [([DataType; 2], [&str; 2]); 2] = [
    ([JSON, TEXT], ["json_extract_path", "json_extract_path_text"]),
    ([JSONB, TEXT], ["jsonb_extract_path", "jsonb_extract_path_text"]),
];

pub(super) fn register(catalogue: &mut Catalogue) {
    for types in BY_KEY.iter().chain(&BY_POSITION) {
        catalogue.add("->", types, types[0], |args, _| step(args).map(part));
        catalogue.add("->>", types, TEXT, |args, _| part_text(step(args)?));
    }
    for document in [JSON, JSONB].map(Declared::Type) {
        let args = [document, Declared::Type(texts())];
        catalogue.add_polymorphic("#>", &args, document, |_, args, _| along(args).map(part));
        catalogue.add_polymorphic("#>>", &args, Declared::Type(TEXT), |_, args, _| part_text(along(args)?));
    }
    for (types, [whole, as_text]) in &EXTRACT {
        catalogue.add(whole, types, types[0], |args, _| extract(args).map(part)).variadic();
        catalogue.add(as_text, types, TEXT, |args, _| part_text(extract(args)?)).variadic();
    }
}

fn step(args: &[Value]) -> Result<Option<Document<'_>>> {
    match args {
        [document, Value::Text(key)] => Document::of(document)?.field(key),
        [document, Value::Integer(index)] => {
            let document = Document::of(document)?;
            // A `jsonb` that is a scalar is its own first element: PostgreSQL keeps it as an array of one.
            let whole = matches!((document, index), (Document::Node(_), 0 | -1)) && document.kind()?.is_scalar();
            if whole { Ok(Some(document)) } else { document.at((*index).into()) }
        }
        _ => Err(wrong_arguments(args)),
    }
}

fn along(args: &[Value]) -> Result<Option<Document<'_>>> {
    let [document, Value::Array(path)] = args else { return Err(wrong_arguments(args)) };
    match strings(path) {
        Some(path) => Document::of(document)?.path(path.into_iter()),
        None => Ok(None),
    }
}

fn extract(args: &[Value]) -> Result<Option<Document<'_>>> {
    let (document, path) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    Document::of(document)?.path(path.iter().filter_map(Value::as_str))
}

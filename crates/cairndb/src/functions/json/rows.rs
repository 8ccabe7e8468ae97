//! `json_array_elements`, `json_each`, `json_object_keys`: a row for each part.

use super::{JSON, JSONB, TEXT};
use crate::functions::catalogue::{Catalogue, Parameter};
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function, SetRows};
use crate::types::{DataType, Document, JsonKind, Value};
use crate::{Error, Result, SqlState};

/// Which parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Elements,
    Pairs,
    Keys,
}

const DOCUMENT: &[Parameter] = &[("from_json", None)];

pub(super) fn register(catalogue: &mut Catalogue) {
    let names = [
        (JSON, ["json_array_elements", "json_array_elements_text", "json_each", "json_each_text", "json_object_keys"]),
        (
            JSONB,
            ["jsonb_array_elements", "jsonb_array_elements_text", "jsonb_each", "jsonb_each_text", "jsonb_object_keys"],
        ),
    ];
    for (document, [elements, element_texts, each, each_text, keys]) in names {
        let [document, text] = [document, TEXT].map(Declared::Type);
        let pair = |value: Declared| [("key", text), ("value", value)];
        catalogue
            .add_rows(elements, &[document], &[("value", document)], |of, args, _| {
                rows_of_document(of, Parts::Elements, false, args)
            })
            .parameters(DOCUMENT);
        catalogue
            .add_rows(element_texts, &[document], &[("value", text)], |of, args, _| {
                rows_of_document(of, Parts::Elements, true, args)
            })
            .parameters(DOCUMENT);
        catalogue
            .add_rows(each, &[document], &pair(document), |of, args, _| rows_of_document(of, Parts::Pairs, false, args))
            .parameters(DOCUMENT);
        catalogue
            .add_rows(each_text, &[document], &pair(text), |of, args, _| rows_of_document(of, Parts::Pairs, true, args))
            .parameters(DOCUMENT);
        catalogue
            .add_rows(keys, &[document], &[("", text)], |of, args, _| rows_of_document(of, Parts::Keys, true, args));
    }
}

/// The rows of a document. `as_text`: values as `->>` gives them.
fn rows_of_document(function: &Function, parts: Parts, as_text: bool, args: &[Value]) -> Result<SetRows> {
    let [argument] = args else { return Err(wrong_arguments(args)) };
    let document = Document::of(argument)?;
    let (kind, wanted) = (document.kind()?, if parts == Parts::Elements { JsonKind::Array } else { JsonKind::Object });
    if kind != wanted {
        return Err(wrong_kind(function, parts, kind));
    }
    let value = |document: Document<'_>| if as_text { document.to_text() } else { Ok(document.to_value()) };
    let values = match parts {
        Parts::Elements => document.elements()?.into_iter().map(value).collect::<Result<_>>()?,
        Parts::Keys => document.pairs()?.into_iter().map(|(key, _)| Value::text(key.as_ref())).collect(),
        Parts::Pairs => {
            let mut values = vec![];
            for (key, part) in document.pairs()? {
                values.push(Value::text(key.as_ref()));
                values.push(value(part)?);
            }
            values
        }
    };
    Ok(SetRows::of(if parts == Parts::Pairs { 2 } else { 1 }, values))
}

/// PostgreSQL's words differ from function to function.
fn wrong_kind(function: &Function, parts: Parts, kind: JsonKind) -> Error {
    let (name, document) = (&function.name, function.args.first().copied().unwrap_or(DataType::Unknown));
    let message = match (parts, document, kind) {
        (Parts::Elements, JSONB, JsonKind::Object) => "cannot extract elements from an object".to_owned(),
        (Parts::Elements, JSONB, _) => "cannot extract elements from a scalar".to_owned(),
        (Parts::Elements, _, JsonKind::Object) => format!("cannot call {name} on a non-array"),
        (Parts::Elements, ..) => format!("cannot call {name} on a scalar"),
        (Parts::Pairs, JSON, JsonKind::Array) => "cannot deconstruct an array as an object".to_owned(),
        (Parts::Pairs, JSON, _) => "cannot deconstruct a scalar".to_owned(),
        (Parts::Pairs, ..) => format!("cannot call {name} on a non-object"),
        (Parts::Keys, _, JsonKind::Array) => format!("cannot call {name} on an array"),
        (Parts::Keys, ..) => format!("cannot call {name} on a scalar"),
    };
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

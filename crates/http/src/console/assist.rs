//! What the page's editor asks for while somebody types.
//!
//! Places in texts are counted in UTF-16, as a page counts them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairn_complete::Completer;
use cairn_parser::token::split_statements;
use cairndb::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::asking::Asking;
use crate::collections::{answer, said};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// The longest text that is looked at for what may follow in it.
const TEXT_BYTES: usize = 256 << 10;
/// How many are offered.
const OFFERED: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    text: String,
}

/// The statements of a text: where each begins and ends.
pub(super) async fn statements(State(app): State<Arc<App>>, _: Principal, headers: HeaderMap, body: Body) -> Answer {
    let Script { text } = said(&app, &headers, body).await?;
    let mut places = Places { text: &text, bytes: 0, units: 0 };
    let mut place = |statement: cairn_parser::token::SourceStatement<'_>| {
        json!([places.unit(statement.start), places.unit(statement.start + statement.text.len())])
    };
    let told: Vec<Value> = split_statements(&text).map(&mut place).collect();
    Ok(answer(StatusCode::OK, &json!({ "statements": told })))
}

/// Places of a text that are asked for in order.
struct Places<'a> {
    text: &'a str,
    bytes: usize,
    units: usize,
}

impl Places<'_> {
    fn unit(&mut self, byte: usize) -> usize {
        self.units += self.text[self.bytes..byte].encode_utf16().count();
        self.bytes = byte;
        self.units
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    text: String,
    cursor: usize,
}

/// What may stand at the cursor: from where on, and what.
pub(super) async fn complete(asking: Asking, body: Body) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let At { text, cursor } = asking.said(body).await?;
    if text.len() > TEXT_BYTES {
        return Err(Problem::wrong("the text is too long to be completed"));
    }
    let schema = open.reading()?.call(|connection: &Connection| connection.schema()).await?;
    let told = tokio::task::block_in_place(|| {
        let mut completer = Completer::default();
        completer.learn(&schema);
        let (start, mut found) = completer.candidates(&text, byte_of(&text, cursor));
        found.truncate(OFFERED);
        json!({ "start": text[..start].encode_utf16().count(), "candidates": found })
    });
    Ok(answer(StatusCode::OK, &told))
}

/// The byte of a place.
fn byte_of(text: &str, unit: usize) -> usize {
    let mut units = 0;
    let place = text.char_indices().find(|(_, c)| {
        let is_there = units >= unit;
        units += c.len_utf16();
        is_there
    });
    place.map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_pages() {
        let text = "a\u{1f680}b\u{e4}c";
        assert_eq!([0, 1, 3, 4, 5, 6, 99].map(|unit| byte_of(text, unit)), [0, 1, 5, 6, 8, 9, 9]);
        let mut places = Places { text, bytes: 0, units: 0 };
        assert_eq!([0, 5, 8].map(|byte| places.unit(byte)), [0, 3, 5]);
    }
}

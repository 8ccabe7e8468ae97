//! Many new documents: an array, or lines of JSON.
//!
//! All of them or none, as one statement; or, where that is asked for (`?atomic=false`), in commits of some of them as they come: what is told, or
//! what a client that broke off finds, is then a prefix of what was sent.

use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use cairndb::{Connection, Error, SqlState};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::asking::Asking;
use crate::body::{self, Parts};
use crate::collections::answer;
use crate::databases::Open;
use crate::documents::id_of;
use crate::names::{asked, is_true};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// So much of a body that is not one statement is one commit.
const COMMIT_BYTES: usize = 1 << 20;

/// What bodies may be.
const KINDS: [&str; 2] = [body::NDJSON, body::JSON];

/// What is asked in the path.
#[derive(Clone, Copy)]
struct Asked {
    is_atomic: bool,
    /// Each says its id: `{"id": .., "doc": ..}`.
    has_ids: bool,
}

/// A document with its id.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    id: String,
    #[serde(borrow)]
    doc: &'a RawValue,
}

pub(crate) async fn insert(asking: Asking, RawQuery(query): RawQuery, body: Body) -> Answer {
    let open = asking.documents(Scope::Write).await?;
    body::check_kind(&asking.headers, &KINDS)?;
    let asked = read_asked(query.as_deref())?;
    let is_lines = body::kind(&asking.headers) == body::NDJSON;
    if !asked.is_atomic {
        if !is_lines {
            return Err(Problem::wrong("an array is inserted as a whole").hint("Send lines: application/x-ndjson."));
        }
        return in_parts(&asking, (&open, asked), body).await;
    }
    let text = asking.text(&KINDS, body).await?;
    let inserted = write((&open, &asking), (asked, is_lines), text).await?;
    Ok(answer(StatusCode::CREATED, &json!({ "inserted": inserted })))
}

fn read_asked(query: Option<&str>) -> Result<Asked, Problem> {
    let mut of = Asked { is_atomic: true, has_ids: false };
    for (name, value) in asked(query, &["atomic", "ids"])? {
        let said = is_true(&name, &value)?;
        if name == "atomic" { of.is_atomic = said } else { of.has_ids = said }
    }
    Ok(of)
}

/// Inserts all of a text; how many they are.
async fn write(
    (open, asking): (&Open, &Asking),
    (asked, is_lines): (Asked, bool),
    text: String,
) -> Result<u64, Problem> {
    let (principal, name) = (asking.principal.clone(), asking.names.collection.clone());
    let insert = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let docs = docs_of(&text, is_lines)?;
        if !asked.has_ids {
            return collection.insert_many(docs);
        }
        let entry = |doc: &str| {
            let entry: Entry<'_> = serde_json::from_str(doc).map_err(|error| not_json(&error))?;
            Ok((id_of(collection.info(), &entry.id)?, entry.doc.get().to_owned()))
        };
        let entries = docs.into_iter().map(entry).collect::<Result<Vec<_>, Error>>()?;
        collection.insert_many_as(entries)
    };
    Ok(open.database.call_pipelined(insert).await?)
}

/// The documents of a text, each as it is there.
fn docs_of(text: &str, is_lines: bool) -> Result<Vec<&str>, Error> {
    if is_lines {
        return Ok(text.lines().filter(|line| !line.trim().is_empty()).collect());
    }
    let docs: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    Ok(docs.into_iter().map(RawValue::get).collect())
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
        .with_detail(error.to_string())
}

/// Inserts lines as they come.
async fn in_parts(asking: &Asking, (open, asked): (&Open, Asked), body: Body) -> Answer {
    let options = asking.app.options();
    let (mut parts, mut waiting, mut inserted) = (Parts::of(body, options.request_timeout), Vec::new(), 0);
    loop {
        let part = parts.next().await.map_err(|problem| problem.with("inserted", inserted))?;
        let is_end = part.is_none();
        waiting.extend_from_slice(&part.unwrap_or_default());
        let end =
            if is_end { waiting.len() } else { waiting.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1) };
        if (end >= COMMIT_BYTES || is_end) && end > 0 {
            let lines: Vec<u8> = waiting.drain(..end).collect();
            let text = String::from_utf8(lines).map_err(|_| body::not_utf8().with("inserted", inserted))?;
            let written = write((open, asking), (asked, true), text).await;
            inserted += written.map_err(|problem| problem.with("inserted", inserted))?;
        }
        if waiting.len() > options.body_bytes {
            return Err(body::too_long(options.body_bytes).with("inserted", inserted));
        }
        if is_end {
            return Ok(answer(StatusCode::CREATED, &json!({ "inserted": inserted })));
        }
    }
}

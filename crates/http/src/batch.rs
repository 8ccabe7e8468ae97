//! Several changes as one: all of them are done, in one commit, or none, whichever collections they are of.

use axum::body::Body;
use axum::http::StatusCode;
use cairndb::{Collection, Connection, Error, SqlState, Value};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::asking::Asking;
use crate::collections::answer;
use crate::documents::{Written, id_of, id_text, no_document};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// More are several batches, or a bulk.
const OPERATIONS_MAX: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    operations: Vec<Operation>,
}

/// What is done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Insert,
    Put,
    Merge,
    Patch,
    Delete,
}

/// A change. With `if_match` it is done to the state of that tag, as it was told, or the batch is not done.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    op: Kind,
    collection: String,
    id: Option<String>,
    doc: Option<Box<RawValue>>,
    patch: Option<Box<RawValue>>,
    if_match: Option<String>,
}

pub(crate) async fn run(asking: Asking, body: Body) -> Answer {
    let Batch { operations } = asking.said(body).await?;
    if operations.is_empty() || operations.len() > OPERATIONS_MAX {
        return Err(Problem::wrong(format!("a batch has from 1 to {OPERATIONS_MAX} operations")));
    }
    let Asking { app, principal, names, .. } = asking;
    let database = app.services.name(&names.database);
    for operation in &operations {
        principal.check_documents(database, &operation.collection, Scope::Write)?;
    }
    let open = app.documents(&principal, (database, &operations[0].collection), Scope::Write).await?;
    let all = move |connection: &Connection| {
        connection.transaction(|_| {
            let done = operations.iter().enumerate().map(|(at, operation)| {
                let detail = |error: Error| match error.detail() {
                    None => error.with_detail(format!("It is operation {at} of the batch, counted from 0.")),
                    Some(_) => error,
                };
                one(connection, &principal, operation).map_err(detail)
            });
            done.collect::<Result<Vec<serde_json::Value>, Error>>()
        })
    };
    let results = open.database.call_pipelined(all).await?;
    Ok(answer(StatusCode::OK, &json!({ "results": results })))
}

fn one(connection: &Connection, principal: &Principal, operation: &Operation) -> Result<serde_json::Value, Error> {
    let collection = principal.collection(connection, &operation.collection)?;
    operation.check()?;
    let id = operation.id.as_deref().map(|id| id_of(collection.info(), id)).transpose()?;
    let text = operation.doc.as_ref().or(operation.patch.as_ref()).map_or("", |text| text.get());
    let Some(id) = id else {
        let written = collection.insert(text)?;
        return Ok(told(&collection, (id_text(&written.id), written.version, true)));
    };
    let version = match &operation.if_match {
        Some(tag) => Some(collection.version_of(tag).ok_or_else(not_so)?),
        None => None,
    };
    let (version, is_new) = match version {
        Some(version) => (replaced(&collection, operation, (&id, text, version))?.ok_or_else(not_so)?, false),
        None => changed(&collection, operation, (&id, text))?,
    };
    Ok(match version {
        Some(version) => told(&collection, (id_text(&id), version, is_new)),
        None => json!({ "id": id_text(&id), "deleted": true }),
    })
}

/// The document is not as `if_match` has it.
fn not_so() -> Error {
    Error::new(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, "the document is not as if_match has it")
}

fn told(collection: &Collection<'_>, (id, version, is_new): (String, i64, bool)) -> serde_json::Value {
    Written { id, version, etag: collection.etag(version), is_new }.json()
}

/// The version that the document has by it; none within: it is gone. `None`: it had not this one.
fn replaced(
    collection: &Collection<'_>,
    operation: &Operation,
    (id, text, version): (&Value, &str, i64),
) -> Result<Option<Option<i64>>, Error> {
    Ok(match operation.op {
        Kind::Delete => collection.delete_if(id, version)?.then_some(None),
        Kind::Merge => collection.update_if(id, text, version)?.map(Some),
        Kind::Patch => collection.patch_if(id, text, version)?.map(Some),
        Kind::Insert | Kind::Put => collection.replace_if(id, text, version)?.map(Some),
    })
}

/// The version that the document has by it, if it is not gone, and whether it is new.
fn changed(
    collection: &Collection<'_>,
    operation: &Operation,
    (id, text): (&Value, &str),
) -> Result<(Option<i64>, bool), Error> {
    let missing = || no_document(operation.id.as_deref().unwrap_or_default());
    Ok(match operation.op {
        Kind::Insert => (Some(collection.insert_as(id, text)?.version), true),
        Kind::Put => (Some(collection.put(id, text)?), false),
        Kind::Merge => (Some(collection.update(id, text)?.ok_or_else(missing)?), false),
        Kind::Patch => (Some(collection.patch(id, text)?.ok_or_else(missing)?), false),
        Kind::Delete if collection.delete(id)? => (None, false),
        Kind::Delete => return Err(missing()),
    })
}

impl Operation {
    /// Whether it says what it has to. SQLSTATE 22023.
    fn check(&self) -> Result<(), Error> {
        let (doc, patch, id) = (self.doc.is_some(), self.patch.is_some(), self.id.is_some());
        let is_right = match self.op {
            Kind::Insert => doc && !patch && self.if_match.is_none(),
            Kind::Put => doc && !patch && id,
            Kind::Merge | Kind::Patch => patch && !doc && id,
            Kind::Delete => id && !doc && !patch,
        };
        let hint = "insert has doc and perhaps id; put id and doc; merge and patch id and patch; delete id.";
        let message = || format!("the operation {:?} has not what it needs, or more", self.op).to_lowercase();
        is_right.then_some(()).ok_or_else(|| Error::new(SqlState::INVALID_PARAMETER_VALUE, message()).with_hint(hint))
    }
}

//! One document by its id, and a new one.
//!
//! What a request has for a body goes to the engine as the text that it is. Conditions (`If-Match`) are part of the statement that writes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use cairndb::{Collection, Connection, Error, SqlState, Value, to_text};
use serde_json::json;

use crate::app::App;
use crate::body;
use crate::collections::{answer, empty, json_text};
use crate::etag::{Condition, Conditions, quoted};
use crate::names::{Names, encoded};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// What was written, as it is told.
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) etag: String,
    pub(crate) is_new: bool,
}

impl Written {
    /// The id as JSON: numbers of collections that have such are beyond what doubles tell apart, so every id is a string.
    pub(crate) fn json(&self) -> serde_json::Value {
        json!({ "id": self.id, "version": self.version, "etag": self.etag })
    }

    fn answer(&self, database: &str, collection: &str) -> Response<Body> {
        let mut answer = answer(if self.is_new { StatusCode::CREATED } else { StatusCode::OK }, &self.json());
        let headers = answer.headers_mut();
        headers.insert(header::ETAG, quoted(&self.etag));
        if self.is_new {
            let [database, collection, id] = [database, collection, &self.id].map(encoded);
            let location = format!("/db/{database}/collections/{collection}/documents/{id}");
            headers.extend(HeaderValue::from_str(&location).map(|location| (header::LOCATION, location)));
        }
        answer
    }
}

/// The id of a document as text.
pub(crate) fn id_text(id: &Value) -> String {
    to_text(id, &cairndb::EvalContext::default())
}

/// The id that a path names. SQLSTATE P0002 where no document of the collection can have it.
pub(crate) fn id_of(collection: &Collection<'_>, text: &str) -> Result<Value, Error> {
    collection.id(text).ok_or_else(|| no_document(text))
}

pub(crate) fn no_document(id: &str) -> Error {
    Error::new(SqlState::NO_DATA_FOUND, format!("there is no document \"{id}\""))
}

/// A document that is not as a condition has it.
fn not_so(id: &str) -> Problem {
    Problem::condition(format!("document \"{id}\" is not as If-Match or If-None-Match has it")).hint("Read it again.")
}

/// What came of something that a condition could be in the way of.
type Done<T> = Result<Option<T>, Error>;

/// Makes a document with an id that it gets.
pub(crate) async fn insert(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Write).await?;
    body::check_kind(&headers, &[body::JSON])?;
    let options = app.options();
    let doc = body::text(body, options.body_bytes, options.request_timeout).await?;
    let name = collection.clone();
    let insert = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let written = collection.insert(doc)?;
        let (id, version) = (id_text(&written.id), written.version);
        Ok(Written { id, version, etag: collection.etag(version), is_new: true })
    };
    let written = open.database.call_pipelined(insert).await?;
    Ok(written.answer(&database, &collection))
}

/// Reads a document: its body is the document itself.
pub(crate) async fn get(State(app): State<Arc<App>>, principal: Principal, names: Names, headers: HeaderMap) -> Answer {
    let Names { database, collection, id } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Read).await?;
    let conditions = Conditions::of(&headers)?;
    let asked = id.clone();
    let read = move |connection: &Connection| {
        let collection = principal.collection(connection, &collection)?;
        let found = collection.get(id_of(&collection, &asked)?)?.ok_or_else(|| no_document(&asked))?;
        Ok((collection.etag(found.version), found.doc.to_string()))
    };
    let (etag, doc) = open.database.call(read).await?;
    if conditions.if_match != Condition::None && !conditions.if_match.names(&etag) {
        return Err(not_so(&id));
    }
    let mut answer = match conditions.if_none_match.names(&etag) {
        true => {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        }
        false => json_text(StatusCode::OK, doc),
    };
    answer.headers_mut().insert(header::ETAG, quoted(&etag));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(answer)
}

/// Puts a document under an id.
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let Names { database, collection, id } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Write).await?;
    body::check_kind(&headers, &[body::JSON])?;
    let conditions = Conditions::of(&headers)?;
    let options = app.options();
    let doc = body::text(body, options.body_bytes, options.request_timeout).await?;
    let (name, asked) = (collection.clone(), id.clone());
    let put = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let id = id_of(&collection, &asked)?;
        let written = put_if(&collection, (&id, &Value::text(doc.as_str())), &conditions)?;
        Ok(written.map(|(version, is_new)| Written { id: asked, version, etag: collection.etag(version), is_new }))
    };
    let written = open.database.call_pipelined(put).await?.ok_or_else(|| not_so(&id))?;
    Ok(written.answer(&database, &collection))
}

/// The version, and whether the document is new.
fn put_if(collection: &Collection<'_>, (id, doc): (&Value, &Value), conditions: &Conditions) -> Done<(i64, bool)> {
    if conditions.if_none_match != Condition::None {
        if conditions.if_none_match != Condition::Any {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "If-None-Match of a change is not supported but as *",
            ));
        }
        return match collection.insert_as(id, doc) {
            Ok(written) => Ok(Some((written.version, true))),
            // (Where it is unique in something else, that is told.)
            Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION && collection.get(id)?.is_some() => Ok(None),
            Err(error) => Err(error),
        };
    }
    let replaced = match &conditions.if_match {
        Condition::None => {
            let written = collection.upsert(id, doc)?;
            return Ok(Some((written.version, written.is_new)));
        }
        Condition::Any => collection.replace(id, doc)?,
        tags => first(tags.versions(collection), |version| collection.replace_if(id, doc, version))?,
    };
    Ok(replaced.map(|version| (version, false)))
}

/// What comes of the first of these versions that the document has. (It has none twice, so that one after the other is as all at once.)
fn first<T>(versions: Vec<i64>, run: impl FnMut(i64) -> Done<T>) -> Done<T> {
    let mut done = versions.into_iter().map(run).filter_map(Result::transpose);
    done.next().transpose()
}

/// Changes parts of a document.
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let Names { database, collection, id } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Write).await?;
    body::check_kind(&headers, &[body::MERGE_PATCH, body::JSON_PATCH])?;
    let merges = body::kind(&headers) == body::MERGE_PATCH;
    let conditions = Conditions::of(&headers)?;
    let options = app.options();
    let patch = body::text(body, options.body_bytes, options.request_timeout).await?;
    let (name, asked) = (collection.clone(), id.clone());
    let change = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let id = id_of(&collection, &asked)?;
        let patched = patch_if(&collection, (&id, merges, &patch), &conditions.if_match)?;
        Ok(patched.map(|version| Written { id: asked, version, etag: collection.etag(version), is_new: false }))
    };
    let is_missing = headers.get(header::IF_MATCH).is_none();
    let written = open.database.call_pipelined(change).await?;
    match written {
        Some(written) => Ok(written.answer(&database, &collection)),
        None if is_missing => Err(no_document(&id).into()),
        None => Err(not_so(&id)),
    }
}

/// The document's version; `None`: the condition is not so, or there is none.
fn patch_if(collection: &Collection<'_>, (id, merges, patch): (&Value, bool, &str), if_match: &Condition) -> Done<i64> {
    match if_match {
        Condition::None | Condition::Any if merges => collection.update(id, patch),
        Condition::None | Condition::Any => collection.patch(id, patch),
        tags => first(tags.versions(collection), |version| match merges {
            true => collection.update_if(id, patch, version),
            false => collection.patch_if(id, patch, version),
        }),
    }
}

/// Deletes a document.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
) -> Answer {
    let Names { database, collection, id } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Write).await?;
    let conditions = Conditions::of(&headers)?;
    let is_unconditional = conditions.if_match == Condition::None;
    let asked = id.clone();
    let delete = move |connection: &Connection| {
        let collection = principal.collection(connection, &collection)?;
        let id = id_of(&collection, &asked)?;
        match &conditions.if_match {
            Condition::None | Condition::Any => collection.delete(&id),
            tags => {
                let gone = |version| Ok(collection.delete_if(&id, version)?.then_some(()));
                first(tags.versions(&collection), gone).map(|gone| gone.is_some())
            }
        }
    };
    match open.database.call_pipelined(delete).await? {
        true => Ok(empty()),
        false if is_unconditional => Err(no_document(&id).into()),
        false => Err(not_so(&id)),
    }
}

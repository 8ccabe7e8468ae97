//! One document by its id, and a new one.
//!
//! What a request has for a body goes to the engine as the text that it is. Conditions (`If-Match`) are part of the statement that writes.

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{Response, StatusCode};
use cairndb::internals::ById;
use cairndb::{CollectionInfo, Error, SqlState, Value, to_text};
use cairndb_async::Collection;
use serde_json::json;

use crate::asking::Asking;
use crate::body;
use crate::collections::{answer, empty, json_text};
use crate::etag::{Condition, Conditions, quoted};
use crate::names::{Names, encoded};
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

    fn answer(&self, of: &Names) -> Response<Body> {
        let mut answer = answer(if self.is_new { StatusCode::CREATED } else { StatusCode::OK }, &self.json());
        let headers = answer.headers_mut();
        headers.insert(header::ETAG, quoted(&self.etag));
        if self.is_new {
            let [database, collection, id] = [&of.database, &of.collection, &self.id].map(|name| encoded(name));
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
pub(crate) fn id_of(collection: &CollectionInfo, text: &str) -> Result<Value, Error> {
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
pub(crate) async fn insert(asking: Asking, body: Body) -> Answer {
    let open = asking.documents(Scope::Write).await?;
    let doc = asking.text(&[body::JSON], body).await?;
    let of = asking.collection(&open).await?;
    let written = of.insert(&doc).await?;
    let (id, version) = (id_text(&written.id), written.version);
    let written = Written { id, version, etag: of.info().etag(version), is_new: true };
    Ok(written.answer(&asking.names))
}

/// Reads a document: its body is the document itself.
pub(crate) async fn get(asking: Asking) -> Answer {
    let open = asking.documents(Scope::Read).await?;
    let conditions = Conditions::of(&asking.headers)?;
    let (collection, id) = (asking.collection(&open).await?, &asking.names.id);
    let found = collection.get(id_of(collection.info(), id)?).await?.ok_or_else(|| no_document(id))?;
    let etag = collection.info().etag(found.version);
    if conditions.if_match != Condition::None && !conditions.if_match.names_strongly(&etag) {
        return Err(not_so(id));
    }
    let mut answer = match conditions.if_none_match.names(&etag) {
        true => {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        }
        false => json_text(StatusCode::OK, found.doc.to_string()),
    };
    answer.headers_mut().insert(header::ETAG, quoted(&etag));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(answer)
}

/// Puts a document under an id.
pub(crate) async fn put(asking: Asking, body: Body) -> Answer {
    let open = asking.documents(Scope::Write).await?;
    let conditions = Conditions::of(&asking.headers)?.of_put()?;
    let doc = asking.text(&[body::JSON], body).await?;
    let (of, id) = (asking.collection(&open).await?, &asking.names.id);
    let key = id_of(of.info(), id)?;
    let (version, is_new) = put_if(&of, (&key, &doc), &conditions).await?.ok_or_else(|| not_so(id))?;
    Ok(Written { id: id.clone(), version, etag: of.info().etag(version), is_new }.answer(&asking.names))
}

/// The version, and whether the document is new.
async fn put_if(of: &Collection, (id, doc): (&Value, &str), conditions: &Conditions) -> Done<(i64, bool)> {
    match &conditions.if_none_match {
        Condition::None => {}
        Condition::Any => {
            return match of.insert_as(id, doc).await {
                Ok(written) => Ok(Some((written.version, true))),
                // (Where it is unique in something else, that is told.)
                Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION && of.get(id).await?.is_some() => Ok(None),
                Err(error) => Err(error),
            };
        }
        tags => return put_if_other(of, (id, doc), tags).await,
    }
    let replaced = match &conditions.if_match {
        Condition::None => {
            let written = of.upsert(id, doc).await?;
            return Ok(Some((written.version, written.is_new)));
        }
        Condition::Any => of.replace(id, doc).await?,
        tags => {
            // (The document has none of them twice, so that one after the other is as all at once.)
            let mut replaced = None;
            for version in tags.versions(of.info()) {
                replaced = of.replace_if(id, doc, version).await?;
                if replaced.is_some() {
                    break;
                }
            }
            replaced
        }
    };
    Ok(replaced.map(|version| (version, false)))
}

/// The same, where the document that is there has none of these tags.
async fn put_if_other(of: &Collection, (id, doc): (&Value, &str), tags: &Condition) -> Done<(i64, bool)> {
    let mut attempt = 0;
    loop {
        match of.get(id).await? {
            Some(now) if tags.names(&of.info().etag(now.version)) => return Ok(None),
            // (Where it is another by now, it is looked at again.)
            Some(now) => match of.replace_if(id, doc, now.version).await? {
                Some(version) => return Ok(Some((version, false))),
                None => continue,
            },
            None => {}
        }
        attempt += 1;
        match of.insert_as(id, doc).await {
            // Somebody was faster, or it is unique in something else: that is told once more.
            Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION && attempt < ById::UPSERT_ATTEMPTS => {}
            written => return Ok(Some((written?.version, true))),
        }
    }
}

/// Changes parts of a document.
pub(crate) async fn patch(asking: Asking, body: Body) -> Answer {
    let open = asking.documents(Scope::Write).await?;
    let if_match = Conditions::of(&asking.headers)?.of_change()?;
    let merges = body::kind(&asking.headers) == body::MERGE_PATCH;
    let patch = asking.text(&[body::MERGE_PATCH, body::JSON_PATCH], body).await?;
    let (of, id) = (asking.collection(&open).await?, &asking.names.id);
    let (key, is_plain) = (id_of(of.info(), id)?, if_match == Condition::None);
    let change = move |of: &cairndb::Collection<'_>| patch_if(of, (&key, merges, &patch), &if_match);
    match of.call(change).await? {
        Some(version) => {
            let etag = of.info().etag(version);
            Ok(Written { id: id.clone(), version, etag, is_new: false }.answer(&asking.names))
        }
        None if is_plain => Err(no_document(id).into()),
        None => Err(not_so(id)),
    }
}

/// The document's version; `None`: the condition is not so, or there is none.
fn patch_if(
    collection: &cairndb::Collection<'_>,
    (id, merges, patch): (&Value, bool, &str),
    if_match: &Condition,
) -> Done<i64> {
    match if_match {
        Condition::None | Condition::Any if merges => collection.update(id, patch),
        Condition::None | Condition::Any => collection.patch(id, patch),
        tags => {
            let one = |version| match merges {
                true => collection.update_if(id, patch, version),
                false => collection.patch_if(id, patch, version),
            };
            let mut done = tags.versions(collection.info()).into_iter().map(one).filter_map(Result::transpose);
            done.next().transpose()
        }
    }
}

/// Deletes a document.
pub(crate) async fn delete(asking: Asking) -> Answer {
    let open = asking.documents(Scope::Write).await?;
    let if_match = Conditions::of(&asking.headers)?.of_change()?;
    let (of, id) = (asking.collection(&open).await?, &asking.names.id);
    let key = id_of(of.info(), id)?;
    let is_gone = match &if_match {
        Condition::None if of.delete(&key).await? => true,
        Condition::None => return Err(no_document(id).into()),
        Condition::Any => of.delete(&key).await?,
        tags => {
            let mut is_gone = false;
            for version in tags.versions(of.info()) {
                is_gone = is_gone || of.delete_if(&key, version).await?;
            }
            is_gone
        }
    };
    is_gone.then(empty).ok_or_else(|| not_so(id))
}

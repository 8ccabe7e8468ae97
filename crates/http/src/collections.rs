//! Collections, as requests make, list, describe and drop them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use cairndb::{Collection, CollectionOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::asking::Asking;
use crate::body;
use crate::names::{check_name, encoded};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// An answer of JSON.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response<Body> {
    json_text(status, body.to_string())
}

/// The same, of a text that is JSON.
pub(crate) fn json_text(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(body::JSON));
    response
}

/// An answer without a body.
pub(crate) fn empty() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// What a request says in a small body of JSON; nothing is as `{}`.
pub(crate) async fn said<T: serde::de::DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Problem> {
    let options = app.options();
    let text = body::text(body, options.body_bytes, options.request_timeout).await?;
    if text.is_empty() {
        return body::parsed("{}");
    }
    body::check_kind(headers, &[body::JSON])?;
    body::parsed(&text)
}

/// The databases that there are, for who may ask.
pub(crate) async fn databases(State(app): State<Arc<App>>, principal: Principal) -> Answer {
    let services = app.services.clone();
    let own = services.own().map(|own| own.name().to_owned());
    let listed = tokio::task::spawn_blocking(move || services.databases()).await;
    let listed = listed.map_err(|_| Problem::missing("the folder could not be read"))?;
    let is_known = |name: &String| Some(name) != own.as_ref() && principal.knows_database(name);
    let names: Vec<String> = listed.into_iter().filter(is_known).collect();
    Ok(answer(StatusCode::OK, &json!({ "databases": names })))
}

/// The collections of a database.
pub(crate) async fn list(asking: Asking) -> Answer {
    let (principal, database) = (&asking.principal, &asking.names.database);
    // Who may see some collections is told of those.
    let only = if let Principal::Token(token) = principal { token.collections.as_slice() } else { &[] };
    let open = match only.first() {
        Some(one) => asking.app.database(principal, (database, Some(one)), Scope::Read).await?,
        None => asking.database(Scope::Read).await?,
    };
    let mut all = open.database.call(|connection| connection.collection_names()).await?;
    all.retain(|name| only.is_empty() || only.contains(name));
    Ok(answer(StatusCode::OK, &json!({ "collections": all })))
}

/// What a collection is.
pub(crate) async fn describe(asking: Asking) -> Answer {
    let ids = asking.with_collection(Scope::Read, |collection| Ok(collection.id_type())).await?;
    Ok(answer(StatusCode::OK, &json!({ "name": asking.names.collection, "ids": ids })))
}

/// What a new collection is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    ids: Option<String>,
    change_feed: Option<bool>,
}

/// Makes a collection, where there is none; 201 then.
pub(crate) async fn create(asking: Asking, body: Body) -> Answer {
    let open = asking.database(Scope::Manage).await?;
    let (database, collection) = (&asking.names.database, &asking.names.collection);
    check_name(collection)?;
    let new: New = asking.said(body).await?;
    let mut options = CollectionOptions::default();
    options.ids = new.ids.unwrap_or(options.ids);
    options.change_feed = new.change_feed.unwrap_or(options.change_feed);
    let (name, ids) = (collection.clone(), options.ids.clone());
    let is_new = open.database.call(move |connection| connection.create_collection_with(&name, &options)).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut answer = answer(status, &json!({ "name": collection, "ids": ids }));
    let location = format!("/db/{}/collections/{}", encoded(database), encoded(collection));
    answer.headers_mut().extend(HeaderValue::from_str(&location).map(|location| (header::LOCATION, location)));
    Ok(answer)
}

/// Drops a collection.
pub(crate) async fn remove(asking: Asking) -> Answer {
    let (open, name) = (asking.database(Scope::Manage).await?, asking.names.collection.clone());
    open.database.call(move |connection| connection.drop_collection(&name)).await?;
    Ok(empty())
}

/// An index over a path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    path: String,
    #[serde(default)]
    kind: Kind,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Plain,
    Unique,
    Elements,
}

/// Makes an index.
pub(crate) async fn index(asking: Asking, body: Body) -> Answer {
    asking.database(Scope::Manage).await?;
    let Index { path, kind } = asking.said(body).await?;
    let told = json!({ "path": path });
    let make = move |collection: &Collection<'_>| match kind {
        Kind::Plain => collection.create_index(&path),
        Kind::Unique => collection.create_unique_index(&path),
        Kind::Elements => collection.create_elements_index(&path),
    };
    asking.with_collection(Scope::Manage, make).await?;
    Ok(answer(StatusCode::CREATED, &told))
}

/// The JSON Schema that documents have to be as.
pub(crate) async fn schema(asking: Asking) -> Answer {
    let schema = asking.with_collection(Scope::Read, |collection| collection.schema()).await?;
    let missing = || Problem::missing(format!("collection \"{}\" has no schema", asking.names.collection));
    Ok(json_text(StatusCode::OK, schema.ok_or_else(missing)?))
}

/// Sets it, if all documents that there are are so.
pub(crate) async fn set_schema(asking: Asking, body: Body) -> Answer {
    asking.database(Scope::Manage).await?;
    let schema = asking.text(&[body::JSON, body::SCHEMA], body).await?;
    asking.with_collection(Scope::Manage, move |collection| collection.set_schema(Some(&schema))).await?;
    Ok(empty())
}

/// Takes it away.
pub(crate) async fn remove_schema(asking: Asking) -> Answer {
    asking.with_collection(Scope::Manage, |collection| collection.set_schema(None)).await?;
    Ok(empty())
}

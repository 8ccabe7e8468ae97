//! The rules of a collection, as requests read and set them: what somebody may do who shows a JSON Web Token.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairndb::Rules;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::collections::{answer, empty, said};
use crate::names::Names;
use crate::principal::Principal;
use crate::problem::Answer;
use crate::token::Scope;

/// All of them; what is not said nobody may.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Said {
    list: Option<String>,
    view: Option<String>,
    create: Option<String>,
    update: Option<String>,
    delete: Option<String>,
}

/// What they are.
pub(crate) async fn get(State(app): State<Arc<App>>, principal: Principal, names: Names) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.database(&principal, (&database, Some(&collection)), Scope::Manage).await?;
    let rules = open.database.call(move |connection| connection.collection(&collection)?.rules()).await?;
    let Rules { list, view, create, update, delete, .. } = rules;
    Ok(answer(StatusCode::OK, &json!(Said { list, view, create, update, delete })))
}

/// Sets all of them.
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.database(&principal, (&database, Some(&collection)), Scope::Manage).await?;
    let said: Said = said(&app, &headers, body).await?;
    let mut rules = Rules::default();
    (rules.list, rules.view) = (said.list, said.view);
    (rules.create, rules.update, rules.delete) = (said.create, said.update, said.delete);
    open.database.call(move |connection| connection.collection(&collection)?.set_rules(&rules)).await?;
    Ok(empty())
}

/// Takes all of them away.
pub(crate) async fn delete(State(app): State<Arc<App>>, principal: Principal, names: Names) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.database(&principal, (&database, Some(&collection)), Scope::Manage).await?;
    let none = Rules::default();
    open.database.call(move |connection| connection.collection(&collection)?.set_rules(&none)).await?;
    Ok(empty())
}

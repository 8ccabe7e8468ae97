//! The rules of a collection, as requests read and set them: what somebody may do who shows a JSON Web Token.

use axum::body::Body;
use axum::http::StatusCode;
use cairndb::Rules;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::asking::Asking;
use crate::collections::{answer, empty};
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
pub(crate) async fn get(asking: Asking) -> Answer {
    let rules = asking.with_collection(Scope::Manage, |collection| collection.rules()).await?;
    let Rules { list, view, create, update, delete, .. } = rules;
    Ok(answer(StatusCode::OK, &json!(Said { list, view, create, update, delete })))
}

/// Sets all of them.
pub(crate) async fn put(asking: Asking, body: Body) -> Answer {
    asking.database(Scope::Manage).await?;
    let said: Said = asking.said(body).await?;
    let mut rules = Rules::default();
    (rules.list, rules.view) = (said.list, said.view);
    (rules.create, rules.update, rules.delete) = (said.create, said.update, said.delete);
    asking.with_collection(Scope::Manage, move |collection| collection.set_rules(&rules)).await?;
    log(&asking, "set");
    Ok(empty())
}

/// Takes all of them away.
pub(crate) async fn delete(asking: Asking) -> Answer {
    asking.with_collection(Scope::Manage, |collection| collection.set_rules(&Rules::default())).await?;
    log(&asking, "taken away");
    Ok(empty())
}

fn log(asking: &Asking, what: &str) {
    asking.log("rules", &[("collection", &asking.names.collection), ("what", &what)]);
}

//! What the server keeps of who came and went, and of what was done, for who manages all of it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use cairn_server::Event;
use serde_json::json;

use crate::app::App;
use crate::collections::json_text;
use crate::principal::Principal;
use crate::problem::Answer;

/// All that is kept, the last one first.
pub(crate) async fn list(State(app): State<Arc<App>>, principal: Principal) -> Answer {
    principal.check_all()?;
    let events: Vec<String> = app.services.audit().iter().map(told).collect();
    let mut answer = json_text(StatusCode::OK, format!("{{\"events\":[{}]}}", events.join(",")));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// (What it is of, in the log's order.)
fn told(event: &Event) -> String {
    let of: Vec<String> = event.of.iter().map(|(name, value)| format!("{}:{}", json!(name), json!(value))).collect();
    format!("{{\"time\":{},\"event\":{},\"of\":{{{}}}}}", json!(event.time), json!(event.event), of.join(","))
}

//! Questions to a collection: a filter, an order, parts, and pages.

use std::fmt::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairndb::{Collection, Connection, Document};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::app::App;
use crate::collections::{json_text, said};
use crate::names::{Names, asked};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// Documents of a page, where nothing is said.
const LIMIT: u32 = 100;

/// What is asked for; the filter is left as the text that it is.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Question {
    filter: Option<Box<RawValue>>,
    sort: Vec<String>,
    select: Vec<String>,
    limit: Option<u32>,
    after: Option<String>,
    count: bool,
}

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    RawQuery(query): RawQuery,
) -> Answer {
    principal.check_documents(app.services.name(&names.database), &names.collection, Scope::Read)?;
    let question = of_parameters(query.as_deref())?;
    answer(&app, principal, names, question).await
}

pub(crate) async fn post(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    principal.check_documents(app.services.name(&names.database), &names.collection, Scope::Read)?;
    let question = said(&app, &headers, body).await?;
    answer(&app, principal, names, question).await
}

fn of_parameters(query: Option<&str>) -> Result<Question, Problem> {
    let mut question = Question::default();
    let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for (name, value) in asked(query, &["filter", "sort", "select", "limit", "after", "count"])? {
        match name.as_str() {
            "filter" => question.filter = Some(crate::body::parsed(&value)?),
            "sort" => question.sort = list(&value),
            "select" => question.select = list(&value),
            "after" => question.after = Some(value),
            "count" => question.count = value == "true",
            _ => {
                let bad = || Problem::wrong(format!("\"{value}\" is no number of documents"));
                question.limit = Some(value.parse().map_err(|_| bad())?);
            }
        }
    }
    Ok(question)
}

async fn answer(app: &App, principal: Principal, names: Names, question: Question) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Read).await?;
    let most = app.options().documents_max;
    if question.limit.is_some_and(|limit| limit > most) {
        return Err(Problem::wrong(format!("a page has at most {most} documents")).hint("Go on with after."));
    }
    let read = move |connection: &Connection| {
        let collection = principal.collection(connection, &collection)?;
        // What is counted and what is told is one state.
        connection.transaction(|_| page(&collection, &question))
    };
    Ok(json_text(StatusCode::OK, open.database.call(read).await?))
}

fn page(collection: &Collection<'_>, question: &Question) -> Result<String, cairndb::Error> {
    let filter = question.filter.as_ref().map_or("{}", |filter| filter.get());
    let mut find = collection.find(filter).sort(question.sort.clone()).select(question.select.clone());
    if let Some(cursor) = &question.after {
        find = find.after(cursor);
    }
    let count = if question.count { Some(find.count()?) } else { None };
    let page = find.limit(question.limit.unwrap_or(LIMIT)).page()?;
    let mut text = String::from("{\"documents\":[");
    for (at, document) in page.documents.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        write_document(&mut text, collection, document);
    }
    text.push(']');
    // A String takes all that is written to it.
    if let Some(next) = page.next {
        let _ = write!(text, ",\"next\":{}", json!(next));
    }
    if let Some(count) = count {
        let _ = write!(text, ",\"count\":{count}");
    }
    text.push('}');
    Ok(text)
}

/// A document with what it is known by.
pub(crate) fn write_document(text: &mut String, collection: &Collection<'_>, document: &Document) {
    let (id, etag) = (json!(document.id_text()), json!(collection.etag(document.version)));
    let _ = write!(text, "{{\"id\":{id},\"version\":{},\"etag\":{etag},\"doc\":{}}}", document.version, document.doc);
}

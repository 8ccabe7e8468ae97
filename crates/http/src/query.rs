//! Questions to a collection: a filter, an order, parts, and pages.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use cairndb::{Collection, Connection, Document, Expanded};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::asking::Asking;
use crate::collections::json_text;
use crate::databases::Open;
use crate::names::{asked, is_true};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// Documents of a page, or groups, where nothing is said.
pub(crate) const LIMIT: u32 = 100;
/// Paths at which documents name others.
const EXPAND_MAX: usize = 16;

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
    /// Collections by the paths at which documents name theirs.
    expand: BTreeMap<String, String>,
}

pub(crate) async fn get(asking: Asking, RawQuery(query): RawQuery) -> Answer {
    let open = asking.documents(Scope::Read).await?;
    answer(&asking, &open, of_parameters(query.as_deref())?).await
}

pub(crate) async fn post(asking: Asking, body: Body) -> Answer {
    let open = asking.documents(Scope::Read).await?;
    let question = asking.said(body).await?;
    answer(&asking, &open, question).await
}

fn of_parameters(query: Option<&str>) -> Result<Question, Problem> {
    let mut question = Question::default();
    let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for (name, value) in asked(query, &["filter", "sort", "select", "limit", "after", "count", "expand"])? {
        match name.as_str() {
            "filter" => question.filter = Some(crate::body::parsed(&value)?),
            "sort" => question.sort = list(&value),
            "select" => question.select = list(&value),
            "after" => question.after = Some(value),
            "count" => question.count = is_true(&name, &value)?,
            "expand" => question.expand = expanded(&value)?,
            _ => {
                let bad = || Problem::wrong(format!("\"{value}\" is no number of documents"));
                question.limit = Some(value.parse().map_err(|_| bad())?);
            }
        }
    }
    Ok(question)
}

/// `path:collection`, with commas between.
fn expanded(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let of = |part: &str| {
        let pair = part.rsplit_once(':').map(|(path, name)| (path.to_owned(), name.to_owned()));
        pair.ok_or_else(|| Problem::wrong(format!("\"{part}\" names no collection")).hint("Write path:collection."))
    };
    text.split(',').filter(|part| !part.is_empty()).map(of).collect()
}

async fn answer(asking: &Asking, open: &Open, question: Question) -> Answer {
    let most = asking.app.options().documents_max;
    if question.limit.is_some_and(|limit| limit > most) {
        return Err(Problem::wrong(format!("a page has at most {most} documents")).hint("Go on with after."));
    }
    if question.expand.len() > EXPAND_MAX {
        return Err(Problem::wrong(format!("documents are expanded at {EXPAND_MAX} paths at most")));
    }
    let (principal, name) = (asking.principal.clone(), asking.names.collection.clone());
    for other in question.expand.values() {
        principal.check_documents(asking.app.services.name(&asking.names.database), other, Scope::Read)?;
    }
    let read = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let others = question.expand.iter().map(|(path, other)| Ok((path, principal.collection(connection, other)?)));
        let others = others.collect::<Result<Vec<_>, cairndb::Error>>()?;
        // What is counted, what is told and what that names is one state.
        match question.count || !others.is_empty() {
            true => connection.transaction(|_| page(&collection, &question, &others)),
            false => page(&collection, &question, &others),
        }
    };
    Ok(json_text(StatusCode::OK, open.database.call(read).await?))
}

/// Collections that documents name others of, each with its path.
type Others<'q, 'c> = [(&'q String, Collection<'c>)];

fn page(collection: &Collection<'_>, question: &Question, others: &Others<'_, '_>) -> Result<String, cairndb::Error> {
    let filter = question.filter.as_ref().map_or("{}", |filter| filter.get());
    let mut find = collection.find(filter).sort(question.sort.clone()).select(question.select.clone());
    if let Some(cursor) = &question.after {
        find = find.after(cursor);
    }
    for (path, other) in others {
        find = find.expand(*path, other);
    }
    let count = if question.count { Some(find.count()?) } else { None };
    let page = find.limit(question.limit.unwrap_or(LIMIT)).page()?;
    let mut text = String::from("{\"documents\":[");
    for (at, document) in page.documents.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        write_document(&mut text, collection, document);
        if !page.expanded.is_empty() {
            text.pop();
            text.push_str(",\"expanded\":{");
            write_named(&mut text, (&page.expanded, at), others);
            text.push_str("}}");
        }
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

/// What the document at this place of a page names: one as itself, several in an array; nothing of what is not there.
fn write_named(text: &mut String, (expanded, at): (&[Expanded], usize), others: &Others<'_, '_>) {
    let mut between = "";
    for (Expanded { path, named, .. }, (_, other)) in expanded.iter().zip(others) {
        let Some(of) = named.get(at).filter(|of| of.is_list || !of.documents.is_empty()) else { continue };
        let _ = write!(text, "{between}{}:{}", json!(path), if of.is_list { "[" } else { "" });
        for (at, document) in of.documents.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { "," });
            write_document(text, other, document);
        }
        text.push_str(if of.is_list { "]" } else { "" });
        between = ",";
    }
}

/// A document with what it is known by.
pub(crate) fn write_document(text: &mut String, collection: &Collection<'_>, document: &Document) {
    let (id, etag) = (json!(document.id_text()), json!(collection.etag(document.version)));
    let _ = write!(text, "{{\"id\":{id},\"version\":{},\"etag\":{etag},\"doc\":{}}}", document.version, document.doc);
}

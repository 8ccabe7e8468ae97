//! `GET ../changes`: what becomes of a collection's documents, as [server-sent events](crate::events).
//!
//! - Each commit's changes come in its order, and the last of them has the commit's token as the event's id: who comes back with it
//!   (`Last-Event-ID`) hears each change once. What is too old to go on from is 410.
//! - With a filter, what is told is what becomes of its sight: a document that comes into it is an insert, one that leaves it a delete.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairndb::{Change, ChangeKind, Connection, Error, Jsonb, Position, Row, Rules, SqlState, Value};
use cairndb_async::Changes;
use serde_json::json;

use crate::app::App;
use crate::databases::Open;
use crate::documents::id_text;
use crate::events::{Attendance, Outlet, Over, response};
use crate::names::{Names, asked};
use crate::principal::{Principal, RULES_CHANGED};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Read).await?;
    let (mut filter, mut since) = (None, None);
    for (name, value) in asked(query.as_deref(), &["filter", "since"])? {
        *(if name == "filter" { &mut filter } else { &mut since }) = Some(value);
    }
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let from = last.or(since.as_deref()).map(str::parse::<Position>).transpose()?;
    let (name, checked) = (collection.clone(), filter.clone());
    let asks = principal.clone();
    let table = open.database.call(move |connection| {
        let collection = asks.collection(connection, &name)?;
        // One that is none is told before the stream begins.
        let rules = asks.check_told(&collection, checked.as_deref())?;
        Ok((collection.changed_table()?, rules))
    });
    let (table, rules) = table.await?;
    let Some(table) = table else {
        let message = format!("collection \"{collection}\" has no change feed");
        let problem = Problem::new(StatusCode::CONFLICT, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        return Err(problem.hint("ALTER TABLE .. SET (change_feed = on) gives it one."));
    };
    let changes = open.database.changes(from).await.map_err(too_old)?;
    let (response, events) = response();
    let attendance = Attendance::new(app, principal.clone());
    let sight = Sight {
        open,
        principal,
        rules,
        collection,
        filter,
        table: table.id,
        events,
        told: changes.token(),
        is_ahead: false,
    };
    tokio::spawn(sight.tell(attendance, changes));
    Ok(response)
}

/// The place is gone: who asks has to begin again.
fn too_old(error: Error) -> Problem {
    match error.sqlstate() {
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            let problem = Problem::new(StatusCode::GONE, error.sqlstate(), error.message());
            problem.hint("Read the documents again, and listen without Last-Event-ID.")
        }
        _ => error.into(),
    }
}

/// What one client sees.
struct Sight {
    open: Arc<Open>,
    principal: Principal,
    /// Those by which he is told.
    rules: Option<Rules>,
    collection: String,
    filter: Option<String>,
    /// Its table, whatever it is called.
    table: u32,
    events: Outlet,
    /// The token that the client has.
    told: Position,
    /// It has heard of something since, behind which there is no token yet.
    is_ahead: bool,
}

/// A document as it was or is.
type Document = (Value, i64, Jsonb);

impl Sight {
    async fn tell(mut self, mut attendance: Attendance, mut changes: Changes) {
        loop {
            let went_on = tokio::select! {
                sign = attendance.sign(&self.events) => match attendance.check(sign, &self.events).await {
                    Ok(()) => self.pulse(changes.token()).await,
                    Err(over) => Err(over),
                },
                change = changes.next_change() => self.change(change, changes.token()).await,
            };
            if went_on.is_err() {
                return;
            }
        }
    }

    /// Says that it goes on, and from where: commits that tell nothing of this collection are passed, too.
    async fn pulse(&mut self, token: Position) -> Result<(), Over> {
        // (Where it could not be looked, whoever tells of the next change looks again.)
        if let Err(error) = self.check_rules().await
            && error.sqlstate() == SqlState::INSUFFICIENT_PRIVILEGE
        {
            return Err(self.events.end(RULES_CHANGED).await);
        }
        let id = self.id(token);
        self.events.send(format!(":\n{id}\n")).await
    }

    /// The line that tells the token; nothing where the client has it: the same one twice would have what stands between them left out.
    fn id(&mut self, token: Position) -> String {
        if token == self.told {
            return String::new();
        }
        (self.told, self.is_ahead) = (token, false);
        format!("id: {token}\n")
    }

    async fn change(&mut self, change: Result<Option<Change>, Error>, token: Position) -> Result<(), Over> {
        let told = match change {
            Ok(Some(change)) => self.event(&change).await,
            Ok(None) => return Err(Over),
            Err(error) => Err(error),
        };
        match told {
            // The commit's last change is none of this collection's, or out of sight: who has heard the others has its token all the same.
            Ok(None) if self.is_ahead && token != self.told => {
                let id = self.id(token);
                self.events.send(format!("{id}\n")).await
            }
            Ok(None) => Ok(()),
            Ok(Some((kind, data))) => {
                self.is_ahead = true;
                let id = self.id(token);
                self.events.send(format!("{id}event: {kind}\ndata: {data}\n\n")).await?;
                if kind == "end" { Err(Over) } else { Ok(()) }
            }
            Err(error) if error.message() == RULES_CHANGED => Err(self.events.end(RULES_CHANGED).await),
            Err(error) => Err(self.events.fail(error).await),
        }
    }

    /// What is told of a change; `None`: nothing.
    async fn event(&self, change: &Change) -> Result<Option<(&'static str, String)>, Error> {
        if change.table().id != self.table {
            return Ok(None);
        }
        match change.kind() {
            ChangeKind::Insert | ChangeKind::Update | ChangeKind::Delete => {}
            ChangeKind::Truncate => return Ok(Some(("truncate", "{}".to_owned()))),
            ChangeKind::Drop => {
                return Ok(Some(("end", json!({ "message": "the collection was dropped" }).to_string())));
            }
            ChangeKind::End => return Ok(Some(("end", json!({ "message": "the change feed ended" }).to_string()))),
            // Documents are what they were.
            _ => return Ok(None),
        }
        let old = self.seen(change.old().map(document).transpose()?).await?;
        let new = self.seen(change.new_row().map(document).transpose()?).await?;
        Ok(match (old, new) {
            (None, None) => None,
            (None, Some(new)) => Some(("insert", whole(&new))),
            (Some(_), Some(new)) => Some(("update", whole(&new))),
            (Some((id, ..)), None) => Some(("delete", json!({ "id": id_text(&id) }).to_string())),
        })
    }

    async fn check_rules(&self) -> Result<(), Error> {
        if self.rules.is_none() {
            return Ok(());
        }
        let (principal, name, rules) = (self.principal.clone(), self.collection.clone(), self.rules.clone());
        let check = move |connection: &Connection| {
            principal.check_rules(&principal.collection(connection, &name)?, rules.as_ref())
        };
        self.open.database.call(check).await
    }

    /// The document, if it is in sight: of the rule, and of the filter.
    async fn seen(&self, document: Option<Document>) -> Result<Option<Document>, Error> {
        let Some(document) = document else { return Ok(None) };
        if self.filter.is_none() && self.rules.is_none() {
            return Ok(Some(document));
        }
        let filter = self.filter.clone().unwrap_or_else(|| "{}".to_owned());
        let (principal, name, rules) = (self.principal.clone(), self.collection.clone(), self.rules.clone());
        let (id, version, doc) = document.clone();
        let finds = move |connection: &Connection| {
            let collection = principal.collection(connection, &name)?;
            principal.check_rules(&collection, rules.as_ref())?;
            collection.find(&filter).finds(&id, version, &doc)
        };
        Ok(self.open.database.call(finds).await?.then_some(document))
    }
}

fn document(row: Row<'_>) -> Result<Document, Error> {
    Ok((row.get("id")?, row.get("version")?, row.get("doc")?))
}

/// Ids are strings, as in all answers.
fn whole((id, version, doc): &Document) -> String {
    format!("{{\"id\":{},\"version\":{version},\"doc\":{doc}}}", json!(id_text(id)))
}

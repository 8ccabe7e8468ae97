//! `../live`: a query's result, and what becomes of it, as [server-sent events](crate::events).
//!
//! - The first event tells the columns; then comes the whole result, and after that what each state has in place of the one before.
//! - A change of many rows is told in several events; all but the last of them say `more`.
//! - There is no token: who comes back hears the whole result again.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header::HeaderMap;
use cairndb::{LiveChange, Row};
use cairndb_async::Live;
use serde_json::json;

use crate::app::App;
use crate::collections::said;
use crate::databases::Open;
use crate::events::{Attendance, Over, Step, Telling, response};
use crate::names::{Names, asked};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::sql::{Asked, columns, write_array};
use crate::token::Scope;

/// Rows that an event tells of.
const ROWS_MAX: usize = 1000;

/// For pages, whose event sources only ask by GET.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    RawQuery(query): RawQuery,
) -> Answer {
    let open = app.database(&principal, (&names.database, None), Scope::Sql).await?;
    let (mut sql, mut params) = (None, Vec::new());
    for (name, value) in asked(query.as_deref(), &["sql", "params"])? {
        match name.as_str() {
            "sql" => sql = Some(value),
            _ => params = crate::body::parsed(&value)?,
        }
    }
    let sql = sql.ok_or_else(|| Problem::wrong("no query is said").hint("Say it as sql=SELECT .."))?;
    watch(app, principal, open, Asked { sql, params }).await
}

pub(crate) async fn post(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let open = app.database(&principal, (&names.database, None), Scope::Sql).await?;
    let asked = said(&app, &headers, body).await?;
    watch(app, principal, open, asked).await
}

async fn watch(app: Arc<App>, principal: Principal, open: Arc<Open>, asked: Asked) -> Answer {
    let params = asked.values()?;
    let live = open.reading()?.live(&asked.sql, params).await?;
    let head = json!({ "columns": columns(live.columns()), "key": live.key() });
    let waiting = VecDeque::from([format!("event: columns\ndata: {head}\n\n").into()]);
    let about = open.clone();
    Ok(response(Watch { attendance: Attendance::new(app, principal), live, waiting, _open: open }, &about))
}

/// What one client watches.
struct Watch {
    attendance: Attendance,
    live: Live,
    /// Events that were made and not told yet.
    waiting: VecDeque<Bytes>,
    /// Keeps the database open.
    _open: Arc<Open>,
}

impl Telling for Watch {
    async fn step(&mut self) -> Step {
        if let Some(event) = self.waiting.pop_front() {
            return Ok(Some(event));
        }
        tokio::select! {
            biased;
            sign = self.attendance.sign() => {
                self.attendance.check(sign).await?;
                Ok(Some(":\n\n".into()))
            }
            change = self.live.next_change() => match change {
                Ok(Some(change)) => {
                    self.waiting.extend(told(&change).into_iter().map(Bytes::from));
                    Ok(None)
                }
                Ok(None) => Err(Over::silent()),
                Err(error) => Err(Over::failed(error)),
            },
        }
    }
}

/// What becomes of a row.
#[derive(Clone, Copy)]
enum Kind {
    Added,
    Removed,
    Updated,
}

/// A change as events.
fn told(change: &LiveChange) -> Vec<String> {
    let name = if change.is_first() { "result" } else { "change" };
    let added = change.added().map(|row| (Kind::Added, text(row)));
    let removed = change.removed().map(|row| (Kind::Removed, text(row)));
    let updated = change.updated().map(|(old, new)| (Kind::Updated, format!("[{},{}]", text(old), text(new))));
    let mut rows = added.chain(removed).chain(updated).peekable();
    let mut events = Vec::new();
    loop {
        let mut of_kind: [Vec<String>; 3] = Default::default();
        rows.by_ref().take(ROWS_MAX).for_each(|(kind, row)| of_kind[kind as usize].push(row));
        let [added, removed, updated] = of_kind.map(|rows| rows.join(","));
        let has_more = rows.peek().is_some();
        let more = if has_more { r#","more":true"# } else { "" };
        let told = format!(r#"{{"added":[{added}],"removed":[{removed}],"updated":[{updated}]{more}}}"#);
        events.push(format!("event: {name}\ndata: {told}\n\n"));
        if !has_more {
            return events;
        }
    }
}

fn text(row: Row<'_>) -> String {
    let mut text = String::new();
    write_array(&mut text, row);
    text
}

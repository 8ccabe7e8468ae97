//! `GET /db/{database}/changes?table=..`: what becomes of the rows of tables with a change feed, as [server-sent events](crate::events), for who may run SQL, who may
//! read them all the same.
//!
//! - Each commit's changes come in its order; the last that is told of it has the commit's token as the event's id, or the id comes by itself where others followed. What is too old
//!   to go on from is 410.
//! - A stream reads the database's feeds by itself, no faster than it is taken.

use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use cairndb::{Change, ChangeKind, Connection, Position, Row, SqlState};
use cairndb_async::Changes;
use serde_json::json;

use crate::asking::Asking;
use crate::changes::too_old;
use crate::databases::Open;
use crate::events::{Attendance, Over, Step, Telling, response};
use crate::names::asked;
use crate::problem::{Answer, Problem};
use crate::sql::write_json;
use crate::token::Scope;

pub(crate) async fn stream(asking: Asking, RawQuery(query): RawQuery) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let (mut table, mut since) = (None, None);
    for (name, value) in asked(query.as_deref(), &["table", "since"])? {
        *(if name == "table" { &mut table } else { &mut since }) = Some(value);
    }
    let last = asking.headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let from = last.or(since.as_deref()).map(str::parse::<Position>).transpose()?;
    let table = match table {
        Some(name) => Some(of_table(&open, name).await?),
        None => None,
    };
    let changes = open.database.changes(from).await.map_err(too_old)?;
    let about = open.clone();
    let told = changes.token();
    let attendance = Attendance::new(asking.app, asking.principal);
    Ok(response(Followed { attendance, changes, table, told, is_within: false, _open: open }, &about))
}

/// The number of a table with a feed, whatever it is called later. SQLSTATE 42P01, 55000.
async fn of_table(open: &Open, name: String) -> Result<u32, Problem> {
    let asked = name.clone();
    let found = open.database.call(move |connection: &Connection| connection.changed_table(&asked)).await?;
    found.map(|table| table.id).ok_or_else(|| {
        let message = format!("table \"{name}\" has no change feed");
        let problem = Problem::new(StatusCode::CONFLICT, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        problem.hint("ALTER TABLE .. SET (change_feed = on) gives it one.")
    })
}

/// What one client follows.
struct Followed {
    attendance: Attendance,
    changes: Changes,
    /// `None`: all tables that have feeds.
    table: Option<u32>,
    /// The token that the client has.
    told: Position,
    /// He has heard of a commit whose token he has not.
    is_within: bool,
    /// Keeps the database open: let go of last.
    _open: std::sync::Arc<Open>,
}

impl Telling for Followed {
    async fn step(&mut self) -> Step {
        let change = tokio::select! {
            biased;
            sign = self.attendance.sign() => {
                self.attendance.check(sign).await?;
                // (A commit that was heard in part is told again to who comes back.)
                let id = if self.is_within { String::new() } else { self.id(self.changes.token()) };
                return Ok(Some(format!(":\n{id}\n").into()));
            }
            change = self.changes.next_change() => change,
        };
        let Some(change) = change.map_err(Over::failed)? else { return Err(Over::silent()) };
        let is_wanted = self.table.is_none_or(|table| table == change.table().id);
        let is_heard = is_wanted || self.is_within;
        self.is_within = is_heard && !change.is_last();
        let id = if is_heard && change.is_last() { self.id(change.position()) } else { String::new() };
        if is_wanted && self.table.is_some() && matches!(change.kind(), ChangeKind::Drop | ChangeKind::End) {
            return Err(Over::told(event(&change, &id)));
        }
        Ok(match is_wanted {
            true => Some(event(&change, &id)),
            false => (!id.is_empty()).then(|| format!("{id}\n").into()),
        })
    }
}

impl Followed {
    /// The line that tells the token; nothing where the client has it.
    fn id(&mut self, token: Position) -> String {
        if token == self.told {
            return String::new();
        }
        self.told = token;
        format!("id: {token}\n")
    }
}

fn event(change: &Change, id: &str) -> Bytes {
    let name = match change.kind() {
        ChangeKind::Insert => "insert",
        ChangeKind::Update => "update",
        ChangeKind::Delete => "delete",
        ChangeKind::Truncate => "truncate",
        ChangeKind::Alter => "alter",
        ChangeKind::Rewriting => "rewriting",
        ChangeKind::Rewrite => "rewrite",
        ChangeKind::Begin => "begin",
        // (`end` says that nothing more comes at all.)
        ChangeKind::End => "feed_end",
        ChangeKind::Drop => "drop",
        _ => "change",
    };
    let table = change.table();
    let mut data = format!("{{\"schema\":{},\"table\":{}", json!(table.schema), json!(table.name));
    for (name, row) in [("old", change.old()), ("new", change.new_row())] {
        if let Some(row) = row {
            data.push_str(&format!(",\"{name}\":"));
            write_object(&mut data, row);
        }
    }
    format!("{id}event: {name}\ndata: {data}}}\n\n").into()
}

fn write_object(text: &mut String, row: Row<'_>) {
    text.push('{');
    for (at, column) in row.columns().iter().enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        text.push_str(&json!(column.name).to_string());
        text.push(':');
        write_json(text, row.value(at));
    }
    text.push('}');
}

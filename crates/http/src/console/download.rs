//! Files for who is in the console: kept results, and copies of databases.
//!
//! A browser asks for one by its address alone, without the page's secret: the address has a ticket, which is for one file of the session whose
//! cookie comes with it, is good once and for a minute.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use cairndb::{Batch, DataType, Error, EvalContext, Field, SqlState, Value, Vector};
use cairndb_arrow::{Encoder, MEDIA_TYPE as ARROW, Shape};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::kept::Kept;
use super::sessions::{Held, Within};
use super::spool::Cell;
use super::whole::Copying;
use crate::app::App;
use crate::collections::{answer, said};
use crate::guard::{Peer, denied};
use crate::names::asked;
use crate::problem::Answer;
use crate::sql::{csv, write_json};
use crate::token::Secret;

/// How long a ticket is good.
const TIME: Duration = Duration::from_secs(60);
/// How many a session has.
const TICKETS_MAX: usize = 64;

/// What a file is.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    Csv,
    Json,
    Arrow,
}

impl Form {
    /// Its media type, and what a browser is told to do with it.
    fn told(self) -> (&'static str, &'static str) {
        match self {
            Form::Csv => ("text/csv; charset=utf-8", "attachment; filename=\"result.csv\""),
            Form::Json => ("application/json", "attachment; filename=\"result.json\""),
            Form::Arrow => (ARROW, "attachment; filename=\"result.arrows\""),
        }
    }
}

/// The tickets of a session.
#[derive(Default)]
pub(super) struct Tickets(Mutex<HashMap<String, Ticket>>);

struct Ticket {
    what: What,
    made: Instant,
}

/// What a file is made of.
pub(super) enum What {
    Result(Arc<Kept>, Form),
    Copy(Box<Copying>),
}

/// What makes a file, part by part, where it may wait; `None`: that was all.
pub(super) trait Source: Send + 'static {
    fn part(&mut self) -> Result<Option<Vec<u8>>, Error>;
}

impl Ticket {
    fn is_good(&self) -> bool {
        self.made.elapsed() < TIME
    }
}

impl Tickets {
    /// The address of a file, with a new ticket.
    pub(super) fn path(&self, what: What) -> Result<String, Error> {
        let secret = Secret::random()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, ticket| ticket.is_good());
        if all.len() >= TICKETS_MAX {
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, "too many downloads have not begun"));
        }
        all.insert(secret.digest(), Ticket { what, made: Instant::now() });
        Ok(format!("/console/download?ticket={}", secret.text()))
    }

    fn take(&self, secret: &str) -> Option<Ticket> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&crate::token::digest(secret)).filter(Ticket::is_good)
    }

    /// Lets go of those whose time is over, and of what they are for.
    pub(super) fn end_old(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, ticket| ticket.is_good());
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    form: Form,
}

/// An address that gives the result as a file, once.
pub(super) async fn ticket(
    State(app): State<Arc<App>>,
    Within(session): Within,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let Asked { form } = said(&app, &headers, body).await?;
    let kept = session.results.of(&id)?;
    if kept.is_running() || kept.lock().head.columns.is_none() {
        let message = "the result has no rows, or not all of them yet";
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
    }
    let path = session.tickets.path(What::Result(kept, form))?;
    Ok(answer(StatusCode::OK, &json!({ "path": path })))
}

/// The file.
pub(super) async fn download(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Answer {
    let refused = || denied("there is no such download, any more", "Ask for it again in the console.");
    let held = Held::of(&headers, peer.to.port()).ok_or_else(refused)?;
    let session = app.sessions.of_cookie(&app, &held).await.ok_or_else(refused)?;
    let said = asked(query.as_deref(), &["ticket"])?;
    let ticket = said.first().and_then(|(_, ticket)| session.tickets.take(ticket)).ok_or_else(refused)?;
    let (to, parts) = mpsc::channel(2);
    let (kind, name) = match ticket.what {
        What::Result(kept, form) => {
            tokio::spawn(send(Writer::new(kept, form), to));
            form.told()
        }
        What::Copy(copy) => {
            tokio::spawn(send(*copy, to));
            // (The page calls it by the database's name.)
            ("application/vnd.cairndb", "attachment")
        }
    };
    let mut answer = Response::new(Body::from_stream(Parts(parts)));
    let headers = answer.headers_mut();
    super::page::secure(headers);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(answer)
}

/// The parts of a body, as somebody else makes them.
struct Parts(mpsc::Receiver<Result<Bytes, Error>>);

impl Stream for Parts {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// Makes a block after the other, no faster than they are taken. An error breaks it off before its end.
async fn send(mut source: impl Source, to: mpsc::Sender<Result<Bytes, Error>>) {
    loop {
        let made = tokio::task::spawn_blocking(move || {
            let part = source.part();
            (source, part)
        });
        let Ok((back, part)) = made.await else { return };
        source = back;
        let is_last = part.is_err();
        let Some(part) = part.transpose() else { return };
        if to.send(part.map(Bytes::from)).await.is_err() || is_last {
            return;
        }
    }
}

/// What makes a file of a result, block by block.
struct Writer {
    kept: Arc<Kept>,
    form: Form,
    columns: Vec<Field>,
    /// The next block; `None`: that was all.
    place: Option<usize>,
    encoder: Option<Box<Encoder>>,
}

impl Writer {
    fn new(kept: Arc<Kept>, form: Form) -> Writer {
        let columns = kept.lock().head.columns.clone().unwrap_or_default();
        Writer { kept, form, columns, place: Some(0), encoder: None }
    }

    /// The texts of a row, of long values all.
    fn whole(&self, row: Vec<Option<Cell>>) -> Result<Vec<Option<String>>, Error> {
        let whole = |cell: Option<Cell>| match cell {
            None => Ok(None),
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Long { at, bytes, .. }) => {
                self.kept.lock().spool.read(at, usize::try_from(bytes).map_err(broken)?).map(Some)
            }
        };
        row.into_iter().map(whole).collect()
    }

    fn csv(&self, is_first: bool, rows: &[Vec<Option<String>>]) -> String {
        let mut text = String::new();
        if is_first {
            let names: Vec<String> = self.columns.iter().map(|column| csv(&column.name)).collect();
            text.push_str(&(names.join(",") + "\r\n"));
        }
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.as_deref().map_or_else(String::new, csv)).collect();
            text.push_str(&(cells.join(",") + "\r\n"));
        }
        text
    }

    /// An array of objects.
    fn json(&self, is_first: bool, rows: &[Vec<Option<String>>]) -> Result<String, Error> {
        let mut text = String::new();
        for (at, row) in rows.iter().enumerate() {
            text.push_str(if is_first && at == 0 { "[\n{" } else { ",\n{" });
            for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                text.push_str(&(json!(column.name).to_string() + ":"));
                write_json(&mut text, &value_of(cell.as_deref(), column.data_type)?);
            }
            text.push('}');
        }
        if self.place.is_none() {
            text.push_str(if is_first { "[]\n" } else { "\n]\n" });
        }
        Ok(text)
    }

    /// `is_all`: there are no rows but these.
    fn arrow(&mut self, rows: &[Vec<Option<String>>], is_all: bool) -> Result<Vec<u8>, Error> {
        let column = |(at, column): (usize, &Field)| {
            let values = rows.iter().map(|row| value_of(row[at].as_deref(), column.data_type));
            Vector::of_values(column.data_type, &values.collect::<Result<Vec<_>, _>>()?)
        };
        let columns = self.columns.iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
        let batch = if rows.is_empty() { None } else { Some(Batch::of(columns)?) };
        let mut encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => Box::new(Encoder::new(Shape::of(&self.columns, batch.as_ref(), is_all))?),
        };
        batch.map(|batch| encoder.write(batch)).transpose()?;
        if self.place.is_none() {
            return encoder.finish();
        }
        let made = encoder.take();
        self.encoder = Some(encoder);
        Ok(made)
    }
}

impl Source for Writer {
    fn part(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(place) = self.place else { return Ok(None) };
        if self.kept.has_ended() {
            return Err(Error::new(SqlState::QUERY_CANCELED, "the session has ended"));
        }
        self.kept.look();
        let (block, count) = self.kept.lock().spool.block_and_count(place)?;
        let rows: Vec<Vec<Option<Cell>>> = match &block {
            Some((_, text)) => serde_json::from_str(&format!("[{text}]")).map_err(broken)?,
            None => Vec::new(),
        };
        self.place = block.is_some().then_some(place + 1);
        let rows = rows.into_iter().map(|row| self.whole(row)).collect::<Result<Vec<_>, _>>()?;
        match self.form {
            Form::Csv => Ok(Some(self.csv(place == 0, &rows).into_bytes())),
            Form::Json => self.json(place == 0, &rows).map(|text| Some(text.into_bytes())),
            Form::Arrow => self.arrow(&rows, count <= 1).map(Some),
        }
    }
}

/// The value of a text.
fn value_of(text: Option<&str>, data_type: DataType) -> Result<Value, Error> {
    text.map_or(Ok(Value::Null), |text| cairndb::from_text(text, data_type, &EvalContext::default()))
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, format!("a kept result can not be read: {error}"))
}

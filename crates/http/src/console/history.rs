//! What the change feed still has of one document, as [server-sent events](crate::events): its versions from the oldest on, and then the `end`.
//!
//! The whole feed is read for it, a batch at a time, for as long as somebody listens.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use cairndb::{Connection, Error, SqlState};

use super::sessions::Within;
use crate::asking::Asking;
use crate::databases::Open;
use crate::documents::id_text;
use crate::events::{Attendance, Over, Step, Telling, response};
use crate::feed::{Backlog, Batch, Becomes, Document, Told, What};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

pub(super) async fn tell(_: Within, asking: Asking) -> Answer {
    let open = asking.database(Scope::Read).await?;
    let name = asking.names.collection.clone();
    let begin = move |connection: &Connection| {
        let Some(table) = connection.collection(&name)?.changed_table()? else { return Ok(None) };
        Backlog::of_all(connection.database(), table.id).map(Some)
    };
    let Some(backlog) = open.feed.call(&open.database, begin).await? else {
        let message = format!("collection \"{}\" has no change feed", asking.names.collection);
        return Err(Problem::new(StatusCode::CONFLICT, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    };
    let about = open.clone();
    let past = Past {
        attendance: Attendance::new(asking.app, asking.principal),
        id: asking.names.id,
        reading: read(open, Box::new(backlog)),
        waiting: VecDeque::new(),
        is_all: false,
    };
    Ok(response(past, &about))
}

type Reading = Pin<Box<dyn Future<Output = Result<(Arc<Open>, Box<Backlog>, Batch), Error>> + Send>>;

fn read(open: Arc<Open>, mut backlog: Box<Backlog>) -> Reading {
    Box::pin(async move {
        let read = move |_: &Connection| {
            let batch = backlog.read()?;
            Ok((backlog, batch))
        };
        let (backlog, batch) = open.feed.call(&open.database, read).await?;
        Ok((open, backlog, batch))
    })
}

struct Past {
    attendance: Attendance,
    id: String,
    reading: Reading,
    waiting: VecDeque<Bytes>,
    is_all: bool,
}

impl Telling for Past {
    async fn step(&mut self) -> Step {
        if let Some(event) = self.waiting.pop_front() {
            return Ok(Some(event));
        }
        if self.is_all {
            return Err(Over::end("that is all that the feed has"));
        }
        tokio::select! {
            biased;
            sign = self.attendance.sign() => {
                self.attendance.check(sign).await?;
                Ok(Some(":\n\n".into()))
            }
            done = &mut self.reading => {
                let (open, backlog, batch) = done.map_err(Over::failed)?;
                self.waiting.extend(batch.told.iter().filter_map(|told| event(told, &self.id)));
                self.is_all = batch.is_all;
                // (Nothing is read before it is asked for.)
                self.reading = read(open, backlog);
                Ok(None)
            }
        }
    }
}

/// What a change was to the document of this id.
fn event(told: &Told, id: &str) -> Option<Bytes> {
    match &told.what {
        What::Document { old, new, .. } => {
            let is_it = |document: &Option<Document>| document.as_ref().is_some_and(|(other, ..)| id_text(other) == id);
            let becomes = match (is_it(old), is_it(new)) {
                (false, false) => return None,
                (false, true) => Becomes::Insert,
                (true, true) => Becomes::Update,
                (true, false) => Becomes::Delete,
            };
            Some(told.event(becomes))
        }
        What::Truncate => Some(told.text("truncate", "{}")),
        What::End(_) | What::Nothing => None,
    }
}

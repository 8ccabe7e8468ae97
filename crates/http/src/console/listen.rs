//! What channels tell (`NOTIFY`), as [server-sent events](crate::events), for who may run SQL.

use axum::body::Body;
use cairndb_async::Notifications;
use serde::Deserialize;
use serde_json::json;

use super::sessions::Within;
use crate::asking::Asking;
use crate::databases::Open;
use crate::events::{Attendance, Over, Step, Telling, response};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// How many channels are listened to at once.
const CHANNELS: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    channels: Vec<String>,
}

/// Listens to channels; the first event says that it does.
pub(super) async fn listen(_: Within, asking: Asking, body: Body) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let Asked { channels } = asking.said(body).await?;
    if channels.is_empty() || channels.len() > CHANNELS {
        return Err(Problem::wrong(format!("one to {CHANNELS} channels are listened to")));
    }
    let heard = open.database.listen(channels).await?;
    let (attendance, about) = (Attendance::new(asking.app, asking.principal), open.clone());
    Ok(response(Listening { attendance, heard, has_begun: false, _open: open }, &about))
}

struct Listening {
    attendance: Attendance,
    heard: Notifications,
    has_begun: bool,
    /// Keeps the database open.
    _open: std::sync::Arc<Open>,
}

impl Telling for Listening {
    async fn step(&mut self) -> Step {
        if !std::mem::replace(&mut self.has_begun, true) {
            return Ok(Some("event: listening\ndata: {}\n\n".into()));
        }
        tokio::select! {
            biased;
            sign = self.attendance.sign() => {
                self.attendance.check(sign).await?;
                Ok(Some(":\n\n".into()))
            }
            told = self.heard.next_notification() => {
                let told = told.ok_or_else(Over::silent)?;
                let data = json!({
                    "channel": told.channel(),
                    "payload": told.payload(),
                    "process": told.process(),
                    "missed": told.missed(),
                });
                Ok(Some(format!("event: notification\ndata: {data}\n\n").into()))
            }
        }
    }
}

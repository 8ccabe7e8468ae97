//! Statements that the page runs, and their results, which are kept while somebody looks at them.
//!
//! - A statement runs whether its answer is waited for or not: who asks is told how far it is, and asks again. One that nobody has asked about for
//!   a minute is stopped, and so is one that is taken back.
//! - Its rows are spooled as they come, so that it holds no state of the database longer than it takes, and rows are told in any order.
//! - What is kept is limited: of a result, of a session, of the server. What is beyond is not read, and the result says so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::http::header::{self, HeaderValue};
use axum::http::{Response, StatusCode};
use cairndb::{Error, SqlState};
use cairndb_async::Performed;

use super::kept::{About, Kept};
use super::page::secure;
use super::sessions::Within;
use super::told::{Head, Stage};
use crate::app::App;
use crate::asking::Asking;
use crate::collections::{empty, json_text};
use crate::databases::Open;
use crate::names::asked;
use crate::problem::{Answer, Problem};
use crate::sql::Asked;
use crate::token::Scope;

/// How many results a session has: then the one that was looked at longest ago goes.
const OF_SESSION_MAX: usize = 32;
/// How long a result is kept that nobody looks at.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How long a statement runs that nobody asks about.
const UNASKED: Duration = Duration::from_secs(60);

/// How long who begins a statement waits for something to be told: then he knows what to stop.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// How long who asks on does.
const WAIT: Duration = Duration::from_secs(10);
/// What is told of a value at once.
const VALUE_BYTES: u64 = 4 << 20;

/// Those of a session.
#[derive(Default)]
pub(super) struct Results {
    all: Mutex<HashMap<String, Arc<Kept>>>,
    have_ended: Arc<AtomicBool>,
}

impl Results {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Kept>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of them, which is looked at.
    pub(super) fn of(&self, id: &str) -> Result<Arc<Kept>, Problem> {
        let kept = self.lock().get(id).cloned();
        let kept =
            kept.ok_or_else(|| Problem::missing("the result is not kept any more").hint("Run the statement again."))?;
        kept.look();
        Ok(kept)
    }

    /// A new one; where there are many, another goes for it.
    fn begin(&self, app: &Arc<App>, about: About) -> Result<Arc<Kept>, Problem> {
        let mut all = self.lock();
        if all.len() >= OF_SESSION_MAX {
            let over = all.values().filter(|kept| !kept.is_running()).min_by_key(|kept| kept.looked());
            let id = over.map(|kept| kept.id.clone()).ok_or_else(|| {
                let message = format!("the session runs {OF_SESSION_MAX} statements already");
                Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint("Stop one of them.")
            })?;
            all.remove(&id);
        }
        let kept = Arc::new(Kept::new(app, about, self.have_ended.clone())?);
        all.insert(kept.id.clone(), kept.clone());
        Ok(kept)
    }

    /// Those that run.
    pub(super) fn running(&self) -> Vec<Arc<Kept>> {
        self.lock().values().filter(|kept| kept.is_running()).cloned().collect()
    }

    /// Whether they have been ended, to be looked at from elsewhere.
    pub(super) fn have_ended(&self) -> Arc<AtomicBool> {
        self.have_ended.clone()
    }

    fn end(&self, id: &str) {
        let ended = self.lock().remove(id);
        ended.iter().for_each(|kept| kept.stop());
    }

    /// Ends those that nobody looks at.
    pub(super) fn end_idle(&self) {
        let is_idle = |kept: &Kept| kept.looked().elapsed() >= if kept.is_running() { UNASKED } else { IDLE };
        let ids: Vec<String> = self.lock().values().filter(|kept| is_idle(kept)).map(|kept| kept.id.clone()).collect();
        ids.iter().for_each(|id| self.end(id));
    }

    /// Ends all: there are no more, and files that are made of them end where they are.
    pub(super) fn end_all(&self) {
        self.have_ended.store(true, Ordering::SeqCst);
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|kept| kept.stop());
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Runs a statement.
pub(super) async fn run(Within(session): Within, asking: Asking, body: Body) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let asked: Asked = asking.said(body).await?;
    let params = asked.values()?;
    let may_write = asking.principal.writes_sql();
    if !may_write {
        open.reading()?;
    }
    let (user, database) = (asking.principal.name().to_owned(), asking.names.database.clone());
    let about = About { user, database, statement: asking.app.services.shown(&asked.sql) };
    let kept = session.results.begin(&asking.app, about)?;
    let work = perform(kept.clone(), asking.app.clone(), (open, may_write), (asked.sql, params));
    kept.set_task(tokio::spawn(work).abort_handle());
    kept.news(None, FIRST_WAIT).await;
    kept.look();
    told_of(&kept, 0)
}

/// Does it, to its end or as far as there is room for what comes of it.
async fn perform(
    kept: Arc<Kept>,
    app: Arc<App>,
    (open, may_write): (Arc<Open>, bool),
    (sql, params): (String, Vec<cairndb::Value>),
) {
    let begun = Instant::now();
    let reached = if may_write { Ok(&open.database) } else { open.reading() };
    let performed = match reached {
        Ok(database) => database.perform(&sql, params).await,
        Err(error) => Err(error),
    };
    let ran = app.services.ran((&kept.about.user, &kept.about.database), &sql, begun.elapsed());
    let ended = match performed {
        Ok(performed) => spooled(&kept, performed).await,
        Err(error) => Err(error),
    };
    let inner = kept.lock();
    ran.rows(inner.head.affected.max(inner.spool.rows()));
    drop(inner);
    match ended {
        Ok(()) => kept.finish(Stage::Done),
        Err(error) => {
            app.services.failed(&error);
            kept.finish(Stage::Failed(error));
        }
    }
}

async fn spooled(kept: &Arc<Kept>, performed: Performed) -> Result<(), Error> {
    let Performed { command, affected, rows, .. } = performed;
    let columns = rows.as_ref().map(|rows| rows.columns().to_vec());
    kept.lock().head = Head { command, affected, columns };
    let Some(mut rows) = rows else { return Ok(()) };
    while let Some(batch) = rows.next_batch().await? {
        let to = kept.clone();
        let taken = tokio::task::spawn_blocking(move || to.take(batch)).await;
        let has_room = taken.map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "keeping rows panicked"))??;
        kept.tell();
        if !has_room {
            break;
        }
    }
    Ok(())
}

fn told_of(kept: &Arc<Kept>, from: u64) -> Answer {
    let text = tokio::task::block_in_place(|| kept.page(from))?;
    let mut answer = json_text(StatusCode::OK, text);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// Rows from one on, and how it stands; who says how many rows he has `seen` waits until there are more, or it is over.
pub(super) async fn page(Within(session): Within, Path(id): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let kept = session.results.of(&id)?;
    let (mut from, mut seen) = (0, None);
    for (name, value) in asked(query.as_deref(), &["from", "seen"])? {
        let number = value.parse().map_err(|_| Problem::wrong(format!("\"{name}\" is a number of rows")))?;
        match name.as_str() {
            "from" => from = number,
            _ => seen = Some(number),
        }
    }
    if seen.is_some() {
        kept.news(seen, WAIT).await;
        kept.look();
    }
    told_of(&kept, from)
}

/// All of a long value, or a part of it.
pub(super) async fn value(Within(session): Within, Path(id): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let kept = session.results.of(&id)?;
    let (mut at, mut bytes) = (0, 0);
    for (name, value) in asked(query.as_deref(), &["at", "bytes"])? {
        let number: u64 = value.parse().map_err(|_| Problem::wrong(format!("\"{name}\" is a number of bytes")))?;
        if name == "at" { at = number } else { bytes = number }
    }
    let bytes = usize::try_from(bytes.min(VALUE_BYTES)).map_err(|_| Problem::wrong("a value is not as long"))?;
    let text = tokio::task::block_in_place(|| kept.lock().spool.read(at, bytes))?;
    let mut answer = Response::new(Body::from(text));
    let headers = answer.headers_mut();
    secure(headers);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(answer)
}

/// Stops a statement, and lets go of its result.
pub(super) async fn end(Within(session): Within, Path(id): Path<String>) -> Answer {
    session.results.end(&id);
    Ok(empty())
}

//! What runs now and what was run, told to who may run and write SQL in the databases that it is of, and stopped for him.
//!
//! Statements are told without their constants, whoever has said them.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairn_server::Level;
use cairndb::{ServedSession, ServedStatement};
use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::Kept;
use crate::app::App;
use crate::collections::{answer, said};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// How many statements are told that were run: those that took the most time.
const STATEMENTS: usize = 100;
/// From 1970 to 2000, since when sessions count.
const EPOCH: Duration = Duration::from_secs(946_684_800);

pub(super) async fn look(State(app): State<Arc<App>>, principal: Principal) -> Answer {
    let sessions = app.services.sessions();
    let sessions = sessions.iter().filter(|session| may_see(&principal, &session.database)).map(session);
    let running = app.sessions.running();
    let running = running.iter().filter(|kept| may_see(&principal, &kept.about.database)).map(console);
    let mut statements = app.services.statements();
    statements.retain(|statement| may_see(&principal, &statement.database));
    statements.sort_by_key(|statement| std::cmp::Reverse(statement.total_ns));
    statements.truncate(STATEMENTS);
    let told = json!({
        "sessions": sessions.chain(running).collect::<Vec<Value>>(),
        "statements": statements.iter().map(statement).collect::<Vec<Value>>(),
    });
    Ok(answer(StatusCode::OK, &told))
}

/// As over PostgreSQL's protocol: who may write may stop what others run.
fn may_see(principal: &Principal, database: &str) -> bool {
    principal.writes_sql() && principal.check(database, None, Scope::Sql).is_ok()
}

fn session(session: &ServedSession) -> Value {
    let is_active = session.state == "active";
    let since = if is_active { session.statement_begun } else { None }.unwrap_or(session.state_since);
    json!({
        "process": session.process,
        "database": session.database,
        "user": session.user,
        "application": session.application_name,
        "client": session.client.map(|client| client.to_string()),
        "state": session.state,
        "waits_for": session.waits_for.map(|(_, name)| name),
        "ms": ms_since(since),
        "statement": session.statement,
    })
}

/// Of a moment in microseconds since 2000.
fn ms_since(moment: i64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + EPOCH).unwrap_or_default().as_micros();
    u64::try_from(moment).map_or(0, |moment| u64::try_from(now).unwrap_or(u64::MAX).saturating_sub(moment) / 1000)
}

/// A statement of somebody's console.
fn console(kept: &Arc<Kept>) -> Value {
    json!({
        "id": kept.id,
        "database": kept.about.database,
        "user": kept.about.user,
        "application": "console",
        "client": null,
        "state": "active",
        "waits_for": null,
        "ms": u64::try_from(kept.begun().elapsed().as_millis()).unwrap_or(u64::MAX),
        "statement": kept.about.statement,
    })
}

fn statement(statement: &ServedStatement) -> Value {
    let ms = |ns: u64| ns as f64 / 1e6;
    json!({
        "database": statement.database,
        "user": statement.user,
        "statement": statement.text,
        "calls": statement.calls,
        "rows": statement.rows,
        "total_ms": ms(statement.total_ns),
        "max_ms": ms(statement.max_ns),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    process: Option<i32>,
    id: Option<String>,
}

/// Stops what somebody runs. What the one who asks may not see is not there for him.
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    principal: Principal,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let which: Which = said(&app, &headers, body).await?;
    let is_stopped = match (which.process, which.id) {
        (Some(process), None) => {
            let sessions = app.services.sessions();
            let session = sessions.iter().find(|session| session.process == process);
            let session = session.filter(|session| may_see(&principal, &session.database));
            session.is_some_and(|session| {
                let is_stopped = app.services.cancel(process);
                log(&app, &principal, (&session.user, &session.database), is_stopped);
                is_stopped
            })
        }
        (None, Some(id)) => {
            let running = app.sessions.running();
            let kept = running.iter().find(|kept| kept.id == id && may_see(&principal, &kept.about.database));
            kept.inspect(|kept| {
                kept.stop();
                log(&app, &principal, (&kept.about.user, &kept.about.database), true);
            })
            .is_some()
        }
        _ => return Err(Problem::wrong("either \"process\" or \"id\" says what is stopped")),
    };
    match is_stopped {
        true => Ok(answer(StatusCode::OK, &json!({}))),
        false => Err(Problem::missing("nothing of that number runs")),
    }
}

/// Tells that somebody was stopped, and by whom.
fn log(app: &App, principal: &Principal, (user, database): (&str, &str), is_stopped: bool) {
    let token = principal.name();
    let of: [(_, &dyn Display); 3] = [("user", &user), ("database", &database), ("token", &token)];
    if is_stopped {
        app.services.log(Level::Info, "cancelled", &of);
    }
}

//! What is done with a whole database: a copy of it as a file, and a check of all of it.
//!
//! One goes on at a time, whoever asks for it: each takes as much disk or processor as a database has.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::http::StatusCode;
use cairndb::{Connection, Database, Error, SqlState};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::download::{Source, What};
use super::sessions::Within;
use crate::asking::Asking;
use crate::collections::answer;
use crate::databases::Open;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// What is read of a copy at once.
const PART_BYTES: usize = 256 << 10;

/// See the module.
pub(crate) struct Turn(Arc<Semaphore>);

impl Default for Turn {
    fn default() -> Turn {
        Turn(Arc::new(Semaphore::new(1)))
    }
}

impl Turn {
    fn take(&self) -> Result<OwnedSemaphorePermit, Error> {
        self.0.clone().try_acquire_owned().map_err(|_| {
            let message = "another database is copied or checked by the console";
            Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint("Ask again when that is over.")
        })
    }
}

/// An address that gives a copy of the database as a file, once: as it is when it is asked for.
pub(super) async fn copy(Within(session): Within, asking: Asking) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let turn = asking.app.sessions.turn.take()?;
    let database = open.database.call(|connection: &Connection| Ok(connection.database().clone())).await?;
    let has_ended = session.results.have_ended();
    let copy = Copying { file: None, database, has_ended, _open: open, _turn: turn };
    let path = session.tickets.path(What::Copy(Box::new(copy)))?;
    asking.log("backup", &[]);
    Ok(answer(StatusCode::OK, &json!({ "path": path })))
}

/// A copy that is made when its first part is asked for, in a temporary folder.
pub(super) struct Copying {
    /// (The file goes before its folder.)
    file: Option<(File, TempDir)>,
    database: Database,
    /// The session that asked for it has ended.
    has_ended: Arc<AtomicBool>,
    _open: Arc<Open>,
    _turn: OwnedSemaphorePermit,
}

impl Source for Copying {
    fn part(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let (file, _) = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(made(&self.database)?),
        };
        if self.has_ended.load(Ordering::SeqCst) {
            return Err(Error::new(SqlState::QUERY_CANCELED, "the session has ended"));
        }
        let mut part = vec![0; PART_BYTES];
        let bytes = file.read(&mut part).map_err(failed)?;
        part.truncate(bytes);
        Ok((bytes > 0).then_some(part))
    }
}

fn made(database: &Database) -> Result<(File, TempDir), Error> {
    let folder = TempDir::new().map_err(failed)?;
    let path = folder.path().join("copy.cairn");
    database.backup_to(&path)?;
    Ok((File::open(path).map_err(failed)?, folder))
}

fn failed(error: std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("the copy can not be kept or read: {error}"))
}

/// Checks all of the database; what is wrong, if something is.
pub(super) async fn verify(_: Within, asking: Asking, _: Body) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let turn = asking.app.sessions.turn.take()?;
    let database = open.database.call(|connection: &Connection| Ok(connection.database().clone())).await?;
    let begun = Instant::now();
    // (It goes on where nobody waits for it any more, and nothing else is checked meanwhile.)
    let checked = tokio::task::spawn_blocking(move || {
        let _held = (turn, open);
        database.verify()
    });
    let checked = checked.await.map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "checking the database panicked"))?;
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    asking.log("verify", &[("ms", &ms), ("found", &if checked.is_ok() { "nothing wrong" } else { "damage" })]);
    let told = match checked {
        Ok(found) => json!({
            "ms": ms, "pages": found.pages, "entries": found.entries, "indexes": found.indexes, "notes": found.notes,
        }),
        Err(error) => json!({ "ms": ms, "wrong": Problem::from(error).body() }),
    };
    Ok(answer(StatusCode::OK, &told))
}

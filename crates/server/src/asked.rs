//! What a session asks the server in SQL: see [`cairndb::Server`].
//!
//! - Who may write is told of all sessions, and may stop them; who may only read, of his own user's.
//! - Statements are told as the log has them, without constants: nothing secret is in them.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairndb::{Error, ServedDatabase, ServedSession, ServedStatement, Server, SqlState, Wait};

use crate::activity::State;
use crate::log::{Level, Log};
use crate::registry::{Entry, Who};
use crate::server::Shared;
use crate::statements::{Counted, Key};

/// How often it is looked whether a session has ended.
const LOOK_TIME: Duration = Duration::from_millis(10);

/// Of a session.
pub(crate) struct Asked {
    pub(crate) shared: Arc<Shared>,
    pub(crate) process: i32,
    pub(crate) who: Who,
    pub(crate) reads_only: bool,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({})", self.process)
    }
}

impl Asked {
    fn may_see(&self, user: &str) -> bool {
        !self.reads_only || *self.who.user == *user
    }

    /// Tells that this one has stopped what another does.
    fn log(&self, event: &str, (process, other): (i32, &Entry)) {
        let of: [(_, &dyn fmt::Display); 5] = [
            ("process", &process),
            ("user", &other.who.user),
            ("database", &other.who.database),
            ("by", &self.who.user),
            ("by_process", &self.process),
        ];
        self.shared.options().log.line(Level::Info, event, &of);
    }

    /// The session, if there is one; SQLSTATE 42501 where it is not for this one to stop.
    fn other(&self, process: i32, what: &str) -> Result<Option<Arc<Entry>>, Error> {
        let entry = self.shared.registry.session(process);
        match entry {
            Some(entry) if !self.may_see(&entry.who.user) => {
                let message = format!("permission denied to {what}");
                let detail = "A user who may only read stops sessions of his own.";
                Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_detail(detail))
            }
            entry => Ok(entry),
        }
    }
}

/// A session, for who may see what it runs or may not.
pub(crate) fn told_session(process: i32, entry: &Entry, may_see: bool) -> ServedSession {
    let doing = entry.activity.now();
    ServedSession {
        process,
        database: entry.who.database.to_string(),
        user: entry.who.user.to_string(),
        client: entry.who.from.parse().ok(),
        begun: entry.begun,
        transaction_begun: doing.transaction_begun,
        statement_begun: doing.statement_begun,
        state_since: doing.since,
        state: doing.state.name(),
        waits_for: match doing.state {
            State::Active => entry.waits.now().map(Wait::names),
            _ => Some(Wait::ClientRead.names()),
        },
        statement: may_see.then(|| Log::statement(doing.text())),
        application_name: doing.application_name,
    }
}

/// The same of a statement that was run.
pub(crate) fn told_statement((key, counted): (Key, Counted), may_see: bool) -> ServedStatement {
    ServedStatement {
        id: key.id(),
        text: may_see.then_some(key.text),
        user: key.user.to_string(),
        database: key.database.to_string(),
        calls: counted.calls,
        rows: counted.rows,
        total_ns: counted.total_ns,
        min_ns: counted.min_ns,
        max_ns: counted.max_ns,
    }
}

impl Server for Asked {
    fn process(&self) -> i32 {
        self.process
    }

    fn user(&self) -> &str {
        &self.who.user
    }

    fn databases(&self) -> Vec<ServedDatabase> {
        let (shared, sessions, options) = (&self.shared, self.shared.registry.sessions(), self.shared.options());
        let told = |(name, bytes, stats): (String, u64, _)| ServedDatabase {
            connections_max: options.connections_max_by_database,
            settings: shared.databases.folder().map(|folder| folder.settings(&name)).unwrap_or_default(),
            sessions: sessions.iter().filter(|(_, entry)| *entry.who.database == *name).count(),
            name,
            bytes,
            stats,
        };
        shared.databases.listed().into_iter().map(told).collect()
    }

    fn sessions(&self) -> Vec<ServedSession> {
        let sessions = self.shared.registry.sessions();
        let told = |(process, entry): &(i32, Arc<Entry>)| told_session(*process, entry, self.may_see(&entry.who.user));
        sessions.iter().map(told).collect()
    }

    fn statements(&self) -> Vec<ServedStatement> {
        let told = |counted: (Key, Counted)| {
            let may_see = self.may_see(&counted.0.user);
            told_statement(counted, may_see)
        };
        self.shared.statements.all().into_iter().map(told).collect()
    }

    fn forget_statements(&self) -> Result<(), Error> {
        if self.reads_only {
            let message = "permission denied for function pg_stat_statements_reset";
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.shared.statements.forget();
        Ok(())
    }

    fn cancel(&self, process: i32) -> Result<bool, Error> {
        let Some(other) = self.other(process, "cancel query")? else { return Ok(false) };
        other.stop_statement();
        self.log("cancelled", (process, &other));
        Ok(true)
    }

    fn terminate(&self, process: i32, wait_ms: u64) -> Result<Option<bool>, Error> {
        let Some(other) = self.other(process, "terminate process")? else { return Ok(None) };
        let until = Instant::now().checked_add(Duration::from_millis(wait_ms));
        self.log("terminated", (process, &other));
        loop {
            self.shared.registry.end(&other);
            if wait_ms == 0 || process == self.process || self.shared.registry.session(process).is_none() {
                return Ok(Some(true));
            }
            let own = self.shared.registry.session(self.process);
            if until.is_some_and(|until| until <= Instant::now()) || own.is_none_or(|own| own.is_gone()) {
                return Ok(Some(false));
            }
            std::thread::sleep(LOOK_TIME);
        }
    }
}

//! What another way into the same server has of it: its databases, its options, its log and what it counts.

use std::fmt::Display;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use cairndb::{Database, Error, ServedSession, ServedStatement, SqlState};

use crate::asked::{told_session, told_statement};
use crate::audit::Event;
use crate::folder::Lease;
use crate::log::{Level, Log};
use crate::options::Options;
use crate::server::Shared;
use crate::statements::{Counts, Key};

/// A statement that was counted, whose rows are counted as they are told.
#[derive(Debug, Default)]
pub struct Ran(Option<Arc<Counts>>);

impl Ran {
    /// It has changed or told so many more.
    pub fn rows(&self, rows: u64) {
        self.0.iter().for_each(|counts| counts.add_rows(rows));
    }
}

/// A server that runs, for whoever lets clients in beside it (over HTTP): see [`Running::services`](crate::Running::services).
#[derive(Clone)]
pub struct Services(pub(crate) Arc<Shared>);

impl Services {
    /// As they are by now.
    pub fn options(&self) -> Arc<Options> {
        self.0.options()
    }

    /// A database, open for as long as the lease is there, for who is authenticated.
    ///
    /// # Errors
    ///
    /// 3D000 where there is none of the name; its own where it can not be opened.
    pub fn lease(&self, name: &str) -> Result<Lease, Error> {
        self.0.databases.lease(name)
    }

    /// The one name of a database that has several.
    pub fn name<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.databases.name(name)
    }

    /// The names of all databases.
    pub fn databases(&self) -> Vec<String> {
        self.0.databases.listed().into_iter().map(|(name, ..)| name).collect()
    }

    /// What the sessions of a database begin with.
    pub fn settings(&self, name: &str) -> Vec<(String, String)> {
        self.0.databases.folder().map_or_else(Vec::new, |folder| folder.settings(name))
    }

    /// The server's own database; `None`: it serves one file.
    pub fn own(&self) -> Option<&Database> {
        self.0.databases.folder().map(|folder| folder.own())
    }

    /// What it counts, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        crate::metrics::text(&self.0)
    }

    /// Whether clients are let in, and the database answers.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_ready(&self) -> Result<(), Error> {
        crate::door::check(&self.0)?;
        self.0.databases.lasting().connect()?.execute("SELECT 1", ()).map(drop)
    }

    /// Tells the log that something happened.
    pub fn log(&self, level: Level, event: &str, of: &[(&str, &dyn Display)]) {
        self.0.options().log.line(level, event, of);
    }

    /// What is kept of the log of who came and went, and of what was done, the last one first: for who may know all that.
    pub fn audit(&self) -> Vec<Event> {
        self.0.audit.all()
    }

    /// A statement of a client's has begun to answer, or is over: it is counted, as one of this user's in this database, and told of where it took long.
    pub fn ran(&self, (user, database): (&str, &str), statement: &str, time: Duration) -> Ran {
        self.0.metrics.statements.add(time);
        let statements = &self.0.statements;
        let key = || Key::new(&user.into(), &self.name(database).into(), statement);
        let counts = statements.counts().then(|| statements.of(key()));
        counts.iter().for_each(|counts| counts.add(time, 0));
        if self.0.options().slow_statement.is_some_and(|slow| time >= slow) {
            let of: [(_, &dyn Display); 2] = [("ms", &time.as_millis()), ("statement", &Log::statement(statement))];
            self.log(Level::Warning, "slow_statement", &of);
        }
        Ran(counts)
    }

    /// The sessions of PostgreSQL's protocol: for who may see what others do in the databases that they are in.
    pub fn sessions(&self) -> Vec<ServedSession> {
        let sessions = self.0.registry.sessions();
        sessions.iter().map(|(process, entry)| told_session(*process, entry, true)).collect()
    }

    /// Stops what a session of these runs, if it runs something; whether there is one of this number.
    pub fn cancel(&self, process: i32) -> bool {
        let session = self.0.registry.session(process);
        session.inspect(|entry| entry.stop_statement()).is_some()
    }

    /// The statements that were run since the server began, or they were forgotten: for who may see what others do.
    pub fn statements(&self) -> Vec<ServedStatement> {
        self.0.statements.all().into_iter().map(|counted| told_statement(counted, true)).collect()
    }

    /// A statement as others may see it: without constants and comments.
    pub fn shown(&self, statement: &str) -> String {
        Log::statement(statement)
    }

    /// Has a database let go of that is to be dropped or renamed, by who keeps it without use: it is asked for each such statement. By force
    /// (`DROP DATABASE .. WITH (FORCE)`), by who uses it, too; it is asked again as long as somebody does.
    pub fn on_letting_go(&self, let_go: impl Fn(&str, bool) + Send + Sync + 'static) {
        self.0.keepers.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(let_go));
    }

    /// A client was told of an error: it is counted, and the log has what is the server's own.
    pub fn failed(&self, error: &Error) {
        let code: SqlState = error.sqlstate();
        self.0.metrics.failed(code);
        if matches!(&code.as_str()[..2], "53" | "58" | "XX") {
            self.log(Level::Error, "error", &[("code", &code), ("message", &error.message())]);
        }
    }
}

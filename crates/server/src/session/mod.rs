//! A session: does what a client's conversation asks for, on a connection of its own.

mod begin;
mod portals;
mod prepared;

use std::fmt::Display;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_wire::{Query, Request, Status};
use cairndb::{Connection, Error, SettingsSeen, SqlState};

pub(crate) use self::begin::{ceilings, reads_only, serve};
use self::portals::Portal;
use self::prepared::Prepared;
use crate::activity::{self, clock};
use crate::copy::copy;
use crate::hearing::Hearing;
use crate::line::Line;
use crate::log::{Level, Log};
use crate::options::Options;
use crate::registry::Place;
use crate::results::{Broken, give, tell_notices};
use crate::server::Shared;
use crate::statements::{Counts, Key, rows_of};

/// Settings whose values clients are told, by PostgreSQL's names and ours.
const TOLD: [(&str, &str); 10] = [
    ("application_name", "application_name"),
    ("client_encoding", "client_encoding"),
    ("DateStyle", "datestyle"),
    ("default_transaction_read_only", "default_transaction_read_only"),
    ("integer_datetimes", "integer_datetimes"),
    ("IntervalStyle", "intervalstyle"),
    ("server_encoding", "server_encoding"),
    ("server_version", "server_version"),
    ("standard_conforming_strings", "standard_conforming_strings"),
    ("TimeZone", "timezone"),
];

pub(crate) struct Session<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) shared: &'c Shared,
    /// As they were when it came in.
    pub(crate) options: &'c Options,
    pub(crate) place: &'c Place<'c>,
    statements: Vec<Option<Rc<Prepared<'c>>>>,
    portals: Vec<Option<Portal<'c>>>,
    seen: SettingsSeen,
    /// The values of `TOLD`.
    told: Vec<String>,
    hearing: Option<Hearing>,
}

impl<'c> Session<'c> {
    fn run(&mut self, line: &mut Line) -> io::Result<()> {
        loop {
            if self.is_ended() {
                line.conversation.terminate(&ended());
                return line.flush();
            }
            match line.conversation.next_request() {
                Request::Wait => self.wait(line)?,
                Request::Query(query) => self.query(line, &query)?,
                Request::Prepare(prepare) => self.prepare(line, prepare),
                Request::Bind(bind) => self.bind(line, &bind),
                Request::Execute(execute) => self.execute(line, &execute)?,
                Request::DescribeCursor(name) => self.describe_cursor(line, &name),
                Request::FindStatement(find) => self.find(line, &find),
                Request::CloseStatement(number) => self.close(number),
                Request::ForgetStatement(name) => self.connection.forget_statement(&name),
                Request::FindPortal(find) => self.find_portal(line, &find),
                Request::ClosePortal(number) => self.close_portal(number),
                Request::ForgetPortal(name) => self.connection.close_portal(&name),
                Request::ClosePortals => self.close_portals(),
                Request::Begin => self.control(line, "BEGIN"),
                Request::SetModes(modes) => self.control(line, &format!("SET TRANSACTION {modes}")),
                Request::Commit => self.control(line, "COMMIT"),
                Request::Rollback => self.control(line, "ROLLBACK"),
                Request::Fail => {
                    self.connection.fail_transaction();
                    self.tell_status(line);
                    line.conversation.done();
                }
                Request::Ready => self.ready(line),
                Request::End => return line.flush(),
                Request::Tls | Request::Cancel { .. } | Request::Login(_) | Request::Start(_) => {
                    line.conversation.terminate(&Error::internal("a session is asked for again"));
                }
            }
            line.flush_much()?;
        }
    }

    /// Waits for the client, as long as it may be waited for, telling it what it hears meanwhile.
    fn wait(&mut self, line: &mut Line) -> io::Result<()> {
        let limit = self.connection.idle_limit();
        let until = limit.as_ref().map(|(until, _)| *until);
        let waited = match (&mut self.hearing, until) {
            (Some(hearing), until) => hearing.wait(line, until)?,
            (None, until) => {
                line.rest()?;
                Ok(match until {
                    Some(until) => line.wait_until(until)?,
                    None => line.read().map(|()| true)?,
                })
            }
        };
        let over = match (waited, limit) {
            (Err(error), _) | (Ok(false), Some((_, error))) => error,
            _ => return Ok(()),
        };
        self.log(Level::Info, "ended", &[("code", &over.sqlstate())]);
        line.conversation.terminate(&over);
        Ok(())
    }

    /// Whether it is to end, whatever its client would say.
    fn is_ended(&self) -> bool {
        self.place.entry.is_gone() || self.shared.registry.is_stopping()
    }

    pub(crate) fn log(&self, level: Level, event: &str, more: &[(&str, &dyn Display)]) {
        let who = &self.place.entry.who;
        let own: [(_, &dyn Display); 4] =
            [("process", &self.place.process), ("user", &who.user), ("database", &who.database), ("from", &who.from)];
        self.options.log.line(level, event, &[&own[..], more].concat());
    }

    /// What ran since then is over: how long it took. What took long is told.
    fn ran(&self, begun: Instant, text: &str) -> Duration {
        let time = begun.elapsed();
        if self.options.slow_statement.is_some_and(|slow| time >= slow) {
            let of: [(_, &dyn Display); 2] = [("ms", &time.as_millis()), ("statement", &Log::statement(text))];
            self.log(Level::Warning, "slow_statement", &of);
        }
        self.settle();
        self.shared.metrics.statements.add(time);
        time
    }

    /// Others are told what the session does, now that nothing runs.
    fn settle(&self) {
        let state = match self.connection.in_transaction() {
            false => activity::State::Idle,
            true if self.connection.transaction_failed() => activity::State::Failed,
            true => activity::State::InTransaction,
        };
        self.place.entry.activity.end(state, clock());
    }

    /// Where a statement of this text is counted, if any is.
    fn counts(&self, text: &str) -> Option<Arc<Counts>> {
        let who = &self.place.entry.who;
        let statements = &self.shared.statements;
        statements.counts().then(|| statements.of(Key::new(&who.user, &who.database, text)))
    }

    fn tell_status(&self, line: &mut Line) {
        line.conversation.set_status(match self.connection.in_transaction() {
            false => Status::Idle,
            true if self.connection.transaction_failed() => Status::Failed,
            true => Status::Open,
        });
    }

    /// Says an error of what the client has asked for.
    fn fail(&self, line: &mut Line, error: &Error) {
        tell_notices(line, self.connection);
        self.tell_status(line);
        if self.is_ended() {
            return line.conversation.terminate(&ended());
        }
        let code = error.sqlstate();
        self.shared.metrics.failed(code);
        if code.as_str().starts_with(['5', 'X']) {
            let level = if matches!(&code.as_str()[..2], "53" | "58" | "XX") { Level::Error } else { Level::Warning };
            self.log(level, "error", &[("code", &code), ("message", &error.message())]);
        }
        line.conversation.failed(error);
    }

    fn control(&self, line: &mut Line, text: &str) {
        let performed = self.connection.perform(text, ());
        self.settle();
        match performed {
            Ok(_) => {
                tell_notices(line, self.connection);
                self.tell_status(line);
                line.conversation.done();
            }
            Err(error) => self.fail(line, &error),
        }
    }

    fn query(&mut self, line: &mut Line, query: &Query) -> io::Result<()> {
        self.place.entry.activity.begin(&query.text, clock());
        let begun = Instant::now();
        let given = match query.copies {
            Some(_) => copy(line, self.connection, &query.text),
            None => self.perform(line, &query.text),
        };
        let time = self.ran(begun, &query.text);
        match given {
            Ok(tag) => {
                self.counts(&query.text).iter().for_each(|counts| counts.add(time, rows_of(&tag)));
                self.complete(line, &tag);
            }
            Err(Broken::Failed(error)) => self.fail(line, &error),
            Err(Broken::Gone(error)) => return Err(error),
        }
        Ok(())
    }

    fn perform(&self, line: &mut Line, text: &str) -> Result<String, Broken> {
        if let Some(tag) = self.done_by_server(line, text)? {
            return Ok(tag);
        }
        let executed = self.connection.perform(text, ())?;
        let came = give(line, self.connection, executed, 0)?;
        Ok(came.tag.unwrap_or_default())
    }

    fn complete(&mut self, line: &mut Line, tag: &str) {
        if tag == "LISTEN" && self.hearing.is_none() {
            match Hearing::new(self.connection) {
                Ok(hearing) => self.hearing = Some(hearing),
                Err(error) => {
                    let message = format!("could not make what wakes a session: {error}");
                    return self.fail(line, &Error::new(SqlState::INSUFFICIENT_RESOURCES, message));
                }
            }
        }
        if tag == "DEALLOCATE" {
            self.forget_deallocated(line);
        }
        if line.conversation.has_named_portals() {
            self.forget_closed(line);
        }
        self.tell_status(line);
        line.conversation.completed(tag);
    }

    fn ready(&mut self, line: &mut Line) {
        self.tell_settings(line);
        self.tell_status(line);
        if let Some(hearing) = self.hearing.as_mut().filter(|_| !self.connection.in_transaction())
            && let Err(error) = hearing.tell(line)
        {
            return line.conversation.terminate(&error);
        }
        line.conversation.ready();
    }

    /// What settings have become since they were told.
    fn tell_settings(&mut self, line: &mut Line) {
        let Some(values) = self.connection.changed_settings(&TOLD.map(|(_, name)| name), &mut self.seen) else {
            return;
        };
        for (at, value) in values.iter().enumerate() {
            if self.told.get(at) != Some(value) {
                line.conversation.parameter(TOLD[at].0, value);
            }
        }
        self.told = values;
        self.place.entry.activity.call(self.told.first().map_or("", String::as_str));
    }
}

/// SQLSTATE 57P01.
fn ended() -> Error {
    Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}

fn take<T>(slots: &mut [Option<T>], number: usize) -> Option<T> {
    slots.get_mut(number)?.take()
}

fn put<T>(slots: &mut Vec<Option<T>>, number: usize, of: T) {
    while slots.len() <= number {
        slots.push(None);
    }
    slots[number] = Some(of);
}

//! A session: does what a client's conversation asks for, on a connection of its own.

use std::cell::RefCell;
use std::fmt::Display;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cairn_wire::{Bind, Execute, Find, FindPortal, Login, Prepare, Query, Request, Started, Status};
use cairndb::{
    Ceilings, ColumnOrigin, Connection, DataType, Database, Error, PortalState, SettingsSeen, SqlState, Statement,
    command_tag,
};

use crate::activity::{self, clock};
use crate::asked::Asked;
use crate::copy::copy;
use crate::door;
use crate::hearing::Hearing;
use crate::line::Line;
use crate::log::{Level, Log};
use crate::registry::{Entry, Place, Who};
use crate::results::{Broken, Came, give, go_on, tell_notices};
use crate::server::{Options, Shared};
use crate::statements::{Counts, Key, rows_of};
use crate::stream::Stream;

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

/// A statement that was prepared, its result's columns, and the tables' columns that they show.
type Described<'c> = (Statement<'c>, Option<Vec<cairndb::Field>>, Vec<Option<ColumnOrigin>>);

/// PostgreSQL's oid of `void`: what pgjdbc calls the type of an argument that only comes out.
const VOID: u32 = 2278;

/// Everything that a client's thread does. `number`: its connection's.
pub(crate) fn serve(stream: Stream, number: u64, shared: &Arc<Shared>) -> io::Result<()> {
    let from = stream.origin()?;
    let options = shared.options();
    let mut line = Line::new(stream, options.limits);
    let Some(login) = door::admit(&mut line, shared, &from)? else { return line.flush() };
    let database = shared.databases.name(&login.database).into();
    let who = Who { user: login.user.as_str().into(), database, from: from.1 };
    if let Err(error) = begin(&mut line, (shared, &options), &login, (who.clone(), number))? {
        let code = error.sqlstate();
        let of: [(_, &dyn Display); 4] =
            [("user", &who.user), ("database", &who.database), ("from", &who.from), ("code", &code)];
        options.log.line(Level::Warning, "refused", &of);
        line.conversation.refuse(&error);
        return line.flush();
    }
    Ok(())
}

/// Opens a session, and is it until it ends. The error: it does not begin.
fn begin(
    line: &mut Line,
    (shared, options): (&Arc<Shared>, &Arc<Options>),
    login: &Login,
    (who, number): (Who, u64),
) -> io::Result<Result<(), Error>> {
    // Let go of when the connection is gone.
    let lease = match door::check(shared).and_then(|()| shared.databases.lease(&login.database)) {
        Ok(lease) => lease,
        Err(error) => return Ok(Err(error)),
    };
    let connection = match lease.database().and_then(|database| connect(shared, options, (database, login))) {
        Ok(connection) => connection,
        Err(error) => return Ok(Err(error)),
    };
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let entry = Entry::new(who.clone(), number, secret, connection.interrupt_handle());
    let place = match shared.registry.enter(entry, options) {
        Ok(place) => place,
        Err(error) => return Ok(Err(error)),
    };
    let (process, reads_only) = (place.process, reads_only(options, &login.user));
    connection.serve(Arc::new(Asked { shared: shared.clone(), process, who, reads_only }));
    line.set_times(None, Some(options.output_timeout))?;
    line.conversation.started(&Started { process: place.process, secret });
    for (name, value) in [("in_hot_standby", "off"), ("is_superuser", "on"), ("session_authorization", &login.user)] {
        line.conversation.parameter(name, value);
    }
    tell_notices(line, &connection);
    let mut session = Session {
        connection: &connection,
        shared,
        options,
        place: &place,
        statements: Vec::new(),
        portals: Vec::new(),
        seen: SettingsSeen::default(),
        told: Vec::new(),
        hearing: None,
    };
    shared.metrics.sessions.fetch_add(1, Ordering::Relaxed);
    session.log(Level::Info, "connected", &[]);
    let began = Instant::now();
    let ran = session.run(line);
    let seconds = began.elapsed().as_secs();
    let gone = place.entry.is_gone() || ran.is_err();
    session.log(Level::Info, "disconnected", &[("seconds", &seconds), ("gone", &gone)]);
    ran.map(Ok)
}

/// A connection with the settings that the client wants, within what the server gives.
fn connect(shared: &Shared, options: &Options, (database, login): (&Database, &Login)) -> Result<Connection, Error> {
    let ceilings = ceilings(options, database, &login.user);
    let kept = shared.databases.folder().map(|folder| folder.settings(database.name())).unwrap_or_default();
    if !kept.is_empty() {
        match database.connect_within(&ceilings, &[&kept[..], &login.settings[..]].concat()) {
            // What was said of a database keeps nobody out: it may be beyond what is allowed by now.
            Err(error) => {
                let of: [(_, &dyn Display); 2] = [("database", &database.name()), ("message", &error.message())];
                options.log.line(Level::Warning, "database_settings", &of);
            }
            connected => return connected,
        }
    }
    database.connect_within(&ceilings, &login.settings)
}

/// What the settings of a user's sessions can not go beyond.
pub(crate) fn ceilings(options: &Options, database: &Database, user: &str) -> Ceilings {
    let mut ceilings = options.ceilings.clone().unwrap_or_else(|| database.ceilings());
    ceilings.reads_only |= reads_only(options, user);
    ceilings
}

pub(crate) fn reads_only(options: &Options, user: &str) -> bool {
    options.users.get(user).is_some_and(|user| user.reads_only)
        || options.ceilings.as_ref().is_some_and(|ceilings| ceilings.reads_only)
}

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

/// A prepared statement; portals of it keep it.
struct Prepared<'c> {
    /// `None`: it is one of the server's (`database_statement.rs`).
    statement: Option<RefCell<Statement<'c>>>,
    /// By which SQL knows it, too, but the server's; empty: none.
    name: String,
    text: Arc<str>,
    /// Where it is counted, if it is.
    counts: Option<Arc<Counts>>,
    /// It has rows, as far as was known when it was prepared.
    returns: bool,
}

struct Portal<'c> {
    /// `None`: a cursor that SQL has made, or nothing to run.
    prepared: Option<Rc<Prepared<'c>>>,
    text: Arc<str>,
    state: State,
    /// How long it has been run so far.
    spent: Duration,
}

/// Where it is known how far a portal was run.
enum State {
    /// Here: it has no name.
    Own(PortalState),
    /// In the session, which shares it with SQL: its number there.
    Shared { name: String, serial: u64 },
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

    fn prepare(&mut self, line: &mut Line, prepare: Prepare) {
        let Prepare { statement: number, name, text, types } = prepare;
        drop(take(&mut self.statements, number));
        match self.of_server(&text) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let prepared = Prepared { statement: None, name, text: text.into(), counts: None, returns: false };
                put(&mut self.statements, number, Rc::new(prepared));
                return line.conversation.prepared(Vec::new(), None, Vec::new());
            }
            Err(error) => {
                self.connection.fail_transaction();
                return self.fail(line, &error);
            }
        }
        let prepared = self.prepared(&text, &types);
        let named = prepared.and_then(|of| match name.is_empty() {
            true => Ok(of),
            false => self.connection.name_statement(&name, &of.0).map(|()| of),
        });
        match named {
            Ok((statement, columns, origins)) => {
                let parameters = statement.parameter_types().to_vec();
                self.keep(number, statement, (name, text.into()), columns.is_some());
                tell_notices(line, self.connection);
                self.tell_status(line);
                line.conversation.prepared(parameters, columns, origins);
            }
            Err(error) => self.fail(line, &error),
        }
    }

    fn keep(&mut self, number: usize, statement: Statement<'c>, (name, text): (String, Arc<str>), returns: bool) {
        let (statement, counts) = (Some(RefCell::new(statement)), self.counts(&text));
        put(&mut self.statements, number, Rc::new(Prepared { statement, name, text, counts, returns }));
    }

    /// What PREPARE has made, for the protocol.
    fn find(&mut self, line: &mut Line, find: &Find) {
        let found = self.connection.named_statement(&find.name).and_then(|statement| {
            let (columns, origins) = (statement.result()?, statement.origins()?);
            Ok((statement, columns, origins))
        });
        match found {
            Ok((statement, columns, origins)) => {
                let (parameters, text) = (statement.parameter_types().to_vec(), Arc::<str>::from(statement.text()));
                let returns = columns.is_some();
                line.conversation.found(text.len(), parameters, columns, origins);
                self.keep(find.statement, statement, (find.name.clone(), text), returns);
            }
            Err(error) => self.fail(line, &error),
        }
    }

    /// Neither the protocol nor SQL knows it any more; portals of it go on.
    fn close(&mut self, number: usize) {
        if let Some(prepared) = take(&mut self.statements, number)
            && !prepared.name.is_empty()
        {
            self.connection.forget_statement(&prepared.name);
        }
    }

    /// DEALLOCATE has forgotten one of those that both know.
    fn forget_deallocated(&self, line: &mut Line) {
        let own = self.statements.iter().flatten().filter(|of| of.statement.is_none());
        let own: Vec<&str> = own.map(|of| of.name.as_str()).collect();
        line.conversation.keep_statements(|name| self.connection.knows_statement(name) || own.contains(&name));
    }

    fn prepared(&self, text: &str, types: &[u32]) -> Result<Described<'c>, Error> {
        let of_oid = |oid: &u32| match *oid {
            0 => Ok(DataType::Unknown),
            VOID => Ok(DataType::Void),
            oid => self.connection.type_of_oid(oid)?.ok_or_else(|| {
                let message = format!("type with OID {oid} does not exist");
                Error::new(SqlState::UNDEFINED_OBJECT, message)
            }),
        };
        let types: Vec<DataType> = types.iter().map(of_oid).collect::<Result<_, _>>()?;
        let statement = self.connection.prepare_typed(text, &types).map_err(without_place)?;
        let columns = statement.result()?;
        let origins = statement.origins()?;
        Ok((statement, columns, origins))
    }

    fn describe_cursor(&self, line: &mut Line, name: &str) {
        let fetch = format!("FETCH FROM {}", quoted(name));
        let columns = self.connection.prepare_typed(&fetch, &[]).and_then(|fetch| fetch.result());
        match columns {
            Ok(columns) => line.conversation.described(&columns.unwrap_or_default()),
            Err(error) => {
                self.connection.fail_transaction();
                let error = match error.sqlstate() {
                    code @ SqlState::INVALID_CURSOR_NAME => {
                        Error::new(code, format!("portal \"{name}\" does not exist"))
                    }
                    _ => error,
                };
                self.fail(line, &error);
            }
        }
    }

    fn bind(&mut self, line: &mut Line, bind: &Bind) {
        self.close_portal(bind.portal);
        match self.bound(bind) {
            Ok(portal) => {
                // Of FETCH they are those of a cursor that may have come since it was prepared.
                let late = portal.prepared.as_ref().filter(|of| !of.returns).and_then(|of| of.statement.as_ref());
                if let Some(Ok(Some(columns))) = late.map(|statement| statement.borrow().result()) {
                    line.conversation.returns(columns);
                }
                put(&mut self.portals, bind.portal, portal);
                line.conversation.bound();
            }
            Err(error) => self.fail(line, &error),
        }
    }

    fn bound(&self, bind: &Bind) -> Result<Portal<'c>, Error> {
        let Bind { name, statement, parameters, .. } = bind;
        if !name.is_empty() && self.connection.cursor_of(name).is_some() {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        let values = parameters.values(|| self.connection.text_context())?;
        let prepared = match statement {
            Some(number) => {
                let of = self.statements.get(*number).cloned().flatten();
                Some(of.ok_or_else(|| Error::internal("a portal of no statement"))?)
            }
            None => None,
        };
        let text = prepared.as_ref().map_or_else(|| "".into(), |of| of.text.clone());
        let state = match name.is_empty() {
            true => State::Own(PortalState::New(values)),
            false => {
                let statement = prepared.as_ref().and_then(|of| of.statement.as_ref()).map(RefCell::borrow);
                let serial = self.connection.open_portal(name, statement.as_deref(), &text, values)?;
                State::Shared { name: name.clone(), serial }
            }
        };
        Ok(Portal { prepared, text, state, spent: Duration::ZERO })
    }

    /// What DECLARE has made, for the protocol.
    fn find_portal(&mut self, line: &mut Line, find: &FindPortal) {
        match self.connection.cursor_of(&find.name) {
            Some((serial, text)) => {
                let state = State::Shared { name: find.name.clone(), serial };
                let portal = Portal { prepared: None, text, state, spent: Duration::ZERO };
                put(&mut self.portals, find.portal, portal);
                line.conversation.found_portal();
            }
            None => {
                self.connection.fail_transaction();
                let message = format!("portal \"{}\" does not exist", find.name);
                self.fail(line, &Error::new(SqlState::INVALID_CURSOR_NAME, message));
            }
        }
    }

    /// Neither the protocol nor SQL knows it any more.
    fn close_portal(&mut self, number: usize) {
        if let Some(Portal { state: State::Shared { name, serial }, .. }) = take(&mut self.portals, number)
            && self.connection.cursor_of(&name).is_some_and(|(known, _)| known == serial)
        {
            self.connection.close_portal(&name);
        }
    }

    fn close_portals(&mut self) {
        if self.portals.iter().flatten().any(|portal| matches!(portal.state, State::Shared { .. })) {
            self.connection.close_portals();
        }
        self.portals.clear();
    }

    /// SQL has closed some of those that both know, by CLOSE, ROLLBACK TO or in a function.
    fn forget_closed(&self, line: &mut Line) {
        line.conversation.keep_portals(|name, number| {
            let known = self.connection.cursor_of(name).map(|(serial, _)| serial);
            match self.portals.get(number).and_then(Option::as_ref).map(|portal| &portal.state) {
                Some(State::Shared { serial, .. }) => known == Some(*serial),
                _ => false,
            }
        });
    }

    fn execute(&mut self, line: &mut Line, execute: &Execute) -> io::Result<()> {
        let Some(mut portal) = take(&mut self.portals, execute.portal) else {
            self.fail(line, &Error::internal("a portal that is not there"));
            return Ok(());
        };
        self.place.entry.activity.begin_prepared(&portal.text, clock());
        let begun = Instant::now();
        let ran = self.execute_portal(line, &mut portal, execute);
        portal.spent += self.ran(begun, &portal.text);
        let (spent, prepared) = (portal.spent, portal.prepared.clone());
        put(&mut self.portals, execute.portal, portal);
        match ran {
            Ok(Some(tag)) => {
                let counts = prepared.as_ref().and_then(|of| of.counts.as_ref());
                counts.iter().for_each(|counts| counts.add(spent, rows_of(&tag)));
                self.complete(line, &tag);
            }
            Ok(None) => {
                self.tell_status(line);
                line.conversation.suspended();
            }
            Err(Broken::Failed(error)) => self.fail(line, &error),
            Err(Broken::Gone(error)) => return Err(error),
        }
        Ok(())
    }

    /// The statement's tag; `None`: rows are left.
    fn execute_portal(
        &self,
        line: &mut Line,
        portal: &mut Portal<'c>,
        execute: &Execute,
    ) -> Result<Option<String>, Broken> {
        let cannot = PortalState::Over(None);
        let state = match &mut portal.state {
            State::Own(state) => std::mem::replace(state, cannot),
            State::Shared { name, .. } => match self.connection.take_portal(name)? {
                Some(state) => state,
                None => return self.execute_cursor(line, execute),
            },
        };
        let (ran, left) = match self.run_portal(line, portal.prepared.as_deref(), (state, execute)) {
            Ok(Came { tag, left }) => (Ok(tag), left),
            Err(broken) => (Err(broken), PortalState::Over(None)),
        };
        match &mut portal.state {
            State::Own(state) => *state = left,
            State::Shared { name, .. } => self.connection.give_portal_back(name, left),
        }
        ran
    }

    fn run_portal(
        &self,
        line: &mut Line,
        prepared: Option<&Prepared<'c>>,
        (state, execute): (PortalState, &Execute),
    ) -> Result<Came, Broken> {
        let done = |tag| Ok(Came { tag: Some(tag), left: PortalState::Over(None) });
        match (state, prepared) {
            (PortalState::New(_), Some(prepared)) if execute.copies.is_some() => {
                done(copy(line, self.connection, &prepared.text)?)
            }
            (PortalState::New(values), Some(prepared)) => match &prepared.statement {
                Some(statement) => {
                    let executed = statement.borrow_mut().perform(&values[..])?;
                    give(line, self.connection, executed, execute.rows_max)
                }
                None => done(self.perform(line, &prepared.text)?),
            },
            (PortalState::Begun(begun), _) => go_on(line, self.connection, begun, execute.rows_max),
            (PortalState::Over(Some(command)), _) => {
                let tag = Some(command_tag(command, 0, Some(0)));
                Ok(Came { tag, left: PortalState::Over(Some(command)) })
            }
            (PortalState::New(_), None) | (PortalState::Over(None), _) => {
                let message = format!("portal \"{}\" cannot be run", execute.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into())
            }
        }
    }

    /// Executes what DECLARE has made.
    fn execute_cursor(&self, line: &mut Line, execute: &Execute) -> Result<Option<String>, Broken> {
        let count = if execute.rows_max == 0 { "ALL".to_owned() } else { execute.rows_max.to_string() };
        let fetch = format!("FETCH {count} FROM {}", quoted(&execute.name));
        let executed = self.connection.perform(&fetch, ())?;
        let rows = executed.affected();
        give(line, self.connection, executed, 0)?;
        let are_left = execute.rows_max > 0 && rows == u64::from(execute.rows_max);
        Ok((!are_left).then(|| command_tag("SELECT", rows, Some(rows))))
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

/// PostgreSQL does not say where the second statement begins in a text that may have one only.
fn without_place(error: Error) -> Error {
    match error.message() {
        message @ "cannot insert multiple commands into a prepared statement" => Error::new(error.sqlstate(), message),
        _ => error,
    }
}

/// A name, as SQL has it whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
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

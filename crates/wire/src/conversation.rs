//! A client's conversation with the server, without input and output.
//!
//! Who drives it asks for the [next](Conversation::next_request) thing to do, does it, and answers; bytes that come are given to
//! [`receive`](Conversation::receive), bytes that are to go out are in the [`output`](Conversation::output). Once it says
//! [`Request::Wait`], all that has come is handled, and what is in the output is to be written: so what a client sends together is
//! answered by one write. A driver may write before, where rows are many.
//!
//! ```text
//! bytes --receive--> Input --frames--> startup, script, extended --Request--> driver
//! bytes <--output--- Output <-------- rows, tags, errors <-------- answers ----- driver
//! ```
//!
//! What holds:
//! - Messages are handled in the order in which they came, each once, and one request at a time is without its answer.
//! - Behind an error in an extended query everything is passed over up to Sync; behind one in a simple query, the rest of its text.
//! - Statements that come together are one transaction (`block.rs`); an Execute is run when it is known what comes behind it: with Sync
//!   behind the first one it is a statement on its own.
//! - Before a session has started nothing of a client takes more than 64 KiB, and none of its bytes has come to a statement.
//! - Names of statements and portals are the conversation's, their numbers are the driver's: a portal's rows, and the plan of a statement,
//!   are the driver's, until it is told that the number is free.
//! - Whatever comes, nothing panics; what can not be understood ends the conversation with a word (SQLSTATE 08P01, FATAL).

use std::collections::VecDeque;

use cairndb::{ClientCopy, ColumnOrigin, Error, Field, Form, Notice, Result, Row};

use crate::block::Control;
use crate::error::{aborted, refused, violation};
use crate::extended::{Portal, Statement};
use crate::input::{Frame, Input};
use crate::output::{Formats, Output, Severity};
use crate::request::{Limits, Login, Request, Status};
use crate::scram::Exchange;
use crate::script::Script;
use crate::slots::Slots;

/// See the module.
pub struct Conversation {
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) limits: Limits,
    pub(crate) phase: Phase,
    pub(crate) asked: Asked,
    /// Requests that want no answer.
    pub(crate) told: VecDeque<Request>,
    /// The client sends nothing more.
    ended: bool,
    /// What the client needs to cancel statements; told before the first ReadyForQuery, behind the settings.
    pub(crate) key: Option<(i32, Vec<u8>)>,
    /// What is said in 3.2 and not in 3.0 may be said.
    pub(crate) is_newer: bool,
    pub(crate) status: Status,
    /// The transaction that is open is the protocol's.
    pub(crate) implicit: bool,
    /// The open transaction is to be rolled back, or failed, before anything else.
    recovers: bool,
    /// Up to Sync nothing is looked at.
    pub(crate) skips: bool,
    /// The client is somewhere else in the protocol: once the error is said, there is no going on.
    pub(crate) is_lost: bool,
    /// The statement that runs ends a transaction, and portals with it.
    pub(crate) ends_portals: bool,
    /// ReadyForQuery is to be said.
    pub(crate) is_ready_due: bool,
    pub(crate) script: Option<Script>,
    pub(crate) statements: Slots<Statement>,
    pub(crate) statement_bytes: usize,
    pub(crate) portals: Slots<Portal>,
    pub(crate) portal_bytes: usize,
    /// See [`Conversation::was_denied`].
    pub(crate) was_denied: bool,
}

/// How far the conversation is.
pub(crate) enum Phase {
    /// Nobody has said who he is.
    Greeting,
    /// The client is to prove it.
    Authenticating(Box<Proof>),
    /// It is who it says.
    Authenticated(Login),
    Talking,
    Over,
}

/// Who somebody says he is, and how far he has come in showing it.
pub(crate) struct Proof {
    pub(crate) login: Login,
    pub(crate) challenge: crate::Challenge,
    pub(crate) exchange: Option<Exchange>,
}

/// What the driver was asked and has not answered.
#[derive(Debug, Default)]
pub(crate) enum Asked {
    #[default]
    Nothing,
    Tls,
    Login(Login),
    Start,
    Query,
    Prepare {
        name: String,
        text_bytes: usize,
        control: Control,
        copies: Option<ClientCopy>,
    },
    /// A statement of this name.
    Find(String),
    /// A cursor of this name.
    FindPortal(String),
    Bind {
        name: String,
        portal: Portal,
    },
    Cursor,
    /// The portal's number.
    Execute(usize),
    Begin,
    /// Of an implicit transaction that becomes the client's.
    Modes,
    Commit,
    Recover,
    Ready,
}

impl Conversation {
    /// A conversation that begins, with the first byte that a client sends.
    pub fn new(limits: Limits) -> Conversation {
        Conversation {
            input: Input::default(),
            output: Output::default(),
            limits,
            phase: Phase::Greeting,
            asked: Asked::Nothing,
            told: VecDeque::new(),
            ended: false,
            key: None,
            is_newer: false,
            status: Status::Idle,
            implicit: false,
            recovers: false,
            skips: false,
            is_lost: false,
            ends_portals: false,
            is_ready_due: false,
            script: None,
            statements: Slots::default(),
            statement_bytes: 0,
            portals: Slots::default(),
            portal_bytes: 0,
            was_denied: false,
        }
    }

    /// Bytes have come.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.input.receive(bytes);
    }

    /// No more bytes come: what has come is handled, then the conversation ends.
    pub fn end_of_input(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The bytes that are to be written. Who has written them clears it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output.bytes
    }

    /// The client may say nothing for long, and what was answered is written: memory is given back that took more than
    /// [`RESTING_BYTES`](Conversation::RESTING_BYTES).
    ///
    /// ```
    /// let mut conversation = cairn_wire::Conversation::new(Default::default());
    /// conversation.output().reserve(100_000);
    /// conversation.rest();
    /// assert!(conversation.output().capacity() <= cairn_wire::Conversation::RESTING_BYTES);
    /// ```
    pub fn rest(&mut self) {
        self.input.shrink_to(Conversation::RESTING_BYTES);
        self.output.bytes.shrink_to(Conversation::RESTING_BYTES);
    }

    /// What a conversation keeps of its buffers, each, while nothing is said.
    pub const RESTING_BYTES: usize = 4 << 10;

    /// Whether the conversation is over since its client did not know the password of who it said it is.
    pub fn was_denied(&self) -> bool {
        self.was_denied
    }

    /// Bytes that have come and were not handled.
    pub fn waiting_bytes(&self) -> usize {
        self.input.len()
    }

    /// What is to be done next.
    pub fn next_request(&mut self) -> Request {
        match self.step() {
            Ok(request) => request,
            Err(error) => {
                self.terminate(&error);
                Request::End
            }
        }
    }

    /// The errors are those behind which there is no going on.
    fn step(&mut self) -> Result<Request> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Ok(told);
            }
            if !matches!(self.asked, Asked::Nothing) {
                return Err(Error::internal("a request was not answered"));
            }
            let request = match &self.phase {
                Phase::Over => return Ok(Request::End),
                Phase::Greeting => self.greet()?,
                Phase::Authenticating(_) => self.authenticate()?,
                Phase::Authenticated(login) => {
                    let login = login.clone();
                    self.phase = Phase::Talking;
                    Some(self.ask(Asked::Start, Request::Start(login)))
                }
                Phase::Talking => self.talk()?,
            };
            match request {
                Some(Request::Wait) if self.ended => return Ok(Request::End),
                Some(request) => return Ok(request),
                None => {}
            }
        }
    }

    fn talk(&mut self) -> Result<Option<Request>> {
        if std::mem::take(&mut self.recovers) {
            self.asked = Asked::Recover;
            return Ok(Some(if self.implicit { Request::Rollback } else { Request::Fail }));
        }
        if self.script.is_some() {
            return Ok(self.script_step());
        }
        if std::mem::take(&mut self.is_ready_due) {
            if self.status == Status::Idle {
                self.drop_portals();
            }
            return Ok(Some(self.ask(Asked::Ready, Request::Ready)));
        }
        match self.input.frame(self.limits.message_bytes)? {
            Some(frame) => self.handle(&frame),
            None => Ok(Some(Request::Wait)),
        }
    }

    pub(crate) fn ask(&mut self, asked: Asked, request: Request) -> Request {
        self.asked = asked;
        request
    }

    fn handle(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let kind = frame.kind;
        if kind == b'E' && !self.skips {
            // Which may have to wait for what comes behind it.
            return Ok(self.execute(frame).unwrap_or_else(|error| self.reject(frame, &error)));
        }
        self.input.consume(frame);
        match kind {
            b'X' => {
                self.phase = Phase::Over;
                return Ok(None);
            }
            b'S' => return Ok(self.sync()),
            _ if !b"QPBDECHFdcf".contains(&kind) => {
                return Err(violation(format!("invalid frontend message type {kind}")));
            }
            _ if self.skips => return Ok(None),
            _ => {}
        }
        let handled = match kind {
            b'Q' => self.query(frame),
            b'P' => self.parse(frame),
            b'B' => self.bind(frame),
            b'D' => self.describe(frame),
            b'C' => self.close(frame),
            b'F' => Err(refused("a FunctionCall message", "Call the function in a SELECT.")),
            // Data of a COPY that has failed, and Flush: what is there to write is written when nothing is there to handle.
            _ => Ok(None),
        };
        Ok(handled.unwrap_or_else(|error| self.reject(frame, &error)))
    }

    /// A message that came to nothing.
    fn reject(&mut self, frame: &Frame, error: &Error) -> Option<Request> {
        self.input.consume(frame);
        if matches!(frame.kind, b'Q' | b'F') {
            self.say_error(error);
            (self.skips, self.is_ready_due) = (false, true);
        } else {
            self.say_error(error);
        }
        None
    }

    /// Says an error, ends what it is an error of, and fails the open transaction unless that was done.
    pub(crate) fn say_error(&mut self, error: &Error) {
        let script = self.script.take();
        let offset = script.as_ref().map_or(0, Script::characters_before);
        self.output.error(error, Severity::Error, offset);
        (self.skips, self.is_ready_due) = (script.is_none(), script.is_some());
        self.recovers = self.implicit || self.status == Status::Open;
        if self.status != Status::Idle {
            self.portals.each(Portal::fail);
        }
    }

    /// SQLSTATE 25P02 for a statement that a failed transaction does not accept.
    pub(crate) fn check_failed(&self, control: &Control) -> Result<()> {
        if self.status == Status::Failed && !control.ends_failed() { Err(aborted()) } else { Ok(()) }
    }

    /// Ends the conversation with an error: FATAL. (57P01 for who is ended by the server.)
    pub fn terminate(&mut self, error: &Error) {
        if !matches!(self.phase, Phase::Over) {
            self.output.error(error, Severity::Fatal, 0);
        }
        self.phase = Phase::Over;
        self.asked = Asked::Nothing;
        self.told.clear();
    }

    /// Whether a transaction is open, from now on. Told before each answer to what may change it.
    pub fn set_status(&mut self, status: Status) {
        self.status = status;
    }

    /// The answer to what is no statement of the client's: it was done.
    pub fn done(&mut self) {
        match std::mem::take(&mut self.asked) {
            Asked::Begin => self.implicit = true,
            Asked::Modes => {
                self.implicit = false;
                self.complete("BEGIN");
            }
            Asked::Commit => {
                self.implicit = false;
                if let Some(tag) = self.script.take().and_then(Script::into_held) {
                    self.output.complete(&tag);
                }
            }
            Asked::Recover => self.implicit = false,
            _ => {}
        }
    }

    /// The answer to any request of a client's: it has failed.
    pub fn failed(&mut self, error: &Error) {
        self.ends_portals = false;
        match std::mem::take(&mut self.asked) {
            // The transaction is gone, however it ended.
            Asked::Commit => {
                self.implicit = false;
                self.say_error(error);
                (self.skips, self.is_ready_due) = (false, true);
            }
            Asked::Recover => self.implicit = false,
            _ => self.say_error(error),
        }
        if self.is_lost {
            self.terminate(&violation("terminating connection because protocol synchronization was lost"));
        }
    }

    /// A statement's result has these columns; told before its first row. `origins`: the tables' columns that they show. (Of a portal they
    /// are told by Describe, and by nothing else.)
    pub fn columns(&mut self, fields: &[Field], origins: impl FnOnce() -> Vec<Option<ColumnOrigin>>) {
        if !matches!(self.asked, Asked::Execute(_)) {
            self.output.columns(fields, &origins(), &Formats::Text);
        }
    }

    /// A row of it. `form`: how the session writes texts.
    ///
    /// # Errors
    ///
    /// 54000 for what is too long for a message: nothing of the row is sent then.
    pub fn row(&mut self, row: &Row<'_>, form: &mut Form<'_>) -> Result<()> {
        let formats = match &self.asked {
            Asked::Execute(portal) => self.portals.get(*portal).map(|portal| &portal.formats),
            _ => None,
        };
        self.output.row(row, formats.unwrap_or(&Formats::Text), form)
    }

    /// The statement is done; `tag`: see [`command_tag`](cairndb::command_tag).
    pub fn completed(&mut self, tag: &str) {
        self.asked = Asked::Nothing;
        self.complete(tag);
        if matches!(tag, "DEALLOCATE ALL" | "DISCARD ALL") {
            self.forget_statements(|_, _| true);
        }
        if std::mem::take(&mut self.ends_portals) {
            self.drop_portals();
        }
    }

    pub(crate) fn complete(&mut self, tag: &str) {
        match &mut self.script {
            Some(script) if self.implicit && script.is_at_end() => script.hold(tag),
            _ => self.output.complete(tag),
        }
    }

    /// The portal has given as many rows as were asked for.
    pub fn suspended(&mut self) {
        self.asked = Asked::Nothing;
        self.output.empty(b's');
    }

    /// The client may go on.
    pub fn ready(&mut self) {
        self.asked = Asked::Nothing;
        if let Some((process, secret)) = self.key.take() {
            self.output.key(process, &secret);
        }
        let status = match self.status {
            Status::Idle => b'I',
            Status::Open => b'T',
            Status::Failed => b'E',
        };
        self.output.ready(status);
    }

    /// A notice or warning; between answers at any time.
    pub fn notice(&mut self, notice: &Notice) {
        self.output.notice(notice);
    }

    /// A setting that clients are told of has this value now.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.output.parameter(name, value);
    }

    /// Somebody has told something on a channel.
    pub fn notification(&mut self, process: i32, channel: &str, payload: &str) {
        self.output.notification(process, channel, payload);
    }

    /// Whether the client has been told that it may go on, and nothing that it has sent is unfinished: then it may be told what it
    /// did not ask for.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Talking)
            && matches!(self.asked, Asked::Nothing)
            && self.status == Status::Idle
            && self.script.is_none()
            && !self.skips
            && self.input.is_empty()
    }
}

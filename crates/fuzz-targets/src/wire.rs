//! What a client says, as bytes, to a conversation whose driver gives whatever answer may be given.
//!
//! Promised besides: the same bytes in other pieces come to the same requests and the same answers; what is answered is whole messages, and
//! no longer than what was said allows; no more statements and portals are known than are allowed; when the client ends, so does the
//! conversation.

use std::sync::LazyLock;

use cairn_wire::{Conversation, CopyInput, Limits, Request, Started, Status};
use cairndb::{CopyShape, DataType, Database, Error, Field, SqlState};

const LIMITS: Limits =
    Limits { message_bytes: 16 << 10, statements: 8, statement_bytes: 4 << 10, portals: 4, portal_bytes: 4 << 10 };

/// What is answered is at most so long, and so much longer than what was said.
const ANSWER_BYTES: usize = 64 << 10;
const ANSWER_FACTOR: usize = 64;

/// The types that statements' parameters have, by how long the text is.
const TYPES: [DataType; 8] = [
    DataType::Integer,
    DataType::Text,
    DataType::Boolean,
    DataType::Bytea,
    DataType::BigInt,
    DataType::Date,
    DataType::Double,
    DataType::Uuid,
];

/// What values are read by. (Never closed: what a thread lets go of at its end can not ask it for anything.)
static DATABASE: LazyLock<Database> = LazyLock::new(|| Database::open_in_memory().expect("a database in memory opens"));

/// The target: the first byte says how the others, which are what the client says, are cut.
pub fn wire_bytes(data: &[u8]) {
    let Some((cut, said)) = data.split_first() else { return };
    hold_in_pieces(said, *cut);
}

/// The target: messages whose lengths are right, of a client that is in: their kinds and bodies are the data's, cut by zeros.
pub fn wire_messages(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let mut said = b"\0\0\0\x14\0\x03\0\0user\0me\0\0".to_vec();
    said[3] = said.len() as u8;
    for message in data.split(|byte| *byte == b'\n').filter(|message| !message.is_empty()) {
        said.push(message[0]);
        said.extend((message.len() as u32 + 3).to_be_bytes());
        said.extend(&message[1..]);
    }
    hold_in_pieces(&said, *cut);
}

fn hold_in_pieces(said: &[u8], cut: u8) {
    let whole = hold(said, said.len().max(1));
    for length in [1, 2 + usize::from(cut)] {
        let cut = hold(said, length);
        // What comes behind a request for TLS is refused only where it has come.
        if !whole.asked_tls && !cut.asked_tls {
            assert_eq!(whole.requests, cut.requests, "in pieces of {length}: {}", said.escape_ascii());
            assert!(whole.answered == cut.answered, "in pieces of {length}: {}", said.escape_ascii());
        }
    }
}

/// What came of a conversation.
struct Held {
    requests: Vec<String>,
    answered: Vec<u8>,
    asked_tls: bool,
}

/// A conversation in pieces of so many bytes, up to its end.
fn hold(said: &[u8], length: usize) -> Held {
    let held = Held { requests: Vec::new(), answered: Vec::new(), asked_tls: false };
    let conversation = Conversation::new(LIMITS);
    let mut driver = Driver { conversation, pieces: said.chunks(length), status: Status::Idle, ended: false, held };
    while driver.goes_on() {
        let most = ANSWER_BYTES + ANSWER_FACTOR * said.len();
        assert!(driver.held.answered.len() <= most, "{} bytes for {}", most, said.len());
        assert!(driver.held.requests.len() <= 64 + 4 * said.len(), "no end: {}", said.escape_ascii());
    }
    check_whole(&driver.held.answered);
    driver.held
}

struct Driver<'a> {
    conversation: Conversation,
    pieces: std::slice::Chunks<'a, u8>,
    status: Status,
    ended: bool,
    held: Held,
}

impl Driver<'_> {
    /// More of what the client says, or that it says nothing more.
    fn hear(&mut self) {
        assert!(!self.ended, "it waits for who has ended");
        match self.pieces.next() {
            Some(piece) => self.conversation.receive(piece),
            None => {
                self.ended = true;
                self.conversation.end_of_input();
            }
        }
    }

    fn goes_on(&mut self) -> bool {
        let request = self.conversation.next_request();
        self.held.answered.append(self.conversation.output());
        match &request {
            Request::Wait => self.hear(),
            request => {
                self.held.requests.push(format!("{request:?}"));
                self.answer(request);
            }
        }
        self.held.answered.append(self.conversation.output());
        !matches!(request, Request::End | Request::Cancel { .. })
    }

    /// One of the answers that may be given; which, depends on what was asked before.
    fn answer(&mut self, request: &Request) {
        let number = self.held.requests.len();
        let fails = number.is_multiple_of(7);
        self.status = match request {
            Request::Begin => Status::Open,
            Request::Commit | Request::Rollback => Status::Idle,
            Request::Fail => Status::Failed,
            Request::Query(_) | Request::Execute(_) if number.is_multiple_of(5) => Status::Open,
            _ if fails && self.status == Status::Open => Status::Failed,
            _ => self.status,
        };
        let conversation = &mut self.conversation;
        conversation.set_status(self.status);
        match request {
            Request::Tls => {
                self.held.asked_tls = true;
                conversation.tls(false);
            }
            Request::Login(_) => conversation.trust(),
            Request::Start(_) => conversation.started(&Started { process: 7, secret: [5; 32] }),
            Request::Ready => conversation.ready(),
            Request::Rollback | Request::Fail => conversation.done(),
            Request::Wait
            | Request::End
            | Request::Cancel { .. }
            | Request::CloseStatement(_)
            | Request::ForgetStatement(_)
            | Request::ClosePortal(_)
            | Request::ForgetPortal(_)
            | Request::ClosePortals => {}
            _ if fails => conversation.failed(&Error::new(SqlState::DIVISION_BY_ZERO, "division by zero").at(3)),
            Request::Begin | Request::SetModes(_) | Request::Commit => conversation.done(),
            Request::Prepare(prepare) => {
                assert!(prepare.statement <= LIMITS.statements, "statement {}", prepare.statement);
                let count = prepare.text.bytes().filter(|byte| *byte == b'$').count();
                let parameters = (0..count).map(|at| TYPES[(at + prepare.text.len()) % TYPES.len()]).collect();
                let columns = prepare.text.starts_with('S').then(|| vec![field()]);
                conversation.prepared(parameters, columns, vec![None]);
            }
            Request::FindStatement(find) => {
                assert!(find.statement <= LIMITS.statements, "statement {}", find.statement);
                match find.name.len() % 2 {
                    0 => conversation.found(1, vec![TYPES[0]], Some(vec![field()]), vec![None]),
                    _ => conversation.failed(&Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, "there is none")),
                }
            }
            Request::FindPortal(find) => {
                assert!(find.portal <= LIMITS.portals, "portal {}", find.portal);
                match find.name.len() % 2 {
                    0 => conversation.found_portal(),
                    _ => conversation.failed(&Error::new(SqlState::INVALID_CURSOR_NAME, "there is none")),
                }
            }
            Request::Bind(bind) => {
                assert!(bind.portal <= LIMITS.portals, "portal {}", bind.portal);
                match values(&bind.parameters) {
                    Ok(()) => conversation.bound(),
                    Err(error) => conversation.failed(&error),
                }
            }
            Request::DescribeCursor(_) => conversation.described(&[field()]),
            Request::Query(query) if query.copies.is_some() => self.copy(),
            Request::Execute(execute) if execute.copies.is_some() => self.copy(),
            Request::Execute(_) if number.is_multiple_of(3) => conversation.suspended(),
            Request::Query(_) | Request::Execute(_) => conversation.completed("SELECT 1"),
        }
    }

    fn copy(&mut self) {
        self.conversation.copy_in(CopyShape { is_in: true, is_binary: false, columns: 1 });
        loop {
            match self.conversation.copy_input() {
                // In which pieces it comes is no matter.
                Ok(CopyInput::Data(_)) => {}
                Ok(CopyInput::End) => return self.conversation.completed("COPY 1"),
                Ok(CopyInput::Wait) => self.hear(),
                Err(error) => return self.conversation.failed(&error),
            }
        }
    }
}

/// Reads the values, as a portal does.
fn values(parameters: &cairn_wire::Parameters) -> Result<(), Error> {
    let connection = DATABASE.connect()?;
    parameters.values(|| connection.text_context()).map(drop)
}

fn field() -> Field {
    Field { name: "a".to_owned(), data_type: DataType::Integer }
}

/// Each message has all of its length.
fn check_whole(mut answered: &[u8]) {
    while let [kind, rest @ ..] = answered {
        // The answers to requests for encryption are one byte.
        if matches!(kind, b'N' | b'S') && rest.first().is_none_or(|next| *next != 0) {
            answered = rest;
            continue;
        }
        let length = rest.first_chunk().map(|length| u32::from_be_bytes(*length) as usize);
        answered = length.and_then(|length| rest.get(length..)).expect("a whole message");
    }
}

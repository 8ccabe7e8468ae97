//! What a conversation asks of who drives it.

use cairndb::ClientCopy;

use crate::Parameters;

/// What is to be done next. Each but those that say otherwise is answered, before the next one is asked for.
#[derive(Debug)]
pub enum Request {
    /// Nothing, before more has come: write the output, wait for the client, and [`receive`](crate::Conversation::receive) it. No
    /// answer.
    Wait,
    /// The client would speak TLS: [`tls`](crate::Conversation::tls).
    Tls,
    /// A statement of another conversation is to be stopped; nothing is answered, and this conversation is over.
    Cancel {
        /// Which conversation.
        process: i32,
        /// What only its client and the server know.
        secret: Vec<u8>,
    },
    /// Who the client says it is: [`trust`](crate::Conversation::trust), [`challenge`](crate::Conversation::challenge) or
    /// [`refuse`](crate::Conversation::refuse).
    Login(Login),
    /// It is who it says, and its session begins: [`started`](crate::Conversation::started), or
    /// [`refuse`](crate::Conversation::refuse).
    Start(Login),
    /// Run a statement of a simple query: rows, then [`completed`](crate::Conversation::completed) or
    /// [`failed`](crate::Conversation::failed).
    Query(Query),
    /// [`prepared`](crate::Conversation::prepared), or [`failed`](crate::Conversation::failed).
    Prepare(Prepare),
    /// [`bound`](crate::Conversation::bound), or [`failed`](crate::Conversation::failed).
    Bind(Bind),
    /// As `Query`, or [`suspended`](crate::Conversation::suspended).
    Execute(Execute),
    /// What columns the rows of a cursor have that a DECLARE has made: [`described`](crate::Conversation::described), or
    /// [`failed`](crate::Conversation::failed).
    DescribeCursor(String),
    /// A statement of a name that only SQL knows so far (PREPARE): [`found`](crate::Conversation::found), or
    /// [`failed`](crate::Conversation::failed).
    FindStatement(Find),
    /// A cursor of a name that only SQL knows so far (DECLARE): [`found_portal`](crate::Conversation::found_portal), or
    /// [`failed`](crate::Conversation::failed).
    FindPortal(FindPortal),
    /// A statement is not known any more; its number may come again. No answer.
    CloseStatement(usize),
    /// The same of one that only SQL knows, if there is one of this name. No answer.
    ForgetStatement(String),
    /// The same of a portal. No answer.
    ClosePortal(usize),
    /// The same of a cursor that only SQL knows, if there is one of this name. No answer.
    ForgetPortal(String),
    /// No portal is known any more. No answer.
    ClosePortals,
    /// Open a transaction: [`done`](crate::Conversation::done), or [`failed`](crate::Conversation::failed); so are all of these.
    Begin,
    /// Give the open transaction these modes, as SET TRANSACTION has them.
    SetModes(String),
    /// Commit the transaction that `Begin` opened.
    Commit,
    /// Roll it back.
    Rollback,
    /// Fail the open transaction, as a statement that fails does.
    Fail,
    /// The client may go on: tell what changed meanwhile (settings, notifications), then [`ready`](crate::Conversation::ready).
    Ready,
    /// The conversation is over: write the output, and close. No answer.
    End,
}

/// Who asks for a session.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The database's name; the user's where it gives none.
    pub database: String,
    /// Settings for the session.
    pub settings: Vec<(String, String)>,
}

/// A statement on its own.
#[derive(Debug)]
pub struct Query {
    /// Its text.
    pub text: String,
    /// Whether it is a COPY from or to the client.
    pub copies: Option<ClientCopy>,
}

/// A statement that is to be prepared.
#[derive(Debug)]
pub struct Prepare {
    /// The number by which it is known from here on, in place of another of that number.
    pub statement: usize,
    /// The name by which the client knows it, and SQL; empty: none.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the client says of its parameters' types: their numbers in `pg_type`, 0 for what is not said.
    pub types: Vec<u32>,
}

/// A statement that was made by PREPARE.
#[derive(Debug)]
pub struct Find {
    /// The number by which it is known from here on, in place of another of that number.
    pub statement: usize,
    /// Its name.
    pub name: String,
}

/// A cursor that was made by DECLARE.
#[derive(Debug)]
pub struct FindPortal {
    /// The number by which it is known from here on, in place of another of that number.
    pub portal: usize,
    /// Its name.
    pub name: String,
}

/// A portal: a statement that is to be executed with these parameters.
#[derive(Debug)]
pub struct Bind {
    /// The number by which it is known from here on, in place of another of that number.
    pub portal: usize,
    /// The name by which the client knows it, and SQL; empty: none.
    pub name: String,
    /// Of which statement; `None`: there is nothing to run.
    pub statement: Option<usize>,
    /// With which values.
    pub parameters: Parameters,
}

/// A portal that is to be run, or to be run on.
#[derive(Debug)]
pub struct Execute {
    /// Which.
    pub portal: usize,
    /// Its name, for errors.
    pub name: String,
    /// How many rows are wanted at most; 0: all.
    pub rows_max: u32,
    /// Whether it is a COPY from or to the client.
    pub copies: Option<ClientCopy>,
}

/// A session has begun.
#[derive(Debug)]
pub struct Started {
    /// The number by which other conversations name this one.
    pub process: i32,
    /// What who cancels its statements has to know: 4 bytes of it are told in protocol 3.0, all in 3.2.
    pub secret: [u8; 32],
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// None.
    #[default]
    Idle,
    /// One is.
    Open,
    /// One is that has failed.
    Failed,
}

/// What a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message of who is authenticated.
    pub message_bytes: usize,
    /// How many prepared statements there may be at a time.
    pub statements: usize,
    /// How long all their texts may be.
    pub statement_bytes: usize,
    /// How many portals there may be at a time.
    pub portals: usize,
    /// How long all that was said of them may be.
    pub portal_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message_bytes: 1 << 28,
            statements: 10_000,
            statement_bytes: 64 << 20,
            portals: 1_000,
            portal_bytes: 1 << 28,
        }
    }
}

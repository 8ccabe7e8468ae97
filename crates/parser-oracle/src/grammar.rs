//! The raw parser of a PostgreSQL server.
//!
//! A server parses the whole text of a query before it runs any of it. So each text gets an end that no grammar takes:
//! where the server complains about that end, it took the text; where it complains sooner, it did not. Either way
//! nothing runs, and the answer is the grammar's alone, without names, types or settings. BEGIN is part of that end
//! because the body of a function in standard SQL, where it is not closed, would go on behind a semicolon, but has no BEGIN.

use std::fmt;
use std::io;

use cairn_conformance::engine::{PostgresServer, StartError};

use crate::wire::{ServerError, Wire};

/// What nothing may follow. On a line of its own: the text may end in a comment.
const END: &str = "\n;\nBEGIN;\n)";
/// As many characters after the text its parts stand.
const SEMICOLON_AFTER: usize = 2;
const BEGIN_AFTER: usize = 4;
const PARENTHESIS_AFTER: usize = 11;
/// Bytes of queries under way: with their answers, less than a socket keeps.
const UNDER_WAY_MAX: usize = 48 << 10;
const QUERIES_UNDER_WAY_MAX: usize = 256;

/// A refusal in PostgreSQL's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// SQLSTATE.
    pub sqlstate: String,
    /// The message.
    pub message: String,
    /// In characters from 1; 0 where PostgreSQL tells none.
    pub position: usize,
}

/// Taken, or refused.
pub type Verdict = Result<(), Refusal>;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.sqlstate, self.message, self.position)
    }
}

/// PostgreSQL's grammar.
pub struct Grammar {
    wire: Wire,
    // After the connection, so that it is closed first.
    _server: PostgresServer,
}

impl Grammar {
    /// Starts a server. `None` where PostgreSQL is not installed, with a line that says so.
    ///
    /// # Panics
    /// When it does not start, or is missing although `CAIRN_INSIST` is set.
    pub fn start_for_test() -> Option<Grammar> {
        let server = PostgresServer::start_for_test()?;
        Some(Grammar::of(server).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Starts a server.
    pub fn start() -> Result<Grammar, StartError> {
        Grammar::of(PostgresServer::start()?)
    }

    fn of(server: PostgresServer) -> Result<Grammar, StartError> {
        let mut wire = Wire::connect(server.socket_folder(), "cairn", "postgres")?;
        // Errors are what we ask for: they shall not fill a log, and warnings shall not cross the wire.
        let quiet = "SET log_min_messages = panic; SET log_min_error_statement = panic; \
                     SET client_min_messages = error; SET max_stack_depth = '6MB'";
        match wire.ask(&[quiet.to_owned()])?.pop().flatten() {
            Some(error) => Err(StartError::Failed(error.message)),
            None => Ok(Grammar { wire, _server: server }),
        }
    }

    /// What PostgreSQL's grammar says of a text of statements. A text with a NUL byte cannot be sent and is an error.
    pub fn judge(&mut self, text: &str) -> io::Result<Verdict> {
        Ok(self.judge_all(&[text])?.remove(0))
    }

    /// [`Grammar::judge`] of many, faster than one after the other.
    pub fn judge_all<T: AsRef<str>>(&mut self, texts: &[T]) -> io::Result<Vec<Verdict>> {
        let mut verdicts = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(share(rest));
            rest = later;
            let queries = now.iter().map(|text| query(text.as_ref())).collect::<io::Result<Vec<_>>>()?;
            let errors = self.wire.ask(&queries)?;
            for (text, error) in now.iter().zip(errors) {
                verdicts.push(verdict(text.as_ref(), error)?);
            }
        }
        Ok(verdicts)
    }
}

/// How many of the texts to ask for at once.
fn share<T: AsRef<str>>(texts: &[T]) -> usize {
    let mut bytes = 0;
    let fits = texts.iter().take(QUERIES_UNDER_WAY_MAX).take_while(|text| {
        bytes += text.as_ref().len() + 16;
        bytes < UNDER_WAY_MAX
    });
    fits.count().max(1)
}

fn query(text: &str) -> io::Result<String> {
    match text.contains('\0') {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte cannot be sent")),
        false => Ok(format!("{text}{END}")),
    }
}

fn verdict(text: &str, error: Option<ServerError>) -> io::Result<Verdict> {
    let Some(error) = error else {
        return Err(io::Error::other(format!("PostgreSQL took the end that nothing may have: {text}")));
    };
    let length = text.chars().count();
    if error.position == length + PARENTHESIS_AFTER && error.message == "syntax error at or near \")\"" {
        return Ok(Ok(()));
    }
    let mut refusal = Refusal { sqlstate: error.sqlstate, message: error.message, position: error.position };
    for (after, near) in [(SEMICOLON_AFTER, "at or near \";\""), (BEGIN_AFTER, "at or near \"BEGIN\"")] {
        if refusal.position == length + after {
            refusal.message = refusal.message.replace(near, "at end of input");
        }
    }
    // What is not closed is quoted to the end, ours included.
    if let Some(message) = refusal.message.strip_suffix(&format!("{END}\"")) {
        refusal.message = format!("{message}\"");
    }
    refusal.position = refusal.position.min(length + 1);
    Ok(Err(refusal))
}

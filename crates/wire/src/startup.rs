//! What comes before the first statement: which protocol, who, and whether that is so.
//!
//! Everything in here has come from nobody knows whom: messages have 64 KiB at most, and nothing of the database is looked at.

use cairndb::{Error, Result, SqlState};

use crate::conversation::{Asked, Conversation, Phase, Proof};
use crate::error::{fatal_violation, refused, violation};
use crate::input::Body;
use crate::output::put_text;
use crate::request::{Login, Request, Started};
use crate::scram::{BOUND_MECHANISM, Challenge, Exchange, MECHANISM};

/// The longest message of who is not authenticated.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

const CANCEL: i32 = 80_877_102;
const TLS: i32 = 80_877_103;
const GSS: i32 = 80_877_104;
const MAJOR: i32 = 3;
/// The newest that is spoken, by its minor number.
const MINOR: i32 = 2;
/// How much of a secret is told in protocol 3.0.
const SHORT_SECRET_BYTES: usize = 4;

impl Conversation {
    /// A message of who has not said who he is.
    pub(crate) fn greet(&mut self) -> Result<Option<Request>> {
        let Some(frame) = self.input.untyped_frame(MESSAGE_BYTES_MAX)? else { return Ok(Some(Request::Wait)) };
        self.input.consume(&frame);
        let mut body = Body(self.input.body(&frame));
        let code = body.int32()?;
        match code {
            TLS => return Ok(Some(self.ask(Asked::Tls, Request::Tls))),
            GSS => {
                self.output.bytes.push(b'N');
                return Ok(None);
            }
            CANCEL => {
                let (process, secret) = (body.int32()?, body.rest().to_vec());
                self.phase = Phase::Over;
                return Ok(Some(Request::Cancel { process, secret }));
            }
            _ if code >> 16 != MAJOR => {
                let (major, minor) = (code >> 16, code & 0xFFFF);
                let message =
                    format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to {MAJOR}.{MINOR}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => {}
        }
        let (login, unknown) = read_login(&mut body)?;
        let minor = code & 0xFFFF;
        if minor > MINOR || minor == 1 || !unknown.is_empty() {
            self.negotiate(minor, &unknown);
        }
        self.is_newer = minor >= MINOR;
        Ok(Some(self.ask(Asked::Login(login.clone()), Request::Login(login))))
    }

    /// NegotiateProtocolVersion.
    fn negotiate(&mut self, minor: i32, unknown: &[String]) {
        let spoken = if minor >= MINOR { MINOR } else { 0 };
        self.output.message(b'v', |out| {
            out.extend((MAJOR << 16 | spoken).to_be_bytes());
            out.extend((unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| put_text(out, name));
        });
    }

    /// The answer to [`Request::Tls`]: whether TLS is spoken from here on. Nothing of what came before may be left then, or it would
    /// be taken for what came under its protection; whether it is so.
    pub fn tls(&mut self, is_spoken: bool) -> bool {
        self.asked = Asked::Nothing;
        if is_spoken && !self.input.is_empty() {
            self.terminate(&violation("received unencrypted data after SSL request").with_detail(
                "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
            ));
            return false;
        }
        self.output.bytes.push(if is_spoken { b'S' } else { b'N' });
        is_spoken
    }

    /// The answer to [`Request::Login`] for who is known by other means.
    pub fn trust(&mut self) {
        if let Asked::Login(login) = std::mem::take(&mut self.asked) {
            self.phase = Phase::Authenticated(login);
        }
    }

    /// The answer to [`Request::Login`] for who is to show that it knows a password.
    pub fn challenge(&mut self, challenge: Challenge) {
        if let Asked::Login(login) = std::mem::take(&mut self.asked) {
            let mut mechanisms = Vec::new();
            if challenge.binding.is_some() {
                put_text(&mut mechanisms, BOUND_MECHANISM);
            }
            put_text(&mut mechanisms, MECHANISM);
            mechanisms.push(0);
            self.output.authentication(10, &mechanisms);
            self.phase = Phase::Authenticating(Box::new(Proof { login, challenge, exchange: None }));
        }
    }

    /// The answer to [`Request::Login`] and [`Request::Start`] for who does not come in: FATAL.
    pub fn refuse(&mut self, error: &Error) {
        self.terminate(error);
    }

    /// A message of who is to show that it knows a password.
    pub(crate) fn authenticate(&mut self) -> Result<Option<Request>> {
        let Some(frame) = self.input.frame(MESSAGE_BYTES_MAX)? else { return Ok(Some(Request::Wait)) };
        if frame.kind != b'p' {
            return Err(fatal_violation(format!("expected SASL response, got message type {}", frame.kind)));
        }
        self.input.consume(&frame);
        let mut body = Body(self.input.body(&frame));
        let Phase::Authenticating(proof) = &mut self.phase else { return Ok(None) };
        let Proof { login, challenge, exchange } = &mut **proof;
        let Some(begun) = exchange.take() else {
            let mechanism = body.text()?;
            let is_bound = mechanism == BOUND_MECHANISM && challenge.binding.is_some();
            if mechanism != MECHANISM && !is_bound {
                return Err(violation("client selected an invalid SASL authentication mechanism"));
            }
            let message = body.value()?.unwrap_or_default();
            let (begun, answer) = Exchange::begin(&login.user, challenge, is_bound, ascii(message)?)?;
            *exchange = Some(begun);
            self.output.authentication(11, answer.as_bytes());
            return Ok(None);
        };
        let Some(answer) = begun.end(ascii(body.rest())?)? else {
            self.was_denied = true;
            let message = format!("password authentication failed for user \"{}\"", login.user);
            return Err(Error::new(SqlState::INVALID_PASSWORD, message));
        };
        let login = std::mem::take(login);
        self.output.authentication(12, answer.as_bytes());
        self.phase = Phase::Authenticated(login);
        Ok(None)
    }

    /// The session is there: the client is told so, and [`Request::Ready`] follows.
    pub fn started(&mut self, started: &Started) {
        self.asked = Asked::Nothing;
        self.output.authentication(0, &[]);
        let secret = if self.is_newer { &started.secret[..] } else { &started.secret[..SHORT_SECRET_BYTES] };
        self.key = Some((started.process, secret.to_vec()));
        self.is_ready_due = true;
    }
}

/// The parameters of a startup message, and the names of those of the protocol's own that are not known.
fn read_login(body: &mut Body<'_>) -> Result<(Login, Vec<String>)> {
    let (mut login, mut unknown) = (Login::default(), Vec::new());
    loop {
        let name = body.text()?;
        if name.is_empty() {
            break;
        }
        let value = body.text()?;
        match name {
            "user" => login.user = value.to_owned(),
            "database" => login.database = value.to_owned(),
            "replication" if !matches!(value, "false" | "off" | "no" | "0") => {
                return Err(refused("a replication connection", "Use the change feed, or a backup, in SQL."));
            }
            "replication" => {}
            "client_encoding" => login.settings.push((name.to_owned(), value.trim_matches('\'').to_owned())),
            "options" => read_options(value, &mut login.settings)?,
            _ if name.starts_with("_pq_.") => unknown.push(name.to_owned()),
            _ => login.settings.push((name.to_owned(), value.to_owned())),
        }
    }
    body.end()?;
    if login.user.is_empty() {
        let message = "no PostgreSQL user name specified in startup packet";
        return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    if login.database.is_empty() {
        login.database.clone_from(&login.user);
    }
    Ok((login, unknown))
}

/// `-c name=value` and `--name=value`, with blanks between, as PostgreSQL's server reads them; a backslash takes what is special from
/// what follows it. SQLSTATE 42601 for anything else.
fn read_options(text: &str, settings: &mut Vec<(String, String)>) -> Result<()> {
    let (mut words, mut word, mut chars) = (Vec::new(), None::<String>, text.chars());
    while let Some(ch) = chars.next() {
        match ch {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            ch if ch.is_ascii_whitespace() => words.extend(word.take()),
            ch => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bad = || {
            let message = format!("invalid command-line argument for server process: {word}");
            Error::new(SqlState::SYNTAX_ERROR, message).with_hint("Settings are given as -c name=value.")
        };
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => setting.to_owned(),
            (None, Some("")) => words.next().ok_or_else(bad)?,
            (None, Some(setting)) => setting.to_owned(),
            (None, None) => return Err(bad()),
        };
        let (name, value) = setting.split_once('=').ok_or_else(bad)?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(())
}

/// SCRAM's messages are UTF-8.
fn ascii(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| violation("malformed SCRAM message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings_with_blanks_between() {
        let mut settings = Vec::new();
        read_options(r"-c a=1 --search-path=x\ y -cb=\\", &mut settings).unwrap();
        let expected = [("a", "1"), ("search_path", "x y"), ("b", "\\")];
        assert_eq!(settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(read_options("-x", &mut settings).is_err());
        assert!(read_options("-c", &mut settings).is_err());
    }
}

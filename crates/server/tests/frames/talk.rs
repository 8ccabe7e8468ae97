//! What a client says, as bytes, and what it hears, as words.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Messages that a client sends, all at once.
#[derive(Clone, Default)]
pub struct Talk(Vec<u8>);

impl Talk {
    pub fn new() -> Talk {
        Talk::default()
    }

    pub fn raw(mut self, kind: u8, body: &[u8]) -> Talk {
        self.0.push(kind);
        self.0.extend((body.len() as u32 + 4).to_be_bytes());
        self.0.extend(body);
        self
    }

    pub fn query(self, text: &str) -> Talk {
        self.raw(b'Q', format!("{text}\0").as_bytes())
    }

    pub fn parse(self, name: &str, text: &str, types: &[u32]) -> Talk {
        let mut body = format!("{name}\0{text}\0").into_bytes();
        body.extend((types.len() as u16).to_be_bytes());
        types.iter().for_each(|of| body.extend(of.to_be_bytes()));
        self.raw(b'P', &body)
    }

    /// `values`: in text; `binary`: of the result.
    pub fn bind(self, portal: &str, statement: &str, values: &[Option<&str>], binary: bool) -> Talk {
        let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.map(str::as_bytes)).collect();
        self.bind_with(portal, statement, &[], &values, &[u16::from(binary)])
    }

    pub fn bind_with(
        self,
        portal: &str,
        statement: &str,
        formats: &[u16],
        values: &[Option<&[u8]>],
        results: &[u16],
    ) -> Talk {
        let mut body = format!("{portal}\0{statement}\0").into_bytes();
        let numbers = |body: &mut Vec<u8>, numbers: &[u16]| {
            body.extend((numbers.len() as u16).to_be_bytes());
            numbers.iter().for_each(|number| body.extend(number.to_be_bytes()));
        };
        numbers(&mut body, formats);
        body.extend((values.len() as u16).to_be_bytes());
        for value in values {
            match value {
                None => body.extend((-1i32).to_be_bytes()),
                Some(value) => {
                    body.extend((value.len() as u32).to_be_bytes());
                    body.extend(*value);
                }
            }
        }
        numbers(&mut body, results);
        self.raw(b'B', &body)
    }

    pub fn describe(self, kind: char, name: &str) -> Talk {
        self.raw(b'D', format!("{kind}{name}\0").as_bytes())
    }

    pub fn execute(self, portal: &str, rows: u32) -> Talk {
        let mut body = format!("{portal}\0").into_bytes();
        body.extend(rows.to_be_bytes());
        self.raw(b'E', &body)
    }

    pub fn close(self, kind: char, name: &str) -> Talk {
        self.raw(b'C', format!("{kind}{name}\0").as_bytes())
    }

    /// And what another says.
    pub fn then(mut self, other: Talk) -> Talk {
        self.0.extend(other.0);
        self
    }

    pub fn flush(self) -> Talk {
        self.raw(b'H', b"")
    }

    pub fn sync(self) -> Talk {
        self.raw(b'S', b"")
    }

    /// Parse, Bind, Describe and Execute of what has no names.
    pub fn run(self, text: &str, values: &[Option<&str>]) -> Talk {
        self.parse("", text, &[]).bind("", "", values, false).describe('P', "").execute("", 0)
    }

    /// Says it all, goodbye, and hears what comes back.
    pub fn hold(&self, socket: &Path) -> String {
        let mut stream = connected(socket);
        let said = [&STARTUP[..], &self.0, b"X\0\0\0\x04"].concat();
        // Who ends the conversation before it was all said has said why.
        let _ = stream.write_all(&said);
        let mut heard = Vec::new();
        if let Err(error) = stream.read_to_end(&mut heard) {
            return format!("{}\n{error}", words(&heard));
        }
        words(&heard)
    }
}

const STARTUP: [u8; 38] = *b"\0\0\0\x26\0\x03\0\0user\0cairn\0database\0postgres\0\0";

fn connected(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream
}

/// A connection over which one conversation is held after the other.
pub struct Line {
    stream: UnixStream,
    /// What has been heard and belongs to no conversation yet.
    heard: Vec<u8>,
}

impl Line {
    pub fn new(socket: &Path) -> Line {
        let mut stream = connected(socket);
        stream.write_all(&STARTUP).expect("it is said");
        let mut line = Line { stream, heard: Vec::new() };
        line.hear_ready().expect("a session");
        line
    }

    /// Holds them, all said at once, and adds what each has heard; each ends with Sync or a simple query, and leaves nothing behind it. Whether
    /// more can be said: if not, the last one heard why.
    pub fn hold(&mut self, talks: &[Talk], heard: &mut Vec<String>) -> bool {
        let said: Vec<u8> = talks.iter().flat_map(|talk| talk.clone().query(END).0).collect();
        // Who ends the connection before it was all said has said why.
        let _ = self.stream.write_all(&said);
        talks.iter().all(|_| {
            let of = self.hear_end();
            let goes_on = of.is_ok();
            heard.push(of.unwrap_or_else(|last| last));
            goes_on
        })
    }

    /// Up to the answer to what ends a conversation.
    fn hear_end(&mut self) -> Result<String, String> {
        let mut of = Vec::new();
        loop {
            let part =
                self.hear_ready().map_err(|error| format!("{}\n{error}", words(&[&of[..], &self.heard].concat())))?;
            if part.windows(END_ROW.len()).any(|row| row == END_ROW) {
                return Ok(words(&of));
            }
            of.extend(part);
        }
    }

    /// Up to ReadyForQuery.
    fn hear_ready(&mut self) -> std::io::Result<Vec<u8>> {
        let mut at = 0;
        loop {
            while let Some(length) = self.heard.get(at + 1..).and_then(|rest| rest.first_chunk::<4>()) {
                let end = at + 1 + u32::from_be_bytes(*length) as usize;
                if end > self.heard.len() {
                    break;
                }
                let is_ready = self.heard[at] == b'Z';
                at = end;
                if is_ready {
                    return Ok(self.heard.drain(..at).collect());
                }
            }
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => self.heard.extend(&bytes[..count]),
            }
        }
    }
}

/// What no conversation says, and its row.
const END: &str = "SELECT 'the end of a conversation'";
const END_ROW: &[u8] = b"\0\x01\0\0\0\x19the end of a conversation";

/// A line for each message, without what no two servers say alike.
fn words(mut heard: &[u8]) -> String {
    let mut words = String::new();
    while let [kind, rest @ ..] = heard {
        let Some(length) = rest.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize) else { break };
        let Some(body) = rest.get(4..length) else { break };
        heard = &rest[length..];
        match kind {
            b'S' | b'K' | b'R' => {}
            b'T' => words += &columns(body),
            b'E' | b'N' => words += &fields(*kind, body),
            kind => _ = write!(words, "{} {}", char::from(*kind), body.escape_ascii()),
        }
        if !words.ends_with('\n') && !words.is_empty() {
            words.push('\n');
        }
    }
    words
}

/// Without the table and the column's number in it.
fn columns(body: &[u8]) -> String {
    let mut words = String::from("T");
    let mut rest = &body[2..];
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (name, facts) = (&rest[..end], &rest[end + 7..end + 19]);
        _ = write!(words, " {}:{}", name.escape_ascii(), facts.escape_ascii());
        rest = &rest[end + 19..];
    }
    words
}

/// Without the place in the server's source, and without what was going on around it.
fn fields(kind: u8, body: &[u8]) -> String {
    let mut words = String::from(char::from(kind));
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        if !b"FLRW".contains(&field[0]) {
            _ = write!(words, " {}", String::from_utf8_lossy(field));
        }
    }
    words
}

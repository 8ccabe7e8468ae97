//! A client of HTTP that keeps a connection and adds nothing of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::Result;

/// For an answer; longer than any may take.
const PATIENCE: Duration = Duration::from_secs(60);
const BODY_MAX: u64 = 1 << 28;

/// A server, and what is shown to it.
pub struct Target {
    authority: String,
    token: Option<String>,
}

impl Target {
    /// Of `http://HOST:PORT`.
    pub fn parse(url: &str, token: Option<String>) -> Result<Target> {
        let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        let authority = authority.filter(|authority| !authority.contains('/') && authority.contains(':'));
        let authority = authority.ok_or_else(|| format!("{url}: expected http://HOST:PORT"))?;
        Ok(Target { authority: authority.to_owned(), token })
    }

    /// Makes a collection, or leaves the one that there is.
    pub fn make_collection(&self, database: &str, collection: &str) -> Result<()> {
        let mut connection = self.connect()?;
        let answer = connection.ask("PUT", &format!("/db/{database}/collections/{collection}"), Some("{}"))?;
        match answer.status {
            200..300 => Ok(()),
            status => Err(format!("collection {collection} of {database}: {status} {}", answer.text()).into()),
        }
    }

    /// Lets whoever it is true for list, view and create.
    pub fn set_rule(&self, database: &str, collection: &str, rule: &str) -> Result<()> {
        let mut connection = self.connect()?;
        let rules = serde_json::json!({ "list": rule, "view": rule, "create": rule }).to_string();
        let path = format!("/db/{database}/collections/{collection}/rules");
        let answer = connection.ask("PUT", &path, Some(&rules))?;
        match answer.status {
            200..300 => Ok(()),
            status => Err(format!("rules of {collection} of {database}: {status} {}", answer.text()).into()),
        }
    }

    /// A connection to ask by hand.
    pub fn connect_raw(&self) -> Result<TcpStream> {
        let address = self.authority.to_socket_addrs()?.next().ok_or("the host has no address")?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// The head of a request without a body.
    pub fn head(&self, method: &str, path: &str) -> Result<String> {
        let mut head = Vec::new();
        self.write_head(&mut head, method, path)?;
        Ok(String::from_utf8(head)? + "\r\n")
    }

    fn write_head(&self, head: &mut Vec<u8>, method: &str, path: &str) -> Result<()> {
        write!(head, "{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.authority)?;
        if let Some(token) = &self.token {
            write!(head, "Authorization: Bearer {token}\r\n")?;
        }
        Ok(())
    }

    pub fn connect(&self) -> Result<Connection<'_>> {
        let stream = self.connect_raw()?;
        Ok(Connection {
            target: self,
            answers: BufReader::new(stream.try_clone()?),
            stream,
            asked: Vec::new(),
            line: String::new(),
            body: Vec::new(),
        })
    }
}

pub struct Connection<'t> {
    target: &'t Target,
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    asked: Vec<u8>,
    line: String,
    body: Vec<u8>,
}

pub struct Answer<'b> {
    pub status: u16,
    pub body: &'b [u8],
}

impl Answer<'_> {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.body).into_owned()
    }
}

impl Connection<'_> {
    /// Asks, and waits for the whole answer.
    pub fn ask(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<Answer<'_>> {
        self.asked.clear();
        self.target.write_head(&mut self.asked, method, path)?;
        match body {
            Some(body) => {
                write!(self.asked, "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())?
            }
            None => write!(self.asked, "\r\n")?,
        }
        self.stream.write_all(&self.asked)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer<'_>> {
        let status = self
            .next_line()?
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .ok_or("an answer that is no HTTP")?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.next_line()?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
            is_chunked |=
                name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked");
        }
        self.body.clear();
        if is_chunked {
            while let size @ 1.. = u64::from_str_radix(self.next_line()?, 16)? {
                self.take(size)?;
                self.next_line()?;
            }
            self.next_line()?;
        } else {
            self.take(length)?;
        }
        Ok(Answer { status, body: &self.body })
    }

    fn next_line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.answers.read_line(&mut self.line)? == 0 {
            return Err("the server has closed the connection".into());
        }
        Ok(self.line.trim_end())
    }

    fn take(&mut self, length: u64) -> Result<()> {
        if length > BODY_MAX {
            return Err("an answer that is longer than any may be".into());
        }
        let read = (&mut self.answers).take(length).read_to_end(&mut self.body)?;
        if (read as u64) < length { Err("an answer that ends too early".into()) } else { Ok(()) }
    }
}

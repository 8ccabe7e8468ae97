//! A client of HTTP that adds nothing of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub struct Client {
    pub address: SocketAddr,
    pub secret: String,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn etag(&self) -> &str {
        self.header("etag").expect("an ETag")
    }
}

impl Client {
    pub fn new(address: SocketAddr, secret: &str) -> Client {
        Client { address, secret: secret.to_owned() }
    }

    /// The same server for who has another token.
    pub fn with(&self, secret: &str) -> Client {
        Client::new(self.address, secret)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The head of a request, up to its empty line.
    pub fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let mut all = vec![("Host", "localhost"), ("Connection", "close")];
        let bearer = format!("Bearer {}", self.secret);
        if !self.secret.is_empty() {
            all.push(("Authorization", &bearer));
        }
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        for (name, value) in all.iter().chain(headers) {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        let (mut stream, body) = (self.connect(), body.as_ref());
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        all.push(("Content-Length", &length));
        stream.write_all(self.head(method, path, &all).as_bytes()).unwrap();
        // Who is refused before the body is taken may not be heard else.
        let _ = stream.write_all(body);
        read_answer(&mut BufReader::new(stream), method == "HEAD")
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("Content-Type", "application/json")], body)
    }

    pub fn put(&self, path: &str, body: &str) -> Answer {
        self.ask("PUT", path, &[("Content-Type", "application/json")], body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], "")
    }
}

/// The head of an answer.
pub fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { return (status, headers) };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

pub fn read_answer(reader: &mut impl BufRead, is_head: bool) -> Answer {
    let (status, headers) = read_head(reader);
    let mut answer = Answer { status, headers, body: String::new() };
    if is_head {
        return answer;
    }
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = read_chunk(reader) {
            body.extend(chunk);
        }
    } else {
        reader.read_to_end(&mut body).unwrap();
    }
    answer.body = String::from_utf8_lossy(&body).into_owned();
    answer
}

/// `None`: that was the last one.
pub fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut chunk = vec![0; length + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    (length > 0).then_some(chunk)
}

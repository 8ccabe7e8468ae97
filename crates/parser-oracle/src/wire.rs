//! As much of PostgreSQL's wire protocol as asking for errors takes: start, queries, what is wrong with them.
//!
//! A client library waits for each answer; here queries are written many at a time, which makes them four times as fast.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const PROTOCOL_VERSION: u32 = 3 << 16;

/// A connection by the server's unix socket.
pub struct Wire {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

/// An ErrorResponse: its fields, each a letter and a text.
#[derive(Debug, Default)]
pub struct ServerError {
    pub sqlstate: String,
    pub message: String,
    /// In characters from 1; 0 where the server tells none.
    pub position: usize,
}

impl Wire {
    pub fn connect(socket_folder: &Path, user: &str, database: &str) -> io::Result<Wire> {
        let writer = UnixStream::connect(socket_folder.join(".s.PGSQL.5432"))?;
        let mut wire = Wire { reader: BufReader::new(writer.try_clone()?), writer };
        let mut body = PROTOCOL_VERSION.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        let length = (body.len() as u32 + 4).to_be_bytes();
        wire.writer.write_all(&[&length[..], &body].concat())?;
        match wire.answer()? {
            None => Ok(wire),
            Some(error) => Err(io::Error::other(error.message)),
        }
    }

    /// The first error of each query, in order; `None` for one without.
    pub fn ask(&mut self, queries: &[String]) -> io::Result<Vec<Option<ServerError>>> {
        let mut bytes = Vec::new();
        for query in queries {
            bytes.push(b'Q');
            bytes.extend_from_slice(&(query.len() as u32 + 5).to_be_bytes());
            bytes.extend_from_slice(query.as_bytes());
            bytes.push(0);
        }
        self.writer.write_all(&bytes)?;
        queries.iter().map(|_| self.answer()).collect()
    }

    /// Reads until the server is ready for the next query.
    fn answer(&mut self) -> io::Result<Option<ServerError>> {
        let mut error = None;
        loop {
            let mut head = [0; 5];
            self.reader.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; (length as usize).saturating_sub(4)];
            self.reader.read_exact(&mut body)?;
            match head[0] {
                b'E' => error = error.or(Some(server_error(&body))),
                b'Z' => return Ok(error),
                _ => {}
            }
        }
    }
}

fn server_error(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        let text = String::from_utf8_lossy(&field[1..]).into_owned();
        match field[0] {
            b'C' => error.sqlstate = text,
            b'M' => error.message = text,
            b'P' => error.position = text.parse().unwrap_or(0),
            _ => {}
        }
    }
    error
}

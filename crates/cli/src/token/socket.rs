//! A statement for a server that runs, over its Unix socket, as the user who owns it: as much of PostgreSQL's protocol as that takes.

use std::path::Path;

use super::Done;
use crate::report::Failure;

#[cfg(not(unix))]
pub fn run(path: &Path, _: &str) -> Result<Done, Failure> {
    Err(Failure::Message(format!("{}: the server runs; stop it, there are no Unix sockets here", path.display())))
}

/// Rows as texts, and how many rows the last statement changed.
#[cfg(unix)]
pub fn run(path: &Path, sql: &str) -> Result<Done, Failure> {
    let failed = |error: std::io::Error| {
        let hint = "a server has the database open; say where its socket is (--socket-folder, --port)";
        Failure::Message(format!("{}: {error}; {hint}", path.display()))
    };
    let stream = std::os::unix::net::UnixStream::connect(path).map_err(failed)?;
    let mut client = client::Client(stream);
    client.start().map_err(failed)?;
    client.ask(sql).map_err(failed)?.map_err(Failure::Message)
}

#[cfg(unix)]
mod client {
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;

    use super::Done;

    /// The longest message that is taken.
    const MESSAGE_BYTES_MAX: usize = 16 << 20;

    pub struct Client(pub UnixStream);

    impl Client {
        /// Says who he is; what a server asks for then is waited for by [`Client::ask`].
        pub fn start(&mut self) -> io::Result<()> {
            let body = b"\0\x03\0\0user\0owner\0database\0cairn\0\0";
            self.0.write_all(&length(body.len())?)?;
            self.0.write_all(body)
        }

        /// Runs statements; what the server says is wrong with them.
        pub fn ask(&mut self, sql: &str) -> io::Result<Result<Done, String>> {
            // Nothing is asked before the server is ready for it.
            if let Err(refused) = self.answer()? {
                return Ok(Err(refused));
            }
            self.0.write_all(b"Q")?;
            self.0.write_all(&length(sql.len() + 1)?)?;
            self.0.write_all(sql.as_bytes())?;
            self.0.write_all(b"\0")?;
            self.answer()
        }

        /// All that comes until the server is ready for the next.
        fn answer(&mut self) -> io::Result<Result<Done, String>> {
            let (mut rows, mut affected, mut wrong) = (Vec::new(), 0, None);
            loop {
                let (kind, body) = self.message()?;
                match kind {
                    b'Z' => return Ok(wrong.map_or(Ok((rows, affected)), Err)),
                    b'D' => rows.push(row(&body).ok_or(io::ErrorKind::InvalidData)?),
                    b'C' => affected = count(&body),
                    b'E' => {
                        let told = message(&body);
                        // It ends the session, where it has not begun.
                        if rows.is_empty() && affected == 0 && is_fatal(&body) {
                            return Ok(Err(told));
                        }
                        wrong = Some(told);
                    }
                    b'R' if body.iter().any(|&byte| byte != 0) => {
                        return Ok(Err("the server asks for a password: run this as the user who owns it".to_owned()));
                    }
                    _ => {}
                }
            }
        }

        fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
            let mut head = [0; 5];
            self.0.read_exact(&mut head)?;
            let [kind, length @ ..] = head;
            let length = u32::from_be_bytes(length) as usize;
            if !(4..MESSAGE_BYTES_MAX).contains(&length) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut body = vec![0; length - 4];
            self.0.read_exact(&mut body)?;
            Ok((kind, body))
        }
    }

    /// Of a message of so many bytes, itself among them.
    fn length(of: usize) -> io::Result<[u8; 4]> {
        u32::try_from(of + 4).map(u32::to_be_bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
    }

    fn row(body: &[u8]) -> Option<Vec<String>> {
        let (count, mut rest) = body.split_first_chunk::<2>()?;
        let mut cells = Vec::new();
        for _ in 0..u16::from_be_bytes(*count) {
            let (length, behind) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
            cells.push(String::from_utf8_lossy(behind.get(..length)?).into_owned());
            rest = &behind[length..];
        }
        Some(cells)
    }

    /// The number at the end of a command's tag.
    fn count(tag: &[u8]) -> u64 {
        let tag = String::from_utf8_lossy(tag);
        tag.trim_end_matches('\0').rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    fn field(body: &[u8], of: u8) -> Option<String> {
        let mut fields = body.split(|&byte| byte == 0);
        let found = fields.find(|field| field.first() == Some(&of))?;
        Some(String::from_utf8_lossy(&found[1..]).into_owned())
    }

    fn message(body: &[u8]) -> String {
        field(body, b'M').unwrap_or_else(|| "the server did not say what is wrong".to_owned())
    }

    fn is_fatal(body: &[u8]) -> bool {
        field(body, b'V').is_some_and(|severity| severity == "FATAL")
    }
}

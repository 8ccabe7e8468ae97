//! A client of server-sent events.

use std::io::BufReader;
use std::net::TcpStream;

use super::client::{read_chunk, read_head};
use super::*;

/// An event as it was told.
#[derive(Debug, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: String,
    pub data: Value,
}

/// A stream that is open.
pub struct Listener {
    pub reader: BufReader<TcpStream>,
    text: String,
    pub last_id: String,
}

impl Listener {
    /// Of changes of notes.
    pub fn begin(client: &Client, query: &str, last_id: &str) -> Result<Listener, Answer> {
        Listener::at(client, &format!("{NOTES}/changes{query}"), last_id)
    }

    pub fn at(client: &Client, path: &str, last_id: &str) -> Result<Listener, Answer> {
        use std::io::Write;
        let mut stream = client.connect();
        let headers: &[_] = if last_id.is_empty() { &[] } else { &[("Last-Event-ID", last_id)] };
        stream.write_all(client.head("GET", path, headers).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader);
        if status != 200 {
            let mut body = String::new();
            std::io::Read::read_to_string(&mut reader, &mut body).unwrap();
            return Err(Answer { status, headers, body });
        }
        assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())), "{headers:?}");
        Ok(Listener { reader, text: String::new(), last_id: last_id.to_owned() })
    }

    /// The next event; `None`: the stream has ended.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.hear()? {
                return Some(event);
            }
        }
    }

    /// The next that is told, be it an event or a token alone.
    #[allow(clippy::option_option)]
    pub fn hear(&mut self) -> Option<Option<Event>> {
        let end = loop {
            match self.text.find("\n\n") {
                Some(end) => break end,
                None => self.text += std::str::from_utf8(&read_chunk(&mut self.reader)?).unwrap(),
            }
        };
        let block: String = self.text.drain(..end + 2).collect();
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let id = field("id: ");
        if let Some(id) = &id {
            self.last_id.clone_from(id);
        }
        let event = field("data: ").map(|data| serde_json::from_str(&data).unwrap());
        Some(event.map(|data| Event { id, kind: field("event: ").unwrap(), data }))
    }

    #[track_caller]
    pub fn expect(&mut self, kind: &str, id: &str) -> Event {
        let event = self.next().expect("an event");
        assert_eq!((event.kind.as_str(), event.data["id"].as_str()), (kind, Some(id)), "{event:?}");
        event
    }
}

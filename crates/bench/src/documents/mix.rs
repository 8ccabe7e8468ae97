//! What a worker does.

use super::client::{Connection, Target};
use crate::Result;
use crate::latency::Latencies;

/// An operation on one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Create,
    Replace,
    Delete,
}

/// In the order of shares and latencies.
pub const KINDS: [Kind; 4] = [Kind::Read, Kind::Create, Kind::Replace, Kind::Delete];

pub struct Worker<'t> {
    connection: Connection<'t>,
    /// Of the collection's documents.
    path: String,
    /// Of documents that it made.
    ids: Vec<String>,
    body: String,
    random: u64,
    /// By [`KINDS`].
    pub latencies: Vec<Latencies>,
}

impl<'t> Worker<'t> {
    /// With a document to begin with. `bytes`: how long documents are.
    pub fn new(
        target: &'t Target,
        (database, collection): (&str, &str),
        bytes: usize,
        seed: u64,
    ) -> Result<Worker<'t>> {
        let latencies = KINDS.iter().map(|_| Latencies::new()).collect::<Result<Vec<_>>>()?;
        let path = format!("/db/{database}/collections/{collection}/documents");
        let text = "x".repeat(bytes.saturating_sub(r#"{"worker": 00, "n": 0000000, "text": ""}"#.len()));
        let body = format!(r#"{{"worker": {seed:2}, "n": 1234567, "text": "{text}"}}"#);
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut worker = Worker { connection: target.connect()?, path, ids: vec![], body, random, latencies };
        worker.perform(Kind::Create)?;
        worker.latencies[1] = Latencies::new()?;
        Ok(worker)
    }

    /// One operation, of a kind by its share; what is not there to be read is made first.
    pub fn step(&mut self, shares: [u32; 4]) -> Result<()> {
        let all: u32 = shares.iter().sum();
        let mut place = (self.next_random() % u64::from(all)) as u32;
        let mut drawn = Kind::Create;
        for (kind, share) in KINDS.into_iter().zip(shares) {
            if place < share {
                drawn = kind;
                break;
            }
            place -= share;
        }
        let kind = if self.ids.is_empty() { Kind::Create } else { drawn };
        self.perform(kind)
    }

    /// xorshift64.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn perform(&mut self, kind: Kind) -> Result<()> {
        let of = (self.next_random() % self.ids.len().max(1) as u64) as usize;
        let path = match kind {
            Kind::Create => self.path.clone(),
            _ => format!("{}/{}", self.path, self.ids[of]),
        };
        let (method, body, expected) = match kind {
            Kind::Read => ("GET", None, 200..201),
            Kind::Create => ("POST", Some(self.body.as_str()), 200..202),
            Kind::Replace => ("PUT", Some(self.body.as_str()), 200..202),
            Kind::Delete => ("DELETE", None, 200..205),
        };
        let at = KINDS.iter().position(|known| *known == kind).unwrap_or_default();
        let connection = &mut self.connection;
        let answer = self.latencies[at].time(|| connection.ask(method, &path, body))?;
        if !expected.contains(&answer.status) {
            return Err(format!("{method} {path}: {} {}", answer.status, answer.text()).into());
        }
        match kind {
            Kind::Create => {
                // A bare handler gives no ids.
                let made: serde_json::Value = serde_json::from_slice(answer.body)?;
                self.ids.push(made["id"].as_str().unwrap_or("a").to_owned());
            }
            Kind::Delete => drop(self.ids.swap_remove(of)),
            Kind::Read | Kind::Replace => {}
        }
        Ok(())
    }
}

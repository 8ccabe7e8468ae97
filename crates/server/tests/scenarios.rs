//! Every scenario of SQL (`crates/conformance/slt`), over the wire: by simple queries, and by extended ones.
#![cfg(unix)]

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use cairn_conformance::engine::{Answer, Column, Engine, Failure, Session};
use cairn_conformance::slt::{Dialect, Selection, Summary, run_script};
use cairn_server::{Ceilings, Options, Running, Server};
use cairndb::Database;
use tempfile::TempDir;

/// A database of its own, in memory, that is served.
struct Served {
    folder: TempDir,
    is_extended: bool,
    _running: Running,
    said: Cell<usize>,
}

impl Served {
    fn new(is_extended: bool) -> Served {
        let folder = TempDir::new().expect("a folder");
        let socket = Some((folder.path().to_owned(), 5432));
        let database = Database::open_in_memory().expect("opens");
        // As within a program, no setting has a ceiling.
        let ceilings = Some(Ceilings::default());
        let options = Options { socket, trusts_all: true, ceilings, ..Options::default() };
        let running = Server::over(database).with(options).start().expect("starts");
        Served { folder, is_extended, _running: running, said: Cell::new(0) }
    }
}

impl Engine for Served {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let mut stream = UnixStream::connect(self.folder.path().join(".s.PGSQL.5432")).expect("connects");
        stream.write_all(b"\0\0\0\x28\0\x03\0\0user\0cairndb\0database\0postgres\0\0").expect("writes");
        let mut client = Client { stream, served: self };
        client.hear(None)?;
        Ok(Box::new(client))
    }
}

/// A client that speaks text.
struct Client<'s> {
    stream: UnixStream,
    served: &'s Served,
}

/// What extended queries say otherwise, as PostgreSQL's: of parameters that are not given. (So are several statements in one text.)
const SIMPLE_ONLY: [&str; 2] = ["SELECT $1", "CREATE MATERIALIZED VIEW much AS SELECT $1::integer"];

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn int(body: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"))
}

fn text(body: &[u8]) -> String {
    let end = body.iter().position(|byte| *byte == 0).unwrap_or(body.len());
    String::from_utf8_lossy(&body[..end]).into_owned()
}

impl Client<'_> {
    fn say(&mut self, sql: &str) {
        self.served.said.set(self.served.said.get() + 1);
        let is_one = cairndb::split_script(sql).nth(1).is_none() && !SIMPLE_ONLY.contains(&sql);
        let said = match self.served.is_extended && is_one {
            false => message(b'Q', format!("{sql}\0").as_bytes()),
            true => [
                message(b'P', format!("\0{sql}\0\0\0").as_bytes()),
                message(b'B', &[0; 8]),
                message(b'D', b"P\0"),
                message(b'E', &[0; 5]),
                message(b'S', b""),
            ]
            .concat(),
        };
        self.stream.write_all(&said).expect("writes");
    }

    fn message(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).expect("the server is there");
        let mut body = vec![0; int(&head, 1) as usize - 4];
        self.stream.read_exact(&mut body).expect("the server is there");
        (head[0], body)
    }

    /// Up to ReadyForQuery. `copied`: what is sent where it is asked for; what comes is put there.
    fn hear(&mut self, mut copied: Option<&mut Vec<u8>>) -> Result<Answer, Failure> {
        let (mut answer, mut failure) = (Answer::default(), None);
        loop {
            let (kind, body) = self.message();
            match kind {
                b'T' => answer.columns = columns(&body),
                b'D' => answer.rows.push(values(&body)),
                b'C' => {
                    answer.affected = Some(text(&body).rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
                }
                b'E' => {
                    let mut fields: HashMap<u8, String> = HashMap::new();
                    body.split(|byte| *byte == 0).filter(|field| !field.is_empty()).for_each(|field| {
                        fields.insert(field[0], text(&field[1..]));
                    });
                    let field = |kind| fields.get(&kind).cloned().unwrap_or_default();
                    failure = Some(Failure { sqlstate: field(b'C'), message: field(b'M') });
                }
                b'G' => {
                    let data = copied.as_deref().map(Vec::as_slice).unwrap_or_default();
                    let mut said = [message(b'd', data), message(b'c', b"")].concat();
                    // (The Sync that came with Execute was read with the data.)
                    if self.served.is_extended {
                        said.extend(message(b'S', b""));
                    }
                    self.stream.write_all(&said).expect("writes");
                }
                b'd' => copied.iter_mut().for_each(|copied| copied.extend(&body)),
                b'Z' => return failure.map_or(Ok(answer), Err),
                _ => {}
            }
        }
    }
}

fn columns(body: &[u8]) -> Vec<Column> {
    let (mut rest, mut columns) = (&body[2..], Vec::new());
    while !rest.is_empty() {
        let name = text(rest);
        rest = &rest[name.len() + 1 + 18..];
        columns.push(Column { name, data_type: String::new() });
    }
    columns
}

fn values(body: &[u8]) -> Vec<Option<String>> {
    let (mut at, mut values) = (2, Vec::new());
    while at < body.len() {
        let length = int(body, at);
        at += 4;
        let value = usize::try_from(length).ok().map(|length| &body[at..at + length]);
        at += value.map_or(0, <[u8]>::len);
        values.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
    }
    values
}

impl Session for Client<'_> {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.say(sql);
        self.hear(None)
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<Answer, Failure> {
        self.say(sql);
        self.hear(Some(&mut data.to_vec()))
    }

    fn copy_out(&mut self, sql: &str) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        self.say(sql);
        self.hear(Some(&mut out)).map(|_| out)
    }
}

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/slt");
    let files = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the scenarios").map(|entry| entry.expect("a file").path());
        entries.filter(|path| path.extension().is_some_and(|of| of == "slt")).collect::<Vec<_>>()
    };
    let mut files = [files(&folder.join("isolation")), files(&folder)].concat();
    files.sort();
    files
}

fn every_scenario_passes(is_extended: bool) {
    let mut summary = Summary::default();
    for path in scenarios() {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let script = fs::read_to_string(&path).expect("a file");
        let served = Served::new(is_extended);
        let report = run_script(&script, "cairndb", Dialect::Scenario, &Selection::default(), &served);
        summary.add(name.clone(), report.unwrap_or_else(|error| panic!("{name}: {error}")));
    }
    println!("{summary}");
    assert_eq!(summary.failed(), 0, "{}\n{summary}", summary.categories());
    assert!(summary.passed() > 300, "only {} records ran", summary.passed());
}

#[test]
fn every_scenario_passes_over_simple_queries() {
    every_scenario_passes(false);
}

#[test]
fn every_scenario_passes_over_extended_queries() {
    every_scenario_passes(true);
}

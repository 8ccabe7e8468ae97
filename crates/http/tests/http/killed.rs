//! `kill -9` of a server that is written to over HTTP in every way there is: what was answered by 2xx is there, what belongs together is there or not as a
//! whole, and who listens hears each change once. `CAIRN_KILLS=N` kills more often.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::listener::Listener;
use super::process::Process;
use super::*;

/// How often it is killed, and how long it is written to before that.
const ROUNDS: u64 = 3;
const TIME: Duration = Duration::from_millis(400);
/// Documents that belong together.
const TOGETHER: u64 = 40;
/// Documents of which a prefix may be there, of so many bytes each.
const LINES: u64 = 6000;
const PAD: usize = 500;

fn rounds() -> u64 {
    std::env::var("CAIRN_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(ROUNDS)
}

/// The status of an answer; `None`: the server was gone before it gave one.
fn status(client: &Client, (method, path, kind): (&str, &str, &str), body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(client.address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let length = body.len().to_string();
    let head = client.head(method, path, &[("Content-Type", kind), ("Content-Length", &length)]);
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut answer = Vec::new();
    // (What came before it broke off counts.)
    let _ = stream.read_to_end(&mut answer);
    let line = String::from_utf8_lossy(&answer).lines().next()?.to_owned();
    line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const MERGE: &str = "application/merge-patch+json";

/// Writes the step of a number; whether it was answered by 2xx.
type Step = fn(&Client, u64) -> bool;

fn is_done(status: Option<u16>) -> bool {
    let Some(status) = status else { return false };
    assert!((200..300).contains(&status), "{status}");
    true
}

fn lines(writer: &str, step: u64, count: u64, pad: usize) -> String {
    let pad = "x".repeat(pad);
    (0..count)
        .map(|at| format!("{{\"w\": \"{writer}\", \"step\": {step}, \"at\": {at}, \"pad\": \"{pad}\"}}\n"))
        .collect()
}

/// Each with how many documents a step makes, and whether they belong together.
const WRITERS: [(&str, u64, bool, Step); 6] = [
    ("create", 1, true, |client, step| {
        is_done(status(client, ("POST", &format!("{NOTES}/documents"), JSON), &lines("create", step, 1, 9)))
    }),
    ("put", 1, true, |client, step| {
        is_done(status(client, ("PUT", &note(&format!("p{step}")), JSON), &lines("put", step, 1, 9)))
    }),
    ("batch", 2, true, |client, step| {
        let insert =
            |at| json!({ "op": "insert", "collection": "notes", "doc": { "w": "batch", "step": step, "at": at } });
        let body = json!({ "operations": [insert(0), insert(1)] });
        is_done(status(client, ("POST", "/db/shop/batch", JSON), &body.to_string()))
    }),
    ("bulk", TOGETHER, true, |client, step| {
        is_done(status(client, ("POST", &format!("{NOTES}/bulk"), NDJSON), &lines("bulk", step, TOGETHER, 9)))
    }),
    ("prefix", LINES, false, |client, step| {
        let path = format!("{NOTES}/bulk?atomic=false");
        is_done(status(client, ("POST", &path, NDJSON), &lines("prefix", step, LINES, PAD)))
    }),
    ("gone", 0, true, |client, step| {
        let path = note(&format!("g{step}"));
        is_done(status(client, ("PUT", &path, JSON), &lines("gone", step, 1, 9)))
            && is_done(status(client, ("DELETE", &path, JSON), ""))
    }),
];

/// The steps that were answered by 2xx, from a number on, and how many merges of `counted`.
fn write_until_killed(client: &Client, (at, from): (usize, u64), start: &Barrier) -> u64 {
    let (mut step, mut is_first) = (from, true);
    loop {
        let is_done = match WRITERS.get(at) {
            Some((.., write)) => write(client, step),
            None => {
                let merge = format!("{{\"n\": {}}}", step + 1);
                is_done(status(client, ("PATCH", &note("counted"), MERGE), &merge))
            }
        };
        step += u64::from(is_done);
        if std::mem::take(&mut is_first) {
            // Each has something acknowledged before it is killed, or the first of them is what is cut.
            start.wait();
        }
        if !is_done {
            return step;
        }
    }
}

/// What is there of each writer: by step the places, in order.
fn there(file: &Path) -> (BTreeMap<(String, u64), Vec<u64>>, u64) {
    let database = Database::open_with(file, cairndb::Options::default().name("shop")).unwrap();
    database.verify().unwrap();
    let conn = database.connect().unwrap();
    let mut found: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
    let sql = "SELECT doc ->> 'w', (doc ->> 'step')::bigint, (doc ->> 'at')::bigint FROM notes WHERE doc ? 'w' ORDER BY 1, 2, 3";
    for row in
        conn.query_map(sql, (), |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?, row.get::<i64>(2)?))).unwrap()
    {
        let (writer, step, at) = row.unwrap();
        found.entry((writer, step as u64)).or_default().push(at as u64);
    }
    let counted: i64 = conn.query_row_as("SELECT (doc ->> 'n')::bigint FROM notes WHERE id = 'counted'", ()).unwrap();
    drop(conn);
    database.close().unwrap();
    (found, counted as u64)
}

#[test]
fn what_was_answered_is_there_when_the_server_is_killed() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.cairn");
    let mut process = Process::start(&file);
    assert_eq!(process.client.put(NOTES, "").status, 201);
    assert_eq!(process.client.put(&note("counted"), r#"{"n": 0}"#).status, 201);
    let mut next = [0_u64; WRITERS.len() + 1];
    for round in 0..rounds() {
        let start = Barrier::new(next.len() + 1);
        let told: Vec<u64> = std::thread::scope(|scope| {
            let client = &process.client;
            let work = |(at, from): (usize, u64)| {
                let start = &start;
                scope.spawn(move || write_until_killed(client, (at, from), start))
            };
            let threads: Vec<_> = next.into_iter().enumerate().map(work).collect();
            start.wait();
            std::thread::sleep(TIME);
            process.kill();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (found, counted) = there(&file);
        for (at, (writer, count, belongs, _)) in WRITERS.iter().enumerate() {
            assert!(told[at] > next[at], "{writer} was never answered");
            for step in next[at]..told[at] {
                let places = found.get(&((*writer).to_owned(), step)).map_or(&[][..], Vec::as_slice);
                assert_eq!(
                    places,
                    (0..*count).collect::<Vec<_>>(),
                    "{writer} lost something of step {step} in round {round}"
                );
            }
            // What nobody was told of is one step, whole where its documents belong together, a prefix elsewhere.
            let cut = found.get(&((*writer).to_owned(), told[at])).map_or(&[][..], Vec::as_slice);
            assert_eq!(cut, (0..cut.len() as u64).collect::<Vec<_>>(), "{writer}: no prefix");
            // (A document that was to be put and deleted is there for a while.)
            let most = (*count).max(1);
            assert!(
                if *belongs { cut.len() as u64 == 0 || cut.len() as u64 == most } else { cut.len() as u64 <= most },
                "{writer}: {}",
                cut.len()
            );
            let beyond = (told[at] + 1, u64::MAX);
            assert!(found.range(((*writer).to_owned(), beyond.0)..=((*writer).to_owned(), beyond.1)).next().is_none());
        }
        let merged = told[WRITERS.len()];
        assert!(counted == merged || counted == merged + 1, "{counted} after {merged} merges");
        // Numbers that were cut are not used again.
        next = std::array::from_fn(|at| told[at] + 1);
        process = Process::start(&file);
        let set = process.client.put(&note("counted"), &json!({ "n": next[WRITERS.len()] }).to_string());
        assert_eq!(set.status, 200);
    }
}

/// Who writes when all others have.
const LAST: &str = "last";

/// What a listener has heard, by commits: what comes behind the last token is heard again.
#[derive(Default)]
struct Heard {
    events: Vec<(String, u64, u64)>,
    open: Vec<(String, u64, u64)>,
    last_id: String,
}

impl Heard {
    /// It has heard of what was written when all else was.
    fn is_last(&self) -> bool {
        self.events.last().is_some_and(|(writer, ..)| writer == LAST)
    }

    /// Listens until the stream ends, or is cut after this many events.
    fn listen(&mut self, client: &Client, most: usize) {
        self.open.clear();
        if TcpStream::connect(client.address).is_err() {
            return;
        }
        let Ok(mut listener) = std::panic::catch_unwind(|| Listener::begin(client, "", &self.last_id)) else { return };
        let listener = listener.as_mut().unwrap_or_else(|answer| panic!("{answer:?}"));
        for _ in 0..most {
            let Some(told) = listener.hear() else { return };
            if let Some(event) = told {
                assert_eq!(event.kind, "insert");
                let doc = &event.data["doc"];
                let number = |name: &str| doc[name].as_u64().unwrap_or(u64::MAX);
                self.open.push((doc["w"].as_str().unwrap_or_default().to_owned(), number("step"), number("at")));
            }
            if listener.last_id != self.last_id {
                self.last_id.clone_from(&listener.last_id);
                self.events.append(&mut self.open);
            }
            if self.is_last() {
                return;
            }
        }
    }
}

#[test]
fn who_listens_hears_each_change_once_in_order_whatever_is_cut_or_killed() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.cairn");
    let mut process = Process::start(&file);
    assert_eq!(process.client.put(NOTES, "").status, 201);
    // From before the first change on.
    let mut listener = Listener::begin(&process.client, "", "").unwrap();
    assert_eq!(process.client.put(&note("first"), "{}").status, 201);
    listener.expect("insert", "first");
    let mut heard = Heard { last_id: listener.last_id, ..Heard::default() };
    // Of which each makes one document a commit, or two.
    let writers = [0, 2, 3];
    let mut next = [0_u64; 3];
    let mut expected = BTreeSet::new();
    for round in 0..rounds() {
        let (start, is_killed) = (Barrier::new(writers.len() + 1), AtomicBool::new(false));
        let told: Vec<u64> = std::thread::scope(|scope| {
            let client = &process.client;
            let (start, is_killed, heard) = (&start, &is_killed, &mut heard);
            let threads: Vec<_> = (writers.into_iter().zip(next))
                .map(|writer| scope.spawn(move || write_until_killed(client, writer, start)))
                .collect();
            scope.spawn(move || {
                for most in 3.. {
                    if is_killed.load(Ordering::Relaxed) {
                        break;
                    }
                    heard.listen(client, most);
                }
            });
            start.wait();
            std::thread::sleep(TIME);
            process.kill();
            is_killed.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        process = Process::start(&file);
        let conn = process.client.post("/db/shop/sql", r#"{"sql": "SELECT doc ->> 'w', (doc ->> 'step')::bigint, (doc ->> 'at')::bigint FROM notes WHERE doc ? 'w'"}"#);
        let rows = conn.json()["rows"].as_array().unwrap().clone();
        expected.extend(
            rows.iter()
                .map(|row| (row[0].as_str().unwrap().to_owned(), row[1].as_u64().unwrap(), row[2].as_u64().unwrap())),
        );
        for ((at, told), next) in writers.into_iter().zip(&told).zip(&mut next) {
            assert!(*told > *next, "{} was never answered in round {round}", WRITERS[at].0);
            *next = told + 1;
        }
    }
    // A last change tells that all before it were told.
    assert_eq!(process.client.put(&note("last"), r#"{"w": "last", "step": 0, "at": 0}"#).status, 201);
    while !heard.is_last() {
        heard.listen(&process.client, 50);
    }
    expected.insert((LAST.to_owned(), 0, 0));
    let once: BTreeSet<_> = heard.events.iter().cloned().collect();
    assert_eq!(once.len(), heard.events.len(), "something was told twice");
    assert!(once == expected, "{:?}", once.symmetric_difference(&expected).collect::<Vec<_>>());
    // In the order of commits, which for one writer is that of its steps.
    for at in writers {
        let of: Vec<_> = heard
            .events
            .iter()
            .filter(|(writer, ..)| writer == WRITERS[at].0)
            .map(|(_, step, at)| (step, at))
            .collect();
        assert!(of.is_sorted(), "{}", WRITERS[at].0);
    }
}

//! `kill -9` of a server that is being written to in every way there is: what was acknowledged is there, each row of it, and what
//! belongs together is there or not, as a whole.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Duration;

use postgres::Client;
use tempfile::TempDir;

use crate::process::Process;

/// How often it is killed, and how long it is written to before that.
const ROUNDS: i32 = 4;
const TIME: Duration = Duration::from_millis(700);
/// Rows that belong together.
const TOGETHER: i32 = 7;

/// A writer of rows (writer, number): `TOGETHER` of them in one step, from a number on; an error: nobody knows.
type Write1 = fn(&mut Client, &Path, i32, i32) -> Result<(), Box<dyn std::error::Error>>;

const WRITERS: &[(&str, Write1)] = &[
    ("on its own", |client, _, writer, from| {
        for number in from..from + TOGETHER {
            client.execute("INSERT INTO t VALUES ($1, $2, 'on its own')", &[&writer, &number])?;
        }
        Ok(())
    }),
    ("a transaction", |client, _, writer, from| {
        let mut transaction = client.transaction()?;
        for number in from..from + TOGETHER {
            transaction.execute("INSERT INTO t VALUES ($1, $2, 'a transaction')", &[&writer, &number])?;
        }
        Ok(transaction.commit()?)
    }),
    ("several in one text", |client, _, writer, from| {
        let one = |number| format!("INSERT INTO t VALUES ({writer}, {number}, 'several');");
        Ok(client.batch_execute(&(from..from + TOGETHER).map(one).collect::<String>())?)
    }),
    ("COPY", |client, _, writer, from| {
        let mut copy = client.copy_in("COPY t FROM STDIN")?;
        let lines: String = (from..from + TOGETHER).map(|number| format!("{writer}\t{number}\tcopy\n")).collect();
        copy.write_all(lines.as_bytes())?;
        copy.finish()?;
        Ok(())
    }),
    ("a pipeline", |_, socket, writer, from| pipeline(socket, writer, from)),
];

/// One transaction of steps that were all sent before the first was answered.
fn pipeline(socket: &Path, writer: i32, from: i32) -> Result<(), Box<dyn std::error::Error>> {
    let mut stream = UnixStream::connect(socket)?;
    let mut said = b"\0\0\0\x1f\0\x03\0\0user\0me\0database\0shop\0\0".to_vec();
    let mut message = |kind: u8, body: &[u8]| {
        said.push(kind);
        said.extend((body.len() as u32 + 4).to_be_bytes());
        said.extend(body);
    };
    for number in from..from + TOGETHER {
        let text = format!("\0INSERT INTO t VALUES ({writer}, {number}, 'a pipeline')\0\0\0");
        message(b'P', text.as_bytes());
        message(b'B', &[0; 8]);
        message(b'E', &[0; 5]);
    }
    message(b'S', &[]);
    message(b'X', &[]);
    stream.write_all(&said)?;
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard)?;
    let done = heard.windows(11).filter(|tag| tag == b"INSERT 0 1\0").count();
    // The second ReadyForQuery: the first is of the login.
    let is_ready = heard.ends_with(b"Z\0\0\0\x05I");
    if done == TOGETHER as usize && is_ready { Ok(()) } else { Err("it was cut off".into()) }
}

/// The numbers that were acknowledged, up to the server's end.
fn write_until_killed(process: &Process, start: &Barrier, (writer, from, step): (i32, i32, Write1)) -> (i32, Vec<i32>) {
    let (mut client, socket) = (process.connect(), process.path());
    let mut acknowledged = Vec::new();
    let mut next = from;
    let mut write = || {
        let is_written = step(&mut client, &socket, writer, next).is_ok();
        if is_written {
            acknowledged.extend(next..next + TOGETHER);
            next += TOGETHER;
        }
        is_written
    };
    let first = write();
    // Each has something acknowledged, however slow the machine is, before it is killed.
    start.wait();
    while first && write() {}
    (writer, acknowledged)
}

fn rows(process: &Process) -> HashMap<i32, HashSet<i32>> {
    let mut there: HashMap<i32, HashSet<i32>> = HashMap::new();
    for row in process.connect().query("SELECT writer, number FROM t", &[]).unwrap() {
        assert!(there.entry(row.get(0)).or_default().insert(row.get(1)), "a row twice");
    }
    there
}

#[test]
fn what_was_acknowledged_is_there_when_the_server_is_killed() {
    let folder = TempDir::new().unwrap();
    let file: PathBuf = folder.path().join("shop.cairn");
    let mut process = Process::start(folder.path(), &file);
    let table = "CREATE TABLE t (writer int, number int, how text, PRIMARY KEY (writer, number))";
    process.connect().batch_execute(table).unwrap();
    let mut acknowledged: HashMap<i32, HashSet<i32>> = HashMap::new();
    for round in 0..ROUNDS {
        let start = Barrier::new(2 * WRITERS.len() + 1);
        let writers = (0..2 * WRITERS.len()).map(|at| (at as i32, round * 1_000_000, WRITERS[at % WRITERS.len()].1));
        let told: Vec<_> = std::thread::scope(|scope| {
            let work = |writer| {
                let (process, start) = (&process, &start);
                scope.spawn(move || write_until_killed(process, start, writer))
            };
            let threads: Vec<_> = writers.map(work).collect();
            start.wait();
            std::thread::sleep(TIME);
            kill(process.id());
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        process.kill();
        process = Process::start(folder.path(), &file);
        let there = rows(&process);
        for (writer, numbers) in told {
            let of = WRITERS[writer as usize % WRITERS.len()].0;
            assert!(!numbers.is_empty(), "{of} was never acknowledged");
            acknowledged.entry(writer).or_default().extend(numbers);
            let (none, mine) = (HashSet::new(), &acknowledged[&writer]);
            let found = there.get(&writer).unwrap_or(&none);
            let lost: Vec<_> = mine.difference(found).collect();
            assert!(lost.is_empty(), "{of} lost {lost:?} in round {round}");
            // What nobody was told of is at most one step a round, whole where its rows belong together.
            let more = found.difference(mine).count();
            let whole = of == "on its own" || more.is_multiple_of(TOGETHER as usize);
            assert!(whole && more <= (TOGETHER * (round + 1)) as usize, "{of}: {more} rows more");
        }
    }
}

fn kill(id: u32) {
    let done = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap();
    assert!(done.success());
}

//! Change streams: how long after a commit is asked for its event is at a client, for one stream and for many.
//!
//! - `hand-over`: one stream of one collection, one commit after the other: from when its request is sent to when its event is read. Beside it the same
//!   of a bare handler, which hands what it is sent to whoever listens.
//! - `one each`: as many streams as are asked for, each of which wants another value; as many commits, spread over a second, each for one of them.
//! - `all of one`: the same number of streams without a filter, and one commit, which is told to all.
//!
//! All streams are read by one thread, whose time is part of what is measured.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::client::Target;
use crate::Result;
use crate::args::DocumentsArgs;
use crate::latency::Latencies;
use crate::table::align;

/// Commits of a round of `hand-over`.
const HAND_OVERS: u64 = 2_000;
/// Over which commits for one each are spread, and connections that make them.
const SPREAD: Duration = Duration::from_secs(1);
const WRITERS: u64 = 8;
/// After which what was not heard is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Prints what each takes.
pub(super) fn run(args: &DocumentsArgs, server: &Target, bare: Option<&Target>) -> Result<()> {
    let mut lines =
        vec![["what", "server", "events", "p50 ms", "p95 ms", "p99 ms", "max ms"].map(str::to_owned).to_vec()];
    let mut add = |what: &str, name: &str, of: &Latencies| {
        let ms = |us: f64| format!("{:.3}", us / 1e3);
        let figures = [0.5, 0.95, 0.99].map(|share| ms(of.quantile_us(share)));
        let mut line = vec![what.to_owned(), name.to_owned(), of.count().to_string()];
        line.extend(figures.into_iter().chain([ms(of.max_us())]));
        lines.push(line);
    };
    let (database, streams) = (&args.databases[0], args.streams.unwrap_or(1));
    let path = format!("/db/{database}/collections/{}", args.collection);
    for _ in 0..args.rounds {
        add("hand-over", "cairn serve", &hand_over(server, &path)?);
        if let Some(bare) = bare {
            add("hand-over", "bare handler", &hand_over(bare, &path)?);
        }
    }
    for _ in 0..args.rounds {
        add("one each", "cairn serve", &one_each(server, &path, streams)?);
        add("all of one", "cairn serve", &all_of_one(server, &path, streams)?);
    }
    print!("{}", align(&lines, &[0, 1]));
    Ok(())
}

fn document(n: u64, sent: Instant, begun: Instant) -> String {
    format!(r#"{{"n": {n}, "sent": {}}}"#, (sent - begun).as_nanos())
}

fn hand_over(target: &Target, path: &str) -> Result<Latencies> {
    let (begun, mut latencies) = (Instant::now(), Latencies::new()?);
    let (mut streams, mut writer) = (Streams::open(target, path, 1, |_| String::new())?, target.connect()?);
    for n in 0..HAND_OVERS {
        let body = document(n, Instant::now(), begun);
        let answer = writer.ask("POST", &format!("{path}/documents"), Some(&body))?;
        if answer.status >= 300 {
            return Err(format!("{} {}", answer.status, answer.text()).into());
        }
        streams.hear(1, begun, &mut latencies)?;
    }
    Ok(latencies)
}

fn one_each(target: &Target, path: &str, count: u64) -> Result<Latencies> {
    let (begun, mut latencies) = (Instant::now(), Latencies::new()?);
    let mut streams = Streams::open(target, path, count, |n| format!("?filter=%7B%22n%22%3A{n}%7D"))?;
    let failed = AtomicBool::new(false);
    let first = Instant::now();
    let write = |writer: u64| -> Result<()> {
        let mut connection = target.connect()?;
        for n in (writer..count).step_by(WRITERS as usize) {
            let due = SPREAD.mul_f64(n as f64 / count as f64);
            std::thread::sleep(due.saturating_sub(first.elapsed()));
            let body = document(n, Instant::now(), begun);
            let answer = connection.ask("POST", &format!("{path}/documents"), Some(&body))?;
            if answer.status >= 300 {
                return Err(format!("{} {}", answer.status, answer.text()).into());
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (write, failed) = (&write, &failed);
            scope.spawn(move || {
                if let Err(error) = write(writer) {
                    eprintln!("{error}");
                    failed.store(true, Ordering::Relaxed);
                }
            });
        }
        streams.hear(count, begun, &mut latencies)
    })?;
    match failed.into_inner() {
        true => Err("not all was written".into()),
        false => Ok(latencies),
    }
}

fn all_of_one(target: &Target, path: &str, count: u64) -> Result<Latencies> {
    let (begun, mut latencies) = (Instant::now(), Latencies::new()?);
    let mut streams = Streams::open(target, path, count, |_| String::new())?;
    let body = document(0, Instant::now(), begun);
    target.connect()?.ask("POST", &format!("{path}/documents"), Some(&body))?;
    streams.hear(count, begun, &mut latencies)?;
    Ok(latencies)
}

/// Streams that are open, and what waits for any of them.
struct Streams {
    of: BTreeMap<u64, (TcpStream, Vec<u8>)>,
    epoll: std::os::fd::OwnedFd,
}

impl Streams {
    /// `query`: of each by its number.
    fn open(target: &Target, path: &str, count: u64, query: impl Fn(u64) -> String) -> Result<Streams> {
        let (epoll, mut of) = (epoll::create(CreateFlags::CLOEXEC)?, BTreeMap::new());
        for n in 0..count {
            let mut stream = target.connect_raw()?;
            stream.write_all(target.head("GET", &format!("{path}/changes{}", query(n)))?.as_bytes())?;
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            if !head.starts_with(b"HTTP/1.1 200") {
                return Err(String::from_utf8_lossy(&head).into_owned().into());
            }
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(n), EventFlags::IN)?;
            of.insert(n, (stream, Vec::new()));
        }
        Ok(Streams { of, epoll })
    }

    /// Hears so many events.
    fn hear(&mut self, count: u64, begun: Instant, latencies: &mut Latencies) -> Result<()> {
        let (since, mut heard) = (Instant::now(), 0);
        let mut events = Vec::with_capacity(256);
        while heard < count {
            let left =
                PATIENCE.checked_sub(since.elapsed()).ok_or_else(|| format!("{heard} of {count} events came"))?;
            let left = rustix::event::Timespec { tv_sec: left.as_secs() as i64, tv_nsec: 0 };
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&left))?;
            for event in &events {
                let event: &epoll::Event = event;
                let Some((stream, text)) = self.of.get_mut(&event.data.u64()) else { continue };
                let mut bytes = [0; 4096];
                match stream.read(&mut bytes) {
                    Ok(0) => return Err("a stream has ended".into()),
                    Ok(length) => text.extend_from_slice(&bytes[..length]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(error) => return Err(error.into()),
                }
                heard += told(text, begun, latencies);
            }
        }
        Ok(())
    }
}

/// The events that are whole, which are taken out.
fn told(text: &mut Vec<u8>, begun: Instant, latencies: &mut Latencies) -> u64 {
    const SENT: &[u8] = b"\"sent\":";
    let (mut count, now) = (0, begun.elapsed());
    while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
        let event: Vec<u8> = text.drain(..end + 2).collect();
        let Some(at) = event.windows(SENT.len()).position(|part| part == SENT) else { continue };
        let digits = event[at + SENT.len()..].iter().skip_while(|byte| **byte == b' ');
        let sent =
            digits.take_while(|byte| byte.is_ascii_digit()).fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
        latencies.add(now.saturating_sub(Duration::from_nanos(sent)));
        count += 1;
    }
    count
}

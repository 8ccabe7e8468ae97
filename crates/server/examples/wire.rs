//! Measures what a server gives over PostgreSQL's protocol, by a client that throws it away: of one server, or of two by turns.
//!
//! ```text
//! cargo run --release -p cairn-server --example wire -- "host=DIR port=5432 user=me dbname=shop" "host=... "
//! ```
//!
//! A server is named as libpq names one: `host` (a folder of a Unix socket, or an address), `port`, `user`, `dbname`. There it makes a
//! table `wire_rows`, once, and leaves it. It has no password and no TLS to offer: what is measured is the server. Frames are told apart by their
//! lengths, and nothing else is looked at. With `process`, the number of the server's process on this machine, the processor time that it and its
//! processes took is told as well (Linux), which says more where others use the machine.

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What the table's rows are.
const COLUMNS: &str = "(a bigint, b int, c numeric(12,2), d text, e text, f timestamptz)";
const QUERY: &str = "SELECT a, b, c, d, e, f FROM wire_rows";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (mut rows, mut rounds, mut only, mut servers) = (1_000_000, 5, String::new(), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--rows" => rows = value()?.parse()?,
            "--rounds" => rounds = value()?.parse()?,
            "--only" => only = value()?,
            _ => servers.push(Server::named(&word)?),
        }
    }
    if servers.is_empty() {
        return Err("name a server: \"host=DIR port=5432 user=NAME dbname=NAME\"".into());
    }
    for server in &servers {
        server.fill(rows)?;
    }
    for (name, measure) in MEASURES.iter().filter(|(name, _)| name.contains(&only)) {
        let (mut taken, mut worked) = (vec![Vec::new(); servers.len()], vec![Vec::new(); servers.len()]);
        for _ in 0..rounds {
            for (at, server) in servers.iter().enumerate() {
                let before = server.processor_time();
                taken[at].push(measure(server, rows)?);
                worked[at].extend(before.and_then(|before| Some(server.processor_time()? - before)));
            }
        }
        show(name, &mut taken);
        if worked.iter().all(|worked| !worked.is_empty()) {
            show("   processor time", &mut worked);
        }
    }
    Ok(())
}

/// Medians, and what the second is to the first.
fn show(name: &str, taken: &mut [Vec<Duration>]) {
    let medians: Vec<f64> = taken.iter_mut().map(|taken| median(taken).as_secs_f64() * 1e3).collect();
    let shown: Vec<String> = medians.iter().map(|ms| format!("{ms:10.3} ms")).collect();
    let ratio = medians.get(1).map(|other| format!("   {:.2} x", other / medians[0])).unwrap_or_default();
    println!("{name:40} {}{ratio}", shown.join(" "));
}

/// What is measured: what it is called, and how long it takes once.
type Measure = (&'static str, fn(&Server, u64) -> Result<Duration, Failure>);

const MEASURES: [Measure; 6] = [
    ("SELECT of all rows, text", |server, rows| server.timed(rows, |client| client.query(QUERY))),
    ("SELECT of all rows, binary", |server, rows| server.timed(rows, |client| client.query_binary(QUERY))),
    ("first of these rows", |server, _| server.first_row()),
    ("COPY out of all rows, text", |server, rows| {
        server.timed(rows, |client| client.query("COPY wire_rows TO STDOUT"))
    }),
    ("COPY out of all rows, binary", |server, rows| {
        // A header and what ends it are messages of their own, or stand in others.
        server.timed(rows, |client| client.query("COPY wire_rows TO STDOUT (FORMAT binary)"))
    }),
    ("100 times connect, one query, close", |server, _| server.connects(100)),
];

fn median(taken: &mut [Duration]) -> Duration {
    taken.sort_unstable();
    taken[taken.len() / 2]
}

/// Where a server is, and who wants in.
struct Server {
    host: String,
    port: u16,
    user: String,
    database: String,
    process: Option<u32>,
}

impl Server {
    fn named(text: &str) -> Result<Server, Failure> {
        let user = std::env::var("USER").unwrap_or_default();
        let mut server = Server { host: "127.0.0.1".into(), port: 5432, database: user.clone(), user, process: None };
        for word in text.split_whitespace() {
            match word.split_once('=').ok_or_else(|| format!("what is {word}? name=value is known"))? {
                ("host", value) => server.host = value.into(),
                ("port", value) => server.port = value.parse()?,
                ("user", value) => server.user = value.into(),
                ("dbname", value) => server.database = value.into(),
                ("process", value) => server.process = Some(value.parse()?),
                (name, _) => return Err(format!("{name} is not known: host, port, user, dbname, process are").into()),
            }
        }
        Ok(server)
    }

    /// What the server has taken so far, with its processes that have ended.
    fn processor_time(&self) -> Option<Duration> {
        let process = self.process?;
        // A process of the last connection may be ending.
        std::thread::sleep(Duration::from_millis(100));
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Behind the name: the state is the third of all, user and system time the 14th and 15th, those of ended children follow.
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
        let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
        Some(Duration::from_millis(ticks * 10))
    }

    fn connect(&self) -> Result<Client, Failure> {
        let stream: Box<dyn ReadWrite> = match self.host.starts_with('/') {
            #[cfg(unix)]
            true => Box::new(UnixStream::connect(format!("{}/.s.PGSQL.{}", self.host, self.port))?),
            _ => {
                let stream = TcpStream::connect((self.host.as_str(), self.port))?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        let mut client = Client { stream, buffer: vec![0; 256 << 10], start: 0, end: 0 };
        let mut body = 196_608_i32.to_be_bytes().to_vec();
        for text in ["user", &self.user, "database", &self.database, ""] {
            body.extend(text.bytes().chain([0]));
        }
        client.stream.write_all(&[&(body.len() as i32 + 4).to_be_bytes(), &body[..]].concat())?;
        client.until_ready()?;
        Ok(client)
    }

    /// Makes the table, unless it has so many rows already.
    fn fill(&self, rows: u64) -> Result<(), Failure> {
        let mut client = self.connect()?;
        client.query(&format!("CREATE TABLE IF NOT EXISTS wire_rows {COLUMNS}"))?;
        if client.query("SELECT a FROM wire_rows")? == rows {
            return Ok(());
        }
        client.query("TRUNCATE wire_rows")?;
        client.query(&format!(
            "INSERT INTO wire_rows SELECT n, n % 1000, (n % 1000000)::numeric / 100, lpad(n::text, 20, 'x'), \
             lpad((n * 7)::text, 20, 'y'), timestamptz '2024-01-01 00:00:00+00' + n * interval '1.001 s' \
             FROM generate_series(1, {rows}) n"
        ))?;
        client.query("VACUUM ANALYZE wire_rows").or_else(|_| client.query("ANALYZE wire_rows"))?;
        Ok(())
    }

    fn timed(&self, rows: u64, run: impl Fn(&mut Client) -> Result<u64, Failure>) -> Result<Duration, Failure> {
        let mut client = self.connect()?;
        let begun = Instant::now();
        let count = run(&mut client)?;
        let time = begun.elapsed();
        if count.abs_diff(rows) > 2 {
            return Err(format!("{count} rows came of {rows}").into());
        }
        Ok(time)
    }

    fn first_row(&self) -> Result<Duration, Failure> {
        let mut client = self.connect()?;
        let begun = Instant::now();
        client.say(b'Q', &[QUERY.as_bytes(), &[0]].concat())?;
        while client.frame()?.0 != b'D' {}
        Ok(begun.elapsed())
    }

    fn connects(&self, count: u32) -> Result<Duration, Failure> {
        let begun = Instant::now();
        for _ in 0..count {
            let mut client = self.connect()?;
            client.query("SELECT 1")?;
            client.say(b'X', &[])?;
            // The server has let go of it, too.
            while client.more()? > 0 {}
        }
        Ok(begun.elapsed())
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A connection that is open.
struct Client {
    stream: Box<dyn ReadWrite>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Client {
    fn say(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        self.stream.write_all(&[&[kind], &(body.len() as i32 + 4).to_be_bytes()[..], body].concat())
    }

    /// How many rows, or pieces of data, a statement gave.
    fn query(&mut self, text: &str) -> Result<u64, Failure> {
        self.say(b'Q', &[text.as_bytes(), &[0]].concat())?;
        self.until_ready()
    }

    fn query_binary(&mut self, text: &str) -> Result<u64, Failure> {
        self.say(b'P', &[&[0], text.as_bytes(), &[0, 0, 0]].concat())?;
        self.say(b'B', &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1])?;
        self.say(b'E', &[0, 0, 0, 0, 0])?;
        self.say(b'S', &[])?;
        self.until_ready()
    }

    fn until_ready(&mut self) -> Result<u64, Failure> {
        let (mut count, mut failed) = (0, None);
        loop {
            match self.frame()? {
                (b'D' | b'd', _) => count += 1,
                (b'R', [0, 0, 0, 0]) => {}
                (b'R', _) => return Err("the server wants a password, which is not given here".into()),
                (b'E', body) => {
                    let text = String::from_utf8_lossy(body).replace('\0', " ");
                    if text.starts_with("SFATAL") {
                        return Err(text.into());
                    }
                    failed = Some(text);
                }
                (b'Z', _) => return failed.map_or(Ok(count), |text| Err(text.into())),
                _ => {}
            }
        }
    }

    /// The next message: its type, and its body as far as it fits.
    fn frame(&mut self) -> Result<(u8, &[u8]), Failure> {
        self.have(5)?;
        let head = &self.buffer[self.start..];
        let kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize + 1;
        if length > self.buffer.len() {
            return Err("a message is longer than what is read here".into());
        }
        self.have(length)?;
        let body = self.start + 5..self.start + length;
        self.start = body.end;
        Ok((kind, &self.buffer[body]))
    }

    fn have(&mut self, count: usize) -> Result<(), Failure> {
        while self.end - self.start < count {
            if self.start + count > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
            if self.more()? == 0 {
                return Err("the server has closed the connection".into());
            }
        }
        Ok(())
    }

    fn more(&mut self) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            (self.start, self.end) = (0, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }
}

//! `documents`: a server of documents driven from outside over HTTP, by the mix that an earlier document store was measured with.
//!
//! Each worker keeps a connection, and the documents that it made; it creates, reads, replaces and deletes them by shares. What is asked is the
//! same beside a bare handler (`cargo run --release -p cairn-http --example bare`), which reads the body as JSON and gives it back: what is
//! more than its time is the database's. Both are asked by turns, round by round.

mod client;
mod library;
mod mix;
#[cfg(target_os = "linux")]
mod streams;

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::DocumentsArgs;
use crate::latency::Latencies;
use crate::statistics::median;
use crate::table::{align, shown};
use client::Target;
use mix::{KINDS, Kind, Worker};

/// What all workers did together.
struct Round {
    by_kind: Vec<Latencies>,
    seconds: f64,
}

impl Round {
    fn rate(&self) -> f64 {
        self.by_kind.iter().map(Latencies::count).sum::<u64>() as f64 / self.seconds
    }
}

/// Drives the server, and the bare handler beside it where there is one.
pub fn run(args: &DocumentsArgs) -> Result<()> {
    if let Some(documents) = args.library {
        return library::run(documents, args.rounds);
    }
    let url = args.url.as_deref().ok_or("no server is said")?;
    let manager = Target::parse(url, std::env::var("CAIRN_TOKEN").ok())?;
    let server = Target::parse(url, std::env::var("CAIRN_JWT").or_else(|_| std::env::var("CAIRN_TOKEN")).ok())?;
    let bare = args.bare.as_deref().map(|url| Target::parse(url, None)).transpose()?;
    for database in &args.databases {
        manager.make_collection(database, &args.collection)?;
        if let Some(rule) = &args.rule {
            manager.set_rule(database, &args.collection, rule)?;
        }
    }
    if args.streams.is_some() {
        return streams(args, &server, bare.as_ref());
    }
    let mut lines = vec![head()];
    for &workers in &args.workers {
        let (mut own, mut other) = (vec![], vec![]);
        for _ in 0..args.rounds {
            own.push(round(args, &server, workers)?);
            other.extend(bare.as_ref().map(|bare| round(args, bare, workers)).transpose()?);
        }
        lines.extend(rows(workers, "cairn serve", &own, Some(&other))?);
        if !other.is_empty() {
            lines.extend(rows(workers, "bare handler", &other, None)?);
        }
    }
    print!("{}", align(&lines, &[0, 1, 2]));
    Ok(())
}

#[cfg(target_os = "linux")]
fn streams(args: &DocumentsArgs, server: &Target, bare: Option<&Target>) -> Result<()> {
    streams::run(args, server, bare)
}

#[cfg(not(target_os = "linux"))]
fn streams(_: &DocumentsArgs, _: &Target, _: Option<&Target>) -> Result<()> {
    Err("streams are measured on Linux only".into())
}

fn head() -> Vec<String> {
    ["workers", "server", "operation", "per second", "min", "max", "x bare", "p50 ms", "p95 ms", "p99 ms", "max ms"]
        .map(str::to_owned)
        .to_vec()
}

/// All workers for as long as a round takes.
fn round(args: &DocumentsArgs, target: &Target, workers: usize) -> Result<Round> {
    let (begun, time) = (Instant::now(), Duration::from_secs_f64(args.seconds));
    let of_worker = |number: usize| -> Result<Vec<Latencies>> {
        let database = &args.databases[number % args.databases.len()];
        let mut worker = Worker::new(target, (database, &args.collection), args.bytes, number as u64)?;
        while begun.elapsed() < time {
            worker.step(args.mix)?;
        }
        Ok(worker.latencies)
    };
    let all: Vec<Result<Vec<Latencies>>> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..workers * args.databases.len()).map(|number| scope.spawn(move || of_worker(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into()))).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let mut by_kind = KINDS.iter().map(|_| Latencies::new()).collect::<Result<Vec<_>>>()?;
    for worker in all {
        for (sum, of) in by_kind.iter_mut().zip(&worker?) {
            sum.merge(of)?;
        }
    }
    Ok(Round { by_kind, seconds })
}

/// A line for all operations together, and one for each kind.
fn rows(workers: usize, name: &str, rounds: &[Round], beside: Option<&[Round]>) -> Result<Vec<Vec<String>>> {
    let rates: Vec<f64> = rounds.iter().map(Round::rate).collect();
    let ratios: Vec<f64> = beside.into_iter().flatten().zip(&rates).map(|(bare, rate)| rate / bare.rate()).collect();
    let mut all = Latencies::new()?;
    let mut lines = vec![];
    for (at, kind) in KINDS.iter().enumerate() {
        let mut of_kind = Latencies::new()?;
        rounds.iter().try_for_each(|round| of_kind.merge(&round.by_kind[at]))?;
        all.merge(&of_kind)?;
        let rates: Vec<f64> = rounds.iter().map(|round| round.by_kind[at].count() as f64 / round.seconds).collect();
        lines.push(line(workers, name, kind_name(*kind), &rates, None, &of_kind));
    }
    lines.insert(0, line(workers, name, "all", &rates, (!ratios.is_empty()).then(|| median(&ratios)), &all));
    Ok(lines)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Create => "create",
        Kind::Replace => "replace",
        Kind::Delete => "delete",
    }
}

fn line(workers: usize, name: &str, what: &str, rates: &[f64], ratio: Option<f64>, of: &Latencies) -> Vec<String> {
    let (least, most) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
    let ms = |us: f64| format!("{:.2}", us / 1e3);
    vec![
        workers.to_string(),
        name.to_owned(),
        what.to_owned(),
        shown(median(rates)),
        shown(least),
        shown(most),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ms(of.quantile_us(0.5)),
        ms(of.quantile_us(0.95)),
        ms(of.quantile_us(0.99)),
        ms(of.max_us()),
    ]
}

//! How long parsing takes: `cargo run --release -p cairn-parser --example timing`. Prints, asserts nothing.

use std::hint::black_box;
use std::time::Instant;

use cairn_parser::token::split_statements;
use cairn_parser::{Options, Room, parse_statement, parse_statement_in};

fn nanoseconds(text: &str, rounds: u32) -> f64 {
    let best = (0..5).map(|_| {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(parse_statement(black_box(text), Options::default()).is_ok());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
    });
    best.fold(f64::INFINITY, f64::min)
}

/// As a connection does it, in buffers that are kept.
fn nanoseconds_in_a_room(text: &str, rounds: u32) -> f64 {
    let mut room = Room::default();
    let best = (0..5).map(|_| {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(parse_statement_in(black_box(text), Options::default(), &mut room).is_ok());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
    });
    best.fold(f64::INFINITY, f64::min)
}

fn rows(count: usize) -> String {
    let row = |n: usize| {
        format!(
            "({n}, {}, 'name {n}', 3.25, NULL, 'a@example.org', {}, 'text of a row', 17, '2026-01-01')",
            n * 7,
            n % 5
        )
    };
    let rows: Vec<String> = (0..count).map(row).collect();
    format!("INSERT INTO t VALUES {}", rows.join(", "))
}

fn main() {
    let point = "SELECT name, balance FROM accounts WHERE id = $1";
    println!("point SELECT           {:8.0} ns", nanoseconds(point, 200_000));
    println!("the same, buffers kept {:8.0} ns", nanoseconds_in_a_room(point, 200_000));
    let update = "UPDATE accounts SET balance = balance - 10 WHERE id = 42";
    println!("point UPDATE           {:8.0} ns", nanoseconds(update, 200_000));
    let tpch = include_str!("../../bench/tpch/queries.sql");
    let times: Vec<f64> = split_statements(tpch).map(|query| nanoseconds(query.text, 5_000)).collect();
    let (mean, most) = (times.iter().sum::<f64>() / times.len() as f64, times.iter().fold(0.0_f64, |a, b| a.max(*b)));
    println!("{} TPC-H queries      {mean:8.0} ns on average, {most:.0} at most", times.len());
    let insert = rows(1000);
    let time = nanoseconds(&insert, 200);
    println!("INSERT of 1,000 rows   {time:8.0} ns, {:.0} MB/s", insert.len() as f64 * 1e3 / time);
    if let Ok(Some(parsed)) = parse_statement(&insert, Options::default()) {
        println!("tree of that           {:8.2} bytes for a byte", parsed.tree.bytes() as f64 / insert.len() as f64);
    }
    let short = format!("INSERT INTO t VALUES {}", vec!["(1,2,'a')"; 10_000].join(","));
    if let Ok(Some(parsed)) = parse_statement(&short, Options::default()) {
        println!("tree of (1,2,'a'),...  {:8.2} bytes for a byte", parsed.tree.bytes() as f64 / short.len() as f64);
    }
}

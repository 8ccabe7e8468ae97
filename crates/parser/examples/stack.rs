//! How much stack a level of each kind of nesting takes: the smallest threads that read 2 and 12 levels. Run it in a
//! debug build; `RECURSION_OF_A_STACK` in `parse/state.rs` rests on what it prints.

use std::process::{Command, Stdio, exit};
use std::thread;

use cairn_parser::{Options, parse_statements};

const NESTS: &[(&str, &str)] = &[
    ("(SELECT ", ")"),
    ("* FROM (SELECT ", ") x"),
    ("* FROM a JOIN (b JOIN (SELECT ", ") c ON x) ON y"),
    ("1 UNION (SELECT ", ")"),
    ("(WITH x AS (SELECT ", ") SELECT 1)"),
    ("substring(a, ", ")"),
    ("ARRAY[[", "]]"),
    ("f(a) OVER (ORDER BY ", ")"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let numbers: Vec<usize> = arguments.iter().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    match numbers.as_slice() {
        [nest, kib, depth] => parse(NESTS[*nest], *kib, *depth),
        _ => measure(&arguments[0]),
    }
}

fn parse((open, close): (&str, &str), kib: usize, depth: usize) {
    let text = format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth));
    let parse = move || parse_statements(&text, Options::default()).all(|parsed| parsed.is_ok());
    let parsed = thread::Builder::new().stack_size(kib << 10).spawn(parse).expect("a thread").join();
    exit(i32::from(!parsed.expect("no panic")));
}

/// Smaller and smaller threads in processes of their own, for a stack that overflows ends its process.
fn measure(program: &str) {
    for (number, (open, _)) in NESTS.iter().enumerate() {
        let survives = |kib: &usize, depth: usize| {
            let numbers = [number, *kib, depth].map(|number| number.to_string());
            let status = Command::new(program).args(numbers).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let needed = |depth| (4..1024).step_by(4).find(|kib| survives(kib, depth)).unwrap_or(1024);
        let (two, seven) = (needed(2), needed(7));
        println!("{:6} bytes a level  {open}", (seven - two) * 1024 / 5);
    }
}

//! Tells of each line of the standard input whether it parses, and why not.

use std::io::{BufRead, stdin};

use cairn_parser::{Options, parse_statements};

fn main() {
    for line in stdin().lock().lines().map_while(Result::ok) {
        let verdict = parse_statements(&line, Options::default()).find_map(Result::err);
        match verdict {
            None => println!("ok\t{line}"),
            Some(error) => println!("{} {} @{}\t{line}", error.sqlstate, error.message, error.position + 1),
        }
    }
}

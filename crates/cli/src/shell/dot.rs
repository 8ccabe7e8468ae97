//! The commands of SQLite's and DuckDB's shells that people type by habit: each means one of our own.

use super::pattern::Pattern;
use super::session::Session;
use super::splitter::Splitter;
use super::{describe, meta};
use crate::output::{Expanded, Format};
use crate::report::Failure;
use crate::words::Words;

/// Runs a command that begins with a dot.
pub fn run(session: &mut Session, text: &str, splitter: &mut Splitter, depth: usize) -> Result<(), Failure> {
    let text = text.trim().trim_start_matches('.').trim_end_matches(';');
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    if let ("headers" | "header", Some(shown)) = (name, switch(rest)) {
        session.style.header = shown;
        return Ok(());
    }
    if name == "mode" {
        return mode(session, rest);
    }
    if name == "schema" {
        return describe::describe_all(session, Pattern::of(&rest.replace('%', "*"))?.as_ref());
    }
    match ours(name, rest)? {
        Some(command) => meta::run(session, &command, splitter, depth),
        None => Err(Failure::Message(format!("unknown command .{name}\nTry \\? for help."))),
    }
}

/// The backslash command, without its backslash, that does the same.
fn ours(name: &str, rest: &str) -> Result<Option<String>, Failure> {
    let with = |command: &str| Some(format!("{command} {rest}"));
    Ok(match name {
        "exit" | "quit" => Some("q".to_string()),
        "help" => Some("?".to_string()),
        "tables" => Some(format!("dtvm {}", rest.replace('%', "*"))),
        "indexes" | "indices" => with("di"),
        "databases" => Some("l".to_string()),
        "open" => with("open"),
        "shell" | "system" => with("!"),
        "read" => with("i"),
        "output" | "once" if rest == "stdout" => Some("o".to_string()),
        "output" => with("o"),
        "timer" => with("timing"),
        "nullvalue" => with("pset null"),
        "print" => with("echo"),
        "import" => import(rest)?,
        _ => None,
    })
}

/// As SQLite's shell does it: without a word, which would stand among the results.
fn mode(session: &mut Session, wanted: &str) -> Result<(), Failure> {
    (session.style.format, session.style.expanded) = match wanted {
        "csv" => (Format::Csv, Expanded::Off),
        "json" => (Format::Json, Expanded::Off),
        "markdown" => (Format::Markdown, Expanded::Off),
        "table" | "box" | "column" | "duckbox" => (Format::Table, Expanded::Off),
        "line" => (Format::Table, Expanded::On),
        _ => {
            let known = "csv, json, markdown, table or line";
            return Err(Failure::Message(format!(".mode: there is no mode \"{wanted}\", only {known}")));
        }
    };
    Ok(())
}

/// `.import [--csv] [--skip N] FILE TABLE`
fn import(rest: &str) -> Result<Option<String>, Failure> {
    let mut words = Words::new(rest);
    let mut named = Vec::new();
    while let Some(word) = words.next().map_err(Failure::Message)? {
        named.push(word.into_text());
    }
    named.retain(|word| !matches!(word.as_str(), "--csv" | "-csv"));
    match named.as_slice() {
        [file, table] if !file.starts_with('-') => {
            let (file, table) = (file.replace('\'', "''"), table.replace('"', "\"\""));
            Ok(Some(format!("copy \"{table}\" from '{file}' csv")))
        }
        _ => Err(Failure::Message(".import FILE TABLE reads CSV into a table; \\copy has options".to_string())),
    }
}

fn switch(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_become_our_commands() {
        let ours = |name: &str, rest: &str| ours(name, rest).unwrap();
        assert_eq!(ours("tables", "a*").unwrap(), "dtvm a*");
        assert_eq!(ours("output", "stdout").unwrap(), "o");
        assert_eq!(ours("import", "--csv 'my file.csv' T").unwrap(), "copy \"T\" from 'my file.csv' csv");
        assert_eq!(ours("fly", ""), None);
    }
}

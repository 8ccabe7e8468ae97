//! What the repository's tests say to a database: scenario files, SQL files, fuzz corpora, and the strings of Rust's tests
//! that begin like a statement.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cairn_conformance::slt;

/// Words that statements begin with; what begins otherwise in a Rust file is taken for no statement.
const OPENINGS: &[&str] = &[
    "select",
    "insert",
    "update",
    "delete",
    "create",
    "alter",
    "drop",
    "with",
    "values",
    "begin",
    "commit",
    "rollback",
    "explain",
    "merge",
    "truncate",
    "copy",
    "set ",
    "show",
    "savepoint",
    "release",
    "prepare",
    "execute",
    "analyze",
    "vacuum",
    "table ",
    "grant",
    "declare",
    "fetch",
    "comment",
];

/// The repository's folder.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every different text, in order.
pub fn of_the_repository() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for folder in ["crates", "examples", "fuzz"] {
        visit(&repository().join(folder), &mut |path| {
            let Ok(bytes) = fs::read(path) else { return };
            let text = String::from_utf8_lossy(&bytes);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("slt" | "test") => of_scenario(&text, &mut texts),
                Some("sql") => drop(texts.insert(text.into_owned())),
                Some("rs") => of_rust(&text, &mut texts),
                _ => {}
            }
        });
    }
    texts.retain(|text| !text.contains('\0'));
    texts
}

/// Those of SQLite's logic tests, where the sample is there.
pub fn of_the_sample() -> std::io::Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    if let Some(sample) = slt::Sample::read(&slt::Sample::folder())? {
        sample.files.iter().for_each(|file| of_scenario(&file.text, &mut texts));
    }
    Ok(texts)
}

fn of_scenario(text: &str, texts: &mut BTreeSet<String>) {
    if let Ok(records) = slt::parse(text, "postgresql") {
        texts.extend(records.into_iter().map(|record| record.sql).filter(|sql| !sql.is_empty()));
    }
}

fn of_rust(text: &str, texts: &mut BTreeSet<String>) {
    texts.extend(strings(text).into_iter().filter(|string| is_statement(string)));
}

fn is_statement(text: &str) -> bool {
    let text = text.trim_start();
    let begins = |opening: &&str| text.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening));
    // What `format!` fills in later is not SQL yet.
    OPENINGS.iter().any(begins) && !text.contains('{')
}

/// The string literals of a Rust file, as far as finding statements takes.
fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let hashes = rest[..start].bytes().rev().take_while(|byte| *byte == b'#').count();
        let is_raw = rest[..start - hashes].ends_with('r');
        let body = &rest[start + 1..];
        let (end, behind) = match is_raw {
            true => (body.find(&format!("\"{}", "#".repeat(hashes))), 1 + hashes),
            false => (end_of_string(body), 1),
        };
        let Some(end) = end else { break };
        found.push(if is_raw { body[..end].to_owned() } else { unescaped(&body[..end]) });
        rest = &body[end + behind..];
    }
    found
}

fn end_of_string(body: &str) -> Option<usize> {
    let mut escaped = false;
    body.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn unescaped(written: &str) -> String {
    let mut text = String::new();
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('\n')) => while characters.next_if(|next| next.is_whitespace()).is_some() {},
            ('\\', Some('n')) => text.push(characters.next().map_or('\n', |_| '\n')),
            ('\\', Some(_)) => text.extend(characters.next()),
            _ => text.push(character),
        }
    }
    text
}

fn visit(folder: &Path, file: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => visit(&path, file),
            false => file(&path),
        }
    }
}

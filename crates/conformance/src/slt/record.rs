//! Turns bare statements into a scenario whose expectations are what an engine (PostgreSQL) answers.
//!
//! The input has statements separated by empty lines, `#` comments and `connection` lines. What comes out is a draft to
//! be read: it states what PostgreSQL does, not that we should.

use std::collections::BTreeMap;

use super::{Dialect, Sort, render};
use crate::engine::{Answer, Engine, Failure, Session};

/// The scenario for these statements.
pub fn record(statements: &str, engine: &dyn Engine) -> Result<String, Failure> {
    let mut sessions: BTreeMap<String, Box<dyn Session + '_>> = BTreeMap::new();
    let mut blocks = Vec::new();
    for block in statements.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let (notes, sql): (Vec<&str>, Vec<&str>) = block.lines().partition(|line| is_note(line));
        let connection = notes.iter().find_map(|line| line.strip_prefix("connection ")).unwrap_or("");
        if !sessions.contains_key(connection) {
            sessions.insert(connection.to_owned(), engine.session()?);
        }
        let sql = sql.join("\n");
        let mut text = notes.iter().map(|line| format!("{line}\n")).collect::<String>();
        if let Some(session) = sessions.get_mut(connection).filter(|_| !sql.is_empty()) {
            text += &entry(&sql, &session.run(&sql));
        }
        blocks.push(text);
    }
    Ok(blocks.join("\n"))
}

fn is_note(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("connection ")
}

fn entry(sql: &str, outcome: &Result<Answer, Failure>) -> String {
    match outcome {
        Err(failure) => {
            format!("statement error {} # {}\n{sql}\n", failure.sqlstate, failure.message.replace('\n', " "))
        }
        Ok(answer) if !answer.columns.is_empty() => query(sql, answer),
        Ok(Answer { affected: Some(count), .. }) if changes(sql) => format!("statement count {count}\n{sql}\n"),
        Ok(_) => format!("statement ok\n{sql}\n"),
    }
}

fn query(sql: &str, answer: &Answer) -> String {
    let letters: String = answer.columns.iter().map(|column| letter(&column.data_type)).collect();
    let lines = render::lines(answer, &letters, Sort::None, Dialect::Scenario);
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("query {letters}\n{sql}\n----\n{lines}")
}

fn letter(data_type: &str) -> char {
    match data_type {
        "int2" | "int4" | "int8" => 'I',
        "numeric" | "float4" | "float8" => 'R',
        _ => 'T',
    }
}

fn changes(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE")
}

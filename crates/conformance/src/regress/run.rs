//! A script's statements on both sides, and what differs.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use super::{Report, Statement};
use crate::engine::{Answer, Failure, Session};

type Outcome = Result<Answer, Failure>;

/// Runs a script's statements on both, after those that prepare both and are not compared.
pub fn compare_script(
    prepare: &[Statement],
    script: &[Statement],
    reference: &mut dyn Session,
    ours: &mut dyn Session,
) -> std::io::Result<Report> {
    for statement in prepare {
        // What one of the two does not have is missing for the script, which tells it.
        let _ = run_both(statement, reference, ours)?;
    }
    let mut report = Report::default();
    for statement in script {
        let (reference, ours) = run_both(statement, reference, ours)?;
        report.add(statement, difference(&statement.sql, &reference, &ours), reference.is_err());
    }
    Ok(report)
}

/// A COPY reads its data from a file there, and from the caller here.
fn run_both(
    statement: &Statement,
    reference: &mut dyn Session,
    ours: &mut dyn Session,
) -> std::io::Result<(Outcome, Outcome)> {
    let sql = statement.sql.as_str();
    let lower = sql.trim_start().to_ascii_lowercase();
    if let Some(data) = &statement.data {
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o644)).tempfile()?;
        file.write_all(data.as_bytes())?;
        let there = exchange_source(sql, &format!("'{}'", file.path().display()));
        let here = exchange_source(sql, "STDIN");
        return Ok((reference.run(&there), ours.copy_in(&here, data.as_bytes())));
    }
    if let Some((path, here)) = file_source(sql).filter(|_| lower.starts_with("copy")) {
        let ours = match std::fs::read(path) {
            Ok(data) => ours.copy_in(&here, &data),
            Err(_) => ours.run(sql),
        };
        return Ok((reference.run(sql), ours));
    }
    if lower.starts_with("copy") && lower.contains("to stdout") {
        return Ok((copy_out(reference, sql), copy_out(ours, sql)));
    }
    Ok((reference.run(sql), ours.run(sql)))
}

fn copy_out(session: &mut dyn Session, sql: &str) -> Outcome {
    let bytes = session.copy_out(sql)?;
    let lines = String::from_utf8_lossy(&bytes).lines().map(|line| vec![Some(line.to_owned())]).collect();
    Ok(Answer { rows: lines, ..Answer::default() })
}

/// The statement with another source behind FROM.
fn exchange_source(sql: &str, source: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let found = ["stdin", "stdout"].iter().filter_map(|word| Some((lower.find(word)?, word.len()))).min();
    match found {
        Some((at, length)) => format!("{}{source}{}", &sql[..at], &sql[at + length..]),
        None => sql.to_owned(),
    }
}

/// The file that a COPY reads, and the statement as it reads from the caller.
fn file_source(sql: &str) -> Option<(&str, String)> {
    let at = sql.to_ascii_lowercase().find("from '")? + "from ".len();
    let end = at + 1 + sql[at + 1..].find('\'')?;
    Some((&sql[at + 1..end], format!("{}STDIN{}", &sql[..at], &sql[end + 1..])))
}

/// Why two outcomes of a statement differ; `None`: they agree.
fn difference(sql: &str, reference: &Outcome, ours: &Outcome) -> Option<String> {
    match (reference, ours) {
        (Ok(reference), Ok(ours)) => different_answers(sql, reference, ours),
        (Err(reference), Err(ours)) if reference.sqlstate == ours.sqlstate => None,
        (Err(reference), Err(ours)) => Some(format!("{} instead of {}", said(ours), reference.sqlstate)),
        (Err(reference), Ok(_)) => Some(format!("taken, not refused: {}", said(reference))),
        (Ok(_), Err(ours)) => Some(said(ours)),
    }
}

fn different_answers(sql: &str, reference: &Answer, ours: &Answer) -> Option<String> {
    let names = |answer: &Answer| answer.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    if names(reference) != names(ours) {
        return Some("other columns".into());
    }
    let types = reference.columns.iter().zip(&ours.columns);
    let differs = |(reference, ours): &(&crate::engine::Column, &crate::engine::Column)| {
        !reference.data_type.is_empty() && !ours.data_type.is_empty() && reference.data_type != ours.data_type
    };
    if let Some((reference, ours)) = types.clone().find(differs) {
        return Some(format!("a column of type {} instead of {}", ours.data_type, reference.data_type));
    }
    if reference.rows == ours.rows {
        return None;
    }
    let sorted = |answer: &Answer| {
        let mut rows = answer.rows.clone();
        rows.sort();
        rows
    };
    let same = sorted(reference) == sorted(ours);
    let is_ordered = sql.to_ascii_lowercase().contains("order by");
    match (same, is_ordered) {
        (true, false) => None,
        (true, true) => Some("rows in another order".into()),
        (false, _) if sql.trim_start().to_ascii_lowercase().starts_with("explain") => Some("another plan".into()),
        (false, _) => Some("other rows".into()),
    }
}

/// SQLSTATE and message without its quoted parts and numbers: like failures share it.
fn said(failure: &Failure) -> String {
    let mut message = String::new();
    let mut quoted = false;
    for character in failure.message.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                message.push('"');
            }
            _ if quoted => {}
            digit if digit.is_ascii_digit() => {
                if !message.ends_with('0') {
                    message.push('0');
                }
            }
            other => message.push(other),
        }
    }
    format!("{} {message}", failure.sqlstate)
}

//! A script's statements on both sides, and what differs.

use super::{Report, Statement};
use crate::engine::{Answer, Failure, Session};

type Outcome = Result<Answer, Failure>;

/// Runs a script's statements on both, after those that prepare both and are not compared.
pub fn compare_script(
    prepare: &[Statement],
    script: &[Statement],
    reference: &mut dyn Session,
    ours: &mut dyn Session,
) -> Report {
    for statement in prepare {
        // What one of the two does not have is missing for the script, which tells it.
        let _ = (run(reference, statement), run(ours, statement));
    }
    let mut report = Report::default();
    for statement in script {
        let (reference, ours) = (run(reference, statement), run(ours, statement));
        report.add(statement, difference(&statement.sql, &reference, &ours), reference.is_err());
    }
    report
}

fn run(session: &mut dyn Session, statement: &Statement) -> Outcome {
    let lower = statement.sql.trim_start().to_ascii_lowercase();
    match &statement.data {
        Some(data) => session.copy_in(&statement.sql, data.as_bytes()),
        None if lower.starts_with("copy") && lower.contains("to stdout") => {
            let bytes = session.copy_out(&statement.sql)?;
            let lines = String::from_utf8_lossy(&bytes).lines().map(|line| vec![Some(line.to_owned())]).collect();
            Ok(Answer { rows: lines, ..Answer::default() })
        }
        None => session.run(&statement.sql),
    }
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

//! Runs a case on two engines and compares what they answer.

use std::collections::BTreeMap;

use super::{Case, Step, Via};
use crate::engine::{Answer, Engine, Failure, Session};

/// What must agree.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Column names, column types and SQLSTATE too, not only rows and success.
    pub details: bool,
}

/// A statement that two engines answered differently.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its place in the case.
    pub step: usize,
    /// What differs: similar differences share it.
    pub category: String,
    /// The reference's answer, in short.
    pub reference: String,
    /// Ours, in short.
    pub ours: String,
}

/// What became of a case.
#[derive(Default)]
pub struct CaseReport {
    /// Statements whose answers were compared.
    pub compared: usize,
    /// Statements that the reference accepted.
    pub accepted: usize,
    /// Statements where one side alone raised a data exception that plans may or may not reach.
    pub undecided: usize,
    /// Why the reference refused the others, and how often.
    pub refused: BTreeMap<String, usize>,
    /// The others' differences.
    pub differences: Vec<Difference>,
}

/// A statement's answer or failure.
pub(super) type Outcome = Result<Answer, Failure>;

/// Runs all steps on both; stops where changes made the databases differ.
pub fn run_case(case: &Case, rules: Rules, reference: &dyn Engine, ours: &dyn Engine) -> Result<CaseReport, Failure> {
    let mut sessions = (reference.session()?, ours.session()?);
    let mut report = CaseReport::default();
    for (index, step) in case.steps.iter().enumerate() {
        let outcome = run_both(&mut sessions, step);
        report.compared += 1;
        match &outcome.0 {
            Ok(_) => report.accepted += 1,
            Err(failure) => *report.refused.entry(category(failure)).or_default() += 1,
        }
        match verdict(step, rules, &outcome.0, &outcome.1) {
            Verdict::Same => {}
            Verdict::Undecided => {
                report.undecided += 1;
                if step.changes {
                    break;
                }
            }
            Verdict::Different(category) => {
                let (reference, ours) = (shown(&outcome.0), shown(&outcome.1));
                report.differences.push(Difference { step: index, category, reference, ours });
                if step.changes {
                    break;
                }
            }
        }
    }
    Ok(report)
}

fn run_both(sessions: &mut (Box<dyn Session + '_>, Box<dyn Session + '_>), step: &Step) -> (Outcome, Outcome) {
    let ours = step.run(sessions.1.as_mut()).map(|answer| match step.via {
        Via::Elsewhere(_) => Answer::default(),
        _ => answer,
    });
    (step.run_by_reference(sessions.0.as_mut()), ours)
}

enum Verdict {
    Same,
    Undecided,
    Different(String),
}

fn verdict(step: &Step, rules: Rules, reference: &Outcome, ours: &Outcome) -> Verdict {
    match (reference, ours) {
        (Ok(reference), Ok(ours)) => answers(step, rules, reference, ours),
        // PostgreSQL reads some lines ahead of the rows that it stores: what is wrong with which it says first is open.
        (Err(_), Err(_)) if matches!(step.via, Via::CopyIn(_)) => Verdict::Same,
        // So is which of several errors comes first, where plans may reach one or another.
        (Err(reference), Err(ours)) if !step.strict && (data_exception(reference) || data_exception(ours)) => {
            Verdict::Same
        }
        (Err(reference), ours) if has_pending_events(reference, ours) => Verdict::Undecided,
        (Err(reference), Err(ours)) => failures(rules, reference, ours),
        (Err(reference), Ok(_)) if data_exception(reference) && !step.strict => Verdict::Undecided,
        (Ok(_), Err(ours)) if data_exception(ours) && !step.strict => Verdict::Undecided,
        (Err(reference), Ok(_)) => Verdict::Different(format!("missing error {}", reference.sqlstate)),
        (Ok(_), Err(ours)) => Verdict::Different(format!("error {}", category(ours))),
    }
}

/// Whether two outcomes of a step agree; `None`: one side alone met a data exception that plans may or may not reach.
pub(super) fn same_answer(step: &Step, rules: Rules, reference: &Outcome, ours: &Outcome) -> Option<bool> {
    match verdict(step, rules, reference, ours) {
        Verdict::Same => Some(true),
        Verdict::Undecided => None,
        Verdict::Different(_) => Some(false),
    }
}

/// PostgreSQL lets no table be altered whose deferred checks have not run yet, whatever they will find. Here that is refused only where
/// something is wrong.
fn has_pending_events(reference: &Failure, ours: &Outcome) -> bool {
    let is_other = ours.as_ref().err().is_none_or(|ours| ours.sqlstate != reference.sqlstate);
    is_other && reference.sqlstate == "55006" && reference.message.contains("pending trigger events")
}

/// A value that is wrong, a domain's among them.
fn data_exception(failure: &Failure) -> bool {
    failure.sqlstate.starts_with("22") || failure.message.starts_with("value for domain")
}

fn failures(rules: Rules, reference: &Failure, ours: &Failure) -> Verdict {
    let both_data = data_exception(reference) && data_exception(ours);
    // Values are computed before rows are checked here, row by row in PostgreSQL.
    let both_rows = ["22", "23"].iter().any(|class| reference.sqlstate.starts_with(class)) && data_exception(ours);
    if !rules.details || reference.sqlstate == ours.sqlstate || both_data || both_rows {
        return Verdict::Same;
    }
    Verdict::Different(format!("error {} instead of {}", category(ours), category(reference)))
}

fn answers(step: &Step, rules: Rules, reference: &Answer, ours: &Answer) -> Verdict {
    if reference.columns.len() != ours.columns.len() {
        return Verdict::Different("column count".into());
    }
    if rules.details {
        for (wanted, column) in reference.columns.iter().zip(&ours.columns) {
            if wanted.name != column.name {
                return Verdict::Different(format!("column name {} instead of {}", column.name, wanted.name));
            }
            if wanted.data_type != column.data_type {
                return Verdict::Different(format!("column type {} instead of {}", column.data_type, wanted.data_type));
            }
        }
    }
    if step.changes && reference.columns.is_empty() && counts(&step.sql) && reference.affected != ours.affected {
        return Verdict::Different("count of changed rows".into());
    }
    if rows(reference, step.unordered) == rows(ours, step.unordered) {
        return Verdict::Same;
    }
    Verdict::Different(format!("rows of {}", first_difference_type(reference, ours, step.unordered)))
}

fn counts(sql: &str) -> bool {
    ["INSERT", "UPDATE", "DELETE"].iter().any(|word| sql.starts_with(word))
}

fn rows(answer: &Answer, unordered: bool) -> Vec<&Vec<Option<String>>> {
    let mut rows: Vec<_> = answer.rows.iter().collect();
    if unordered {
        rows.sort();
    }
    rows
}

/// The type of the first cell that differs: a hint at the cause.
fn first_difference_type(reference: &Answer, ours: &Answer, unordered: bool) -> String {
    let (wanted, found) = (rows(reference, unordered), rows(ours, unordered));
    if wanted.len() != found.len() {
        return "another number".into();
    }
    let pairs = wanted.iter().zip(&found).find(|(a, b)| a != b);
    let index = pairs.and_then(|(a, b)| a.iter().zip(b.iter()).position(|(a, b)| a != b));
    let column = index.and_then(|index| reference.columns.get(index));
    column.map_or_else(String::new, |column| format!("{} {}", column.data_type, column.name))
}

fn category(failure: &Failure) -> String {
    format!("{} {}", failure.sqlstate, blurred(&failure.message))
}

/// Without quoted names and numbers.
fn blurred(message: &str) -> String {
    let parts = message.split('"').enumerate();
    let message: String = parts.map(|(index, part)| if index % 2 == 0 { part } else { "\"\"" }).collect();
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

const SHOWN_ROWS: usize = 12;

fn shown(outcome: &Outcome) -> String {
    let answer = match outcome {
        Err(failure) => return format!("error {failure}"),
        Ok(answer) => answer,
    };
    let mut text: Vec<String> = Vec::new();
    text.push(
        answer
            .columns
            .iter()
            .map(|column| format!("{}:{}", column.name, column.data_type))
            .collect::<Vec<_>>()
            .join(" | "),
    );
    let mut rows: Vec<String> = answer.rows.iter().map(|row| shown_row(row)).collect();
    rows.sort();
    text.extend(rows.into_iter().take(SHOWN_ROWS));
    text.push(format!("({} rows, {:?} affected)", answer.rows.len(), answer.affected));
    text.join("\n")
}

fn shown_row(row: &[Option<String>]) -> String {
    row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | ")
}

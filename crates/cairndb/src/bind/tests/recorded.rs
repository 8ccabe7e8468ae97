//! Statements with PostgreSQL's answer: the columns' names and types, or the error with its SQLSTATE and position.
//!
//! `recorded.txt` has a statement per line, and under it `= name type, name type` or `! SQLSTATE position message`.

use super::fixture::catalog;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::plan::Field;
use crate::sql::parse_one;
use crate::{Error, Result};

const RECORDED: &str = include_str!("recorded.txt");

fn columns(bound: BoundStatement) -> Vec<Field> {
    let returned = |returning: Option<crate::plan::Returning>| returning.map_or(vec![], |returning| returning.fields);
    match bound {
        BoundStatement::Query(plan) => plan.fields(),
        BoundStatement::Insert(insert) => returned(insert.returning),
        BoundStatement::Update(update) => returned(update.returning),
        BoundStatement::Delete(delete) => returned(delete.returning),
        BoundStatement::Merge(merge) => returned(merge.returning),
        BoundStatement::Explain(_) | BoundStatement::Utility => vec![],
    }
}

fn answer(text: &str) -> String {
    let bound: Result<BoundStatement> =
        parse_one(text).and_then(|parsed| bind_statement(&parsed, &catalog(), &mut ParameterTypes::default()));
    match bound {
        Ok(bound) => {
            let fields: Vec<String> =
                columns(bound).iter().map(|field| format!("{} {}", field.name, field.data_type)).collect();
            format!("= {}", fields.join(", "))
        }
        Err(error) => failure(&error),
    }
}

fn failure(error: &Error) -> String {
    let position = error.position().map_or("-".to_owned(), |position| position.to_string());
    format!("! {} {position} {}", error.sqlstate().0, error.message())
}

/// PostgreSQL gives no position for some errors; ours may.
fn agrees(found: &str, expected: &str) -> bool {
    let parts = |answer: &str| -> Vec<String> { answer.trim_end().splitn(4, ' ').map(str::to_owned).collect() };
    let (mut found, expected) = (parts(found), parts(expected));
    if let ([_, _, position, _], Some("-")) = (found.as_mut_slice(), expected.get(2).map(String::as_str)) {
        *position = "-".to_owned();
    }
    found == expected
}

#[test]
fn answers_are_postgresqls() {
    let mut lines = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
    let mut wrong = vec![];
    let mut count = 0;
    while let (Some(text), Some(expected)) = (lines.next(), lines.next()) {
        count += 1;
        let found = answer(text);
        if !agrees(&found, expected) {
            wrong.push(format!("{text}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(count > 100, "only {count} statements");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

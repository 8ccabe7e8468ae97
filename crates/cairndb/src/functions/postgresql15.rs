//! Functions, casts and aggregates give what PostgreSQL 15 gave for the same calls. Each line of the data file is a
//! call and its answer, in PostgreSQL's text form, `NULL`, or `!`, the SQLSTATE and the message; tab-separated, with `\t`, `\n` and
//! `\\` escaped:
//!
//! ```text
//! call  name  type=argument ...  answer
//! cast  type=argument  type  answer
//! aggregate  name  type  value ...  answer
//! ```

use super::{ANY, aggregate_overloads, exact_overload};
use crate::types::{DataType, EvalContext, Value, cast, to_text};
use crate::{Error, Result};

const CASES: &str = include_str!("../../tests/data/postgresql15.tsv");

fn data_type(name: &str) -> DataType {
    let (plain, modifiers) = name.trim_end_matches(')').split_once('(').unwrap_or((name, ""));
    let numbers: Vec<i64> = modifiers.split(',').filter_map(|n| n.parse().ok()).collect();
    match (plain, numbers.as_slice()) {
        ("numeric", [precision, scale]) => DataType::Numeric(Some((*precision as u16, *scale as i16))),
        ("varchar", [length]) => DataType::Varchar(Some(*length as u32)),
        ("char", [length]) => DataType::Char(*length as u32),
        _ => DataType::from_name(plain).unwrap_or_else(|| panic!("unknown type {name}")),
    }
}

fn unescape(field: &str) -> String {
    let mut out = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some(other)) => out.push(other),
            _ => out.push(c),
        }
    }
    out
}

fn argument(field: &str, context: &EvalContext) -> Result<(DataType, Value)> {
    let (name, text) = field.split_once('=').expect("type=argument");
    let to = data_type(name);
    Ok((to, literal(text, to, context)?))
}

fn literal(text: &str, to: DataType, context: &EvalContext) -> Result<Value> {
    if text == "NULL" { Ok(Value::Null) } else { cast(&Value::text(text), DataType::Unknown, to, context) }
}

fn call(name: &str, args: &[String], context: &EvalContext) -> Result<Value> {
    let args: Vec<_> = args.iter().map(|arg| argument(arg, context)).collect::<Result<_>>()?;
    let types: Vec<_> = args.iter().map(|(data_type, _)| *data_type).collect();
    let function = exact_overload(name, &types).ok_or_else(|| Error::internal(format!("no {name}{types:?}")))?;
    let values: Vec<_> = args.into_iter().map(|(_, value)| value).collect();
    function.call(&values, context)
}

fn aggregate(name: &str, of: &str, values: &[String], context: &EvalContext) -> Result<Value> {
    let of = data_type(of);
    let matching = |arg: &&DataType| **arg == of.base() || **arg == ANY;
    let entry = aggregate_overloads(name).iter().find(|a| a.args.iter().find(matching).is_some());
    let mut state = entry.ok_or_else(|| Error::internal(format!("no {name}({of})")))?.start();
    for value in values {
        state.update(&[literal(value, of, context)?])?;
    }
    state.finish()
}

fn answer(fields: &[String], context: &EvalContext) -> Result<Value> {
    match fields[0].as_str() {
        "call" => call(&fields[1], &fields[2..], context),
        "cast" => {
            let (from, value) = argument(&fields[1], context)?;
            cast(&value, from, data_type(&fields[2]), context)
        }
        "aggregate" => aggregate(&fields[1], &fields[2], &fields[3..], context),
        other => panic!("unknown kind {other}"),
    }
}

#[test]
fn every_call_answers_as_postgresql_did() {
    let context = EvalContext::now();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in CASES.lines() {
        let mut fields: Vec<String> = line.split('\t').map(unescape).collect();
        let expected = fields.pop().expect("an answer");
        let got = match answer(&fields, &context) {
            Ok(Value::Null) => "NULL".to_string(),
            Ok(value) => to_text(&value, &context),
            Err(error) => format!("!{} {}", error.sqlstate().0, error.message()),
        };
        count += 1;
        if got != expected {
            wrong.push(format!("{line}  got {got}"));
        }
    }
    assert!(count > 1000, "the data file is missing cases");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

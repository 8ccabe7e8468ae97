//! SQLite's date and time functions over what is a moment here.

use turso_parser::ast::Expr;

use super::expression::Translator;
use super::value::{Form, Found, Kind, Value, level};
use crate::import::sqlite::kinds::is_moment;

const NOW: &str = "(now() AT TIME ZONE 'UTC')";

/// The functions that are here.
pub const NAMES: [&str; 5] = ["date", "time", "datetime", "strftime", "unixepoch"];

/// CURRENT_DATE and its kin, and what the functions give without an argument.
pub fn now(name: &str) -> Value {
    moment(name, &Value::atom(NOW, Kind::Timestamp))
}

fn moment(name: &str, at: &Value) -> Value {
    let seconds = |text: String, kind| Value::atom(text, kind).made_of([at]).in_form(Form::Seconds);
    match name {
        "date" if at.kind == Kind::Date => at.clone(),
        "date" => at.cast("date", Kind::Date),
        "time" => seconds(format!("date_trunc('second', {})::time", at.text), Kind::Time),
        _ => seconds(format!("date_trunc('second', {})", at.text), Kind::Timestamp),
    }
}

impl Translator<'_> {
    pub(super) fn moment_function(&mut self, name: &str, arguments: &[Box<Expr>]) -> Found {
        match (name, arguments) {
            ("strftime", [format, rest @ ..]) => {
                let Form::String(format) = self.expression(format)?.form else {
                    return Err("strftime's format is no constant".to_string());
                };
                let at = self.moment_of(rest)?;
                formatted(&format, &at)
            }
            ("strftime", []) => Err("strftime has no format".to_string()),
            ("unixepoch", rest) => Ok(epoch(&self.moment_of(rest)?)),
            (name, rest) => Ok(moment(name, &self.moment_of(rest)?)),
        }
    }

    /// A time value with its modifiers.
    fn moment_of(&mut self, arguments: &[Box<Expr>]) -> Found {
        let [first, modifiers @ ..] = arguments else { return Ok(Value::atom(NOW, Kind::Timestamp)) };
        let value = self.expression(first)?;
        let mut modifiers: Vec<String> =
            modifiers.iter().map(|modifier| self.modifier(modifier)).collect::<Found<_>>()?;
        let mut at = match (value.kind, &value.form) {
            (_, Form::String(text)) if text.eq_ignore_ascii_case("now") => Value::atom(NOW, Kind::Timestamp),
            (_, Form::String(text)) if is_moment(&cairndb::DataType::Timestamp(None), text) => {
                Value::atom(format!("TIMESTAMP {}", value.text), Kind::Timestamp)
            }
            (Kind::Integer, _) if modifiers.first().is_some_and(|first| first == "unixepoch") => {
                modifiers.remove(0);
                Value::atom(format!("(to_timestamp({}) AT TIME ZONE 'UTC')", value.text), Kind::Timestamp)
                    .made_of([&value])
            }
            (Kind::Date | Kind::Timestamp, _) => value,
            (Kind::TimestampTz, _) => {
                Value::atom(format!("({} AT TIME ZONE 'UTC')", value.left(level::ATOM)), Kind::Timestamp)
                    .made_of([&value])
            }
            (kind, _) => return Err(format!("{} is taken for a moment", kind.name())),
        };
        for modifier in &modifiers {
            at = modified(&at, modifier)?;
        }
        Ok(at)
    }

    fn modifier(&mut self, modifier: &Expr) -> Found<String> {
        match self.expression(modifier)?.form {
            Form::String(text) => Ok(text.trim().to_ascii_lowercase()),
            _ => Err("a modifier of a moment is no constant".to_string()),
        }
    }
}

fn modified(at: &Value, modifier: &str) -> Found {
    let wide = if at.kind == Kind::Date { at.cast("timestamp", Kind::Timestamp) } else { at.clone() };
    if let Some(unit) = modifier.strip_prefix("start of ").filter(|unit| ["day", "month", "year"].contains(unit)) {
        return Ok(Value::atom(format!("date_trunc('{unit}', {})", wide.text), Kind::Timestamp).made_of([at]));
    }
    // Months and years go past a month's end there, and not here.
    let units = ["day", "hour", "minute", "second"];
    let known = modifier.split_once(' ').filter(|(number, unit)| {
        units.contains(&unit.trim_end_matches('s'))
            && number.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit())
    });
    match known {
        Some((number, unit)) => {
            let text = format!("({} + interval '{} {unit}')", wide.left(level::SUM), number.trim_start_matches('+'));
            Ok(Value::atom(text, Kind::Timestamp).made_of([at]))
        }
        None => Err(format!("the modifier '{modifier}' has no translation")),
    }
}

fn epoch(at: &Value) -> Value {
    Value::atom(format!("floor(extract(epoch FROM {}))::bigint", at.text), Kind::Integer).made_of([at])
}

/// strftime's format as one of to_char's.
fn formatted(format: &str, at: &Value) -> Found {
    if format == "%s" {
        return epoch(at).as_text();
    }
    let mut form = String::new();
    let mut quoted = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            quoted.push(c);
            continue;
        }
        flush(&mut quoted, &mut form);
        form.push_str(match rest.next() {
            Some('Y') => "YYYY",
            Some('m') => "MM",
            Some('d') => "DD",
            Some('H') => "HH24",
            Some('M') => "MI",
            Some('S') => "SS",
            Some('j') => "DDD",
            Some('F') => "YYYY-MM-DD",
            Some('T') => "HH24:MI:SS",
            Some('R') => "HH24:MI",
            Some(other) => return Err(format!("strftime's %{other} has no translation")),
            None => return Err("strftime's format ends with %".to_string()),
        });
    }
    flush(&mut quoted, &mut form);
    Ok(Value::atom(format!("to_char({}, '{form}')", at.text), Kind::Text).made_of([at]))
}

/// Puts down what stands for itself.
fn flush(quoted: &mut String, form: &mut String) {
    if quoted.chars().all(|c| matches!(c, '-' | ':' | ' ' | '/' | '.' | ',')) {
        form.push_str(quoted);
    } else {
        form.push_str(&format!("\"{}\"", quoted.replace('\\', "\\\\").replace('"', "\\\"").replace('\'', "''")));
    }
    quoted.clear();
}

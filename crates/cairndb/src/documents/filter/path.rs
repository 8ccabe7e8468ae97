//! Where in a document a value lies: names and positions with dots between them.

use cairn_parser::token::quoted;

use super::wrong;
use crate::types::Document;
use crate::{Error, Result};

/// More would cost more than it can find.
const STEPS_MAX: usize = 64;

/// `a.b.0`: a field of a field, then an element. A dot in a name has a backslash before it, and so has a backslash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Path> {
        if !text.is_empty() && !text.contains(['.', '\\', '\0']) {
            return Ok(Path::of_name(text));
        }
        let (mut steps, mut step, mut chars) = (Vec::new(), String::new(), text.chars());
        while let Some(char) = chars.next() {
            match char {
                '.' => steps.push(std::mem::take(&mut step)),
                '\\' => match chars.next() {
                    Some(escaped @ ('.' | '\\')) => step.push(escaped),
                    _ => return Err(unreadable(text).with_hint("A backslash stands before a dot or a backslash.")),
                },
                other => step.push(other),
            }
        }
        steps.push(step);
        match () {
            () if steps.iter().any(String::is_empty) => {
                Err(unreadable(text).with_hint("Names stand between the dots; write a dot in a name as \\."))
            }
            () if steps.len() > STEPS_MAX => {
                Err(unreadable(text).with_hint(format!("A path has at most {STEPS_MAX} names.")))
            }
            () if text.contains('\0') => Err(unreadable(text).with_hint("The character 0 is in no document.")),
            () => Ok(Path(steps)),
        }
    }

    /// What an object has under a name, whatever that is made of.
    pub(crate) fn of_name(name: &str) -> Path {
        Path(vec![name.to_owned()])
    }

    pub(crate) fn steps(&self) -> &[String] {
        &self.0
    }

    /// What a document has there.
    pub(super) fn part<'d>(&self, document: Document<'d>) -> Result<Option<Document<'d>>> {
        match &*self.0 {
            [name] if !is_position(name) => document.field(name),
            steps => document.path(steps.iter().map(String::as_str)),
        }
    }

    /// The value there, in SQL: what an index on the path has to be of.
    pub(crate) fn sql(&self, document: &str) -> String {
        let mut sql = String::new();
        self.write_sql(document, &mut sql);
        sql
    }

    pub(super) fn write_sql(&self, document: &str, sql: &mut String) {
        sql.push('(');
        sql.push_str(document);
        match &*self.0 {
            // Which may be a position, too, for `#>` only.
            [name] if !is_position(name) => {
                sql.push_str(" -> ");
                write_literal(name, sql);
            }
            steps => {
                let step = |step: &String| format!("\"{}\"", step.replace('\\', "\\\\").replace('"', "\\\""));
                let steps: Vec<String> = steps.iter().map(step).collect();
                sql.push_str(" #> ");
                write_literal(&format!("{{{}}}", steps.join(",")), sql);
            }
        }
        sql.push(')');
    }
}

/// A string as SQL has it, whatever it says of backslashes.
pub(crate) fn literal(text: &str) -> String {
    let mut literal = String::new();
    write_literal(text, &mut literal);
    literal
}

fn write_literal(text: &str, sql: &mut String) {
    sql.push_str(if text.contains('\\') { "E'" } else { "'" });
    match text.contains(['\\', '\'']) {
        true => sql.push_str(&text.replace('\\', "\\\\").replace('\'', "''")),
        false => sql.push_str(text),
    }
    sql.push('\'');
}

/// A relation's name as SQL has it: `name` or `schema.name`, as they are stored.
pub(crate) fn relation(name: &str) -> String {
    match name.split_once('.') {
        Some((schema, name)) => format!("{}.{}", quoted(schema), quoted(name)),
        None => quoted(name),
    }
}

fn is_position(step: &str) -> bool {
    step.trim_start().parse::<i32>().is_ok()
}

fn unreadable(text: &str) -> Error {
    wrong(format!("\"{text}\" is no path"))
}

//! Paths as text, in the one form in which PostgreSQL writes them.

use std::fmt::{self, Write};

use super::{JsonPath, PathExpr, Step};
use crate::types::json::write_quoted;

impl fmt::Display for JsonPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = if self.lax { String::new() } else { "strict ".to_owned() };
        write_expr(&self.expr, true, &mut text);
        out.pad(&text)
    }
}

/// How tightly an expression binds.
fn power(expr: &PathExpr) -> u8 {
    match expr {
        PathExpr::Binary(op, ..) => op.power(),
        PathExpr::Sign(..) => 5,
        _ => 6,
    }
}

fn write_expr(expr: &PathExpr, brackets: bool, out: &mut String) {
    let within = |part: &PathExpr, out: &mut String| write_expr(part, power(part) <= power(expr), out);
    let open = |out: &mut String| out.push_str(if brackets { "(" } else { "" });
    let close = |out: &mut String| out.push_str(if brackets { ")" } else { "" });
    match expr {
        PathExpr::Root => out.push('$'),
        PathExpr::Current => out.push('@'),
        PathExpr::Last => out.push_str("last"),
        PathExpr::Variable(name) => {
            out.push('$');
            write_quoted(name, out);
        }
        PathExpr::Null => out.push_str("null"),
        PathExpr::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        // Writing to a String cannot fail.
        PathExpr::Number(value) => _ = write!(out, "{value}"),
        PathExpr::String(text) => write_quoted(text, out),
        PathExpr::Steps(first, steps) => {
            let number = matches!(**first, PathExpr::Number(_));
            out.push_str(if number { "(" } else { "" });
            write_expr(first, true, out);
            out.push_str(if number { ")" } else { "" });
            steps.iter().for_each(|step| write_step(step, out));
        }
        PathExpr::Binary(op, left, right) => {
            open(out);
            within(left, out);
            _ = write!(out, " {} ", op.symbol());
            within(right, out);
            close(out);
        }
        PathExpr::Sign(negative, operand) => {
            open(out);
            out.push(if *negative { '-' } else { '+' });
            within(operand, out);
            close(out);
        }
        PathExpr::LikeRegex(operand, pattern) => {
            open(out);
            within(operand, out);
            out.push_str(" like_regex ");
            write_quoted(&pattern.text, out);
            if !pattern.flags.is_empty() {
                _ = write!(out, " flag \"{}\"", pattern.flags);
            }
            close(out);
        }
        PathExpr::Not(operand) => {
            out.push_str("!(");
            write_expr(operand, false, out);
            out.push(')');
        }
        PathExpr::Exists(operand) => {
            out.push_str("exists (");
            write_expr(operand, false, out);
            out.push(')');
        }
        PathExpr::IsUnknown(operand) => {
            out.push('(');
            write_expr(operand, false, out);
            out.push_str(") is unknown");
        }
    }
}

fn write_step(step: &Step, out: &mut String) {
    match step {
        Step::Key(key) => {
            out.push('.');
            write_quoted(key, out);
        }
        Step::AnyKey => out.push_str(".*"),
        Step::Levels(from, to) => {
            let level = |level: Option<u32>| level.map_or_else(|| "last".to_owned(), |level| level.to_string());
            out.push_str(".**");
            _ = match (from, to) {
                (Some(0), None) => Ok(()),
                (from, to) if from == to => write!(out, "{{{}}}", level(*from)),
                (from, to) => write!(out, "{{{} to {}}}", level(*from), level(*to)),
            };
        }
        Step::AnyElement => out.push_str("[*]"),
        Step::Elements(parts) => {
            out.push('[');
            for (at, (from, to)) in parts.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_expr(from, false, out);
                if let Some(to) = to {
                    out.push_str(" to ");
                    write_expr(to, false, out);
                }
            }
            out.push(']');
        }
        Step::Filter(predicate) => {
            out.push_str("?(");
            write_expr(predicate, false, out);
            out.push(')');
        }
        Step::Datetime(None) => out.push_str(".datetime()"),
        Step::Datetime(Some(template)) => {
            out.push_str(".datetime(");
            write_quoted(template, out);
            out.push(')');
        }
        Step::Method(method) => _ = write!(out, ".{}()", method.name()),
    }
}

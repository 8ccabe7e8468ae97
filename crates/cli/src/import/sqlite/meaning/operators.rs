//! Operators: which kinds of values mean the same to both, and what has to be written for the others.

use turso_parser::ast::{LikeOperator, Operator};

use super::expression::Translator;
use super::value::{Form, Found, Kind, Value, level, quoted_string};
use crate::import::sqlite::kinds::is_moment;

/// Moments are compared, where SQLite compares their texts.
const AS_MOMENTS: &str = "moments are compared as such, not as their texts";

impl Translator<'_> {
    pub(super) fn binary(&mut self, left: Value, operator: Operator, right: Value) -> Found {
        match operator {
            Operator::And => joined(left.condition()?, "AND", right.condition()?, level::AND),
            Operator::Or => joined(left.condition()?, "OR", right.condition()?, level::OR),
            Operator::Equals => self.comparison(left, "=", right),
            Operator::NotEquals => self.comparison(left, "<>", right),
            Operator::Less => self.comparison(left, "<", right),
            Operator::LessEquals => self.comparison(left, "<=", right),
            Operator::Greater => self.comparison(left, ">", right),
            Operator::GreaterEquals => self.comparison(left, ">=", right),
            Operator::Is => self.is(left, "IS NOT DISTINCT FROM", right),
            Operator::IsNot => self.is(left, "IS DISTINCT FROM", right),
            Operator::Add => sum(left, "+", right),
            Operator::Subtract => sum(left, "-", right),
            Operator::Multiply => product(left, "*", right),
            Operator::Divide => quotient(left, right),
            Operator::Modulus => {
                let (left, right) = (left.as_integer()?, right.as_integer()?);
                let is_some = is_some_number(&right);
                divided(left, "%", (right, is_some), Kind::Integer)
            }
            Operator::Concat => {
                joined(left.as_text()?, "||", right.as_text()?, level::OTHER).map(|value| of(value, Kind::Text))
            }
            Operator::BitwiseAnd => bits(left, "&", right),
            Operator::BitwiseOr => bits(left, "|", right),
            Operator::LeftShift => shift(left, "<<", right),
            Operator::RightShift => shift(left, ">>", right),
            Operator::ArrowRight | Operator::ArrowRightShift => {
                Err("-> and ->> take paths of SQLite's there, and keys here".to_string())
            }
            operator => Err(format!("the operator {operator:?} has no translation")),
        }
    }

    fn comparison(&mut self, left: Value, operator: &str, right: Value) -> Found {
        let (left, right) = self.comparable(left, right)?;
        joined(left, operator, right, level::COMPARISON).map(|value| of(value, Kind::Boolean))
    }

    /// In SQLite IS compares any two values.
    fn is(&mut self, left: Value, operator: &str, right: Value) -> Found {
        let not = if operator == "IS DISTINCT FROM" { "NOT " } else { "" };
        if right.is_null() || left.is_null() {
            let tested = if right.is_null() { left } else { right };
            let text = format!("{} IS {not}NULL", tested.left(level::COMPARISON + 1));
            return Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([&tested]));
        }
        if right.kind == Kind::Boolean && matches!(right.text.as_str(), "TRUE" | "FALSE") {
            let tested = left.condition()?;
            let text = format!("{} IS {not}{}", tested.left(level::COMPARISON + 1), right.text);
            return Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([&tested]));
        }
        self.comparison(left, operator, right)
    }

    /// Both sides, as they have to stand for the comparison to be SQLite's: a column's affinity changes what it is compared
    /// with, and otherwise every number is less than every text.
    pub(super) fn comparable(&mut self, left: Value, right: Value) -> Found<(Value, Value)> {
        if [&left, &right].iter().any(|side| side.form == Form::Column { no_case: true } && side.kind == Kind::Text) {
            self.change("compares by characters, without COLLATE NOCASE");
        }
        if let Some(right) = self.beside(&left, &right)? {
            return Ok((left, right));
        }
        if let Some(left) = self.beside(&right, &left)? {
            return Ok((left, right));
        }
        match (left.kind, right.kind) {
            (Kind::Boolean, kind) | (kind, Kind::Boolean) if kind.is_number() => {
                Ok((left.as_number()?, right.as_number()?))
            }
            (one, other) if one.is_moment() && other.is_moment() && one != other => {
                self.change(AS_MOMENTS);
                Ok((left, right))
            }
            (Kind::Date | Kind::Time | Kind::Timestamp, Kind::Text) => Ok((left.as_text()?, right)),
            (Kind::Text, Kind::Date | Kind::Time | Kind::Timestamp) => Ok((left, right.as_text()?)),
            (one, other) => Err(format!("{} is compared with {}", one.name(), other.name())),
        }
    }

    /// What stands on one side, as it has to stand beside the other; none: as the other side says.
    fn beside(&mut self, other: &Value, value: &Value) -> Found<Option<Value>> {
        let is_column = matches!(other.form, Form::Column { .. });
        Ok(match (other.kind, value.kind, &value.form) {
            (Kind::Null, ..) | (_, Kind::Null, _) => Some(value.clone()),
            (Kind::Boolean, _, Form::Number(number)) if *number == 0.0 || *number == 1.0 => {
                Some(Value::atom(if *number == 0.0 { "false" } else { "true" }, Kind::Boolean))
            }
            (Kind::Integer | Kind::Real | Kind::Numeric, Kind::Text, Form::String(text)) if is_column => {
                let number = Value::number(text.trim()).map_err(|_| format!("a number is compared with '{text}'"))?;
                Some(number)
            }
            (Kind::Text, Kind::Integer, Form::Number(_)) if is_column => Some(Value::string(&value.text)),
            (kind, Kind::Text, Form::String(text)) if kind.is_moment() => self.moment_beside(kind, text, value)?,
            (Kind::Uuid, Kind::Text, Form::String(_)) => {
                self.change("uuids are compared as such, not as their texts");
                Some(value.clone())
            }
            (Kind::Json | Kind::Jsonb, ..) => return Err("documents are compared by their texts".to_string()),
            (one, kind, _) if one.is_number() && kind.is_number() => {
                let is_exact =
                    one == kind || matches!(value.form, Form::Number(_)) || matches!(other.form, Form::Number(_));
                if !is_exact && (one == Kind::Real || kind == Kind::Real) {
                    self.change("integers are compared with reals as reals, which have 53 bits");
                }
                Some(value.clone())
            }
            (one, kind, _) if one == kind => Some(value.clone()),
            _ => None,
        })
    }

    fn moment_beside(&mut self, kind: Kind, text: &str, value: &Value) -> Found<Option<Value>> {
        use cairndb::DataType::{Date, Time, Timestamp, TimestampTz};
        let data_type = match kind {
            Kind::Date => Date,
            Kind::Time => Time(None),
            Kind::Timestamp => Timestamp(None),
            _ => TimestampTz(None),
        };
        if !is_moment(&data_type, text) {
            return Err(format!("'{text}' is compared with {}", kind.name()));
        }
        if kind != Kind::Date {
            self.change(AS_MOMENTS);
        }
        Ok(Some(value.clone()))
    }

    pub(super) fn between(&mut self, value: Value, not: bool, start: Value, end: Value) -> Found {
        let (first, start) = self.comparable(value.clone(), start)?;
        let (second, end) = self.comparable(value.clone(), end)?;
        if first.text != second.text {
            return Err("BETWEEN compares with values of two kinds".to_string());
        }
        let not = if not { "NOT " } else { "" };
        let inner = level::COMPARISON + 1;
        let text = format!("{} {not}BETWEEN {} AND {}", first.left(inner), start.left(inner), end.left(inner));
        Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([&first, &start, &end]))
    }

    pub(super) fn in_list(&mut self, value: Value, not: bool, list: Vec<Value>) -> Found {
        if list.is_empty() {
            return Ok(Value::atom(if not { "true" } else { "false" }, Kind::Boolean));
        }
        let mut first: Option<Value> = None;
        let mut members = Vec::with_capacity(list.len());
        for member in list {
            let (left, member) = self.comparable(value.clone(), member)?;
            if first.get_or_insert_with(|| left.clone()).text != left.text {
                return Err("IN compares with values of several kinds".to_string());
            }
            members.push(member);
        }
        let first = first.unwrap_or(value);
        let not = if not { "NOT " } else { "" };
        let listed: Vec<&str> = members.iter().map(|member| member.text.as_str()).collect();
        let text = format!("{} {not}IN ({})", first.left(level::COMPARISON + 1), listed.join(", "));
        Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of(members.iter().chain([&first])))
    }

    pub(super) fn like(
        &mut self,
        value: Value,
        not: bool,
        operator: LikeOperator,
        pattern: Value,
        escape: Option<Value>,
    ) -> Found {
        let (value, pattern) = (value.as_text()?, pattern.as_text()?);
        let literal = match &pattern.form {
            Form::String(text) => Some(text.clone()),
            _ => None,
        };
        let (word, pattern, escape) = match (operator, literal) {
            (LikeOperator::Like, literal) => {
                let has_case = |c: char| !c.is_ascii() && (c.is_lowercase() || c.is_uppercase());
                if literal.as_ref().is_none_or(|text| text.contains(has_case)) {
                    self.change("LIKE looks at no letter's case, beyond ASCII too");
                }
                let escape = match escape {
                    Some(Value { form: Form::String(text), .. }) => Some(text),
                    Some(_) => return Err("ESCAPE is no constant".to_string()),
                    // A backslash is nothing special there.
                    None => literal.is_none_or(|text| text.contains('\\')).then(String::new),
                };
                ("ILIKE", pattern, escape)
            }
            (LikeOperator::Glob, Some(text)) => {
                let (pattern, escape) = of_glob(&text)?;
                ("LIKE", Value::string(&pattern), escape)
            }
            (operator, _) => return Err(format!("the pattern of {operator:?} has no translation")),
        };
        let not = if not { "NOT " } else { "" };
        let inner = level::COMPARISON + 1;
        let escape = escape.map(|escape| format!(" ESCAPE {}", quoted_string(&escape))).unwrap_or_default();
        let text = format!("{} {not}{word} {}{escape}", value.left(inner), pattern.left(inner));
        Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([&value, &pattern]))
    }

    /// Values of which one is chosen, as they have to stand to be of one kind.
    pub(super) fn alike(&mut self, values: Vec<Value>) -> Found<(Vec<Value>, Kind)> {
        let mut kind = Kind::Null;
        for value in &values {
            kind = match (kind, value.kind) {
                (known, Kind::Null) => known,
                (Kind::Null, found) => found,
                (known, found) if known == found => known,
                (Kind::Boolean, found) | (found, Kind::Boolean) if found.is_number() => found,
                (known, found) if known.is_number() && found.is_number() => {
                    match known == Kind::Real || found == Kind::Real {
                        true => Kind::Real,
                        false => Kind::Numeric,
                    }
                }
                (Kind::Text, Kind::Date | Kind::Time | Kind::Timestamp) => Kind::Text,
                (Kind::Date | Kind::Time | Kind::Timestamp, Kind::Text) => Kind::Text,
                (known, found) => return Err(format!("the value is {} or {}", known.name(), found.name())),
            };
        }
        let fitted = values.into_iter().map(|value| match kind {
            Kind::Text => value.as_text(),
            _ if kind.is_number() => value.as_number().map(|value| value.plain()),
            _ => Ok(value),
        });
        Ok((fitted.collect::<Found<_>>()?, kind))
    }
}

pub(super) fn of(mut value: Value, kind: Kind) -> Value {
    value.kind = kind;
    value
}

fn joined(left: Value, operator: &str, right: Value, level: u8) -> Found {
    let (left_text, right_text) = match level {
        level::COMPARISON => (left.right(level), right.right(level)),
        level::AND | level::OR => (left.left(level), right.left(level)),
        _ => (left.left(level), right.right(level)),
    };
    Ok(Value::of(format!("{left_text} {operator} {right_text}"), Kind::Boolean, level).made_of([&left, &right]))
}

/// The kind of what two numbers give, and both as they have to stand.
fn counted(left: Value, right: Value) -> Found<(Value, Value, Kind)> {
    let (left, right) = (left.as_number()?, right.as_number()?);
    let kind = match (left.kind, right.kind) {
        (Kind::Null, kind) | (kind, Kind::Null) => kind,
        (Kind::Real, _) | (_, Kind::Real) => Kind::Real,
        (Kind::Numeric, _) | (_, Kind::Numeric) => Kind::Numeric,
        _ => Kind::Integer,
    };
    // Beside a real or a decimal, a number with a point is one; beside an integer, or another such number, it has to be said.
    let is_said_by =
        |other: &Value| matches!(other.kind, Kind::Real | Kind::Numeric) && !matches!(other.form, Form::Number(_));
    let has_to = |one: &Value, other: &Value| one.kind == Kind::Real && !is_said_by(other);
    let (say_left, say_right) = (has_to(&left, &right), has_to(&right, &left));
    let left = if say_left { left.plain() } else { left };
    let right = if say_right { right.plain() } else { right };
    Ok((left, right, kind))
}

fn sum(left: Value, operator: &str, right: Value) -> Found {
    let (left, right, kind) = counted(left, right)?;
    let is_count = operator == "+" && is_count(&left) && is_count(&right);
    let mut value = joined(left, operator, right, level::SUM).map(|value| of(value, kind))?;
    value.is_count = is_count;
    Ok(value)
}

/// It is an integer and never negative.
pub(super) fn is_count(value: &Value) -> bool {
    value.is_count || matches!(value.form, Form::Number(number) if number >= 0.0 && value.kind == Kind::Integer)
}

fn product(left: Value, operator: &str, right: Value) -> Found {
    let (left, right, kind) = counted(left, right)?;
    joined(left, operator, right, level::PRODUCT).map(|value| of(value, kind))
}

fn quotient(left: Value, right: Value) -> Found {
    let is_some = is_some_number(&right);
    let (left, right, kind) = counted(left, right)?;
    match (left.kind, right.kind) {
        // There it is whole where both values happen to be.
        (Kind::Numeric, Kind::Integer | Kind::Numeric) | (Kind::Integer, Kind::Numeric) => {
            Err("a decimal divided by a number is whole or not, as their values are there".to_string())
        }
        _ => divided(left, "/", (right, is_some), kind),
    }
}

/// A constant other than zero.
fn is_some_number(value: &Value) -> bool {
    matches!(value.form, Form::Number(number) if number != 0.0)
}

/// Division by zero is NULL there.
fn divided(left: Value, operator: &str, (right, is_some): (Value, bool), kind: Kind) -> Found {
    let right = match is_some || right.is_null() {
        true => right,
        false => Value::atom(format!("nullif({}, 0)", right.text), right.kind).made_of([&right]),
    };
    joined(left, operator, right, level::PRODUCT).map(|value| of(value, kind))
}

fn bits(left: Value, operator: &str, right: Value) -> Found {
    joined(left.as_integer()?, operator, right.as_integer()?, level::OTHER).map(|value| of(value, Kind::Integer))
}

fn shift(left: Value, operator: &str, right: Value) -> Found {
    match right.form {
        Form::Number(number) if (0.0..64.0).contains(&number) => {
            let wide = left.as_integer()?.cast("bigint", Kind::Integer);
            joined(wide, operator, right, level::OTHER).map(|value| of(value, Kind::Integer))
        }
        _ => Err(format!("{operator} by what is no constant of 0 to 63 bits")),
    }
}

/// LIKE's pattern for one of GLOB's, with what escapes in it.
fn of_glob(glob: &str) -> Found<(String, Option<String>)> {
    let mut pattern = String::with_capacity(glob.len());
    let mut escapes = false;
    for c in glob.chars() {
        match c {
            '*' => pattern.push('%'),
            '?' => pattern.push('_'),
            '[' => return Err("GLOB with a list of characters has no translation".to_string()),
            '%' | '_' | '\\' => {
                escapes = true;
                pattern.extend(['\\', c]);
            }
            c => pattern.push(c),
        }
    }
    Ok((pattern, escapes.then(|| "\\".to_string())))
}

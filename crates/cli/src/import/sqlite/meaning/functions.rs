//! Functions: those that mean the same to both, and those for which there is a translation.

use turso_parser::ast::{Distinctness, Expr, FunctionTail};

use super::expression::Translator;
use super::moments;
use super::operators::is_count;
use super::value::{Form, Found, Kind, Value, level};

/// Those that only windows have.
const WINDOW: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

const AGGREGATES: [&str; 7] = ["count", "sum", "avg", "total", "min", "max", "group_concat"];

/// A call as it is written.
struct Call<'e> {
    name: String,
    arguments: &'e [Box<Expr>],
    is_distinct: bool,
    tail: &'e FunctionTail,
}

impl Translator<'_> {
    pub(super) fn function(&mut self, call: &Expr) -> Found {
        let call = match call {
            Expr::FunctionCallStar { name, filter_over } if name.as_str().eq_ignore_ascii_case("count") => {
                let value = Value::atom("count(*)", Kind::Integer);
                return self.with_tail(value, filter_over);
            }
            Expr::FunctionCall { name, distinctness, args, order_by, within_group, filter_over } => {
                if !order_by.is_empty() || !within_group.is_empty() {
                    return Err(format!("{} of ordered rows has no translation", name.as_str()));
                }
                Call {
                    name: name.as_str().to_ascii_lowercase(),
                    arguments: args,
                    is_distinct: *distinctness == Some(Distinctness::Distinct),
                    tail: filter_over,
                }
            }
            _ => return Err("a call of this kind has no translation".to_string()),
        };
        let name = if call.name == "string_agg" { "group_concat" } else { call.name.as_str() };
        if WINDOW.contains(&name) {
            let value = self.window_function(name, call.arguments)?;
            return self.with_tail(value, call.tail);
        }
        let is_aggregate = AGGREGATES.contains(&name) && (call.arguments.len() == 1 || name == "group_concat");
        if is_aggregate {
            let value = self.aggregate(name, &call)?;
            return self.with_tail(value, call.tail);
        }
        if call.tail.filter_clause.is_some() || call.tail.over_clause.is_some() || call.is_distinct {
            return Err(format!("function {name} has no translation as an aggregate"));
        }
        if moments::NAMES.contains(&name) {
            return self.moment_function(name, call.arguments);
        }
        if name == "hex"
            && let [inner] = call.arguments
            && let Expr::FunctionCall { name, args, .. } = inner.as_ref()
            && name.as_str().eq_ignore_ascii_case("randomblob")
        {
            return self.random_hex(args);
        }
        let values = self.expressions(call.arguments)?;
        self.scalar(name, values)
    }

    fn scalar(&mut self, name: &str, values: Vec<Value>) -> Found {
        match (name, values.as_slice()) {
            ("abs", [x]) => numeric(x, |x| Ok((format!("abs({})", x.text), x.kind))),
            ("sign", [x]) => numeric(x, |x| Ok((format!("sign({})", x.text), x.kind))),
            ("ceil" | "ceiling" | "floor", [x]) => numeric(x, |x| match x.kind {
                Kind::Integer => Ok((x.text.clone(), Kind::Integer)),
                _ => Ok((format!("{name}({})", x.text), x.kind)),
            }),
            ("round", [x]) => rounded(x),
            ("round", [x, digits]) => self.rounded_to(x, digits),
            ("random", []) => {
                let text = "floor((random() - 0.5) * 18446744073709549568)::bigint";
                Ok(Value::atom(text, Kind::Integer).volatile())
            }
            ("coalesce" | "ifnull", [_, _, ..]) => {
                let (values, kind) = self.alike(values)?;
                Ok(called("coalesce", &values, kind))
            }
            ("nullif", [_, _]) => {
                let [left, right] = values.try_into().map_err(|_| String::new())?;
                let (first, right) = self.comparable(left.clone(), right)?;
                match first.text == left.text {
                    true => Ok(called("nullif", &[left.clone(), right], left.kind)),
                    false => Err("nullif compares values of two kinds".to_string()),
                }
            }
            ("iif" | "if", [_, _] | [_, _, _]) => self.if_else(values),
            ("min" | "max", [_, _, ..]) => self.extreme(name, values),
            ("likely" | "unlikely", [x]) => Ok(x.clone()),
            ("typeof", [x]) => type_of(x),
            ("length", [x]) => length(x),
            ("lower" | "upper", [x]) => {
                let x = x.as_text()?;
                self.change(&format!("{name} changes letters beyond ASCII too"));
                Ok(called(name, &[x], Kind::Text))
            }
            ("trim", [x]) => Ok(called("btrim", &[x.as_text()?], Kind::Text)),
            ("ltrim" | "rtrim", [x]) => Ok(called(name, &[x.as_text()?], Kind::Text)),
            ("trim", [x, y]) => Ok(called("btrim", &[x.as_text()?, y.as_text()?], Kind::Text)),
            ("ltrim" | "rtrim", [x, y]) => Ok(called(name, &[x.as_text()?, y.as_text()?], Kind::Text)),
            ("replace", [x, y, z]) => Ok(called("replace", &[x.as_text()?, y.as_text()?, z.as_text()?], Kind::Text)),
            ("instr", [x, y]) => {
                let mut value = called("strpos", &[x.as_text()?, y.as_text()?], Kind::Integer);
                value.is_count = true;
                Ok(value)
            }
            ("substr" | "substring", [x, start]) => substring(x, start, None),
            ("substr" | "substring", [x, start, length]) => substring(x, start, Some(length)),
            ("hex", [x]) => hex(x),
            _ => Err(format!("function {name} has no translation")),
        }
    }

    fn rounded_to(&mut self, x: &Value, digits: &Value) -> Found {
        match digits.form {
            Form::Number(number) if number <= 0.0 => rounded(x),
            Form::Number(number) if number <= 30.0 => {
                let x = x.as_number()?;
                self.change("round takes a number by its decimal digits, so that what lies half way may go up here");
                let text = format!("round({}::numeric, {number})::double precision", x.plain().left(level::ATOM));
                Ok(Value::atom(text, Kind::Real).made_of([&x]))
            }
            _ => Err("round to a number of digits that is no constant".to_string()),
        }
    }

    fn if_else(&mut self, values: Vec<Value>) -> Found {
        let mut values = values.into_iter();
        let condition = values.next().unwrap_or_else(Value::null).condition()?;
        let (results, kind) = self.alike(values.collect())?;
        let or_else = results.get(1).map(|value| format!(" ELSE {}", value.text)).unwrap_or_default();
        let text = format!("CASE WHEN {} THEN {}{or_else} END", condition.text, results[0].text);
        Ok(Value::atom(text, kind).made_of(results.iter().chain([&condition])))
    }

    /// The least or greatest of several: NULL, if one is.
    fn extreme(&mut self, name: &str, values: Vec<Value>) -> Found {
        let (values, kind) = self.alike(values)?;
        if kind == Kind::Boolean || values.iter().any(|value| value.is_volatile) {
            return Err(format!("{name} of such values has no translation"));
        }
        let chosen = called(if name == "min" { "least" } else { "greatest" }, &values, kind);
        let may_be_null = |value: &&Value| !matches!(value.form, Form::Number(_) | Form::String(_));
        let tests: Vec<String> = values
            .iter()
            .filter(may_be_null)
            .map(|value| format!("{} IS NULL", value.left(level::COMPARISON + 1)))
            .collect();
        if tests.is_empty() {
            return Ok(chosen);
        }
        Ok(Value::atom(format!("CASE WHEN {} THEN NULL ELSE {} END", tests.join(" OR "), chosen.text), kind))
    }

    fn aggregate(&mut self, name: &str, call: &Call<'_>) -> Found {
        let values = self.expressions(call.arguments)?;
        let distinct = if call.is_distinct { "DISTINCT " } else { "" };
        let of = |name: &str, value: &Value, kind| Value::atom(format!("{name}({distinct}{})", value.text), kind);
        match (name, values.as_slice()) {
            ("count", [x]) => Ok(of("count", x, Kind::Integer)),
            ("sum", [x]) => {
                let x = x.as_number()?.plain();
                Ok(of("sum", &x, x.kind))
            }
            ("avg", [x]) => Ok(of("avg", &x.as_number()?.cast("double precision", Kind::Real), Kind::Real)),
            ("total", [x]) => {
                let sum = of("sum", &x.as_number()?.cast("double precision", Kind::Real), Kind::Real);
                // FILTER and OVER belong to the sum.
                let sum = self.with_tail(sum, call.tail)?;
                Ok(Value::atom(format!("coalesce({}, 0)", sum.text), Kind::Real))
            }
            ("min" | "max", [x]) => {
                let x = if x.kind == Kind::Boolean { x.as_number()? } else { x.plain() };
                if matches!(x.kind, Kind::Json | Kind::Jsonb | Kind::Uuid | Kind::Blob) {
                    return Err(format!("{name} of {} has no translation", x.kind.name()));
                }
                Ok(of(name, &x, x.kind))
            }
            ("group_concat", [x]) => {
                Ok(Value::atom(format!("string_agg({distinct}{}, ',')", x.as_text()?.text), Kind::Text))
            }
            ("group_concat", [x, separator]) if !call.is_distinct => {
                Ok(Value::atom(format!("string_agg({}, {})", x.as_text()?.text, separator.as_text()?.text), Kind::Text))
            }
            _ => Err(format!("function {name} has no translation with these arguments")),
        }
    }

    fn window_function(&mut self, name: &str, arguments: &[Box<Expr>]) -> Found {
        let values = self.expressions(arguments)?;
        match (name, values.as_slice()) {
            ("row_number" | "rank" | "dense_rank", []) => Ok(called(name, &[], Kind::Integer)),
            ("percent_rank" | "cume_dist", []) => Ok(called(name, &[], Kind::Real)),
            ("ntile", [n]) => Ok(called(name, &[n.as_integer()?.cast("int", Kind::Integer)], Kind::Integer)),
            ("first_value" | "last_value", [x]) => Ok(called(name, &[x.plain()], x.kind)),
            ("nth_value", [x, n]) => Ok(called(name, &[x.plain(), n.as_integer()?.cast("int", Kind::Integer)], x.kind)),
            ("lag" | "lead", [x]) => Ok(called(name, &[x.plain()], x.kind)),
            ("lag" | "lead", [x, n]) => {
                Ok(called(name, &[x.plain(), n.as_integer()?.cast("int", Kind::Integer)], x.kind))
            }
            _ => Err(format!("function {name} has no translation with these arguments")),
        }
    }

    /// FILTER and OVER.
    fn with_tail(&mut self, mut value: Value, tail: &FunctionTail) -> Found {
        if value.text.starts_with("coalesce(") {
            return Ok(value);
        }
        if let Some(filter) = &tail.filter_clause {
            let condition = self.expression(filter)?.condition()?;
            value.text.push_str(&format!(" FILTER (WHERE {})", condition.text));
        }
        if let Some(over) = &tail.over_clause {
            let window = self.over(over)?;
            value.text.push_str(&format!(" OVER {window}"));
        }
        Ok(value)
    }

    fn random_hex(&mut self, arguments: &[Box<Expr>]) -> Found {
        match self.expressions(arguments)?.as_slice() {
            [Value { form: Form::Number(number), .. }] if (1.0..=1024.0).contains(number) => {
                let text = format!("upper(encode(gen_random_bytes({number}), 'hex'))");
                Ok(Value::atom(text, Kind::Text).volatile())
            }
            _ => Err("function randomblob has no translation".to_string()),
        }
    }
}

fn called(name: &str, arguments: &[Value], kind: Kind) -> Value {
    let list: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    Value::atom(format!("{name}({})", list.join(", ")), kind).made_of(arguments)
}

fn numeric(x: &Value, write: impl FnOnce(&Value) -> Found<(String, Kind)>) -> Found {
    let x = x.as_number()?.plain();
    let (text, kind) = write(&x)?;
    Ok(Value::atom(text, kind).made_of([&x]))
}

/// Half way is away from zero, and the outcome is a real number.
fn rounded(x: &Value) -> Found {
    let x = x.as_number()?.plain();
    match x.kind {
        Kind::Real if x.is_volatile => Err("round of what changes has no translation".to_string()),
        Kind::Real => {
            let text = format!("sign({x}) * floor(abs({x}) + 0.5)", x = x.text);
            Ok(Value::of(text, Kind::Real, level::PRODUCT))
        }
        Kind::Numeric => Ok(called("round", &[x], Kind::Numeric).cast("double precision", Kind::Real)),
        _ => Ok(x.cast("double precision", Kind::Real)),
    }
}

fn type_of(x: &Value) -> Found {
    let name = match (x.kind, &x.form) {
        (Kind::Null, _) => return Ok(Value::string("null")),
        (Kind::Integer | Kind::Boolean, _) => "integer",
        (Kind::Real, Form::Number(_)) => "real",
        (Kind::Blob, _) => "blob",
        (Kind::Real | Kind::Numeric, _) => return Err("typeof of a number that is whole or not".to_string()),
        _ => "text",
    };
    let text = format!("CASE WHEN {} IS NULL THEN 'null' ELSE '{name}' END", x.left(level::COMPARISON + 1));
    Ok(Value::atom(text, Kind::Text).made_of([x]))
}

fn length(x: &Value) -> Found {
    let x = if x.kind == Kind::Blob { x.clone() } else { x.as_text()? };
    let mut value = called("length", &[x], Kind::Integer);
    value.is_count = true;
    Ok(value)
}

/// A negative start counts from the end.
fn substring(x: &Value, start: &Value, length: Option<&Value>) -> Found {
    let x = x.as_text()?;
    let (start, length) = (start.as_integer()?, length.map(Value::as_integer).transpose()?);
    if length.as_ref().is_some_and(|length| !is_count(length)) {
        return Err("substr whose length may be negative has no translation".to_string());
    }
    let as_int = |value: &Value| match value.form {
        Form::Number(_) => value.text.clone(),
        _ => value.cast("int", Kind::Integer).text,
    };
    if is_count(&start) {
        let length = length.map(|length| format!(", {}", as_int(&length))).unwrap_or_default();
        return Ok(
            Value::atom(format!("substr({}, {}{length})", x.text, as_int(&start)), Kind::Text).made_of([&x, &start])
        );
    }
    let from_end = match start.form {
        Form::Number(number) => -number,
        _ => return Err("substr whose start may be negative has no translation".to_string()),
    };
    match length.map(|length| length.form) {
        None => {}
        Some(Form::Number(length)) if length >= from_end => {}
        Some(_) => return Err("substr that starts at the end and ends before it has no translation".to_string()),
    }
    Ok(Value::atom(format!("right({}, {from_end})", x.text), Kind::Text).made_of([&x]))
}

fn hex(x: &Value) -> Found {
    let bytes = match x.kind {
        Kind::Blob => x.text.clone(),
        _ => format!("convert_to({}, 'UTF8')", x.as_text()?.text),
    };
    // No bytes, for NULL too.
    Ok(Value::atom(format!("coalesce(upper(encode({bytes}, 'hex')), '')"), Kind::Text).made_of([x]))
}

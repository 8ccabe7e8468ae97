//! Regular expressions: `~`, `~*`, `SIMILAR TO`, `substring(text from pattern)`, `regexp_*`
//! ([PostgreSQL 15, 9.7.3](https://www.postgresql.org/docs/15/functions-matching.html#FUNCTIONS-POSIX-REGEXP)). Compiled
//! expressions are bounded in size and kept per thread.

mod pattern;
mod similar;

use std::rc::Rc;
use std::sync::Arc;

use super::beginning::PatternKind;
use super::catalogue::Catalogue;
use super::kept::Kept;
use super::matching::{Matching, Written};
use super::support::{call, check_length, invalid_parameter, wrong_arguments};
use super::{Declared, SetRows};
use crate::types::{Array, DataType, EvalContext, Value};
use crate::{Error, Result};
use pattern::{Found, Pattern};

const TEXT: DataType = DataType::Text;
const INT: DataType = DataType::Integer;

pub(super) fn register(catalogue: &mut Catalogue) {
    similar::register(catalogue);
    let pair: &[DataType] = const { &[TEXT, TEXT] };
    let flagged: &[DataType] = const { &[TEXT, TEXT, TEXT] };
    let boolean = DataType::Boolean;
    let texts = TEXT.array().unwrap_or(TEXT);
    // Of `char(n)` an expression sees the blanks, too.
    let padded: &[DataType] = const { &[DataType::Char(0), TEXT] };
    for args in [pair, padded] {
        let tells = |folds_case, negated| Matching { written: Written::Expression, folds_case, negated };
        let matching = catalogue.add("~", args, boolean, call!((Text a, Text p) matches(a, p, "").map(Value::Boolean)));
        matching.matching(tells(false, false));
        if args == pair {
            matching.pattern(PatternKind::Expression);
        }
        catalogue
            .add("~*", args, boolean, call!((Text a, Text p) matches(a, p, "i").map(Value::Boolean)))
            .matching(tells(true, false));
        catalogue
            .add("!~", args, boolean, call!((Text a, Text p) matches(a, p, "").map(|m| Value::Boolean(!m))))
            .matching(tells(false, true));
        catalogue
            .add("!~*", args, boolean, call!((Text a, Text p) matches(a, p, "i").map(|m| Value::Boolean(!m))))
            .matching(tells(true, true));
    }
    for args in [pair, flagged] {
        catalogue.add("regexp_like", args, boolean, |args, _| {
            let call = Call::new("regexp_like", args, [])?;
            matches(call.text, call.pattern, call.flags).map(Value::Boolean)
        });
        catalogue.add("regexp_match", args, texts, first_groups);
        catalogue.add("regexp_split_to_array", args, texts, |args, _| split_to_array("regexp_split_to_array", args));
        let declared: Vec<Declared> = args.iter().copied().map(Declared::Type).collect();
        catalogue.add_rows("regexp_matches", &declared, &[("", Declared::Type(texts))], |function, args, _| {
            Ok(SetRows::of(1, rows_of_matches(&function.name, args)?))
        });
        catalogue.add_rows("regexp_split_to_table", &declared, &[("", Declared::Type(TEXT))], |function, args, _| {
            Ok(SetRows::of(1, split(&function.name, args)?))
        });
    }
    catalogue.add("substring", pair, TEXT, call!((Text a, Text p) first_group(a, p)));
    let count: [&[DataType]; 3] = const { [&[TEXT, TEXT], &[TEXT, TEXT, INT], &[TEXT, TEXT, INT, TEXT]] };
    for args in count {
        catalogue.add("regexp_count", args, INT, regexp_count);
    }
    let substr: [&[DataType]; 5] = const {
        [
            &[TEXT, TEXT],
            &[TEXT, TEXT, INT],
            &[TEXT, TEXT, INT, INT],
            &[TEXT, TEXT, INT, INT, TEXT],
            &[TEXT, TEXT, INT, INT, TEXT, INT],
        ]
    };
    for args in substr {
        catalogue.add("regexp_substr", args, TEXT, regexp_substr);
    }
    let instr: [&[DataType]; 6] = const {
        [
            &[TEXT, TEXT],
            &[TEXT, TEXT, INT],
            &[TEXT, TEXT, INT, INT],
            &[TEXT, TEXT, INT, INT, INT],
            &[TEXT, TEXT, INT, INT, INT, TEXT],
            &[TEXT, TEXT, INT, INT, INT, TEXT, INT],
        ]
    };
    // Its third integer stands before the flags, the fourth behind them.
    for args in instr {
        catalogue.add("regexp_instr", args, INT, regexp_instr);
    }
    let replace: [&[DataType]; 5] = const {
        [
            &[TEXT, TEXT, TEXT],
            &[TEXT, TEXT, TEXT, TEXT],
            &[TEXT, TEXT, TEXT, INT],
            &[TEXT, TEXT, TEXT, INT, INT],
            &[TEXT, TEXT, TEXT, INT, INT, TEXT],
        ]
    };
    for args in replace {
        catalogue.add("regexp_replace", args, TEXT, regexp_replace);
    }
}

/// The arguments of a call: texts in their order, then integers in theirs.
struct Call<'a, const NUMBERS: usize> {
    text: &'a str,
    pattern: &'a str,
    flags: &'a str,
    numbers: [usize; NUMBERS],
}

impl<'a, const NUMBERS: usize> Call<'a, NUMBERS> {
    /// `numbers`: of each what it is called, what it is where it is not given, and the least and the most that it may be.
    fn new(
        function: &str,
        args: &'a [Value],
        numbers: [(&str, usize, i32, i32); NUMBERS],
    ) -> Result<Call<'a, NUMBERS>> {
        let mut texts = args.iter().filter_map(Value::as_str);
        let (Some(text), Some(pattern)) = (texts.next(), texts.next()) else { return Err(wrong_arguments(args)) };
        let mut given = args.iter().filter_map(|arg| match arg {
            Value::Integer(number) => Some(*number),
            _ => None,
        });
        let mut taken = [0; NUMBERS];
        for (taken, (name, default, least, most)) in taken.iter_mut().zip(numbers) {
            *taken = match given.next() {
                None => default,
                Some(number) if number < least || number > most => {
                    return Err(invalid_parameter(format!("invalid value for parameter \"{name}\": {number}")));
                }
                Some(number) => number as usize,
            };
        }
        let flags = texts.next().unwrap_or("");
        if flags.contains('g') {
            let error = invalid_parameter(format!("{function}() does not support the \"global\" option"));
            return Err(match function {
                "regexp_match" => error.with_hint("Use the regexp_matches function instead."),
                _ => error,
            });
        }
        Ok(Call { text, pattern, flags, numbers: taken })
    }
}

const START: (&str, usize, i32, i32) = ("start", 1, 1, i32::MAX);
const NTH: (&str, usize, i32, i32) = ("n", 1, 1, i32::MAX);
const PART: (&str, usize, i32, i32) = ("subexpr", 0, 0, i32::MAX);

/// The byte at which character `start` begins, counted from one; `None`: behind the end.
fn byte_of(text: &str, start: usize) -> Option<usize> {
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.nth(start - 1)
}

fn character_of(text: &str, byte: usize) -> i32 {
    text[..byte].chars().count() as i32 + 1
}

/// The matches of a pattern in a text, one after the other.
struct Matches<'p, 't> {
    pattern: &'p Pattern,
    text: &'t str,
    /// Where the next is looked for; `None`: nowhere.
    next: Option<usize>,
    found: Found,
}

impl<'p, 't> Matches<'p, 't> {
    fn new(pattern: &'p Pattern, text: &'t str, from: Option<usize>) -> Matches<'p, 't> {
        Matches { pattern, text, next: from, found: Found::default() }
    }

    /// Goes to the next match; false: there is none.
    fn advance(&mut self) -> Result<bool> {
        let Some(from) = self.next else { return Ok(false) };
        if !self.pattern.find(self.text, from, &mut self.found)? {
            self.next = None;
            return Ok(false);
        }
        let (start, end) = self.found.whole();
        // Behind an empty match goes on a character later, or it would be found again.
        self.next = match start == end {
            true => self.text[end..].chars().next().map(|c| end + c.len_utf8()),
            false => Some(end),
        };
        Ok(true)
    }

    /// Goes to the `nth` match from here, counted from one.
    fn advance_to(&mut self, nth: usize) -> Result<bool> {
        for _ in 0..nth {
            if !self.advance()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The groups of the current match, or all of it where there are none.
    fn groups(&self) -> Value {
        let group =
            |number| self.found.group(number).map_or(Value::Null, |(from, to)| Value::text(&self.text[from..to]));
        let groups = match self.found.len() {
            0 => vec![group(0)],
            groups => (1..=groups).map(group).collect(),
        };
        Value::Array(Arc::new(Array::new(TEXT, groups)))
    }
}

/// A compiled expression, for a caller that has many texts.
#[derive(Debug)]
pub(crate) struct Expression(Pattern);

impl Expression {
    /// Compiles.
    ///
    /// # Errors
    /// SQLSTATE 2201B.
    pub(crate) fn new(pattern: &str, folds_case: bool) -> Result<Expression> {
        Pattern::new(pattern, if folds_case { "i" } else { "" }).map(Expression)
    }

    /// Whether it matches somewhere in the text, which is UTF-8.
    pub(crate) fn is_match(&self, text: &[u8]) -> Result<bool> {
        self.0.is_match(&String::from_utf8_lossy(text))
    }
}

pub(super) fn matches(text: &str, pattern: &str, flags: &str) -> Result<bool> {
    compiled(pattern, flags)?.is_match(text)
}

/// `substring(text from pattern)`: the first group where there is one, else the whole match.
fn first_group(text: &str, pattern: &str) -> Result<Value> {
    let (pattern, mut found) = (compiled(pattern, "")?, Found::default());
    if !pattern.find(text, 0, &mut found)? {
        return Ok(Value::Null);
    }
    let part = found.group(usize::from(found.len() > 0));
    Ok(part.map_or(Value::Null, |(from, to)| Value::text(&text[from..to])))
}

pub(super) fn first_groups(args: &[Value], _: &EvalContext) -> Result<Value> {
    let call = Call::new("regexp_match", args, [])?;
    let pattern = compiled(call.pattern, call.flags)?;
    let mut matches = Matches::new(&pattern, call.text, Some(0));
    Ok(if matches.advance()? { matches.groups() } else { Value::Null })
}

fn regexp_count(args: &[Value], _: &EvalContext) -> Result<Value> {
    let call = Call::new("regexp_count", args, [START])?;
    let pattern = compiled(call.pattern, call.flags)?;
    let mut matches = Matches::new(&pattern, call.text, byte_of(call.text, call.numbers[0]));
    let mut count = 0;
    while matches.advance()? {
        count += 1;
    }
    Ok(Value::Integer(count))
}

fn regexp_substr(args: &[Value], _: &EvalContext) -> Result<Value> {
    let call = Call::new("regexp_substr", args, [START, NTH, PART])?;
    let [start, nth, part] = call.numbers;
    let pattern = compiled(call.pattern, call.flags)?;
    let mut matches = Matches::new(&pattern, call.text, byte_of(call.text, start));
    let group = if matches.advance_to(nth)? { matches.found.group(part) } else { None };
    Ok(group.map_or(Value::Null, |(from, to)| Value::text(&call.text[from..to])))
}

fn regexp_instr(args: &[Value], _: &EvalContext) -> Result<Value> {
    let call = Call::new("regexp_instr", args, [START, NTH, ("endoption", 0, 0, 1), PART])?;
    let [start, nth, is_end, part] = call.numbers;
    let pattern = compiled(call.pattern, call.flags)?;
    let mut matches = Matches::new(&pattern, call.text, byte_of(call.text, start));
    let group = if matches.advance_to(nth)? { matches.found.group(part) } else { None };
    let place = group.map(|(from, to)| character_of(call.text, if is_end == 1 { to } else { from }));
    Ok(Value::Integer(place.unwrap_or(0)))
}

/// The first match, with the flag `g` all of them, or with a number that one (0: all), replaced; `\1` to `\9` and `\&` in
/// the replacement stand for what matched.
pub(super) fn regexp_replace(args: &[Value], _: &EvalContext) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(to), rest @ ..] = args else {
        return Err(wrong_arguments(args));
    };
    let (start, nth, flags) = match rest {
        [] => (1, None, ""),
        [Value::Text(flags)] => (1, None, &**flags),
        [Value::Integer(start)] => (*start, Some(1), ""),
        [Value::Integer(start), Value::Integer(nth)] => (*start, Some(*nth), ""),
        [Value::Integer(start), Value::Integer(nth), Value::Text(flags)] => (*start, Some(*nth), &**flags),
        _ => return Err(wrong_arguments(args)),
    };
    if flags.starts_with(|c: char| c.is_ascii_digit()) {
        let error = invalid_parameter(format!("invalid regular expression option: \"{}\"", &flags[..1]));
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer \
                    explicitly.";
        return Err(error.with_hint(hint));
    }
    let wrong = |name: &str, number: i32| -> Error {
        invalid_parameter(format!("invalid value for parameter \"{name}\": {number}"))
    };
    let start = usize::try_from(start).ok().filter(|start| *start > 0).ok_or_else(|| wrong("start", start))?;
    let nth = match nth {
        None => usize::from(!flags.contains('g')),
        Some(nth) => usize::try_from(nth).map_err(|_| wrong("n", nth))?,
    };
    let pattern = compiled(pattern, &flags.replace('g', ""))?;
    let mut matches = Matches::new(&pattern, text, byte_of(text, start));
    let (mut out, mut copied, mut met) = (String::new(), 0, 0);
    while matches.advance()? {
        met += 1;
        if nth == 0 || met == nth {
            let (from, end) = matches.found.whole();
            out.push_str(&text[copied..from]);
            expand(to, text, &matches.found, &mut out);
            check_length(out.len())?;
            copied = end;
        }
        if met == nth {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(Value::text(out))
}

fn expand(to: &str, text: &str, found: &Found, out: &mut String) {
    let group = |number| found.group(number).map_or("", |(from, to)| &text[from..to]);
    let mut chars = to.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('&') => out.push_str(group(0)),
            Some(digit @ '1'..='9') => out.push_str(group(digit as usize - '0' as usize)),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
}

/// The text between the matches. Empty ones at the text's ends, or just behind another match, separate nothing.
pub(super) fn split(function: &str, args: &[Value]) -> Result<Vec<Value>> {
    let call = Call::new(function, args, [])?;
    let pattern = compiled(call.pattern, call.flags)?;
    let mut matches = Matches::new(&pattern, call.text, Some(0));
    let (mut parts, mut copied, mut last) = (vec![], 0, 0);
    while matches.advance()? {
        let (from, end) = matches.found.whole();
        if from < call.text.len() && end > last {
            parts.push(Value::text(&call.text[copied..from]));
            copied = end;
        }
        last = end;
    }
    parts.push(Value::text(&call.text[copied..]));
    Ok(parts)
}

pub(super) fn split_to_array(function: &str, args: &[Value]) -> Result<Value> {
    Ok(Value::Array(Arc::new(Array::new(TEXT, split(function, args)?))))
}

/// The groups of the first match, or of each.
pub(super) fn rows_of_matches(name: &str, args: &[Value]) -> Result<Vec<Value>> {
    let flags = args.get(2).and_then(Value::as_str).unwrap_or("");
    let is_global = flags.contains('g');
    let call = Call::new(name, &args[..args.len().min(2)], [])?;
    let pattern = compiled(call.pattern, &flags.replace('g', ""))?;
    let mut matches = Matches::new(&pattern, call.text, Some(0));
    let mut rows = vec![];
    while matches.advance()? {
        rows.push(matches.groups());
        if !is_global {
            break;
        }
    }
    Ok(rows)
}

thread_local! {
    static COMPILED: Kept<Pattern> = const { Kept::new() };
}

fn compiled(pattern: &str, flags: &str) -> Result<Rc<Pattern>> {
    COMPILED.with(|kept| kept.get(pattern, flags, || Pattern::new(pattern, flags)))
}

//! What the extension `citext` has beside the type: patterns that disregard case, and functions of strings that do. Those are what
//! they are in its script: the functions of text, of small letters or with the flag `i`.

use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use super::{Cost, Declared, Function, SetRows, like, regex, strings};
use crate::Result;
use crate::types::{DataType, EvalContext, ExtensionTypeKind, Value};

const TEXT: Declared = Declared::Type(DataType::Text);
const INT: Declared = Declared::Type(DataType::Integer);
const BOOLEAN: Declared = Declared::Type(DataType::Boolean);
const CITEXT: Declared = Declared::Extension(ExtensionTypeKind::Citext);

/// The functions of PostgreSQL's script that are here.
pub(super) const FUNCTIONS: &[&str] = &[
    "citext_cmp",
    "citext_eq",
    "citext_ge",
    "citext_gt",
    "citext_larger",
    "citext_le",
    "citext_lt",
    "citext_ne",
    "citext_pattern_cmp",
    "citext_pattern_ge",
    "citext_pattern_gt",
    "citext_pattern_le",
    "citext_pattern_lt",
    "citext_smaller",
    "texticlike",
    "texticnlike",
    "texticregexeq",
    "texticregexne",
];

/// Both are the type's order, which is by bytes.
pub(super) const CLASSES: &[&str] = &["citext_ops", "citext_pattern_ops"];

/// Those of names that PostgreSQL has itself.
pub(super) const ADDED_TO: &[&str] = &[
    "max",
    "min",
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "replace",
    "split_part",
    "strpos",
    "translate",
];

pub(super) const OPERATORS: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*", "~<~", "~<=~", "~>~", "~>=~",
];

pub(super) fn register(catalogue: &mut Catalogue) {
    orders(catalogue);
    patterns(catalogue);
    expressions(catalogue);
    catalogue.add_polymorphic("strpos", &[CITEXT, CITEXT], INT, strpos);
    catalogue.add_polymorphic("replace", &[CITEXT, CITEXT, CITEXT], TEXT, replace);
    catalogue.add_polymorphic("translate", &[CITEXT, CITEXT, TEXT], TEXT, translate);
    catalogue.add_polymorphic("split_part", &[CITEXT, CITEXT, INT], TEXT, split_part);
}

/// Comparisons by their names; those of patterns are alike, for the order is by bytes anyway.
fn orders(catalogue: &mut Catalogue) {
    fn compare<const LEAST: i8, const MOST: i8>(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        let [a, b] = args else { return Err(wrong_arguments(args)) };
        Ok(Value::Boolean((LEAST..=MOST).contains(&(a.compare(b) as i8))))
    }
    fn order(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        let [a, b] = args else { return Err(wrong_arguments(args)) };
        Ok(Value::Integer(a.compare(b) as i32))
    }
    fn differ(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        let [a, b] = args else { return Err(wrong_arguments(args)) };
        Ok(Value::Boolean(a != b))
    }
    fn extreme<const GREATEST: bool>(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        let [a, b] = args else { return Err(wrong_arguments(args)) };
        let order = a.compare(b);
        let first = if GREATEST { order.is_gt() } else { order.is_lt() };
        Ok(if first { a.clone() } else { b.clone() })
    }
    let pair = [CITEXT, CITEXT];
    for name in ["citext_cmp", "citext_pattern_cmp"] {
        catalogue.add_polymorphic(name, &pair, INT, order).bounded();
    }
    catalogue.add_polymorphic("citext_eq", &pair, BOOLEAN, compare::<0, 0>).bounded();
    catalogue.add_polymorphic("citext_ne", &pair, BOOLEAN, differ).bounded();
    for name in ["citext_lt", "citext_pattern_lt", "~<~"] {
        catalogue.add_polymorphic(name, &pair, BOOLEAN, compare::<-1, -1>).bounded();
    }
    for name in ["citext_le", "citext_pattern_le", "~<=~"] {
        catalogue.add_polymorphic(name, &pair, BOOLEAN, compare::<-1, 0>).bounded();
    }
    for name in ["citext_gt", "citext_pattern_gt", "~>~"] {
        catalogue.add_polymorphic(name, &pair, BOOLEAN, compare::<1, 1>).bounded();
    }
    for name in ["citext_ge", "citext_pattern_ge", "~>=~"] {
        catalogue.add_polymorphic(name, &pair, BOOLEAN, compare::<0, 1>).bounded();
    }
    catalogue.add_polymorphic("citext_larger", &pair, CITEXT, extreme::<true>).bounded();
    catalogue.add_polymorphic("citext_smaller", &pair, CITEXT, extreme::<false>).bounded();
}

/// LIKE and `~` disregard case, and their kin that do so anyway are the same.
fn patterns(catalogue: &mut Catalogue) {
    fn likes<const NEGATED: bool>(_: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
        like::like::<NEGATED, true>(&as_texts(args), context)
    }
    fn matches<const NEGATED: bool>(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
        match args {
            [Value::Citext(text), pattern] => {
                let found = regex::matches(text.as_str(), pattern.as_str().unwrap_or_default(), "i")?;
                Ok(Value::Boolean(found != NEGATED))
            }
            _ => Err(wrong_arguments(args)),
        }
    }
    for pattern in [CITEXT, TEXT] {
        for name in ["~~", "~~*"] {
            catalogue.add_polymorphic(name, &[CITEXT, pattern], BOOLEAN, likes::<false>).cost(Cost::Quotient);
        }
        for name in ["!~~", "!~~*"] {
            catalogue.add_polymorphic(name, &[CITEXT, pattern], BOOLEAN, likes::<true>).cost(Cost::Quotient);
        }
        for name in ["~", "~*"] {
            catalogue.add_polymorphic(name, &[CITEXT, pattern], BOOLEAN, matches::<false>);
        }
        for name in ["!~", "!~*"] {
            catalogue.add_polymorphic(name, &[CITEXT, pattern], BOOLEAN, matches::<true>);
        }
        catalogue.add_polymorphic("texticlike", &[CITEXT, pattern], BOOLEAN, likes::<false>);
        catalogue.add_polymorphic("texticnlike", &[CITEXT, pattern], BOOLEAN, likes::<true>);
        catalogue.add_polymorphic("texticregexeq", &[CITEXT, pattern], BOOLEAN, matches::<false>);
        catalogue.add_polymorphic("texticregexne", &[CITEXT, pattern], BOOLEAN, matches::<true>);
    }
    // With ESCAPE.
    for name in ["~~", "~~*"] {
        catalogue.add_polymorphic(name, &[CITEXT, TEXT, TEXT], BOOLEAN, likes::<false>).cost(Cost::Quotient);
    }
    for name in ["!~~", "!~~*"] {
        catalogue.add_polymorphic(name, &[CITEXT, TEXT, TEXT], BOOLEAN, likes::<true>).cost(Cost::Quotient);
    }
}

fn expressions(catalogue: &mut Catalogue) {
    let texts = Declared::Type(DataType::Text.array().unwrap_or(DataType::Text));
    let [pair, flagged] = [&[CITEXT, CITEXT] as &[Declared], &[CITEXT, CITEXT, TEXT]];
    for args in [pair, flagged] {
        catalogue.add_polymorphic("regexp_match", args, texts, |_, args, context| {
            regex::first_groups(&with_flags(args, 2), context)
        });
        catalogue.add_polymorphic("regexp_split_to_array", args, texts, |function, args, _| {
            regex::split_to_array(&function.name, &with_flags(args, 2))
        });
        catalogue.add_rows("regexp_matches", args, &[("", texts)], |function, args, _| {
            Ok(SetRows::of(1, regex::rows_of_matches(&function.name, &with_flags(args, 2))?))
        });
        catalogue.add_rows("regexp_split_to_table", args, &[("", TEXT)], |function, args, _| {
            Ok(SetRows::of(1, regex::split(&function.name, &with_flags(args, 2))?))
        });
    }
    for args in [&[CITEXT, CITEXT, TEXT] as &[Declared], &[CITEXT, CITEXT, TEXT, TEXT]] {
        catalogue.add_polymorphic("regexp_replace", args, TEXT, |_, args, context| {
            regex::regexp_replace(&with_flags(args, 3), context)
        });
    }
}

/// The values as texts, as functions of text take them.
fn as_texts(args: &[Value]) -> Vec<Value> {
    let as_text = |value: &Value| match value {
        Value::Citext(text) => Value::text(text.as_str()),
        other => other.clone(),
    };
    args.iter().map(as_text).collect()
}

/// The same, with the flags behind so many of them: `i` among them, unless `c` is.
fn with_flags(args: &[Value], count: usize) -> Vec<Value> {
    let mut args = as_texts(args);
    match args.get_mut(count) {
        None => args.push(Value::text("i")),
        Some(flags) if !flags.as_str().unwrap_or_default().contains('c') => {
            *flags = Value::text(format!("{}i", flags.as_str().unwrap_or_default()));
        }
        Some(_) => {}
    }
    args
}

/// An expression that matches what is written. (A letter that is none of ASCII's gets its backslash, as in the extension's script.)
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && c != '_' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn strpos(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Citext(text), Value::Citext(part)] => strings::position(text.folded(), part.folded()),
        _ => Err(wrong_arguments(args)),
    }
}

fn replace(_: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    match args {
        [Value::Citext(text), Value::Citext(from), Value::Citext(to)] => {
            let texts = [text.as_str(), &literal(from.as_str()), to.as_str(), "gi"].map(Value::text);
            regex::regexp_replace(&texts, context)
        }
        _ => Err(wrong_arguments(args)),
    }
}

/// The part of a number, of those between what matches; NULL beyond them.
fn split_part(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Citext(text), Value::Citext(delimiter), Value::Integer(nth)] => {
            let parts = regex::split("", &[text.as_str(), &literal(delimiter.as_str()), "i"].map(Value::text))?;
            let at = usize::try_from(*nth).ok().and_then(|nth| nth.checked_sub(1));
            Ok(at.and_then(|at| parts.get(at)).cloned().unwrap_or(Value::Null))
        }
        _ => Err(wrong_arguments(args)),
    }
}

fn translate(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Citext(text), Value::Citext(from), Value::Text(to)] => {
            let small = strings::translate(text.as_str(), from.folded(), to);
            let large: String = from.as_str().chars().map(strings::upper).collect();
            Ok(Value::text(strings::translate(&small, &large, to)))
        }
        _ => Err(wrong_arguments(args)),
    }
}

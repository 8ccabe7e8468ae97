//! Which of the built-in functions take no longer than a pass over their arguments, and give no more than their arguments' sum, or a
//! page: see [`Function::bounded`].
//!
//! What is in no list here is not known to be bounded. Not bounded are what is as long as a number says (`repeat`, `lpad`,
//! `array_fill`), what grows with the product of two arguments (`replace`, containment of documents), regular expressions, and
//! functions of `numeric` that go on until enough digits are right.
//!
//! Of two `numeric` a product and its like take as long as the product of their lengths, and LIKE takes as many looks at a text as
//! its pattern has letters: a call of these is bounded where an argument is short, as what was written is, or a column
//! that says how many digits it has ([`Function::takes`]).

use super::{Function, Operator};
use crate::types::DataType;

/// For whatever arguments.
const BOUNDED: &[&str] = &[
    // Comparisons, and texts by their bytes.
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "~<~",
    "~<=~",
    "~>~",
    "~>=~",
    "greatest",
    "least",
    "overlaps",
    "starts_with",
    "^@",
    // Texts.
    "||",
    "concat",
    "concat_ws",
    "length",
    "char_length",
    "character_length",
    "octet_length",
    "bit_length",
    "lower",
    "upper",
    "initcap",
    "reverse",
    "left",
    "right",
    "substr",
    "ascii",
    "chr",
    "to_hex",
    "encode",
    "decode",
    "md5",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    // Times.
    "now",
    "transaction_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "current_timestamp",
    "current_date",
    "localtimestamp",
    "localtime",
    "extract",
    "date_part",
    "date_trunc",
    "date_bin",
    "age",
    "isfinite",
    "make_date",
    "make_time",
    "make_timestamp",
    "make_timestamptz",
    "make_interval",
    "to_timestamp",
    "justify_days",
    "justify_hours",
    "justify_interval",
    "timezone",
    // Numbers that nobody gave.
    "random",
    "pi",
    "gen_random_uuid",
    "uuid_generate_v4",
    "uuid_nil",
    "current_user",
    "session_user",
    "user",
    "current_role",
    "current_database",
    "current_catalog",
    "version",
    "pg_backend_pid",
    "pg_client_encoding",
    "num_nulls",
    "num_nonnulls",
    // Documents and arrays, of which a part is taken, or to which one is added.
    "->",
    "->>",
    "#>",
    "#>>",
    "to_json",
    "to_jsonb",
    "json_build_array",
    "jsonb_build_array",
    "json_build_object",
    "jsonb_build_object",
    "json_typeof",
    "jsonb_typeof",
    "json_array_length",
    "jsonb_array_length",
    "jsonb_set",
    "?",
    "array_length",
    "array_lower",
    "array_upper",
    "array_ndims",
    "array_dims",
    "cardinality",
    "array_append",
    "array_prepend",
    "array_cat",
    "enum_first",
    "enum_last",
    "enum_range",
];

/// For numbers and times.
const BOUNDED_OF_NUMBERS: &[&str] = &[
    "+",
    "-",
    "&",
    "|",
    "#",
    "~",
    "<<",
    ">>",
    "@",
    "abs",
    "sign",
    "ceil",
    "ceiling",
    "floor",
    "round",
    "trunc",
    "scale",
    "min_scale",
    "trim_scale",
];

/// For numbers and times, too; of two `numeric` it takes as long as the product of their lengths.
const PRODUCTS: &[&str] = &["*", "/", "%", "mod", "div", "gcd", "lcm", "width_bucket"];

/// Patterns, in last place.
const PATTERNS: &[&str] = &["~~", "!~~"];

/// For numbers that take no more room than a word.
const BOUNDED_OF_WORDS: &[&str] = &[
    "sqrt", "exp", "ln", "log", "log10", "power", "pow", "^", "cbrt", "degrees", "radians", "sin", "cos", "tan", "cot",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
];

/// For one argument, or for a text and numbers.
const BOUNDED_OF_ONE_TEXT: &[&str] = &["trim", "btrim", "ltrim", "rtrim", "substring"];

/// Whether the entry of this name is bounded.
pub(super) fn is_bounded(name: &str, entry: &Function) -> bool {
    let is_word = |of: &DataType| is_number(*of) && !matches!(of, DataType::Numeric(_));
    let texts = entry.args.iter().filter(|of| of.is_string() || **of == DataType::Bytea).count();
    match name {
        // (`||` of documents and arrays: the parts of both.)
        _ if BOUNDED.contains(&name) => true,
        _ if PRODUCTS.contains(&name) => entry.args.iter().all(|of| is_number(*of) && is_word(of)),
        _ if BOUNDED_OF_NUMBERS.contains(&name) => entry.args.iter().all(|of| is_number(*of)),
        _ if BOUNDED_OF_WORDS.contains(&name) => entry.args.iter().all(is_word),
        _ if BOUNDED_OF_ONE_TEXT.contains(&name) => texts <= 1,
        _ => entry.op == Some(Operator::Concat),
    }
}

/// What a function that is not bounded takes, where an argument may be short enough for it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// As many passes over either argument as the other is long.
    Product,
    /// As many passes over the first argument as the last is long.
    Quotient,
}

impl Function {
    /// `None`: it is bounded, or takes something else.
    pub(crate) fn takes(&self) -> Option<Takes> {
        if self.bounded || self.calls_routines() {
            return None;
        }
        match &*self.name {
            name if PATTERNS.contains(&name) => Some(Takes::Quotient),
            name if !PRODUCTS.contains(&name) || !self.args.iter().all(|of| is_number(*of)) => None,
            "*" => Some(Takes::Product),
            _ => Some(Takes::Quotient),
        }
    }
}

fn is_number(of: DataType) -> bool {
    use DataType as T;
    matches!(
        of,
        T::SmallInt
            | T::Integer
            | T::BigInt
            | T::Real
            | T::Double
            | T::Numeric(_)
            | T::Oid
            | T::Reg(_)
            | T::Date
            | T::Time(_)
            | T::TimeTz(_)
            | T::Timestamp(_)
            | T::TimestampTz(_)
            | T::Interval(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{function_names, overloads};

    #[test]
    fn every_name_of_the_lists_is_a_functions() {
        let all = [BOUNDED, BOUNDED_OF_NUMBERS, PRODUCTS, PATTERNS, BOUNDED_OF_WORDS, BOUNDED_OF_ONE_TEXT].concat();
        let unknown: Vec<&str> = all.into_iter().filter(|name| overloads(name).is_empty()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// Arguments of a few bytes that would ask for a megabyte, or for much time.
    #[test]
    fn what_is_longer_than_its_arguments_is_not_bounded() {
        for name in [
            "repeat",
            "lpad",
            "rpad",
            "replace",
            "regexp_replace",
            "regexp_match",
            "~*",
            "array_fill",
            "factorial",
            "format",
            "to_char",
            "@>",
            "jsonb_path_query_array",
            "pg_sleep",
            "pg_advisory_lock",
            "array_to_string",
        ] {
            assert!(!overloads(name).is_empty(), "{name}");
            assert!(overloads(name).iter().all(|entry| !entry.bounded), "{name}");
        }
        for name in PRODUCTS {
            let is_numeric = |of: &DataType| matches!(of, DataType::Numeric(_));
            assert!(
                overloads(name).iter().all(|entry| !(entry.bounded && entry.args.iter().any(is_numeric))),
                "{name}"
            );
        }
        for name in PATTERNS {
            assert!(overloads(name).iter().all(|entry| !entry.bounded), "{name}");
        }
        let bounded = |name: &str| overloads(name).iter().filter(|entry| entry.bounded).count();
        assert_eq!((bounded("substring"), bounded("btrim"), bounded("~")), (overloads("substring").len() - 2, 1, 3));
        let count = function_names().flat_map(overloads).filter(|entry| entry.bounded).count();
        assert!(count > 300, "{count}");
    }
}

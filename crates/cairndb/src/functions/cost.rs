//! What a call of a function takes at most, which its entry says.
//!
//! What says nothing is not known to be bounded. Not bounded are what is as long as a number says (`repeat`, `lpad`,
//! `array_fill`), what grows with the product of two arguments (`replace`, containment of documents), regular expressions, and
//! functions of `numeric` that go on until enough digits are right.
//!
//! Of two `numeric` a product and its like take as long as the product of their lengths, and LIKE takes as many looks at a text as
//! its pattern has letters: a call of these is bounded where an argument is short, as what was written is, or a column
//! that says how many digits it has.

/// What a call takes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cost {
    /// No longer than a pass over the arguments, which are lent from rows and parameters; and it gives no more than their sum, or a page.
    Bounded,
    /// As many passes over either argument as the other is long.
    Product,
    /// As many passes over the first argument as the last is long.
    Quotient,
    /// Nobody has looked, or it is not bounded: it is run under no lock that others wait for.
    #[default]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{function_names, overloads};
    use crate::types::DataType;

    fn costs(name: &str) -> Vec<Cost> {
        let costs: Vec<Cost> = overloads(name).iter().map(|entry| entry.cost).collect();
        assert!(!costs.is_empty(), "{name}");
        costs
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
            assert!(costs(name).iter().all(|cost| *cost == Cost::Unknown), "{name}");
        }
        for name in ["~~", "!~~"] {
            assert!(costs(name).iter().all(|cost| *cost == Cost::Quotient), "{name}");
        }
    }

    #[test]
    fn products_of_numeric_take_as_long_as_both_are() {
        for name in ["*", "/", "%", "mod", "div", "gcd", "lcm", "width_bucket"] {
            let is_numeric = |of: &DataType| matches!(of, DataType::Numeric(_));
            let cost = if name == "*" { Cost::Product } else { Cost::Quotient };
            let of_numeric = overloads(name).iter().filter(|entry| entry.args.iter().any(is_numeric));
            assert!(of_numeric.clone().count() > 0 && of_numeric.into_iter().all(|entry| entry.cost == cost), "{name}");
        }
    }

    /// What is bounded for some types only.
    #[test]
    fn most_that_point_statements_call_is_bounded() {
        let bounded = |name: &str| costs(name).iter().filter(|cost| **cost == Cost::Bounded).count();
        assert_eq!((bounded("substring"), bounded("btrim"), bounded("~")), (costs("substring").len() - 2, 1, 6));
        let count: usize = function_names().filter(|name| !overloads(name).is_empty()).map(bounded).sum();
        assert!(count > 300, "{count}");
    }
}

//! `unaccent`: letters without their accents, by the rules that PostgreSQL's extension comes with.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::catalogue::Catalogue;
use super::support::call;
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue.add("unaccent", &[TEXT], TEXT, call!((Text text) Ok(Value::text(unaccent(text))))).stable_in_name();
    let by_dictionary = call!((Text dictionary, Text text) {
        check_dictionary(dictionary)?;
        Ok(Value::text(unaccent(text)))
    });
    catalogue.add("unaccent", &[TEXT, TEXT], TEXT, by_dictionary).stable_in_name();
}

/// What takes the place of a letter. (All of the rules are of one letter that is none of ASCII's.)
static RULES: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let rules = include_str!("rules.tsv").lines().filter(|line| !line.starts_with('#'));
    rules.filter_map(rule).collect()
});

fn rule(line: &'static str) -> Option<(char, &'static str)> {
    let (letter, instead) = line.split_once('\t').unwrap_or((line, ""));
    Some((letter.chars().next()?, instead.trim()))
}

fn unaccent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match RULES.get(&c).filter(|_| !c.is_ascii()) {
            Some(instead) => out.push_str(instead),
            None => out.push(c),
        }
    }
    out
}

/// There is one, which the extension brings, in whatever schema. SQLSTATE 42704.
fn check_dictionary(name: &str) -> Result<()> {
    let plain = name.rsplit('.').next().unwrap_or_default().trim();
    if plain.eq_ignore_ascii_case("unaccent") || plain == "\"unaccent\"" {
        return Ok(());
    }
    let error = Error::new(SqlState::UNDEFINED_OBJECT, format!("text search dictionary \"{name}\" does not exist"));
    Err(error.with_hint("There is the dictionary \"unaccent\", whose rules are built in."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_of_one_letter_beyond_ascii() {
        let lines = include_str!("rules.tsv").lines().filter(|line| !line.starts_with('#'));
        for line in lines.clone() {
            let letter = line.split('\t').next().unwrap_or_default();
            assert!(letter.chars().count() == 1 && !letter.is_ascii(), "{line}");
        }
        assert_eq!((RULES.len(), lines.count()), (1650, 1650));
    }
}

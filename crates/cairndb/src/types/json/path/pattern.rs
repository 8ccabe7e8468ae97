//! The pattern of `like_regex`, compiled when the path is read.

use regex::{Regex, RegexBuilder};

use crate::types::invalid_regex;
use crate::{Error, Result, SqlState};

/// Bytes that a compiled expression may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// A regular expression with XQuery's flags: `i` (letters of any case), `s` (a dot matches newlines), `m` (`^` and `$` match
/// at lines), `q` (no character has a meaning).
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(super) text: String,
    pub(super) flags: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        (&self.text, &self.flags) == (&other.text, &other.flags)
    }
}

impl Pattern {
    /// # Errors
    ///
    /// SQLSTATE 42601: there is no such flag. 2201B: it is no regular expression.
    pub(super) fn new(text: String, flags: &str) -> Result<Pattern> {
        if let Some(flag) = flags.chars().find(|flag| !"ismxq".contains(*flag)) {
            let error = Error::new(SqlState::SYNTAX_ERROR, "invalid input syntax for type jsonpath");
            let detail = format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.");
            return Err(error.with_detail(detail));
        }
        let has = |flag: char| flags.contains(flag);
        if has('x') && !has('q') {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let pattern = if has('q') { regex::escape(&text) } else { text.clone() };
        let regex = RegexBuilder::new(&pattern)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .nest_limit(100)
            .case_insensitive(has('i'))
            .dot_matches_new_line(has('s'))
            .multi_line(has('m'))
            .build();
        let regex = regex.map_err(|error| invalid_regex(&error))?;
        // In the order in which PostgreSQL writes them.
        let flags = "ismxq".chars().filter(|flag| has(*flag)).collect();
        Ok(Pattern { text, flags, regex })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

//! Whether texts match a pattern that is the same for all of them: compiled once, without a call for each.

use super::like::LikePattern;
use super::regex::Expression;
use crate::Result;
use crate::types::{DataType, Value};

/// What a function of a text and a pattern tells of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matching {
    pub(super) written: Written,
    /// Small letters and capitals are the same.
    pub(super) folds_case: bool,
    /// It tells whether the text does not match.
    pub(super) negated: bool,
}

/// How a pattern is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    /// As LIKE's, with a backslash for its escape.
    Like,
    /// As a regular expression.
    Expression,
}

/// A compiled pattern, and what is told of it.
#[derive(Debug)]
pub(crate) struct Matcher {
    compiled: Compiled,
    negated: bool,
    /// For a text in small letters.
    folded: Vec<u8>,
}

#[derive(Debug)]
enum Compiled {
    Like(LikePattern),
    Expression(Expression),
}

impl Matching {
    /// Compiles the pattern for texts of this type. `None`: it is no text or is wrong, which the function says once it meets one.
    pub(crate) fn matcher(self, of: DataType, pattern: &Value) -> Option<Matcher> {
        let Value::Text(pattern) = pattern else { return None };
        if !matches!(of, DataType::Text | DataType::Varchar(_) | DataType::Char(_)) {
            return None;
        }
        let compiled = match self.written {
            Written::Like => Compiled::Like(LikePattern::new(pattern, Some('\\'), self.folds_case).ok()?),
            Written::Expression => Compiled::Expression(Expression::new(pattern, self.folds_case).ok()?),
        };
        Some(Matcher { compiled, negated: self.negated, folded: Vec::new() })
    }
}

impl Matcher {
    /// What the function says of this text (UTF-8).
    pub(crate) fn tell(&mut self, text: &[u8]) -> Result<bool> {
        let matches = match &self.compiled {
            Compiled::Like(pattern) => pattern.matches(text, &mut self.folded),
            Compiled::Expression(expression) => expression.is_match(text)?,
        };
        Ok(matches != self.negated)
    }
}

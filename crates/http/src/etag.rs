//! Conditions of requests on what a document is (RFC 9110, 13).

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use cairndb::CollectionInfo;

use crate::problem::Problem;

/// More are not looked at one by one.
const TAGS_MAX: usize = 16;

/// What `If-Match` or `If-None-Match` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    None,
    /// `*`
    Any,
    /// Tags, and whether each is weak.
    Tags(Vec<(String, bool)>),
}

/// What a request asks of the document before it does something.
pub(crate) struct Conditions {
    pub(crate) if_match: Condition,
    pub(crate) if_none_match: Condition,
}

impl Conditions {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Conditions, Problem> {
        Ok(Conditions {
            if_match: condition(headers, &header::IF_MATCH)?,
            if_none_match: condition(headers, &header::IF_NONE_MATCH)?,
        })
    }

    /// What is asked of the document that is changed or deleted. SQLSTATE 22023 for what such a request can not ask.
    pub(crate) fn of_change(self) -> Result<Condition, Problem> {
        match self.if_none_match {
            Condition::None => Ok(self.if_match),
            _ => Err(Problem::wrong("If-None-Match is of what is read or put")
                .hint("Say If-Match with the ETag as it was told.")),
        }
    }

    /// What is asked of the document that is put. SQLSTATE 22023 for both at once.
    pub(crate) fn of_put(self) -> Result<Conditions, Problem> {
        match self.if_match == Condition::None || self.if_none_match == Condition::None {
            true => Ok(self),
            false => Err(Problem::wrong("If-Match and If-None-Match are not said together of what is put")),
        }
    }
}

impl Condition {
    /// The versions that it names for which something is to be done: a weak tag names none.
    pub(crate) fn versions(&self, collection: &CollectionInfo) -> Vec<i64> {
        match self {
            Condition::Tags(tags) => {
                let strong = tags.iter().filter(|(_, is_weak)| !is_weak);
                strong.filter_map(|(tag, _)| collection.version_of(tag)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a document of this tag is one that it names, compared strongly: a weak tag names none.
    pub(crate) fn names_strongly(&self, etag: &str) -> bool {
        match self {
            Condition::Tags(tags) => tags.iter().any(|(tag, is_weak)| tag == etag && !is_weak),
            other => other.names(etag),
        }
    }

    /// Whether a document of this tag is one that it names; compared weakly.
    pub(crate) fn names(&self, etag: &str) -> bool {
        match self {
            Condition::None => false,
            Condition::Any => true,
            Condition::Tags(tags) => tags.iter().any(|(tag, _)| tag == etag),
        }
    }
}

fn condition(headers: &HeaderMap, name: &HeaderName) -> Result<Condition, Problem> {
    let mut tags = Vec::new();
    for value in headers.get_all(name) {
        let bad = || {
            Problem::wrong(format!("{name} is neither * nor a list of tags in quotes"))
                .hint("Take the ETag as it was told.")
        };
        let text = value.to_str().map_err(|_| bad())?.trim();
        if text == "*" {
            return Ok(Condition::Any);
        }
        let mut rest = text;
        while !rest.is_empty() {
            let (is_weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |quoted| (true, quoted));
            let (tag, behind) = quoted.strip_prefix('"').and_then(|inner| inner.split_once('"')).ok_or_else(bad)?;
            tags.push((tag.to_owned(), is_weak));
            let behind = behind.trim_start();
            rest = behind.strip_prefix(',').map_or(behind, str::trim_start);
            if rest == behind && !rest.is_empty() {
                return Err(bad());
            }
        }
    }
    match tags.len() {
        0 => Ok(Condition::None),
        1..=TAGS_MAX => Ok(Condition::Tags(tags)),
        _ => Err(Problem::wrong(format!("{name} has more than {TAGS_MAX} tags"))),
    }
}

/// As a header has it.
pub(crate) fn quoted(etag: &str) -> HeaderValue {
    // A tag is digits and hyphens.
    HeaderValue::from_str(&format!("\"{etag}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Option<Condition> {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, HeaderValue::from_static(text));
        condition(&headers, &header::IF_MATCH).ok()
    }

    #[test]
    fn conditions_are_read_as_the_standard_has_them() {
        let tags = |all: &[(&str, bool)]| {
            Some(Condition::Tags(all.iter().map(|(tag, is_weak)| ((*tag).to_owned(), *is_weak)).collect()))
        };
        assert_eq!(read("*"), Some(Condition::Any));
        assert_eq!(read("\"a\" , W/\"b,c\""), tags(&[("a", false), ("b,c", true)]));
        for text in ["a", "\"a", "\"a\" \"b\"", "W/a"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

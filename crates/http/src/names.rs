//! What a request's path names: a database, a collection, a document.
//!
//! Each name has one form in a path: UTF-8 with everything but the unreserved characters (RFC 3986) percent-encoded, in upper case. Another spelling is the
//! path of nothing, so that a document has one URL.

use std::fmt::Write;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use cairndb::SqlState;

use crate::problem::Problem;

/// `/db/{database}/collections/{collection}/documents/{id}`, as far as the path goes.
pub(crate) struct Names {
    pub(crate) database: String,
    pub(crate) collection: String,
    pub(crate) id: String,
}

impl<S: Sync> FromRequestParts<S> for Names {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Names, Problem> {
        Names::of(parts.uri.path())
    }
}

impl Names {
    fn of(path: &str) -> Result<Names, Problem> {
        let mut steps = path.split('/').skip(1);
        let mut name = |before: &str| match steps.next() {
            Some(word) if word == before => steps.next().map_or(Ok(String::new()), decoded),
            _ => Ok(String::new()),
        };
        Ok(Names { database: name("db")?, collection: name("collections")?, id: name("documents")? })
    }
}

/// A step of a path as the name that it is.
fn decoded(step: &str) -> Result<String, Problem> {
    let nothing = || {
        let hint = "Names are percent-encoded UTF-8: letters, digits, -, ., _ and ~ as they are, all else as %XX in upper case.";
        Problem::missing(format!("\"{step}\" is the path of nothing")).hint(hint)
    };
    let name = percent_decoded(step, false).map_err(|_| nothing())?;
    if encoded(&name) == step { Ok(name) } else { Err(nothing()) }
}

/// A name as a step of a path.
pub(crate) fn encoded(name: &str) -> String {
    let mut step = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => step.push(char::from(byte)),
            // A String takes all that is written to it.
            _ => drop(write!(step, "%{byte:02X}")),
        }
    }
    step
}

/// What a request asks in its path behind `?`, each name once. SQLSTATE 22023.
pub(crate) fn asked(query: Option<&str>, known: &[&str]) -> Result<Vec<(String, String)>, Problem> {
    let pairs: Vec<(String, String)> =
        pairs_of(query.unwrap_or_default()).map_err(|why| Problem::wrong(why.to_owned()))?;
    for (at, (name, _)) in pairs.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let problem = Problem::wrong(format!("there is no parameter \"{name}\" here"));
            return Err(problem.hint(&format!("There are: {}.", known.join(", "))));
        }
        if pairs[..at].iter().any(|(before, _)| before == name) {
            return Err(Problem::wrong(format!("the parameter \"{name}\" is given twice")));
        }
    }
    Ok(pairs)
}

/// What a parameter says that is so or is not. SQLSTATE 22023.
pub(crate) fn is_true(name: &str, value: &str) -> Result<bool, Problem> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Problem::wrong(format!("the parameter \"{name}\" is true or false"))),
    }
}

/// As forms write them.
fn pairs_of(query: &str) -> Result<Vec<(String, String)>, &'static str> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| Ok((percent_decoded(name, true)?, percent_decoded(value, true)?)))
        .collect()
}

/// What is percent-encoded as the text that it is; as forms have it, `+` is a blank.
fn percent_decoded(text: &str, as_form: bool) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'+' if as_form => b' ',
            b'%' => {
                let (hex, behind) = behind.split_at_checked(2).unwrap_or_default();
                rest = behind;
                let digit = |at: usize| hex.get(at).and_then(|digit| char::from(*digit).to_digit(16));
                let code = digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                code.ok_or("a % in a parameter has two hexadecimal digits behind it")?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "a parameter is not UTF-8")
}

/// A name that the engine would not take either. SQLSTATE 42602.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let is_good = !name.is_empty() && name.len() <= 63 && !name.contains('\0');
    match is_good {
        true => Ok(()),
        false => {
            let message = format!("\"{}\" is no name of a collection", name.escape_debug());
            Err(Problem::new(axum::http::StatusCode::BAD_REQUEST, SqlState::INVALID_NAME, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form_in_a_path() {
        for name in ["a", "a b", "ä/ö", "..", "%2F", "100%", "~x.y_z-"] {
            assert_eq!(decoded(&encoded(name)).ok().as_deref(), Some(name));
        }
        for step in ["%61", "%2f", "a%", "a+b!", "%FF", "%zz", "ä", "a%00%", "a b"] {
            assert!(decoded(step).is_err(), "{step}");
        }
        let names = Names::of("/db/shop/collections/a%2Fb/documents/%C3%A4").ok().unwrap();
        assert_eq!([names.database, names.collection, names.id], ["shop", "a/b", "ä"]);
    }

    #[test]
    fn parameters_are_known_and_said_once() {
        let known = ["filter", "limit"];
        let read = asked(Some("filter=%7B%7D+x&limit=1"), &known).ok().unwrap();
        assert_eq!(read[0], ("filter".to_owned(), "{} x".to_owned()));
        for query in ["x=1", "limit=1&limit=2", "filter=%7", "filter=%FF", "filter=%+1"] {
            assert!(asked(Some(query), &known).is_err(), "{query}");
        }
    }
}

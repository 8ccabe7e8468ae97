//! Tokens of the configuration, for the server of one file. (Those of a folder are in its own database.)

use std::time::{Duration, SystemTime};

use cairn_http::{Scope, Token};
use cairndb::{DataType, EvalContext, Value, from_text};

use super::config::{map, text, texts, unknown};
use super::yaml::{At, Node};

const KEYS: [&str; 5] = ["digest", "scopes", "databases", "collections", "expires"];

/// `tokens: { NAME: { digest: .., scopes: [read, write], databases: [shop], collections: [notes], expires: 2027-01-01 } }`
pub fn read(tokens: At<Node>) -> Result<Vec<Token>, At<String>> {
    let token = |(name, of): (At<String>, At<Node>)| {
        let line = name.line;
        let (digest, scopes) = (String::new(), Vec::new());
        let none = Vec::new;
        let mut token = Token { name: name.of, digest, scopes, databases: none(), collections: none(), expires: None };
        for (key, value) in map(of)? {
            set(&mut token, key, value)?;
        }
        token.check().map_err(|error| At { line, of: error.message().to_owned() })?;
        Ok(token)
    };
    map(tokens)?.into_iter().map(token).collect()
}

fn set(token: &mut Token, key: At<String>, value: At<Node>) -> Result<(), At<String>> {
    let line = value.line;
    let bad = |of: String| At { line, of };
    match key.of.as_str() {
        "digest" => token.digest = text(value)?.of,
        "scopes" => {
            let scope = |name: &String| Scope::of(name).map_err(|error| bad(error.message().to_owned()));
            token.scopes = texts(value)?.iter().map(scope).collect::<Result<_, _>>()?;
        }
        "databases" => token.databases = texts(value)?,
        "collections" => token.collections = texts(value)?,
        "expires" => token.expires = Some(moment(&text(value)?.of).map_err(bad)?),
        other => return Err(unknown(other, key.line, &KEYS)),
    }
    Ok(())
}

/// A date, or a date and a time, in UTC where nothing else is said.
pub fn moment(said: &str) -> Result<SystemTime, String> {
    // Microseconds from 1970 to 2000, which times count from.
    const FROM_1970: i64 = 946_684_800_000_000;
    let wrong = || format!("\"{said}\" is no time, as 2027-01-31 or 2027-01-31T12:00:00Z");
    match from_text(said, DataType::TimestampTz(None), &EvalContext::default()) {
        Ok(Value::TimestampTz(micros)) => {
            let since = u64::try_from(micros.saturating_add(FROM_1970)).map_err(|_| wrong())?;
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(since)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_a_time() {
        let seconds =
            |said: &str| moment(said).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("1970-01-02"), Ok(86_400));
        assert_eq!(seconds("2000-01-01T00:00:01Z"), Ok(946_684_801));
        assert!(seconds("soon").is_err() && seconds("1900-01-01").is_err());
    }
}

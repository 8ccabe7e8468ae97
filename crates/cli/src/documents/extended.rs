//! MongoDB's [extended JSON](https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/), which `mongoexport` writes, as JSON
//! that others read: numbers as numbers, dates and object ids as strings.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::members::Members;

/// MongoDB nests no deeper.
const DEPTH_MAX: usize = 200;

/// What was translated, and what stays as MongoDB writes it because JSON has nothing of the kind, by its name.
#[derive(Debug, Default)]
pub struct Kept(pub BTreeMap<String, u64>);

impl Kept {
    /// Appends a value as plain JSON.
    pub fn plain(&mut self, value: &RawValue, out: &mut String) -> Result<(), String> {
        self.value(value.get(), 0, out)
    }

    fn value(&mut self, text: &str, depth: usize, out: &mut String) -> Result<(), String> {
        if depth == DEPTH_MAX {
            return Err(format!("it has more than {DEPTH_MAX} arrays and objects within each other"));
        }
        let said = |error: serde_json::Error| error.to_string();
        match text.trim_start().as_bytes().first() {
            Some(b'{') => {
                let members: Members<'_> = serde_json::from_str(text).map_err(said)?;
                if let Some(plain) = self.scalar(&members)? {
                    out.push_str(&plain);
                    return Ok(());
                }
                out.push('{');
                for (at, (name, value)) in members.0.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    out.push_str(&serde_json::to_string(name).map_err(said)?);
                    out.push_str(": ");
                    self.value(value.get(), depth + 1, out)?;
                }
                out.push('}');
            }
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(said)?;
                out.push('[');
                for (at, value) in elements.into_iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    self.value(value.get(), depth + 1, out)?;
                }
                out.push(']');
            }
            _ => out.push_str(text.trim()),
        }
        Ok(())
    }

    /// The JSON that an object stands for; `None`: it is one itself, or of a kind that stays as it is.
    fn scalar(&mut self, members: &Members<'_>) -> Result<Option<String>, String> {
        let [(kind, value)] = &members.0[..] else {
            if let Some((kind, _)) = members.0.first().filter(|(kind, _)| kind.starts_with('$')) {
                self.keeps(kind);
            }
            return Ok(None);
        };
        let text =
            || serde_json::from_str::<String>(value.get()).map_err(|_| format!("{kind} is followed by no string"));
        let quoted = |text: &str| serde_json::to_string(text).map_err(|error| error.to_string());
        Ok(Some(match kind.as_str() {
            "$oid" | "$uuid" | "$symbol" => value.get().to_owned(),
            "$numberInt" | "$numberLong" | "$numberDouble" | "$numberDecimal" => {
                let number = text()?;
                // What is no number in JSON (NaN, Infinity) is a string.
                let is_number = serde_json::from_str::<&RawValue>(&number)
                    .is_ok_and(|raw| raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()));
                if is_number { number } else { quoted(&number)? }
            }
            "$date" => match Members::of(value.get()).map_err(|error| error.to_string())? {
                None => value.get().to_owned(),
                Some(of) => quoted(&instant(&of).ok_or("$date is followed by no number of milliseconds")?)?,
            },
            "$binary" => match Members::of(value.get()).ok().flatten().and_then(|of| of.get("base64")) {
                Some(bytes) => bytes.get().to_owned(),
                None => return Ok(None),
            },
            "$undefined" => "null".into(),
            kind if kind.starts_with('$') => {
                self.keeps(kind);
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    fn keeps(&mut self, kind: &str) {
        *self.0.entry(kind.to_owned()).or_default() += 1;
    }
}

/// Of milliseconds since 1970, as ISO 8601 has it.
fn instant(members: &Members<'_>) -> Option<String> {
    let text: String = serde_json::from_str(members.get("$numberLong")?.get()).ok()?;
    Some(jiff::Timestamp::from_millisecond(text.parse().ok()?).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Result<String, String> {
        let (mut kept, mut out) = (Kept::default(), String::new());
        kept.plain(serde_json::from_str(text).unwrap(), &mut out)?;
        Ok(out + &kept.0.iter().map(|(kind, count)| format!(" {kind} {count}")).collect::<String>())
    }

    #[test]
    fn what_json_has_becomes_that_and_the_rest_stays() {
        for (extended, expected) in [
            (r#"{"$oid": "5d505646cf6d4fe581014ab2"}"#, r#""5d505646cf6d4fe581014ab2""#),
            (
                r#"{"a": {"$numberLong": "9223372036854775807"}, "b": {"$numberInt":"-1"}}"#,
                r#"{"a": 9223372036854775807, "b": -1}"#,
            ),
            (
                r#"[{"$numberDecimal": "1.10"}, {"$numberDouble": "NaN"}, {"$numberDouble": "1e5"}]"#,
                r#"[1.10, "NaN", 1e5]"#,
            ),
            (r#"{"$date": {"$numberLong": "1565546054692"}}"#, r#""2019-08-11T17:54:14.692Z""#),
            (r#"{"$date": {"$numberLong": "-1"}}"#, r#""1969-12-31T23:59:59.999Z""#),
            (r#"{"$date": "2019-08-11T17:54:14.692Z"}"#, r#""2019-08-11T17:54:14.692Z""#),
            (r#"{"$binary": {"base64": "AQID", "subType": "00"}}"#, r#""AQID""#),
            (r#"{"$timestamp": {"t": 1, "i": 2}}"#, r#"{"$timestamp": {"t": 1, "i": 2}} $timestamp 1"#),
            (r#"{"$code": "f()", "$scope": {}}"#, r#"{"$code": "f()", "$scope": {}} $code 1"#),
            (r#"{"a\"b": [1.00, "x\n", {}], "$": 1}"#, r#"{"a\"b": [1.00, "x\n", {}], "$": 1}"#),
        ] {
            assert_eq!(plain(extended).as_deref(), Ok(expected), "{extended}");
        }
        assert!(plain(r#"{"$date": {"$numberLong": "x"}}"#).is_err() && plain(r#"{"$numberInt": 1}"#).is_err());
        assert!(plain(&format!("{}{}", "[".repeat(300), "]".repeat(300))).is_err());
    }
}

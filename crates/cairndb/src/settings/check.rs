//! What a setting takes for a value.

use std::fmt;
use std::time::Duration;

use super::amount::{Unit, show_bytes, show_duration};
use super::table::{Kind, Setting};
use crate::types::Encoding;
use crate::{Error, Result, SqlState};

/// A value that a setting takes; shown as SHOW says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Checked {
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Word(&'static str),
    /// `None`: no limit.
    Bytes(Option<u64>),
    /// `None`: no limit.
    Time(Option<Duration>),
    Text(String),
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checked::Boolean(true) => f.write_str("on"),
            Checked::Boolean(false) => f.write_str("off"),
            Checked::Integer(number) => number.fmt(f),
            Checked::Real(number) => number.fmt(f),
            Checked::Word(word) => f.write_str(word),
            Checked::Bytes(None) => f.write_str("-1"),
            Checked::Bytes(Some(0)) | Checked::Time(None) => f.write_str("0"),
            Checked::Bytes(Some(bytes)) => f.write_str(&show_bytes(*bytes)),
            Checked::Time(Some(time)) => f.write_str(&show_duration(time)),
            Checked::Text(text) => f.write_str(text),
        }
    }
}

impl Checked {
    /// As `pg_settings` says it: a number as it is counted in the setting's unit, where it is a whole one.
    pub(super) fn counted(&self, of: &Setting) -> String {
        let whole = |amount: u128, piece: u128| (amount.is_multiple_of(piece)).then(|| (amount / piece).to_string());
        let counted = match (self, of.counts) {
            (Checked::Bytes(Some(bytes)), Some(Unit::Memory { kilobytes })) => {
                whole(u128::from(*bytes), u128::from(kilobytes) * 1024)
            }
            (Checked::Time(Some(time)), Some(Unit::Milliseconds)) => whole(time.as_micros(), 1000),
            _ => None,
        };
        counted.unwrap_or_else(|| self.to_string())
    }
}

impl Setting {
    /// SQLSTATE 22023 for what is no value of it, 0A000 where PostgreSQL would do something else from then on.
    pub(crate) fn check(&self, value: &str) -> Result<Checked> {
        let checked = match self.kind {
            Kind::Boolean => Checked::Boolean(boolean(&self.said(), value)?),
            Kind::Integer => self.integer(value)?,
            Kind::Real => {
                let number = value.trim().parse().ok().filter(|number: &f64| !number.is_nan());
                Checked::Real(self.within(number.ok_or_else(|| invalid(&self.said(), value))?)?)
            }
            Kind::Word => Checked::Word(self.word(value)?),
            Kind::Text => Checked::Text(self.text(value)?),
        };
        self.check_taken(value, &checked)?;
        Ok(checked)
    }

    /// Its value where nobody says one, as SHOW says it.
    pub(crate) fn default_shown(&self) -> Option<String> {
        self.check(self.default).ok().map(|value| value.to_string())
    }

    /// What SHOW says of it, as `pg_settings` does.
    pub(crate) fn counted(&self, shown: &str) -> String {
        self.check(shown).map_or_else(|_| shown.to_owned(), |value| value.counted(self))
    }

    /// The name as errors say it: as statements do.
    fn said(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    fn integer(&self, value: &str) -> Result<Checked> {
        let Some(unit) = self.counts else {
            let number: f64 = value.trim().parse().map_err(|_| invalid(&self.said(), value))?;
            return Ok(Checked::Integer(self.within(number.round_ties_even())? as i64));
        };
        let amount = unit.read(value).ok_or_else(|| invalid(&self.said(), value).with_hint(unit.hint()))?;
        self.within(amount / unit.size())?;
        let limit = (amount >= 0.0).then_some(amount.round() as u64);
        Ok(match unit {
            Unit::Memory { .. } => Checked::Bytes(limit),
            Unit::Milliseconds => Checked::Time(limit.filter(|micros| *micros > 0).map(Duration::from_micros)),
        })
    }

    fn within(&self, number: f64) -> Result<f64> {
        let bound = |text: &str| text.parse::<f64>().ok();
        if bound(self.least).is_none_or(|least| number >= least) && bound(self.most).is_none_or(|most| number <= most) {
            return Ok(number);
        }
        let (name, unit) = (self.said(), if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) });
        let number = if self.kind == Kind::Integer { number.round() } else { number };
        let range = format!("({} .. {})", self.least, self.most);
        let message = format!("{number}{unit} is outside the valid range for parameter \"{name}\" {range}");
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    }

    fn word(&self, value: &str) -> Result<&'static str> {
        let value = value.trim();
        let is = |word: &str| word.eq_ignore_ascii_case(value);
        let meant = self.synonyms.iter().find(|(word, _)| is(word)).map(|(_, meant)| *meant);
        meant.or_else(|| self.words.iter().copied().find(|word| is(word))).ok_or_else(|| {
            invalid(&self.said(), value).with_hint(format!("Available values: {}.", self.words.join(", ")))
        })
    }

    /// (Those whose texts have a meaning here are read by who knows it.)
    fn text(&self, value: &str) -> Result<String> {
        match self.name {
            "client_encoding" => encoding(value),
            "default_table_access_method" if value.trim().eq_ignore_ascii_case("heap") => Ok("heap".to_owned()),
            "default_table_access_method" => {
                let detail = format!("Table access method \"{value}\" does not exist.");
                Err(invalid(self.name, value).with_detail(detail))
            }
            _ => Ok(value.to_owned()),
        }
    }

    fn check_taken(&self, value: &str, checked: &Checked) -> Result<()> {
        let Some(taken) = &self.taken else { return Ok(()) };
        let shown = checked.to_string();
        if taken.iter().any(|one| one.eq_ignore_ascii_case(shown.trim())) {
            return Ok(());
        }
        let always = || format!("It is always {}.", taken.first().filter(|one| !one.is_empty()).unwrap_or(&"empty"));
        let hint = if self.hint.is_empty() { always() } else { self.hint.to_owned() };
        Err(Error::unsupported(format!("{} = '{value}'", self.said())).with_hint(hint))
    }
}

/// A word of a Boolean, or the beginning of one.
pub(crate) fn boolean(name: &str, value: &str) -> Result<bool> {
    let value = value.trim().to_ascii_lowercase();
    let begins = |words: &[&str]| !value.is_empty() && words.iter().any(|word| word.starts_with(&value));
    // (`o` begins both of them.)
    match () {
        () if value != "o" && begins(&["on", "true", "yes", "1"]) => Ok(true),
        () if value != "o" && begins(&["off", "false", "no", "0"]) => Ok(false),
        () => {
            let message = format!("parameter \"{name}\" requires a Boolean value");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

pub(crate) fn invalid(name: &str, value: &str) -> Error {
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Texts are UTF-8 on both sides; SQLSTATE 0A000 for another encoding, 22023 for what is none.
fn encoding(value: &str) -> Result<String> {
    match Encoding::of(value) {
        Some(encoding) if encoding.is_utf8() => Ok("UTF8".to_owned()),
        Some(_) => {
            let hint = "Texts are UTF-8 here and in what clients send; convert_to() and convert_from() convert bytes.";
            Err(Error::unsupported(format!("client_encoding = '{value}'")).with_hint(hint))
        }
        None => Err(invalid("client_encoding", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::setting;

    fn shown(name: &str, value: &str) -> Result<String> {
        setting(name).unwrap().check(value).map(|checked| checked.to_string())
    }

    #[test]
    fn amounts_take_postgresqls_units_and_are_shown_in_them() {
        for (text, expected) in [
            ("64", "64kB"),
            ("4MB", "4MB"),
            ("2 GB", "2GB"),
            ("1536kB", "1536kB"),
            ("1048577B", "1048577B"),
            ("1.5MB", "1536kB"),
        ] {
            assert_eq!(shown("work_mem", text).unwrap(), expected);
        }
        for text in ["63", "-1", "1 parsec", "mb", "", "99999999999TB"] {
            let error = shown("work_mem", text).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE, "{text}");
        }
        assert_eq!(shown("temp_file_limit", "-1").unwrap(), "-1");
        assert_eq!(shown("temp_file_limit", "0").unwrap(), "0");
        assert_eq!(shown("temp_buffers", "1000").unwrap(), "8000kB");
    }

    #[test]
    fn times_take_units_and_zero_means_none() {
        for (text, expected) in [
            ("250", "250ms"),
            ("5s", "5s"),
            ("2 min", "2min"),
            ("0", "0"),
            ("1.5s", "1500ms"),
            ("250us", "250us"),
            ("90s", "90s"),
        ] {
            assert_eq!(shown("statement_timeout", text).unwrap(), expected);
        }
        for text in ["5 parsecs", "99999999999999999999", "9999999999999999 d", "-1"] {
            assert!(shown("statement_timeout", text).is_err(), "{text}");
        }
    }

    #[test]
    fn booleans_take_the_beginnings_of_their_words() {
        for (text, expected) in [("t", "on"), ("YES", "on"), ("of", "off"), ("n", "off"), ("1", "on")] {
            assert_eq!(shown("jit", text).unwrap(), expected);
        }
        for text in ["", "o", "2", "ont"] {
            assert!(shown("jit", text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_counted_in_units() {
        for (name, text, expected) in [
            ("work_mem", "4MB", "4096"),
            ("statement_timeout", "90s", "90000"),
            ("statement_timeout", "250us", "250us"),
            ("temp_file_limit", "-1", "-1"),
            ("lock_timeout", "0", "0"),
            ("temp_buffers", "8MB", "1024"),
        ] {
            let of = setting(name).unwrap();
            assert_eq!(of.check(text).unwrap().counted(of), expected, "{name}");
        }
    }
}

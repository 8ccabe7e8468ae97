//! Templates of dates and times as `.datetime()` takes them: what stands between fields must be there, and nothing else.

use std::sync::LazyLock;

use super::fields::Fields;
use super::moment::Moment;
use crate::{Error, Result, SqlState};

/// A template, read.
pub(super) struct Template(Vec<Piece>);

enum Piece {
    /// As it is written.
    Field(String, Field),
    Separator(char),
    /// In quotes.
    Literal(char),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    /// Of so many digits.
    Year(usize),
    Month,
    Day,
    Hour24,
    Hour12,
    Minute,
    Second,
    /// Of so many digits; whether it is rounded to them.
    Fraction(usize, bool),
    ZoneHour,
    ZoneMinute,
    /// AM or PM; whether with dots.
    Half(bool),
}

/// The words that have a meaning, those that begin with another one before it. `None`: it is not understood here.
const WORDS: [(&str, Option<Field>); 59] = [
    ("Y,YYY", None),
    ("YYYY", Some(Field::Year(4))),
    ("YYY", Some(Field::Year(3))),
    ("YY", Some(Field::Year(2))),
    ("Y", Some(Field::Year(1))),
    ("MONTH", None),
    ("MON", None),
    ("MM", Some(Field::Month)),
    ("MI", Some(Field::Minute)),
    ("MS", None),
    ("DAY", None),
    ("DDD", None),
    ("DD", Some(Field::Day)),
    ("DY", None),
    ("D", None),
    ("HH24", Some(Field::Hour24)),
    ("HH12", Some(Field::Hour12)),
    ("HH", Some(Field::Hour12)),
    ("SSSSS", None),
    ("SSSS", None),
    ("SS", Some(Field::Second)),
    ("SP", None),
    ("US", Some(Field::Fraction(6, false))),
    ("FF1", Some(Field::Fraction(1, true))),
    ("FF2", Some(Field::Fraction(2, true))),
    ("FF3", Some(Field::Fraction(3, true))),
    ("FF4", Some(Field::Fraction(4, true))),
    ("FF5", Some(Field::Fraction(5, true))),
    ("FF6", Some(Field::Fraction(6, true))),
    ("FM", None),
    ("FX", None),
    ("TZH", Some(Field::ZoneHour)),
    ("TZM", Some(Field::ZoneMinute)),
    ("TZ", None),
    ("TH", None),
    ("TM", None),
    ("A.D.", None),
    ("A.M.", Some(Field::Half(true))),
    ("AD", None),
    ("AM", Some(Field::Half(false))),
    ("P.M.", Some(Field::Half(true))),
    ("PM", Some(Field::Half(false))),
    ("B.C.", None),
    ("BC", None),
    ("CC", None),
    ("IDDD", None),
    ("ID", None),
    ("IW", None),
    ("IYYY", None),
    ("IYY", None),
    ("IY", None),
    ("I", None),
    ("J", None),
    ("OF", None),
    ("Q", None),
    ("RM", None),
    ("WW", None),
    ("W", None),
    ("RR", None),
];

/// What `.datetime()` takes without a template.
static STANDARD: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let clocks = ["HH24:MI:SS.USTZH:TZM", "HH24:MI:SS.USTZH", "HH24:MI:SSTZH:TZM", "HH24:MI:SSTZH", "HH24:MI:SS.US"];
    let clocks = || clocks.into_iter().chain(["HH24:MI:SS"]);
    let mut templates = vec!["yyyy-mm-dd".to_owned()];
    templates.extend(clocks().map(str::to_owned));
    for between in [" ", "\"T\""] {
        templates.extend(clocks().map(|clock| format!("yyyy-mm-dd{between}{clock}")));
    }
    templates.iter().filter_map(|template| Template::parse(template).ok()).collect()
});

/// The date or time in a text that has a standard form.
pub(super) fn standard(text: &str) -> Result<Moment> {
    STANDARD.iter().find_map(|template| template.read(text).ok()).ok_or_else(|| {
        let message = format!("datetime format is not recognized: \"{text}\"");
        let hint = "Use a datetime template argument to specify the input data format.";
        Error::new(SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, message).with_hint(hint)
    })
}

impl Template {
    /// # Errors
    ///
    /// SQLSTATE 22007: it has a character that means nothing. 0A000: a field that is not understood here.
    pub(super) fn parse(template: &str) -> Result<Template> {
        let mut pieces = vec![];
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            if let Some((word, field)) = WORDS.iter().find(|(word, field)| begins_with(rest, word, field.is_none())) {
                let refusal = || Error::unsupported(format!("{word} in a template of .datetime()"));
                pieces.push(Piece::Field(rest[..word.len()].to_owned(), field.ok_or_else(refusal)?));
                rest = &rest[word.len()..];
            } else if first == '"' {
                rest = quoted(&rest[1..], &mut pieces);
            } else if "-./,':; ".contains(first) {
                pieces.push(Piece::Separator(first));
                rest = &rest[1..];
            } else {
                let message = format!("invalid datetime format separator: \"{first}\"");
                return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message));
            }
        }
        Ok(Template(pieces))
    }

    /// The date or time in a text.
    pub(super) fn read(&self, text: &str) -> Result<Moment> {
        let mut fields = Fields::new(text);
        if self.0.is_empty() {
            return fields.moment(false, false, false);
        }
        for (at, piece) in self.0.iter().enumerate() {
            if fields.rest().is_empty() {
                return Err(Fields::invalid("input string is too short for datetime format"));
            }
            match piece {
                Piece::Separator(sign) if !fields.eat(*sign) => {
                    return Err(Fields::invalid(format!("unmatched format separator \"{sign}\"")));
                }
                Piece::Literal(sign) if !fields.eat(*sign) => {
                    return Err(Fields::invalid(format!("unmatched format character \"{sign}\"")));
                }
                Piece::Field(word, field) => fields.read(word, *field, self.is_open(at))?,
                _ => {}
            }
        }
        if !fields.rest().trim_start_matches(|c: char| c.is_ascii_whitespace()).is_empty() {
            return Err(Fields::invalid("trailing characters remain in input string after datetime format"));
        }
        let has =
            |is: fn(Field) -> bool| self.0.iter().any(|piece| matches!(piece, Piece::Field(_, field) if is(*field)));
        let is_dated = has(|field| matches!(field, Field::Year(_) | Field::Month | Field::Day));
        let is_zoned = has(|field| matches!(field, Field::ZoneHour | Field::ZoneMinute));
        let is_timed = has(|field| {
            !matches!(field, Field::Year(_) | Field::Month | Field::Day | Field::ZoneHour | Field::ZoneMinute)
        });
        fields.moment(is_dated, is_timed, is_zoned)
    }

    /// Whether the number there ends where its digits do: no digit can follow that is not its own.
    fn is_open(&self, at: usize) -> bool {
        match self.0.get(at + 1) {
            None => true,
            Some(Piece::Field(_, field)) => matches!(field, Field::ZoneHour | Field::Half(_)),
            Some(Piece::Separator(sign) | Piece::Literal(sign)) => !sign.is_ascii_digit(),
        }
    }
}

/// Whether it begins with the word, in capitals or without any; or `mixed`.
fn begins_with(text: &str, word: &str, mixed: bool) -> bool {
    let Some(text) = text.get(..word.len()) else { return false };
    text == word || text == word.to_ascii_lowercase() || mixed && text.eq_ignore_ascii_case(word)
}

/// What is in quotes, of which the first is taken already; what is behind them.
fn quoted<'t>(text: &'t str, pieces: &mut Vec<Piece>) -> &'t str {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => pieces.extend(chars.next().map(Piece::Literal)),
            c => pieces.push(Piece::Literal(c)),
        }
    }
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_says_the_type() {
        let read = |template: &str, text: &str| Template::parse(template).and_then(|template| template.read(text));
        let text = |template: &str, text: &str| read(template, text).map(Moment::text).unwrap();
        assert_eq!(text("dd.mm.yy", "1.2.99"), "1999-02-01");
        assert_eq!(text("HH24:MI TZH", "7:30 -5"), "07:30:00-05:00");
        assert_eq!(text("yyyymmddHH24MI", "201702031504"), "2017-02-03T15:04:00");
        let state = |template: &str, text: &str| read(template, text).unwrap_err().sqlstate().0;
        assert_eq!(state("dd Mon", "1 Feb"), "0A000");
        assert_eq!(state("yyyy?", "2017?"), "22007");
        assert_eq!(state("yyyy-mm-dd", "2017-13-01"), "22008");
        assert_eq!(state("yyyy ", "é"), "22007");
        assert_eq!(state("mmdd", "1é0"), "22007");
    }

    #[test]
    fn the_standard_forms_are_read() {
        for text in
            ["2017-03-10", "12:34:56.5", "12:34:56+05:30", "2017-03-10T12:34:56", "2017-03-10T12:34:56.25-03:00"]
        {
            assert_eq!(standard(text).map(Moment::text).unwrap(), text);
        }
        assert_eq!(STANDARD.len(), 19);
        assert_eq!(standard("12:34").unwrap_err().sqlstate().0, "22031");
    }
}

//! How values look as text, and how texts that may be read in several ways are read: what a session's `datestyle`,
//! `intervalstyle`, `extra_float_digits` and `bytea_output` say.
//!
//! Plans and definitions outlive a session's style, so nothing that depends on it is computed while binding
//! (`cast_is_fixed`, `names_fixed_moment`), and what is stored is computed in the default style (`EvalContext::of_stored`).

use crate::{Error, Result, SqlState};

/// What text forms depend on. The default is PostgreSQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextStyle {
    pub(crate) date: DateStyle,
    pub(crate) order: DateOrder,
    pub(crate) interval: IntervalStyle,
    pub(crate) float_digits: FloatDigits,
    pub(crate) bytea: ByteaOutput,
}

/// How dates are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum DateStyle {
    /// `2024-02-01`
    #[default]
    Iso,
    /// `02/01/2024`
    Sql,
    /// `Thu Feb 01 00:00:00 2024`
    Postgres,
    /// `01.02.2024`
    German,
}

/// What comes first in `01/02/2024`, read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
}

/// How intervals are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IntervalStyle {
    /// `1 day 02:00:00`
    #[default]
    Postgres,
    /// `@ 1 day 2 hours`
    Verbose,
    /// `1 2:00:00`
    SqlStandard,
    /// `P1DT2H`
    Iso8601,
}

/// Digits of floats: the fewest that read back the same, or so many more than every float of the type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FloatDigits(i8);

impl Default for FloatDigits {
    fn default() -> FloatDigits {
        FloatDigits(1)
    }
}

/// How `bytea` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ByteaOutput {
    /// `\x00ff41`
    #[default]
    Hex,
    /// `\000\377A`
    Escape,
}

impl FloatDigits {
    /// Significant digits, of a type of which each float has `digits`; `None`: as few as read back the same.
    pub(crate) fn significant(self, digits: i8) -> Option<usize> {
        (self.0 <= 0).then(|| usize::try_from(digits + self.0).unwrap_or(0).max(1))
    }
}

const INTERVAL_STYLES: [(&str, IntervalStyle); 4] = [
    ("postgres", IntervalStyle::Postgres),
    ("postgres_verbose", IntervalStyle::Verbose),
    ("sql_standard", IntervalStyle::SqlStandard),
    ("iso_8601", IntervalStyle::Iso8601),
];
const BYTEA_OUTPUTS: [(&str, ByteaOutput); 2] = [("escape", ByteaOutput::Escape), ("hex", ByteaOutput::Hex)];

impl TextStyle {
    /// Names of the settings that make up a style, with what SHOW says by default.
    pub(crate) const SETTINGS: [&str; 4] = ["datestyle", "intervalstyle", "extra_float_digits", "bytea_output"];

    /// Sets one of [`TextStyle::SETTINGS`]. SQLSTATE 22023.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let invalid = || invalid(name, value);
        match name {
            "datestyle" => self.set_dates(value)?,
            "intervalstyle" => self.interval = meaning(&INTERVAL_STYLES, value).ok_or_else(invalid)?,
            "bytea_output" => self.bytea = meaning(&BYTEA_OUTPUTS, value).ok_or_else(invalid)?,
            _ => self.float_digits = FloatDigits(value.parse().map_err(|_| invalid())?),
        }
        Ok(())
    }

    /// As SHOW says it.
    pub(crate) fn shown(&self, name: &str) -> String {
        match name {
            "datestyle" => {
                let style = match self.date {
                    DateStyle::Iso => "ISO",
                    DateStyle::Sql => "SQL",
                    DateStyle::Postgres => "Postgres",
                    DateStyle::German => "German",
                };
                let order = match self.order {
                    DateOrder::Mdy => "MDY",
                    DateOrder::Dmy => "DMY",
                    DateOrder::Ymd => "YMD",
                };
                format!("{style}, {order}")
            }
            "intervalstyle" => name_of(&INTERVAL_STYLES, self.interval),
            "bytea_output" => name_of(&BYTEA_OUTPUTS, self.bytea),
            _ => self.float_digits.0.to_string(),
        }
    }

    /// A style and an order, each at most once and in any sequence; German alone is of days first.
    fn set_dates(&mut self, value: &str) -> Result<()> {
        let invalid = || invalid("DateStyle", value);
        let (mut style, mut order) = (None, None);
        for word in value.split(',') {
            let word = word.trim().trim_matches('"').to_ascii_lowercase();
            let said = match word.as_str() {
                "iso" => Said::Style(DateStyle::Iso),
                "sql" => Said::Style(DateStyle::Sql),
                "german" => Said::Style(DateStyle::German),
                "ymd" => Said::Order(DateOrder::Ymd),
                "mdy" | "us" => Said::Order(DateOrder::Mdy),
                "dmy" => Said::Order(DateOrder::Dmy),
                "default" => Said::Default,
                word if word.starts_with("postgres") => Said::Style(DateStyle::Postgres),
                word if word.starts_with("euro") => Said::Order(DateOrder::Dmy),
                word if word.starts_with("noneuro") => Said::Order(DateOrder::Mdy),
                _ => return Err(invalid().with_detail(format!("Unrecognized key word: \"{word}\"."))),
            };
            let conflicting = || invalid().with_detail("Conflicting \"datestyle\" specifications.");
            match said {
                Said::Style(said) if style.is_some_and(|known| known != said) => return Err(conflicting()),
                Said::Order(said) if order.is_some_and(|known| known != said) => return Err(conflicting()),
                Said::Style(said) => style = Some(said),
                Said::Order(said) => order = Some(said),
                Said::Default => {
                    style.get_or_insert_default();
                    order.get_or_insert_default();
                }
            }
        }
        if style == Some(DateStyle::German) {
            order.get_or_insert(DateOrder::Dmy);
        }
        self.date = style.unwrap_or(self.date);
        self.order = order.unwrap_or(self.order);
        Ok(())
    }
}

/// A word of a date style.
enum Said {
    Style(DateStyle),
    Order(DateOrder),
    Default,
}

fn meaning<T: Copy>(known: &[(&str, T)], value: &str) -> Option<T> {
    known.iter().find(|(word, _)| *word == value).map(|(_, meaning)| *meaning)
}

fn name_of<T: PartialEq>(known: &[(&str, T)], of: T) -> String {
    known.iter().find(|(_, meaning)| *meaning == of).map_or("", |(word, _)| word).to_owned()
}

fn invalid(name: &str, value: &str) -> Error {
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

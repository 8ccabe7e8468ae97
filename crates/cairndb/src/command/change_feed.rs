//! What a table's storage parameters say of its change feed.

use super::clause::Clause;
use super::create_table::option_name;
use super::table_options::{invalid, is_on};
use crate::Result;
use crate::types::datetime::parse_interval;

/// Microseconds of a day, and of PostgreSQL's month.
const DAY: i64 = 86_400_000_000;
const MONTH: i64 = 30 * DAY;

/// As far as it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FeedOptions {
    pub(crate) is_on: Option<bool>,
    /// Microseconds; 0: for ever.
    pub(crate) age: Option<u64>,
    /// 0: as many as there are.
    pub(crate) bytes: Option<u64>,
}

impl FeedOptions {
    pub(super) const NAMES: &[&str] = &["change_feed", "change_feed_age", "change_feed_bytes"];

    /// `reset`: to what they are where nothing is said.
    pub(super) fn of(options: Clause<'_>, reset: bool) -> Result<FeedOptions> {
        let mut said = FeedOptions::default();
        let defaults = crate::change_feed::Limits::default();
        for option in options.parts("storage_option") {
            let value = option.part("option_value").map(Clause::value_text);
            match option_name(option).as_str() {
                "change_feed" => said.is_on = Some(!reset && is_on(option)?),
                "change_feed_age" if reset => said.age = Some(defaults.age),
                "change_feed_bytes" if reset => said.bytes = Some(defaults.bytes),
                "change_feed_age" => said.age = Some(age(option, value.as_deref())?),
                "change_feed_bytes" => said.bytes = Some(bytes(option, value.as_deref())?),
                _ => {}
            }
        }
        Ok(said)
    }

    pub(crate) fn is_said(&self) -> bool {
        *self != FeedOptions::default()
    }
}

fn age(option: Clause<'_>, value: Option<&str>) -> Result<u64> {
    let interval = value.and_then(|value| parse_interval(value, None, Default::default()).ok());
    let micros = interval.and_then(|interval| {
        let (months, days) =
            (i64::from(interval.months).checked_mul(MONTH)?, i64::from(interval.days).checked_mul(DAY)?);
        months.checked_add(days)?.checked_add(interval.micros)
    });
    micros.and_then(|micros| u64::try_from(micros).ok()).ok_or_else(|| invalid(option, "interval", value))
}

/// A number of bytes, or with a unit behind it, as PostgreSQL's settings of memory have.
fn bytes(option: Clause<'_>, value: Option<&str>) -> Result<u64> {
    let read = |value: &str| {
        let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = value.split_at(digits);
        let shift = match unit.trim() {
            "" | "B" => 0,
            "kB" => 10,
            "MB" => 20,
            "GB" => 30,
            "TB" => 40,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(1 << shift)
    };
    value.and_then(|value| read(value.trim())).ok_or_else(|| invalid(option, "size", value))
}

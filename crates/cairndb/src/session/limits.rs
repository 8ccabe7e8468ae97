//! The limits that statements run under, as settings: their values as text, in PostgreSQL's units.

use std::time::Duration;

use super::Options;
use super::settings::{duration, show_duration};
use crate::exec::{DEFAULT_MEMORY_BUDGET, DEFAULT_WORK_MEM};
use crate::{Error, Result, SqlState};

/// The least that SET accepts, as in PostgreSQL.
pub(super) const WORK_MEM_MIN: u64 = 64 << 10;
const KB: u64 = 1024;
/// What a session's temporary relations take in memory at most, unless somebody says otherwise.
const TEMP_TABLE_LIMIT: u64 = 256 << 20;

/// What a session's statements may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes that one sort, hash table or materialised result holds before it spills.
    pub(crate) work_mem: usize,
    /// Bytes that a statement may hold altogether.
    pub(crate) statement_mem: usize,
    /// Bytes that the session's temporary files may take together.
    pub(crate) temp_file_limit: Option<u64>,
    /// Bytes that the session's temporary relations may take together, from when the first is made.
    pub(crate) temp_table_limit: u64,
    /// How long an open transaction may wait for its next statement.
    pub(crate) idle_in_transaction: Option<Duration>,
    /// How long a session may wait for its next statement outside of transactions. Who waits for statements ends it.
    pub(crate) idle_session: Option<Duration>,
    /// How long a transaction may take altogether.
    pub(crate) transaction_timeout: Option<Duration>,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Limits {
        let or = |bytes: usize, default: usize| if bytes == 0 { default } else { bytes };
        Limits {
            work_mem: or(options.work_mem, DEFAULT_WORK_MEM),
            statement_mem: or(options.statement_mem, DEFAULT_MEMORY_BUDGET),
            temp_file_limit: options.temp_file_limit,
            temp_table_limit: options.temp_table_limit.unwrap_or(TEMP_TABLE_LIMIT),
            idle_in_transaction: options.idle_in_transaction_session_timeout,
            idle_session: None,
            transaction_timeout: options.transaction_timeout,
        }
    }

    /// Whether an open transaction has limits of time.
    pub(crate) fn has_times(&self) -> bool {
        self.idle_in_transaction.is_some() || self.transaction_timeout.is_some()
    }

    /// Sets a limit (`None`: to its default); whether there is one of that name.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>, defaults: &Limits) -> Result<bool> {
        match name {
            "work_mem" => self.work_mem = value.map_or(Ok(defaults.work_mem), |value| memory(name, value))?,
            "statement_mem" => {
                self.statement_mem = value.map_or(Ok(defaults.statement_mem), |value| memory(name, value))?;
            }
            "temp_file_limit" => {
                self.temp_file_limit = match value.map(str::trim) {
                    None => defaults.temp_file_limit,
                    Some("-1") => None,
                    Some(value) => Some(bytes(name, value)?),
                };
            }
            "temp_table_limit" => {
                self.temp_table_limit = value.map_or(Ok(defaults.temp_table_limit), |value| bytes(name, value))?;
            }
            "idle_in_transaction_session_timeout" => {
                self.idle_in_transaction =
                    value.map_or(Ok(defaults.idle_in_transaction), |value| duration(name, value))?;
            }
            "idle_session_timeout" => {
                self.idle_session = value.map_or(Ok(defaults.idle_session), |value| duration(name, value))?;
            }
            "transaction_timeout" => {
                self.transaction_timeout =
                    value.map_or(Ok(defaults.transaction_timeout), |value| duration(name, value))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of a limit; `None`: there is none of that name.
    pub(super) fn show(&self, name: &str) -> Option<String> {
        Some(match name {
            "work_mem" => show_bytes(self.work_mem as u64),
            "statement_mem" => show_bytes(self.statement_mem as u64),
            "temp_file_limit" => self.temp_file_limit.map_or("-1".to_string(), show_bytes),
            "temp_table_limit" => show_bytes(self.temp_table_limit),
            "idle_in_transaction_session_timeout" => show_limit(self.idle_in_transaction),
            "idle_session_timeout" => show_limit(self.idle_session),
            "transaction_timeout" => show_limit(self.transaction_timeout),
            _ => return None,
        })
    }
}

pub(super) fn show_limit(limit: Option<Duration>) -> String {
    limit.map_or("0".to_string(), |limit| show_duration(&limit))
}

fn memory(name: &str, value: &str) -> Result<usize> {
    let bytes = bytes(name, value)?;
    if bytes < WORK_MEM_MIN {
        let message = format!("{} kB is outside the valid range for parameter \"{name}\" (64 kB or more)", bytes / KB);
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Memory as it is shown, of a number without a unit so many pieces of `piece` kilobytes.
pub(super) fn size(name: &str, value: &str, piece: u64) -> Result<String> {
    let of_pieces = value.trim().parse().ok().and_then(|pieces: u64| pieces.checked_mul(piece * KB));
    Ok(show_bytes(of_pieces.map_or_else(|| bytes(name, value), Ok)?))
}

/// Kilobytes, or a number with `B`, `kB`, `MB`, `GB` or `TB`.
fn bytes(name: &str, value: &str) -> Result<u64> {
    let invalid = || {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".")
    };
    let text = value.trim();
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| invalid())?;
    let unit = match text[digits..].trim() {
        "B" => 1,
        "" | "kB" => KB,
        "MB" => KB << 10,
        "GB" => KB << 20,
        "TB" => KB << 30,
        _ => return Err(invalid()),
    };
    number.checked_mul(unit).ok_or_else(invalid)
}

/// In the largest unit that gives a whole number, as PostgreSQL shows it.
pub(super) fn show_bytes(bytes: u64) -> String {
    let units = [("TB", KB << 30), ("GB", KB << 20), ("MB", KB << 10), ("kB", KB)];
    match units.into_iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size)) {
        Some((unit, size)) => format!("{}{unit}", bytes / size),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_postgresqls_units_and_are_shown_in_them() {
        let mut limits = Limits::of(&Options::default());
        let defaults = limits.clone();
        for (text, shown) in
            [("64", "64kB"), ("4MB", "4MB"), ("2 GB", "2GB"), ("1536kB", "1536kB"), ("1048577B", "1048577B")]
        {
            assert!(limits.set("work_mem", Some(text), &defaults).unwrap());
            assert_eq!(limits.show("work_mem").unwrap(), shown);
        }
        for text in ["63", "-1", "1 parsec", "mb", "", "99999999999TB"] {
            let error = limits.set("work_mem", Some(text), &defaults).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE, "{text}");
        }
        limits.set("temp_file_limit", Some("0"), &defaults).unwrap();
        assert_eq!(limits.temp_file_limit, Some(0));
        limits.set("temp_file_limit", Some("-1"), &defaults).unwrap();
        limits.set("work_mem", None, &defaults).unwrap();
        assert_eq!(limits, defaults);
        assert!(!limits.set("shared_buffers", Some("1"), &defaults).unwrap());
    }
}

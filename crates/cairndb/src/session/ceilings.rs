//! What a session's settings can not go beyond, whoever sets them and how: for sessions whose statements come from others.
//!
//! - A value is looked at where all values come by, `Settings::set`: SET, SET LOCAL, `set_config()`, RESET, and what a client says
//!   when it begins. What a session begins with, and goes back to, is within them too.
//! - Every setting is judged: the table of settings says how (`settings/table.rs` `Ceiling`).
//! - What the program itself says of its connection ([`Connection::set_statement_timeout`](crate::Connection::set_statement_timeout)
//!   and its kin) is the program's own.

use std::sync::Arc;
use std::time::Duration;

use super::limits::Limits;
use super::{Durability, Options, Settings};
use crate::settings::{Ceiling, Checked, Setting, listed, setting, show_bytes};
use crate::types::ShownSettings;
use crate::{Error, Result, SqlState};

/// What texts of settings may take together.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// How many statements and cursors may have names.
const NAMES_MAX: usize = 10_000;
/// What texts of statements with names may take together.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// The most, or the least, that the settings of a connection may say, whoever sets them: see
/// [`Database::connect_within`](crate::Database::connect_within). `None`: no ceiling.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let ceilings = cairndb::Ceilings { work_mem: Some(64 << 20), ..db.ceilings() };
/// let conn = db.connect_within(&ceilings, &[])?;
/// conn.execute("SET work_mem = '32MB'", ())?;
/// assert_eq!(conn.execute("SET work_mem = '1GB'", ()).unwrap_err().sqlstate().as_str(), "22023");
/// assert_eq!(conn.execute("SET synchronous_commit = off", ()).unwrap_err().sqlstate().as_str(), "42501");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Bytes, of `work_mem`.
    pub work_mem: Option<usize>,
    /// Bytes, of `statement_mem`.
    pub statement_mem: Option<usize>,
    /// Bytes, of `temp_file_limit`.
    pub temp_file_limit: Option<u64>,
    /// Bytes, of `temp_table_limit`.
    pub temp_table_limit: Option<u64>,
    /// Of `statement_timeout`, which then can not be turned off; and so of the other times.
    pub statement_timeout: Option<Duration>,
    /// Of `transaction_timeout`.
    pub transaction_timeout: Option<Duration>,
    /// Of `idle_in_transaction_session_timeout`.
    pub idle_in_transaction_session_timeout: Option<Duration>,
    /// Of `idle_session_timeout`.
    pub idle_session_timeout: Option<Duration>,
    /// How many statements PREPARE may have made, and how many cursors DECLARE, that are there at a time.
    pub names: Option<usize>,
    /// What commits promise at least (`durability`, `synchronous_commit`).
    pub durability: Option<Durability>,
    /// The connection reads only: its transactions can not be made READ WRITE.
    pub reads_only: bool,
}

impl Ceilings {
    /// What the options of a database give to each connection: memory and durability as they say.
    pub(crate) fn of(options: &Options) -> Ceilings {
        let limits = Limits::of(options);
        Ceilings {
            work_mem: Some(limits.work_mem),
            statement_mem: Some(limits.statement_mem),
            temp_file_limit: limits.temp_file_limit,
            temp_table_limit: Some(limits.temp_table_limit),
            names: Some(NAMES_MAX),
            durability: Some(options.durability),
            ..Ceilings::default()
        }
    }

    /// SQLSTATE 22023, 42501 or 54000 where what this setting has become is beyond them.
    pub(super) fn check(&self, name: &str, settings: &Settings) -> Result<()> {
        match setting(name).map_or(Ceiling::Text, |of| of.ceiling) {
            Ceiling::Most => match (self.most(name), settings.value(name)) {
                (Some(most), Some(value)) if is_beyond(&value, &most) => Err(beyond(name, &value, &most)),
                _ => Ok(()),
            },
            Ceiling::Promise => self.check_durability(name, settings),
            Ceiling::Reading if self.reads_only && !settings.default_read_only => Err(reads_only()),
            Ceiling::Default if settings.shown(name) != setting(name).and_then(Setting::default_shown) => {
                Err(denied(name))
            }
            Ceiling::Free | Ceiling::Text | Ceiling::Reading | Ceiling::Default => check_texts(name, settings),
        }
    }

    /// The ceiling of a setting that has one.
    fn most(&self, name: &str) -> Option<Checked> {
        let bytes = |most: Option<u64>| most.map(|most| Checked::Bytes(Some(most)));
        let time = |most: Option<Duration>| most.map(|most| Checked::Time(Some(most)));
        match name {
            "work_mem" => bytes(self.work_mem.map(|bytes| bytes as u64)),
            "statement_mem" => bytes(self.statement_mem.map(|bytes| bytes as u64)),
            "temp_file_limit" => bytes(self.temp_file_limit),
            "temp_table_limit" => bytes(self.temp_table_limit),
            "statement_timeout" => time(self.statement_timeout),
            "transaction_timeout" => time(self.transaction_timeout),
            "idle_in_transaction_session_timeout" => time(self.idle_in_transaction_session_timeout),
            "idle_session_timeout" => time(self.idle_session_timeout),
            _ => None,
        }
    }

    fn check_durability(&self, name: &str, settings: &Settings) -> Result<()> {
        match self.durability {
            Some(least) if strength(settings.durability_now()) < strength(least) => {
                let detail = format!("What commits promise here is at least {}.", Settings::durability_shown(least));
                Err(denied(name).with_detail(detail))
            }
            _ => Ok(()),
        }
    }

    /// Brings values within them that were not set by anybody.
    pub(super) fn apply(&self, settings: &mut Settings) {
        for of in listed().iter().filter(|of| of.ceiling == Ceiling::Most) {
            let (most, place) = (self.most(of.name), settings.place(of.name));
            if let (Some(most), Some(place)) = (most, place)
                && is_beyond(&place.get(), &most)
            {
                // (A ceiling is of the kind of what it is for.)
                let _ = place.put(most);
            }
        }
        let said = settings.durability_now();
        if let Some(least) = self.durability.filter(|least| strength(said) < strength(*least)) {
            settings.durability = Some(least);
        }
        settings.default_read_only |= self.reads_only;
    }
}

impl Settings {
    /// These, of a session that has these ceilings.
    pub(super) fn under(mut self, ceilings: Option<Arc<Ceilings>>) -> Settings {
        if let Some(ceilings) = &ceilings {
            ceilings.apply(&mut self);
        }
        self.ceilings = ceilings;
        self
    }

    /// SQLSTATE 53400 for one more of what has names, where there are so many, with so much text.
    pub(super) fn check_names(&self, what: &str, there: usize, bytes: usize) -> Result<()> {
        let Some(most) = self.ceilings.as_ref().and_then(|ceilings| ceilings.names) else { return Ok(()) };
        if there < most && bytes <= STATEMENT_BYTES_MAX {
            return Ok(());
        }
        let message = format!("too many {what}: {there} are there already");
        let hint = "Close those that are not needed any more, or DISCARD ALL.";
        Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint(hint))
    }

    /// SQLSTATE 42501 for who would write and may only read.
    pub(super) fn check_write(&self) -> Result<()> {
        match &self.ceilings {
            Some(ceilings) if ceilings.reads_only => Err(reads_only()),
            _ => Ok(()),
        }
    }
}

/// No limit is beyond any.
fn is_beyond(value: &Checked, most: &Checked) -> bool {
    match (value, most) {
        (Checked::Bytes(value), Checked::Bytes(Some(most))) => value.is_none_or(|value| value > *most),
        (Checked::Time(value), Checked::Time(Some(most))) => value.is_none_or(|value| value > *most),
        _ => false,
    }
}

/// How much they promise; what only says how writes are shared is no difference.
fn strength(of: Durability) -> u8 {
    match of {
        Durability::Full | Durability::Group => 2,
        Durability::Interval => 1,
        Durability::Off => 0,
    }
}

const HINT: &str = "Who serves the database sets the ceiling.";

fn beyond(name: &str, value: &Checked, most: &Checked) -> Error {
    // (What says that there is no limit is below all others, and beyond each.)
    let least = match most {
        Checked::Time(_) => "1us".to_owned(),
        _ => setting(name).and_then(|of| of.check(of.least).ok()).map_or("0".to_owned(), |least| least.to_string()),
    };
    let least = if least.starts_with('-') { "0" } else { &least };
    let message = format!("{value} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(HINT)
}

fn denied(name: &str) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to set parameter \"{name}\""))
        .with_hint(HINT)
}

fn reads_only() -> Error {
    let message = "permission denied to set transaction read-write mode";
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_hint("This user may only read.")
}

/// SQLSTATE 54000: what is kept as it was said is not for keeping much.
fn check_texts(name: &str, settings: &Settings) -> Result<()> {
    let others: usize = settings.others.iter().map(|(name, value)| name.len() + value.len()).sum();
    let path = if name == "search_path" { settings.shown(name).map_or(0, |path| path.len()) } else { 0 };
    if others.max(path) <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let message = format!("parameter \"{name}\" is too long");
    let detail = format!("Texts of settings may take {} together.", show_bytes(TEXT_BYTES_MAX as u64));
    Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_may_have_a_ceiling_has_one() {
        let (bytes, time) = (Some(1 << 20), Some(Duration::from_secs(1)));
        let all = Ceilings {
            work_mem: Some(1 << 20),
            statement_mem: Some(1 << 20),
            temp_file_limit: bytes,
            temp_table_limit: bytes,
            statement_timeout: time,
            transaction_timeout: time,
            idle_in_transaction_session_timeout: time,
            idle_session_timeout: time,
            ..Ceilings::default()
        };
        let fresh = Settings::of(&crate::Database::open_in_memory().unwrap().shared);
        let within = fresh.clone().under(Some(Arc::new(all.clone())));
        for of in listed() {
            assert_eq!(all.most(of.name).is_some(), of.ceiling == Ceiling::Most, "{}", of.name);
            if of.ceiling == Ceiling::Most {
                assert!(all.check(of.name, &fresh).is_err(), "{} is beyond", of.name);
                all.check(of.name, &within).unwrap();
            }
        }
    }
}

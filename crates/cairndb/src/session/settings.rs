//! SET, SHOW, RESET and DISCARD.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use cairn_storage::Durability;

use super::Rows;
use super::Session;
use super::ceilings::Ceilings;
use super::execute::Executed;
use super::limits::{Limits, show_bytes, size};
use super::sequences::SessionSequences;
use super::session_state::Settings;
use super::shared::Shared;
use crate::catalog::{SearchPath, default_path};
use crate::command::{ChannelCommand, Discard, SessionCommand};
use crate::functions::is_utf8_encoding as is_utf8;
use crate::notice::{DEFAULT_LEVEL, LEVELS};
use crate::plan::{Field, OptimizerOptions};
use crate::system::{Setting, listed_settings};
use crate::types::datetime::Zone;
use crate::types::{DataType, ShownSettings, TextStyle, Value, ZoneName};
use crate::{Error, Result, SqlState};

/// What a setting without effect takes.
#[derive(Clone, Copy)]
enum Accepts {
    Anything,
    Boolean,
    /// UTF-8 by one of its names.
    Encoding,
    /// The only way to keep tables.
    AccessMethod,
    /// One of these, by what it begins with; others would mean something that is not done here.
    Only(&'static [&'static str]),
    /// A number from the first to the second.
    Number(f64, f64),
    /// A whole number likewise.
    Integer(i64, i64),
    /// Memory: a number with a unit, or of pieces of so many kilobytes.
    Size(u64),
    /// One of the first; PostgreSQL takes all of the second, and nothing else.
    OneOf(&'static [&'static str], &'static [&'static str]),
}

/// Any of them is SERIALIZABLE here, which keeps what each promises.
const ISOLATION_LEVELS: &[&str] = &["serializable", "repeatable read", "read committed", "read uncommitted"];
const INT_MAX: i64 = i32::MAX as i64;
const EXCLUSIONS: &[&str] = &["partition", "on", "off"];
const PARALLEL_MODES: &[&str] = &["off", "on", "regress"];
const PLAN_CACHE_MODES: &[&str] = &["auto", "force_generic_plan", "force_custom_plan"];

/// Settings that dumps and drivers set and whose effect is none here: kept, and shown. With what SHOW says before. Those that
/// tell PostgreSQL's planner which ways to go never change what a query answers. (Some of them mean something here: `OptimizerOptions::switch`.)
const WITHOUT_EFFECT: &[(&str, &str, Accepts)] = &[
    ("application_name", "", Accepts::Anything),
    ("check_function_bodies", "on", Accepts::Boolean),
    ("client_encoding", "UTF8", Accepts::Encoding),
    ("constraint_exclusion", "partition", Accepts::OneOf(EXCLUSIONS, EXCLUSIONS)),
    ("cpu_index_tuple_cost", "0.005", Accepts::Number(0.0, f64::MAX)),
    ("cpu_operator_cost", "0.0025", Accepts::Number(0.0, f64::MAX)),
    ("cpu_tuple_cost", "0.01", Accepts::Number(0.0, f64::MAX)),
    ("cursor_tuple_fraction", "0.1", Accepts::Number(0.0, 1.0)),
    ("default_statistics_target", "100", Accepts::Integer(1, 10_000)),
    ("default_table_access_method", "heap", Accepts::AccessMethod),
    ("default_tablespace", "", Accepts::Only(&["", "pg_default"])),
    ("default_toast_compression", "pglz", Accepts::Only(&["pglz", "lz4"])),
    ("default_transaction_deferrable", "off", Accepts::Boolean),
    ("default_transaction_isolation", "serializable", Accepts::OneOf(ISOLATION_LEVELS, ISOLATION_LEVELS)),
    ("default_with_oids", "off", Accepts::Only(&["off", "false", "0", "no"])),
    ("effective_cache_size", "4GB", Accepts::Size(8)),
    ("effective_io_concurrency", "1", Accepts::Integer(0, 1000)),
    ("enable_async_append", "on", Accepts::Boolean),
    ("enable_bitmapscan", "on", Accepts::Boolean),
    ("enable_gathermerge", "on", Accepts::Boolean),
    ("enable_hashagg", "on", Accepts::Boolean),
    ("enable_incremental_sort", "on", Accepts::Boolean),
    ("enable_indexonlyscan", "on", Accepts::Boolean),
    ("enable_material", "on", Accepts::Boolean),
    ("enable_memoize", "on", Accepts::Boolean),
    ("enable_nestloop", "on", Accepts::Boolean),
    ("enable_parallel_append", "on", Accepts::Boolean),
    ("enable_parallel_hash", "on", Accepts::Boolean),
    ("enable_partition_pruning", "on", Accepts::Boolean),
    ("enable_partitionwise_aggregate", "off", Accepts::Boolean),
    ("enable_partitionwise_join", "off", Accepts::Boolean),
    ("enable_seqscan", "on", Accepts::Boolean),
    ("enable_sort", "on", Accepts::Boolean),
    ("enable_tidscan", "on", Accepts::Boolean),
    ("escape_string_warning", "on", Accepts::Boolean),
    ("force_parallel_mode", "off", Accepts::OneOf(PARALLEL_MODES, PARALLEL_MODES)),
    ("from_collapse_limit", "8", Accepts::Integer(1, INT_MAX)),
    ("geqo", "on", Accepts::Boolean),
    ("geqo_effort", "5", Accepts::Integer(1, 10)),
    ("geqo_threshold", "12", Accepts::Integer(2, INT_MAX)),
    ("hash_mem_multiplier", "2", Accepts::Number(1.0, 1000.0)),
    ("jit", "on", Accepts::Boolean),
    ("jit_above_cost", "100000", Accepts::Number(-1.0, f64::MAX)),
    ("jit_inline_above_cost", "500000", Accepts::Number(-1.0, f64::MAX)),
    ("jit_optimize_above_cost", "500000", Accepts::Number(-1.0, f64::MAX)),
    ("join_collapse_limit", "8", Accepts::Integer(1, INT_MAX)),
    ("maintenance_io_concurrency", "10", Accepts::Integer(0, 1000)),
    ("maintenance_work_mem", "64MB", Accepts::Size(1)),
    ("max_parallel_maintenance_workers", "2", Accepts::Integer(0, 1024)),
    ("max_parallel_workers", "8", Accepts::Integer(0, 1024)),
    ("max_parallel_workers_per_gather", "2", Accepts::Integer(0, 1024)),
    ("min_parallel_index_scan_size", "512kB", Accepts::Size(8)),
    ("min_parallel_table_scan_size", "8MB", Accepts::Size(8)),
    ("parallel_leader_participation", "on", Accepts::Boolean),
    ("parallel_setup_cost", "1000", Accepts::Number(0.0, f64::MAX)),
    ("parallel_tuple_cost", "0.1", Accepts::Number(0.0, f64::MAX)),
    ("plan_cache_mode", "auto", Accepts::OneOf(PLAN_CACHE_MODES, PLAN_CACHE_MODES)),
    ("quote_all_identifiers", "off", Accepts::Boolean),
    ("random_page_cost", "4", Accepts::Number(0.0, f64::MAX)),
    ("row_security", "on", Accepts::Boolean),
    ("seq_page_cost", "1", Accepts::Number(0.0, f64::MAX)),
    ("session_replication_role", "origin", Accepts::OneOf(&["origin", "local"], &["origin", "replica", "local"])),
    ("standard_conforming_strings", "on", Accepts::Only(&["on", "true", "1", "yes"])),
    ("synchronize_seqscans", "on", Accepts::Boolean),
    ("temp_buffers", "8MB", Accepts::Size(8)),
    ("transaction_deferrable", "off", Accepts::Boolean),
    ("xmlbinary", "base64", Accepts::OneOf(&["base64", "hex"], &["base64", "hex"])),
    ("xmloption", "content", Accepts::Only(&["content", "document"])),
];

impl Accepts {
    /// The value as SHOW says it; SQLSTATE 22023, or 0A000 where PostgreSQL would do something else from then on.
    fn check(self, name: &str, value: &str) -> Result<String> {
        let same = |known: &&&str| known.eq_ignore_ascii_case(value.trim());
        match self {
            Accepts::Anything => Ok(value.to_owned()),
            Accepts::Boolean => Ok(if boolean(name, value)? { "on" } else { "off" }.to_owned()),
            Accepts::Encoding => encoding(value),
            Accepts::AccessMethod if same(&&"heap") => Ok("heap".to_owned()),
            Accepts::AccessMethod => {
                Err(invalid(name, value).with_detail(format!("Table access method \"{value}\" does not exist.")))
            }
            Accepts::Only(known) if known.iter().any(|one| same(&one)) => Ok(match name {
                "standard_conforming_strings" => "on".to_owned(),
                "default_with_oids" => "off".to_owned(),
                _ => value.to_owned(),
            }),
            Accepts::Number(least, most) => {
                let number = value.trim().parse().ok().filter(|number: &f64| !number.is_nan());
                within(name, number.ok_or_else(|| invalid(name, value))?, (least, most))
            }
            Accepts::Integer(least, most) => {
                within(name, value.trim().parse().map_err(|_| invalid(name, value))?, (least, most))
            }
            Accepts::Size(piece) => size(name, value, piece),
            Accepts::OneOf(_, all) if !all.iter().any(|one| same(&one)) => {
                let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
                let hint = format!("Available values: {}.", all.join(", "));
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint))
            }
            Accepts::OneOf(known, _) if known.iter().any(|one| same(&one)) => Ok(value.trim().to_ascii_lowercase()),
            Accepts::Only(known) | Accepts::OneOf(known, _) => {
                let hint = match name {
                    "standard_conforming_strings" => {
                        "Backslashes are no escapes in '...'; write E'...' where they are to be.".to_owned()
                    }
                    _ => format!("It is always {}.", known.first().filter(|one| !one.is_empty()).unwrap_or(&"empty")),
                };
                Err(Error::unsupported(format!("{name} = '{value}'")).with_hint(hint))
            }
        }
    }
}

/// A name with a dot, as applications name what they keep in a session.
fn is_applications(name: &str) -> bool {
    let is_identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    name.contains('.') && name.split('.').all(is_identifier)
}

/// The largest `batch_rows`.
const BATCH_ROWS_MAX: usize = 1 << 16;

/// Settings of which there is one value.
const FIXED: &[(&str, &str)] = &[
    ("integer_datetimes", "on"),
    ("max_identifier_length", "63"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0 (CairnDB)"),
    ("server_version_num", "150000"),
    ("transaction_isolation", "serializable"),
];

impl Settings {
    pub(crate) fn of(shared: &Shared) -> Settings {
        let options = &shared.options;
        Settings {
            time_zone: options.time_zone.as_deref().unwrap_or("UTC").into(),
            search_path: default_path(),
            style: TextStyle::default(),
            statement_timeout: options.statement_timeout,
            lock_timeout: None,
            default_read_only: false,
            read_only: None,
            min_messages: DEFAULT_LEVEL,
            limits: Limits::of(options),
            durability: None,
            optimizer: OptimizerOptions::default(),
            default_durability: options.durability,
            cache_bytes: shared.store.cache_bytes() as u64,
            others: BTreeMap::new(),
            ceilings: None,
        }
    }

    /// `value`: `None` for DEFAULT. What is beyond the session's ceilings is not set.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>, defaults: &Settings) -> Result<()> {
        let Some(ceilings) = self.ceilings.clone() else { return self.assign(name, value, defaults) };
        let mut changed = self.clone();
        changed.assign(name, value, defaults)?;
        ceilings.check(name, &changed)?;
        *self = changed;
        Ok(())
    }

    fn assign(&mut self, name: &str, value: Option<&str>, defaults: &Settings) -> Result<()> {
        match name {
            "timezone" => self.time_zone = value.map_or(Ok(defaults.time_zone.clone()), time_zone)?,
            "search_path" => {
                let path = value.map_or(Ok(defaults.search_path.clone()), search_path)?;
                self.search_path = path.in_session(&self.search_path);
            }
            "statement_timeout" => {
                self.statement_timeout = value.map_or(Ok(defaults.statement_timeout), |value| duration(name, value))?;
            }
            _ if TextStyle::SETTINGS.contains(&name) => self.style.set(name, value, &defaults.style)?,
            "lock_timeout" => {
                self.lock_timeout = value.map_or(Ok(defaults.lock_timeout), |value| duration(name, value))?;
            }
            "default_transaction_read_only" => {
                self.default_read_only = value.map_or(Ok(defaults.default_read_only), |value| boolean(name, value))?;
            }
            // Without a transaction it says what the statement's own would be, which is over with it.
            "transaction_read_only" => {
                value.map(|value| boolean(name, value)).transpose()?;
            }
            "transaction_isolation" => {
                let accepts = Accepts::OneOf(ISOLATION_LEVELS, ISOLATION_LEVELS);
                value.map(|value| accepts.check(name, value)).transpose()?;
            }
            "client_min_messages" => self.min_messages = value.map_or(Ok(defaults.min_messages), min_messages)?,
            "durability" => {
                self.durability = value.map_or(Ok(defaults.durability), |said| durability(said).map(Some))?
            }
            "synchronous_commit" => {
                self.durability = value.map_or(Ok(defaults.durability), |said| synchronous_commit(said).map(Some))?;
            }
            "batch_rows" => {
                self.optimizer.batch_rows =
                    value.map_or(Ok(defaults.optimizer.batch_rows), |value| batch_rows(name, value))?;
            }
            _ if self.limits.set(name, value, &defaults.limits)? => {}
            _ if let Some((_, _, accepts)) = WITHOUT_EFFECT.iter().find(|(known, ..)| *known == name) => {
                self.set_other(name, value.map(|value| accepts.check(name, value)).transpose()?, defaults);
            }
            // The application's own.
            _ if is_applications(name) => self.set_other(name, value.map(str::to_owned), defaults),
            _ if name == "cache_bytes" || FIXED.iter().any(|(known, _)| *known == name) => {
                let message = format!("parameter \"{name}\" cannot be changed");
                return Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
            }
            _ if name.contains('.') => {
                let message = format!("invalid configuration parameter name \"{name}\"");
                return Err(Error::new(SqlState::INVALID_NAME, message)
                    .with_detail("Custom parameter names must be two or more simple identifiers separated by dots."));
            }
            _ => {
                let switch = self.optimizer.switch(name).ok_or_else(|| unrecognized(name))?;
                let default = defaults.optimizer.clone().switch(name).is_none_or(|switch| *switch);
                *switch = value.map_or(Ok(default), |value| boolean(name, value))?;
            }
        }
        Ok(())
    }

    /// `None`: to the value before; an application's own is empty from then on.
    fn set_other(&mut self, name: &str, value: Option<String>, defaults: &Settings) {
        match value.or_else(|| defaults.others.get(name).cloned()) {
            Some(value) => drop(self.others.insert(name.to_owned(), value)),
            None if is_applications(name) => {
                if let Some(known) = self.others.get_mut(name) {
                    known.clear();
                }
            }
            None => drop(self.others.remove(name)),
        }
    }
}

impl Settings {
    /// As SHOW says it.
    pub(super) fn durability_shown(of: Durability) -> String {
        format!("{of:?}").to_lowercase()
    }
}

impl ShownSettings for Settings {
    fn shown_with(&self, name: &str, value: &str) -> Result<String> {
        let mut changed = self.clone();
        // (The defaults are asked for where no value is said.)
        changed.set(name, Some(value), self)?;
        Ok(changed.shown(name).unwrap_or_default())
    }

    fn shown(&self, name: &str) -> Option<String> {
        let on = |set: bool| if set { "on" } else { "off" }.to_string();
        Some(match name {
            "timezone" => self.time_zone.to_string(),
            "search_path" => self.search_path.to_string(),
            "statement_timeout" => self.statement_timeout.map_or("0".to_string(), |limit| show_duration(&limit)),
            _ if TextStyle::SETTINGS.contains(&name) => self.style.shown(name),
            "lock_timeout" => self.lock_timeout.map_or("0".to_string(), |limit| show_duration(&limit)),
            "default_transaction_read_only" => on(self.default_read_only),
            "transaction_read_only" => on(self.read_only.unwrap_or(self.default_read_only)),
            "client_min_messages" => self.min_messages.to_string(),
            "durability" => Settings::durability_shown(self.durability.unwrap_or(self.default_durability)),
            "synchronous_commit" => on(match self.durability.unwrap_or(self.default_durability) {
                Durability::Full | Durability::Group => true,
                Durability::Interval | Durability::Off => false,
            }),
            "batch_rows" => self.optimizer.batch_rows.to_string(),
            _ if self.others.contains_key(name) => self.others.get(name)?.clone(),
            // What was set is kept; nothing else but the database's own cache is known.
            "cache_bytes" | "effective_cache_size" => show_bytes(self.cache_bytes),
            _ if self.limits.show(name).is_some() => self.limits.show(name)?,
            _ => {
                let without_effect = WITHOUT_EFFECT.iter().map(|(known, shown, _)| (*known, *shown));
                match without_effect.chain(FIXED.iter().copied()).find(|(known, _)| *known == name) {
                    Some((_, shown)) => shown.to_string(),
                    None => on(*self.optimizer.clone().switch(name)?),
                }
            }
        })
    }
}

fn unrecognized(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

fn invalid(name: &str, value: &str) -> Error {
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The number as SHOW says it; SQLSTATE 22023 outside the bounds.
fn within<T: PartialOrd + std::fmt::Display>(name: &str, number: T, (least, most): (T, T)) -> Result<String> {
    if (&least..=&most).contains(&&number) {
        return Ok(number.to_string());
    }
    let message = format!("{number} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Texts are UTF-8 on both sides; SQLSTATE 0A000 for another encoding, 22023 for what is none.
fn encoding(value: &str) -> Result<String> {
    match is_utf8(value) {
        Some(true) => Ok("UTF8".to_owned()),
        Some(false) => {
            let hint = "Texts are UTF-8 here and in what clients send; convert_to() and convert_from() convert bytes.";
            Err(Error::unsupported(format!("client_encoding = '{value}'")).with_hint(hint))
        }
        None => Err(invalid("client_encoding", value)),
    }
}

/// PostgreSQL takes `debug` for `debug2`.
fn min_messages(value: &str) -> Result<&'static str> {
    let value = value.trim();
    let meant = if value.eq_ignore_ascii_case("debug") { "debug2" } else { value };
    let found = LEVELS.iter().find(|level| level.eq_ignore_ascii_case(meant)).copied();
    found.ok_or_else(|| {
        invalid("client_min_messages", value).with_hint(format!("Available values: {}.", LEVELS.join(", ")))
    })
}

fn durability(value: &str) -> Result<Durability> {
    Ok(match value.to_lowercase().as_str() {
        "full" => Durability::Full,
        "group" => Durability::Group,
        "interval" => Durability::Interval,
        "off" => Durability::Off,
        _ => {
            return Err(invalid("durability", value).with_hint("Available values: full, group, interval, off."));
        }
    })
}

/// PostgreSQL's names: whether a commit is durable when it is acknowledged. There are no standbys to wait for.
fn synchronous_commit(value: &str) -> Result<Durability> {
    const VALUES: [&str; 5] = ["local", "remote_write", "remote_apply", "on", "off"];
    let value = value.trim().to_lowercase();
    match boolean("synchronous_commit", &value) {
        Ok(false) => Ok(Durability::Interval),
        Ok(true) => Ok(Durability::Full),
        Err(_) if VALUES.contains(&value.as_str()) => Ok(Durability::Full),
        Err(_) => {
            let hint = format!("Available values: {}.", VALUES.join(", "));
            Err(invalid("synchronous_commit", &value).with_hint(hint))
        }
    }
}

/// A list of schemas, which need not be there.
fn search_path(value: &str) -> Result<Arc<SearchPath>> {
    let path = SearchPath::of(value).ok_or_else(|| invalid("search_path", value))?;
    Ok(if path == *default_path() { default_path() } else { Arc::new(path) })
}

/// A time zone that conversions know.
fn time_zone(value: &str) -> Result<ZoneName> {
    Zone::find(value).ok_or_else(|| invalid("TimeZone", value))?;
    Ok(if value.eq_ignore_ascii_case("utc") { "UTC" } else { value }.into())
}

fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => {
            let message = format!("parameter \"{name}\" requires a Boolean value");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// Rows per batch of an execution, for tests of what happens at the seams; 0: the default.
fn batch_rows(name: &str, value: &str) -> Result<usize> {
    value.parse().ok().filter(|rows| *rows <= BATCH_ROWS_MAX).ok_or_else(|| invalid(name, value))
}

/// Milliseconds, or a number with `us`, `ms`, `s`, `min`, `h` or `d`; 0: none.
pub(super) fn duration(name: &str, value: &str) -> Result<Option<Duration>> {
    let text = value.trim();
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| invalid(name, value))?;
    let micros_per_unit: u64 = match text[digits..].trim() {
        "us" => 1,
        "" | "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return Err(invalid(name, value)),
    };
    let micros = number.checked_mul(micros_per_unit).ok_or_else(|| invalid(name, value))?;
    Ok((micros > 0).then(|| Duration::from_micros(micros)))
}

pub(super) fn show_duration(limit: &Duration) -> String {
    match (limit.as_micros(), limit.as_millis()) {
        (_, millis) if millis > 0 && millis % 60_000 == 0 => format!("{}min", millis / 60_000),
        (_, millis) if millis > 0 && millis % 1000 == 0 => format!("{}s", millis / 1000),
        (micros, millis) if micros == millis * 1000 => format!("{millis}ms"),
        (micros, _) => format!("{micros}us"),
    }
}

impl Session {
    pub(crate) fn session_command(&self, command: &SessionCommand) -> Result<Executed> {
        use SessionCommand as S;
        match command {
            S::Set { name, value, local } => self.change_setting(name, value.as_deref(), *local),
            S::SetTransaction { read_only } => self.set_transaction(*read_only),
            S::SetCharacteristics { read_only, local } => match read_only {
                Some(read_only) => {
                    let value = if *read_only { "on" } else { "off" };
                    self.change_setting("default_transaction_read_only", Some(value), *local)
                }
                None => Ok(Executed::tag("SET")),
            },
            S::Show { name } => self.show(name),
            S::ShowAll => self.show_all(),
            S::Reset { name } => {
                self.change_setting(name, None, false)?;
                Ok(Executed::tag("RESET"))
            }
            S::ResetAll => {
                let first = self.first_settings();
                self.change_settings(|settings| {
                    let path = first.search_path.clone().in_session(&settings.search_path);
                    *settings = Settings { search_path: path, ..Settings::clone(&first) };
                })?;
                Ok(Executed::tag("RESET"))
            }
            S::Discard(what) => self.discard(*what),
            S::Checkpoint => {
                self.handle.store.checkpoint()?;
                Ok(Executed::tag("CHECKPOINT"))
            }
        }
    }

    /// What RESET goes back to.
    fn first_settings(&self) -> Arc<Settings> {
        self.state.borrow().first_settings.clone()
    }

    /// The session begins with these settings, goes back to them, and goes never beyond these ceilings: of one that was just made.
    pub(crate) fn begin_within(&self, ceilings: &Ceilings, settings: &[(String, String)]) -> Result<()> {
        let defaults = Settings::of(&self.handle).under(Some(Arc::new(ceilings.clone())));
        let mut first = defaults.clone();
        settings.iter().try_for_each(|(name, value)| first.set(&name.to_lowercase(), Some(value), &defaults))?;
        let mut state = self.state_mut()?;
        state.settings = Arc::new(first);
        state.first_settings = state.settings.clone();
        self.channels().begins_with(state.settings.clone());
        self.channels().locks.limit(ceilings.names.unwrap_or(usize::MAX));
        Ok(())
    }

    fn set_transaction(&self, read_only: Option<bool>) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        match (state.transaction.is_some(), read_only) {
            (true, Some(read_only)) => {
                if !read_only {
                    state.settings.check_write()?;
                }
                state.set_read_only(read_only);
            }
            (true, None) => {}
            (false, _) => {
                drop(state);
                let message = "SET TRANSACTION can only be used in transaction blocks";
                self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            }
        }
        Ok(Executed::tag("SET"))
    }

    fn discard(&self, what: Discard) -> Result<Executed> {
        if what == Discard::All {
            if self.in_transaction() {
                let message = "DISCARD ALL cannot run inside a transaction block";
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
            }
            self.named().clear();
            self.close_cursors()?;
            self.channel_command(&ChannelCommand::Unlisten(None))?;
        }
        if matches!(what, Discard::All | Discard::Plans) {
            self.forget_plans();
        }
        if matches!(what, Discard::All | Discard::Sequences) {
            *self.sequences.lock().unwrap_or_else(PoisonError::into_inner) = SessionSequences::default();
        }
        if matches!(what, Discard::All | Discard::Temporary) {
            self.discard_temporary()?;
        }
        if what == Discard::All {
            let first = self.first_settings();
            let mut state = self.state.borrow_mut();
            let path = first.search_path.clone().in_session(&SearchPath {
                temporary: state.settings.search_path.temporary.clone(),
                ..SearchPath::default()
            });
            state.settings = Arc::new(Settings { search_path: path, ..Settings::clone(&first) });
        }
        Ok(Executed::tag("DISCARD"))
    }

    fn change_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<Executed> {
        if let ("transaction_read_only", Some(value), true) = (name, value, self.in_transaction()) {
            return self.set_transaction(Some(boolean(name, value)?));
        }
        let defaults = self.first_settings();
        let mut state = self.state.borrow_mut();
        if local && state.transaction.is_none() {
            let message = "SET LOCAL can only be used in transaction blocks";
            self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            return Ok(Executed::tag("SET"));
        }
        if let (Some(kept), false) = (state.kept(), local) {
            kept.set(name, value, &defaults)?;
            // The same path is one object, by which plans know it.
            let kept = kept.search_path.clone();
            let settings = Arc::make_mut(&mut state.settings);
            settings.set(name, value, &defaults)?;
            if *kept == *settings.search_path {
                settings.search_path = kept;
            }
            return Ok(Executed::tag("SET"));
        }
        Arc::make_mut(&mut state.settings).set(name, value, &defaults)?;
        Ok(Executed::tag("SET"))
    }

    /// Does what calls of `set_config()` asked for in the statement that has come to its end.
    pub(super) fn settle_settings(&self) -> Result<()> {
        for change in self.channels().take_settings() {
            // What is local to a transaction that ended with the statement is gone when anybody looks.
            if !change.local || self.in_transaction() {
                self.change_setting(&change.name, Some(&change.value), change.local)?;
            }
        }
        Ok(())
    }

    fn show_all(&self) -> Result<Executed> {
        let settings = &self.state.borrow().settings;
        let fields = ["name", "setting", "description"];
        let fields = fields.map(|name| Field { name: name.to_owned(), data_type: DataType::Text });
        let row = |of: Setting| {
            let shown = settings.shown(&of.name.to_ascii_lowercase())?;
            Some(vec![Value::text(of.name), Value::text(shown), Value::text(of.description)])
        };
        Ok(Executed::rows("SHOW", Rows::buffered(fields.into(), listed_settings().filter_map(row).collect())))
    }

    fn show(&self, name: &str) -> Result<Executed> {
        let shown = self.state.borrow().settings.shown(name).ok_or_else(|| unrecognized(name))?;
        let fields = vec![Field { name: super::serving::shown_name(name).to_owned(), data_type: DataType::Text }];
        Ok(Executed::rows("SHOW", Rows::buffered(fields, vec![vec![Value::text(shown)]])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units_and_zero_means_none() {
        assert_eq!(duration("t", "250").unwrap(), Some(Duration::from_millis(250)));
        assert_eq!(duration("t", "5s").unwrap(), Some(Duration::from_secs(5)));
        assert_eq!(duration("t", "2 min").unwrap(), Some(Duration::from_secs(120)));
        assert_eq!(duration("t", "0").unwrap(), None);
        assert_eq!(duration("t", "5 parsecs").unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
        assert!(duration("t", "99999999999999999999").is_err());
        assert!(duration("t", "9999999999999999 d").is_err());
        assert_eq!(show_duration(&Duration::from_millis(90_000)), "90s");
    }

    #[test]
    fn every_setting_is_listed() {
        let listed: Vec<String> = listed_settings().map(|of| of.name.to_ascii_lowercase()).collect();
        let named = WITHOUT_EFFECT.iter().map(|(name, ..)| *name).chain(FIXED.iter().map(|(name, _)| *name));
        let all = named.chain(OptimizerOptions::SWITCHES.iter().copied()).chain(TextStyle::SETTINGS.iter().copied());
        let missing: Vec<&str> = all.filter(|name| !listed.iter().any(|listed| listed == name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let settings = Settings::of(&crate::Database::open_in_memory().unwrap().shared);
        assert!(listed.iter().all(|name| settings.shown(name).is_some()), "{listed:?}");
    }

    #[test]
    fn unknown_settings_are_refused() {
        let options = Settings {
            time_zone: "UTC".into(),
            search_path: default_path(),
            style: TextStyle::default(),
            statement_timeout: None,
            lock_timeout: None,
            default_read_only: false,
            read_only: None,
            min_messages: DEFAULT_LEVEL,
            limits: Limits::of(&crate::Options::default()),
            durability: None,
            optimizer: OptimizerOptions::default(),
            default_durability: Durability::Full,
            cache_bytes: 0,
            others: BTreeMap::new(),
            ceilings: None,
        };
        let mut settings = options.clone();
        let error = settings.set("shared_buffers", Some("1"), &options).unwrap_err();
        assert!(settings.set("max_parallel_workers", Some("-1"), &options).is_err());
        assert_eq!(error.sqlstate(), SqlState::UNDEFINED_OBJECT);
        settings.set("durability", Some("GROUP"), &options).unwrap();
        assert_eq!(settings.shown("durability").as_deref(), Some("group"));
        settings.set("synchronous_commit", Some("off"), &options).unwrap();
        assert_eq!(settings.shown("durability").as_deref(), Some("interval"));
        settings.set("enable_hashjoin", Some("off"), &options).unwrap();
        assert!(!settings.optimizer.hash_joins);
        settings.set("batch_rows", Some("3"), &options).unwrap();
        assert_eq!(settings.shown("batch_rows").as_deref(), Some("3"));
        assert!(settings.set("batch_rows", Some("-1"), &options).is_err());
    }
}

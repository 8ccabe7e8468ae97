//! The values of a session's settings: what each one is in force as.

mod commands;
mod place;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::Durability;

use super::ceilings::Ceilings;
use super::limits::Limits;
use super::shared::Shared;
use crate::catalog::{SearchPath, default_path};
use crate::notice::DEFAULT_LEVEL;
use crate::plan::OptimizerOptions;
use crate::settings::{Checked, invalid, setting, show_bytes};
use crate::types::datetime::Zone;
use crate::types::{ShownSettings, TextStyle, ZoneName};
use crate::{Error, Result, SqlState};
pub(super) use commands::shown_name;

/// Settings that statements run under.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) time_zone: ZoneName,
    pub(crate) style: TextStyle,
    pub(crate) search_path: Arc<SearchPath>,
    pub(crate) statement_timeout: Option<Duration>,
    /// How long a statement waits for a lock at most.
    pub(crate) lock_timeout: Option<Duration>,
    /// Whether transactions that do not say it are READ ONLY.
    pub(crate) default_read_only: bool,
    /// Whether the open one is, where that is not the default.
    pub(crate) read_only: Option<bool>,
    /// What of its notices the client hears.
    pub(crate) min_messages: &'static str,
    pub(crate) limits: Limits,
    /// `None`: the database's.
    pub(crate) durability: Option<Durability>,
    pub(crate) optimizer: OptimizerOptions,
    /// The database's, for what does not say its own.
    pub(crate) default_durability: Durability,
    /// What the database's cache takes at most.
    pub(crate) cache_bytes: u64,
    /// Settings that change nothing here, or are the application's own, where they were set.
    pub(crate) others: BTreeMap<String, String>,
    /// Of a session whose statements come from others.
    pub(super) ceilings: Option<Arc<Ceilings>>,
}

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
        match setting(name) {
            Some(of) if !of.is_changeable() => {
                let message = format!("parameter \"{name}\" cannot be changed");
                Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
            }
            Some(of) => match value {
                Some(value) => self.put(name, of.check(value)?),
                None => self.reset(name, defaults),
            },
            None if is_applications(name) => {
                match value.or_else(|| defaults.others.get(name).map(String::as_str)) {
                    Some(value) => drop(self.others.insert(name.to_owned(), value.to_owned())),
                    // It is empty from then on.
                    None => self.others.get_mut(name).into_iter().for_each(String::clear),
                }
                Ok(())
            }
            None if name.contains('.') => {
                let message = format!("invalid configuration parameter name \"{name}\"");
                Err(Error::new(SqlState::INVALID_NAME, message)
                    .with_detail("Custom parameter names must be two or more simple identifiers separated by dots."))
            }
            None => Err(unrecognized(name)),
        }
    }

    /// What a setting that means something here is in force as; others are kept as they are shown.
    fn put(&mut self, name: &str, value: Checked) -> Result<()> {
        if let Some(place) = self.place(name) {
            return place.put(value);
        }
        let shown = value.to_string();
        match name {
            "timezone" => self.time_zone = time_zone(&shown)?,
            "search_path" => self.search_path = search_path(&shown)?.in_session(&self.search_path),
            "durability" => self.durability = durability(&shown),
            "synchronous_commit" => self.durability = Some(synchronous_commit(&shown)),
            // Without a transaction it says what the statement's own would be, which is over with it.
            "transaction_read_only" | "transaction_isolation" => {}
            _ if TextStyle::SETTINGS.contains(&name) => self.style.set(name, &shown)?,
            _ => drop(self.others.insert(name.to_owned(), shown)),
        }
        Ok(())
    }

    fn reset(&mut self, name: &str, defaults: &Settings) -> Result<()> {
        match name {
            "search_path" => self.search_path = defaults.search_path.clone().in_session(&self.search_path),
            "durability" | "synchronous_commit" => self.durability = defaults.durability,
            _ => match defaults.value(name) {
                Some(value) => self.put(name, value)?,
                None => drop(self.others.remove(name)),
            },
        }
        Ok(())
    }

    /// `None`: nobody has set it, and what it means here is one thing only.
    pub(super) fn value(&self, name: &str) -> Option<Checked> {
        Some(match name {
            "timezone" => Checked::Text(self.time_zone.to_string()),
            "search_path" => Checked::Text(self.search_path.to_string()),
            "transaction_read_only" => Checked::Boolean(self.read_only.unwrap_or(self.default_read_only)),
            "durability" => Checked::Text(Settings::durability_shown(self.durability_now())),
            "synchronous_commit" => Checked::Boolean(match self.durability_now() {
                Durability::Full | Durability::Group => true,
                Durability::Interval | Durability::Off => false,
            }),
            _ if TextStyle::SETTINGS.contains(&name) => Checked::Text(self.style.shown(name)),
            _ => match self.others.get(name) {
                Some(value) => Checked::Text(value.clone()),
                None => self.clone().place(name)?.get(),
            },
        })
    }

    pub(super) fn durability_now(&self) -> Durability {
        self.durability.unwrap_or(self.default_durability)
    }

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
        if let Some(value) = self.value(name) {
            return Some(value.to_string());
        }
        match name {
            // What was set is kept; nothing else but the database's own cache is known.
            "cache_bytes" | "effective_cache_size" => Some(show_bytes(self.cache_bytes)),
            _ => setting(name)?.default_shown(),
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

fn unrecognized(name: &str) -> Error {
    let error = Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""));
    // What SHOW shows elsewhere.
    match name.to_ascii_lowercase().as_str() {
        "tables" => error.with_hint("Tables are listed by \\dt in the shell, and in information_schema.tables."),
        "databases" => {
            error.with_hint("The database that is open is current_database(); \\l in the shell says where it is.")
        }
        "schemas" => error.with_hint("Schemas are listed by \\dn in the shell, and in information_schema.schemata."),
        "indexes" | "indices" => error.with_hint("Indexes are listed by \\di in the shell, and in pg_indexes."),
        "views" => error.with_hint("Views are listed by \\dv in the shell, and in information_schema.views."),
        _ => error,
    }
}

fn durability(word: &str) -> Option<Durability> {
    const ALL: [Durability; 4] = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];
    ALL.into_iter().find(|of| Settings::durability_shown(*of) == word)
}

/// PostgreSQL's words: whether a commit is durable when it is acknowledged. There are no standbys to wait for.
fn synchronous_commit(word: &str) -> Durability {
    if word == "off" { Durability::Interval } else { Durability::Full }
}

/// A list of schemas, which need not be there.
fn search_path(value: &str) -> Result<Arc<SearchPath>> {
    let path = SearchPath::of(value).ok_or_else(|| invalid("search_path", value))?;
    Ok(if path == *default_path() { default_path() } else { Arc::new(path) })
}

/// A time zone that conversions know; a number is how many hours it is east of Greenwich.
fn time_zone(value: &str) -> Result<ZoneName> {
    if let Ok(hours) = value.trim_start().parse::<f64>() {
        // Beyond what a zone can be, whatever it is rounded to.
        let name = Zone::name_of_offset((hours * 3600.0) as i64).filter(|_| hours.is_finite());
        let out_of_range = || invalid("TimeZone", value).with_detail("UTC timezone offset is out of range.");
        return name.map(|name| name.as_str().into()).ok_or_else(out_of_range);
    }
    Zone::find(value).ok_or_else(|| invalid("TimeZone", value))?;
    Ok(if value.eq_ignore_ascii_case("utc") { "UTC" } else { value }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::LEVELS;
    use crate::settings::listed;

    fn fresh() -> Settings {
        Settings::of(&crate::Database::open_in_memory().unwrap().shared)
    }

    #[test]
    fn every_setting_is_shown_and_begins_as_the_table_says() {
        let settings = fresh();
        let of_the_database = ["cache_bytes", "effective_cache_size"];
        for of in listed() {
            let name = of.name.to_ascii_lowercase();
            let shown = settings.shown(&name).unwrap_or_else(|| panic!("{name} is not shown"));
            if !of_the_database.contains(&name.as_str()) {
                assert_eq!(Some(shown), of.default_shown(), "{name}");
            }
        }
        assert_eq!(setting("client_min_messages").unwrap().words, LEVELS);
    }

    #[test]
    fn every_setting_is_set_and_goes_back() {
        let defaults = fresh();
        for of in listed().iter().filter(|of| of.is_changeable()) {
            let name = of.name.to_ascii_lowercase();
            let mut settings = defaults.clone();
            settings
                .set(&name, Some(&defaults.shown(&name).unwrap()), &defaults)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(settings.shown(&name), defaults.shown(&name));
            settings.set(&name, None, &defaults).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(settings.shown(&name), defaults.shown(&name));
        }
    }

    #[test]
    fn unknown_settings_are_refused() {
        let defaults = fresh();
        let mut settings = defaults.clone();
        let error = settings.set("shared_buffers", Some("1"), &defaults).unwrap_err();
        assert!(settings.set("max_parallel_workers", Some("-1"), &defaults).is_err());
        assert_eq!(error.sqlstate(), SqlState::UNDEFINED_OBJECT);
        settings.set("durability", Some("GROUP"), &defaults).unwrap();
        assert_eq!(settings.shown("durability").as_deref(), Some("group"));
        settings.set("synchronous_commit", Some("off"), &defaults).unwrap();
        assert_eq!(settings.shown("durability").as_deref(), Some("interval"));
        settings.set("enable_hashjoin", Some("off"), &defaults).unwrap();
        assert!(!settings.optimizer.hash_joins);
        settings.set("batch_rows", Some("3"), &defaults).unwrap();
        assert_eq!(settings.shown("batch_rows").as_deref(), Some("3"));
        assert!(settings.set("batch_rows", Some("-1"), &defaults).is_err());
    }
}

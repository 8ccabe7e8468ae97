//! What a table's storage parameters say that means something here.

use super::change_feed::FeedOptions;
use super::clause::Clause;
use super::create_table::option_name;
use crate::{Error, Result, SqlState};

/// As far as it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableOptions {
    pub(crate) feed: FeedOptions,
    /// Whether its rows are documents.
    pub(crate) collection: Option<bool>,
}

const COLLECTION: &str = "collection";

impl TableOptions {
    /// `reset`: to what they are where nothing is said.
    pub(super) fn of(options: Clause<'_>, reset: bool) -> Result<TableOptions> {
        let mut said = TableOptions { feed: FeedOptions::of(options, reset)?, collection: None };
        for option in options.parts("storage_option").filter(|option| option_name(*option) == COLLECTION) {
            said.collection = Some(!reset && is_on(option)?);
        }
        Ok(said)
    }

    /// SQLSTATE 0A000 where a table that a query fills is to be more than a table.
    pub(super) fn refuse(options: Clause<'_>) -> Result<()> {
        let said = TableOptions::of(options, false)?;
        let (what, hint) = match said.collection {
            Some(_) => (
                "a collection of CREATE TABLE AS",
                "Say CREATE TABLE name () WITH (collection = on), then INSERT INTO name (id, doc) SELECT ...",
            ),
            None if said.is_said() => (
                "a change feed of CREATE TABLE AS",
                "Create the table, then say ALTER TABLE ... SET (change_feed = on).",
            ),
            None => return Ok(()),
        };
        Err(options.unsupported(what).with_hint(hint))
    }

    pub(crate) fn is_said(&self) -> bool {
        *self != TableOptions::default()
    }

    /// What is said of them, in few words.
    pub(crate) fn words(&self) -> &'static str {
        if self.collection.is_some() { "SET (collection)" } else { "SET (change_feed)" }
    }

    /// Whether the parameter is one of these.
    pub(super) fn have(name: &str) -> bool {
        name == COLLECTION || FeedOptions::NAMES.contains(&name)
    }
}

/// SQLSTATE 22023.
pub(super) fn invalid(option: Clause<'_>, kind: &str, value: Option<&str>) -> Error {
    let (name, value) = (option_name(option), value.unwrap_or_default());
    let message = format!("invalid value for {kind} option \"{name}\": {value}");
    option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Whether a parameter is set: it is, where it is only named.
pub(super) fn is_on(option: Clause<'_>) -> Result<bool> {
    let value = option.part("option_value").map(Clause::value_text);
    match value.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "yes" | "1") => Ok(true),
        Some("false" | "off" | "no" | "0") => Ok(false),
        _ => Err(invalid(option, "boolean", value.as_deref())),
    }
}

//! What a table's storage parameters say that means something here.

use super::change_feed::FeedOptions;
use super::clause::Clause;
use super::create_table::option_name;
use crate::catalog::RuleKind;
use crate::{Error, Result, SqlState};

/// As far as it is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableOptions {
    pub(crate) feed: FeedOptions,
    /// Whether its rows are documents.
    pub(crate) collection: Option<bool>,
    /// Rules of documents that are set, or reset.
    pub(crate) rules: Vec<(RuleKind, Option<String>)>,
}

const COLLECTION: &str = "collection";

impl TableOptions {
    /// `reset`: to what they are where nothing is said.
    pub(super) fn of(options: Clause<'_>, reset: bool) -> Result<TableOptions> {
        let feed = FeedOptions::of(options, reset)?;
        let mut said = TableOptions { feed, collection: None, rules: Vec::new() };
        for option in options.parts("storage_option") {
            let name = option_name(option);
            if name == COLLECTION {
                said.collection = Some(!reset && is_on(option)?);
            } else if let Some(kind) = rule_of(&name) {
                let text = option.part("option_value").map(Clause::value_text);
                let rule = match reset {
                    true => None,
                    false => Some(text.ok_or_else(|| invalid(option, "rule", None))?),
                };
                said.rules.push((kind, rule));
            }
        }
        Ok(said)
    }

    /// SQLSTATE 0A000 where a table that a query fills is to be more than a table.
    pub(super) fn refuse(options: Clause<'_>) -> Result<()> {
        let said = TableOptions::of(options, false)?;
        let (what, hint) = match said.is_of_documents() {
            true => (
                "a collection of CREATE TABLE AS",
                "Say CREATE TABLE name () WITH (collection = on), then INSERT INTO name (id, doc) SELECT ...",
            ),
            false if said.is_said() => (
                "a change feed of CREATE TABLE AS",
                "Create the table, then say ALTER TABLE ... SET (change_feed = on).",
            ),
            false => return Ok(()),
        };
        Err(options.unsupported(what).with_hint(hint))
    }

    pub(crate) fn is_said(&self) -> bool {
        *self != TableOptions::default()
    }

    /// What is said of them, in few words.
    pub(crate) fn words(&self) -> &'static str {
        if self.is_of_documents() { "SET (collection)" } else { "SET (change_feed)" }
    }

    fn is_of_documents(&self) -> bool {
        self.collection.is_some() || !self.rules.is_empty()
    }

    /// Whether the parameter is one of these.
    pub(super) fn have(name: &str) -> bool {
        name == COLLECTION || rule_of(name).is_some() || FeedOptions::NAMES.contains(&name)
    }
}

/// The rule that a parameter sets.
fn rule_of(name: &str) -> Option<RuleKind> {
    RuleKind::ALL.into_iter().find(|kind| kind.option() == name)
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

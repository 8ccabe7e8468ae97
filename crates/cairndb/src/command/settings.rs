//! SET, SHOW, RESET and DISCARD.

use cairn_parser::TokenKind;
use cairn_parser::token::quoted;

use super::clause::Clause;
use super::transaction::read_only;
use crate::catalog::ObjectName;
use crate::{Error, Result};

pub(super) const SEARCH_PATH: &str = "search_path";

/// A command about the session.
#[derive(Debug)]
pub(crate) enum SessionCommand {
    /// `value`: none for DEFAULT.
    Set {
        name: String,
        value: Option<String>,
        local: bool,
    },
    /// SET TRANSACTION: what it says of READ ONLY. Any isolation level is SERIALIZABLE here.
    SetTransaction {
        read_only: Option<bool>,
    },
    /// SET SESSION CHARACTERISTICS: what it says of READ ONLY.
    SetCharacteristics {
        read_only: Option<bool>,
        local: bool,
    },
    Show {
        name: String,
    },
    ShowAll,
    Reset {
        name: String,
    },
    ResetAll,
    Discard(Discard),
    /// What the log holds goes to the database file.
    Checkpoint,
    /// LOCK TABLE in the mode of who only reads, which waits for nobody: a transaction's state stays as it is anyway.
    LockToRead(Vec<ObjectName>),
}

/// What DISCARD forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discard {
    All,
    Plans,
    Sequences,
    /// The session's temporary relations.
    Temporary,
}

impl SessionCommand {
    pub(super) fn of(command: Clause<'_>) -> Result<SessionCommand> {
        match command.rule() {
            "set" => set(command),
            "show" if command.has(TokenKind::All) => Ok(SessionCommand::ShowAll),
            "show" => Ok(SessionCommand::Show { name: shown(command)? }),
            "reset" if command.has(TokenKind::All) => Ok(SessionCommand::ResetAll),
            "reset" => Ok(SessionCommand::Reset { name: shown(command)? }),
            "checkpoint" => Ok(SessionCommand::Checkpoint),
            "lock" if is_to_read(command) => Ok(SessionCommand::LockToRead(command.relations()?)),
            "lock" => Err(command.unsupported_words("", "LOCK TABLE")),
            "discard" => Ok(SessionCommand::Discard(discard(command))),
            other => Err(Error::internal(format!("{other} is not about the session"))),
        }
    }
}

fn is_to_read(command: Clause<'_>) -> bool {
    let mode = command.part("lock_mode");
    mode.is_some_and(|mode| mode.has(TokenKind::Access) && mode.has(TokenKind::Share))
}

fn discard(command: Clause<'_>) -> Discard {
    let kinds = [
        (TokenKind::All, Discard::All),
        (TokenKind::Plans, Discard::Plans),
        (TokenKind::Sequences, Discard::Sequences),
    ];
    kinds.iter().find(|(word, _)| command.has(*word)).map_or(Discard::Temporary, |(_, what)| *what)
}

/// The setting that SHOW or RESET is about.
pub(super) fn shown(command: Clause<'_>) -> Result<String> {
    if let Some(setting) = command.part("setting") {
        return Ok(setting_name(setting));
    }
    let known = [(TokenKind::Zone, "timezone"), (TokenKind::Isolation, "transaction_isolation")];
    match known.iter().find(|(word, _)| command.has(*word)) {
        Some((_, name)) => Ok((*name).to_owned()),
        None => Err(command.unsupported_words("", &command.first_words())),
    }
}

pub(super) fn setting_name(setting: Clause<'_>) -> String {
    let names: Vec<String> = setting.names().collect();
    names.join(".").to_lowercase()
}

fn set(command: Clause<'_>) -> Result<SessionCommand> {
    let local = command.has(TokenKind::Local);
    let rest = command.first_part()?;
    if let Some(more) = rest.part("set_rest_more") {
        return set_more(more, local);
    }
    let read_only = read_only(rest);
    match rest.has(TokenKind::Characteristics) {
        true => Ok(SessionCommand::SetCharacteristics { read_only, local }),
        false => Ok(SessionCommand::SetTransaction { read_only }),
    }
}

pub(super) fn set_more(more: Clause<'_>, local: bool) -> Result<SessionCommand> {
    let set = |name: &str, value| Ok(SessionCommand::Set { name: name.to_owned(), value, local });
    if let Some(setting) = more.part("set_setting") {
        let name = setting.part("setting").map(setting_name).unwrap_or_default();
        let values: Vec<String> = setting.parts("setting_value").map(Clause::value_text).collect();
        // Each value is a name, whatever stands in it.
        let values = if name == SEARCH_PATH { values.iter().map(|value| quoted(value)).collect() } else { values };
        return set(&name, (!setting.has(TokenKind::Default)).then(|| values.join(", ")));
    }
    if let Some(zone) = more.part("zone") {
        zone.refuse("zone_interval", "an interval as a time zone")?;
        let default = zone.has(TokenKind::Default) || zone.has(TokenKind::Local);
        return set("timezone", (!default).then(|| zone.value_text()));
    }
    match () {
        () if more.has(TokenKind::Names) => set("client_encoding", more.constant_text()),
        () if more.has(TokenKind::Schema) => set(SEARCH_PATH, more.constant_text().as_deref().map(quoted)),
        () if more.has(TokenKind::Xml) => {
            let document = more.has(TokenKind::Document);
            set("xmloption", Some(if document { "document" } else { "content" }.to_owned()))
        }
        () if more.part("setting").is_some() => Err(more.unsupported("SET ... FROM CURRENT")),
        () => Err(more.unsupported_words("", &format!("SET {}", more.first_words()))),
    }
}

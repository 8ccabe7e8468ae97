//! SET, SHOW, RESET and DISCARD.

use cairn_parser::token::quoted;
use cairn_parser::{CallForm, Expr, Id, List, Name, QueryBody, Statement, Target, TokenKind, Tree};

use super::clause::Clause;
use super::transaction::read_only;
use crate::sql::{ParsedStatement, name_text};
use crate::{Error, Result, SqlState};

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
    /// A SELECT of nothing but calls of `set_config()`.
    Configure(Vec<SetConfig>),
}

/// `set_config(name, value, local)` with constants.
#[derive(Debug)]
pub(crate) struct SetConfig {
    /// What the call's column is called.
    pub(crate) column: String,
    pub(crate) name: String,
    /// `None`: to its default.
    pub(crate) value: Option<String>,
    pub(crate) local: bool,
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
            "discard" => Ok(SessionCommand::Discard(discard(command))),
            other => Err(Error::internal(format!("{other} is not about the session"))),
        }
    }
}

/// The targets, where each is a call of `set_config()` and there is nothing else.
fn configuring<'t>(parsed: &'t ParsedStatement) -> Option<impl Iterator<Item = Target> + 't> {
    let tree = &parsed.tree;
    let Statement::Query { query } = parsed.syntax() else { return None };
    let query = tree.get(query);
    let QueryBody::Select { targets, from, filter, group_by, having, into, .. } = tree.get(query.body) else {
        return None;
    };
    let is_call = |target: Target| match tree.get(target.expr) {
        Expr::Call { name, form: CallForm::Plain, tail: None, .. } => is_set_config(tree, name),
        _ => false,
    };
    let mut each = tree.list(targets).map(|target| tree.get(target));
    let is_alone = !targets.is_empty() && each.all(is_call) && from.is_empty() && group_by.is_empty();
    let is_plain = query.with.is_none() && query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none();
    let nothing_else = is_alone && is_plain && filter.is_none() && having.is_none() && into.is_none();
    nothing_else.then(|| tree.list(targets).map(|target| tree.get(target)))
}

fn is_set_config(tree: &Tree<'_>, name: List<Name>) -> bool {
    let mut parts = tree.list(name).map(|part| name_text(tree, part));
    let first = [parts.next(), parts.next(), parts.next()];
    matches!(first, [Some("set_config"), None, _] | [Some("pg_catalog"), Some("set_config"), None])
}

/// Whether this is a SELECT of nothing but `set_config()`.
pub(super) fn is_configuring(parsed: &ParsedStatement) -> bool {
    configuring(parsed).is_some()
}

/// The calls of such a SELECT. SQLSTATE 0A000: an argument is not constant.
pub(super) fn configure(parsed: &ParsedStatement) -> Result<Option<SessionCommand>> {
    let Some(targets) = configuring(parsed) else { return Ok(None) };
    let tree = &parsed.tree;
    let call = |target: Target| {
        let Expr::Call { args, .. } = tree.get(target.expr) else { return Err(Error::internal("not a call")) };
        let args: Vec<Id<Expr>> = tree.list(args).collect();
        let [name, value, local] = *args.as_slice() else {
            let message = "function set_config() does not exist with these arguments";
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        let said = |arg| {
            constant(tree, arg).ok_or_else(|| {
                let hint = "Write SET, or call it with constants.";
                let error = Error::unsupported("set_config() of what is not a constant").with_hint(hint);
                error.at(parsed.position_of(tree.span(arg).start as usize))
            })
        };
        let Some(name) = said(name)? else {
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
        };
        let local = said(local)?.is_some_and(|local| local == "true");
        let column = target.alias.map_or("set_config", |alias| name_text(tree, alias)).to_owned();
        Ok(SetConfig { column, name: name.to_lowercase(), value: said(value)?, local })
    };
    Ok(Some(SessionCommand::Configure(targets.map(call).collect::<Result<_>>()?)))
}

/// What a constant says; `Some(None)` for NULL.
fn constant(tree: &Tree<'_>, expr: Id<Expr>) -> Option<Option<String>> {
    match tree.get(expr) {
        Expr::String { text } => Some(Some(tree.text(text).to_owned())),
        Expr::Boolean { value } => Some(Some(value.to_string())),
        Expr::Null => Some(None),
        Expr::Cast { operand, .. } => constant(tree, operand),
        _ => None,
    }
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

fn setting_name(setting: Clause<'_>) -> String {
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

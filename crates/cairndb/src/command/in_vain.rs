//! What dumps say of things that there are none of here, and that are nothing to be without: it is taken, and a notice says that it
//! does nothing. What would protect data, or answer otherwise, is refused instead (`lacking.rs`).

use cairn_parser::{Persistence, TokenKind, Tree};

use super::clause::Clause;
use super::create_table::selects_into;
use crate::catalog::USER;
use crate::settings::setting;
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState};

/// A command that does nothing.
#[derive(Debug)]
pub(crate) struct InVain {
    /// What the command is called.
    pub(crate) tag: &'static str,
    pub(crate) notice: String,
}

const REPLICATION: &str = "nothing is replicated; tables have change feeds";
const STATISTICS: &str = "statistics keep themselves, by column";
const DURABLE: &str = "a table is as durable as the others";
const TABLESPACES: &str = "a database is one file";
const LANGUAGES: &str = "the language is built in";

/// The words of commands, which are what these are called.
const COMMANDS: &[(&str, &str)] = &[
    ("CREATE PUBLICATION", REPLICATION),
    ("ALTER PUBLICATION", REPLICATION),
    ("DROP PUBLICATION", REPLICATION),
    ("CREATE SUBSCRIPTION", REPLICATION),
    ("ALTER SUBSCRIPTION", REPLICATION),
    ("DROP SUBSCRIPTION", REPLICATION),
    ("CREATE STATISTICS", STATISTICS),
    ("ALTER STATISTICS", STATISTICS),
    ("DROP STATISTICS", STATISTICS),
];

/// What comments may be on, as far as nothing is lost with them.
const COMMENTED: &[(&str, &str)] =
    &[("PUBLICATION", REPLICATION), ("SUBSCRIPTION", REPLICATION), ("STATISTICS", STATISTICS)];

/// What there is none of, so that DROP .. IF EXISTS says what is so.
const NEVER_THERE: &[&str] = &[
    "DROP ACCESS METHOD",
    "DROP CAST",
    "DROP COLLATION",
    "DROP CONVERSION",
    "DROP EVENT TRIGGER",
    "DROP FOREIGN DATA WRAPPER",
    "DROP OPERATOR CLASS",
    "DROP OPERATOR FAMILY",
    "DROP OPERATOR",
    "DROP POLICY",
    "DROP RULE",
    "DROP SERVER",
    "DROP TEXT SEARCH CONFIGURATION",
    "DROP TEXT SEARCH DICTIONARY",
    "DROP TEXT SEARCH PARSER",
    "DROP TEXT SEARCH TEMPLATE",
    "DROP TRANSFORM",
];

impl InVain {
    /// Where the command is one.
    pub(super) fn of(command: Clause<'_>) -> Option<InVain> {
        let words = command.first_words();
        let does_nothing = |tag: &'static str, why: &str| {
            let notice = format!("{tag} does nothing: {why}");
            Some(InVain { tag, notice })
        };
        if let Some((tag, why)) = COMMANDS.iter().find(|(known, _)| *known == words) {
            return does_nothing(tag, why);
        }
        if let Some(tag) = NEVER_THERE.iter().find(|known| words.starts_with(**known)) {
            let notice = || format!("{tag} IF EXISTS does nothing: there is none");
            return command.part("if_exists").map(|_| InVain { tag, notice: notice() });
        }
        match command.rule() {
            "alter_language" if is_ours(command) && command.part("owner").is_some() => {
                does_nothing("ALTER LANGUAGE", LANGUAGES)
            }
            "comment" => {
                let on = command.part("commented")?;
                let words = on.first_words();
                let why = COMMENTED.iter().find(|(known, _)| *known == words).map(|(_, why)| *why);
                let why = why.or_else(|| (words.ends_with("LANGUAGE") && is_ours(on)).then_some(LANGUAGES));
                let notice = |why| format!("COMMENT ON {words} does nothing: {why}");
                why.map(|why| InVain { tag: "COMMENT", notice: notice(why) })
            }
            _ => None,
        }
    }
}

/// Whether the language is PL/pgSQL.
pub(super) fn is_ours(command: Clause<'_>) -> bool {
    command.names().next().as_deref() == Some("plpgsql")
}

/// What a notice says of parts of a command that change nothing: OWNER TO another role than there is, CACHE of a sequence.
pub(crate) fn said_in_vain(parsed: &ParsedStatement) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(command) = Clause::of_statement(parsed) {
        look_for_what_is_in_vain(command, &mut notices);
    }
    if is_unlogged(parsed).unwrap_or(false) {
        notices.push(format!("UNLOGGED does nothing: {DURABLE}"));
    }
    notices
}

/// Whether a query puts its rows into an unlogged table.
fn is_unlogged(parsed: &ParsedStatement) -> Option<bool> {
    let tree: &Tree<'_> = &parsed.tree;
    let (_, into) = selects_into(tree, parsed.statement)?;
    Some(tree.get(into).persistence == Persistence::Unlogged)
}

fn look_for_what_is_in_vain(clause: Clause<'_>, notices: &mut Vec<String>) {
    let does_nothing = |what: String, why: &str| format!("{what} does nothing: {why}");
    match clause.rule() {
        "owner" => {
            let role = clause.part("role").and_then(|role| role.names().next()).filter(|role| role != USER);
            notices.extend(role.map(|role| does_nothing(format!("OWNER TO {role}"), "there are no roles")));
        }
        "sequence_option" if clause.has(TokenKind::Cache) => {
            let count = clause.part("number").map(Clause::value_text).filter(|count| count != "1");
            let why = "how many values are reserved ahead is the engine's business";
            notices.extend(count.map(|count| does_nothing(format!("CACHE {count}"), why)));
        }
        "temporary" if clause.has(TokenKind::Unlogged) => {
            notices.push(does_nothing("UNLOGGED".to_owned(), DURABLE));
        }
        "tablespace" | "index_tablespace" => {
            let name = clause.names().next().filter(|name| name != "pg_default");
            notices.extend(name.map(|name| does_nothing(format!("TABLESPACE {name}"), TABLESPACES)));
        }
        "column" if clause.part("compression").is_some() => {
            let why = "how values are compressed is the engine's business";
            notices.push(does_nothing("COMPRESSION".to_owned(), why));
            clause.rules().for_each(|rule| look_for_what_is_in_vain(rule, notices));
        }
        "function_property" => {
            if let Some(name) = set_name(clause).filter(|name| is_of_how(name)) {
                let why = "calls run as their sessions do";
                notices.push(does_nothing(format!("SET {name} as an option of a function"), why));
            }
        }
        _ => clause.rules().for_each(|rule| look_for_what_is_in_vain(rule, notices)),
    }
}

/// What a function is to set while it runs.
fn set_name(property: Clause<'_>) -> Option<String> {
    let setting = property.part("set_rest_more")?.part("set_setting")?.part("setting")?;
    Some(setting.names().collect::<Vec<_>>().join(".").to_lowercase())
}

/// Whether a setting is of how statements run (their plans, memory, and what is told of them), so that they answer the same without it.
pub(super) fn is_of_how(name: &str) -> bool {
    const CATEGORIES: &[&str] = &["Query Tuning", "Resource Usage", "Reporting and Logging"];
    const OTHERS: &[&str] = &[
        "check_function_bodies",
        "client_min_messages",
        "default_table_access_method",
        "default_tablespace",
        "lock_timeout",
        "row_security",
        "statement_timeout",
        "synchronous_commit",
    ];
    let is_so = |category: &str| CATEGORIES.iter().any(|known| category.starts_with(known));
    OTHERS.contains(&name) || setting(name).is_some_and(|known| is_so(known.category))
}

/// SQLSTATE 22023 for a method that PostgreSQL has not.
pub(super) fn check_compression(clause: Clause<'_>) -> Result<()> {
    match clause.names().next().as_deref() {
        None | Some("pglz" | "lz4" | "default") => Ok(()),
        Some(other) => {
            let message = format!("invalid compression method \"{other}\"");
            Err(clause.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)))
        }
    }
}

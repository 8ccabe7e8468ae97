//! SQLite's SQL as PostgreSQL's, token by token, as far as that goes; the database itself says whether the outcome holds.

use cairndb::DataType;

use super::names::Names;
use super::schema::{ForeignKey, Index, Source, Table, parenthesized, quoted};
use super::tokens::{Kind, Token, tokens};

/// A text, and how its meaning differs.
pub struct Translation {
    pub text: String,
    pub changes: Vec<String>,
}

/// An expression or the body of a query.
pub fn expression(sql: &str, names: &Names) -> Translation {
    translate(&tokens(sql), names)
}

/// Whether an expression has a name in it.
pub fn mentions(sql: &str, name: &str) -> bool {
    let is_name = |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::Quoted);
    tokens(sql).iter().any(|token| is_name(token) && token.value().eq_ignore_ascii_case(name))
}

/// CREATE VIEW's text, behind the view's name.
pub fn view(sql: &str, names: &Names) -> Translation {
    let found = tokens(sql);
    let is_body = |at: usize| {
        found[at].is("AS")
            && found.get(at + 1).is_some_and(|next| next.is("SELECT") || next.is("WITH") || next.is("VALUES"))
    };
    let body = (0..found.len()).find(|at| is_body(*at)).unwrap_or(0);
    // The list of columns, if there is one, stands right before it.
    let list = (0..body).find(|at| found[*at].text == "(" && found[*at].kind == Kind::Sign).unwrap_or(body);
    translate(&found[list..], names)
}

fn translate(found: &[Token<'_>], names: &Names) -> Translation {
    let mut words: Vec<String> = Vec::with_capacity(found.len());
    let mut changes = Vec::new();
    let mut rest = found.iter().enumerate();
    while let Some((at, token)) = rest.next() {
        let next = found.get(at + 1);
        let called = next.is_some_and(|next| next.text == "(");
        match token.kind {
            Kind::Word if token.is("COLLATE") => {
                rest.next();
                let collation = next.map_or(String::new(), Token::value);
                if !collation.eq_ignore_ascii_case("BINARY") {
                    changes.push(format!("compares by characters, without COLLATE {collation}"));
                }
            }
            Kind::Word if token.is("LIKE") => words.push("ILIKE".to_string()),
            Kind::Word if token.is("IS") => words.push(is(found, at, &mut rest)),
            Kind::Word if called => words.push(function(token.text)),
            Kind::Word if names.is_known(token.text) => words.push(names.shown(token.text)),
            Kind::Quoted => words.push(quoted_word(token, names)),
            Kind::Blob => words.push(format!("'\\x{}'::bytea", token.text[1..].trim_matches('\''))),
            Kind::Sign if token.text == "==" => words.push("=".to_string()),
            _ => words.push(token.text.to_string()),
        }
    }
    Translation { text: joined(&words), changes }
}

/// Blanks between words, but none before what is called and around dots.
fn joined(words: &[String]) -> String {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        let after_dot = at > 0 && words[at - 1] == ".";
        if at > 0 && !after_dot && !matches!(word.as_str(), "." | "," | ")" | ";") {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

/// In SQLite IS compares any two values.
fn is<'t>(found: &[Token<'_>], at: usize, rest: &mut impl Iterator<Item = (usize, &'t Token<'t>)>) -> String {
    let not = found.get(at + 1).is_some_and(|next| next.is("NOT"));
    let operand = found.get(at + 1 + usize::from(not));
    let plain = operand.is_none_or(|next| ["NULL", "TRUE", "FALSE", "DISTINCT"].iter().any(|word| next.is(word)));
    if not {
        rest.next();
    }
    match (plain, not) {
        (true, false) => "IS",
        (true, true) => "IS NOT",
        (false, false) => "IS NOT DISTINCT FROM",
        (false, true) => "IS DISTINCT FROM",
    }
    .to_string()
}

fn function(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "ifnull" => "coalesce".to_string(),
        "instr" => "strpos".to_string(),
        "typeof" => "pg_typeof".to_string(),
        _ => name.to_string(),
    }
}

/// In double quotes SQLite takes for a string what names nothing.
fn quoted_word(token: &Token<'_>, names: &Names) -> String {
    let value = token.value();
    match token.text.starts_with('"') && !names.is_known(&value) {
        true => string(&value),
        false => names.shown(&value),
    }
}

fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A column's default; `None` where it is none.
pub fn default(sql: &str, data_type: &DataType, names: &Names) -> Option<String> {
    let found = tokens(sql);
    let is_text = matches!(data_type, DataType::Text | DataType::Varchar(_));
    let moment = |form: &str| match is_text {
        true => format!("to_char(now() AT TIME ZONE 'UTC', '{form}')"),
        false => "(now() AT TIME ZONE 'UTC')".to_string(),
    };
    let only = match found.as_slice() {
        [token] => *token,
        _ => return Some(format!("({})", translate(&found, names).text)),
    };
    Some(match only.kind {
        Kind::Word if only.is("NULL") => return None,
        Kind::Word if only.is("CURRENT_TIMESTAMP") => moment("YYYY-MM-DD HH24:MI:SS"),
        Kind::Word if only.is("CURRENT_DATE") => {
            format!("{}{}", moment("YYYY-MM-DD"), if is_text { "" } else { "::date" })
        }
        Kind::Word if only.is("CURRENT_TIME") => {
            format!("{}{}", moment("HH24:MI:SS"), if is_text { "" } else { "::time" })
        }
        Kind::Word if only.is("TRUE") || only.is("FALSE") => only.text.to_string(),
        Kind::Word | Kind::Quoted | Kind::String => string(&only.value()),
        // 0 and 1 are SQLite's booleans.
        Kind::Number if *data_type == DataType::Boolean => format!("'{}'", only.text),
        Kind::Number if is_text => string(only.text),
        _ => translate(&found, names).text,
    })
}

/// The statement for an index, and what is not as it was; why there is none otherwise.
pub fn index(table: &Table, index: &Index, names: &Names) -> Result<(String, Vec<String>), String> {
    let mut changes = Vec::new();
    let (name, on) = (names.shown(&index.name), names.shown(&table.name));
    let no_case = index.columns.iter().any(|column| column.collation.eq_ignore_ascii_case("NOCASE"));
    if let Some(odd) = index.columns.iter().find(|column| !known_collation(&column.collation)) {
        changes.push(format!("compares by characters, without COLLATE {}", odd.collation));
    }
    let expressions = index.columns.iter().any(|column| column.name.is_none());
    if expressions || index.partial {
        let sql = index.sql.as_deref().ok_or("its text is not there")?;
        let found = tokens(sql);
        let list = found.iter().position(|token| token.text == "(").ok_or("its text is not understood")?;
        parenthesized(&found[list..], sql).ok_or("its text is not understood")?;
        let translated = translate(&found[list..], names);
        changes.extend(translated.changes);
        let unique = if index.unique { "UNIQUE " } else { "" };
        return Ok((format!("CREATE {unique}INDEX {name} ON {on} {}", translated.text), changes));
    }
    let column = |column: &super::schema::IndexColumn| {
        let shown = names.shown(column.name.as_deref().unwrap_or_default());
        let order = if column.descending { " DESC" } else { "" };
        match column.collation.eq_ignore_ascii_case("NOCASE") {
            true => format!("lower({shown}){order}"),
            false => format!("{shown}{order}"),
        }
    };
    let columns: Vec<String> = index.columns.iter().map(column).collect();
    if no_case {
        changes.push("COLLATE NOCASE: it is an index of lower(..) here, which queries have to ask for".to_string());
    }
    let columns = columns.join(", ");
    let statement = match (index.of_constraint, no_case) {
        (true, false) => format!("ALTER TABLE {on} ADD UNIQUE ({columns})"),
        (true, true) => format!("CREATE UNIQUE INDEX ON {on} ({columns})"),
        (false, _) => format!("CREATE {}INDEX {name} ON {on} ({columns})", if index.unique { "UNIQUE " } else { "" }),
    };
    Ok((statement, changes))
}

fn known_collation(name: &str) -> bool {
    ["", "BINARY", "NOCASE"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

pub fn foreign_key(table: &Table, key: &ForeignKey, source: &Source, names: &Names) -> String {
    let list = |columns: &[String]| columns.iter().map(|column| names.shown(column)).collect::<Vec<_>>().join(", ");
    let parent = source.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&key.parent));
    let referenced = key.parent_columns.as_ref().or(parent.map(|parent| &parent.primary_key));
    let action = |event: &str, action: &str| match action {
        "NO ACTION" => String::new(),
        action => format!(" ON {event} {action}"),
    };
    format!(
        "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({}){}{}",
        names.shown(&table.name),
        list(&key.columns),
        names.shown(&key.parent),
        list(referenced.map_or(&[], Vec::as_slice)),
        action("UPDATE", &key.on_update),
        action("DELETE", &key.on_delete)
    )
}

/// The columns that are read, as SQLite names them.
pub fn selected(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name))
}

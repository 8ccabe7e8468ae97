//! `\c` and `\connect`: another database. Where somebody typed it, it opens a file that is there; scripts stay where they are.
//!
//! Dumps of servers (`pg_dump -C`, `pg_dumpall`) say before a database's rows to which one they belong. Here whoever runs the script named
//! the file that they go into: what followed such a line went into a new file of that name instead, without a word.

use std::path::{Path, PathBuf};

use super::session::{IN_MEMORY, Session};
use crate::report::{Failure, warn};
use crate::words::Words;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// The database that is open.
    Same,
    Named(String),
}

/// Runs the command. `rest`: what stands behind its name.
pub fn connect(session: &mut Session, rest: &str) -> Result<(), Failure> {
    let wanted = wanted(rest).map_err(Failure::Message);
    if session.in_script {
        let name = match wanted {
            Ok(Wanted::Named(name)) => format!(" {name}"),
            _ => String::new(),
        };
        warn(format_args!(
            "NOTICE:  \\connect{name}: a script stays in the database that was named, \"{}\" (.open FILE opens another)",
            session.name()
        ));
        return Ok(());
    }
    let Wanted::Named(name) = wanted? else {
        let message = format!("The database is \"{}\".", session.name());
        return session.say(&message);
    };
    let path = Path::new(&name);
    if session.file().is_some_and(|open| open == path || is_same(open, path)) {
        let message = format!("The database is \"{}\".", session.name());
        return session.say(&message);
    }
    if path != Path::new(IN_MEMORY) && !path.exists() {
        return Err(Failure::Message(match name == session.name() {
            true => format!("\"{name}\" is the database that is open"),
            false => format!("there is no file \"{name}\"; .open {name} makes a new database"),
        }));
    }
    open(session, path)
}

/// Opens a file, which is made where there is none: `.open`.
pub fn open(session: &mut Session, path: &Path) -> Result<(), Failure> {
    session.reopen(Some(path))?;
    let message = format!("The database is now \"{}\".", session.name());
    session.say(&message)
}

/// `.open FILE`.
pub fn open_named(session: &mut Session, file: Option<&str>) -> Result<(), Failure> {
    let file = file.ok_or_else(|| Failure::Message(".open: a file is missing, or :memory:".to_string()))?;
    open(session, &PathBuf::from(file))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Reads psql's arguments: options, a name or a connection string, then user, host and port.
fn wanted(rest: &str) -> Result<Wanted, String> {
    let mut words = Words::new(rest);
    let mut arguments = Vec::new();
    while let Some(word) = words.next()? {
        arguments.push(word.into_text());
    }
    let mut arguments = arguments.into_iter().peekable();
    while let Some(option) = arguments.next_if(|argument| argument.len() > 1 && argument.starts_with('-')) {
        match option.split_once('=') {
            Some(("-reuse-previous", "on" | "off" | "yes" | "no" | "true" | "false" | "1" | "0")) => {}
            _ => return Err(format!("\\c: there is no option \"{option}\"")),
        }
    }
    let Some(first) = arguments.next().filter(|first| first != "-") else { return Ok(Wanted::Same) };
    for (what, argument) in ["user", "host", "port"].into_iter().zip(arguments) {
        if argument != "-" {
            return Err(no_server(what, &argument));
        }
    }
    if ["postgresql://", "postgres://"].iter().any(|scheme| first.to_ascii_lowercase().starts_with(scheme)) {
        return Err(format!("\\c: \"{first}\" is the address of a server; a database is a file here: \\c FILE"));
    }
    match first.contains('=') && !Path::new(&first).exists() {
        true => of_connection_string(&first),
        false => Ok(Wanted::Named(first)),
    }
}

/// `dbname='a name' user=me`.
fn of_connection_string(text: &str) -> Result<Wanted, String> {
    let (mut rest, mut found) = (text.trim_start(), Wanted::Same);
    while !rest.is_empty() {
        let (name, behind) = rest
            .split_once('=')
            .ok_or_else(|| format!("\\c: missing \"=\" after \"{}\" in the connection string", rest.trim()))?;
        let (value, behind) = value(behind.trim_start())?;
        match name.trim() {
            "dbname" => found = Wanted::Named(value),
            name => return Err(no_server(name, &value)),
        }
        rest = behind.trim_start();
    }
    Ok(found)
}

/// A value of a connection string, in quotes or up to a blank, and what is behind it.
fn value(text: &str) -> Result<(String, &str), String> {
    let quoted = text.strip_prefix('\'');
    let body = quoted.unwrap_or(text);
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if quoted.is_some() => return Ok((value, &body[at + 1..])),
            c if quoted.is_none() && c.is_whitespace() => return Ok((value, &body[at..])),
            c => value.push(c),
        }
    }
    match quoted {
        Some(_) => Err("\\c: a quote is not closed in the connection string".to_string()),
        None => Ok((value, "")),
    }
}

fn no_server(what: &str, value: &str) -> String {
    format!("\\c: {what} \"{value}\": there are no servers and no roles; a database is a file here: \\c FILE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_psql_are_understood() {
        let named = |name: &str| Ok(Wanted::Named(name.to_string()));
        for (text, expected) in [
            ("", Ok(Wanted::Same)),
            ("-", Ok(Wanted::Same)),
            ("app", named("app")),
            ("'an app.cairn'", named("an app.cairn")),
            ("-reuse-previous=on app", named("app")),
            ("-reuse-previous=on \"dbname='a \\'name\\''\"", named("a 'name'")),
            ("-reuse-previous=off \"dbname=app\"", named("app")),
            ("app - -", named("app")),
            ("\"dbname = 'x y' \"", named("x y")),
        ] {
            assert_eq!(wanted(text), expected, "{text}");
        }
        for (text, said) in [
            ("-x app", "no option \"-x\""),
            ("app me", "user \"me\""),
            ("app - db.example.org", "host \"db.example.org\""),
            ("postgresql://me@host/app", "the address of a server"),
            ("\"host=x dbname=app\"", "host \"x\""),
            ("\"dbname='x\"", "not closed"),
            ("\"dbname=x y\"", "missing \"=\""),
        ] {
            assert!(wanted(text).unwrap_err().contains(said), "{text}: {:?}", wanted(text));
        }
    }
}

//! Backslash commands.

use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use super::pattern::Pattern;
use super::session::Session;
use super::splitter::{Splitter, is_dot_command};
use super::variables::expanded;
use super::{catalog, connect, describe, dot, help, looks, script, statement};
use crate::copy::{self, Copy, Direction, End};
use crate::report::{self, Failure};
use crate::system;
use crate::words::Words;

/// How deep files may include each other with `\i`.
const MAX_INCLUDES: usize = 16;

/// Runs a command, without its backslash, or a dot command. `depth`: how many files deep.
/// `splitter` holds the statement that is begun.
pub fn run(session: &mut Session, text: &str, splitter: &mut Splitter, depth: usize) -> Result<(), Failure> {
    if is_dot_command(text) && session.restricted.is_none() {
        return dot::run(session, text, splitter, depth);
    }
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // Who ends everything with a semicolon need not think of it here.
    let (name, rest) = (name.trim_end_matches(';'), rest.trim());
    if let Some(key) = session.restricted.clone() {
        return match name == "unrestrict" && rest == key {
            true => {
                session.restricted = None;
                Ok(())
            }
            false => Err(Failure::Message(format!(
                "backslash commands are restricted; only \\unrestrict is allowed: \\{name}"
            ))),
        };
    }
    match name {
        "copy" => return run_copy(session, rest),
        "!" => return run_system(session, rest),
        _ => {}
    }
    let rest = &*expanded(rest, &session.variables);
    let arguments = arguments(rest)?;
    let first = arguments.first().map(String::as_str);
    match name {
        "?" => session.say_long(help::COMMANDS),
        "h" | "help" => session.say_long(&help::statements(rest)),
        "q" | "quit" => {
            session.quit();
            Ok(())
        }
        "d" | "d+" => describe::describe(session, name, Pattern::of(rest)?.as_ref()),
        "dS" | "dS+" => catalog::list_relations(session, name, Pattern::of(rest)?.as_ref()),
        _ if catalog::lists_relations(name) => catalog::list_relations(session, name, Pattern::of(rest)?.as_ref()),
        "g" => statement::run(session, splitter, rest, false),
        "gx" => statement::run(session, splitter, rest, true),
        "gset" => statement::set(session, splitter, rest),
        "gdesc" => statement::describe(session, splitter),
        "watch" => statement::watch(session, splitter, &arguments),
        "w" | "write" => statement::write(session, splitter, rest),
        "e" | "edit" => statement::edit(session, splitter, rest),
        "p" | "print" => {
            let text = if splitter.is_empty() { session.last().unwrap_or_default() } else { splitter.begun() };
            let text = text.trim_end().to_string();
            session.say(if text.is_empty() { "No statement is begun." } else { &text })
        }
        "r" | "reset" => {
            splitter.take_begun();
            session.say("The statement that was begun is dropped.")
        }
        "set" => set_variable(session, &arguments),
        "prompt" => ask(session, &arguments),
        "unset" => {
            let name = first.ok_or_else(|| Failure::Message("\\unset: a name is missing".to_string()))?;
            session.variables.remove(name);
            Ok(())
        }
        "conninfo" => {
            let told = session.place();
            session.say(&told)
        }
        "errverbose" => {
            let told = session.last_failure().map_or("There is no previous error.".to_owned(), report::verbose);
            session.say(&told)
        }
        "c" | "connect" => connect::connect(session, rest),
        "open" => connect::open_named(session, first),
        "sf" | "sv" => catalog::text(session, name, first),
        _ if matches!(name.trim_end_matches(['+', 'S']), "l" | "dn" | "df" | "dD" | "dT") => {
            catalog::list(session, name, Pattern::of(rest)?.as_ref())
        }
        "du" | "dg" | "dp" | "z" | "ddp" | "drds" => {
            session.say("There are no roles: whoever can open the file may do everything.")
        }
        "timing" => looks::set_timing(session, first),
        "t" => looks::set_tuples_only(session, first),
        "a" => looks::turn_aligned(session),
        "x" => looks::set_expanded(session, first),
        "format" => looks::set_format(session, first),
        "pset" => looks::set_option(session, &arguments),
        "i" | "include" => include(session, first, depth),
        "o" | "out" => match rest.strip_prefix('|') {
            Some(command) => session.write_to_command(command),
            None => redirect(session, first),
        },
        "echo" => session.say(&arguments.join(" ")),
        // As dumps begin, so that nothing in their data is taken for a command.
        "restrict" => match rest {
            "" => Err(Failure::Message("\\restrict: missing required argument".to_string())),
            key => {
                session.restricted = Some(key.to_string());
                Ok(())
            }
        },
        "if" | "elif" | "else" | "endif" => {
            Err(Failure::Message(format!("\\{name} stands on a line of its own, where no statement is begun")))
        }
        _ => Err(Failure::Message(format!("invalid command \\{name}\nTry \\? for help."))),
    }
}

fn arguments(text: &str) -> Result<Vec<String>, Failure> {
    let mut words = Words::new(text);
    let mut arguments = Vec::new();
    while let Some(word) = words.next().map_err(Failure::Message)? {
        arguments.push(word.into_text());
    }
    Ok(arguments)
}

/// The COPY that a `\copy .. FROM STDIN` is: its data stands behind it.
pub fn copy_from_stdin(command: &str) -> Option<String> {
    let arguments = command.trim_start().strip_prefix("copy").filter(|rest| rest.starts_with(char::is_whitespace))?;
    let is_it = |copy: &Copy| copy.direction == Direction::From && copy.end == End::Own;
    Copy::parse(arguments).ok().filter(is_it).map(|copy| copy.statement())
}

/// `\!`: for a terminal's sake without the shell's own output waiting.
fn run_system(session: &mut Session, command: &str) -> Result<(), Failure> {
    session.flush()?;
    let command = if command.is_empty() { "exec \"${SHELL:-sh}\"" } else { command };
    let status = system::command(command).status().map_err(|error| Failure::Message(format!("{command}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::Message(format!("\\!: {status}"))),
    }
}

/// `\prompt [TEXT] NAME`: the line that somebody types becomes a variable.
fn ask(session: &mut Session, words: &[String]) -> Result<(), Failure> {
    let (text, name) = match words {
        [name] => ("", name),
        [text, name] => (text.as_str(), name),
        _ => return Err(Failure::Message("\\prompt: a text, if one is wanted, and a name".to_string())),
    };
    check_name(name)?;
    if session.reads_stdin {
        return Err(Failure::Message("\\prompt: standard input has the script, and nobody who answers".to_string()));
    }
    session.flush()?;
    write!(stdout(), "{text}")?;
    stdout().flush()?;
    let mut line = String::new();
    let read =
        stdin().lock().read_line(&mut line).map_err(|error| Failure::Message(format!("cannot read: {error}")))?;
    if read == 0 {
        return Err(Failure::Message("\\prompt: nobody answers".to_string()));
    }
    session.variables.insert(name.clone(), line.trim_end_matches(['\n', '\r']).to_string());
    Ok(())
}

fn check_name(name: &str) -> Result<(), Failure> {
    match !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => Ok(()),
        false => Err(Failure::Message(format!("invalid variable name: \"{name}\""))),
    }
}

/// `\set`: lists the variables, or sets one to its words put together.
fn set_variable(session: &mut Session, words: &[String]) -> Result<(), Failure> {
    match words {
        [] => {
            let lines: Vec<String> =
                session.variables.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
            lines.iter().try_for_each(|line| session.say(line))
        }
        [name, values @ ..] => {
            check_name(name)?;
            session.variables.insert(name.clone(), values.concat());
            Ok(())
        }
    }
}

fn run_copy(session: &mut Session, text: &str) -> Result<(), Failure> {
    let copy = Copy::parse(text).map_err(|problem| Failure::Message(format!("\\copy: {problem}")))?;
    session.make_file()?;
    session.flush()?;
    let count = session.timed(|session| match (copy.direction, &copy.end) {
        (Direction::From, End::File(path)) => copy::import(session.connection(), &copy, path),
        (Direction::From, End::Program(program)) => copy::import_program(session.connection(), &copy, program),
        (Direction::From, End::Process) if session.reads_stdin => {
            Err(Failure::Message("\\copy .. FROM PSTDIN: standard input has the script; use STDIN".to_string()))
        }
        (Direction::From, End::Process) => copy::copy_in(session.connection(), &copy, stdin().lock()),
        (Direction::From, End::Own) => {
            let message = "\\copy .. FROM STDIN takes its data from behind it, where it stands alone";
            Err(Failure::Message(message.to_string()))
        }
        (Direction::To, End::File(path)) => copy::export(session.connection(), &copy, path),
        (Direction::To, End::Program(program)) => copy::export_program(session.connection(), &copy, program),
        (Direction::To, End::Process) => copy::copy_out(session.connection(), &copy.statement(), &mut stdout().lock()),
        (Direction::To, End::Own) => {
            let (connection, out) = session.connection_and_out();
            copy::copy_out(connection, &copy.statement(), out)
        }
    })?;
    // Among the data nothing else is said.
    match (copy.direction, &copy.end) {
        (Direction::To, End::Own) => Ok(session.flush()?),
        (Direction::To, End::Process) => Ok(stdout().flush()?),
        _ => session.say(&format!("COPY {count}")),
    }
}

fn include(session: &mut Session, path: Option<&str>, depth: usize) -> Result<(), Failure> {
    let path = path.ok_or_else(|| Failure::Message("\\i: a file name is missing".to_string()))?;
    if depth >= MAX_INCLUDES {
        return Err(Failure::Message(format!("\\i {path}: files include each other more than {MAX_INCLUDES} deep")));
    }
    script::include(session, Path::new(path), depth + 1)
}

fn redirect(session: &mut Session, path: Option<&str>) -> Result<(), Failure> {
    match path {
        Some(path) => session.write_to_file(&PathBuf::from(path)),
        None => {
            session.write_to_stdout();
            Ok(())
        }
    }
}

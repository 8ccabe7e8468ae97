//! The commands that say how results look: `\x`, `\a`, `\t`, `\format`, `\pset`, `\timing`.

use clap::ValueEnum;

use super::session::Session;
use crate::output::{Expanded, Format};
use crate::report::Failure;

/// A word for on or off.
pub fn switch(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn unrecognized(value: &str, command: &str, expected: &str) -> Failure {
    Failure::Message(format!("unrecognized value \"{value}\" for \"{command}\": {expected} expected"))
}

/// What a command that turns something on and off makes of it.
fn turned(now: bool, value: Option<&str>, command: &str) -> Result<bool, Failure> {
    match value {
        None => Ok(!now),
        Some(word) => switch(word).ok_or_else(|| unrecognized(word, command, "on or off")),
    }
}

/// `\timing`.
pub fn set_timing(session: &mut Session, value: Option<&str>) -> Result<(), Failure> {
    session.timing = turned(session.timing, value, "\\timing")?;
    session.say(if session.timing { "Timing is on." } else { "Timing is off." })
}

/// `\t`: rows without names and counts.
pub fn set_tuples_only(session: &mut Session, value: Option<&str>) -> Result<(), Failure> {
    session.style.header = !turned(!session.style.header, value, "\\t")?;
    session.say(if session.style.header { "Tuples only is off." } else { "Tuples only is on." })
}

/// `\a`: columns that line up, or not.
pub fn turn_aligned(session: &mut Session) -> Result<(), Failure> {
    let is_unaligned = session.style.format == Format::Unaligned;
    session.style.format = if is_unaligned { Format::Table } else { Format::Unaligned };
    set_format(session, None)
}

/// `\x`.
pub fn set_expanded(session: &mut Session, value: Option<&str>) -> Result<(), Failure> {
    let expanded = match value {
        None if session.style.expanded == Expanded::Off => Expanded::On,
        None => Expanded::Off,
        Some("auto") => Expanded::Auto,
        Some(word) => match switch(word).ok_or_else(|| unrecognized(word, "\\x", "on, off or auto"))? {
            true => Expanded::On,
            false => Expanded::Off,
        },
    };
    session.style.expanded = expanded;
    session.say(match expanded {
        Expanded::On => "Expanded display is on.",
        Expanded::Off => "Expanded display is off.",
        Expanded::Auto => "Expanded display is used automatically.",
    })
}

/// `\format`.
pub fn set_format(session: &mut Session, value: Option<&str>) -> Result<(), Failure> {
    if let Some(word) = value {
        let expected = "table, unaligned, csv, json or markdown";
        // (psql calls its tables so.)
        let word = if word.eq_ignore_ascii_case("aligned") { "table" } else { word };
        session.style.format = Format::from_str(word, true).map_err(|_| unrecognized(word, "\\format", expected))?;
    }
    let name = session.style.format.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
    session.say(&format!("Output format is {name}."))
}

/// `\pset`.
pub fn set_option(session: &mut Session, arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["null"] => session.style.null.clear(),
        ["null", text] => session.style.null = (*text).to_string(),
        ["format", word] => return set_format(session, Some(word)),
        ["pager", word] => session.pager = turned(session.pager, Some(word), "\\pset pager")?,
        ["expanded" | "x"] => return set_expanded(session, None),
        ["expanded" | "x", word] => return set_expanded(session, Some(word)),
        ["tuples_only" | "t"] => return set_tuples_only(session, None),
        ["tuples_only" | "t", word] => return set_tuples_only(session, Some(word)),
        _ => {
            return Err(Failure::Message(
                "\\pset: null, format, expanded, pager or tuples_only, and a value".to_string(),
            ));
        }
    }
    Ok(())
}

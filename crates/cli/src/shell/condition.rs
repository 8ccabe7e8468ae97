//! `\if`, `\elif`, `\else`, `\endif`: what of a text is run.

use super::looks::switch;
use super::variables::{Variables, expanded};
use crate::report::Failure;

/// The conditions that are begun, the outermost first.
#[derive(Debug, Default)]
pub struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    now: Now,
    has_else: bool,
}

/// What of a condition stands at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// The part that is run.
    Runs,
    /// A part before the one that is run, if one is.
    Waits,
    /// A part behind the one that is run.
    Ran,
    /// What is around it is not run.
    Outside,
}

impl Conditions {
    /// Whether what stands here is run.
    pub fn run(&self) -> bool {
        self.0.iter().all(|condition| condition.now == Now::Runs)
    }

    /// How many are begun.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Takes a command, without its backslash, if it is one of these; whether it is.
    pub fn take(&mut self, command: &str, variables: &Variables) -> Result<bool, Failure> {
        let (name, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
        match name.trim_end_matches(';') {
            "if" => {
                let now = if self.run() { Now::Waits } else { Now::Outside };
                self.0.push(Condition { now, has_else: false });
                self.ask(name, rest, variables)?;
            }
            "elif" => {
                self.begin_part(name, false)?;
                self.ask(name, rest, variables)?;
            }
            "else" => {
                let last = self.begin_part(name, true)?;
                if last.now == Now::Waits {
                    last.now = Now::Runs;
                }
            }
            "endif" => {
                self.0.pop().ok_or_else(|| none(name))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The part before ends.
    fn begin_part(&mut self, name: &str, is_else: bool) -> Result<&mut Condition, Failure> {
        let last = self.0.last_mut().ok_or_else(|| none(name))?;
        if last.has_else {
            return Err(Failure::Message(format!("\\{name}: it stands behind \\else")));
        }
        last.has_else = is_else;
        if last.now == Now::Runs {
            last.now = Now::Ran;
        }
        Ok(last)
    }

    /// Runs what follows, if it is to be and the words are true. What is neither true nor false is an error, and not true.
    fn ask(&mut self, name: &str, words: &str, variables: &Variables) -> Result<(), Failure> {
        let Some(last) = self.0.last_mut().filter(|last| last.now == Now::Waits) else { return Ok(()) };
        let said = said(words, variables);
        let said = said.trim().trim_end_matches(';').trim_matches('\'');
        match switch(said) {
            Some(true) => last.now = Now::Runs,
            Some(false) => {}
            None => return Err(Failure::Message(format!("\\{name}: \"{said}\" is neither true nor false"))),
        }
        Ok(())
    }
}

fn none(name: &str) -> Failure {
    Failure::Message(format!("\\{name}: there is no \\if before it"))
}

/// The words with variables in their places; `:{?name}` is whether there is one.
fn said(words: &str, variables: &Variables) -> String {
    let mut text = words.to_owned();
    while let Some((before, (name, behind))) =
        text.split_once(":{?").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        text = format!("{before}{}{behind}", if variables.contains_key(name) { "true" } else { "false" });
    }
    expanded(&text, variables).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of the lines is run: those that are no commands.
    fn run(lines: &str) -> Result<String, String> {
        let variables = Variables::from([("yes".to_owned(), "on".to_owned())]);
        let (mut conditions, mut run) = (Conditions::default(), String::new());
        for line in lines.split(' ') {
            let line = line.replace('_', " ");
            if !conditions.take(&line, &variables).map_err(|failure| failure.to_string())? && conditions.run() {
                run += &line;
            }
        }
        Ok(format!("{run}{}", conditions.depth()))
    }

    #[test]
    fn the_first_part_that_is_true_is_run() {
        for (lines, expected) in [
            ("if_true a else b endif c", "ac0"),
            ("if_0 a elif_:yes b elif_true c else d endif", "b0"),
            ("if_off a elif_no b else d endif", "d0"),
            ("if_false if_true a else b endif elif_true c endif", "c0"),
            ("if_true if_false a else b endif else c endif", "b0"),
            ("if_true if_true a", "a2"),
            ("if_:{?yes} a endif if_:{?no} b endif", "a0"),
            ("if_false if_nonsense a endif else b endif", "b0"),
        ] {
            assert_eq!(run(lines).unwrap(), expected, "{lines}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert!(run("else").unwrap_err().contains("no \\if"));
        assert!(run("if_true endif endif").unwrap_err().contains("no \\if"));
        assert!(run("if_true else elif_true").unwrap_err().contains("behind \\else"));
        assert!(run("if_true else else").unwrap_err().contains("behind \\else"));
        assert!(run("if_maybe").unwrap_err().contains("neither"));
    }
}

//! Our parser beside PostgreSQL's grammar.

use std::collections::BTreeMap;
use std::fmt;

use cairn_parser::{Options, parse_statements};

use crate::differences::{agree, meant};
use crate::{Grammar, Refusal, Verdict};

/// Examples kept of each kind of difference.
const EXAMPLES: usize = 3;

/// What our parser says of a text of statements.
pub fn ours(text: &str) -> Verdict {
    match parse_statements(text, Options::default()).find_map(Result::err) {
        None => Ok(()),
        Some(error) => {
            let before = text.get(..error.position as usize).unwrap_or(text);
            let (sqlstate, position) = (error.sqlstate.to_owned(), before.chars().count() + 1);
            Err(Refusal { sqlstate, message: error.message, position })
        }
    }
}

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Texts compared.
    pub compared: usize,
    /// Of them, taken by PostgreSQL.
    pub taken: usize,
    /// Texts on which taking or refusing differs and is not meant to.
    pub verdicts: Differing,
    /// Texts that both refuse, with another message or place, not meant to.
    pub messages: Differing,
    /// Meant differences by their reason.
    pub meant: BTreeMap<&'static str, usize>,
}

/// Texts with both verdicts: how many, and some of them.
#[derive(Debug, Default)]
pub struct Differing {
    /// How many.
    pub count: usize,
    examples: Vec<String>,
}

impl Comparison {
    /// Compares on these texts too.
    pub fn add(&mut self, grammar: &mut Grammar, texts: &[String]) -> std::io::Result<()> {
        for (text, theirs) in texts.iter().zip(grammar.judge_all(texts)?) {
            self.compare(text, &theirs);
        }
        Ok(())
    }

    fn compare(&mut self, text: &str, theirs: &Verdict) {
        let ours = ours(text);
        self.compared += 1;
        self.taken += usize::from(theirs.is_ok());
        if agree(theirs, &ours) {
            return;
        }
        if let Some(difference) = meant(text, theirs, &ours) {
            *self.meant.entry(difference.reason).or_default() += 1;
            return;
        }
        let differing = if theirs.is_ok() == ours.is_ok() { &mut self.messages } else { &mut self.verdicts };
        differing.count += 1;
        if differing.examples.len() < EXAMPLES {
            differing.examples.push(format!("PostgreSQL: {}\n      ours: {}\n{text}", told(theirs), told(&ours)));
        }
    }
}

fn told(verdict: &Verdict) -> String {
    verdict.as_ref().map_or_else(Refusal::to_string, |()| "taken".to_owned())
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { compared, taken, verdicts, messages, meant } = self;
        writeln!(
            f,
            "{compared} texts, {taken} taken; verdicts differ on {}, messages or places on {}",
            verdicts.count, messages.count
        )?;
        meant.iter().try_for_each(|(reason, count)| writeln!(f, "{count} meant: {reason}"))?;
        let examples = verdicts.examples.iter().chain(&messages.examples);
        examples.into_iter().try_for_each(|example| writeln!(f, "{example}\n"))
    }
}

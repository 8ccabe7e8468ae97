//! Asks PostgreSQL's grammar: `judge` reads statements, one a line, and prints each verdict.
//!
//! `judge derive GRAMMAR START COUNT` instead makes statements from a grammar file and tells how many are taken, of
//! which alternatives none was made, and what is refused most.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::BufRead;

use cairn_parser_oracle::derive::Derivation;
use cairn_parser_oracle::grammar_file::GrammarFile;
use cairn_parser_oracle::mutate::{Random, joined};
use cairn_parser_oracle::{Grammar, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut grammar = Grammar::start().map_err(|error| error.to_string())?;
    if let [verb, file, start, count] = arguments.as_slice()
        && verb == "derive"
    {
        return derive(&mut grammar, &std::fs::read_to_string(file)?, start, count.parse()?);
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        println!("{}\t{line}", told(&grammar.judge(&line)?));
    }
    Ok(())
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Ok(()) => "taken".to_owned(),
        Err(refusal) => refusal.to_string(),
    }
}

fn derive(grammar: &mut Grammar, file: &str, start: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let file = GrammarFile::parse(file);
    let start = file.find(start).ok_or("no such rule")?;
    let mut derivation = Derivation::new(&file, 1);
    let mut random = Random::new(2);
    let texts: Vec<String> = (0..count).map(|_| joined(&derivation.tokens(start), &mut random)).collect();
    let verdicts = grammar.judge_all(&texts)?;
    let mut refused: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (text, verdict) in texts.iter().zip(&verdicts) {
        if let Err(refusal) = verdict {
            let entry = refused.entry(refusal.message.clone()).or_insert((0, text));
            entry.0 += 1;
        }
    }
    println!(
        "{} taken of {count}, {} alternatives",
        verdicts.iter().filter(|verdict| verdict.is_ok()).count(),
        derivation.taken()
    );
    derivation.never_taken().iter().for_each(|missing| println!("never taken: {missing}"));
    let mut refused: Vec<_> = refused.into_iter().collect();
    refused.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
    refused.iter().take(40).for_each(|(message, (times, text))| println!("{times}\t{message}\t{text}"));
    Ok(())
}

//! Statements made from a grammar, so that every alternative of every rule is taken.
//!
//! At each choice the alternatives taken least so far are preferred; below a depth only the shortest are left. One
//! statement in eight goes straight to an alternative that was not taken yet.

use crate::grammar_file::{GrammarFile, Symbol};
use crate::mutate::Random;

/// Makes statements.
pub struct Derivation<'a> {
    grammar: &'a GrammarFile,
    /// For each rule and alternative: how many levels it needs at least.
    depths: Vec<Vec<u32>>,
    /// For each rule and alternative: how often it was taken.
    taken: Vec<Vec<u32>>,
    random: Random,
}

const UNENDING: u32 = u32::MAX / 2;
/// So many levels a statement may go down before it is to end.
const DEPTH_MAX: u32 = 14;
/// So many tokens a statement may have before it is to end.
const TOKENS_MAX: usize = 40;
const AIMED: usize = 8;

/// An alternative to be taken, and how many steps each rule is from its rule.
struct Aim {
    rule: usize,
    alternative: usize,
    steps: Vec<u32>,
}

impl<'a> Derivation<'a> {
    /// Of a grammar, the same statements for the same seed.
    pub fn new(grammar: &'a GrammarFile, seed: u64) -> Derivation<'a> {
        let taken = grammar.rules().iter().map(|rule| vec![0; rule.alternatives.len()]).collect();
        Derivation { grammar, depths: depths(grammar), taken, random: Random::new(seed) }
    }

    /// A statement's tokens, of the rule `start`.
    pub fn tokens(&mut self, start: usize) -> Vec<String> {
        let aim = if self.random.below(AIMED) == 0 { self.aim(start) } else { None };
        let mut tokens = Vec::new();
        // With each symbol, whether it leads to the aim.
        let mut pending = vec![(Symbol::Rule(start), 0, true)];
        while let Some((symbol, depth, leads)) = pending.pop() {
            match (symbol, &aim) {
                (Symbol::Token(name), _) => tokens.push(written(&name, &mut self.random)),
                (Symbol::Rule(rule), Some(aim)) if leads => {
                    let (choice, onward) = self.towards(rule, aim);
                    self.taken[rule][choice] += 1;
                    let parts = self.grammar.rules()[rule].alternatives[choice].iter().enumerate().rev();
                    pending.extend(parts.map(|(at, part)| (part.clone(), depth + 1, onward == Some(at))));
                }
                (Symbol::Rule(rule), _) => {
                    let ends = depth > DEPTH_MAX || tokens.len() + pending.len() > TOKENS_MAX;
                    let choice = self.choose(rule, ends);
                    let parts = self.grammar.rules()[rule].alternatives[choice].iter().rev();
                    pending.extend(parts.map(|part| (part.clone(), depth + 1, false)));
                }
            }
        }
        tokens
    }

    /// One of the alternatives that were never taken and that `start` leads to.
    fn aim(&mut self, start: usize) -> Option<Aim> {
        let missing: Vec<(usize, usize)> = self.missing().collect();
        let (rule, alternative) = *missing.get(self.random.below(missing.len().max(1)))?;
        let aim = Aim { rule, alternative, steps: self.steps_to(rule) };
        (aim.steps[start] < UNENDING).then_some(aim)
    }

    /// How many rules lie between each rule and this one; where none lead there, [`UNENDING`].
    fn steps_to(&self, target: usize) -> Vec<u32> {
        let rules = self.grammar.rules();
        let mut steps = vec![UNENDING; rules.len()];
        steps[target] = 0;
        loop {
            let mut changed = false;
            for (number, rule) in rules.iter().enumerate() {
                let through = (0..rule.alternatives.len()).filter_map(|choice| self.nearest(number, choice, &steps));
                let nearest = through.map(|(steps, _)| steps + 1).min().unwrap_or(UNENDING);
                changed |= nearest < steps[number];
                steps[number] = nearest.min(steps[number]);
            }
            if !changed {
                return steps;
            }
        }
    }

    /// The part of an alternative from which it is nearest to the aim: its steps, and which it is.
    fn nearest(&self, rule: usize, choice: usize, steps: &[u32]) -> Option<(u32, usize)> {
        if self.depths[rule][choice] >= UNENDING {
            return None;
        }
        let parts = self.grammar.rules()[rule].alternatives[choice].iter().enumerate();
        let rules = parts.filter_map(|(at, part)| match part {
            Symbol::Rule(part) => Some((steps[*part], at)),
            Symbol::Token(_) => None,
        });
        rules.min().filter(|(steps, _)| *steps < UNENDING)
    }

    /// The alternative that comes nearer to the aim, and which of its parts; none of them where it is the aim.
    fn towards(&self, rule: usize, aim: &Aim) -> (usize, Option<usize>) {
        if rule == aim.rule {
            return (aim.alternative, None);
        }
        let choices = (0..self.depths[rule].len()).filter_map(|choice| {
            let (steps, part) = self.nearest(rule, choice, &aim.steps)?;
            Some((steps, choice, part))
        });
        choices.min().map_or((0, None), |(_, choice, part)| (choice, Some(part)))
    }

    fn choose(&mut self, rule: usize, ends: bool) -> usize {
        let depths = &self.depths[rule];
        let shortest = depths.iter().copied().min().unwrap_or(0);
        let fits = |choice: &usize| depths[*choice] < UNENDING && (!ends || depths[*choice] == shortest);
        let choices: Vec<usize> = (0..depths.len()).filter(fits).collect();
        // Of two, the one taken less often: everything gets its turn, in no fixed order.
        let one = choices[self.random.below(choices.len())];
        let other = choices[self.random.below(choices.len())];
        let taken = &mut self.taken[rule];
        let choice = if taken[other] < taken[one] { other } else { one };
        taken[choice] += 1;
        choice
    }

    /// Alternatives never taken, of rules that were: `rule: number from 1`.
    pub fn never_taken(&self) -> Vec<String> {
        let name = |rule: usize| &self.grammar.rules()[rule].name;
        self.missing().map(|(rule, number)| format!("{}: {}", name(rule), number + 1)).collect()
    }

    fn missing(&self) -> impl Iterator<Item = (usize, usize)> {
        let rules = self.taken.iter().zip(&self.depths).enumerate();
        rules.filter(|(_, (taken, _))| taken.iter().any(|times| *times > 0)).flat_map(|(rule, (taken, depths))| {
            let alternatives = taken.iter().zip(depths).enumerate();
            let never = alternatives.filter(|(_, (times, depth))| **times == 0 && **depth < UNENDING);
            never.map(move |(number, _)| (rule, number))
        })
    }

    /// Alternatives taken at least once.
    pub fn taken(&self) -> usize {
        self.taken.iter().flatten().filter(|times| **times > 0).count()
    }
}

/// By going round until nothing gets shorter.
fn depths(grammar: &GrammarFile) -> Vec<Vec<u32>> {
    let rules = grammar.rules();
    let mut depths: Vec<Vec<u32>> = rules.iter().map(|rule| vec![UNENDING; rule.alternatives.len()]).collect();
    loop {
        let mut changed = false;
        for (number, rule) in rules.iter().enumerate() {
            for (choice, parts) in rule.alternatives.iter().enumerate() {
                let below = parts.iter().map(|part| match part {
                    Symbol::Token(name) if is_mode(name) => UNENDING,
                    Symbol::Token(_) => 0,
                    Symbol::Rule(rule) => depths[*rule].iter().copied().min().unwrap_or(UNENDING),
                });
                let depth = below.max().unwrap_or(0).saturating_add(1).min(UNENDING);
                changed |= depth < depths[number][choice];
                depths[number][choice] = depth.min(depths[number][choice]);
            }
        }
        if !changed {
            return depths;
        }
    }
}

/// Tokens that no text has: they tell PostgreSQL's parser what it is called for.
fn is_mode(name: &str) -> bool {
    name.starts_with("MODE_")
}

/// A token of the grammar as text.
fn written(name: &str, random: &mut Random) -> String {
    let one_of = |choices: &[&str], random: &mut Random| choices[random.below(choices.len())].to_owned();
    match name {
        "IDENT" => one_of(&["a", "b", "c", "t", "f", "\"q r\"", "Xy", "é"], random),
        "UIDENT" => one_of(&["U&\"d\\0061t\"", "u&\"x\""], random),
        "SCONST" => one_of(&["'s'", "''", "'it''s'", "E'a\\n'", "$$x$$", "$q$y$q$", "N'n'", "'on'"], random),
        "USCONST" => one_of(&["U&'d\\0061t'", "u&''"], random),
        "BCONST" => one_of(&["b'01'", "B''"], random),
        "XCONST" => one_of(&["x'1f'", "X''"], random),
        "FCONST" => one_of(&["1.5", "3e2", ".5", "4294967296", "1."], random),
        "ICONST" => one_of(&["0", "1", "7", "42"], random),
        "PARAM" => one_of(&["$1", "$2"], random),
        "Op" => one_of(&["||", "->", "~", "@>", "#", "&&", "!~~", "<->", "?", "|"], random),
        "TYPECAST" => "::".to_owned(),
        "DOT_DOT" => "..".to_owned(),
        "COLON_EQUALS" => ":=".to_owned(),
        "EQUALS_GREATER" => "=>".to_owned(),
        "LESS_EQUALS" => "<=".to_owned(),
        "GREATER_EQUALS" => ">=".to_owned(),
        "NOT_EQUALS" => one_of(&["<>", "!="], random),
        keyword => keyword.trim_end_matches("_LA").trim_end_matches("_P").to_owned(),
    }
}

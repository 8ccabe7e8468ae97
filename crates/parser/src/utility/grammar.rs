//! The grammar of the utility commands: `commands.grammar`, and `own.grammar` for those that PostgreSQL does not have, compiled
//! when the first one is read.
//!
//! A rule is `name: this | or that ;`. Words in capitals are keywords, what is quoted is a symbol, other words are rules
//! or one of the [`Leaf`]s that the parser has functions for. `x?` may be left out, `x*` repeats, `x+` repeats and is
//! there at least once, `<x>` is a list with commas, `( )` groups, and `!x` takes nothing where `x` could stand. Of
//! several alternatives the first that fits is taken and not taken back, so the longer ones come first.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::leaf::Leaf;
use crate::token::{TokenKind, find_keyword};

/// A rule by its number.
pub(crate) type RuleNumber = u32;

/// The rules.
pub(crate) struct Grammar {
    /// Names in the order of their numbers.
    pub(crate) names: Vec<&'static str>,
    rules: Vec<Step>,
    /// Commands by the keyword that they begin with.
    commands: HashMap<TokenKind, Vec<RuleNumber>>,
    /// Those that begin with their rule's name, which is no keyword.
    own: Vec<RuleNumber>,
}

/// What is read next.
pub(crate) enum Step {
    Token(TokenKind),
    Leaf(Leaf),
    Rule(RuleNumber),
    All(Vec<Step>),
    FirstOf(Vec<Step>),
    Optional(Box<Step>),
    /// So many at least.
    Repeated(Box<Step>, usize),
    Commas(Box<Step>),
    Not(Box<Step>),
}

/// The rules that list the commands, PostgreSQL's and others.
const COMMAND: &str = "command";
const OWN: &str = "own";

const TEXT: &str = concat!(include_str!("commands.grammar"), include_str!("own.grammar"));

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| Grammar::compile(TEXT));

impl Grammar {
    pub(crate) fn get() -> &'static Grammar {
        &GRAMMAR
    }

    /// What the rule says.
    pub(crate) fn rule(&self, number: RuleNumber) -> &Step {
        &self.rules[number as usize]
    }

    /// The rule's name.
    pub(crate) fn name(&self, number: RuleNumber) -> &'static str {
        self.names.get(number as usize).copied().unwrap_or("")
    }

    /// The commands that begin with this keyword.
    pub(crate) fn commands(&self, keyword: TokenKind) -> &[RuleNumber] {
        self.commands.get(&keyword).map_or(&[], Vec::as_slice)
    }

    /// The commands that begin with this word, which is no keyword.
    pub(crate) fn own_commands(&self, word: &str) -> &[RuleNumber] {
        let found = self.own.iter().position(|number| self.name(*number).eq_ignore_ascii_case(word));
        found.map_or(&[], |at| std::slice::from_ref(&self.own[at]))
    }

    /// Every command.
    pub(crate) fn all_commands(&self) -> impl Iterator<Item = &Step> {
        self.listed(COMMAND).iter()
    }

    /// Every command that begins with its rule's name, with that name.
    pub(crate) fn all_own_commands(&self) -> impl Iterator<Item = (&'static str, &Step)> {
        self.own.iter().map(|number| (self.name(*number), self.rule(*number)))
    }

    fn compile(text: &'static str) -> Grammar {
        let words: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).flat_map(words).collect();
        let names: Vec<&str> = words.windows(2).filter(|pair| pair[1] == ":").map(|pair| pair[0]).collect();
        let numbers = names.iter().enumerate().map(|(number, name)| (*name, number as RuleNumber)).collect();
        let mut compiler = Compiler { numbers, words: &words, at: 0 };
        let mut rules = Vec::new();
        while compiler.at < words.len() {
            compiler.at += 2;
            rules.push(compiler.alternatives());
            compiler.at += 1;
        }
        let mut grammar = Grammar { names, rules, commands: HashMap::new(), own: Vec::new() };
        grammar.sort_commands();
        grammar.own = grammar.listed(OWN).iter().filter_map(rule_number).collect();
        grammar
    }

    fn sort_commands(&mut self) {
        let mut sorted: HashMap<TokenKind, Vec<RuleNumber>> = HashMap::new();
        for command in self.listed(COMMAND) {
            let Some(number) = rule_number(command) else { continue };
            let mut keywords = Vec::new();
            self.first_tokens(command, &mut keywords);
            keywords.iter().for_each(|keyword| sorted.entry(*keyword).or_default().push(number));
        }
        self.commands = sorted;
    }

    /// The alternatives of a rule.
    fn listed(&self, rule: &str) -> &[Step] {
        match self.names.iter().position(|name| *name == rule).map(|at| &self.rules[at]) {
            Some(Step::FirstOf(steps)) => steps,
            Some(step) => std::slice::from_ref(step),
            None => &[],
        }
    }

    /// The tokens that a step begins with; commands begin with keywords.
    fn first_tokens(&self, step: &Step, found: &mut Vec<TokenKind>) {
        match step {
            Step::Token(kind) => found.push(*kind),
            Step::Rule(number) => self.first_tokens(self.rule(*number), found),
            Step::All(steps) => steps.iter().take(1).for_each(|step| self.first_tokens(step, found)),
            Step::FirstOf(steps) => steps.iter().for_each(|step| self.first_tokens(step, found)),
            Step::Repeated(step, _) | Step::Commas(step) => self.first_tokens(step, found),
            Step::Leaf(_) | Step::Optional(_) | Step::Not(_) => {}
        }
    }
}

fn rule_number(step: &Step) -> Option<RuleNumber> {
    if let Step::Rule(number) = step { Some(*number) } else { None }
}

struct Compiler<'a> {
    numbers: HashMap<&'static str, RuleNumber>,
    words: &'a [&'static str],
    at: usize,
}

impl Compiler<'_> {
    fn peek(&self) -> &'static str {
        self.words.get(self.at).copied().unwrap_or(";")
    }

    fn take(&mut self) -> &'static str {
        self.at += 1;
        self.words.get(self.at - 1).copied().unwrap_or(";")
    }

    /// Up to what closes them.
    fn alternatives(&mut self) -> Step {
        let mut alternatives = vec![self.sequence()];
        while self.peek() == "|" {
            self.at += 1;
            alternatives.push(self.sequence());
        }
        if alternatives.len() == 1 { alternatives.remove(0) } else { Step::FirstOf(alternatives) }
    }

    fn sequence(&mut self) -> Step {
        let mut steps = Vec::new();
        while !matches!(self.peek(), "|" | ")" | ">" | ";") {
            steps.push(self.step());
        }
        if steps.len() == 1 { steps.remove(0) } else { Step::All(steps) }
    }

    fn step(&mut self) -> Step {
        let step = match self.take() {
            "!" => Step::Not(Box::new(self.step())),
            "(" => self.closed(),
            "<" => Step::Commas(Box::new(self.closed())),
            word => self.word(word),
        };
        let boxed = Box::new(step);
        let step = match self.peek() {
            "?" => Step::Optional(boxed),
            "*" => Step::Repeated(boxed, 0),
            "+" => Step::Repeated(boxed, 1),
            _ => return *boxed,
        };
        self.at += 1;
        step
    }

    fn closed(&mut self) -> Step {
        let inner = self.alternatives();
        self.at += 1;
        inner
    }

    fn word(&self, word: &'static str) -> Step {
        if let Some(symbol) = word.strip_prefix('\'') {
            return Step::Token(symbol_kind(symbol.trim_end_matches('\'')));
        }
        if word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') {
            let keyword = find_keyword(word.to_ascii_lowercase().as_bytes());
            return Step::Token(keyword.map_or(TokenKind::Bad, |keyword| keyword.kind));
        }
        match self.numbers.get(word) {
            Some(number) => Step::Rule(*number),
            None => Leaf::named(word).map_or(Step::Token(TokenKind::Bad), Step::Leaf),
        }
    }
}

/// Symbols that the grammar has, and their text.
pub(crate) const SYMBOLS: &[(TokenKind, &str)] = &[
    (TokenKind::Comma, ","),
    (TokenKind::LeftParen, "("),
    (TokenKind::RightParen, ")"),
    (TokenKind::Dot, "."),
    (TokenKind::Semicolon, ";"),
    (TokenKind::Equal, "="),
    (TokenKind::Star, "*"),
    (TokenKind::Plus, "+"),
    (TokenKind::Minus, "-"),
];

fn symbol_kind(symbol: &str) -> TokenKind {
    SYMBOLS.iter().find(|(_, text)| *text == symbol).map_or(TokenKind::Bad, |(kind, _)| *kind)
}

/// The words of a line: names, quoted symbols, and marks by themselves.
fn words(line: &'static str) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => 3,
            first if is_word(first) => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            _ => 1,
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(step: &Step) -> bool {
        match step {
            Step::Token(kind) => *kind != TokenKind::Bad,
            Step::Leaf(_) | Step::Rule(_) => true,
            Step::All(steps) | Step::FirstOf(steps) => steps.iter().all(is_right),
            Step::Optional(step) | Step::Repeated(step, _) | Step::Commas(step) | Step::Not(step) => is_right(step),
        }
    }

    #[test]
    fn every_word_of_the_grammar_is_a_keyword_a_symbol_a_rule_or_a_leaf() {
        let grammar = Grammar::get();
        assert_eq!(grammar.names.len(), grammar.rules.len());
        for (name, rule) in grammar.names.iter().zip(&grammar.rules) {
            assert!(is_right(rule), "{name}");
        }
    }

    #[test]
    fn every_command_is_found_by_its_keyword() {
        let grammar = Grammar::get();
        let found: std::collections::HashSet<_> = grammar.commands.values().flatten().collect();
        assert_eq!(found.len(), grammar.listed(COMMAND).len());
    }

    #[test]
    fn commands_of_our_own_begin_with_no_keyword() {
        let grammar = Grammar::get();
        assert!(!grammar.own.is_empty());
        for number in &grammar.own {
            let word = grammar.name(*number);
            assert!(find_keyword(word.as_bytes()).is_none(), "{word}");
            assert_eq!(grammar.own_commands(&word.to_ascii_uppercase()), [*number]);
        }
        assert!(grammar.own_commands("nothing").is_empty());
    }
}

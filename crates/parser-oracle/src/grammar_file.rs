//! Reads a grammar in yacc's form, PostgreSQL's `gram.y` among them: rules and alternatives, without the actions.
//!
//! Ours is written in the same form with shorthands: `x?` may be left out, `x*` repeats, `x+` repeats and is there at
//! least once, `<x>` is a list with commas, `( )` groups, and `!x` (which takes nothing) means nothing here.

use std::collections::HashMap;

/// A grammar. Rules are known by number.
#[derive(Debug, Default)]
pub struct GrammarFile {
    rules: Vec<Rule>,
    numbers: HashMap<String, usize>,
}

/// A rule: its name and its alternatives.
#[derive(Debug, Default)]
pub struct Rule {
    /// The name.
    pub name: String,
    /// What it may be, each a sequence.
    pub alternatives: Vec<Vec<Symbol>>,
}

/// A part of an alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Another rule.
    Rule(usize),
    /// A token, by the grammar's name for it or as it is written.
    Token(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Lexeme {
    Word(String),
    Written(String),
    Mark(char),
}

impl GrammarFile {
    /// Reads the rules: what stands between the lines `%%`, or the whole text where there are none.
    pub fn parse(text: &str) -> GrammarFile {
        let rules = text.split("\n%%").nth(1).unwrap_or(text);
        let lexemes = lexemes(rules);
        let mut grammar = GrammarFile::default();
        for pair in lexemes.windows(2) {
            if let [Lexeme::Word(name), Lexeme::Mark(':')] = pair {
                grammar.number(name);
            }
        }
        let mut reader = Reader { grammar, lexemes: &lexemes, at: 0 };
        while reader.at < lexemes.len() {
            reader.rule();
        }
        reader.grammar
    }

    /// All rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.rules.len();
        self.rules.push(Rule { name: name.to_owned(), alternatives: Vec::new() });
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

struct Reader<'a> {
    grammar: GrammarFile,
    lexemes: &'a [Lexeme],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Lexeme> {
        self.at += 1;
        self.lexemes.get(self.at - 1).cloned()
    }

    fn rule(&mut self) {
        let Some(Lexeme::Word(name)) = self.next() else { return };
        let number = self.grammar.number(&name);
        if self.next() == Some(Lexeme::Mark(':')) {
            let alternatives = self.alternatives();
            self.grammar.rules[number].alternatives.extend(alternatives);
        }
    }

    /// Up to what closes them.
    fn alternatives(&mut self) -> Vec<Vec<Symbol>> {
        let mut alternatives = vec![Vec::new()];
        while let Some(lexeme) = self.next() {
            match lexeme {
                Lexeme::Mark(';' | ')' | '>') => break,
                Lexeme::Mark('|') => alternatives.push(Vec::new()),
                Lexeme::Mark('!') => drop(self.symbol_next()),
                Lexeme::Word(name) if name == "%prec" => drop(self.next()),
                lexeme => {
                    let symbol = self.symbol(lexeme);
                    if let Some(last) = alternatives.last_mut() {
                        last.push(symbol);
                    }
                }
            }
        }
        alternatives
    }

    fn symbol_next(&mut self) -> Option<Symbol> {
        let lexeme = self.next()?;
        Some(self.symbol(lexeme))
    }

    fn symbol(&mut self, lexeme: Lexeme) -> Symbol {
        let symbol = match lexeme {
            Lexeme::Mark('(') => {
                let alternatives = self.alternatives();
                self.made(alternatives)
            }
            Lexeme::Mark('<') => self.commas(),
            Lexeme::Mark(other) => Symbol::Token(other.to_string()),
            Lexeme::Written(text) => Symbol::Token(text),
            Lexeme::Word(name) => match self.grammar.find(&name) {
                Some(number) => Symbol::Rule(number),
                None => Symbol::Token(name),
            },
        };
        self.repeated(symbol)
    }

    /// What repeats becomes a rule of its own that refers to itself.
    fn repeated(&mut self, symbol: Symbol) -> Symbol {
        let Some(Lexeme::Mark(mark @ ('?' | '*' | '+'))) = self.lexemes.get(self.at) else { return symbol };
        self.at += 1;
        match mark {
            '?' => self.made(vec![vec![symbol], Vec::new()]),
            _ => {
                let itself = Symbol::Rule(self.grammar.rules.len());
                let end = if *mark == '+' { vec![symbol.clone()] } else { Vec::new() };
                self.made(vec![vec![symbol, itself], end])
            }
        }
    }

    fn commas(&mut self) -> Symbol {
        let alternatives = self.alternatives();
        let item = self.made(alternatives);
        let itself = Symbol::Rule(self.grammar.rules.len());
        self.made(vec![vec![item.clone()], vec![item, Symbol::Token(",".to_owned()), itself]])
    }

    /// A rule without a name of its own.
    fn made(&mut self, alternatives: Vec<Vec<Symbol>>) -> Symbol {
        let number = self.grammar.rules.len();
        self.grammar.rules.push(Rule { name: format!("part {number}"), alternatives });
        Symbol::Rule(number)
    }
}

fn lexemes(text: &str) -> Vec<Lexeme> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = past(text, at + 2, "*/"),
            b'#' => at = past(text, at, "\n"),
            b'{' => at = past_action(text, at),
            b'\'' => {
                let end = past(text, at + 1, "'");
                found.push(Lexeme::Written(text[at + 1..end - 1].to_owned()));
                at = end;
            }
            byte if is_word(*byte) => {
                let end = bytes[at..].iter().position(|byte| !is_word(*byte)).map_or(bytes.len(), |length| at + length);
                found.push(Lexeme::Word(text[at..end].to_owned()));
                at = end;
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            byte => {
                found.push(Lexeme::Mark(char::from(*byte)));
                at += 1;
            }
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%'
}

fn past(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |length| from + length + end.len())
}

/// Behind an action in C, with the strings, characters and comments that it has.
fn past_action(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = past(text, at + 2, "*/");
                continue;
            }
            b'"' | b'\'' => at = past_quote(bytes, at),
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// At the closing quote.
fn past_quote(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != bytes[start] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_comments_and_precedence_are_left_out() {
        let grammar = GrammarFile::parse(
            "%token A\n%%\nx: y B { if ('}') { s = \"}\"; } } /* | C */ | '(' x ')' %prec D ;\ny: ;",
        );
        assert_eq!(grammar.rules()[0].name, "x");
        let expected = vec![
            vec![Symbol::Rule(1), Symbol::Token("B".into())],
            vec![Symbol::Token("(".into()), Symbol::Rule(0), Symbol::Token(")".into())],
        ];
        assert_eq!(grammar.rules()[0].alternatives, expected);
        assert_eq!(grammar.rules()[1].alternatives, vec![vec![]]);
    }

    #[test]
    fn groups_are_rules_of_their_own() {
        let grammar = GrammarFile::parse("x: A ( B | C )? ( ',' A )* ;");
        let written: Vec<usize> = grammar.rules().iter().map(|rule| rule.alternatives.len()).collect();
        assert_eq!(written, [1, 2, 2, 1, 2]);
        assert_eq!(grammar.rules()[2].alternatives[1], vec![]);
        assert_eq!(grammar.rules()[4].alternatives[0].last(), Some(&Symbol::Rule(4)));
    }
}

//! The words of backslash commands: separated by blanks, quoted where they hold some.

/// A word of a backslash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Bare(String),
    Quoted(String),
}

impl Word {
    pub fn into_text(self) -> String {
        match self {
            Word::Bare(text) | Word::Quoted(text) => text,
        }
    }

    /// As a name in SQL: folded to lower case unless quoted; `public.` says nothing.
    pub fn into_name(self) -> String {
        match self {
            Word::Bare(text) => {
                let name = text.to_lowercase();
                name.strip_prefix("public.").map_or(name.clone(), str::to_string)
            }
            Word::Quoted(text) => text,
        }
    }
}

/// Reads words one after another.
pub struct Words<'a> {
    rest: &'a str,
    punctuation: &'static str,
}

impl<'a> Words<'a> {
    /// `punctuation`: the characters that are words of their own.
    pub fn new(text: &'a str, punctuation: &'static str) -> Words<'a> {
        Words { rest: text.trim().trim_end_matches(';'), punctuation }
    }

    /// The next word; an error where a quote is not closed.
    pub fn next(&mut self) -> Result<Option<Word>, String> {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        match first {
            '\'' | '"' => self.quoted(first).map(|text| Some(Word::Quoted(text))),
            c if self.punctuation.contains(c) => Ok(Some(Word::Bare(self.split(1)))),
            _ => {
                let ends = |c: char| c.is_whitespace() || self.punctuation.contains(c);
                let end = self.rest.find(ends).unwrap_or(self.rest.len());
                Ok(Some(Word::Bare(self.split(end))))
            }
        }
    }

    /// The next word in lower case; empty at the end.
    pub fn keyword(&mut self) -> Result<String, String> {
        Ok(self.next()?.map(Word::into_text).unwrap_or_default().to_lowercase())
    }

    /// The next word, which an option needs.
    pub fn value(&mut self, option: &str) -> Result<String, String> {
        match self.next()? {
            Some(Word::Bare(word)) if word.eq_ignore_ascii_case("as") => self.value(option),
            Some(word) => Ok(word.into_text()),
            None => Err(format!("{option} needs a value")),
        }
    }

    /// The value of a switch, which may be left out.
    pub fn switch(&mut self) -> Result<bool, String> {
        let before = self.rest;
        match self.keyword()?.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => {
                self.rest = before;
                Ok(true)
            }
        }
    }

    fn split(&mut self, end: usize) -> String {
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_string()
    }

    /// A quoted word: doubled quotes stand for one.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            match c {
                c if c == quote && characters.peek().is_some_and(|(_, next)| *next == quote) => {
                    characters.next();
                    text.push(quote);
                }
                c if c == quote => {
                    self.split(at + 1);
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(format!("a {quote} is not closed"))
    }

    /// What stands in the parentheses that come next, if any do; strings in it may hold parentheses.
    pub fn parenthesized(&mut self) -> Result<Option<String>, String> {
        self.rest = self.rest.trim_start();
        if !self.rest.starts_with('(') {
            return Ok(None);
        }
        let (mut depth, mut quote) = (0usize, None);
        for (at, c) in self.rest.char_indices() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = self.split(at + 1);
                return Ok(Some(inside[1..inside.len() - 1].to_string()));
            }
        }
        Err("a parenthesis is not closed".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, punctuation: &'static str) -> Vec<String> {
        let mut words = Words::new(text, punctuation);
        std::iter::from_fn(|| words.next().unwrap().map(Word::into_text)).collect()
    }

    #[test]
    fn words_are_separated_by_blanks_and_quotes_hold_them_together() {
        assert_eq!(all(" a  'b c' \"it\"\"s\" ;", ""), ["a", "b c", "it\"s"]);
        assert_eq!(all("t(a,b)", "(),"), ["t", "(", "a", ",", "b", ")"]);
        assert_eq!(all("t(a,b)", ""), ["t(a,b)"]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert!(Words::new("'open", "").next().is_err());
    }

    #[test]
    fn parentheses_may_hold_strings_with_parentheses() {
        let mut words = Words::new("(f(')')) x", "()");
        assert_eq!(words.parenthesized().unwrap().unwrap(), "f(')')");
        assert_eq!(words.parenthesized().unwrap(), None);
        assert!(Words::new("(", "()").parenthesized().is_err());
    }
}

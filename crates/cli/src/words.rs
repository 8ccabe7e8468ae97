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
}

/// Reads words one after another.
pub struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str) -> Words<'a> {
        Words { rest: text.trim().trim_end_matches(';') }
    }

    /// What no word was read of yet.
    pub fn rest(&self) -> &'a str {
        self.rest.trim()
    }

    /// The next word; an error where a quote is not closed.
    pub fn next(&mut self) -> Result<Option<Word>, String> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            None => Ok(None),
            Some(quote @ ('\'' | '"')) => self.quoted(quote).map(|text| Some(Word::Quoted(text))),
            Some(_) => {
                let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                Ok(Some(Word::Bare(word.to_string())))
            }
        }
    }

    /// A quoted word: doubled quotes stand for one.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            if c != quote {
                text.push(c);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                text.push(quote);
            } else {
                self.rest = &self.rest[at + 1..];
                return Ok(text);
            }
        }
        Err(format!("a {quote} is not closed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut words = Words::new(text);
        std::iter::from_fn(|| words.next().unwrap().map(Word::into_text)).collect()
    }

    #[test]
    fn words_are_separated_by_blanks_and_quotes_hold_them_together() {
        assert_eq!(all(" a  'b c' \"it\"\"s\" ;"), ["a", "b c", "it\"s"]);
        assert_eq!(all("t(a,b) 'x'y"), ["t(a,b)", "x", "y"]);
        let mut words = Words::new("a  b  c;");
        words.next().unwrap();
        assert_eq!(words.rest(), "b  c");
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert!(Words::new("'open").next().is_err());
    }
}

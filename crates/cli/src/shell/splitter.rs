//! Cuts typed or scripted text into statements and backslash commands, line by line, as psql does: a statement ends at
//! a semicolon outside of quotes and comments; a backslash there begins a command that runs to the end of its line.

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement with its semicolon, if it has one, and the line (from 1) on which it begins.
    Statement { text: String, line: usize },
    /// A backslash command without its backslash, and its line.
    Command { text: String, line: usize },
}

/// What the scanner is inside of at the end of what it has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Plain,
    Comment { depth: usize },
    Quoted { quote: char, escapes: bool },
    Dollar { tag: String },
}

/// Fed with text line by line; see the module's description.
pub struct Splitter {
    state: State,
    buffer: String,
    line: usize,
    statement_line: usize,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter { state: State::Plain, buffer: String::new(), line: 0, statement_line: 1 }
    }
}

impl Splitter {
    /// Takes one line (without its line end) and gives what became complete with it.
    pub fn push_line(&mut self, line: &str) -> Vec<Piece> {
        self.line += 1;
        let mut pieces = Vec::new();
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = match &self.state {
                State::Plain if c == ';' => {
                    self.end_statement(&mut pieces, ";");
                    after
                }
                State::Plain if c == '\\' => {
                    pieces.push(Piece::Command { text: after.to_string(), line: self.line });
                    return pieces;
                }
                _ => {
                    let length = self.step(rest, c);
                    self.take(rest, length)
                }
            };
        }
        if !self.buffer.is_empty() {
            self.buffer.push('\n');
        }
        pieces
    }

    /// What is left at the end of the text: a last statement without semicolon.
    pub fn finish(&mut self) -> Option<Piece> {
        let mut pieces = Vec::new();
        self.end_statement(&mut pieces, "");
        self.state = State::Plain;
        pieces.pop()
    }

    /// How many lines it was given.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Nothing begun is waiting for its end.
    pub fn is_empty(&self) -> bool {
        is_blank(&self.buffer)
    }

    fn end_statement(&mut self, pieces: &mut Vec<Piece>, end: &str) {
        let text = std::mem::take(&mut self.buffer);
        if !is_blank(&text) {
            pieces.push(Piece::Statement { text: text.trim_end().to_string() + end, line: self.statement_line });
        }
    }

    /// Moves `length` bytes of `rest` to the statement.
    fn take<'a>(&mut self, rest: &'a str, length: usize) -> &'a str {
        let (taken, rest) = rest.split_at(length);
        if self.buffer.is_empty() {
            if taken.chars().all(char::is_whitespace) {
                return rest;
            }
            self.statement_line = self.line;
        }
        self.buffer.push_str(taken);
        rest
    }

    /// Reads one lexical step at the start of `rest`, whose first character is `c`; its length in bytes.
    fn step(&mut self, rest: &str, c: char) -> usize {
        match self.state.clone() {
            State::Plain => self.step_plain(rest, c),
            State::Comment { depth } => self.step_comment(rest, c, depth),
            State::Quoted { escapes: true, .. } if c == '\\' => two_characters(rest),
            State::Quoted { quote, .. } => {
                if c == quote {
                    self.state = State::Plain;
                }
                c.len_utf8()
            }
            State::Dollar { tag } if rest.starts_with(&tag) => {
                self.state = State::Plain;
                tag.len()
            }
            State::Dollar { .. } => c.len_utf8(),
        }
    }

    fn step_plain(&mut self, rest: &str, c: char) -> usize {
        match c {
            '-' if rest.starts_with("--") => return rest.len(),
            '/' if rest.starts_with("/*") => {
                self.state = State::Comment { depth: 1 };
                return 2;
            }
            '\'' => self.state = State::Quoted { quote: c, escapes: self.follows_escape_mark() },
            '"' => self.state = State::Quoted { quote: c, escapes: false },
            '$' if !self.buffer.ends_with(is_name_character) => {
                if let Some(tag) = dollar_tag(rest) {
                    self.state = State::Dollar { tag: tag.to_string() };
                    return tag.len();
                }
            }
            _ => {}
        }
        c.len_utf8()
    }

    fn step_comment(&mut self, rest: &str, c: char, depth: usize) -> usize {
        let depth = match rest {
            rest if rest.starts_with("/*") => depth + 1,
            rest if rest.starts_with("*/") => depth - 1,
            _ => return c.len_utf8(),
        };
        self.state = if depth == 0 { State::Plain } else { State::Comment { depth } };
        2
    }

    /// The buffer ends with the `E` of an `E'...'` string.
    fn follows_escape_mark(&self) -> bool {
        let mut back = self.buffer.chars().rev();
        back.next().is_some_and(|c| c.eq_ignore_ascii_case(&'e')) && !back.next().is_some_and(is_name_character)
    }
}

fn two_characters(rest: &str) -> usize {
    rest.chars().take(2).map(char::len_utf8).sum()
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The `$tag$` that `rest` begins with, if it does.
fn dollar_tag(rest: &str) -> Option<&str> {
    let end = rest.get(1..)?.find('$')? + 1;
    let name = rest.get(1..end)?;
    let is_tag = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_numeric());
    is_tag.then(|| &rest[..=end])
}

/// Only blanks and comments: nothing to run.
fn is_blank(text: &str) -> bool {
    cairndb::sql::split_script(text).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Piece> {
        let mut splitter = Splitter::default();
        let mut pieces: Vec<Piece> = text.lines().flat_map(|line| splitter.push_line(line)).collect();
        pieces.extend(splitter.finish());
        pieces
    }

    fn statement(text: &str, line: usize) -> Piece {
        Piece::Statement { text: text.to_string(), line }
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let text = "select ';' -- ;\n, \"a;b\";\nselect /* ; /* ; */ ; */ 2; select $x$ ; $$ $x$;select E'\\';'";
        let expected = [
            statement("select ';' -- ;\n, \"a;b\";", 1),
            statement("select /* ; /* ; */ ; */ 2;", 3),
            statement("select $x$ ; $$ $x$;", 3),
            statement("select E'\\';'", 3),
        ];
        assert_eq!(split(text), expected);
    }

    #[test]
    fn a_backslash_outside_of_quotes_begins_a_command_to_the_end_of_its_line() {
        let text = "\\timing\nselect '\\d'; \\d t\nselect 1\n\\q";
        let command = |text: &str, line| Piece::Command { text: text.to_string(), line };
        let expected = [
            command("timing", 1),
            statement("select '\\d';", 2),
            command("d t", 2),
            command("q", 4),
            statement("select 1", 3),
        ];
        assert_eq!(split(text), expected);
    }

    #[test]
    fn comments_alone_are_nothing_to_run() {
        assert_eq!(split("-- hello\n/* a */ ;\n;;\n"), []);
        assert_eq!(split("-- hello\nselect 1;"), [statement("-- hello\nselect 1;", 1)]);
    }

    #[test]
    fn parameters_and_names_with_dollars_begin_no_string() {
        assert_eq!(split("select $1; select a$b$c;"), [statement("select $1;", 1), statement("select a$b$c;", 1)]);
    }

    #[test]
    fn an_open_string_goes_on_over_lines() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push_line("select 'a;"), []);
        assert!(!splitter.is_empty());
        assert_eq!(splitter.push_line("b';"), [statement("select 'a;\nb';", 1)]);
        assert!(splitter.is_empty());
    }
}

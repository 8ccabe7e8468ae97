//! Cuts typed or scripted text into statements and backslash commands, line by line, as psql does: a statement ends at
//! a semicolon outside of quotes, comments and bodies (BEGIN ATOMIC); a backslash there begins a command that runs to the end of its
//! line. Where no statement is begun, so does a dot with a letter behind it, as in SQLite's shell: no statement begins like that.
//!
//! What is a quote and what a comment, the parser's lexer tells. It knows no half tokens, so of one that is open at the
//! end of a line this looks for the end itself: no line is read twice, however long what it belongs to becomes.

use cairn_parser::token::{Lexer, Placeholders, RoutineBody, TokenKind};

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement with its semicolon, if it has one, and the line (from 1) on which it begins.
    Statement { text: String, line: usize },
    /// A backslash command without its backslash, or a dot command with its dot, and its line.
    Command { text: String, line: usize },
}

/// What began on a line before and has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    Comment { depth: usize },
    Quoted { quote: u8, escapes: bool },
    Dollar { tag: String },
}

/// Fed with text line by line; see the module's description.
pub struct Splitter {
    open: Option<Open>,
    /// Of the statement that is begun.
    body: RoutineBody,
    buffer: String,
    line: usize,
    statement_line: usize,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter { open: None, body: RoutineBody::default(), buffer: String::new(), line: 0, statement_line: 1 }
    }
}

impl Splitter {
    /// Takes one line (without its newline) and gives what became complete with it. A carriage return at its end is of the statement
    /// only where something is open: within quotes it is of the value.
    pub fn push_line(&mut self, line: &str) -> Vec<Piece> {
        self.line += 1;
        let (line, returns) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
        let mut pieces = Vec::new();
        if self.open.is_none() && is_dot_command(line) && self.is_empty() {
            return vec![Piece::Command { text: line.trim().to_string(), line: self.line }];
        }
        let taken = match self.open.as_mut().map_or(Some(0), |open| open.end(line)) {
            Some(end) => {
                self.open = None;
                self.push_tokens(line, end, &mut pieces)
            }
            None => Some(0),
        };
        if let Some(taken) = taken {
            self.take(&line[taken..]);
            if !self.buffer.is_empty() {
                self.buffer.push_str(if self.open.is_some() { returns } else { "" });
                self.buffer.push('\n');
            }
        }
        pieces
    }

    /// Reads the line from byte `at` on, where nothing is open. How much of the line belongs to what has ended; none
    /// where a command took the rest.
    fn push_tokens(&mut self, line: &str, at: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
        let (mut taken, mut from) = (0, at);
        loop {
            if !self.may_skip_lexer(&line[from..]) {
                return self.push_lexed(line, from, taken, pieces);
            }
            match plain_semicolon(line, from) {
                Plain::Semicolon(start) => {
                    self.take(&line[taken..start]);
                    self.end_statement(pieces, ";");
                    (taken, from) = (start + 1, start + 1);
                }
                Plain::End => return Some(taken),
                Plain::Unclear => return self.push_lexed(line, from, taken, pieces),
            }
        }
    }

    /// As [`Splitter::push_tokens`] by the parser's lexer, for a line of which `taken` bytes belong to what has ended.
    fn push_lexed(&mut self, line: &str, at: usize, mut taken: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
        let mut lexer = Lexer::new(line, at, Placeholders::default());
        loop {
            let token = lexer.next_token();
            let (start, end) = (token.start as usize, token.end as usize);
            match token.kind {
                TokenKind::Eof => return Some(taken),
                TokenKind::Semicolon if self.body.is_open() => {}
                TokenKind::Semicolon => {
                    self.take(&line[taken..start]);
                    self.end_statement(pieces, ";");
                    taken = end;
                }
                // As psql has it: the statement that is begun goes on, and is run with what follows.
                TokenKind::Bad if line[start..].starts_with("\\;") => {
                    self.take(&line[taken..start]);
                    self.buffer.push(';');
                    (taken, lexer) = (start + 2, Lexer::new(line, start + 2, Placeholders::default()));
                    self.body = RoutineBody::default();
                }
                TokenKind::Bad if line[start..].starts_with('\\') => {
                    self.take(&line[taken..start]);
                    pieces.push(Piece::Command { text: line[start + 1..].to_string(), line: self.line });
                    return None;
                }
                TokenKind::Bad if lexer.error().is_some_and(|error| error.message.starts_with("unterminated")) => {
                    self.open = Open::begun(&line[start..]);
                    return Some(taken);
                }
                kind => self.body.see(kind),
            }
        }
    }

    /// Whether semicolons can be looked for without looking at words: the statement is none that has a body.
    fn may_skip_lexer(&mut self, rest: &str) -> bool {
        let first = rest.trim_start();
        let may_begin_one = first.starts_with(['c', 'C', '-', '/', '\\']);
        if self.body == RoutineBody::default() && !may_begin_one && !first.is_empty() {
            self.body.pass();
        }
        first.is_empty() || !self.body.may_open()
    }

    /// What is left at the end of the text: a last statement without semicolon.
    pub fn finish(&mut self) -> Option<Piece> {
        let mut pieces = Vec::new();
        self.end_statement(&mut pieces, "");
        self.open = None;
        pieces.pop()
    }

    /// So many lines went by that are no statements.
    pub fn pass_lines(&mut self, count: usize) {
        self.line += count;
    }

    /// How many lines it was given.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Nothing begun is waiting for its end.
    pub fn is_empty(&self) -> bool {
        is_blank(&self.buffer)
    }

    /// The statement that is begun, as far as it was given.
    pub fn begun(&self) -> &str {
        &self.buffer
    }

    /// Takes the statement that is begun out; none where there is nothing to run.
    pub fn take_begun(&mut self) -> Option<String> {
        match self.finish() {
            Some(Piece::Statement { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// What a prompt says of what is begun, as psql's does: `=` nothing, `-` a statement, otherwise what is open.
    pub fn mark(&self) -> char {
        match &self.open {
            Some(Open::Comment { .. }) => '*',
            Some(Open::Quoted { quote, .. }) => char::from(*quote),
            Some(Open::Dollar { .. }) => '$',
            None if self.is_empty() => '=',
            None if is_in_parentheses(&self.buffer) => '(',
            None => '-',
        }
    }

    fn end_statement(&mut self, pieces: &mut Vec<Piece>, end: &str) {
        self.body = RoutineBody::default();
        let mut text = std::mem::take(&mut self.buffer);
        if !is_blank(&text) {
            text.truncate(text.trim_end().len());
            text.push_str(end);
            pieces.push(Piece::Statement { text, line: self.statement_line });
        }
    }

    /// Moves a part of the line to the statement.
    fn take(&mut self, part: &str) {
        let part = if self.buffer.is_empty() { part.trim_start() } else { part };
        if self.buffer.is_empty() && !part.is_empty() {
            self.statement_line = self.line;
        }
        self.buffer.push_str(part);
    }
}

/// What comes next in a line of plain tokens.
enum Plain {
    Semicolon(usize),
    End,
    /// Something that the lexer has to look at.
    Unclear,
}

/// Looks for a semicolon from byte `at` on, where a token begins. A dump's lines are long, and hold little but numbers and
/// strings without anything special: those need no lexer.
fn plain_semicolon(line: &str, at: usize) -> Plain {
    let bytes = line.as_bytes();
    let next = |at: usize| bytes.get(at).copied();
    let mut at = at;
    while let Some(byte) = next(at) {
        match byte {
            b';' => return Plain::Semicolon(at),
            b'\'' => {
                // A letter before it says how to read it.
                let before = at.checked_sub(1).and_then(next).unwrap_or(b' ');
                if before.is_ascii_alphanumeric() || before >= 0x80 || matches!(before, b'_' | b'&' | b'$') {
                    return Plain::Unclear;
                }
                loop {
                    let Some(length) = line.get(at + 1..).and_then(|rest| rest.find('\'')) else {
                        return Plain::Unclear;
                    };
                    at += length + 2;
                    if next(at) != Some(b'\'') {
                        break;
                    }
                }
            }
            b'"' | b'$' | b'\\' => return Plain::Unclear,
            b'-' if next(at + 1) == Some(b'-') => return Plain::Unclear,
            b'/' if next(at + 1) == Some(b'*') => return Plain::Unclear,
            _ => at += 1,
        }
    }
    Plain::End
}

impl Open {
    /// What begins with `text` and does not end in it.
    fn begun(text: &str) -> Option<Open> {
        if let Some(inside) = text.strip_prefix("/*") {
            let mut comment = Open::Comment { depth: 1 };
            comment.end(inside);
            return Some(comment);
        }
        if let Some(rest) = text.strip_prefix('$') {
            return rest.find('$').map(|end| Open::Dollar { tag: text[..end + 2].to_string() });
        }
        let quote = text.bytes().find(|byte| matches!(byte, b'\'' | b'"'))?;
        Some(Open::Quoted { quote, escapes: text.starts_with(['e', 'E']) })
    }

    /// Where it ends in the line that follows; none where it goes on.
    fn end(&mut self, line: &str) -> Option<usize> {
        match self {
            Open::Comment { depth } => comment_end(line.as_bytes(), depth),
            Open::Quoted { quote, escapes } => quote_end(line.as_bytes(), *quote, *escapes),
            Open::Dollar { tag } => line.find(tag.as_str()).map(|start| start + tag.len()),
        }
    }
}

fn comment_end(line: &[u8], depth: &mut usize) -> Option<usize> {
    let mut at = 0;
    while at + 1 < line.len() {
        match &line[at..at + 2] {
            b"/*" => *depth += 1,
            b"*/" => *depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if *depth == 0 {
            return Some(at);
        }
    }
    None
}

fn quote_end(line: &[u8], quote: u8, escapes: bool) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match *byte {
            b'\\' if escapes => at += 2,
            byte if byte == quote && line.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// A dot and a letter, with which no statement begins.
pub fn is_dot_command(line: &str) -> bool {
    line.trim_start().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn is_in_parentheses(text: &str) -> bool {
    let mut lexer = Lexer::new(text, 0, Placeholders::default());
    let mut depth = 0_i64;
    loop {
        match lexer.next_token().kind {
            TokenKind::Eof => return depth > 0,
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth -= 1,
            _ => {}
        }
    }
}

/// Only blanks and comments: nothing to run.
fn is_blank(text: &str) -> bool {
    Lexer::new(text, 0, Placeholders::default()).next_token().kind == TokenKind::Eof
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
    fn carriage_returns_are_kept_within_quotes_and_nowhere_else() {
        let text = "select 1,\r\n'a\r\nb',\r\n$$c\r\n$$;\r\n\\echo d\r\nselect 2;\r";
        let mut splitter = Splitter::default();
        let pieces: Vec<Piece> = text.split('\n').flat_map(|line| splitter.push_line(line)).collect();
        let expected = [
            statement("select 1,\n'a\r\nb',\n$$c\r\n$$;", 1),
            Piece::Command { text: "echo d".to_string(), line: 6 },
            statement("select 2;", 7),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn a_body_is_one_statement_to_its_end() {
        let body = "/* a */ create or replace\nfunction f(a int) returns int begin\n  atomic select 1; select case a when 1 then 2 end;\nend;";
        let text = format!("{body} select 1;\nselect begin; atomic;create table case (end int); select 2;");
        let expected = [
            statement(body, 1),
            statement("select 1;", 4),
            statement("select begin;", 5),
            statement("atomic;", 5),
            statement("create table case (end int);", 5),
            statement("select 2;", 5),
        ];
        assert_eq!(split(&text), expected);
        let command = Piece::Command { text: "timing".to_owned(), line: 1 };
        assert_eq!(split(&format!("\\timing\n{body}")), [command, statement(body, 2)]);
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
    fn statements_are_joined_by_a_backslash_and_a_semicolon() {
        let expected = [statement("select 1; select 2;", 1), statement("select 3;\nselect ';';", 1)];
        assert_eq!(split("select 1\\; select 2; select 3\\;\nselect ';' ;"), expected);
    }

    #[test]
    fn a_dot_begins_a_command_where_no_statement_is_begun() {
        let command = |text: &str, line| Piece::Command { text: text.to_string(), line };
        let expected = [
            command(".tables", 1),
            statement("select 1\n.5;", 2),
            command(".mode csv", 5),
            statement("-- a\nselect '\n.x'\n.y;", 4),
        ];
        assert_eq!(split(".tables\nselect 1\n.5 ;\n-- a\n .mode csv\nselect '\n.x'\n.y;"), expected);
    }

    #[test]
    fn the_mark_says_what_is_open() {
        for (text, mark) in [
            ("", '='),
            ("-- a", '='),
            ("select 1;", '='),
            ("select", '-'),
            ("select (1,", '('),
            ("select ')' from (a", '('),
            ("select (1)", '-'),
            ("select 'a", '\''),
            ("select \"a", '"'),
            ("select $x$ a", '$'),
            ("select /* a", '*'),
        ] {
            let mut splitter = Splitter::default();
            splitter.push_line(text);
            assert_eq!(splitter.mark(), mark, "{text}");
        }
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

    #[test]
    fn lines_without_anything_special_are_cut_where_the_lexer_cuts_them() {
        const WORDS: [&str; 30] = [
            "'", "'", "''", "';'", ";", ";", "\"", "$", "$$", "$a$", "--", "-", "/*", "*/", "/", "E'", "e", "U&'",
            "x'", "1", " ", " ", "\n", "é", "a", "(", ",", "'it''s'", "E'\\';'", "e'\\\\",
        ];
        let mut state = 7_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let bare = |text: &str| cairndb::split_script(text).map(|one| one.text.to_string()).collect::<Vec<_>>();
        for _ in 0..20_000 {
            let text: String = (0..1 + below(14)).map(|_| WORDS[below(WORDS.len())]).collect();
            let pieces = split(&text);
            if pieces.iter().any(|piece| matches!(piece, Piece::Command { .. })) {
                continue;
            }
            let said = pieces.into_iter().flat_map(|piece| match piece {
                Piece::Statement { text, .. } => bare(&text),
                Piece::Command { .. } => vec![],
            });
            assert_eq!(said.collect::<Vec<_>>(), bare(&text), "{text:?}");
        }
    }

    /// What the lexer tells of a whole text, this tells line by line.
    #[test]
    fn quotes_and_comments_are_the_lexers() {
        for text in [
            "select 1$$;$$;\nselect 2",
            "select $$a\n;$b$$$;$$ $$; select 3;",
            "select E'it''s \\';\n\\'; ' ; select 4;",
            "select $a$ $b$ ;\n $b$ $a;\n$a$; select 5",
            "select /* /* \n ; */ ' \n */ ';' ; -- ;\nselect 6 ;",
            "select \"a\n\"\";b\" ; select U&'\n;' ; select like'a' ;",
            "select a$b$;c$b$ ; é$$;$$ ;\n select 7",
        ] {
            let bare = |text: &str| cairndb::split_script(text).map(|one| one.text.to_string()).collect::<Vec<_>>();
            let said = |piece: Piece| match piece {
                Piece::Statement { text, .. } => bare(&text),
                Piece::Command { text, .. } => panic!("a command: {text}"),
            };
            assert_eq!(split(text).into_iter().flat_map(said).collect::<Vec<_>>(), bare(text), "{text}");
        }
    }
}

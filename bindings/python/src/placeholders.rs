//! The ways to write a parameter: `?`, `:1`, `:name`, `%s`, `%(name)s`, and the engine's own `$1`, to which the others are rewritten.
//!
//! - A statement has one way. Literals, quoted names, dollar quotes and comments are left alone.
//! - **A placeholder never follows an operand**, for two operands do not stand side by side; what follows one is an operator
//!   (jsonb's `?`, `?|`, `?&`, the modulo `%`) or a slice (`a[1:n]`). So nothing has to be escaped: in `doc ? ?` the first
//!   is the operator, the second a parameter. `@?` is an operator, too.
//! - Where there is a `%s` or `%(name)s`, `%%` is a `%` wherever it stands, as psycopg has it; nowhere else.
//!
//! Which words are operands is told by the parser's own classes of keywords.

use cairn_parser::token::{KeywordClass, Lexer, Placeholders, Token, TokenKind};
use pyo3::{PyErr, Python};

use crate::errors::raised_at;

/// How a statement's parameters are given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parameters {
    /// So many, in their order.
    InOrder(usize),
    /// By these names, the first being `$1`.
    ByName(Vec<String>),
}

/// A statement's text as the engine takes it.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    pub(crate) parameters: Parameters,
    /// Its first word.
    pub(crate) first: TokenKind,
    /// Whether it may put values into columns: it has one of the words INSERT, UPDATE, MERGE.
    pub(crate) assigns: bool,
    /// Where the text was changed: from this byte of it on, so many bytes of the user's lie before.
    moved: Vec<(usize, usize)>,
}

/// What is wrong with a text's placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mixed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Question,
    Numbered,
    Named,
    Format,
    NamedFormat,
    Dollar,
}

/// A placeholder: its bytes, and what is said between its signs.
struct Found<'a> {
    style: Style,
    start: usize,
    end: usize,
    name: &'a str,
}

impl Rewritten {
    /// Reads a text.
    pub(crate) fn of(text: &str) -> Result<Rewritten, Mixed> {
        let Read { found, first, assigns } = read(text);
        let style = found.iter().map(|found| found.style).next();
        if found.iter().any(|found| Some(found.style) != style) {
            return Err(Mixed);
        }
        let (sql, parameters) = (String::new(), Parameters::InOrder(0));
        let mut rewritten = Rewritten { sql, parameters, first, assigns, moved: vec![] };
        match style {
            None => rewritten.sql.push_str(text),
            Some(Style::Dollar) => {
                rewritten.sql.push_str(text);
                let highest = found.iter().filter_map(|found| found.name.parse().ok()).max();
                rewritten.parameters = Parameters::InOrder(highest.unwrap_or(0));
            }
            Some(style) => rewritten.put(text, &found, style),
        }
        Ok(rewritten)
    }

    fn put(&mut self, text: &str, found: &[Found<'_>], style: Style) {
        let percents = matches!(style, Style::Format | Style::NamedFormat);
        let (mut names, mut highest, mut at) = (Vec::<String>::new(), 0, 0);
        for (index, placeholder) in found.iter().enumerate() {
            self.copy(text, (at, placeholder.start), percents);
            let number = match style {
                Style::Question | Style::Format => index + 1,
                Style::Numbered | Style::Dollar => placeholder.name.parse().unwrap_or(usize::MAX),
                Style::Named | Style::NamedFormat => number_of(&mut names, placeholder.name),
            };
            highest = highest.max(number);
            self.moved.push((self.sql.len(), placeholder.start));
            self.sql.push_str(&format!("${number}"));
            self.moved.push((self.sql.len(), placeholder.end));
            at = placeholder.end;
        }
        self.copy(text, (at, text.len()), percents);
        self.parameters = match style {
            Style::Named | Style::NamedFormat => Parameters::ByName(names),
            _ => Parameters::InOrder(highest),
        };
    }

    /// Copies a part of the text; `percents`: doubled ones are one.
    fn copy(&mut self, text: &str, (start, end): (usize, usize), percents: bool) {
        let mut at = start;
        while percents && let Some(next) = text[at..end].find("%%") {
            self.sql.push_str(&text[at..=at + next]);
            at += next + 2;
            self.moved.push((self.sql.len(), at));
        }
        self.sql.push_str(&text[at..end]);
    }

    /// The exception of an error of the statement, which the user wrote as `text`.
    pub(crate) fn raised(&self, py: Python<'_>, text: &str, error: &cairndb::Error) -> PyErr {
        raised_at(py, error, |position| self.position(text, position))
    }

    /// Where a position (in characters, from 1) of the engine's text is in the user's.
    fn position(&self, text: &str, position: usize) -> usize {
        let byte = self.sql.char_indices().nth(position.saturating_sub(1)).map_or(self.sql.len(), |(byte, _)| byte);
        let (new, old) = self.moved.iter().rev().find(|(new, _)| *new <= byte).copied().unwrap_or((0, 0));
        text.get(..old + (byte - new)).map_or(position, |before| before.chars().count() + 1)
    }
}

fn number_of(names: &mut Vec<String>, name: &str) -> usize {
    match names.iter().position(|known| known == name) {
        Some(known) => known + 1,
        None => {
            names.push(name.to_owned());
            names.len()
        }
    }
}

/// What is read in a text.
struct Read<'a> {
    found: Vec<Found<'a>>,
    first: TokenKind,
    assigns: bool,
}

/// All placeholders of a text, and what its words say.
fn read(text: &str) -> Read<'_> {
    let mut read = Read { found: Vec::new(), first: TokenKind::Eof, assigns: false };
    let (mut after_operand, mut distinct) = (false, DistinctOn::default());
    let mut lexer = Lexer::new(text, 0, Placeholders::default());
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::Eof {
            return read;
        }
        if read.first == TokenKind::Eof {
            read.first = token.kind;
        }
        read.assigns |= matches!(token.kind, TokenKind::Insert | TokenKind::Update | TokenKind::Merge);
        let ends_distinct = distinct.is_ended_by(token.kind);
        let (start, end) = (token.start as usize, token.end as usize);
        if token.kind == TokenKind::Param {
            read.found.push(Found { style: Style::Dollar, start, end, name: &text[start + 1..end] });
            after_operand = true;
        } else if let Some((sign, is_after)) = sign(text, token, after_operand) {
            match (is_after, placeholder(text, sign)) {
                (false, Some(placeholder)) => {
                    lexer = Lexer::new(text, placeholder.end, Placeholders::default());
                    read.found.push(placeholder);
                    after_operand = true;
                }
                // An operator of one's own, and what may stand behind it.
                (true, _) if text.as_bytes()[sign] == b'?' => {
                    let more = text[sign + 1..].starts_with(['|', '&']) && !text[sign + 1..].starts_with("||");
                    lexer = Lexer::new(text, sign + 1 + usize::from(more), Placeholders::default());
                    after_operand = false;
                }
                _ => after_operand = false,
            }
        } else {
            after_operand = is_operand(token.kind) && !ends_distinct;
        }
    }
}

/// `DISTINCT ON (..)`: the one parenthesis behind which an operand stands.
#[derive(Default)]
struct DistinctOn {
    before: Option<TokenKind>,
    is_on: bool,
    /// The depths at which such parentheses were opened.
    open: Vec<usize>,
    depth: usize,
}

impl DistinctOn {
    /// Reads on; whether this token closes such a parenthesis.
    fn is_ended_by(&mut self, kind: TokenKind) -> bool {
        let (before, is_on) = (self.before.replace(kind), self.is_on);
        self.is_on = before == Some(TokenKind::Distinct) && kind == TokenKind::On;
        match kind {
            TokenKind::LeftParen => {
                self.depth += 1;
                if is_on {
                    self.open.push(self.depth);
                }
            }
            TokenKind::RightParen => {
                let depth = self.depth;
                self.depth = depth.saturating_sub(1);
                return self.open.pop_if(|open| *open == depth).is_some();
            }
            _ => {}
        }
        false
    }
}

/// The first sign of a placeholder in a token, and whether an operand stands before that.
fn sign(text: &str, token: Token, after_operand: bool) -> Option<(usize, bool)> {
    use TokenKind::{Bad, Colon, Op, Percent};
    if !matches!(token.kind, Op | Percent | Colon | Bad) {
        return None;
    }
    let (start, end) = (token.start as usize, token.end as usize);
    let within = text.get(start..end)?.find(['?', '%', ':'])?;
    if token.kind == Bad && within > 0 {
        return None;
    }
    // An operator's first signs stand between the operand and this one.
    let is_path = text[start..start + within].ends_with('@');
    Some((start + within, if within == 0 { after_operand } else { is_path }))
}

/// The placeholder that begins here, if one does.
fn placeholder(text: &str, start: usize) -> Option<Found<'_>> {
    let (sign, rest) = text[start..].split_at(1);
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let word = |of: &'_ str| of.len() - of.trim_start_matches(is_word).len();
    let (style, end, name) = match sign {
        "?" => (Style::Question, start + 1, ""),
        ":" => {
            let length = word(rest);
            let is_number = rest[..length].bytes().all(|byte| byte.is_ascii_digit());
            let style = if is_number { Style::Numbered } else { Style::Named };
            let starts_well = is_number || !rest.starts_with(|first: char| first.is_ascii_digit());
            (length > 0 && starts_well).then_some(())?;
            (style, start + 1 + length, &rest[..length])
        }
        _ if rest.starts_with('(') => {
            let close = rest.find(')')?;
            rest[close + 1..].starts_with('s').then_some(())?;
            (Style::NamedFormat, start + close + 3, &rest[1..close])
        }
        _ => {
            (word(rest) == 1 && rest.starts_with('s')).then_some(())?;
            (Style::Format, start + 2, "")
        }
    };
    Some(Found { style, start, end, name })
}

/// Whether what ends with such a token is an operand, so that no other stands behind it.
fn is_operand(kind: TokenKind) -> bool {
    use TokenKind as T;
    match kind {
        T::Ident
        | T::StringConst
        | T::BitConst
        | T::HexConst
        | T::IntegerConst
        | T::NumberConst
        | T::Param
        | T::RightParen
        | T::RightBracket => true,
        T::Null
        | T::True
        | T::False
        | T::CurrentDate
        | T::CurrentTime
        | T::CurrentTimestamp
        | T::CurrentUser
        | T::CurrentRole
        | T::SessionUser
        | T::User
        | T::Localtime
        | T::Localtimestamp
        | T::CurrentSchema
        | T::CurrentCatalog
        | T::End => true,
        // Words that are no names where an operand stands behind them.
        T::By
        | T::Escape
        | T::Zone
        | T::First
        | T::Next
        | T::Values
        | T::Set
        | T::Between
        | T::Rows
        | T::Range
        | T::Groups
        | T::Increment
        | T::Cache
        | T::Restart
        | T::Minvalue
        | T::Maxvalue
        | T::Start
        | T::Interval
        | T::Execute => false,
        _ => matches!(kind.class(), Some(KeywordClass::Unreserved | KeywordClass::ColumnName)),
    }
}

//! Cuts text into tokens, one at a time, without looking at what they mean.
//!
//! Invariants: every call of [`Lexer::next_token`] ends at or behind where it began, the last token is [`TokenKind::Eof`],
//! and all calls together take time linear in the text. Nothing is copied: a token is a kind and a place; constants
//! and names whose text differs from what is written are decoded when the parser keeps them ([`super::literal`]). A
//! token that is not right has the kind [`TokenKind::Bad`], and [`Lexer::error`] says why.

use super::keyword::find_keyword;
use super::kind::TokenKind;
use super::literal;
use super::name::IDENTIFIER_BYTES_MAX;
use crate::error::ParseError;
use crate::hints;

/// Which placeholders a statement may have besides `$1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// `?` is a parameter, and never part of an operator.
    pub question_marks: bool,
    /// `:name` is a parameter; so a slice `a[1:n]` of a name needs a blank behind its colon.
    pub names: bool,
}

/// A token's kind and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Whether what it says differs from what is written between its quotes.
    pub(crate) encoded: bool,
    /// Byte offset of its first byte.
    pub start: u32,
    /// Byte offset behind its last byte.
    pub end: u32,
}

/// The tokens of a text.
#[derive(Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    placeholders: Placeholders,
    error: Option<Box<ParseError>>,
    /// The signs that the last operator left behind: each is a token, and need not be looked for again.
    signs: Signs,
}

/// A run of signs that are not part of an operator.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    start: usize,
    end: usize,
}

impl<'a> Lexer<'a> {
    /// The tokens of `text` from byte `start` on.
    pub fn new(text: &'a str, start: usize, placeholders: Placeholders) -> Lexer<'a> {
        Lexer { text, at: start, placeholders, error: None, signs: Signs::default() }
    }

    /// Why the last [`TokenKind::Bad`] is wrong; none where it is a character that starts no token.
    pub fn error(&self) -> Option<&ParseError> {
        self.error.as_deref()
    }

    /// The text that is cut.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Goes on at this byte, where a token begins.
    pub(crate) fn go_to(&mut self, at: u32) {
        self.at = at as usize;
        self.signs = Signs::default();
    }

    /// The next token.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        match self.skip_blank() {
            Ok(()) => self.token(),
            Err(start) => self.bad(start, self.text.len(), "unterminated /* comment"),
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        // A NUL in the text is no token's part, so that the text's end may look like one.
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips blanks and comments. The error is where a comment begins that never ends.
    #[inline]
    fn skip_blank(&mut self) -> std::result::Result<(), usize> {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => self.at += 1,
                b'-' if self.byte(self.at + 1) == b'-' => self.at = line_end(self.text.as_bytes(), self.at),
                b'/' if self.byte(self.at + 1) == b'*' => {
                    let start = self.at;
                    self.at = comment_end(self.text.as_bytes(), start).ok_or(start)?;
                }
                _ => return Ok(()),
            }
        }
    }

    #[inline]
    fn token(&mut self) -> Token {
        use TokenKind as T;
        let start = self.at;
        match self.byte(start) {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.word(start),
            b'0'..=b'9' => self.number(start),
            b'\'' => self.quoted_string(start, start, T::StringConst, false),
            b',' => self.symbol(T::Comma, 1),
            b'(' => self.symbol(T::LeftParen, 1),
            b')' => self.symbol(T::RightParen, 1),
            b'[' => self.symbol(T::LeftBracket, 1),
            b']' => self.symbol(T::RightBracket, 1),
            b';' => self.symbol(T::Semicolon, 1),
            b'.' => self.dot(start),
            b'"' => self.quoted_name(start, start),
            b'$' => self.dollar(start),
            b':' => self.colon(start),
            b'?' if self.placeholders.question_marks => self.symbol(T::Param, 1),
            byte if is_operator_byte(byte) => self.operator(start),
            0 if start >= self.text.len() => self.finish(T::Eof, start, self.text.len(), false),
            _ => {
                self.error = None;
                self.finish(T::Bad, start, start + 1, false)
            }
        }
    }

    #[inline]
    fn symbol(&mut self, kind: TokenKind, length: usize) -> Token {
        self.finish(kind, self.at, self.at + length, false)
    }

    #[inline]
    fn finish(&mut self, kind: TokenKind, start: usize, end: usize, encoded: bool) -> Token {
        self.at = end;
        Token { kind, encoded, start: start as u32, end: end as u32 }
    }

    fn bad(&mut self, start: usize, end: usize, what: &str) -> Token {
        let error = ParseError::near(what, &self.text[start..end], start as u32);
        self.error = Some(if end == self.text.len() && what.starts_with("unterminated") {
            error.with_hint(hints::UNCLOSED)
        } else {
            error
        });
        self.finish(TokenKind::Bad, start, end, false)
    }

    fn bad_literal(&mut self, start: usize, end: usize, error: Box<ParseError>) -> Token {
        self.error = Some(error);
        self.finish(TokenKind::Bad, start, end, false)
    }

    /// No text has the character 0, and no name.
    fn zero_byte(&mut self, start: usize, end: usize) -> Token {
        self.bad_literal(start, end, literal::bad_bytes(&[0], start))
    }

    #[inline]
    fn word(&mut self, start: usize) -> Token {
        let bytes = self.text.as_bytes();
        let (mut end, mut seen) = (start, 0);
        while let Some(byte) = bytes.get(end) {
            let class = CLASSES[usize::from(*byte)];
            if class & WORD == 0 {
                break;
            }
            seen |= class;
            end += 1;
        }
        let capitals = seen & CAPITAL != 0;
        if end == start + 1
            && let Some(token) = self.prefixed(start)
        {
            return token;
        }
        match find_keyword(&bytes[start..end]) {
            Some(keyword) => self.finish(keyword.kind, start, end, false),
            None => self.finish(TokenKind::Ident, start, end, capitals || end - start > IDENTIFIER_BYTES_MAX),
        }
    }

    /// A constant or name whose quote has a letter before it.
    fn prefixed(&mut self, start: usize) -> Option<Token> {
        let quote = start + 1;
        match (self.byte(start), self.byte(quote), self.byte(quote + 1)) {
            (b'e' | b'E', b'\'', _) => Some(self.quoted_string(start, quote, TokenKind::StringConst, true)),
            (b'b' | b'B', b'\'', _) => Some(self.quoted_string(start, quote, TokenKind::BitConst, false)),
            (b'x' | b'X', b'\'', _) => Some(self.quoted_string(start, quote, TokenKind::HexConst, false)),
            (b'n' | b'N', b'\'', _) => Some(self.finish(TokenKind::Nchar, start, quote, false)),
            (b'u' | b'U', b'&', b'\'') => {
                let token = self.quoted_string(start, quote + 1, TokenKind::StringConst, false);
                Some(self.unicode_escapes(token))
            }
            (b'u' | b'U', b'&', b'"') => {
                let token = self.quoted_name(start, quote + 1);
                Some(self.unicode_escapes(token))
            }
            _ => None,
        }
    }

    /// A string from its quote on, continued after line feeds.
    #[inline]
    fn quoted_string(&mut self, start: usize, quote: usize, kind: TokenKind, escapes: bool) -> Token {
        let bytes = self.text.as_bytes();
        let (mut at, mut encoded, mut backslash, mut zero) = (quote + 1, false, false, false);
        loop {
            at = string_stop(bytes, at, escapes);
            match bytes.get(at) {
                None => return self.bad(start, bytes.len(), unterminated(kind)),
                Some(b'\\') => (at, backslash) = ((at + 2).min(bytes.len()), true),
                Some(0) => (at, zero) = (at + 1, true),
                Some(_) if bytes.get(at + 1) == Some(&b'\'') && matches!(kind, TokenKind::StringConst) => {
                    (at, encoded) = (at + 2, true);
                }
                Some(_) => match literal::continuation(bytes, at + 1) {
                    Some(next) => (at, encoded) = (next, true),
                    None => break,
                },
            }
        }
        if zero {
            return self.zero_byte(start, at + 1);
        }
        let encoded = encoded || (kind == TokenKind::StringConst && quote > start);
        let token = self.finish(kind, start, at + 1, encoded);
        if !backslash {
            return token;
        }
        match literal::decode(self.text, &token, &mut String::new()) {
            Ok(()) => token,
            Err(error) => self.bad_literal(start, at + 1, error),
        }
    }

    fn quoted_name(&mut self, start: usize, quote: usize) -> Token {
        let bytes = self.text.as_bytes();
        let (mut at, mut encoded, mut zero) = (quote + 1, quote > start, false);
        loop {
            match bytes.get(at) {
                None => return self.bad(start, bytes.len(), "unterminated quoted identifier"),
                Some(b'"') if bytes.get(at + 1) == Some(&b'"') => (at, encoded) = (at + 2, true),
                Some(b'"') => break,
                Some(byte) => (at, zero) = (at + 1, zero || *byte == 0),
            }
        }
        if zero {
            return self.zero_byte(start, at + 1);
        }
        if at == quote + 1 {
            return self.bad(start, at + 1, "zero-length delimited identifier");
        }
        self.finish(TokenKind::Ident, start, at + 1, encoded || at - quote > IDENTIFIER_BYTES_MAX)
    }

    /// Takes `UESCAPE 'c'` behind a constant or name with Unicode escapes, and checks the escapes.
    fn unicode_escapes(&mut self, mut token: Token) -> Token {
        if token.kind == TokenKind::Bad {
            return token;
        }
        // Looked for by its letters: to read a token here would read the constant behind it, and so on.
        if self.skip_blank().is_ok() {
            let end = self.word_end(self.at);
            if self.text.as_bytes()[self.at..end].eq_ignore_ascii_case(b"uescape") {
                self.at = end;
                let escape = self.next_token();
                if escape.kind != TokenKind::StringConst {
                    let what = "UESCAPE must be followed by a simple string literal";
                    return match escape.kind {
                        TokenKind::Bad if self.error.is_some() => escape,
                        _ => self.bad(escape.start as usize, escape.end as usize, what),
                    };
                }
                if literal::escape_character(self.text, &escape).is_none() {
                    return self.bad(escape.start as usize, escape.end as usize, "invalid Unicode escape character");
                }
                token.end = escape.end;
            }
        }
        self.at = token.end as usize;
        match literal::decode(self.text, &token, &mut String::new()) {
            Ok(()) => token,
            Err(error) => self.bad_literal(token.start as usize, token.end as usize, error),
        }
    }

    #[inline]
    fn number(&mut self, start: usize) -> Token {
        let digits_end = self.digits(start);
        match self.byte(digits_end) {
            b'.' if self.byte(digits_end + 1) == b'.' => self.integer(start, digits_end),
            b'.' => self.fraction(start, digits_end),
            byte if is_word_start(byte) => self.exponent(start, digits_end),
            _ => self.integer(start, digits_end),
        }
    }

    #[inline]
    fn digits(&self, mut at: usize) -> usize {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    /// A number from its point on.
    fn fraction(&mut self, start: usize, point: usize) -> Token {
        let end = self.digits(point + 1);
        if is_word_start(self.byte(end)) {
            return self.exponent(start, end);
        }
        self.finish(TokenKind::NumberConst, start, end, false)
    }

    /// A number that has a letter behind it, which had better be an exponent's.
    fn exponent(&mut self, start: usize, letter: usize) -> Token {
        const WHAT: &str = "trailing junk after numeric literal";
        if matches!(self.byte(letter), b'e' | b'E') {
            let signed = matches!(self.byte(letter + 1), b'+' | b'-');
            let first = letter + 1 + usize::from(signed);
            let end = self.digits(first);
            if end > first && is_word_start(self.byte(end)) {
                return self.bad(start, self.word_end(end), WHAT);
            }
            if end > first {
                return self.finish(TokenKind::NumberConst, start, end, false);
            }
            if signed {
                return self.bad(start, first, WHAT);
            }
        }
        self.bad(start, self.word_end(letter), WHAT)
    }

    fn word_end(&self, mut at: usize) -> usize {
        while is_word_byte(self.byte(at)) {
            at += 1;
        }
        at
    }

    #[inline]
    fn integer(&mut self, start: usize, end: usize) -> Token {
        let kind = match end - start {
            ..=9 => TokenKind::IntegerConst,
            _ if self.text[start..end].parse::<i32>().is_ok() => TokenKind::IntegerConst,
            _ => TokenKind::NumberConst,
        };
        self.finish(kind, start, end, false)
    }

    fn dot(&mut self, start: usize) -> Token {
        match self.byte(start + 1) {
            b'.' => self.symbol(TokenKind::DotDot, 2),
            b'0'..=b'9' => self.fraction(start, start),
            _ => self.symbol(TokenKind::Dot, 1),
        }
    }

    /// A parameter, a dollar-quoted string, or a stray dollar.
    fn dollar(&mut self, start: usize) -> Token {
        let digits_end = self.digits(start + 1);
        if digits_end > start + 1 {
            return match is_word_start(self.byte(digits_end)) {
                true => self.bad(start, self.word_end(digits_end), "trailing junk after parameter"),
                false => self.finish(TokenKind::Param, start, digits_end, false),
            };
        }
        let Some(body) = literal::dollar_tag_end(self.text.as_bytes(), start) else {
            self.error = None;
            return self.finish(TokenKind::Bad, start, start + 1, false);
        };
        match literal::dollar_quote_end(self.text.as_bytes(), start, body) {
            Some(end) if self.text.as_bytes()[start..end].contains(&0) => self.zero_byte(start, end),
            Some(end) => self.finish(TokenKind::StringConst, start, end, false),
            None => self.bad(start, self.text.len(), "unterminated dollar-quoted string"),
        }
    }

    fn colon(&mut self, start: usize) -> Token {
        match self.byte(start + 1) {
            b':' => self.symbol(TokenKind::DoubleColon, 2),
            b'=' => self.symbol(TokenKind::ColonEqual, 2),
            byte if self.placeholders.names && is_word_start(byte) => {
                self.finish(TokenKind::Param, start, self.word_end(start + 1), false)
            }
            _ => self.symbol(TokenKind::Colon, 1),
        }
    }

    #[inline]
    fn operator(&mut self, start: usize) -> Token {
        let end = self.operator_end(start);
        let text = &self.text.as_bytes()[start..end];
        match operator_kind(text) {
            TokenKind::Op if text.len() > IDENTIFIER_BYTES_MAX => self.bad(start, end, "operator too long"),
            kind => self.finish(kind, start, end, false),
        }
    }

    /// An operator ends before a comment, and without a trailing sign unless it has a character that SQL's own have not.
    fn operator_end(&mut self, start: usize) -> usize {
        if start >= self.signs.end {
            let (end, foreign) = self.operator_run(start);
            if foreign {
                return end;
            }
            let signs = self.text.as_bytes()[start..end].iter().rev().take_while(|byte| matches!(byte, b'+' | b'-'));
            self.signs = Signs { start: end - signs.count(), end };
        }
        // A sign alone, or all that stands before the trailing signs.
        self.signs.start.max(start + 1)
    }

    /// Where characters of operators end, and whether there was one that SQL's own operators have not.
    fn operator_run(&self, start: usize) -> (usize, bool) {
        let bytes = self.text.as_bytes();
        let mut end = start;
        let mut foreign = false;
        while let Some(&byte) = bytes.get(end) {
            let comment = matches!((byte, bytes.get(end + 1)), (b'-', Some(b'-')) | (b'/', Some(b'*')));
            // `@?` is an operator.
            let question = byte == b'?' && self.placeholders.question_marks && bytes.get(start..end) != Some(b"@");
            if !is_operator_byte(byte) || comment || question {
                break;
            }
            foreign |= matches!(byte, b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'%');
            end += 1;
        }
        (end, foreign)
    }
}

/// The next quote, or backslash where there are escapes, or zero byte, which no text has, or the end.
#[inline]
fn string_stop(bytes: &[u8], from: usize, escapes: bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let stop = match escapes {
        false => rest.iter().position(|byte| matches!(byte, b'\'' | 0)),
        true => rest.iter().position(|byte| matches!(byte, b'\'' | b'\\' | 0)),
    };
    from + stop.unwrap_or(rest.len())
}

/// A byte that may be in a word.
const WORD: u8 = 1;
/// A capital letter.
const CAPITAL: u8 = 2;

/// What each byte may be part of.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'$' || letter >= 0x80 {
            classes[byte] = if letter.is_ascii_uppercase() { WORD | CAPITAL } else { WORD };
        }
        byte += 1;
    }
    classes
}

fn unterminated(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::BitConst => "unterminated bit string literal",
        TokenKind::HexConst => "unterminated hexadecimal string literal",
        _ => "unterminated quoted string",
    }
}

/// The kind of an operator of this text.
pub(crate) fn operator_kind(text: &[u8]) -> TokenKind {
    use TokenKind as T;
    match text {
        b"+" => T::Plus,
        b"-" => T::Minus,
        b"*" => T::Star,
        b"/" => T::Slash,
        b"%" => T::Percent,
        b"^" => T::Caret,
        b"<" => T::Less,
        b">" => T::Greater,
        b"=" => T::Equal,
        b"<=" => T::LessEqual,
        b">=" => T::GreaterEqual,
        b"<>" | b"!=" => T::NotEqual,
        b"=>" => T::EqualGreater,
        _ => T::Op,
    }
}

/// The line feed (or end) that ends the comment at `at`.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
}

/// The byte behind the comment that begins at `start`, comments within it included.
pub(crate) fn comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start + 2, 1usize);
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[inline]
fn is_operator_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}

#[inline]
pub(crate) fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

#[inline]
pub(crate) fn is_word_byte(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

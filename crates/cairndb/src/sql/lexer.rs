//! Tokens: PostgreSQL's lexical rules where `sqlparser`'s differ, and parameters.
//!
//! `?` is a parameter here, never part of an operator, and `+`/`-` never end an operator, so `a=?`, `a<-1` and `2*-1`
//! read as PostgreSQL (and every driver) reads them.

use std::any::TypeId;

use sqlparser::dialect::{Dialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace};

use super::position::TextPosition;
use crate::{Error, Result, SqlState};

/// As many parameters as PostgreSQL's protocol can carry.
const MAX_PARAMETERS: usize = 65_535;

/// The lexical part of PostgreSQL's dialect.
#[derive(Debug)]
struct Lexical;

impl Dialect for Lexical {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"'
    }
    fn is_identifier_start(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_identifier_start(ch)
    }
    fn is_identifier_part(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_identifier_part(ch)
    }
    fn is_custom_operator_part(&self, ch: char) -> bool {
        matches!(ch, '*' | '/' | '<' | '>' | '=' | '~' | '!' | '@' | '#' | '%' | '^' | '&' | '|' | '`')
    }
    fn supports_unicode_string_literal(&self) -> bool {
        true
    }
    fn supports_nested_comments(&self) -> bool {
        true
    }
    fn supports_string_escape_constant(&self) -> bool {
        true
    }
    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }
}

/// The statement's tokens without blanks and comments, parameters written `$n`, and how many parameters there are.
pub(super) fn tokenize(source: &TextPosition) -> Result<(Vec<TokenWithSpan>, usize)> {
    let mut tokens = Vec::new();
    Tokenizer::new(&Lexical, source.text())
        .tokenize_with_location_into_buf_with_mapper(&mut tokens, |token| token)
        .map_err(|error| lexical_error(&error, source))?;
    join_strings(&mut tokens, source)?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let parameters = number_parameters(&mut tokens, source)?;
    Ok((tokens, parameters))
}

/// String constants with a line feed between them are one; with anything less they are an error.
fn join_strings(tokens: &mut Vec<TokenWithSpan>, source: &TextPosition) -> Result<()> {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let (mut last_string, mut line_feed) = (None, false);
    for token in tokens.drain(..) {
        match (&token.token, last_string.and_then(|at| joined.get_mut(at))) {
            (Token::Whitespace(blank), _) => line_feed |= has_line_feed(blank),
            (Token::SingleQuotedString(more), Some(TokenWithSpan { token: Token::SingleQuotedString(text), .. })) => {
                if !line_feed {
                    let message = format!("syntax error at or near \"'{more}'\"");
                    let error = Error::new(SqlState::SYNTAX_ERROR, message);
                    return Err(error.at(source.of(token.span.start).unwrap_or(1)));
                }
                text.push_str(more);
                continue;
            }
            (Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_), _) => {
                (last_string, line_feed) = (Some(joined.len()), false);
            }
            _ => last_string = None,
        }
        joined.push(token);
    }
    *tokens = joined;
    Ok(())
}

fn has_line_feed(blank: &Whitespace) -> bool {
    matches!(blank, Whitespace::Newline | Whitespace::SingleLineComment { .. })
}

fn number_parameters(tokens: &mut [TokenWithSpan], source: &TextPosition) -> Result<usize> {
    let (mut highest, mut next, mut numbered) = (0, 0, false);
    for token in tokens {
        let Token::Placeholder(name) = &mut token.token else { continue };
        let index = match name.strip_prefix('$') {
            Some(digits) => {
                numbered = true;
                digits.parse::<usize>().unwrap_or(0)
            }
            None => {
                next += 1;
                *name = format!("${next}");
                next
            }
        };
        if index == 0 || index > MAX_PARAMETERS || (numbered && next > 0) {
            return Err(bad_parameter(name, numbered && next > 0).at(source.of(token.span.start).unwrap_or(1)));
        }
        highest = highest.max(index);
    }
    Ok(highest)
}

fn bad_parameter(name: &str, mixed: bool) -> Error {
    match mixed {
        true => Error::new(SqlState::SYNTAX_ERROR, "parameters are written either $1 or ?, not both in one statement"),
        false if name[1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
        }
        false => Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"$\""),
    }
}

fn lexical_error(error: &TokenizerError, source: &TextPosition) -> Error {
    let start = source.byte_of(error.location).unwrap_or(0);
    let rest = source.text().get(start..).unwrap_or_default();
    let what = match error.message.as_str() {
        message if message.contains("multi-line comment") => "unterminated /* comment",
        message if message.contains("dollar-quoted") => "unterminated dollar-quoted string",
        message if message.contains("close delimiter") => "unterminated quoted identifier",
        message if message.contains("Unterminated") => "unterminated quoted string",
        message => return Error::new(SqlState::SYNTAX_ERROR, format!("syntax error: {message}")),
    };
    let near: String = rest.chars().take(64).collect();
    Error::new(SqlState::SYNTAX_ERROR, format!("{what} at or near \"{near}\"")).at(source.of_byte(start))
}

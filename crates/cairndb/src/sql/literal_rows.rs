//! The rows of a long `INSERT ... VALUES (...), (...)` that hold nothing but constants and parameters: made into syntax
//! here, because the parser takes about ten times as long for each (it tries whether a constant is a type's name first).
//!
//! Invariant: the tree is the parser's. Rows are taken only where every row but the first is of constants and nothing
//! but ON CONFLICT or RETURNING follows; else the parser reads them all.

use std::iter::Peekable;
use std::vec::IntoIter;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Expr, Parens, SetExpr, Statement, UnaryOperator, Value, ValueWithSpan};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A row of VALUES.
pub(super) type Row = Parens<Vec<Expr>>;

/// Takes all rows but the first out of an INSERT's tokens.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Vec<Row> {
    let Some((start, end)) = places(tokens) else { return Vec::new() };
    let mut taken = tokens.splice(start..end, []).collect::<Vec<_>>().into_iter().peekable();
    let mut rows = Vec::new();
    while taken.next().is_some() {
        rows.extend(row(&mut taken));
    }
    rows
}

/// Puts them back behind the first; false: there is no place for them.
pub(super) fn put_back(statement: &mut Statement, rows: Vec<Row>) -> bool {
    let Statement::Insert(insert) = statement else { return false };
    match insert.source.as_mut().map(|source| &mut *source.body) {
        Some(SetExpr::Values(values)) => {
            values.rows.extend(rows);
            true
        }
        _ => false,
    }
}

/// Where the rows after the first begin (with a comma) and end.
fn places(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    if keyword(tokens.first()?) != Some(Keyword::INSERT) {
        return None;
    }
    let start = end_of_row(tokens, values_at(tokens)? + 1)?;
    let mut end = start;
    while tokens.get(end).is_some_and(|token| token.token == Token::Comma) {
        end = end_of_constants(tokens, end + 1)?;
    }
    let ends = match tokens.get(end) {
        None => true,
        Some(next) => matches!(keyword(next), Some(Keyword::ON | Keyword::RETURNING)),
    };
    (ends && start < end).then_some((start, end))
}

/// The VALUES of the statement itself.
fn values_at(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && keyword(token) == Some(Keyword::VALUES)
    })
}

/// Behind the row of anything that begins `at`.
fn end_of_row(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (i > at).then_some(i + 1);
        }
    }
    None
}

/// Behind the row of constants that begins `at`.
fn end_of_constants(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let token = |at: usize| tokens.get(at).map(|token| &token.token);
    let mut next = at;
    let mut before = Token::LParen;
    loop {
        if token(next) != Some(&before) {
            return None;
        }
        next += 1;
        let is_negative = token(next) == Some(&Token::Minus);
        next += usize::from(is_negative);
        let constant = tokens.get(next)?;
        if !is_constant(constant) || (is_negative && !matches!(constant.token, Token::Number(..))) {
            return None;
        }
        next += 1;
        if token(next) == Some(&Token::RParen) {
            return Some(next + 1);
        }
        before = Token::Comma;
    }
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_constant(token: &TokenWithSpan) -> bool {
    match token.token {
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => true,
        _ => matches!(keyword(token), Some(Keyword::NULL | Keyword::TRUE | Keyword::FALSE)),
    }
}

type Taken = Peekable<IntoIter<TokenWithSpan>>;

/// The next row, with its parentheses.
fn row(tokens: &mut Taken) -> Option<Row> {
    let opening_token = AttachedToken(tokens.next()?);
    let mut content = Vec::new();
    loop {
        content.push(constant(tokens)?);
        let next = tokens.next()?;
        if next.token == Token::RParen {
            return Some(Parens { opening_token, content, closing_token: AttachedToken(next) });
        }
    }
}

fn constant(tokens: &mut Taken) -> Option<Expr> {
    if tokens.next_if(|token| token.token == Token::Minus).is_some() {
        let expr = Box::new(constant(tokens)?);
        return Some(Expr::UnaryOp { op: UnaryOperator::Minus, expr });
    }
    let token = tokens.next()?;
    let value = match token.token {
        Token::Number(digits, long) => Value::Number(digits, long),
        Token::SingleQuotedString(text) => Value::SingleQuotedString(text),
        Token::Placeholder(name) => Value::Placeholder(name),
        Token::Word(word) => match word.keyword {
            Keyword::TRUE => Value::Boolean(true),
            Keyword::FALSE => Value::Boolean(false),
            _ => Value::Null,
        },
        _ => return None,
    };
    Some(Expr::Value(ValueWithSpan { value, span: token.span }))
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse_one;
    use super::*;

    fn rows_of(text: &str) -> Vec<Row> {
        match parse_one(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).statement {
            Statement::Insert(insert) => match *insert.source.unwrap().body {
                SetExpr::Values(values) => values.rows,
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        }
    }

    /// A first row is always the parser's.
    #[test]
    fn a_row_that_is_taken_is_the_one_that_the_parser_makes() {
        let row = "(1, -2.5, 'it''s', NULL, $1, true, FALSE, - 7e3, 1_000, '')";
        let first = rows_of(&format!("INSERT INTO t VALUES {row}"));
        let all = rows_of(&format!("INSERT INTO t VALUES {row}, {row}, {row} ON CONFLICT DO NOTHING"));
        assert_eq!(all.len(), 3);
        for row in &all {
            assert_eq!(format!("{:?}", strip(row)), format!("{:?}", strip(&first[0])));
        }
        // Where each stands is known too: one behind the other.
        let starts: Vec<_> = all.iter().map(|row| row.opening_token.0.span.start).collect();
        assert!(starts.is_sorted_by(|a, b| a < b), "{starts:?}");
    }

    fn strip(row: &Row) -> Vec<String> {
        let without_span = |expr: &Expr| match expr {
            Expr::Value(value) => format!("{:?}", value.value),
            Expr::UnaryOp { op, expr } => format!("{op:?} {expr}"),
            other => format!("other {other:?}"),
        };
        row.content.iter().map(without_span).collect()
    }

    #[test]
    fn other_rows_are_left_to_the_parser() {
        let taken = |text: &str| {
            let source = super::super::position::TextPosition::new(text, 0);
            let (mut tokens, _) = super::super::lexer::tokenize(&source).unwrap();
            take(&mut tokens).len()
        };
        assert_eq!(taken("INSERT INTO t (a) VALUES (f(1)), (2), ($2) RETURNING a"), 2);
        for text in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t VALUES (1), (f(2))",
            "INSERT INTO t VALUES (1), (2), (DEFAULT)",
            "INSERT INTO t VALUES (1), (2) UNION SELECT 3",
            "INSERT INTO t VALUES (1), (2) (3)",
            "INSERT INTO t VALUES (1), (2),",
            "INSERT INTO t VALUES (1), (-'a')",
            "INSERT INTO t VALUES (1), ()",
            "INSERT INTO t SELECT * FROM (VALUES (1), (2)) s",
            "VALUES (1), (2)",
        ] {
            assert_eq!(taken(text), 0, "{text}");
        }
    }

    #[test]
    fn errors_are_told_where_they_are() {
        let position = |text: &str| parse_one(text).expect_err(text).position();
        assert_eq!(position("INSERT INTO t VALUES (1 2), (3)"), Some(25));
        assert_eq!(position("INSERT INTO t VALUES (1), (3 4)"), Some(30));
        assert_eq!(position("INSERT INTO t VALUES (1), (3) RETURNING"), Some(40));
    }
}

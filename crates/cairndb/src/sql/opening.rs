//! How a statement begins: words that the parser would take for another system's statements are refused as
//! PostgreSQL refuses them, and PostgreSQL's words that the parser does not know are respelled or taken out.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// PostgreSQL's words for "a statement begins here".
const OPENINGS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "ANALYSE",
    "BEGIN",
    "CALL",
    "CHECKPOINT",
    "CLOSE",
    "CLUSTER",
    "COMMENT",
    "COMMIT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DISCARD",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "GRANT",
    "INSERT",
    "LISTEN",
    "LOCK",
    "MERGE",
    "NOTIFY",
    "PREPARE",
    "REINDEX",
    "RELEASE",
    "RESET",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "START",
    "TRUNCATE",
    "UNLISTEN",
    "UPDATE",
    "VACUUM",
    "VALUES",
    "WITH",
];

/// Whether PostgreSQL knows statements that begin so (after [`respell`]).
pub(super) fn is_known(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::LParen => true,
        Token::Word(word) if word.quote_style.is_none() => {
            OPENINGS.iter().any(|opening| word.value.eq_ignore_ascii_case(opening))
        }
        _ => false,
    }
}

/// `TABLE t` is `SELECT * FROM t`, `ABORT` is `ROLLBACK`, `END` is `COMMIT`, `ANALYSE` is `ANALYZE`.
pub(super) fn respell(tokens: &mut Vec<TokenWithSpan>) {
    let Some(first) = tokens.first() else { return };
    let (span, Token::Word(word)) = (first.span, &first.token) else { return };
    if word.quote_style.is_some() {
        return;
    }
    let new = match word.value.to_ascii_uppercase().as_str() {
        "TABLE" => vec![Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")],
        "ABORT" => vec![Token::make_keyword("ROLLBACK")],
        "END" if word.keyword == Keyword::END => vec![Token::make_keyword("COMMIT")],
        "ANALYSE" => vec![Token::make_keyword("ANALYZE")],
        _ => return,
    };
    tokens.splice(..1, new.into_iter().map(|token| TokenWithSpan::new(token, span)));
}

/// INSERT's OVERRIDING clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// Values given for GENERATED ALWAYS columns are taken.
    System,
    /// Values given for identity columns are ignored.
    User,
}

/// Takes `OVERRIDING SYSTEM | USER VALUE` out of an INSERT: the parser does not know it.
pub(super) fn take_overriding(tokens: &mut Vec<TokenWithSpan>) -> Option<Overriding> {
    let is = |token: Option<&TokenWithSpan>, name: &str| match token.map(|token| &token.token) {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name),
        _ => false,
    };
    let at = tokens.iter().position(|token| is(Some(token), "OVERRIDING"))?;
    let overriding = match () {
        () if is(tokens.get(at + 1), "SYSTEM") => Overriding::System,
        () if is(tokens.get(at + 1), "USER") => Overriding::User,
        () => return None,
    };
    if !is(tokens.get(at + 2), "VALUE") {
        return None;
    }
    tokens.drain(at..at + 3);
    Some(overriding)
}

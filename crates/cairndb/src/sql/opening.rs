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

/// What the parser does not know inside statements: `FROM ONLY t` (there is no inheritance) and `UPDATE ONLY t` are read
/// without ONLY, `ROW (a, b)` as `(a, b)`, `TRIM (TRAILING FROM x)` without FROM.
pub(super) fn respell_inside(tokens: &mut Vec<TokenWithSpan>) {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        if !is_noise(&token, &kept, rest.peek()) {
            kept.push(token);
        }
    }
    *tokens = kept;
}

fn is_noise(token: &TokenWithSpan, before: &[TokenWithSpan], after: Option<&TokenWithSpan>) -> bool {
    let after = after.map(|token| &token.token);
    let keyword = |back: usize| before.len().checked_sub(back).and_then(|at| before.get(at)).and_then(keyword_of);
    match keyword_of(token) {
        Some(Keyword::ONLY) => {
            let opened = matches!(keyword(1), Some(Keyword::FROM | Keyword::UPDATE | Keyword::JOIN));
            opened && matches!(after, Some(Token::Word(_)))
        }
        Some(Keyword::ROW) => {
            // After another word it may be a table's name: `INSERT INTO row (a)`.
            use Keyword as K;
            let operand = match keyword(1) {
                None => !before.is_empty(),
                Some(word) => matches!(
                    word,
                    K::SELECT
                        | K::WHERE
                        | K::AND
                        | K::OR
                        | K::NOT
                        | K::HAVING
                        | K::WHEN
                        | K::THEN
                        | K::ELSE
                        | K::BETWEEN
                ),
            };
            operand && after == Some(&Token::LParen)
        }
        Some(Keyword::FROM) => {
            matches!(keyword(1), Some(Keyword::LEADING | Keyword::TRAILING | Keyword::BOTH))
                && keyword(3) == Some(Keyword::TRIM)
        }
        _ => false,
    }
}

fn keyword_of(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use crate::sql::parse_one;

    fn reads_as(text: &str) -> String {
        parse_one(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).statement.to_string()
    }

    #[test]
    fn words_that_the_parser_does_not_know_are_respelled() {
        assert_eq!(reads_as("table t order by a"), "SELECT * FROM t ORDER BY a");
        assert_eq!(reads_as("abort"), "ROLLBACK");
        assert_eq!(reads_as("select a from only t where row(a, b) = (1, 2)"), "SELECT a FROM t WHERE (a, b) = (1, 2)");
        assert_eq!(reads_as("select trim(trailing from a)"), "SELECT TRIM(TRAILING a)");
        assert_eq!(reads_as("insert into row (a) values (1)"), "INSERT INTO row (a) VALUES (1)");
    }

    #[test]
    fn other_systems_statements_are_syntax_errors() {
        for text in ["if a then select 1; end if", "raise x", "use db", "pragma x", "replace into t values (1)"] {
            assert_eq!(parse_one(text.split(';').next().unwrap_or(text)).expect_err(text).sqlstate().0, "42601");
        }
    }
}

//! Parsing proper, and syntax errors in PostgreSQL's words.

use sqlparser::ast::{Expr, Query, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::limits::{MAX_EXPRESSION_DEPTH, MAX_TEXT_BYTES, check_depth, check_length, too_deep, with_deep_stack};
use super::opening::Overriding;
use super::position::TextPosition;
use super::{lexer, literal_rows, opening, regroup, script, sequence_options};
use crate::{Error, Result, SqlState};

/// A parsed statement with what is needed to speak about its text.
#[derive(Clone, Debug)]
pub struct ParsedStatement {
    /// The syntax tree.
    pub statement: Statement,
    /// The text, and where it stood.
    pub source: TextPosition,
    /// How many parameters it takes: the highest `$n`, or the number of `?`.
    pub parameters: usize,
    /// An upper bound of the tree's depth.
    pub depth: usize,
    /// INSERT's OVERRIDING clause, which the tree has no place for.
    pub overriding: Option<Overriding>,
}

impl ParsedStatement {
    /// Parses exactly one statement, which `characters_before` characters precede in the user's text.
    pub fn parse(text: &str, characters_before: usize) -> Result<ParsedStatement> {
        let source = TextPosition::new(text, characters_before);
        check_length(text, MAX_TEXT_BYTES)?;
        let (mut tokens, parameters) = lexer::tokenize(&source)?;
        opening::respell(&mut tokens);
        let overriding = opening::take_overriding(&mut tokens);
        match tokens.first() {
            None => return Err(at_end(&source)),
            Some(first) if !opening::is_known(first) => return Err(near(&source, first.span.start)),
            Some(_) => {}
        }
        let rows = literal_rows::take(&mut tokens);
        let (mut statement, depth) = parse_tokens(tokens, &source, |parser| parser.parse_statement())?;
        if !rows.is_empty() && !literal_rows::put_back(&mut statement, rows) {
            return Err(at_end(&source));
        }
        Ok(ParsedStatement { statement, source, parameters, depth, overriding })
    }

    /// The statement's text.
    pub fn text(&self) -> &str {
        self.source.text()
    }
}

/// Every statement of a script; the first syntax error fails all. See [`super::split_script`] for one by one.
pub fn parse_script(text: &str) -> Result<Vec<ParsedStatement>> {
    script::split_script(text).map(|statement| statement.parse()).collect()
}

/// The only statement of a text, as a prepared statement wants it.
pub fn parse_one(text: &str) -> Result<ParsedStatement> {
    check_length(text, MAX_TEXT_BYTES)?;
    let mut statements = script::split_script(text);
    let Some(first) = statements.next() else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "the text holds no statement"));
    };
    if statements.next().is_some() {
        let message = "cannot insert multiple commands into a prepared statement";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    first.parse()
}

/// An expression's text, such as a column's default. Also its depth.
pub fn parse_expression(text: &str) -> Result<(Expr, usize)> {
    parse_fragment(text, |parser| parser.parse_expr())
}

/// A query's text, such as a view's. Also its depth.
pub fn parse_query(text: &str) -> Result<(Box<Query>, usize)> {
    parse_fragment(text, |parser| parser.parse_query())
}

fn parse_fragment<T: Send>(
    text: &str,
    parse: impl FnOnce(&mut Parser) -> Result<T, ParserError> + Send,
) -> Result<(T, usize)> {
    check_length(text, MAX_TEXT_BYTES)?;
    let source = TextPosition::new(text, 0);
    let (tokens, _) = lexer::tokenize(&source)?;
    parse_tokens(tokens, &source, parse)
}

fn parse_tokens<T: Send>(
    tokens: Vec<TokenWithSpan>,
    source: &TextPosition,
    parse: impl FnOnce(&mut Parser) -> Result<T, ParserError> + Send,
) -> Result<(T, usize)> {
    let mut tokens = regroup::regroup(sequence_options::reorder(tokens));
    opening::respell_inside(&mut tokens);
    let depth = check_depth(&tokens, source)?;
    let parsed = with_deep_stack(depth, || run_parser(tokens, source, parse))??;
    Ok((parsed, depth))
}

fn run_parser<T>(
    tokens: Vec<TokenWithSpan>,
    source: &TextPosition,
    parse: impl FnOnce(&mut Parser) -> Result<T, ParserError>,
) -> Result<T> {
    let dialect = PostgreSqlDialect {};
    // Twice the depth: the parser counts some constructs twice.
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(2 * MAX_EXPRESSION_DEPTH).with_tokens_with_locations(tokens);
    let parsed = parse(&mut parser).map_err(|error| syntax_error(&error, source))?;
    match parser.peek_token_ref() {
        TokenWithSpan { token: Token::EOF, .. } => Ok(parsed),
        extra => Err(near(source, extra.span.start)),
    }
}

fn syntax_error(error: &ParserError, source: &TextPosition) -> Error {
    let message = match error {
        ParserError::RecursionLimitExceeded => return too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    match location_in(message) {
        Some(location) => near(source, location),
        None if message.contains("found: EOF") => at_end(source),
        None => Error::new(SqlState::SYNTAX_ERROR, format!("syntax error: {message}")),
    }
}

fn at_end(source: &TextPosition) -> Error {
    let position = source.of_byte(source.text().len());
    Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(position)
}

fn near(source: &TextPosition, location: Location) -> Error {
    let Some(start) = source.byte_of(location) else { return at_end(source) };
    let rest = source.text().get(start..).unwrap_or_default();
    if rest.is_empty() {
        return at_end(source);
    }
    let token = first_token(rest);
    Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{token}\"")).at(source.of_byte(start))
}

/// The text of the token that `rest` starts with.
fn first_token(rest: &str) -> &str {
    let is_name = |ch: char| {
        ch.is_alphanumeric() || ch == '_' || ch == '$' || ch == '.' && rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let end = match rest.as_bytes().first() {
        Some(quote @ (b'\'' | b'"')) => {
            rest.get(1..).and_then(|tail| tail.find(char::from(*quote))).map_or(rest.len(), |at| at + 2)
        }
        _ => rest.find(|ch| !is_name(ch)).unwrap_or(rest.len()).max(first),
    };
    rest.get(..end).unwrap_or(rest)
}

/// The parser ends its messages with " at Line: 1, Column: 8".
fn location_in(message: &str) -> Option<Location> {
    let (_, tail) = message.rsplit_once(" at Line: ")?;
    let (line, column) = tail.split_once(", Column: ")?;
    Some(Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> (SqlState, String, Option<usize>) {
        let error = parse_one(text).expect_err(text);
        (error.sqlstate(), error.message().to_owned(), error.position())
    }

    #[test]
    fn syntax_errors_name_the_token_and_its_position() {
        let code = SqlState::SYNTAX_ERROR;
        assert_eq!(failure("SELEC 1"), (code, "syntax error at or near \"SELEC\"".into(), Some(1)));
        assert_eq!(failure("select 1 +"), (code, "syntax error at end of input".into(), Some(11)));
        assert_eq!(failure(" \n select )"), (code, "syntax error at or near \")\"".into(), Some(11)));
        assert_eq!(failure("select 1 from t where a = 1 2"), (code, "syntax error at or near \"2\"".into(), Some(29)));
        assert_eq!(failure("select 'abc"), (code, "unterminated quoted string at or near \"'abc\"".into(), Some(8)));
    }

    #[test]
    fn both_kinds_of_parameters_are_counted() {
        assert_eq!(parse_one("select * from t where a=? and b<? or c>=?").expect("parses").parameters, 3);
        assert_eq!(parse_one("select $2, '?', \"?\" -- ?").expect("parses").parameters, 2);
        assert_eq!(failure("select $0").0, SqlState::UNDEFINED_PARAMETER);
        assert_eq!(failure("select $1, ?").0, SqlState::SYNTAX_ERROR);
    }

    #[test]
    fn minus_is_never_glued_to_an_operator() {
        for text in ["select 1=-1", "select 2*-1", "select a<-1", "select a>=-1", "select 1--1\n-2"] {
            parse_one(text).expect(text);
        }
    }

    #[test]
    fn absurd_nesting_is_refused_quickly() {
        let deep = 20_000;
        let texts = [
            format!("select {}1{}", "(".repeat(deep), ")".repeat(deep)),
            "(".repeat(deep),
            format!("select {} true", "not ".repeat(deep)),
            format!("select {}1", "- ".repeat(deep)),
            format!("select 1{}", "+1".repeat(deep)),
            format!("select {}1{}", "case when true then ".repeat(deep), " end".repeat(deep)),
            format!("select 1{}", " union all select 1".repeat(deep)),
            format!("select * from {}t{}", "(".repeat(deep), ")".repeat(deep)),
            format!("select a{}", "::int".repeat(deep)),
            format!("select a{}", "[1]".repeat(2 * deep)),
            format!("{} select 1", "explain ".repeat(deep)),
            format!("select a {}", " is null".repeat(deep)),
            format!("select f{}", "()".repeat(deep)),
            format!("select a{}", ":a".repeat(deep)),
            format!("select * from t {}", "join t ".repeat(deep)),
            format!("create table t (a int{})", "[]".repeat(deep)),
            format!("create table t (a {} int {})", "array<".repeat(deep), ">".repeat(deep)),
            format!("select {}", "x'1' ".repeat(deep)),
            format!("select {} 1", "interval ".repeat(deep)),
            format!("select {} 1", "with a as (select 1) ".repeat(deep)),
            format!("select 1 {}", "limit all ".repeat(deep)),
            "begin ".repeat(deep),
            "if a then ".repeat(deep),
            format!("select {} 1", "exists ".repeat(deep)),
            format!("select {} 1", "any ".repeat(deep)),
            format!("select a{} 1", " -> ".repeat(deep)),
        ];
        for text in &texts {
            let error = parse_one(text).expect_err("too deep");
            assert!(
                ["54001", "42601"].contains(&error.sqlstate().0),
                "{error:?} for {}",
                text.chars().take(40).collect::<String>()
            );
        }
    }

    #[test]
    fn nesting_within_the_limits_parses() {
        for text in [
            format!("select {}1{}", "(".repeat(90), ")".repeat(90)),
            format!("select * from {}t{}", "(select * from ".repeat(40), ") x".repeat(40)),
            format!("select * from {}t cross join t{}", "(".repeat(20), ")".repeat(20)),
            format!("select {}1{}", "coalesce(".repeat(60), ")".repeat(60)),
            format!("select 1{}", "+1".repeat(150)),
            format!("select 1{}", " union all select 1".repeat(150)),
        ] {
            parse_one(&text)
                .unwrap_or_else(|error| panic!("{error:?} for {}", text.chars().take(60).collect::<String>()));
        }
    }

    #[test]
    fn long_chains_and_lists_parse() {
        let or = format!("select * from t where {}", vec!["a = 1 and b between 2 and 3"; 50_000].join(" or "));
        let and = format!("select {} from t", vec!["not a in (1, 2)"; 50_000].join(" and "));
        let list = format!("select * from t where a in ({})", vec!["1"; 100_000].join(","));
        let names = format!("select {}", vec!["a"; 100_000].join("."));
        let _ = parse_one(&names);
        let dashes = "-".repeat(1 << 20);
        for text in [&or, &and, &list] {
            parse_one(text).unwrap_or_else(|error| panic!("{error:?}"));
        }
        assert_eq!(parse_one(&dashes).expect_err("a comment").sqlstate(), SqlState::SYNTAX_ERROR);
    }

    /// Where the parser tries one reading and then another, each level of nesting could double the time.
    #[test]
    fn nesting_takes_no_exponential_time() {
        let nested = |open: &str, middle: &str, close: &str| {
            let text = format!("{}{middle}{}", open.repeat(45), close.repeat(45));
            let start = std::time::Instant::now();
            let _ = parse_one(&format!("select {text}"));
            let _ = parse_one(&format!("select * from {text}"));
            let _ = parse_one(&format!("select 1 where {text}"));
            let _ = parse_one(&text);
            assert!(start.elapsed().as_secs() < 20, "{open}{middle}{close}");
        };
        for (open, close) in [
            ("(", ")"),
            ("(select ", ")"),
            ("(select * from ", ") a"),
            ("f(", ")"),
            ("a in (", ")"),
            ("x[", "]"),
            ("case when ", " then 1 end"),
            ("cast(", " as int)"),
            ("exists(select ", ")"),
            ("not(", ")"),
            ("interval (", ")"),
            ("(a, ", ")"),
            ("row(", ")"),
            ("array[", "]"),
            ("a = any(", ")"),
            ("f(a => ", ")"),
            ("trim(both ", " from a)"),
            ("substring(a from ", ")"),
            ("extract(year from ", ")"),
            ("- (", ")"),
            ("position(a in ", ")"),
            ("(values (", "))"),
            ("(a join ", " on true)"),
            ("lateral (select ", ") a"),
            ("with a as (", ") select 1"),
            ("explain ", ""),
            ("count(*) filter (where ", ")"),
            ("sum(1) over (", ")"),
            ("((", "))"),
            ("(1 + ", ")"),
            ("a between (", ") and 1"),
            ("unnest(", ")"),
            ("table(", ")"),
            ("insert into t values (", ")"),
            ("create table t (a int default (", "))"),
            ("date (", ")"),
        ] {
            for middle in ["1", "a", "select 1", "a b c", "a, b", ""] {
                nested(open, middle, close);
            }
        }
    }

    #[test]
    fn too_long_texts_are_refused() {
        let text = format!("select '{}'", "x".repeat(MAX_TEXT_BYTES));
        assert_eq!(failure(&text).0, SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}

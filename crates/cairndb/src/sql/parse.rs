//! From text to trees: `cairn_parser` with this engine's limits, and its errors as this crate's.

use cairn_parser::{self as ast, Id, ParseError, Parts, Query, Room, Statement, Tree};

use super::limits::{CHAIN_MAX, MAX_DEPTH, OPTIONS};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// A parsed statement with what is needed to speak about its text.
#[derive(Clone, Debug)]
pub struct ParsedStatement {
    /// The syntax tree, and the statement's text.
    pub tree: Tree<'static>,
    /// The statement in it.
    pub statement: Id<Statement>,
    /// How many parameters it takes: the highest `$n`, or the number of `?`.
    pub parameters: usize,
    /// The tree's depth.
    pub depth: usize,
    /// What PREPARE said of the types of the first parameters.
    pub(crate) declared: Vec<DataType>,
    /// A client has said it, rather than a view or a routine: a server answers it.
    pub(crate) is_clients: bool,
    /// How many characters of the user's text precede the statement's.
    characters_before: usize,
}

/// An expression's tree.
#[derive(Clone, Debug)]
pub struct ParsedExpression {
    /// The tree.
    pub tree: Tree<'static>,
    /// The expression in it.
    pub expr: Id<ast::Expr>,
    /// The tree's depth.
    pub depth: usize,
}

/// A query's tree.
#[derive(Clone, Debug)]
pub struct ParsedQuery {
    /// The tree.
    pub tree: Tree<'static>,
    /// The query in it.
    pub query: Id<Query>,
    /// The tree's depth.
    pub depth: usize,
}

impl ParsedStatement {
    /// Parses exactly one statement, which `characters_before` characters precede in the user's text.
    pub fn parse(text: &str, characters_before: usize) -> Result<ParsedStatement> {
        let parsed = ast::parse_statement(text, OPTIONS).map_err(|error| refusal(&error, text, characters_before))?;
        let Some(parsed) = parsed else {
            let position = position_in(text, text.len(), characters_before);
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(position));
        };
        Ok(ParsedStatement::of(parsed, characters_before))
    }

    pub(super) fn of(parsed: ast::ParsedStatement<'_>, characters_before: usize) -> ParsedStatement {
        let (tree, statement) = (parsed.tree.into_owned(), parsed.statement);
        let (mut parameters, depth) = (tree.parameters() as usize, tree.depth(statement).into());
        // `$1` in a body is the function's.
        if parameters > 0 && Parts::of_statement(&tree, statement).is_some_and(has_body) {
            parameters = 0;
        }
        ParsedStatement {
            tree,
            statement,
            parameters,
            depth,
            declared: Vec::new(),
            is_clients: false,
            characters_before,
        }
    }

    /// A statement within this one, such as what PREPARE names. Its parameters have these types, as far as they are said.
    pub(crate) fn within(&self, statement: Id<Statement>, declared: Vec<DataType>) -> ParsedStatement {
        let depth = self.tree.depth(statement).into();
        ParsedStatement { statement, depth, declared, ..self.clone() }
    }

    /// The statement's text.
    pub fn text(&self) -> &str {
        self.tree.source()
    }

    /// The statement.
    pub fn syntax(&self) -> Statement {
        self.tree.get(self.statement)
    }

    /// The parts of a command that neither queries nor changes rows.
    pub fn command(&self) -> Option<Parts<'_, 'static>> {
        Parts::of_statement(&self.tree, self.statement)
    }

    /// The 1-based character in the user's text of a byte of this statement's.
    pub fn position_of(&self, byte: usize) -> usize {
        position_in(self.text(), byte, self.characters_before)
    }
}

/// The only statement of a text, as a prepared statement wants it.
pub fn parse_one(text: &str) -> Result<ParsedStatement> {
    parse_one_in(text, &mut Room::default())
}

/// As [`parse_one`], in buffers that are kept.
pub(crate) fn parse_one_in(text: &str, room: &mut Room) -> Result<ParsedStatement> {
    match ast::parse_statement_in(text, OPTIONS, room) {
        Ok(Some(parsed)) => Ok(ParsedStatement::of(parsed, 0)),
        Ok(None) => Err(Error::new(SqlState::SYNTAX_ERROR, "the text holds no statement")),
        Err(error) => Err(refusal(&error, text, 0)),
    }
}

/// An expression's text, such as a column's default.
pub fn parse_expression(text: &str) -> Result<ParsedExpression> {
    let (tree, expr) = ast::parse_expression(text, OPTIONS).map_err(|error| refusal(&error, text, 0))?;
    let depth = tree.depth(expr).into();
    Ok(ParsedExpression { tree: tree.into_owned(), expr, depth })
}

/// A query's text, such as a view's.
pub fn parse_query(text: &str) -> Result<ParsedQuery> {
    let ParsedStatement { tree, statement, depth, .. } = ParsedStatement::parse(text, 0)?;
    match tree.get(statement) {
        Statement::Query { query } => Ok(ParsedQuery { tree, query, depth }),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, "the text is not a query")),
    }
}

/// Whether it is CREATE FUNCTION or PROCEDURE with a body that is written out (RETURN, BEGIN ATOMIC).
fn has_body(parts: Parts<'_, '_>) -> bool {
    matches!(parts.name(), "create_function" | "create_procedure") && parts.rule("routine_body").is_some()
}

/// The parser's error in this crate's form.
pub(super) fn refusal(error: &ParseError, text: &str, characters_before: usize) -> Error {
    let position = position_in(text, error.position as usize, characters_before);
    let refused = Error::new(SqlState(error.sqlstate), &error.message).at(position);
    match error.hint {
        _ if refused.sqlstate() == SqlState::STATEMENT_TOO_COMPLEX => {
            refused.with_hint(format!(
                "Statements may be nested {MAX_DEPTH} levels deep; a chain of operators may have {CHAIN_MAX} of them, one of UNION {}.",
                CHAIN_MAX / 2
            ))
        }
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}

/// The 1-based character of a byte of `text`, which `characters_before` characters precede.
fn position_in(text: &str, byte: usize, characters_before: usize) -> usize {
    let before = text.get(..byte).map_or(0, |head| head.chars().count());
    characters_before + before + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::MAX_TEXT_BYTES;

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
            let head: String = text.chars().take(40).collect();
            match parse_one(text) {
                // What only looks deep: steps from a value to its parts are a list.
                Ok(parsed) => assert!(parsed.depth < 16, "{head}"),
                Err(error) => assert!(["54001", "42601"].contains(&error.sqlstate().0), "{error:?} for {head}"),
            }
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

//! Caps that keep any text from overflowing the stack.
//!
//! Invariants: before the parser sees a statement, its tokens have been scanned (without recursion) and
//! no path through its syntax tree is deeper than [`MAX_EXPRESSION_DEPTH`]; the parser's own counter backs that up.
//! So the tree can be walked, and dropped, by recursion. Statements deeper than [`SHALLOW_DEPTH`] are parsed and bound
//! on a thread with a stack of its own ([`with_deep_stack`]), for the caller's may be small (2 MiB in a test).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::position::TextPosition;
use crate::{Error, Result, SqlState};

/// The longest statement text.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// The deepest syntax tree: parentheses, CASE, prefix operators and operators in a row all count.
pub const MAX_EXPRESSION_DEPTH: usize = 200;

/// Parentheses and CASE within each other.
pub(super) const MAX_NESTING: usize = 100;

/// Up to here the caller's stack is used.
const SHALLOW_DEPTH: usize = 16;

const DEEP_STACK_BYTES: usize = 128 << 20;

/// PostgreSQL's error for input that is nested too deeply.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .with_hint(format!("Statements may be nested {MAX_EXPRESSION_DEPTH} levels deep."))
}

/// Refuses texts longer than the limit.
pub(super) fn check_length(text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        let message = format!("statement of {} bytes exceeds the limit of {limit} bytes", text.len());
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(())
}

/// The depth of the statement's tree (an upper bound), or an error where it exceeds the limits.
pub(super) fn check_depth(tokens: &[TokenWithSpan], source: &TextPosition) -> Result<usize> {
    let mut scan = DepthScan::default();
    for token in tokens {
        scan.take(&token.token);
        if scan.depth() > MAX_EXPRESSION_DEPTH || scan.open.len() > MAX_NESTING {
            return Err(too_deep().at(source.of(token.span.start).unwrap_or(1)));
        }
        scan.deepest = scan.deepest.max(scan.depth());
    }
    Ok(scan.deepest)
}

/// Counters of one pair of parentheses (or CASE ... END).
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators since the last AND, OR, comma or clause.
    operators: usize,
    /// The most operators that one operand of the AND or OR chain has.
    most: usize,
    /// ANDs and ORs since the last comma or clause.
    logical: usize,
    /// Set operations and joins, which lean on each other across clauses.
    combined: usize,
}

impl Level {
    fn depth(self) -> usize {
        1 + self.operators.max(self.most) + self.logical + self.combined
    }

    fn operand(&mut self) {
        self.most = self.most.max(self.operators);
        self.operators = 0;
        self.logical += 1;
    }

    fn clause(&mut self) {
        *self = Level { combined: self.combined, ..Level::default() };
    }
}

#[derive(Default)]
struct DepthScan {
    open: Vec<Level>,
    current: Level,
    /// Sum over `open`.
    below: usize,
    deepest: usize,
}

impl DepthScan {
    fn depth(&self) -> usize {
        self.below + self.current.depth()
    }

    fn take(&mut self, token: &Token) {
        match token {
            Token::LParen | Token::LBracket => self.push(),
            // `a[1][2]`, `f(1)(2)`, `int[][]`: each wraps what precedes it.
            Token::RParen | Token::RBracket => {
                self.pop();
                self.current.operators += 1;
            }
            Token::Comma | Token::SemiColon => self.current.clause(),
            Token::Word(word) if word.quote_style.is_none() => self.take_keyword(word.keyword),
            token if is_operator(token) => self.current.operators += 1,
            _ => {}
        }
    }

    fn take_keyword(&mut self, keyword: Keyword) {
        match keyword {
            Keyword::CASE => self.push(),
            Keyword::END => self.pop(),
            Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT | Keyword::JOIN | Keyword::EXPLAIN => {
                self.current.combined += 1;
                self.current.clause();
            }
            Keyword::AND | Keyword::OR => self.current.operand(),
            Keyword::NOT | Keyword::IS | Keyword::LIKE | Keyword::ILIKE => {
                self.current.operators += 1;
            }
            Keyword::BETWEEN
            | Keyword::IN
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::SIMILAR
            | Keyword::OPERATOR
            | Keyword::NOTNULL
            | Keyword::INTERVAL
            | Keyword::ARRAY
            | Keyword::PRIOR => {
                self.current.operators += 1;
            }
            Keyword::SELECT
            | Keyword::FROM
            | Keyword::WHERE
            | Keyword::HAVING
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::ON
            | Keyword::LIMIT => self.current.clause(),
            _ => {}
        }
    }

    fn push(&mut self) {
        self.below += self.current.depth();
        self.open.push(self.current);
        self.current = Level::default();
    }

    fn pop(&mut self) {
        if let Some(level) = self.open.pop() {
            self.below -= level.depth();
            self.current = level;
        }
    }
}

/// Everything that can make a tree deeper without parentheses.
fn is_operator(token: &Token) -> bool {
    !matches!(
        token,
        Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_)
            | Token::Whitespace(_)
            | Token::Period
            | Token::EOF
    )
}

/// Runs `work` on a stack that suffices for a tree of this depth.
pub(crate) fn with_deep_stack<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    if depth <= SHALLOW_DEPTH {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("cairn-sql".into()).stack_size(DEEP_STACK_BYTES);
        let handle = thread.spawn_scoped(scope, work).map_err(|error| {
            Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("no stack for a deeply nested statement: {error}"))
        })?;
        handle.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}

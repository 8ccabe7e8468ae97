//! Long chains of AND and OR, regrouped.
//!
//! `a OR b OR c OR ...` parses to a tree as deep as the chain is long. Both operators are associative, so the middle of
//! a long chain may be put in parentheses, in groups of groups, and the tree stays shallow; the binder flattens all of
//! it again. The first and the last operand stay outside, because where they begin and end is the grammar's business;
//! every operand between is fenced by two operators on the same level of parentheses.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Chains up to this long are left alone; also the size of a group.
const GROUP: usize = 12;

/// A chain of one operator on one level: the token positions of its operators.
#[derive(Default)]
struct Chain {
    operators: Vec<usize>,
}

/// What is pending on one level of parentheses.
#[derive(Default)]
struct Level {
    ands: Chain,
    ors: Chain,
    /// BETWEENs whose AND is yet to come.
    betweens: usize,
}

/// Parentheses to insert before a token: closing ones first.
#[derive(Clone, Copy, Default)]
struct Insertion {
    close: usize,
    open: usize,
}

/// Regroups every long chain in `tokens`.
pub(super) fn regroup(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut insertions = vec![];
    let mut levels = vec![Level::default()];
    for (at, token) in tokens.iter().enumerate() {
        take(at, &token.token, &mut levels, &mut insertions, tokens.len());
    }
    while let Some(mut level) = levels.pop() {
        level.flush(&mut insertions, tokens.len());
    }
    if insertions.is_empty() { tokens } else { insert(tokens, &insertions) }
}

fn take(at: usize, token: &Token, levels: &mut Vec<Level>, insertions: &mut Vec<Insertion>, len: usize) {
    match token {
        Token::LParen | Token::LBracket => levels.push(Level::default()),
        Token::RParen | Token::RBracket => pop(levels, insertions, len),
        Token::Word(word) if word.quote_style.is_none() => match word.keyword {
            Keyword::CASE => levels.push(Level::default()),
            Keyword::END => pop(levels, insertions, len),
            keyword => take_keyword(at, keyword, levels, insertions, len),
        },
        Token::Comma | Token::SemiColon => flush_top(levels, insertions, len),
        _ => {}
    }
}

fn take_keyword(at: usize, keyword: Keyword, levels: &mut [Level], insertions: &mut Vec<Insertion>, len: usize) {
    let Some(level) = levels.last_mut() else { return };
    match keyword {
        Keyword::BETWEEN => level.betweens += 1,
        Keyword::AND if level.betweens > 0 => level.betweens -= 1,
        Keyword::AND => level.ands.operators.push(at),
        Keyword::OR => {
            level.ands.flush(insertions, len);
            level.ors.operators.push(at);
        }
        keyword if is_boundary(keyword) => level.flush(insertions, len),
        _ => {}
    }
}

/// Keywords that end an expression (or look as if they did: then a chain is merely cut in two).
fn is_boundary(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::SELECT
            | K::FROM
            | K::WHERE
            | K::GROUP
            | K::HAVING
            | K::ORDER
            | K::LIMIT
            | K::OFFSET
            | K::FETCH
            | K::UNION
            | K::INTERSECT
            | K::EXCEPT
            | K::ON
            | K::JOIN
            | K::INNER
            | K::LEFT
            | K::RIGHT
            | K::FULL
            | K::CROSS
            | K::NATURAL
            | K::WHEN
            | K::THEN
            | K::ELSE
            | K::AS
            | K::RETURNING
            | K::SET
            | K::USING
            | K::VALUES
            | K::WINDOW
            | K::FOR
            | K::DO
            | K::WITH
            | K::BY
            | K::ASC
            | K::DESC
            | K::OVER
            | K::REPLACE
            | K::CHECK
            | K::DEFAULT
            | K::CONSTRAINT
            | K::NULLS
    )
}

fn pop(levels: &mut Vec<Level>, insertions: &mut Vec<Insertion>, len: usize) {
    flush_top(levels, insertions, len);
    if levels.len() > 1 {
        levels.pop();
    }
}

fn flush_top(levels: &mut [Level], insertions: &mut Vec<Insertion>, len: usize) {
    if let Some(level) = levels.last_mut() {
        level.flush(insertions, len);
    }
}

impl Level {
    fn flush(&mut self, insertions: &mut Vec<Insertion>, len: usize) {
        self.ands.flush(insertions, len);
        self.ors.flush(insertions, len);
        self.betweens = 0;
    }
}

impl Chain {
    fn flush(&mut self, insertions: &mut Vec<Insertion>, len: usize) {
        let mut operators = std::mem::take(&mut self.operators);
        // Operand i of the middle lies between operators i and i + 1; grouping `GROUP` of them swallows the operators
        // between them and leaves a shorter chain, which is grouped again.
        while operators.len() > GROUP {
            if insertions.is_empty() {
                insertions.resize(len + 1, Insertion::default());
            }
            operators = group(&operators, insertions);
        }
    }
}

/// Puts each `GROUP` operands of the middle in parentheses; the operators that remain outside.
fn group(operators: &[usize], insertions: &mut [Insertion]) -> Vec<usize> {
    let mut outside = vec![];
    for chunk in operators.chunks(GROUP) {
        let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { continue };
        outside.push(*first);
        if chunk.len() > 2 {
            insertions[first + 1].open += 1;
            insertions[*last].close += 1;
        }
        if last != first {
            outside.push(*last);
        }
    }
    outside
}

fn insert(tokens: Vec<TokenWithSpan>, insertions: &[Insertion]) -> Vec<TokenWithSpan> {
    let mut grouped = Vec::with_capacity(tokens.len() + tokens.len() / 8);
    for (token, insertion) in tokens.into_iter().zip(insertions) {
        let span = token.span;
        grouped.extend((0..insertion.close).map(|_| TokenWithSpan::new(Token::RParen, span)));
        grouped.extend((0..insertion.open).map(|_| TokenWithSpan::new(Token::LParen, span)));
        grouped.push(token);
    }
    grouped
}

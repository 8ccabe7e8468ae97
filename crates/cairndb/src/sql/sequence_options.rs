//! Options of sequences, put in the one order that the parser takes: PostgreSQL takes them in any.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Reorders the options of CREATE SEQUENCE and of every `AS IDENTITY (..)`.
pub(super) fn reorder(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let keyword_at = |place: usize| words.get(place).map_or(Keyword::NoKeyword, |&at| keyword(&tokens[at]));
    if keyword_at(0) == Keyword::CREATE && (1..3).any(|place| keyword_at(place) == Keyword::SEQUENCE) {
        let first = words.iter().copied().find(|&at| rank(&tokens, at).is_some());
        let end = tokens.len();
        first.into_iter().for_each(|first| sort(&mut tokens[first..end]));
        return tokens;
    }
    let identity = |place: &usize| {
        keyword_at(*place) == Keyword::IDENTITY
            && words.get(place + 1).is_some_and(|&at| tokens[at].token == Token::LParen)
    };
    let opens: Vec<usize> = (0..words.len()).filter(identity).map(|place| words[place + 1] + 1).collect();
    for open in opens {
        let length = tokens[open..].iter().position(|token| token.token == Token::RParen).unwrap_or(0);
        let first = (open..open + length).find(|&at| rank(&tokens, at).is_some());
        first.into_iter().for_each(|first| sort(&mut tokens[first..open + length]));
    }
    tokens
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// The place in the parser's order of the option that begins at `at`, if one does.
fn rank(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let after_no = tokens[..at].iter().rev().find(|token| !is_blank(token)).map(keyword) == Some(Keyword::NO);
    let rank = |keyword: Keyword| match keyword {
        Keyword::AS => Some(0),
        Keyword::INCREMENT => Some(1),
        Keyword::MINVALUE => Some(2),
        Keyword::MAXVALUE => Some(3),
        Keyword::START => Some(4),
        Keyword::CACHE => Some(5),
        Keyword::CYCLE => Some(6),
        Keyword::OWNED => Some(7),
        _ => None,
    };
    match keyword(&tokens[at]) {
        Keyword::NO => {
            let next = tokens[at + 1..].iter().find(|token| !is_blank(token)).map(keyword);
            next.and_then(rank)
        }
        _ if after_no => None,
        keyword => rank(keyword),
    }
}

/// Sorts the options that `tokens` consists of.
fn sort(tokens: &mut [TokenWithSpan]) {
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    for at in 0..tokens.len() {
        match (rank(tokens, at), options.last_mut()) {
            (Some(rank), _) => options.push((rank, vec![tokens[at].clone()])),
            (None, Some((_, option))) => option.push(tokens[at].clone()),
            (None, None) => return,
        }
    }
    // A blank between options, for the last one may now be followed by another.
    options.sort_by_key(|(rank, _)| *rank);
    let sorted: Vec<TokenWithSpan> = options.into_iter().flat_map(|(_, option)| option).collect();
    tokens.clone_from_slice(&sorted);
}

#[cfg(test)]
mod tests {
    use crate::sql::parse_one;

    #[test]
    fn options_are_taken_in_any_order() {
        let texts = [
            "CREATE SEQUENCE q START 10 INCREMENT 5",
            "CREATE SEQUENCE IF NOT EXISTS q NO CYCLE CACHE 3 MAXVALUE 9 NO MINVALUE INCREMENT BY -1",
            "CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 2), b int)",
            "CREATE SEQUENCE start",
        ];
        for text in texts {
            parse_one(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}

//! What may stand at the cursor: the statement that is being typed, read by the parser's lexer as far as it goes.

use std::ops::Range;

use cairn_parser::TokenKind;
use cairn_parser::token::{PieceKind, fold_identifier, pieces};

/// What may stand at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The inside of a constant or a comment: nothing that we know.
    Inside,
    /// A statement's first word.
    Statement,
    /// A table, a view.
    Relation,
    /// Behind a table's name: another one for it, or what goes on.
    Alias,
    /// A column of what is called so: `name.`
    Column(String),
    /// A setting; `changed`: one that is to be changed.
    Setting {
        /// Behind SET or RESET.
        changed: bool,
    },
    /// A value of the setting of this name.
    Value(String),
    /// A column, a function, a keyword.
    Anything,
}

/// What a statement takes rows from or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The relation's name.
    pub relation: String,
    /// What it is called in the statement.
    pub alias: String,
}

/// The statement at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Where the statement begins.
    pub start: usize,
    /// Where the word before the cursor begins; the cursor itself where there is none.
    pub word_start: usize,
    /// What may stand there.
    pub place: Place,
    /// The relations of the whole statement, also of what stands behind the cursor.
    pub sources: Vec<Source>,
}

/// A token of the statement at the cursor.
#[derive(Clone, Copy)]
struct Word<'a> {
    kind: TokenKind,
    text: &'a str,
    start: usize,
    end: usize,
}

impl Word<'_> {
    fn is_name(self) -> bool {
        self.kind.is_label()
    }

    fn name(self) -> String {
        match self.text.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"').unwrap_or(quoted).replace("\"\"", "\""),
            None => fold_identifier(self.text),
        }
    }

    /// A quoted name whose end is not typed yet.
    fn is_open_name(self) -> bool {
        self.kind == TokenKind::Bad && self.text.starts_with('"')
    }
}

/// Looks at the statement around byte `cursor` of `text`.
pub fn look(text: &str, cursor: usize) -> Situation {
    let mut words = Vec::new();
    let mut inside = false;
    for piece in pieces(text) {
        let touched = piece.start < cursor && cursor <= piece.end;
        match piece.kind {
            PieceKind::Blank | PieceKind::Token(TokenKind::Eof) => {}
            PieceKind::Comment => inside |= touched,
            PieceKind::Token(TokenKind::Semicolon) if piece.end <= cursor => words.clear(),
            PieceKind::Token(TokenKind::Semicolon) => break,
            PieceKind::Token(kind) => {
                let word = Word { kind, text: &text[piece.start..piece.end], start: piece.start, end: piece.end };
                inside |= touched && !word.is_name() && !word.is_open_name() && is_constant(word);
                words.push(word);
            }
        }
    }
    let typed = |word: &&Word<'_>| word.start < cursor && cursor <= word.end && (word.is_name() || word.is_open_name());
    let word_start = words.iter().find(typed).map_or(cursor, |word| word.start);
    let before = words.partition_point(|word| word.start < word_start);
    let place = if inside { Place::Inside } else { place(&words[..before]) };
    let start = words.first().map_or(word_start, |word| word.start.min(word_start));
    Situation { start, word_start, place, sources: sources(&words, word_start..cursor) }
}

fn is_constant(word: Word<'_>) -> bool {
    use TokenKind as T;
    matches!(word.kind, T::StringConst | T::BitConst | T::HexConst | T::IntegerConst | T::NumberConst | T::Param)
        || word.kind == T::Bad
}

/// What may follow these words.
fn place(before: &[Word<'_>]) -> Place {
    match before {
        [] => Place::Statement,
        [.., qualifier, dot] if dot.kind == TokenKind::Dot && qualifier.is_name() => Place::Column(qualifier.name()),
        [show] if show.kind == TokenKind::Show => Place::Setting { changed: false },
        [reset] if reset.kind == TokenKind::Reset => Place::Setting { changed: true },
        [set, rest @ ..] if set.kind == TokenKind::Set => of_setting(rest),
        _ if relation_follows(before) => Place::Relation,
        [ahead @ .., relation] if relation.is_name() && relation_follows(ahead) => Place::Alias,
        _ => Place::Anything,
    }
}

/// What may follow these words of a SET.
fn of_setting(before: &[Word<'_>]) -> Place {
    let named = match before {
        [reach, named @ ..] if matches!(reach.kind, TokenKind::Session | TokenKind::Local) => named,
        named => named,
    };
    let [names @ .., last] = named else { return Place::Setting { changed: true } };
    if !matches!(last.kind, TokenKind::To | TokenKind::Equal)
        || !names.iter().all(|word| word.is_name() || word.kind == TokenKind::Dot)
    {
        return Place::Anything;
    }
    Place::Value(names.iter().map(|word| word.text.to_lowercase()).collect())
}

/// Whether a relation's name follows these words.
fn relation_follows(before: &[Word<'_>]) -> bool {
    use TokenKind as T;
    let kind = |back: usize| before.len().checked_sub(back).map(|at| before[at].kind);
    match kind(1) {
        Some(T::Join | T::Into | T::Table | T::References | T::View | T::Analyze | T::Truncate) => true,
        // `EXTRACT(year FROM x)`, `IS DISTINCT FROM x`, `trim(BOTH FROM x)` take a value.
        Some(T::From) => kind(2) != Some(T::Distinct) && !in_call(&before[..before.len() - 1]),
        Some(T::Update) => !matches!(kind(2), Some(T::For | T::Do | T::On | T::Key)),
        Some(T::Exists) => kind(2) == Some(T::If) && matches!(kind(3), Some(T::Table | T::View)),
        Some(T::Comma) => in_from_list(&before[..before.len() - 1]),
        _ => false,
    }
}

/// Whether the last of these words stands in the parentheses of a function's call that is no query.
fn in_call(before: &[Word<'_>]) -> bool {
    let Some(open) = opening(before) else { return false };
    let query = matches!(before.get(open + 1).map(|word| word.kind), Some(TokenKind::Select | TokenKind::With));
    !query && open > 0 && before[open - 1].is_name() && !before[open + 1..].iter().any(|w| w.kind == TokenKind::Select)
}

/// Whether the last of these words belongs to the list behind FROM.
fn in_from_list(before: &[Word<'_>]) -> bool {
    use TokenKind as T;
    let mut depth = 0_usize;
    for (at, word) in before.iter().enumerate().rev() {
        match word.kind {
            T::RightParen => depth += 1,
            T::LeftParen if depth == 0 => return false,
            T::LeftParen => depth -= 1,
            T::From if depth == 0 => return relation_follows(&before[..=at]),
            T::Select | T::Where | T::Group | T::Order | T::Having | T::Set | T::Values | T::Limit if depth == 0 => {
                return false;
            }
            _ => {}
        }
    }
    false
}

/// The parenthesis that is open behind these words.
fn opening(before: &[Word<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, word) in before.iter().enumerate().rev() {
        match word.kind {
            TokenKind::RightParen => depth += 1,
            TokenKind::LeftParen if depth == 0 => return Some(at),
            TokenKind::LeftParen => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `typed`: the word at the cursor, which names nothing yet.
fn sources(words: &[Word<'_>], typed: Range<usize>) -> Vec<Source> {
    let mut found = Vec::new();
    for at in (1..words.len()).filter(|at| relation_follows(&words[..*at])) {
        let Some(mut name) = words.get(at).filter(|word| word.is_name()) else { continue };
        let mut next = at + 1;
        while let [dot, part, ..] = &words[next..]
            && dot.kind == TokenKind::Dot
            && part.is_name()
        {
            (name, next) = (part, next + 2);
        }
        let alias = match &words[next..] {
            [word, alias, ..] if word.kind == TokenKind::As && alias.is_name() => alias,
            [alias, ..] if alias.kind == TokenKind::Ident && !typed.contains(&alias.start) => alias,
            _ => name,
        };
        found.push(Source { relation: name.name(), alias: alias.name() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|` is the cursor.
    fn at(text: &str) -> Situation {
        let cursor = text.find('|').expect("a cursor");
        look(&text.replacen('|', "", 1), cursor)
    }

    #[test]
    fn a_place_is_known_by_what_stands_before_it() {
        for (text, place) in [
            ("|", Place::Statement),
            ("sel|", Place::Statement),
            ("select 1; up|", Place::Statement),
            ("select |", Place::Anything),
            ("select * from |", Place::Relation),
            ("select * from a, b|", Place::Relation),
            ("select * from a join |", Place::Relation),
            ("select * from (select a, |", Place::Anything),
            ("select a, | from t", Place::Anything),
            ("select * from f(1, |", Place::Anything),
            ("select extract(year from |", Place::Anything),
            ("select a is distinct from |", Place::Anything),
            ("select * from a where x in (select y from |", Place::Relation),
            ("update |", Place::Relation),
            ("insert into a values (1) on conflict do update |", Place::Anything),
            ("select * from a for update |", Place::Anything),
            ("drop table if exists |", Place::Relation),
            ("select c.|", Place::Column("c".into())),
            ("select \"C d\".x| from t", Place::Column("C d".into())),
            ("select 'a |", Place::Inside),
            ("select 'a'|", Place::Inside),
            ("select 12|", Place::Inside),
            ("select a -- from |\nb", Place::Inside),
            ("select /* a |", Place::Inside),
            ("select $$ from |", Place::Inside),
            ("show |", Place::Setting { changed: false }),
            ("set |", Place::Setting { changed: true }),
            ("set session work|", Place::Setting { changed: true }),
            ("reset |", Place::Setting { changed: true }),
            ("set DateStyle = |", Place::Value("datestyle".into())),
            ("set local pg_trgm.similarity_threshold to 0|", Place::Inside),
            ("set local pg_trgm.word to |", Place::Value("pg_trgm.word".into())),
            ("set a = b |", Place::Anything),
            ("update t set |", Place::Anything),
        ] {
            assert_eq!(at(text).place, place, "{text}");
        }
    }

    #[test]
    fn the_word_before_the_cursor_begins_where_its_token_does() {
        for (text, start) in
            [("select ab|c", 7), ("select |", 7), ("select \"a b|", 7), ("select a.b|", 9), ("select a+|b", 9)]
        {
            assert_eq!(at(text).word_start, start, "{text}");
        }
    }

    #[test]
    fn the_relations_of_the_whole_statement_are_known_by_their_names() {
        let names = |text| at(text).sources.into_iter().map(|s| (s.relation, s.alias)).collect::<Vec<_>>();
        let pair = |relation: &str, alias: &str| (relation.to_string(), alias.to_string());
        assert_eq!(names("select | from crew c, s.missions as m"), [pair("crew", "c"), pair("missions", "m")]);
        assert_eq!(names("insert into Crew (|"), [pair("crew", "crew")]);
        assert_eq!(names("select | from \"Crew\" join x on y"), [pair("Crew", "Crew"), pair("x", "x")]);
        assert_eq!(names("select 1 from a; update b set |; select 1 from c"), [pair("b", "b")]);
    }
}

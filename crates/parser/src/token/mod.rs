//! Tokens: PostgreSQL 15's lexical rules.

mod body;
mod keyword;
mod kind;
mod lexer;
pub(crate) mod literal;
mod name;
mod script;

pub use body::RoutineBody;
pub use keyword::{KEYWORDS, Keyword, KeywordClass, find_keyword};
pub use kind::TokenKind;
pub(crate) use lexer::operator_kind;
pub use lexer::{Lexer, Placeholders, Token};
pub use literal::{Pair, paired};
pub use name::{IDENTIFIER_BYTES_MAX, cut_identifier, fold_identifier, quote_identifier, quoted};
pub use script::{Piece, PieceKind, SourceStatement, pieces, split_statements};

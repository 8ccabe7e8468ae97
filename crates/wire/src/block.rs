//! What opens and ends transactions, and the transaction that the protocol opens where several statements come together.
//!
//! Statements that a client sends together (a simple query of several, or what it executes before it sends Sync) are one transaction,
//! without a BEGIN: the *implicit* one. Its BEGIN makes it the client's own; its COMMIT and ROLLBACK end what came before them. A
//! statement that comes alone needs none: it is one by itself.

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders};
use cairndb::Error;

use crate::error::outside;

/// What a statement does to transactions, as its first words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// BEGIN, START TRANSACTION; the modes that it names.
    Begin {
        modes: String,
    },
    /// COMMIT, END; whether it says AND CHAIN.
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    RollbackTo,
    Savepoint,
    Release,
    /// DECLARE of a cursor that does not outlive its transaction.
    Declare,
    Other,
}

impl Control {
    pub(crate) fn of(text: &str) -> Control {
        let mut lexer = Lexer::new(text, 0, Placeholders::default());
        let first = lexer.next_token();
        match first.kind {
            TokenKind::Begin | TokenKind::Start => {
                let mut modes = first.end as usize;
                let next = lexer.next_token();
                if matches!(next.kind, TokenKind::Work | TokenKind::Transaction) {
                    modes = next.end as usize;
                }
                let modes = text.get(modes..).unwrap_or("").trim().trim_end_matches(';').trim();
                Control::Begin { modes: modes.to_owned() }
            }
            TokenKind::Commit | TokenKind::End => {
                let mut next = lexer.next_token();
                if matches!(next.kind, TokenKind::Work | TokenKind::Transaction) {
                    next = lexer.next_token();
                }
                let chain = next.kind == TokenKind::And && lexer.next_token().kind == TokenKind::Chain;
                Control::Commit { chain }
            }
            TokenKind::Rollback | TokenKind::Abort => {
                let mut next = lexer.next_token();
                if matches!(next.kind, TokenKind::Work | TokenKind::Transaction) {
                    next = lexer.next_token();
                }
                match next.kind {
                    TokenKind::To => Control::RollbackTo,
                    TokenKind::And => Control::Rollback { chain: lexer.next_token().kind == TokenKind::Chain },
                    _ => Control::Rollback { chain: false },
                }
            }
            TokenKind::Declare if !holds(lexer) => Control::Declare,
            TokenKind::Savepoint => Control::Savepoint,
            TokenKind::Release => Control::Release,
            _ => Control::Other,
        }
    }

    /// Whether it is run in whichever transaction is open, and nothing becomes of that.
    pub(crate) fn is_ordinary(&self) -> bool {
        matches!(self, Control::Other | Control::Declare)
    }

    /// Whether portals end with it.
    pub(crate) fn ends_portals(&self) -> bool {
        matches!(self, Control::Commit { .. } | Control::Rollback { .. })
    }

    /// Whether it is what a failed transaction still accepts.
    pub(crate) fn ends_failed(&self) -> bool {
        matches!(self, Control::Commit { .. } | Control::Rollback { .. } | Control::RollbackTo)
    }
}

/// Whether a DECLARE says WITH HOLD, behind its first word.
fn holds(mut lexer: Lexer<'_>) -> bool {
    loop {
        match lexer.next_token().kind {
            TokenKind::Cursor => return lexer.next_token().kind == TokenKind::With,
            TokenKind::Eof | TokenKind::Bad => return false,
            _ => {}
        }
    }
}

/// What has to be done before a statement runs.
#[derive(Debug)]
pub(crate) enum Before {
    Nothing,
    /// The implicit transaction begins.
    Begin,
    /// The implicit transaction becomes the client's; nothing else is to be done but to set these modes, if there are any.
    Adopt(String),
    /// There is no transaction that the client has opened: it ends the implicit one, with a warning.
    EndImplicit,
    Refuse(Error),
}

/// `implicit`: the implicit transaction is open; `alone`: nothing comes together with the statement; `idle`: no transaction is open.
pub(crate) fn before(control: &Control, implicit: bool, alone: bool, idle: bool) -> Before {
    match control {
        // In what comes together by itself, and not as one text, the transaction is none of the client's.
        Control::Declare if implicit => Before::Refuse(outside("DECLARE CURSOR")),
        Control::Other | Control::Declare if implicit || alone || !idle => Before::Nothing,
        Control::Other | Control::Declare => Before::Begin,
        _ if !implicit => Before::Nothing,
        Control::Begin { modes } => Before::Adopt(modes.clone()),
        Control::Commit { chain: true } => Before::Refuse(outside("COMMIT AND CHAIN")),
        Control::Rollback { chain: true } => Before::Refuse(outside("ROLLBACK AND CHAIN")),
        Control::Commit { .. } | Control::Rollback { .. } => Before::EndImplicit,
        Control::RollbackTo => Before::Refuse(outside("ROLLBACK TO SAVEPOINT")),
        Control::Savepoint => Before::Refuse(outside("SAVEPOINT")),
        Control::Release => Before::Refuse(outside("RELEASE SAVEPOINT")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_say_what_becomes_of_transactions() {
        let begin = |modes: &str| Control::Begin { modes: modes.to_owned() };
        for (text, expected) in [
            ("BEGIN", begin("")),
            (" /* x */ begin work;", begin("")),
            ("START TRANSACTION READ ONLY", begin("READ ONLY")),
            ("COMMIT", Control::Commit { chain: false }),
            ("end transaction and chain", Control::Commit { chain: true }),
            ("COMMIT AND NO CHAIN", Control::Commit { chain: false }),
            ("abort", Control::Rollback { chain: false }),
            ("ROLLBACK AND CHAIN", Control::Rollback { chain: true }),
            ("ROLLBACK WORK TO SAVEPOINT a", Control::RollbackTo),
            ("SAVEPOINT a", Control::Savepoint),
            ("RELEASE a", Control::Release),
            ("DECLARE c CURSOR FOR SELECT 1", Control::Declare),
            ("declare c no scroll cursor without hold for select 1", Control::Declare),
            ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", Control::Other),
            ("DECLARE c", Control::Declare),
            ("SELECT 1", Control::Other),
            ("\"begin\"", Control::Other),
            ("", Control::Other),
        ] {
            assert_eq!(Control::of(text), expected, "{text}");
        }
    }
}

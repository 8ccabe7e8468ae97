//! Text, parsed and printed.
//!
//! Promised besides: a stack of 128 KiB suffices; an error's place is in the text; what is taken prints as what parses to
//! the same tree, with the same fingerprint, and prints the same again.

use cairn_parser::token::{Lexer, Placeholders};
use cairn_parser::{Options, ParsedStatement, TokenKind, parse_statement, parse_statements};

const STACK_BYTES: usize = 128 << 10;

/// The target.
pub fn parse_and_print(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // Dropping trees needs no stack either.
    let check = || check(&text);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, check);
        if let Err(panic) = thread.expect("a thread starts").join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn check(text: &str) {
    check_tokens(text);
    for parsed in parse_statements(text, Options::default()) {
        match parsed {
            Ok(parsed) => check_statement(&parsed),
            Err(error) => {
                assert!(text.is_char_boundary(error.position as usize), "{text:?}: {error:?}");
                assert_eq!(error.sqlstate.len(), 5, "{text:?}: {error:?}");
            }
        }
    }
}

/// Tokens follow each other to the end.
fn check_tokens(text: &str) {
    let mut lexer = Lexer::new(text, 0, Placeholders::default());
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        assert!(token.start >= end && token.end >= token.start, "{text:?}: {token:?} behind {end}");
        end = token.end;
        if token.kind == TokenKind::Eof {
            break;
        }
    }
    assert!(end as usize <= text.len(), "{text:?}");
}

fn check_statement(parsed: &ParsedStatement<'_>) {
    let tree = &parsed.tree;
    let printed = tree.print(parsed.statement);
    let again = match parse_statement(&printed, Options::default()) {
        Ok(Some(again)) => again,
        other => panic!("{:?} is printed as {printed:?}: {other:?}", tree.source()),
    };
    let roots = (tree.reference(parsed.statement), again.tree.reference(again.statement));
    assert!(tree.same(roots.0, &again.tree, roots.1), "{:?} is printed as {printed:?}", tree.source());
    assert_eq!(again.tree.print(again.statement), printed, "{:?}", tree.source());
    let fingerprints = (tree.fingerprint(parsed.statement), again.tree.fingerprint(again.statement));
    assert_eq!(fingerprints.0, fingerprints.1, "{:?}", tree.source());
}

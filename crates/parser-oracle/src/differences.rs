//! Where our parser and PostgreSQL 15's grammar are meant to differ, and why.

use crate::grammar::{Refusal, Verdict};

/// A difference that is meant.
pub struct Difference {
    /// Why it is meant.
    pub reason: &'static str,
    meant: fn(&str, &Verdict, &Verdict) -> bool,
}

/// All of them.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "PostgreSQL 16 has IS JSON",
        meant: |text, theirs, _| near(theirs, "JSON") && says(text, " json"),
    },
    Difference {
        reason: "PostgreSQL 17 has NOT MATCHED BY SOURCE in MERGE",
        meant: |text, theirs, _| near(theirs, "BY") && says(text, "matched by"),
    },
    Difference {
        reason: "PostgreSQL 17 has RETURNING in MERGE",
        meant: |text, theirs, ours| ours.is_ok() && near(theirs, "RETURNING") && says(text, "merge"),
    },
    Difference {
        reason: "PostgreSQL 18 has RETURNING WITH",
        meant: |text, theirs, _| near(theirs, "with") && says(text, "returning with"),
    },
    Difference {
        reason: "PostgreSQL 18 has VIRTUAL generated columns, which are those that are not STORED",
        meant: |text, theirs, _| {
            let before = before(text, theirs);
            says(before, "generated always as") && (near(theirs, "VIRTUAL") || before.trim_end().ends_with(')'))
        },
    },
    Difference {
        reason: "PostgreSQL 17 has SET EXPRESSION of generated columns",
        meant: |text, theirs, _| {
            near(theirs, "EXPRESSION") && before(text, theirs).trim_end().to_ascii_lowercase().ends_with("set")
        },
    },
    Difference {
        reason: "SUBSCRIBE is a command of our own (own.grammar)",
        meant: |text, theirs, ours| ours.is_ok() && near(theirs, "SUBSCRIBE") && says(text, "subscribe "),
    },
    Difference {
        reason: "a parameter's number that nobody can give is refused at once, in the words of PostgreSQL's analysis",
        meant: |_, theirs, ours| theirs.is_ok() && message(ours).starts_with("there is no parameter $"),
    },
    Difference {
        reason: "PostgreSQL 16 lets a subquery in FROM go without an alias",
        meant: |_, theirs, _| message(theirs).ends_with("in FROM must have an alias"),
    },
    Difference {
        reason: "not yet: a pair with OVERLAPS behind OFFSET or FETCH",
        meant: |text, _, ours| near(ours, "OVERLAPS") && (says(text, "offset") || says(text, "fetch")),
    },
    Difference {
        reason: "in the text of an aggregate or window function PostgreSQL tells another of two places",
        meant: |_, theirs, ours| {
            message(theirs) == message(ours)
                && (message(ours).contains("WITHIN GROUP") || message(ours).ends_with("clauses not allowed"))
        },
    },
    Difference {
        reason: "PostgreSQL tells a publication's wrong objects at the text's first character where it forgot their place",
        meant: |text, theirs, ours| says(text, "publication") && message(theirs) == message(ours),
    },
    Difference {
        reason: "of several faults, one that is no wrong token may be told by the one and a later one by the other",
        meant: |_, theirs, ours| {
            let wrong_token = |verdict: &Verdict| message(verdict).starts_with("syntax error");
            theirs.is_err() && ours.is_err() && (!wrong_token(theirs) || !wrong_token(ours))
        },
    },
];

/// The difference that these two verdicts on a text are, if it is meant.
pub fn meant(text: &str, theirs: &Verdict, ours: &Verdict) -> Option<&'static Difference> {
    DIFFERENCES.iter().find(|difference| (difference.meant)(text, theirs, ours))
}

/// Whether both say the same. Where PostgreSQL tells no place, ours may be any.
pub fn agree(theirs: &Verdict, ours: &Verdict) -> bool {
    match (theirs, ours) {
        (Err(theirs), Err(ours)) => {
            let place = theirs.position == 0 || theirs.position == ours.position;
            place && theirs.sqlstate == ours.sqlstate && theirs.message == ours.message
        }
        (theirs, ours) => theirs.is_ok() == ours.is_ok(),
    }
}

fn message(verdict: &Verdict) -> &str {
    verdict.as_ref().err().map_or("", |refusal: &Refusal| &refusal.message)
}

fn near(verdict: &Verdict, word: &str) -> bool {
    message(verdict).eq_ignore_ascii_case(&format!("syntax error at or near \"{word}\""))
}

/// The text before the place of a refusal.
fn before<'t>(text: &'t str, verdict: &Verdict) -> &'t str {
    let characters = verdict.as_ref().err().map_or(0, |refusal| refusal.position.saturating_sub(1));
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn says(text: &str, word: &str) -> bool {
    text.to_ascii_lowercase().contains(word)
}

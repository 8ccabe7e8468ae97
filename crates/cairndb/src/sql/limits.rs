//! Caps that keep any text from overflowing the stack.
//!
//! Invariant: no tree is nested deeper than [`MAX_DEPTH`]; the parser sees to it. So what is nested can be walked by recursion.
//! Flat text is no depth: a chain of operators, or of set operations, is a tree as deep as it is long, up to [`CHAIN_MAX`], and is
//! bound in a loop (`bind/queries/long.rs`) to what is as deep as its logarithm, or as a part of it (where UNION and EXCEPT alternate:
//! as they do that, which the planner bounds). Whoever walks the syntax
//! tree by recursion does it on a stack of its own that has room for all of it, and nobody walks it elsewhere.
//! Statements deeper than [`SHALLOW_DEPTH`] are bound on a thread with a stack of its own
//! ([`with_deep_stack`]), for the caller's may be small (2 MiB in a test).
//!
//! Each level takes, in a debug build, at most 12 KiB of stack to bind and to plan (LEFT JOINs; expressions take 5), and
//! 4.4 KiB to run (calls of functions). Binding and planning have [`DEEP_STACK_BYTES`] for 400 levels, or a caller's
//! stack for 24; running has the caller's for 400. `tests/nesting.rs` runs what is nested most on 2 MiB.

use cairn_parser::{Options, Placeholders};

use crate::{Error, Result, SqlState, sync};

/// The longest statement text.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// How deep a statement may be nested, in nodes of its syntax tree. A chain of operators counts once. An operator or a call is one, UNION two, a query in FROM three, one in an
/// expression four.
pub const MAX_DEPTH: u16 = 400;

/// The deepest syntax tree with its chains: 3,750 arms of UNION, 7,500 terms of a sum.
pub(super) const CHAIN_MAX: u16 = 7_500;

/// Up to here the caller's stack is used: TPC-H's queries are at most 18 deep.
const SHALLOW_DEPTH: usize = 24;

const DEEP_STACK_BYTES: usize = 128 << 20;

/// What the parser is told.
pub(super) const OPTIONS: Options = Options {
    placeholders: Placeholders { question_marks: true, names: false },
    depth_max: CHAIN_MAX,
    nesting_max: MAX_DEPTH,
    text_bytes_max: MAX_TEXT_BYTES,
};

/// How many levels a deep stack has room for: 96 MiB of it at 12 KiB each.
const DEEP_DEPTH: usize = 8000;

/// Runs `work` on a stack that suffices for a tree of this depth.
pub(crate) fn with_deep_stack<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    with_room(0, depth, |_| work())
}

/// The same, of what may fail.
pub(crate) fn try_with_deep_stack<T: Send>(depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // (No second result around one that may be large.)
    if depth <= SHALLOW_DEPTH { work() } else { with_deep_stack(depth, work)? }
}

/// Runs `work` where there is room for `depth` levels: on this stack, which has `below` levels already, or on one of its
/// own. `work` is told how many levels its stack has with these.
pub(crate) fn with_room<T: Send>(below: usize, depth: usize, work: impl FnOnce(usize) -> T + Send) -> Result<T> {
    // Only a deep stack has as many levels as that.
    let room = if below > SHALLOW_DEPTH { DEEP_DEPTH } else { SHALLOW_DEPTH };
    if below + depth <= room {
        return Ok(work(below + depth));
    }
    let levels = depth.max(SHALLOW_DEPTH + 1);
    sync::on_own_stack("cairn-sql", DEEP_STACK_BYTES, move || work(levels), || ()).map_err(|error| {
        Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("no stack for a deeply nested statement: {error}"))
    })
}

//! Bound expressions: the tree, what walks it, and what can be asked of it.

mod bounded_call;
pub(super) mod equal;
pub(super) mod expr;
pub(super) mod held;
pub(super) mod nulls;
pub(super) mod print;
pub(super) mod refs;
pub(super) mod stand_in;
pub(crate) mod walk;
pub(super) mod window;

//! Checking a database: what its trees are, and whether its rows are what their tables promise.

mod constraints;
mod references;
mod trees;

pub(crate) use constraints::verify_constraints;
pub use constraints::{Violated, Violation};
pub use references::DanglingReferences;
pub(crate) use references::dangling_references;
pub use trees::Verified;
pub(crate) use trees::{expected, verify};

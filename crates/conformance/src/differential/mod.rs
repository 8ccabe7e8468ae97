//! Random statements compared between engines.
//!
//! A case is one seed: a schema, rows, changes and queries, all generated from it. Both engines run the same texts;
//! after each statement rows, column names, types, counts and SQLSTATE must agree. Where a statement differs, the
//! statements before it are dropped one after the other while it still does, and what is left is shown.

mod case;
mod change;
mod compare;
mod compound;
mod consistency;
mod drive;
mod expression;
mod forced;
mod functions;
mod kind;
mod literal;
mod partition;
mod query;
mod random;
mod reopened;
mod routines;
mod schema;
mod shrink;
mod topics;
mod window;

pub use case::{Case, Step, Via};
pub use compare::{CaseReport, Difference, Rules, run_case};
pub use consistency::{Consistency, check_consistency};
pub use drive::{Totals, compare_seeds};
pub use forced::check_forced;
pub use kind::Kind;
pub use random::Random;
pub use reopened::check_reopened;
pub use schema::Dialect;
pub use shrink::{Fresh, shrink};

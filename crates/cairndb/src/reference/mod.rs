//! What SQL there is, as data: the shell's help and `docs/sql.md` are made of it.

mod differences;
mod routines;
mod statements;
mod without_effect;

pub use differences::{Answer, DIFFERENCES, Difference, UNSUPPORTED, Unsupported};
pub use routines::{Routine, RoutineKind, catalog_routines, routines};
pub use statements::{STATEMENTS, Statement};
pub use without_effect::{WITHOUT_EFFECT, WithoutEffect};

use crate::types::{DataType, TYPES};

/// A type's name, as errors and `pg_typeof` give it, and its other names.
///
/// ```
/// assert!(cairndb::reference::types().any(|(name, others)| name == "integer" && others.contains(&"int4")));
/// ```
pub fn types() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let vectors = [DataType::INT2VECTOR, DataType::OIDVECTOR].map(|of| (of.type_name(), [].as_slice()));
    TYPES.iter().map(|info| (info.name, info.other_names)).chain(vectors)
}

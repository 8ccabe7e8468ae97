//! What SQL there is, as data: the shell's help and `docs/sql.md` are made of it.

mod differences;
mod routines;
mod statements;
mod without_effect;

pub use differences::{Answer, DIFFERENCES, Difference, UNSUPPORTED, Unsupported};
pub use routines::{Routine, RoutineKind, catalog_routines, routines};
pub use statements::{STATEMENTS, Statement};
pub use without_effect::{WITHOUT_EFFECT, WithoutEffect};

use crate::functions::extensions::EXTENSIONS;
use crate::settings::{Kind, listed};
use crate::types::{DataType, ExtensionTypeKind, TYPES};

/// An extension that CREATE EXTENSION knows.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionReference {
    /// Its name.
    pub name: &'static str,
    /// PostgreSQL 15's version of it.
    pub version: &'static str,
    /// What it is, as PostgreSQL says.
    pub comment: &'static str,
    /// Its functions that are here.
    pub functions: &'static [&'static str],
    /// Those of names that PostgreSQL has itself, for other types.
    pub added_to: &'static [&'static str],
    /// The type that it brings.
    pub type_name: Option<&'static str>,
}

/// The extensions, by name.
///
/// ```
/// assert!(cairndb::reference::extensions().any(|of| of.name == "citext" && of.type_name == Some("citext")));
/// ```
pub fn extensions() -> impl Iterator<Item = ExtensionReference> {
    EXTENSIONS.iter().map(|of| ExtensionReference {
        name: of.name,
        version: of.version,
        comment: of.comment,
        functions: of.functions,
        added_to: of.added_to,
        type_name: of.of_type.map(ExtensionTypeKind::name),
    })
}

/// A type's name, as errors and `pg_typeof` give it, and its other names.
///
/// ```
/// assert!(cairndb::reference::types().any(|(name, others)| name == "integer" && others.contains(&"int4")));
/// ```
pub fn types() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let vectors = [DataType::INT2VECTOR, DataType::OIDVECTOR].map(|of| (of.type_name(), [].as_slice()));
    TYPES.iter().map(|info| (info.name, info.other_names)).chain(vectors)
}

/// A setting of a session.
#[derive(Clone, Copy, Debug)]
pub struct SettingReference {
    /// Its name, as SHOW ALL has it.
    pub name: &'static str,
    /// The words that it takes; none where it takes a number or any text.
    pub values: &'static [&'static str],
    /// Whether SET changes it.
    pub is_changeable: bool,
}

/// The settings, by name.
///
/// ```
/// let found = cairndb::reference::settings().find(|of| of.name == "synchronous_commit").ok_or("there is one")?;
/// assert!(found.is_changeable && found.values.contains(&"off"));
/// # Ok::<(), &str>(())
/// ```
pub fn settings() -> impl Iterator<Item = SettingReference> {
    listed().iter().map(|of| SettingReference {
        name: of.name,
        values: if of.kind == Kind::Boolean { &["on", "off"] } else { &of.words },
        is_changeable: of.is_changeable(),
    })
}

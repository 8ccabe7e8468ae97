//! Messages beside results: warnings and notices, as PostgreSQL sends them.

use crate::SqlState;

/// A message of a statement that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `WARNING`, `NOTICE` or `INFO`.
    pub severity: &'static str,
    /// The condition's code.
    pub code: SqlState,
    /// The text, as PostgreSQL words it.
    pub message: String,
    /// More of it, where there is more.
    pub detail: Option<String>,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:  {}", self.severity, self.message)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, "\nDETAIL:  {detail}"))
    }
}

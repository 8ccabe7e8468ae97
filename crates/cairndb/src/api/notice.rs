//! Messages beside results: warnings and notices, as PostgreSQL sends them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::SqlState;

/// Notices that nobody takes are dropped beyond this many.
const KEPT_MAX: usize = 1000;

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

/// Those of a connection that nobody has taken yet. Functions that it runs add theirs.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<VecDeque<Notice>>);

impl Notices {
    pub(crate) fn add(&self, notice: Notice) {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() == KEPT_MAX {
            notices.pop_front();
        }
        notices.push_back(notice);
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:  {}", self.severity, self.message)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, "\nDETAIL:  {detail}"))
    }
}

//! Messages beside results: warnings and notices, as PostgreSQL sends them.

use std::collections::VecDeque;

use crate::SqlState;
use crate::sync::Mutex;

/// Notices that nobody takes are dropped beyond this many.
const KEPT_MAX: usize = 1000;

/// A message of a statement that succeeded.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("DROP TABLE IF EXISTS nothing", ())?;
/// let notice = conn.take_notices().remove(0);
/// assert_eq!((notice.severity, notice.code.as_str()), ("NOTICE", "00000"));
/// assert_eq!(notice.message, "table \"nothing\" does not exist, skipping");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `WARNING`, `NOTICE`, `INFO`, `LOG` or `DEBUG`.
    pub severity: &'static str,
    /// The condition's code.
    pub code: SqlState,
    /// The text, as PostgreSQL words it.
    pub message: String,
    /// More of it, where there is more.
    pub detail: Option<String>,
}

/// The values of `client_min_messages`.
pub(crate) const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];
/// What it is by default.
pub(crate) const DEFAULT_LEVEL: &str = "notice";

impl Notice {
    /// Whether a client that set this level hears of it. What is for the client's information it always hears.
    pub(crate) fn is_heard(&self, level: &str) -> bool {
        let place = |level: &str| LEVELS.iter().position(|known| *known == level);
        let own = match self.severity {
            "INFO" => return true,
            "DEBUG" => "debug1",
            severity => &severity.to_ascii_lowercase(),
        };
        place(own) >= place(level)
    }
}

/// Those of a connection that nobody has taken yet. Functions that it runs add theirs.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<VecDeque<Notice>>);

impl Notices {
    pub(crate) fn add(&self, notice: Notice) {
        let mut notices = self.0.lock();
        if notices.len() == KEPT_MAX {
            notices.pop_front();
        }
        notices.push_back(notice);
    }

    /// Adds what a statement has to tell.
    pub(crate) fn add_all(&self, notices: Vec<Notice>) {
        notices.into_iter().for_each(|notice| self.add(notice));
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock()).into()
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:  {}", self.severity, self.message)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, "\nDETAIL:  {detail}"))
    }
}

//! What a session does, as others are told of it: noted by the session at the beginning and the end of each statement, so cheaply that it
//! is not felt; put into words when somebody asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// As much of a text is kept as may be shown.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Seconds from 1970 to 2000.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// Where a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// A statement runs.
    Active,
    #[default]
    Idle,
    InTransaction,
    Failed,
}

/// What a session does now. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    pub(crate) state: State,
    pub(crate) since: i64,
    pub(crate) transaction_begun: Option<i64>,
    pub(crate) statement_begun: Option<i64>,
    pub(crate) application_name: String,
    /// The statement's text, or the beginning of a long one; of one that was prepared it is there already.
    text: String,
    prepared: Option<Arc<str>>,
}

/// The same, for others to look at.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Doing>);

impl State {
    /// PostgreSQL's words for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::InTransaction => "idle in transaction",
            State::Failed => "idle in transaction (aborted)",
        }
    }
}

impl Doing {
    pub(crate) fn text(&self) -> &str {
        self.prepared.as_deref().unwrap_or(&self.text)
    }
}

impl Activity {
    fn lock(&self) -> MutexGuard<'_, Doing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it is at this moment.
    pub(crate) fn now(&self) -> Doing {
        self.lock().clone()
    }

    pub(crate) fn state(&self) -> State {
        self.lock().state
    }

    /// A statement begins.
    pub(crate) fn begin(&self, text: &str, at: i64) {
        let mut doing = self.lock();
        doing.text.clear();
        doing.text.push_str(beginning(text));
        doing.prepared = None;
        doing.run(at);
    }

    /// One begins that was prepared.
    pub(crate) fn begin_prepared(&self, text: &Arc<str>, at: i64) {
        let mut doing = self.lock();
        doing.prepared = Some(text.clone());
        doing.run(at);
    }

    /// What ran is over.
    pub(crate) fn end(&self, state: State, at: i64) {
        let mut doing = self.lock();
        (doing.state, doing.since) = (state, at);
        if state == State::Idle {
            doing.transaction_begun = None;
        }
    }

    pub(crate) fn call(&self, application_name: &str) {
        let mut doing = self.lock();
        doing.application_name.clear();
        doing.application_name.push_str(application_name);
    }
}

impl Doing {
    fn run(&mut self, at: i64) {
        (self.state, self.since, self.statement_begun) = (State::Active, at, Some(at));
        self.transaction_begun = self.transaction_begun.or(Some(at));
    }
}

fn beginning(text: &str) -> &str {
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let end = (0..=TEXT_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Microseconds since 2000-01-01 UTC.
pub(crate) fn clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_lasts_from_its_first_statement_to_its_end() {
        let activity = Activity::default();
        activity.begin("BEGIN", 10);
        activity.end(State::InTransaction, 11);
        activity.begin_prepared(&"SELECT 1".into(), 20);
        let doing = activity.now();
        assert_eq!((doing.text(), doing.state.name()), ("SELECT 1", "active"));
        assert_eq!((doing.transaction_begun, doing.statement_begun), (Some(10), Some(20)));
        activity.begin("COMMIT", 30);
        activity.end(State::Idle, 31);
        let doing = activity.now();
        assert_eq!((doing.text(), doing.transaction_begun, doing.since), ("COMMIT", None, 31));
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept() {
        let activity = Activity::default();
        activity.begin(&"ü".repeat(TEXT_BYTES_MAX), 1);
        assert!(activity.now().text().len() <= TEXT_BYTES_MAX);
    }
}

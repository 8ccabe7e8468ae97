//! What was run, how often, and how long it took: statements that differ in constants only are one.
//!
//! - As many are known as was said; when there are more, those go that were run least.
//! - Texts are as the log has them: without constants.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::log::Log;

/// Of so many known statements one goes at a time.
const GOING: usize = 20;

/// Which statement, whose, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) user: Arc<str>,
    pub(crate) database: Arc<str>,
    pub(crate) text: String,
}

/// What is counted of one.
#[derive(Debug)]
pub(crate) struct Counts {
    calls: AtomicU64,
    rows: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// The same at a moment.
pub(crate) struct Counted {
    pub(crate) calls: u64,
    pub(crate) rows: u64,
    pub(crate) total_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

/// Those that are known.
pub(crate) struct Statements {
    most: usize,
    known: RwLock<HashMap<Key, Arc<Counts>>>,
}

impl Key {
    pub(crate) fn new(user: &Arc<str>, database: &Arc<str>, text: &str) -> Key {
        Key { user: user.clone(), database: database.clone(), text: Log::statement(text) }
    }

    /// Tells the text from others; the same in each run, of each version of the server: FNV-1a, of 64 bits.
    pub(crate) fn id(&self) -> i64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.text.bytes().fold(0xcbf2_9ce4_8422_2325, step).cast_signed()
    }
}

impl Default for Counts {
    fn default() -> Counts {
        let zero = AtomicU64::default;
        Counts { calls: zero(), rows: zero(), total_ns: zero(), min_ns: AtomicU64::new(u64::MAX), max_ns: zero() }
    }
}

impl Counts {
    /// It was run once more.
    pub(crate) fn add(&self, time: Duration, rows: u64) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
        self.min_ns.fetch_min(ns, Ordering::Relaxed);
        self.max_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// What it did tells of more rows.
    pub(crate) fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    fn now(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [calls, rows, total_ns, min_ns, max_ns] =
            [&self.calls, &self.rows, &self.total_ns, &self.min_ns, &self.max_ns].map(of);
        Counted { calls, rows, total_ns, min_ns, max_ns }
    }
}

impl Statements {
    /// At most so many; 0: none is counted.
    pub(crate) fn new(most: usize) -> Statements {
        Statements { most, known: RwLock::default() }
    }

    /// Whether any is counted.
    pub(crate) fn counts(&self) -> bool {
        self.most > 0
    }

    /// Where the statement is counted.
    pub(crate) fn of(&self, key: Key) -> Arc<Counts> {
        if let Some(counts) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return counts.clone();
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most && !known.contains_key(&key) {
            let_go(&mut known);
        }
        known.entry(key).or_default().clone()
    }

    pub(crate) fn all(&self) -> Vec<(Key, Counted)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let all = known.iter().map(|(key, counts)| (key.clone(), counts.now()));
        all.filter(|(_, counted)| counted.calls > 0).collect()
    }

    pub(crate) fn forget(&self) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Room for more: those go that were run least.
fn let_go(known: &mut HashMap<Key, Arc<Counts>>) {
    let mut calls: Vec<u64> = known.values().map(|counts| counts.calls.load(Ordering::Relaxed)).collect();
    let count = (calls.len() / GOING).clamp(1, calls.len().max(1));
    let (_, least, _) = calls.select_nth_unstable(count - 1);
    let (least, mut left) = (*least, count);
    known.retain(|_, counts| {
        let goes = left > 0 && counts.calls.load(Ordering::Relaxed) <= least;
        left -= usize::from(goes);
        !goes
    });
}

/// The rows that a command's tag tells of.
pub(crate) fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(statements: &Statements, text: &str, times: u64) {
        let counts = statements.of(Key::new(&"me".into(), &"shop".into(), text));
        (1..=times).for_each(|ms| counts.add(Duration::from_millis(ms), 2));
    }

    #[test]
    fn what_differs_in_constants_only_is_one_statement() {
        let statements = Statements::new(10);
        run(&statements, "SELECT 1", 1);
        run(&statements, "SELECT  2 -- x", 3);
        let all = statements.all();
        let [(key, counted)] = &all[..] else { panic!("{} statements", all.len()) };
        assert_eq!((key.text.as_str(), counted.calls, counted.rows), ("SELECT ?", 4, 8));
        assert_eq!((counted.min_ns, counted.max_ns, counted.total_ns), (1_000_000, 3_000_000, 7_000_000));
        statements.forget();
        assert!(statements.all().is_empty());
    }

    #[test]
    fn when_there_are_too_many_those_go_that_were_run_least() {
        let statements = Statements::new(40);
        (0..40).for_each(|at| run(&statements, &format!("SELECT a{at}"), at + 1));
        run(&statements, "SELECT b", 1);
        let texts: Vec<String> = statements.all().into_iter().map(|(key, _)| key.text).collect();
        assert_eq!(texts.len(), 39);
        for (text, is_there) in [("a0", false), ("a1", false), ("a2", true), ("a39", true), ("b", true)] {
            assert_eq!(texts.contains(&format!("SELECT {text}")), is_there, "{text}");
        }
    }

    #[test]
    fn the_number_of_a_text_is_the_same_for_ever() {
        let id = |text: &str| Key::new(&"me".into(), &"shop".into(), text).id();
        assert_eq!(id("SELECT 1"), 1846051205481662552);
        assert_eq!(id("SELECT  2"), id("SELECT 1"));
    }

    #[test]
    fn tags_tell_of_rows() {
        assert_eq!(["SELECT 5", "INSERT 0 3", "BEGIN", "CREATE TABLE", ""].map(rows_of), [5, 3, 0, 0, 0]);
    }
}

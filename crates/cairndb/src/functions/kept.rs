//! What was compiled of texts, kept by each thread: a pattern, a template or a schema is mostly the same from row to row.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Result;

/// How many a thread keeps of a kind.
const KEPT: usize = 8;
/// Bytes of a text beyond which nothing is kept: comparing it would cost, and its memory would stay.
const TEXT_BYTES_MAX: usize = 1 << 16;

/// Those of one kind, the most recently made last. To be a `thread_local`.
pub(super) struct Kept<T>(RefCell<Vec<(Source, Rc<T>)>>);

/// What one was compiled from: a text, and how.
struct Source {
    text: String,
    flags: String,
}

impl<T> Kept<T> {
    pub(super) const fn new() -> Kept<T> {
        Kept(RefCell::new(Vec::new()))
    }

    /// The one that `make` makes of this text and these flags.
    pub(super) fn get(&self, text: &str, flags: &str, make: impl FnOnce() -> Result<T>) -> Result<Rc<T>> {
        let is_this = |source: &Source| source.text == text && source.flags == flags;
        let known = self.0.borrow().iter().rev().find(|(source, _)| is_this(source)).map(|(_, made)| made.clone());
        if let Some(made) = known {
            return Ok(made);
        }
        let made = Rc::new(make()?);
        if text.len() <= TEXT_BYTES_MAX {
            let mut kept = self.0.borrow_mut();
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push((Source { text: text.to_owned(), flags: flags.to_owned() }, made.clone()));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_long_texts_are_not() {
        let kept = Kept::<usize>::new();
        let made = |text: &str, flags: &str| {
            let mut made = false;
            let value = kept.get(text, flags, || {
                made = true;
                Ok(text.len())
            });
            assert_eq!(value.ok().as_deref(), Some(&text.len()));
            made
        };
        assert!(made("a", ""));
        assert!(!made("a", ""));
        assert!(made("a", "i"), "other flags are another one");
        for length in 1..=KEPT {
            made(&"b".repeat(length), "");
        }
        assert!(made("a", ""), "it was the oldest");
        let long = "c".repeat(TEXT_BYTES_MAX + 1);
        assert!(made(&long, "") && made(&long, ""));
        assert!(kept.get("wrong", "", || Err(crate::Error::internal("no"))).is_err());
    }
}

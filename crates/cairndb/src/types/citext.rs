//! Text that is compared without regard to case: values of the type of the extension `citext`.
//!
//! A value keeps what was written, and beside it what it is compared by: its letters made small, one by one, as `lower()` makes
//! them. Keys have that alone, and so do not give the value back; rows keep what was written.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::ExtensionType;

/// A value of `citext`.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE EXTENSION citext", ())?;
/// let (text, same): (String, bool) = conn.query_row("SELECT 'Ada'::citext, 'Ada'::citext = 'ADA'", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
/// assert_eq!((text.as_str(), same), ("Ada", true));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Citext(Arc<Parts>);

struct Parts {
    of: ExtensionType,
    /// What was written; behind it, where that is another text, what it is compared by.
    texts: Box<str>,
    written: usize,
}

/// A letter's small one, where that is one character.
#[inline]
pub(crate) fn lower(c: char) -> char {
    let mut mapped = c.to_lowercase();
    if mapped.len() == 1 { mapped.next().unwrap_or(c) } else { c }
}

impl Citext {
    pub(crate) fn new(of: ExtensionType, text: &str) -> Citext {
        let mut texts = String::with_capacity(text.len());
        texts.push_str(text);
        match text.is_ascii() {
            true if !text.bytes().any(|byte| byte.is_ascii_uppercase()) => {}
            true => texts.extend(text.chars().map(|c| c.to_ascii_lowercase())),
            false if text.chars().all(|c| lower(c) == c) => {}
            false => texts.extend(text.chars().map(lower)),
        }
        Citext(Arc::new(Parts { of, texts: texts.into(), written: text.len() }))
    }

    /// What was written.
    pub fn as_str(&self) -> &str {
        &self.0.texts[..self.0.written]
    }

    /// What it is compared by.
    pub(crate) fn folded(&self) -> &str {
        let Parts { texts, written, .. } = &*self.0;
        if texts.len() == *written { texts } else { &texts[*written..] }
    }

    pub(crate) fn of(&self) -> ExtensionType {
        self.0.of
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Parts>() + self.0.texts.len()
    }
}

impl PartialEq for Citext {
    fn eq(&self, other: &Citext) -> bool {
        self.folded() == other.folded()
    }
}

impl Eq for Citext {}

impl PartialOrd for Citext {
    fn partial_cmp(&self, other: &Citext) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Citext {
    fn cmp(&self, other: &Citext) -> Ordering {
        self.folded().as_bytes().cmp(other.folded().as_bytes())
    }
}

impl Hash for Citext {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl std::fmt::Debug for Citext {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DataType;
    use crate::types::ExtensionTypeKind;
    use crate::types::extension::sample;

    fn citext(text: &str) -> Citext {
        let Some(DataType::Citext(of)) = sample(ExtensionTypeKind::Citext) else { panic!("it is one") };
        Citext::new(of, text)
    }

    #[test]
    fn values_are_compared_by_small_letters_and_keep_what_was_written() {
        for (a, b, order) in [
            ("Ada", "aDA", Ordering::Equal),
            ("ÀÉ", "àé", Ordering::Equal),
            ("straße", "STRASSE", Ordering::Greater),
            ("İ", "i", Ordering::Greater),
            ("_", "A", Ordering::Less),
            ("", "a", Ordering::Less),
        ] {
            assert_eq!(citext(a).cmp(&citext(b)), order, "{a} {b}");
            assert_eq!((citext(a).as_str(), citext(b).as_str()), (a, b));
        }
        assert_eq!(citext("ÄäA").folded(), "ääa");
    }
}

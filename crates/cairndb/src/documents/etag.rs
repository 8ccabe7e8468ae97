//! What names one state of a document for good, wherever it is kept.
//!
//! A version comes once in a collection, in one opening of the database ([`crate::Position`]): after a crash that took commits of a weak mode, numbers may come
//! again. A collection that is dropped and made again begins anew. So a state is named by the opening, the table and the version.

use super::Collection;

impl Collection<'_> {
    /// A text that no other state of a document of this collection, or of one that had its name before, has under the same id: an ETag, without
    /// quotes.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let version = notes.put("a", "{}")?;
    /// let etag = notes.etag(version);
    /// assert_eq!(notes.version_of(&etag), Some(version));
    /// assert_eq!(notes.version_of("1-1-1"), None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn etag(&self, version: i64) -> String {
        format!("{}{version}", self.etag_begins())
    }

    /// The version that it names; `None`: it names a state of something else.
    pub fn version_of(&self, etag: &str) -> Option<i64> {
        let version: i64 = etag.strip_prefix(&self.etag_begins())?.parse().ok()?;
        (self.etag(version) == etag).then_some(version)
    }

    fn etag_begins(&self) -> String {
        format!("{}-{:x}-", self.connection().database().opening(), self.number())
    }
}

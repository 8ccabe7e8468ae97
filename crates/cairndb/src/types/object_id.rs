//! What names a schema object.

/// Names a schema object for the life of the database; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The schema `public`, for as long as it is the one that the database was made with.
    pub(crate) const PUBLIC: ObjectId = ObjectId(0);
    /// The session's schema of temporary relations. Its objects' ids, which are the session's own, follow.
    pub(crate) const TEMPORARY: ObjectId = ObjectId(1 << 31);

    /// Whether it is one of the session's own.
    #[inline]
    pub(crate) fn is_temporary(self) -> bool {
        self.0 >> 30 == ObjectId::TEMPORARY.0 >> 30
    }
}

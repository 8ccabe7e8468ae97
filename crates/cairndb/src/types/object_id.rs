//! What names a schema object, and as which number PostgreSQL's catalog has it.

use super::DataType;
use super::composite::NamedComposite;

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

/// From 16384 on, as PostgreSQL's of what users make.
pub(crate) fn oid_of(id: ObjectId) -> u32 {
    id.0.wrapping_add(16384)
}

/// Of the type of arrays of a relation's rows: that is no object, and its oid is none that an object will have.
pub(crate) fn row_array_oid(id: ObjectId) -> u32 {
    oid_of(id) ^ (1 << 31)
}

/// The id of a type that a user made, or that is an array of such; `None`: it is one of the system's.
pub(crate) fn type_id(data_type: DataType) -> Option<ObjectId> {
    match data_type.element().unwrap_or(data_type) {
        DataType::Citext(of) | DataType::Hstore(of) => Some(ObjectId(of.definition().oid.wrapping_sub(16384))),
        DataType::Enum(of) => Some(ObjectId(of.definition().oid.wrapping_sub(16384))),
        DataType::Composite(of) => match &of.definition().named {
            Some(NamedComposite { oid, table: None, .. }) => Some(ObjectId(oid.wrapping_sub(16384))),
            _ => None,
        },
        _ => None,
    }
}

//! Later versions of types: what was altered and still has all that it had.

use super::DataType;

impl DataType {
    /// Whether values of `older` are values of this type that look the same: it is the same type, of which an enum may have more
    /// labels by now.
    pub(crate) fn is_version_of(self, older: DataType) -> bool {
        match (self, older) {
            (DataType::Enum(newer), DataType::Enum(older)) => {
                let (newer, older) = (newer.definition(), older.definition());
                newer.oid == older.oid && older.labels.iter().all(|label| newer.labels.contains(label))
            }
            (DataType::Citext(newer), DataType::Citext(older)) => newer.definition().oid == older.definition().oid,
            (DataType::Hstore(newer), DataType::Hstore(older)) => newer.definition().oid == older.definition().oid,
            (DataType::Array(newer), DataType::Array(older)) => newer.data_type().is_version_of(older.data_type()),
            (DataType::Composite(newer), DataType::Composite(older)) => {
                let oid = |of: super::CompositeType| of.definition().named.as_ref().map(|named| named.oid);
                let (of_newer, of_older) = (newer.attributes(), older.attributes());
                let mut pairs = of_newer.iter().zip(of_older);
                oid(newer) == oid(older)
                    && of_newer.len() == of_older.len()
                    && pairs.all(|(newer, older)| {
                        (newer.number, &newer.name) == (older.number, &older.name)
                            && newer.data_type.is_version_of(older.data_type)
                    })
            }
            (newer, older) => newer == older,
        }
    }
}

//! Rows that are not of a type yet.

use super::CompositeType;
use crate::Result;
use crate::types::DataType;

/// The fields of a row, and the row's type if it has one with a name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<(String, DataType)>, pub(crate) Option<CompositeType>);

impl Shape {
    /// The fields of a row of this type.
    pub(crate) fn of(row: CompositeType) -> Shape {
        let fields = row.attributes().iter().map(|attribute| (attribute.name.clone(), attribute.data_type));
        Shape(fields.collect(), Some(row).filter(|row| !row.is_record()))
    }

    /// The type of a row of these fields.
    pub(crate) fn row_type(&self) -> Result<CompositeType> {
        self.1.map_or_else(|| CompositeType::record(self.0.iter().cloned()), Ok)
    }
}

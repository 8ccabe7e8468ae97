//! Of which types a result's columns are in Arrow. That is said before the first row; of `numeric` without a scale it is found out
//! from what comes first.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use cairndb::{Batch, Data, DataType, NumericRef, Result, Vector};

use crate::error::malformed;
use crate::export::array_of;
use crate::table::{arrow_field, decimal};

/// Digits of `decimal128`.
const DIGITS: i32 = 38;

/// The types of a result's columns in Arrow, and what makes its batches such.
pub struct Shape(SchemaRef);

impl Shape {
    /// The shape of a result with these columns, of which `first` are the first rows, or, where `is_all`, all. A `numeric` column
    /// without a scale is of decimals that have the digits of those; where more may come, with some more on both sides of the
    /// point. What comes later and does not fit is refused, and never rounded. It is text where the first do not fit into
    /// decimals, for there is NaN or infinity among them.
    pub fn of(columns: &[cairndb::Field], first: Option<&Batch>, is_all: bool) -> Shape {
        let field = |(at, column): (usize, &cairndb::Field)| {
            let field = arrow_field(&column.name, column.data_type);
            let vector = first.and_then(|batch| batch.columns().get(at));
            match column.data_type {
                DataType::Numeric(None) => field.with_data_type(decimals_of(vector.map(Arc::as_ref), is_all)),
                _ => field,
            }
        };
        Shape(Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<Field>>())))
    }

    /// Names and types.
    pub fn schema(&self) -> &SchemaRef {
        &self.0
    }

    /// Rows of the result. Columns that nobody else has are taken as they are.
    ///
    /// # Errors
    ///
    /// What Arrow has no value for, as the table of types says; 42804 where these are rows of another result.
    pub fn record_batch(&self, batch: Batch) -> Result<RecordBatch> {
        let rows = batch.len();
        let columns = batch.into_columns().into_iter().zip(self.0.fields());
        let arrays = columns.map(|(column, field)| {
            let column = Arc::try_unwrap(column).unwrap_or_else(|shared| Vector::clone(&shared));
            array_of(column, field)
        });
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(self.0.clone(), arrays, &options).map_err(|error| malformed(&error))
    }
}

/// The type for decimals such as these.
fn decimals_of(column: Option<&Vector>, is_all: bool) -> Arrow {
    let Some((column, Data::Decimal(decimals))) = column.map(|column| (column, column.data())) else {
        return Arrow::Decimal128(DIGITS as u8, 0);
    };
    let (mut whole_max, mut scale_max) = (0, 0);
    for value in (0..column.len()).filter(|&row| !column.is_null(row)).map(|row| decimals.get(row)) {
        let Some((digits, scale)) = extent(value) else { return Arrow::Utf8 };
        (whole_max, scale_max) = (whole_max.max(digits - scale), scale_max.max(scale));
    }
    let spare = DIGITS - whole_max - scale_max;
    match (is_all, spare) {
        // What does not fit is text, or wider.
        (_, ..0) => decimal(whole_max, scale_max),
        (true, _) => decimal(DIGITS - scale_max, scale_max),
        (false, _) => decimal(DIGITS - scale_max - spare / 2, scale_max + spare / 2),
    }
}

/// How many digits a number has, and how many of them are behind the point; `None`: it is none.
fn extent(value: NumericRef<'_>) -> Option<(i32, i32)> {
    match value.parts() {
        Some((mantissa, scale)) => {
            let digits = mantissa.unsigned_abs().checked_ilog10().map_or(0, |log| log as i32 + 1);
            Some((digits, scale.into()))
        }
        None => {
            let (mantissa, scale) = value.to_cow().to_big()?;
            // At least as many as there are.
            Some(((mantissa.bits() as f64 * std::f64::consts::LOG10_2) as i32 + 1, scale.into()))
        }
    }
}

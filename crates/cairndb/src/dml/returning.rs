//! RETURNING.

use crate::Value;

/// Rows that RETURNING made.
pub(crate) type ReturningRows = Vec<Vec<Value>>;

/// What a data-changing statement did.
#[derive(Debug, Default)]
pub(crate) struct DmlResult {
    pub(crate) affected: u64,
    /// Empty where there is no RETURNING.
    pub(crate) rows: ReturningRows,
    /// What RETURNING made of a row that has yet to be counted.
    pub(super) returned: Vec<Value>,
}

impl DmlResult {
    /// Counts affected rows where there is no RETURNING.
    pub(super) fn add_many(&mut self, rows: u64) {
        self.affected += rows;
    }

    /// Counts one affected row.
    pub(super) fn add(&mut self) {
        self.affected += 1;
        // Without RETURNING there is never anything.
        if !self.returned.is_empty() {
            self.rows.push(std::mem::take(&mut self.returned));
        }
    }
}

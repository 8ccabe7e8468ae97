//! The order, equality and hash of arrays: element by element, then by what the dimensions are.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::Array;
use crate::types::{DataType, Value};

impl Array {
    /// PostgreSQL's order: that of the first elements that differ (NULL is greater than everything); then fewer elements
    /// before more, fewer dimensions before more, shorter ones before longer, lower bounds last.
    pub(crate) fn compare(&self, other: &Array) -> Ordering {
        for (a, b) in self.values.iter().zip(&other.values) {
            let order = a.compare_as(b, self.element);
            if order.is_ne() {
                return order;
            }
        }
        let lengths = |array: &Array| array.dimensions.iter().map(|dimension| dimension.length).collect::<Vec<_>>();
        let lower = |array: &Array| array.dimensions.iter().map(|dimension| dimension.lower).collect::<Vec<_>>();
        (self.values.len().cmp(&other.values.len()))
            .then_with(|| self.dimensions.len().cmp(&other.dimensions.len()))
            .then_with(|| lengths(self).cmp(&lengths(other)))
            .then_with(|| lower(self).cmp(&lower(other)))
    }
}

impl Hash for Array {
    /// What is equal hashes alike: trailing blanks of `char(n)` do not count.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.values.len());
        for value in &self.values {
            match (self.element, value) {
                (DataType::Char(_), Value::Text(text)) => text.trim_end_matches(' ').hash(state),
                (_, value) => value.hash(state),
            }
        }
    }
}

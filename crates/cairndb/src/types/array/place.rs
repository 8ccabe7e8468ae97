//! Elements and slices of arrays by their subscripts, and arrays with an element replaced.

use super::{Array, Dimension, count_of};
use crate::types::Value;
use crate::{Error, Result, SqlState};

/// One subscript of a slice; `None`: from the first, or to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscript {
    pub(crate) lower: Option<i32>,
    pub(crate) upper: Option<i32>,
}

impl Array {
    /// The element at these subscripts; NULL where there is none, or where there are more or fewer dimensions.
    pub(crate) fn get(&self, subscripts: &[i32]) -> &Value {
        self.position(subscripts).and_then(|at| self.values.get(at)).unwrap_or(&Value::Null)
    }

    fn position(&self, subscripts: &[i32]) -> Option<usize> {
        if subscripts.len() != self.dimensions.len() || subscripts.is_empty() {
            return None;
        }
        subscripts.iter().zip(&self.dimensions).try_fold(0, |position, (&subscript, dimension)| {
            let offset = usize::try_from(i64::from(subscript) - i64::from(dimension.lower)).ok()?;
            (offset < dimension.length).then(|| position * dimension.length + offset)
        })
    }

    /// The elements between the subscripts, counted from 1; an array without elements where there are none, or where there
    /// are more subscripts than dimensions. Dimensions without a subscript are taken whole.
    pub(crate) fn slice(&self, subscripts: &[Subscript]) -> Array {
        let empty = || Array::empty(self.element);
        if subscripts.len() > self.dimensions.len() {
            return empty();
        }
        let mut ranges = Vec::with_capacity(self.dimensions.len());
        for (at, dimension) in self.dimensions.iter().enumerate() {
            let wanted = subscripts.get(at).copied().unwrap_or(Subscript { lower: None, upper: None });
            let least = i64::from(dimension.lower);
            let lower = wanted.lower.map_or(least, i64::from).max(least);
            let upper = wanted.upper.map_or(dimension.upper(), i64::from).min(dimension.upper());
            if lower > upper {
                return empty();
            }
            ranges.push((lower - least) as usize..(upper - least) as usize + 1);
        }
        let dimensions = ranges.iter().map(|range| Dimension { lower: 1, length: range.len() }).collect();
        let mut values = vec![];
        collect(&self.dimensions, &self.values, &ranges, &mut values);
        Array { element: self.element, dimensions, values: values.into() }
    }

    /// The array with one element replaced. An array of one dimension grows to where the element goes, with NULLs between.
    pub(crate) fn with_element(&self, subscripts: &[i32], value: Value) -> Result<Array> {
        if self.dimensions.is_empty() {
            let dimensions: Vec<_> = subscripts.iter().map(|&lower| Dimension { lower, length: 1 }).collect();
            return Array::with_dimensions(self.element, &dimensions, vec![value]);
        }
        if subscripts.len() != self.dimensions.len() {
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
        }
        let mut array = match (subscripts, &*self.dimensions) {
            (&[subscript], &[dimension]) => self.grown(subscript, dimension)?,
            _ => self.clone(),
        };
        let at = array.position(subscripts);
        let slot = at.and_then(|at| array.values.get_mut(at));
        *slot.ok_or_else(|| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range"))? = value;
        Ok(array)
    }

    /// The one-dimensional array reaching to a subscript.
    fn grown(&self, subscript: i32, dimension: Dimension) -> Result<Array> {
        let subscript = i64::from(subscript);
        let before = (i64::from(dimension.lower) - subscript).max(0) as usize;
        let after = (subscript - dimension.upper()).max(0) as usize;
        let lower = i64::from(dimension.lower).min(subscript) as i32;
        let dimensions = [Dimension { lower, length: before + dimension.length + after }];
        count_of(&dimensions)?;
        let nulls = |count| std::iter::repeat_n(Value::Null, count);
        let values = nulls(before).chain(self.values.iter().cloned()).chain(nulls(after)).collect();
        Array::with_dimensions(self.element, &dimensions, values)
    }
}

fn collect(dimensions: &[Dimension], values: &[Value], ranges: &[std::ops::Range<usize>], out: &mut Vec<Value>) {
    let (Some((dimension, inner)), Some((range, rest))) = (dimensions.split_first(), ranges.split_first()) else {
        return;
    };
    let each = values.len() / dimension.length.max(1);
    let Some(kept) = values.get(range.start * each..range.end * each) else { return };
    match inner.is_empty() {
        true => out.extend_from_slice(kept),
        false => kept.chunks(each.max(1)).for_each(|part| collect(inner, part, rest, out)),
    }
}

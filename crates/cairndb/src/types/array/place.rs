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
        Array { element: self.element, dimensions, values: values.into(), is_vector: false }
    }

    /// The array with one element replaced. An array of one dimension grows to where the element goes, with NULLs between.
    pub(crate) fn with_element(&self, subscripts: &[i32], value: Value) -> Result<Array> {
        if self.dimensions.is_empty() {
            let dimensions: Vec<_> = subscripts.iter().map(|&lower| Dimension { lower, length: 1 }).collect();
            return Array::with_dimensions(self.element, &dimensions, vec![value]);
        }
        if subscripts.len() != self.dimensions.len() {
            return Err(subscript_error("wrong number of array subscripts"));
        }
        let mut array = match (subscripts, &*self.dimensions) {
            (&[subscript], &[dimension]) => self.grown(subscript, dimension)?,
            _ => self.clone(),
        };
        let at = array.position(subscripts);
        let slot = at.and_then(|at| array.values.get_mut(at));
        *slot.ok_or_else(|| subscript_error("array subscript out of range"))? = value;
        Ok(array)
    }

    /// The array with a slice replaced by as many elements of `source` as it has places. An array of one dimension grows to
    /// where they go, with NULLs between.
    pub(crate) fn with_slice(&self, bounds: &[Subscript], source: &Array) -> Result<Array> {
        if self.dimensions.is_empty() {
            return self.of_slice(bounds, source);
        }
        if self.dimensions.len() < bounds.len() {
            return Err(subscript_error("wrong number of array subscripts"));
        }
        let mut ranges = Vec::with_capacity(self.dimensions.len());
        let mut count = 1;
        for (at, dimension) in self.dimensions.iter().enumerate() {
            let wanted = bounds.get(at).copied().unwrap_or(Subscript { lower: None, upper: None });
            let lower = wanted.lower.unwrap_or(dimension.lower);
            let upper = wanted.upper.map_or(dimension.upper(), i64::from);
            if i64::from(lower) > upper {
                return Err(subscript_error("upper bound cannot be less than lower bound"));
            }
            let is_within = lower >= dimension.lower && upper <= dimension.upper();
            if self.dimensions.len() > 1 && !is_within {
                return Err(subscript_error("array subscript out of range"));
            }
            count *= (upper - i64::from(lower) + 1) as usize;
            ranges.push((lower, upper as i32));
        }
        let mut array = match ranges.as_slice() {
            &[(lower, upper)] => self.grown_to(lower)?.grown_to(upper)?,
            _ => self.clone(),
        };
        if count > source.values.len() {
            return Err(subscript_error("source array too small"));
        }
        let mut subscripts: Vec<i32> = ranges.iter().map(|(lower, _)| *lower).collect();
        for value in source.values.iter().take(count) {
            let slot = array.position(&subscripts).and_then(|at| array.values.get_mut(at));
            *slot.ok_or_else(|| subscript_error("array subscript out of range"))? = value.clone();
            // The last one runs fastest.
            for (subscript, (lower, upper)) in subscripts.iter_mut().zip(&ranges).rev() {
                if *subscript < *upper {
                    *subscript += 1;
                    break;
                }
                *subscript = *lower;
            }
        }
        Ok(array)
    }

    /// What an assignment to a slice makes of an array without elements.
    fn of_slice(&self, bounds: &[Subscript], source: &Array) -> Result<Array> {
        let mut dimensions = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let (Some(lower), Some(upper)) = (bound.lower, bound.upper) else {
                let detail =
                    "When assigning to a slice of an empty array value, slice boundaries must be fully specified.";
                return Err(subscript_error("array slice subscript must provide both boundaries").with_detail(detail));
            };
            let length = usize::try_from(i64::from(upper) - i64::from(lower) + 1).unwrap_or(0);
            dimensions.push(Dimension { lower, length });
        }
        let count = count_of(&dimensions)?;
        match source.values.get(..count) {
            Some(values) => Array::with_dimensions(self.element, &dimensions, values.to_vec()),
            None => Err(subscript_error("source array too small")),
        }
    }

    fn grown_to(&self, subscript: i32) -> Result<Array> {
        match &*self.dimensions {
            &[dimension] => self.grown(subscript, dimension),
            _ => Ok(self.clone()),
        }
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

fn subscript_error(message: &'static str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
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

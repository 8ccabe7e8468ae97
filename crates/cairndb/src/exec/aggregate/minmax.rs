//! `min` and `max` over typed vectors. Of equal values the last one stays, for `char(n)` the first, as in PostgreSQL.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::state::{GroupState, Groups};
use crate::columns::{Data, Representation, Vector};
use crate::types::{DataType, Interval, NumericRef, compare_f64};
use crate::{Result, Value};

/// The kernel for an argument type, where there is one.
pub(super) fn state(arg: DataType, returns: DataType, max: bool) -> Option<Box<dyn GroupState>> {
    if arg.base() != returns.base() {
        return None;
    }
    let wanted = if max { Ordering::Greater } else { Ordering::Less };
    Some(match arg.physical() {
        Representation::I16 => plain::<i16>(arg, wanted),
        Representation::I32 => plain::<i32>(arg, wanted),
        Representation::I64 => plain::<i64>(arg, wanted),
        Representation::F32 => plain::<f32>(arg, wanted),
        Representation::F64 => plain::<f64>(arg, wanted),
        Representation::Bytes | Representation::Decimal | Representation::Values => {
            Box::new(ValueState { data_type: arg, wanted, groups: vec![] })
        }
        Representation::Interval => plain::<Interval>(arg, wanted),
        Representation::Bool | Representation::Uuid => return None,
    })
}

fn plain<T: Plain>(data_type: DataType, wanted: Ordering) -> Box<dyn GroupState> {
    Box::new(PlainState::<T> { data_type, wanted, groups: vec![] })
}

/// Types held in plain arrays.
trait Plain: Send + Copy + Default + 'static {
    /// Equal values may differ in what is shown of them.
    const EQUALS_DIFFER: bool;
    fn slice(data: &Data) -> Option<&[Self]>;
    fn order(self, other: Self) -> Ordering;
    fn wrap(values: Vec<Self>) -> Data;
}

macro_rules! plain {
    ($($type:ty: $data:ident, $equals_differ:literal, $order:expr;)*) => {$(
        impl Plain for $type {
            const EQUALS_DIFFER: bool = $equals_differ;
            fn slice(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$data(values) => Some(values),
                    _ => None,
                }
            }
            #[inline]
            fn order(self, other: Self) -> Ordering {
                $order(self, other)
            }
            fn wrap(values: Vec<Self>) -> Data {
                Data::$data(values)
            }
        }
    )*};
}
plain! {
    i16: I16, false, |a: i16, b| a.cmp(&b);
    i32: I32, false, |a: i32, b| a.cmp(&b);
    i64: I64, false, |a: i64, b| a.cmp(&b);
    f32: F32, true, |a: f32, b: f32| compare_f64(a.into(), b.into());
    f64: F64, true, compare_f64;
    Interval: Interval, true, |a: Interval, b: Interval| a.span().cmp(&b.span());
}

struct PlainState<T> {
    data_type: DataType,
    /// How a better value compares to the best so far.
    wanted: Ordering,
    groups: Vec<Option<T>>,
}

impl<T: Plain> GroupState for PlainState<T> {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let Some((arg, values)) = args.first().and_then(|arg| Some((arg, T::slice(arg.data())?))) else {
            return Err(crate::Error::internal("an aggregate's argument is not of its type"));
        };
        groups.each(|row, group| {
            let best = &mut self.groups[group];
            let better = best.is_none_or(|best| match T::EQUALS_DIFFER {
                true => best.order(values[row]) != self.wanted,
                false => values[row].order(best) == self.wanted,
            });
            if better && !arg.is_null(row) {
                *best = Some(values[row]);
            }
        });
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        let groups = &self.groups[groups];
        let values =
            Vector::from_parts(self.data_type, T::wrap(groups.iter().map(|g| g.unwrap_or_default()).collect()), None);
        Ok(groups.iter().enumerate().map(|(row, g)| g.map_or(Value::Null, |_| values.value(row))).collect())
    }

    fn group_bytes(&self) -> usize {
        size_of::<Option<T>>()
    }
}

/// Text and types held as [`Value`]s.
struct ValueState {
    data_type: DataType,
    wanted: Ordering,
    groups: Vec<Value>,
}

impl GroupState for ValueState {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, Value::Null);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let Some(arg) = args.first() else { return Ok(()) };
        groups.each(|row, group| {
            let best = &mut self.groups[group];
            if !arg.is_null(row) && (best.is_null() || is_better(arg, row, best, self.data_type, self.wanted)) {
                *best = arg.value(row);
            }
        });
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        Ok(self.groups[groups].to_vec())
    }

    fn group_bytes(&self) -> usize {
        64
    }
}

/// Whether the row's value takes the place of the best so far. Equal texts are the same: none is copied for another.
fn is_better(arg: &Vector, row: usize, best: &Value, data_type: DataType, wanted: Ordering) -> bool {
    match (arg.data(), best) {
        (Data::Bytes(strings), Value::Text(best)) if !matches!(data_type, DataType::Char(_)) => {
            strings.get(row).cmp(best.as_bytes()) == wanted
        }
        (Data::Decimal(values), Value::Numeric(best)) => NumericRef::from(best).compare(values.get(row)) != wanted,
        (Data::Values(values), best) => best.compare(&values[row]) != wanted,
        _ => arg.value(row).compare_as(best, data_type) == wanted,
    }
}

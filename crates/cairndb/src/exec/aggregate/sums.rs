//! `sum` and `avg` over typed vectors, with PostgreSQL's result types: integers add up exactly.

use std::ops::Range;
use std::sync::Arc;

use super::state::{GroupState, Groups};
use crate::columns::{Data, Decimals, Vector};
use crate::types::{DataType, Numeric, NumericRef};
use crate::{Error, Result, SqlState, Value};

/// The kernel of `sum` over an argument type, where there is one.
pub(super) fn sum(arg: DataType, returns: DataType) -> Option<Box<dyn GroupState>> {
    match (arg, returns) {
        (DataType::SmallInt | DataType::Integer | DataType::BigInt, DataType::BigInt | DataType::Numeric(_)) => {
            Some(Box::new(IntegerState { returns, average: false, groups: vec![] }))
        }
        (DataType::Double, DataType::Double) => Some(Box::new(FloatState { average: false, groups: vec![] })),
        (DataType::Numeric(_), DataType::Numeric(_)) => Some(Box::new(NumericState { average: false, groups: vec![] })),
        _ => None,
    }
}

/// The kernel of `avg` over an argument type, where there is one.
pub(super) fn average(arg: DataType, returns: DataType) -> Option<Box<dyn GroupState>> {
    match (arg, returns) {
        (DataType::SmallInt | DataType::Integer | DataType::BigInt, DataType::Numeric(_)) => {
            Some(Box::new(IntegerState { returns, average: true, groups: vec![] }))
        }
        (DataType::Real | DataType::Double, DataType::Double) => {
            Some(Box::new(FloatState { average: true, groups: vec![] }))
        }
        (DataType::Numeric(_), DataType::Numeric(_)) => Some(Box::new(NumericState { average: true, groups: vec![] })),
        _ => None,
    }
}

/// `sum / count`, as numeric division rounds it.
fn quotient(sum: &Numeric, count: i64) -> Result<Value> {
    sum.div(&Numeric::from_i128(count.into(), 0)).map(Value::Numeric)
}

/// Integers. 2^63 rows of 64 bits fit an `i128`.
struct IntegerState {
    returns: DataType,
    average: bool,
    groups: Vec<(i128, i64)>,
}

impl IntegerState {
    fn add<T: Copy + Into<i64>>(&mut self, groups: Groups<'_>, values: &[T], vector: &Vector) {
        let totals = &mut self.groups;
        match (vector.validity(), groups) {
            (None, Groups::One(len)) => {
                // In pieces whose sum of 32-bit values cannot overflow 64 bits the compiler may use vectors; 64-bit
                // values need the wide sum.
                let sum = if size_of::<T>() <= 4 {
                    values.chunks(1 << 30).map(|part| i128::from(part.iter().map(|&v| v.into()).sum::<i64>())).sum()
                } else {
                    values.iter().map(|&value| i128::from(value.into())).sum::<i128>()
                };
                totals[0].0 += sum;
                totals[0].1 += i64::try_from(len).unwrap_or(i64::MAX);
            }
            (None, groups) => groups.each(|row, group| {
                totals[group].0 += i128::from(values[row].into());
                totals[group].1 += 1;
            }),
            (Some(validity), groups) => groups.each(|row, group| {
                if validity.get(row) {
                    totals[group].0 += i128::from(values[row].into());
                    totals[group].1 += 1;
                }
            }),
        }
    }

    fn answer(&self, (sum, count): (i128, i64)) -> Result<Value> {
        match (self.average, self.returns) {
            _ if count == 0 => Ok(Value::Null),
            (true, _) => quotient(&Numeric::from_i128(sum, 0), count),
            (false, DataType::BigInt) => i64::try_from(sum)
                .map(Value::BigInt)
                .map_err(|_| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")),
            (false, _) => Ok(Value::Numeric(Numeric::from_i128(sum, 0))),
        }
    }
}

impl GroupState for IntegerState {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, (0, 0));
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let Some(arg) = args.first() else { return Ok(()) };
        match arg.data() {
            Data::I16(values) => self.add(groups, values, arg),
            Data::I32(values) => self.add(groups, values, arg),
            Data::I64(values) => self.add(groups, values, arg),
            _ => return Err(Error::internal("an aggregate's argument is not an integer")),
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        self.groups[groups].iter().map(|&total| self.answer(total)).collect()
    }

    fn group_bytes(&self) -> usize {
        32
    }
}

/// Floats, added in double precision in row order.
struct FloatState {
    average: bool,
    groups: Vec<(f64, i64)>,
}

impl FloatState {
    fn add<T: Copy + Into<f64>>(&mut self, groups: Groups<'_>, values: &[T], vector: &Vector) -> Result<()> {
        groups.try_each(|row, group| {
            if vector.is_null(row) {
                return Ok(());
            }
            let (total, count) = &mut self.groups[group];
            let value: f64 = values[row].into();
            let sum = *total + value;
            if sum.is_infinite() && total.is_finite() && value.is_finite() {
                return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
            }
            *total = sum;
            *count += 1;
            Ok(())
        })
    }
}

impl GroupState for FloatState {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, (0.0, 0));
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let Some(arg) = args.first() else { return Ok(()) };
        match arg.data() {
            Data::F32(values) => self.add(groups, values, arg),
            Data::F64(values) => self.add(groups, values, arg),
            _ => Err(Error::internal("an aggregate's argument is not a float")),
        }
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        let answer = |&(sum, count): &(f64, i64)| match (self.average, count) {
            (_, 0) => Value::Null,
            (true, count) => Value::Double(sum / count as f64),
            (false, _) => Value::Double(sum),
        };
        Ok(self.groups[groups].iter().map(answer).collect())
    }

    fn group_bytes(&self) -> usize {
        16
    }
}

/// Decimals: an `i128` at the largest scale seen, as long as that fits; the rest in arbitrary precision.
struct NumericState {
    average: bool,
    groups: Vec<NumericTotal>,
}

#[derive(Clone, Default)]
struct NumericTotal {
    mantissa: i128,
    scale: u16,
    count: i64,
    /// What did not fit the mantissa.
    rest: Option<Box<Numeric>>,
}

impl NumericTotal {
    /// Adds `mantissa / 10^scale`; false if the total would not fit.
    #[inline]
    fn add_mantissa(&mut self, mut mantissa: i128, scale: u16) -> bool {
        if scale != self.scale {
            let (larger, factor) = match scale.checked_sub(self.scale) {
                Some(more) => (&mut self.mantissa, more),
                None => (&mut mantissa, self.scale - scale),
            };
            let scaled = 10_i128.checked_pow(factor.into()).and_then(|factor| larger.checked_mul(factor));
            let Some(scaled) = scaled else { return false };
            *larger = scaled;
            self.scale = self.scale.max(scale);
        }
        match self.mantissa.checked_add(mantissa) {
            Some(sum) => {
                self.mantissa = sum;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn add(&mut self, value: NumericRef<'_>) -> Result<()> {
        self.count += 1;
        match value.parts().is_some_and(|(mantissa, scale)| self.add_mantissa(mantissa, scale)) {
            true => Ok(()),
            false => self.add_rest(&value.to_cow()),
        }
    }

    #[cold]
    fn add_rest(&mut self, value: &Numeric) -> Result<()> {
        let rest = match &self.rest {
            Some(rest) => rest.add(value)?,
            None => value.clone(),
        };
        self.rest = Some(Box::new(rest));
        Ok(())
    }

    fn total(&self) -> Result<Numeric> {
        let sum = Numeric::from_i128(self.mantissa, self.scale);
        match &self.rest {
            Some(rest) => sum.add(rest),
            None => Ok(sum),
        }
    }
}

impl NumericState {
    fn add(&mut self, groups: Groups<'_>, values: &Decimals, vector: &Vector) -> Result<()> {
        let totals = &mut self.groups;
        match (values.narrow(), vector.validity(), groups) {
            (Some((items, scale)), None, Groups::One(len)) => {
                let total = &mut totals[0];
                total.count += i64::try_from(len).unwrap_or(i64::MAX);
                // 2^63 rows of 64 bits fit.
                let sum = items.iter().map(|&item| i128::from(item)).sum();
                match total.add_mantissa(sum, scale) {
                    true => Ok(()),
                    false => total.add_rest(&Numeric::from_i128(sum, scale)),
                }
            }
            (Some((items, scale)), None, groups) => {
                groups.try_each(|row, group| totals[group].add(NumericRef::Small { mantissa: items[row], scale }))
            }
            _ => match values.narrow_mixed() {
                Some((items, scales)) => groups.try_each(|row, group| match vector.is_null(row) {
                    true => Ok(()),
                    false => totals[group].add(NumericRef::Small { mantissa: items[row], scale: scales[row] }),
                }),
                None => groups.try_each(|row, group| match vector.is_null(row) {
                    true => Ok(()),
                    false => totals[group].add(values.get(row)),
                }),
            },
        }
    }
}

impl GroupState for NumericState {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, NumericTotal::default());
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let Some(arg) = args.first() else { return Ok(()) };
        match arg.data() {
            Data::Decimal(values) => self.add(groups, values, arg),
            _ => Err(Error::internal("an aggregate's argument is not numeric")),
        }
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        let answer = |total: &NumericTotal| match self.average {
            _ if total.count == 0 => Ok(Value::Null),
            true => quotient(&total.total()?, total.count),
            false => total.total().map(Value::Numeric),
        };
        self.groups[groups].iter().map(answer).collect()
    }

    fn group_bytes(&self) -> usize {
        size_of::<NumericTotal>()
    }
}

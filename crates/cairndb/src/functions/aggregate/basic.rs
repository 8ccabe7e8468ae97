//! `count`, `sum`, `avg`, `min`, `max`, `bool_and`, `bool_or`, `bit_and`, `bit_or`, `bit_xor`, `string_agg`.

use super::NumericSum;
use super::catalogue::AggregateCatalogue;
use crate::Result;
use crate::functions::support::{check_length, float_overflow, out_of_range, wrong_arguments};
use crate::functions::temporal::{add_intervals, scale, subtract_intervals};
use crate::functions::{ANY, Accumulator, AggregateKind, Declared};
use crate::types::{DataType, ExtensionTypeKind, Interval, Numeric, Value, compare_blank_padded};

pub(super) fn register(catalogue: &mut AggregateCatalogue) {
    use AggregateKind::*;
    use DataType as T;
    catalogue.add("count", &[], T::BigInt, CountRows, || Box::new(CountOf::<false>(0)));
    catalogue.add("count", &[ANY], T::BigInt, Count, || Box::new(CountOf::<true>(0)));
    const N: DataType = DataType::Numeric(None);
    catalogue.add("sum", &[T::SmallInt], T::BigInt, Sum, || Box::new(IntegerSum::default()));
    catalogue.add("sum", &[T::Integer], T::BigInt, Sum, || Box::new(IntegerSum::default()));
    catalogue.add("sum", &[T::BigInt], N, Sum, || Box::new(DecimalMean::<false>::default()));
    catalogue.add("sum", &[N], N, Sum, || Box::new(DecimalMean::<false>::default()));
    catalogue.add("sum", &[T::Real], T::Real, Sum, || Box::new(RealSum(None)));
    catalogue.add("sum", &[T::Double], T::Double, Sum, || Box::new(DoubleMean::<false>::default()));
    catalogue.add("sum", &[DataType::INTERVAL], DataType::INTERVAL, Sum, || Box::new(IntervalMean::<false>::default()));
    for types in [&[T::SmallInt], &[T::Integer], &[T::BigInt], &[N]] {
        catalogue.add("avg", types, N, Avg, || Box::new(DecimalMean::<true>::default()));
    }
    for types in [&[T::Real], &[T::Double]] {
        catalogue.add("avg", types, T::Double, Avg, || Box::new(DoubleMean::<true>::default()));
    }
    catalogue.add("avg", &[DataType::INTERVAL], DataType::INTERVAL, Avg, || Box::new(IntervalMean::<true>::default()));
    extremes(catalogue);
    folds(catalogue);
}

static EXTREMES: [[DataType; 1]; 15] = {
    use DataType::*;
    [
        [SmallInt],
        [Integer],
        [BigInt],
        [Real],
        [Double],
        [Numeric(None)],
        [Text],
        [Date],
        [DataType::TIME],
        [DataType::TIMETZ],
        [DataType::TIMESTAMP],
        [DataType::TIMESTAMPTZ],
        [DataType::INTERVAL],
        [Oid],
        [Inet],
    ]
};

fn extremes(catalogue: &mut AggregateCatalogue) {
    for types in &EXTREMES {
        catalogue.add("min", types, types[0], AggregateKind::Min, || Box::new(Extreme::<false, false>(Value::Null)));
        catalogue.add("max", types, types[0], AggregateKind::Max, || Box::new(Extreme::<true, false>(Value::Null)));
    }
    static BLANK_PADDED: [DataType; 1] = [DataType::Char(0)];
    let char_type = BLANK_PADDED[0];
    catalogue
        .add("min", &BLANK_PADDED, char_type, AggregateKind::Min, || Box::new(Extreme::<false, true>(Value::Null)));
    catalogue.add("max", &BLANK_PADDED, char_type, AggregateKind::Max, || Box::new(Extreme::<true, true>(Value::Null)));
    for any in [Declared::Array, Declared::Enum, Declared::Extension(ExtensionTypeKind::Citext)] {
        let min = catalogue.add_polymorphic("min", &[any], any, |_| Box::new(Extreme::<false, false>(Value::Null)));
        min.kind = if any == Declared::Enum { AggregateKind::Min } else { AggregateKind::Other };
        let max = catalogue.add_polymorphic("max", &[any], any, |_| Box::new(Extreme::<true, false>(Value::Null)));
        max.kind = if any == Declared::Enum { AggregateKind::Max } else { AggregateKind::Other };
    }
}

fn folds(catalogue: &mut AggregateCatalogue) {
    use AggregateKind::{BoolAnd, BoolOr, Other};
    use DataType as T;
    for name in ["bool_and", "every"] {
        catalogue.add(name, &[T::Boolean], T::Boolean, BoolAnd, || Box::new(Fold(None, and)));
    }
    catalogue.add("bool_or", &[T::Boolean], T::Boolean, BoolOr, || Box::new(Fold(None, or)));
    for types in [&[T::SmallInt], &[T::Integer], &[T::BigInt]] {
        catalogue.add("bit_and", types, types[0], Other, || Box::new(Fold(None, and)));
        catalogue.add("bit_or", types, types[0], Other, || Box::new(Fold(None, or)));
        catalogue.add("bit_xor", types, types[0], Other, || Box::new(Fold(None, xor)));
    }
    catalogue.add("string_agg", &[T::Text, T::Text], T::Text, Other, || Box::new(Join::default()));
    catalogue.add("string_agg", &[T::Bytea, T::Bytea], T::Bytea, Other, || Box::new(Join::default()));
}

/// `count(x)` where `PRESENT`, else `count(*)`.
struct CountOf<const PRESENT: bool>(i64);

impl<const PRESENT: bool> Accumulator for CountOf<PRESENT> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let counts = !PRESENT || args.first().is_some_and(|value| !value.is_null());
        self.0 += i64::from(counts);
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(Value::BigInt(self.0))
    }
    fn can_retract(&self) -> bool {
        true
    }
    fn retract(&mut self, args: &[Value]) -> Result<bool> {
        let counts = !PRESENT || args.first().is_some_and(|value| !value.is_null());
        self.0 -= i64::from(counts);
        Ok(true)
    }
}

/// `sum` of `smallint` and `integer`.
#[derive(Default)]
struct IntegerSum {
    count: i64,
    sum: i64,
}

impl Accumulator for IntegerSum {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        if let Some(value) = args.first().and_then(Value::as_i64) {
            self.sum = self.sum.checked_add(value).ok_or_else(|| out_of_range("bigint"))?;
            self.count += 1;
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(if self.count == 0 { Value::Null } else { Value::BigInt(self.sum) })
    }
    fn can_retract(&self) -> bool {
        true
    }
    fn retract(&mut self, args: &[Value]) -> Result<bool> {
        let Some(value) = args.first().and_then(Value::as_i64) else { return Ok(true) };
        let Some(sum) = self.sum.checked_sub(value) else { return Ok(false) };
        (self.count, self.sum) = (self.count - 1, sum);
        Ok(true)
    }
}

/// `avg` where `MEAN`, else `sum`, of integers and numerics.
#[derive(Default)]
struct DecimalMean<const MEAN: bool> {
    count: i64,
    sum: NumericSum,
}

impl<const MEAN: bool> Accumulator for DecimalMean<MEAN> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        match args {
            [Value::Null] => return Ok(()),
            [Value::Numeric(value)] => self.sum.add(value)?,
            [other] => {
                let value = other.as_i64().ok_or_else(|| wrong_arguments(args))?;
                self.sum.add_small(value.into(), 0)?;
            }
            _ => return Err(wrong_arguments(args)),
        }
        self.count += 1;
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let total = self.sum.total()?;
        Ok(Value::Numeric(if MEAN { total.div(&Numeric::from(self.count))? } else { total }))
    }
    fn can_retract(&self) -> bool {
        true
    }
    fn retract(&mut self, args: &[Value]) -> Result<bool> {
        let taken = match args {
            [Value::Null] => return Ok(true),
            [Value::Numeric(value)] => self.sum.subtract(value),
            [other] => self.sum.subtract_small(other.as_i64().ok_or_else(|| wrong_arguments(args))?.into(), 0),
            _ => return Err(wrong_arguments(args)),
        };
        self.count -= i64::from(taken);
        Ok(taken)
    }
}

/// `sum(real)`, in single precision as PostgreSQL has it.
struct RealSum(Option<f32>);

impl Accumulator for RealSum {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        if let [Value::Real(value)] = args {
            let before = self.0.unwrap_or(0.0);
            let sum = before + value;
            if sum.is_infinite() && before.is_finite() && value.is_finite() {
                return Err(float_overflow());
            }
            self.0 = Some(sum);
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(self.0.map_or(Value::Null, Value::Real))
    }
}

/// `avg` where `MEAN`, else `sum`, of floats.
#[derive(Default)]
struct DoubleMean<const MEAN: bool> {
    count: u64,
    sum: f64,
}

impl<const MEAN: bool> Accumulator for DoubleMean<MEAN> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let value = match args {
            [Value::Null] => return Ok(()),
            [Value::Double(value)] => *value,
            [Value::Real(value)] => (*value).into(),
            _ => return Err(wrong_arguments(args)),
        };
        let sum = self.sum + value;
        if sum.is_infinite() && self.sum.is_finite() && value.is_finite() {
            return Err(float_overflow());
        }
        self.sum = sum;
        self.count += 1;
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        Ok(Value::Double(if MEAN { self.sum / self.count as f64 } else { self.sum }))
    }
}

/// `avg` where `MEAN`, else `sum`, of intervals.
#[derive(Default)]
struct IntervalMean<const MEAN: bool> {
    count: i64,
    sum: Interval,
}

impl<const MEAN: bool> Accumulator for IntervalMean<MEAN> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        if let [Value::Interval(value)] = args {
            self.sum = add_intervals(self.sum, *value)?;
            self.count += 1;
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        match self.count {
            0 => Ok(Value::Null),
            count if MEAN => scale(self.sum, |x| x / count as f64).map(Value::Interval),
            _ => Ok(Value::Interval(self.sum)),
        }
    }
    fn can_retract(&self) -> bool {
        true
    }
    fn retract(&mut self, args: &[Value]) -> Result<bool> {
        if let [Value::Interval(value)] = args {
            let Ok(sum) = subtract_intervals(self.sum, *value) else { return Ok(false) };
            (self.count, self.sum) = (self.count - 1, sum);
        }
        Ok(true)
    }
}

/// `max` where `GREATEST`, else `min`.
struct Extreme<const GREATEST: bool, const BLANK_PADDED: bool>(Value);

impl<const GREATEST: bool, const BLANK_PADDED: bool> Accumulator for Extreme<GREATEST, BLANK_PADDED> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let [value] = args else { return Err(wrong_arguments(args)) };
        if value.is_null() {
            return Ok(());
        }
        let order = match (value, &self.0) {
            (Value::Text(a), Value::Text(b)) if BLANK_PADDED => compare_blank_padded(a, b),
            (a, b) => a.compare(b),
        };
        // Of equal values the last one stays, for `char(n)` the first, as in PostgreSQL.
        let better = if GREATEST { order.is_gt() } else { order.is_lt() };
        if self.0.is_null() || better || order.is_eq() && !BLANK_PADDED {
            self.0 = value.clone();
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(std::mem::replace(&mut self.0, Value::Null))
    }
    fn answer(&mut self) -> Result<Value> {
        Ok(self.0.clone())
    }
}

/// Folds values that are not NULL by a function of two.
struct Fold(Option<Value>, fn(&Value, &Value) -> Option<Value>);

impl Accumulator for Fold {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let [value] = args else { return Err(wrong_arguments(args)) };
        if value.is_null() {
            return Ok(());
        }
        self.0 = Some(match &self.0 {
            None => value.clone(),
            Some(folded) => self.1(folded, value).ok_or_else(|| wrong_arguments(args))?,
        });
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(self.0.take().unwrap_or(Value::Null))
    }
    fn answer(&mut self) -> Result<Value> {
        Ok(self.0.clone().unwrap_or(Value::Null))
    }
}

macro_rules! bitwise {
    ($name:ident, $op:tt) => {
        fn $name(a: &Value, b: &Value) -> Option<Value> {
            Some(match (a, b) {
                (Value::Boolean(a), Value::Boolean(b)) => Value::Boolean(a $op b),
                (Value::SmallInt(a), Value::SmallInt(b)) => Value::SmallInt(a $op b),
                (Value::Integer(a), Value::Integer(b)) => Value::Integer(a $op b),
                (Value::BigInt(a), Value::BigInt(b)) => Value::BigInt(a $op b),
                _ => return None,
            })
        }
    };
}
bitwise!(and, &);
bitwise!(or, |);
bitwise!(xor, ^);

/// `string_agg`: the first row's delimiter is not used; a NULL delimiter is none.
#[derive(Clone, Default)]
struct Join {
    bytes: Vec<u8>,
    is_text: bool,
    any: bool,
}

impl Accumulator for Join {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let [value, delimiter] = args else { return Err(wrong_arguments(args)) };
        let Some(piece) = bytes_of(value) else { return Ok(()) };
        let delimiter = bytes_of(delimiter).filter(|_| self.any).unwrap_or(&[]);
        check_length(self.bytes.len() + delimiter.len() + piece.len())?;
        self.bytes.extend_from_slice(delimiter);
        self.bytes.extend_from_slice(piece);
        self.is_text |= matches!(value, Value::Text(_));
        self.any = true;
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        let bytes = std::mem::take(&mut self.bytes);
        if !self.any {
            return Ok(Value::Null);
        }
        if !self.is_text {
            return Ok(Value::Bytea(bytes.into()));
        }
        let text = String::from_utf8(bytes).map_err(|_| crate::Error::internal("string_agg joined broken text"))?;
        Ok(Value::from(text))
    }
    fn answer(&mut self) -> Result<Value> {
        self.clone().finish()
    }
}

fn bytes_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytea(bytes) => Some(bytes),
        _ => None,
    }
}

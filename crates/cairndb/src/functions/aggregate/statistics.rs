//! `variance`, `stddev` and their population forms; `corr`, `covar_*`, `regr_*`.

use super::NumericSum;
use super::catalogue::AggregateCatalogue;
use crate::Result;
use crate::functions::support::{float_overflow, wrong_arguments};
use crate::functions::{Accumulator, AggregateKind};
use crate::types::{DataType, Numeric, Value};

const N: DataType = DataType::Numeric(None);

/// Bit flags of a deviation aggregate.
const SAMPLE: u8 = 1;
const ROOT: u8 = 2;

pub(super) fn register(catalogue: &mut AggregateCatalogue) {
    deviation::<{ SAMPLE }>(catalogue, &["variance", "var_samp"]);
    deviation::<0>(catalogue, &["var_pop"]);
    deviation::<{ SAMPLE | ROOT }>(catalogue, &["stddev", "stddev_samp"]);
    deviation::<{ ROOT }>(catalogue, &["stddev_pop"]);
    const PAIR: &[DataType] = &[DataType::Double, DataType::Double];
    catalogue.add("regr_count", PAIR, DataType::BigInt, AggregateKind::Other, || {
        Box::new(Regression::new(|r| Some(Value::BigInt(r.count as i64))))
    });
    let mut pair = |name, start: fn() -> Box<dyn Accumulator>| {
        catalogue.add(name, PAIR, DataType::Double, AggregateKind::Other, start);
    };
    pair("corr", || Box::new(Regression::new(|r| r.correlation())));
    pair("covar_pop", || Box::new(Regression::new(|r| r.some(1.0, r.sxy / r.count))));
    pair("covar_samp", || Box::new(Regression::new(|r| r.some(2.0, r.sxy / (r.count - 1.0)))));
    pair("regr_sxx", || Box::new(Regression::new(|r| r.some(1.0, r.sxx))));
    pair("regr_syy", || Box::new(Regression::new(|r| r.some(1.0, r.syy))));
    pair("regr_sxy", || Box::new(Regression::new(|r| r.some(1.0, r.sxy))));
    pair("regr_avgx", || Box::new(Regression::new(|r| r.some(1.0, r.sum_x / r.count))));
    pair("regr_avgy", || Box::new(Regression::new(|r| r.some(1.0, r.sum_y / r.count))));
    pair("regr_slope", || Box::new(Regression::new(|r| r.sloped(r.sxy / r.sxx))));
    pair("regr_intercept", || Box::new(Regression::new(|r| r.sloped((r.sum_y - r.sum_x * r.sxy / r.sxx) / r.count))));
    pair("regr_r2", || Box::new(Regression::new(|r| r.determination())));
}

fn deviation<const KIND: u8>(catalogue: &mut AggregateCatalogue, names: &[&'static str]) {
    use DataType::*;
    for name in names {
        for types in [&[SmallInt], &[Integer], &[BigInt], &[N]] {
            catalogue.add(name, types, N, AggregateKind::Other, || Box::new(DecimalDeviation::<KIND>::default()));
        }
        for types in [&[Real], &[Double]] {
            catalogue.add(name, types, Double, AggregateKind::Other, || Box::new(FloatDeviation::<KIND>::default()));
        }
    }
}

/// Exact sums of values and squares.
#[derive(Default)]
struct DecimalDeviation<const KIND: u8> {
    count: i64,
    sum: NumericSum,
    squares: NumericSum,
}

impl<const KIND: u8> Accumulator for DecimalDeviation<KIND> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let Some(value) = decimal(args)? else { return Ok(()) };
        self.count += 1;
        self.sum.add(&value)?;
        self.squares.add(&value.mul(&value)?)
    }

    fn finish(&mut self) -> Result<Value> {
        let sample = KIND & SAMPLE != 0;
        if self.count <= i64::from(sample) {
            return Ok(Value::Null);
        }
        let (count, sum) = (Numeric::from(self.count), self.sum.total()?);
        if !sum.is_finite() {
            return Ok(Value::Numeric(Numeric::NAN));
        }
        let spread = self.squares.total()?.mul(&count)?.sub(&sum.mul(&sum)?)?;
        if spread.signum() <= 0 {
            return Ok(Value::Numeric(Numeric::ZERO));
        }
        let divisor = count.mul(&Numeric::from(self.count - i64::from(sample)))?;
        let variance = spread.div(&divisor)?;
        Ok(Value::Numeric(if KIND & ROOT != 0 { variance.sqrt_to_scale(variance.scale()) } else { variance }))
    }

    fn can_retract(&self) -> bool {
        true
    }

    fn retract(&mut self, args: &[Value]) -> Result<bool> {
        let Some(value) = decimal(args)? else { return Ok(true) };
        self.count -= 1;
        Ok(self.sum.subtract(&value) && self.squares.subtract(&value.mul(&value)?))
    }
}

/// The argument; none where it is NULL.
fn decimal(args: &[Value]) -> Result<Option<Numeric>> {
    match args {
        [Value::Null] => Ok(None),
        [Value::Numeric(value)] => Ok(Some(value.clone())),
        [other] => other.as_i64().map(|value| Some(Numeric::from(value))).ok_or_else(|| wrong_arguments(args)),
        _ => Err(wrong_arguments(args)),
    }
}

/// Youngs and Cramer's one-pass method, as PostgreSQL's.
#[derive(Default)]
struct FloatDeviation<const KIND: u8> {
    count: f64,
    sum: f64,
    squares: f64,
}

impl<const KIND: u8> Accumulator for FloatDeviation<KIND> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let value = match args {
            [Value::Null] => return Ok(()),
            [Value::Double(value)] => *value,
            [Value::Real(value)] => (*value).into(),
            _ => return Err(wrong_arguments(args)),
        };
        let before = self.sum;
        self.count += 1.0;
        self.sum += value;
        if self.count > 1.0 {
            let distance = value * self.count - self.sum;
            self.squares += distance * distance / (self.count * (self.count - 1.0));
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if before.is_finite() && value.is_finite() {
                    return Err(float_overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        let divisor = if KIND & SAMPLE != 0 { self.count - 1.0 } else { self.count };
        if divisor <= 0.0 {
            return Ok(Value::Null);
        }
        let variance = self.squares / divisor;
        Ok(Value::Double(if KIND & ROOT != 0 { variance.sqrt() } else { variance }))
    }
}

/// Running sums of a pair of variables; SQL gives `y` first.
struct Regression {
    count: f64,
    sum_x: f64,
    sum_y: f64,
    sxx: f64,
    syy: f64,
    sxy: f64,
    answer: fn(&Regression) -> Option<Value>,
}

impl Regression {
    fn new(answer: fn(&Regression) -> Option<Value>) -> Regression {
        Regression { count: 0.0, sum_x: 0.0, sum_y: 0.0, sxx: 0.0, syy: 0.0, sxy: 0.0, answer }
    }

    /// Refuses what overflowed although every number was finite; else sums of squares are NaN instead of infinite.
    fn check_overflow(&mut self, before: (f64, f64), (x, y): (f64, f64)) -> Result<()> {
        let overflown = |sum: f64, squares: f64| sum.is_infinite() || squares.is_infinite();
        let (of_x, of_y) = (overflown(self.sum_x, self.sxx), overflown(self.sum_y, self.syy));
        if !of_x && !of_y && !self.sxy.is_infinite() {
            return Ok(());
        }
        let finite = |before: f64, value: f64| before.is_finite() && value.is_finite();
        let (x_is_finite, y_is_finite) = (finite(before.0, x), finite(before.1, y));
        let both = self.sxy.is_infinite() && x_is_finite && y_is_finite;
        if (of_x && x_is_finite) || (of_y && y_is_finite) || both {
            return Err(float_overflow());
        }
        for squares in [&mut self.sxx, &mut self.syy, &mut self.sxy] {
            if squares.is_infinite() {
                *squares = f64::NAN;
            }
        }
        Ok(())
    }

    /// `value`, where there are at least `count` pairs.
    fn some(&self, count: f64, value: f64) -> Option<Value> {
        (self.count >= count).then_some(Value::Double(value))
    }

    /// `value`, where the x differ.
    fn sloped(&self, value: f64) -> Option<Value> {
        if self.sxx == 0.0 { None } else { self.some(1.0, value) }
    }

    fn correlation(&self) -> Option<Value> {
        if self.sxx == 0.0 || self.syy == 0.0 { None } else { self.some(1.0, self.sxy / (self.sxx * self.syy).sqrt()) }
    }

    fn determination(&self) -> Option<Value> {
        if self.syy == 0.0 && self.sxx != 0.0 {
            return self.some(1.0, 1.0);
        }
        self.sloped(self.sxy * self.sxy / (self.sxx * self.syy))
    }
}

impl Accumulator for Regression {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let [Value::Double(y), Value::Double(x)] = args else { return Ok(()) };
        let before = (self.sum_x, self.sum_y);
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if self.count > 1.0 {
            let dx = x * self.count - self.sum_x;
            let dy = y * self.count - self.sum_y;
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.sxx += dx * dx * scale;
            self.syy += dy * dy * scale;
            self.sxy += dx * dy * scale;
            self.check_overflow(before, (*x, *y))?;
        } else {
            // What one infinite number does to the sums of squares no later one takes back.
            let spread = |value: f64| if value.is_finite() { 0.0 } else { f64::NAN };
            (self.sxx, self.syy) = (spread(*x), spread(*y));
            self.sxy = self.sxx + self.syy;
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value> {
        Ok((self.answer)(self).unwrap_or(Value::Null))
    }
}

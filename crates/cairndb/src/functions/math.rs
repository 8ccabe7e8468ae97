//! Functions of numbers.

use super::catalogue::{Catalogue, Eval};
use super::support::{call, checked_float, division_by_zero, float_overflow, float_underflow, out_of_range};
use super::{Cost, random};
use crate::types::{DataType, Numeric, Value};
use crate::{Error, Result, SqlState};

const N: DataType = DataType::Numeric(None);
const D: DataType = DataType::Double;
const INT: DataType = DataType::Integer;
const BIG: DataType = DataType::BigInt;

pub(super) fn register(catalogue: &mut Catalogue) {
    rounding(catalogue);
    roots_and_logarithms(catalogue);
    trigonometry(catalogue);
    divisors(catalogue);
    catalogue
        .add("random", &[], D, |_, context| Ok(Value::Double(random::unit(context))))
        .bounded()
        .volatile()
        .restricted();
    catalogue.add("setseed", &[D], DataType::Void, random::set_seed).volatile().restricted();
    catalogue.add("pi", &[], D, |_, _| Ok(Value::Double(std::f64::consts::PI))).bounded();
    catalogue
        .add(
            "width_bucket",
            &[D, D, D, INT],
            INT,
            call!((Double x, Double low, Double high, Integer count) {
                bucket(*x, *low, *high, *count)
            }),
        )
        .bounded();
    catalogue
        .add(
            "width_bucket",
            &[N, N, N, INT],
            INT,
            call!((Numeric x, Numeric low, Numeric high, Integer count) {
                numeric_bucket(x, low, high, *count)
            }),
        )
        .cost(Cost::Quotient);
}

fn rounding(catalogue: &mut Catalogue) {
    let mut float = |name, eval: Eval| {
        catalogue.add(name, &[D], D, eval).bounded();
    };
    float("ceil", call!((Double a) Ok(Value::Double(a.ceil()))));
    float("ceiling", call!((Double a) Ok(Value::Double(a.ceil()))));
    float("floor", call!((Double a) Ok(Value::Double(a.floor()))));
    float("round", call!((Double a) Ok(Value::Double(a.round_ties_even()))));
    float("trunc", call!((Double a) Ok(Value::Double(a.trunc()))));
    float("sign", call!((Double a) Ok(Value::Double(if *a == 0.0 || a.is_nan() { 0.0 } else { a.signum() }))));
    let mut numeric = |name, eval: Eval| {
        catalogue.add(name, &[N], N, eval).bounded();
    };
    numeric("ceil", call!((Numeric a) Ok(Value::Numeric(a.ceil()))));
    numeric("ceiling", call!((Numeric a) Ok(Value::Numeric(a.ceil()))));
    numeric("floor", call!((Numeric a) Ok(Value::Numeric(a.floor()))));
    numeric("round", call!((Numeric a) Ok(Value::Numeric(a.round(0)))));
    numeric("trunc", call!((Numeric a) Ok(Value::Numeric(a.trunc(0)))));
    numeric(
        "sign",
        call!((Numeric a) {
            Ok(Value::Numeric(if a.is_nan() { Numeric::NAN } else { a.signum().into() }))
        }),
    );
    numeric("trim_scale", call!((Numeric a) Ok(Value::Numeric(trim_scale(a)))));
    catalogue
        .add("round", &[N, INT], N, call!((Numeric a, Integer n) a.round(*n).checked().map(Value::Numeric)))
        .bounded();
    catalogue.add("trunc", &[N, INT], N, call!((Numeric a, Integer n) Ok(Value::Numeric(a.trunc(*n))))).bounded();
    catalogue.add("scale", &[N], INT, call!((Numeric a) Ok(digits(a, a.scale())))).bounded();
    catalogue.add("min_scale", &[N], INT, call!((Numeric a) Ok(digits(a, trim_scale(a).scale())))).bounded();
}

fn digits(of: &Numeric, scale: u16) -> Value {
    if of.is_finite() { Value::Integer(scale.into()) } else { Value::Null }
}

fn trim_scale(a: &Numeric) -> Numeric {
    let fits = |scale: &u16| a.trunc((*scale).into()) == *a;
    // The least scale that keeps the value: monotone, so the search can halve.
    let (mut low, mut high) = (0, a.scale());
    while low < high {
        let middle = (low + high) / 2;
        if fits(&middle) { high = middle } else { low = middle + 1 }
    }
    a.trunc(low.into())
}

fn roots_and_logarithms(catalogue: &mut Catalogue) {
    catalogue.add(
        "sqrt",
        &[D],
        D,
        call!((Double a) match *a < 0.0 {
            true => Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "cannot take square root of a negative number")),
            false => Ok(Value::Double(a.sqrt())),
        }),
    ).bounded();
    for name in ["cbrt", "||/"] {
        catalogue.add(name, &[D], D, call!((Double a) Ok(Value::Double(a.cbrt())))).bounded();
    }
    catalogue.add(
        "|/",
        &[D],
        D,
        call!((Double a) match *a < 0.0 {
            true => Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "cannot take square root of a negative number")),
            false => Ok(Value::Double(a.sqrt())),
        }),
    );
    catalogue
        .add(
            "exp",
            &[D],
            D,
            call!((Double a) {
                checked_float(a.exp(), a.is_infinite(), a.is_infinite()).map(Value::Double)
            }),
        )
        .bounded();
    catalogue.add("ln", &[D], D, call!((Double a) logarithm(*a, f64::ln))).bounded();
    catalogue.add("log", &[D], D, call!((Double a) logarithm(*a, f64::log10))).bounded();
    catalogue.add("log10", &[D], D, call!((Double a) logarithm(*a, f64::log10))).bounded();
    catalogue.add("sqrt", &[N], N, call!((Numeric a) a.sqrt().map(Value::Numeric)));
    catalogue.add("exp", &[N], N, call!((Numeric a) a.exp().map(Value::Numeric)));
    catalogue.add("ln", &[N], N, call!((Numeric a) a.ln().map(Value::Numeric)));
    for name in ["log", "log10"] {
        catalogue.add(name, &[N], N, call!((Numeric a) a.log(&Numeric::small(10, 0)).map(Value::Numeric)));
    }
    catalogue.add("log", &[N, N], N, call!((Numeric base, Numeric a) a.log(base).map(Value::Numeric)));
}

fn logarithm(a: f64, of: fn(f64) -> f64) -> Result<Value> {
    if a == 0.0 {
        return Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of zero"));
    }
    if a < 0.0 {
        return Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of a negative number"));
    }
    Ok(Value::Double(of(a)))
}

fn trigonometry(catalogue: &mut Catalogue) {
    let mut add = |name, eval: Eval| {
        catalogue.add(name, &[D], D, eval).bounded();
    };
    add("degrees", call!((Double a) finite(*a, a.to_degrees())));
    add("radians", call!((Double a) Ok(Value::Double(a.to_radians()))));
    add("sin", call!((Double a) bounded(*a, f64::sin)));
    add("cos", call!((Double a) bounded(*a, f64::cos)));
    add("tan", call!((Double a) bounded(*a, f64::tan)));
    add("cot", call!((Double a) bounded(*a, |a| 1.0 / a.tan())));
    add("asin", call!((Double a) unit_range(*a, f64::asin)));
    add("acos", call!((Double a) unit_range(*a, f64::acos)));
    add("atan", call!((Double a) Ok(Value::Double(a.atan()))));
    add("sinh", call!((Double a) Ok(Value::Double(a.sinh()))));
    add("cosh", call!((Double a) Ok(Value::Double(a.cosh()))));
    add("tanh", call!((Double a) Ok(Value::Double(a.tanh()))));
    add("asinh", call!((Double a) Ok(Value::Double(a.asinh()))));
    add(
        "acosh",
        call!((Double a) match *a < 1.0 {
            true => Err(input_out_of_range()),
            false => Ok(Value::Double(a.acosh())),
        }),
    );
    add(
        "atanh",
        call!((Double a) match a.abs() > 1.0 {
            true => Err(input_out_of_range()),
            false => Ok(Value::Double(a.atanh())),
        }),
    );
    catalogue.add("atan2", &[D, D], D, call!((Double y, Double x) Ok(Value::Double(y.atan2(*x))))).bounded();
}

fn finite(input: f64, result: f64) -> Result<Value> {
    match (result.is_infinite() && input.is_finite(), result == 0.0 && input != 0.0) {
        (true, _) => Err(float_overflow()),
        (_, true) => Err(float_underflow()),
        _ => Ok(Value::Double(result)),
    }
}

fn input_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn bounded(a: f64, of: fn(f64) -> f64) -> Result<Value> {
    if a.is_infinite() { Err(input_out_of_range()) } else { Ok(Value::Double(of(a))) }
}

fn unit_range(a: f64, of: fn(f64) -> f64) -> Result<Value> {
    if a.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(Value::Double(of(a))) }
}

fn divisors(catalogue: &mut Catalogue) {
    catalogue
        .add("gcd", &[INT, INT], INT, call!((Integer a, Integer b) narrow(gcd((*a).into(), (*b).into()))))
        .bounded();
    catalogue.add("gcd", &[BIG, BIG], BIG, call!((BigInt a, BigInt b) wide(gcd((*a).into(), (*b).into())))).bounded();
    catalogue
        .add("lcm", &[INT, INT], INT, call!((Integer a, Integer b) narrow(lcm((*a).into(), (*b).into()))))
        .bounded();
    catalogue.add("lcm", &[BIG, BIG], BIG, call!((BigInt a, BigInt b) wide(lcm((*a).into(), (*b).into())))).bounded();
    catalogue
        .add("gcd", &[N, N], N, call!((Numeric a, Numeric b) numeric_gcd(a, b).map(Value::Numeric)))
        .cost(Cost::Quotient);
    catalogue
        .add("lcm", &[N, N], N, call!((Numeric a, Numeric b) numeric_lcm(a, b).map(Value::Numeric)))
        .cost(Cost::Quotient);
    catalogue.add("factorial", &[BIG], N, call!((BigInt n) factorial(*n)));
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 { 0 } else { (a / gcd(a, b) * b).abs() }
}

fn narrow(value: i128) -> Result<Value> {
    i32::try_from(value).map(Value::Integer).map_err(|_| out_of_range("integer"))
}

fn wide(value: i128) -> Result<Value> {
    i64::try_from(value).map(Value::BigInt).map_err(|_| out_of_range("bigint"))
}

fn numeric_gcd(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::NAN);
    }
    let scale = a.scale().max(b.scale());
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        (a, b) = (b.clone(), a.rem(&b)?);
    }
    Ok(a.with_scale(scale))
}

fn numeric_lcm(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    let scale = a.scale().max(b.scale());
    if (a.is_zero() || b.is_zero()) && a.is_finite() && b.is_finite() {
        return Ok(Numeric::ZERO.with_scale(scale));
    }
    Ok(a.div_trunc(&numeric_gcd(a, b)?)?.mul(b)?.abs().with_scale(scale))
}

fn factorial(n: i64) -> Result<Value> {
    if n < 0 {
        let message = "factorial of a negative number is undefined";
        return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    if n > 32_177 {
        return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format"));
    }
    let product = (2..=n).try_fold(Numeric::ONE, |product, factor| product.mul(&factor.into()))?;
    Ok(Value::Numeric(product))
}

fn bucket_error(message: &str) -> Error {
    Error::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}

fn bucket(x: f64, low: f64, high: f64, count: i32) -> Result<Value> {
    check_bucket(count, low == high, x.is_nan() || low.is_nan() || high.is_nan())?;
    if low.is_infinite() || high.is_infinite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    let position = if low < high { (x, low, high) } else { (-x, -low, -high) };
    let (x, low, high) = position;
    let bucket = if x < low {
        0
    } else if x >= high {
        i64::from(count) + 1
    } else {
        (f64::from(count) * ((x - low) / (high - low))).floor().min(f64::from(count - 1)) as i64 + 1
    };
    i32::try_from(bucket).map(Value::Integer).map_err(|_| out_of_range("integer"))
}

fn check_bucket(count: i32, no_width: bool, nan: bool) -> Result<()> {
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if nan {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if no_width {
        return Err(bucket_error("lower bound cannot equal upper bound"));
    }
    Ok(())
}

fn numeric_bucket(x: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Result<Value> {
    check_bucket(count, low == high, x.is_nan() || low.is_nan() || high.is_nan())?;
    if !low.is_finite() || !high.is_finite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    let (x, low, high) =
        if low < high { (x.clone(), low.clone(), high.clone()) } else { (x.neg(), low.neg(), high.neg()) };
    let bucket = if x < low {
        0
    } else if x >= high {
        i64::from(count) + 1
    } else {
        let width = high.sub(&low)?;
        if width.is_zero() {
            return Err(division_by_zero());
        }
        x.sub(&low)?.mul(&count.into())?.div_trunc(&width)?.to_i64().unwrap_or(0) + 1
    };
    i32::try_from(bucket).map(Value::Integer).map_err(|_| out_of_range("integer"))
}

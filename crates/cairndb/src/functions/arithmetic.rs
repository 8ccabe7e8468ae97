//! `+`, `-`, `*`, `/`, `%`, `^` and signs of numbers; bit operators.

use super::catalogue::Catalogue;
use super::support::{call, checked_float, division_by_zero, float_overflow, float_underflow, out_of_range};
use super::{Cost, Operator};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    same_integers(catalogue);
    mixed_integers(catalogue);
    bits(catalogue);
    floats(catalogue);
    numeric(catalogue);
}

/// The checked operators of one result width. Operands are widened to it first.
macro_rules! integer_operators {
    ($catalogue:ident, $a:ident, $b:ident, $result:ident, $width:ty, $name:literal) => {{
        const ARGS: &[DataType] = &[DataType::$a, DataType::$b];
        let mut add = |op: Operator, eval| {
            $catalogue.add(op.symbol(), ARGS, DataType::$result, eval).bounded().op(op);
        };
        add(Operator::Add, call!(($a a, $b b) fit::<$width>(<$width>::from(*a).checked_add((*b).into()), $name)));
        add(Operator::Subtract, call!(($a a, $b b) fit::<$width>(<$width>::from(*a).checked_sub((*b).into()), $name)));
        add(Operator::Multiply, call!(($a a, $b b) fit::<$width>(<$width>::from(*a).checked_mul((*b).into()), $name)));
        add(Operator::Divide, call!(($a a, $b b) match *b {
            0 => Err(division_by_zero()),
            _ => fit::<$width>(<$width>::from(*a).checked_div((*b).into()), $name),
        }));
    }};
}

macro_rules! integer_unary {
    ($catalogue:ident, $a:ident, $width:ty, $name:literal) => {{
        const ARGS: &[DataType] = &[DataType::$a];
        const PAIR: &[DataType] = &[DataType::$a, DataType::$a];
        let negate = call!(($a a) fit::<$width>(a.checked_neg(), $name));
        $catalogue.add("-", ARGS, DataType::$a, negate).bounded().op(Operator::Negate);
        $catalogue.add("+", ARGS, DataType::$a, call!(($a a) Ok(Value::$a(*a)))).bounded();
        $catalogue.add("abs", ARGS, DataType::$a, call!(($a a) fit::<$width>(a.checked_abs(), $name))).bounded();
        $catalogue.add("@", ARGS, DataType::$a, call!(($a a) fit::<$width>(a.checked_abs(), $name))).bounded();
        for (name, op) in [("%", Some(Operator::Modulo)), ("mod", None)] {
            // MIN % -1 is 0, though the machine traps.
            $catalogue.add(name, PAIR, DataType::$a, call!(($a a, $a b) match *b {
                0 => Err(division_by_zero()),
                _ => Ok(Value::$a(a.wrapping_rem(*b))),
            })).bounded().op = op;
        }
        $catalogue.add("~", ARGS, DataType::$a, call!(($a a) Ok(Value::$a(!a)))).bounded();
        $catalogue.add("&", PAIR, DataType::$a, call!(($a a, $a b) Ok(Value::$a(a & b)))).bounded();
        $catalogue.add("|", PAIR, DataType::$a, call!(($a a, $a b) Ok(Value::$a(a | b)))).bounded();
        $catalogue.add("#", PAIR, DataType::$a, call!(($a a, $a b) Ok(Value::$a(a ^ b)))).bounded();
    }};
}

/// An integer of any width as a value of it.
trait IntoValue {
    fn into_value(self) -> Value;
}
impl IntoValue for i16 {
    fn into_value(self) -> Value {
        Value::SmallInt(self)
    }
}
impl IntoValue for i32 {
    fn into_value(self) -> Value {
        Value::Integer(self)
    }
}
impl IntoValue for i64 {
    fn into_value(self) -> Value {
        Value::BigInt(self)
    }
}

fn fit<T: IntoValue>(value: Option<T>, type_name: &str) -> Result<Value> {
    value.map(T::into_value).ok_or_else(|| out_of_range(type_name))
}

fn same_integers(catalogue: &mut Catalogue) {
    integer_operators!(catalogue, SmallInt, SmallInt, SmallInt, i16, "smallint");
    integer_operators!(catalogue, Integer, Integer, Integer, i32, "integer");
    integer_operators!(catalogue, BigInt, BigInt, BigInt, i64, "bigint");
    integer_unary!(catalogue, SmallInt, i16, "smallint");
    integer_unary!(catalogue, Integer, i32, "integer");
    integer_unary!(catalogue, BigInt, i64, "bigint");
}

fn mixed_integers(catalogue: &mut Catalogue) {
    integer_operators!(catalogue, SmallInt, Integer, Integer, i32, "integer");
    integer_operators!(catalogue, Integer, SmallInt, Integer, i32, "integer");
    integer_operators!(catalogue, SmallInt, BigInt, BigInt, i64, "bigint");
    integer_operators!(catalogue, BigInt, SmallInt, BigInt, i64, "bigint");
    integer_operators!(catalogue, Integer, BigInt, BigInt, i64, "bigint");
    integer_operators!(catalogue, BigInt, Integer, BigInt, i64, "bigint");
}

/// Shifts take the distance modulo the width, as the machine does.
fn bits(catalogue: &mut Catalogue) {
    use DataType::*;
    let small = &[SmallInt, Integer];
    catalogue
        .add(
            "<<",
            small,
            SmallInt,
            call!((SmallInt a, Integer n) {
                Ok(Value::SmallInt(i32::from(*a).wrapping_shl(*n as u32) as i16))
            }),
        )
        .bounded();
    catalogue
        .add(
            ">>",
            small,
            SmallInt,
            call!((SmallInt a, Integer n) {
                Ok(Value::SmallInt(i32::from(*a).wrapping_shr(*n as u32) as i16))
            }),
        )
        .bounded();
    let integer = &[Integer, Integer];
    catalogue
        .add("<<", integer, Integer, call!((Integer a, Integer n) Ok(Value::Integer(a.wrapping_shl(*n as u32)))))
        .bounded();
    catalogue
        .add(">>", integer, Integer, call!((Integer a, Integer n) Ok(Value::Integer(a.wrapping_shr(*n as u32)))))
        .bounded();
    let big = &[BigInt, Integer];
    catalogue
        .add("<<", big, BigInt, call!((BigInt a, Integer n) Ok(Value::BigInt(a.wrapping_shl(*n as u32)))))
        .bounded();
    catalogue
        .add(">>", big, BigInt, call!((BigInt a, Integer n) Ok(Value::BigInt(a.wrapping_shr(*n as u32)))))
        .bounded();
}

macro_rules! float_operators {
    ($catalogue:ident, $a:ident, $b:ident) => {{
        const ARGS: &[DataType] = &[DataType::$a, DataType::$b];
        let mut add = |op: Operator, eval| {
            $catalogue.add(op.symbol(), ARGS, DataType::Double, eval).bounded().op(op);
        };
        add(Operator::Add, call!(($a a, $b b) double(float_add((*a).into(), (*b).into()))));
        add(Operator::Subtract, call!(($a a, $b b) double(float_add((*a).into(), -f64::from(*b)))));
        add(Operator::Multiply, call!(($a a, $b b) double(float_multiply((*a).into(), (*b).into()))));
        add(Operator::Divide, call!(($a a, $b b) double(float_divide((*a).into(), (*b).into()))));
    }};
}

fn floats(catalogue: &mut Catalogue) {
    float_operators!(catalogue, Double, Double);
    float_operators!(catalogue, Real, Double);
    float_operators!(catalogue, Double, Real);
    reals(catalogue);
    const REAL: &[DataType] = &[DataType::Real];
    const DOUBLE: &[DataType] = &[DataType::Double];
    catalogue.add("-", REAL, DataType::Real, call!((Real a) Ok(Value::Real(-a)))).bounded().op(Operator::Negate);
    catalogue
        .add("-", DOUBLE, DataType::Double, call!((Double a) Ok(Value::Double(-a))))
        .bounded()
        .op(Operator::Negate);
    catalogue.add("+", REAL, DataType::Real, call!((Real a) Ok(Value::Real(*a)))).bounded();
    catalogue.add("+", DOUBLE, DataType::Double, call!((Double a) Ok(Value::Double(*a)))).bounded();
    for name in ["abs", "@"] {
        catalogue.add(name, REAL, DataType::Real, call!((Real a) Ok(Value::Real(a.abs())))).bounded();
        catalogue.add(name, DOUBLE, DataType::Double, call!((Double a) Ok(Value::Double(a.abs())))).bounded();
    }
    const PAIR: &[DataType] = &[DataType::Double, DataType::Double];
    for name in ["^", "power", "pow"] {
        catalogue.add(name, PAIR, DataType::Double, call!((Double a, Double b) double(float_power(*a, *b)))).bounded();
    }
}

fn reals(catalogue: &mut Catalogue) {
    const ARGS: &[DataType] = &[DataType::Real, DataType::Real];
    let mut add = |op: Operator, eval| {
        catalogue.add(op.symbol(), ARGS, DataType::Real, eval).bounded().op(op);
    };
    add(Operator::Add, call!((Real a, Real b) real(a + b, a.is_infinite() || b.is_infinite(), true)));
    add(Operator::Subtract, call!((Real a, Real b) real(a - b, a.is_infinite() || b.is_infinite(), true)));
    add(
        Operator::Multiply,
        call!((Real a, Real b) {
            real(a * b, a.is_infinite() || b.is_infinite(), *a == 0.0 || *b == 0.0)
        }),
    );
    add(
        Operator::Divide,
        call!((Real a, Real b) {
            if *b == 0.0 && !a.is_nan() { Err(division_by_zero()) }
            else { real(a / b, a.is_infinite(), *a == 0.0 || b.is_infinite()) }
        }),
    );
}

fn real(result: f32, inf_is_valid: bool, zero_is_valid: bool) -> Result<Value> {
    if result.is_infinite() && !inf_is_valid {
        Err(float_overflow())
    } else if result == 0.0 && !zero_is_valid {
        Err(float_underflow())
    } else {
        Ok(Value::Real(result))
    }
}

fn double(result: Result<f64>) -> Result<Value> {
    result.map(Value::Double)
}

fn float_add(a: f64, b: f64) -> Result<f64> {
    checked_float(a + b, a.is_infinite() || b.is_infinite(), true)
}

fn float_multiply(a: f64, b: f64) -> Result<f64> {
    checked_float(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}

fn float_divide(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    checked_float(a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}

fn float_power(a: f64, b: f64) -> Result<f64> {
    let refuse = |message: &str| Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    if a == 0.0 && b < 0.0 {
        return refuse("zero raised to a negative power is undefined");
    }
    if a < 0.0 && b.is_finite() && b.floor() != b {
        return refuse("a negative number raised to a non-integer power yields a complex result");
    }
    checked_float(a.powf(b), a.is_infinite() || b.is_infinite(), a == 0.0 || a.is_infinite() || b.is_infinite())
}

fn numeric(catalogue: &mut Catalogue) {
    const N: DataType = DataType::Numeric(None);
    const ONE: &[DataType] = &[N];
    const PAIR: &[DataType] = &[N, N];
    let mut add = |op: Operator, cost, eval| {
        catalogue.add(op.symbol(), PAIR, N, eval).op(op).cost(cost);
    };
    add(Operator::Add, Cost::Bounded, call!((Numeric a, Numeric b) a.add(b).map(Value::Numeric)));
    add(Operator::Subtract, Cost::Bounded, call!((Numeric a, Numeric b) a.sub(b).map(Value::Numeric)));
    add(Operator::Multiply, Cost::Product, call!((Numeric a, Numeric b) a.mul(b).map(Value::Numeric)));
    add(Operator::Divide, Cost::Quotient, call!((Numeric a, Numeric b) a.div(b).map(Value::Numeric)));
    add(Operator::Modulo, Cost::Quotient, call!((Numeric a, Numeric b) a.rem(b).map(Value::Numeric)));
    let (rem, div) = (
        call!((Numeric a, Numeric b) a.rem(b).map(Value::Numeric)),
        call!((Numeric a, Numeric b) a.div_trunc(b).map(Value::Numeric)),
    );
    catalogue.add("mod", PAIR, N, rem).cost(Cost::Quotient);
    catalogue.add("div", PAIR, N, div).cost(Cost::Quotient);
    for name in ["^", "power", "pow"] {
        catalogue.add(name, PAIR, N, call!((Numeric a, Numeric b) a.power(b).map(Value::Numeric)));
    }
    catalogue.add("-", ONE, N, call!((Numeric a) Ok(Value::Numeric(a.neg())))).bounded().op(Operator::Negate);
    catalogue.add("+", ONE, N, call!((Numeric a) Ok(Value::Numeric(a.clone())))).bounded();
    for name in ["abs", "@"] {
        catalogue.add(name, ONE, N, call!((Numeric a) Ok(Value::Numeric(a.abs())))).bounded();
    }
}

//! Arithmetic with PostgreSQL's result scales. Values held inline stay in machine integers where the answer fits.

use num_bigint::{BigInt, Sign};

use super::repr::{Repr, pow10};
use super::{Numeric, SCALE_MAX};
use crate::{Error, Result, SqlState};

/// Significant digits that division and transcendental functions give at least.
pub(super) const SIGNIFICANT_DIGITS_MIN: i32 = 16;
/// Digits after the point that they give at most.
pub(super) const DISPLAY_SCALE_MAX: i32 = 1000;
/// Digits before the point that a value may have.
pub(super) const INTEGER_DIGITS_MAX: i64 = 131_072;

impl Numeric {
    /// `self + other`; the scale is the larger one.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        if let (Some((a, s)), Some((b, t))) = (self.as_small(), other.as_small()) {
            if s == t {
                return Ok(Numeric::from_i128(i128::from(a) + i128::from(b), s));
            }
            if let Some(sum) = aligned_small(a, s, b, t).and_then(|(a, b)| a.checked_add(b)) {
                return Ok(Numeric::from_i128(sum, s.max(t)));
            }
        }
        match (self.to_big(), other.to_big()) {
            (Some(a), Some(b)) => {
                let (a, b, scale) = aligned_big(a, b);
                Numeric::from_big(a + b, scale).checked()
            }
            _ => Ok(self.add_special(other)),
        }
    }

    fn add_special(&self, other: &Numeric) -> Numeric {
        match (&self.0, &other.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => Numeric::NAN,
            (Repr::Infinity, Repr::NegativeInfinity) | (Repr::NegativeInfinity, Repr::Infinity) => Numeric::NAN,
            (Repr::Infinity | Repr::NegativeInfinity, _) => self.clone(),
            _ => other.clone(),
        }
    }

    /// `self - other`; the scale is the larger one.
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        if let (Some((a, s)), Some((b, t))) = (self.as_small(), other.as_small())
            && s == t
        {
            return Ok(Numeric::from_i128(i128::from(a) - i128::from(b), s));
        }
        self.add(&other.neg())
    }

    /// `self * other`; the scales add up.
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        if let (Some((a, s)), Some((b, t))) = (self.as_small(), other.as_small())
            && s + t <= SCALE_MAX
        {
            return Ok(Numeric::from_i128(i128::from(a) * i128::from(b), s + t));
        }
        match (self.to_big(), other.to_big()) {
            (Some((a, s)), Some((b, t))) => {
                let exact = Wide { mantissa: a * b, scale: i64::from(s) + i64::from(t) };
                exact.rounded(exact.scale.min(SCALE_MAX.into())).checked()
            }
            _ if self.is_nan() || other.is_nan() => Ok(Numeric::NAN),
            _ => Ok(Numeric::infinity_of(self.signum() * other.signum())),
        }
    }

    /// `self / other` to at least 16 significant digits, by PostgreSQL's rule for the scale.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NAN);
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        match (self.is_finite(), other.is_finite()) {
            (true, true) => self.div_to_scale(other, division_scale(self, other)),
            (true, false) => Ok(Numeric::ZERO),
            (false, true) => Ok(Numeric::infinity_of(self.signum() * other.signum())),
            (false, false) => Ok(Numeric::NAN),
        }
    }

    /// The finite quotient, rounded half away from zero to `scale` digits.
    pub(super) fn div_to_scale(&self, other: &Numeric, scale: u16) -> Result<Numeric> {
        if let (Some((a, s)), Some((b, t))) = (self.as_small(), other.as_small())
            && let Some(quotient) = small_quotient(a, s, b, t, scale)
        {
            return Ok(Numeric::from_i128(quotient, scale));
        }
        let (Some((mut a, s)), Some((mut b, t))) = (self.to_big(), other.to_big()) else { return Ok(Numeric::NAN) };
        let shift = i64::from(scale) + i64::from(t) - i64::from(s);
        if shift >= 0 {
            a *= pow10(shift as u32)
        } else {
            b *= pow10(shift.unsigned_abs() as u32)
        }
        Numeric::from_big(div_round_big(a, &b), scale).checked()
    }

    /// The whole part of the quotient (PostgreSQL's `div`).
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        match (self.to_big(), other.to_big()) {
            (Some(_), Some(_)) if other.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => {
                let (a, b, _) = aligned_big(a, b);
                Numeric::from_big(a / b, 0).checked()
            }
            _ => self.div(other),
        }
    }

    /// The remainder of [`div_trunc`](Numeric::div_trunc); it has the sign of `self` and the larger scale.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NAN);
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        if let (Some((a, s)), Some((b, t))) = (self.as_small(), other.as_small())
            && let Some((a, b)) = aligned_small(a, s, b, t)
        {
            return Ok(Numeric::from_i128(a % b, s.max(t)));
        }
        match (self.to_big(), other.to_big()) {
            (Some(a), Some(b)) => {
                let (a, b, scale) = aligned_big(a, b);
                Ok(Numeric::from_big(a % b, scale))
            }
            (Some(_), None) => Ok(self.clone()),
            _ => Ok(Numeric::NAN),
        }
    }

    /// `-self`
    pub fn neg(&self) -> Numeric {
        match &self.0 {
            Repr::Small { mantissa, scale } => Numeric::from_i128(-i128::from(*mantissa), *scale),
            Repr::Big(big) => Numeric::from_big(-big.mantissa.clone(), big.scale),
            Repr::NaN => Numeric::NAN,
            _ => Numeric::infinity_of(-self.signum()),
        }
    }

    /// `|self|`
    pub fn abs(&self) -> Numeric {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// Rounded half away from zero to `scale` digits after the point (before it, where negative).
    pub fn round(&self, scale: i32) -> Numeric {
        self.rescaled(scale, |wide, scale| wide.rounded(scale))
    }

    /// Cut to `scale` digits after the point (before it, where negative).
    pub fn trunc(&self, scale: i32) -> Numeric {
        self.rescaled(scale, |wide, scale| wide.truncated(scale))
    }

    fn rescaled(&self, scale: i32, to: fn(&Wide, i64) -> Numeric) -> Numeric {
        let target = i64::from(scale.clamp(-(INTEGER_DIGITS_MAX as i32) - 1, SCALE_MAX.into()));
        if i64::from(self.scale()) == target {
            return self.clone();
        }
        match self.to_big() {
            Some((mantissa, scale)) => to(&Wide { mantissa, scale: scale.into() }, target),
            None => self.clone(),
        }
    }

    /// The least whole number not below.
    pub fn ceil(&self) -> Numeric {
        self.neg().floor().neg()
    }

    /// The greatest whole number not above.
    pub fn floor(&self) -> Numeric {
        let whole = self.trunc(0);
        if self.is_finite() && self.signum() < 0 && whole != *self {
            whole.sub(&Numeric::ONE).unwrap_or(whole)
        } else {
            whole
        }
    }

    /// The same value shown with exactly `scale` digits after the point, more zeros or fewer digits.
    pub fn with_scale(&self, scale: u16) -> Numeric {
        self.round(scale.into())
    }

    pub(super) fn infinity_of(sign: i32) -> Numeric {
        match sign {
            0 => Numeric::NAN,
            1.. => Numeric::INFINITY,
            _ => Numeric::NEGATIVE_INFINITY,
        }
    }

    /// Digits before the decimal point of the absolute value (0 for zero and fractions), for finite values.
    pub(super) fn integer_digits(&self) -> i64 {
        match &self.0 {
            Repr::Small { mantissa: 0, .. } => 0,
            _ => self.leading_exponent().map_or(0, |exponent| (exponent + 1).max(0)),
        }
    }

    /// The power of ten of the first non-zero digit.
    pub(super) fn leading_exponent(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small { mantissa: 0, .. } => None,
            Repr::Small { mantissa, scale } => Some(i64::from(mantissa.unsigned_abs().ilog10()) - i64::from(*scale)),
            Repr::Big(big) => Some(decimal_digits(&big.mantissa) - 1 - i64::from(big.scale)),
            _ => None,
        }
    }

    /// Fails where the value has more digits before the point than `numeric` may have.
    pub(crate) fn checked(self) -> Result<Numeric> {
        match &self.0 {
            // A cheap bound first: 3.32 bits make a digit.
            Repr::Big(big) if big.mantissa.bits() > 400_000 && self.integer_digits() > INTEGER_DIGITS_MAX => {
                Err(overflow())
            }
            _ => Ok(self),
        }
    }

    /// Fits the value into `numeric(precision, scale)`.
    pub fn fit(&self, precision: u16, scale: i16) -> Result<Numeric> {
        if self.is_nan() {
            return Ok(Numeric::NAN);
        }
        let digits_max = i64::from(precision) - i64::from(scale);
        if !self.is_finite() {
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        }
        let rounded = self.round(scale.into());
        if rounded.leading_exponent().is_some_and(|exponent| exponent >= digits_max) {
            let limit = if digits_max == 0 { "1".to_string() } else { format!("10^{digits_max}") };
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}."
            )));
        }
        Ok(rounded)
    }
}

/// A mantissa whose scale may lie outside what a value may have.
pub(super) struct Wide {
    pub mantissa: BigInt,
    pub scale: i64,
}

impl Wide {
    pub fn rounded(&self, scale: i64) -> Numeric {
        self.reduced(scale, div_round_big)
    }

    pub fn truncated(&self, scale: i64) -> Numeric {
        self.reduced(scale, |a, b| a / b)
    }

    fn reduced(&self, scale: i64, divide: fn(BigInt, &BigInt) -> BigInt) -> Numeric {
        let mantissa = if scale >= self.scale {
            self.mantissa.clone() * pow10((scale - self.scale) as u32)
        } else if self.scale - scale > decimal_digits(&self.mantissa) {
            BigInt::ZERO
        } else {
            divide(self.mantissa.clone(), &pow10((self.scale - scale) as u32))
        };
        let shown = scale.max(0) as u16;
        let mantissa = if scale < 0 { mantissa * pow10(scale.unsigned_abs() as u32) } else { mantissa };
        Numeric::from_big(mantissa, shown)
    }
}

/// The number of decimal digits of a mantissa; 1 for zero.
pub(super) fn decimal_digits(mantissa: &BigInt) -> i64 {
    let bits = mantissa.bits();
    if bits < 64 {
        let small = u64::try_from(mantissa.magnitude()).unwrap_or(0);
        return i64::from(small.checked_ilog10().unwrap_or(0)) + 1;
    }
    // 10^(digits-1) <= m < 10^digits, and bits * log10(2) is at most one off.
    let estimate = ((bits - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    let more = *mantissa.magnitude() >= *pow10(estimate + 1).magnitude();
    i64::from(estimate) + 1 + i64::from(more)
}

/// Both mantissas at the larger scale.
fn aligned_small(a: i64, s: u16, b: i64, t: u16) -> Option<(i128, i128)> {
    let factor = 10_i128.checked_pow(s.abs_diff(t).into())?;
    let (a, b) = (i128::from(a), i128::from(b));
    Some(if s < t { (a.checked_mul(factor)?, b) } else { (a, b.checked_mul(factor)?) })
}

fn aligned_big((a, s): (BigInt, u16), (b, t): (BigInt, u16)) -> (BigInt, BigInt, u16) {
    let factor = || pow10(s.abs_diff(t).into());
    if s < t {
        (a * factor(), b, t)
    } else if t < s {
        (a, b * factor(), s)
    } else {
        (a, b, s)
    }
}

fn small_quotient(a: i64, s: u16, b: i64, t: u16, scale: u16) -> Option<i128> {
    let shift = i32::from(scale) + i32::from(t) - i32::from(s);
    let factor = 10_i128.checked_pow(shift.unsigned_abs())?;
    let (a, b) = (i128::from(a), i128::from(b));
    let (a, b) = if shift >= 0 { (a.checked_mul(factor)?, b) } else { (a, b.checked_mul(factor)?) };
    let (quotient, remainder) = (a / b, a % b);
    let up = remainder.unsigned_abs() >= b.unsigned_abs() - remainder.unsigned_abs();
    Some(if up { quotient + (a.signum() * b.signum()) } else { quotient })
}

/// `a / b`, rounded half away from zero.
pub(super) fn div_round_big(a: BigInt, b: &BigInt) -> BigInt {
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let quotient: BigInt = &a / b;
    let remainder: BigInt = a - &quotient * b;
    let doubled: BigInt = remainder * 2;
    match (doubled.magnitude() >= b.magnitude(), negative) {
        (true, true) => quotient - 1,
        (true, false) => quotient + 1,
        (false, _) => quotient,
    }
}

/// PostgreSQL's `select_div_scale`: it thinks in digits of base 10,000.
fn division_scale(a: &Numeric, b: &Numeric) -> u16 {
    let ((weight_a, first_a), (weight_b, first_b)) = (a.weight_and_first_digit(), b.weight_and_first_digit());
    let weight = weight_a - weight_b - i64::from(first_a <= first_b);
    let scale = i64::from(SIGNIFICANT_DIGITS_MIN) - weight * 4;
    let scale = scale.max(a.scale().into()).max(b.scale().into());
    scale.clamp(0, DISPLAY_SCALE_MAX.into()) as u16
}

impl Numeric {
    /// The weight and the value of the first non-zero digit in base 10,000; zeros for zero.
    pub(super) fn weight_and_first_digit(&self) -> (i64, u32) {
        let Some(exponent) = self.leading_exponent() else { return (0, 0) };
        let weight = exponent.div_euclid(4);
        // The first 1 to 4 decimal digits make the first digit in base 10,000.
        let wanted = exponent.rem_euclid(4) as u32 + 1;
        (weight, self.leading_digits(wanted) as u32)
    }

    /// The first `count` decimal digits of a finite value as a number, filled with zeros (count at most 18).
    pub(super) fn leading_digits(&self, count: u32) -> u64 {
        let Some((mantissa, _)) = self.to_big() else { return 0 };
        let digits = decimal_digits(&mantissa);
        let excess = digits - i64::from(count);
        let magnitude = mantissa.magnitude();
        if excess >= 0 {
            u64::try_from(magnitude / pow10(excess as u32).magnitude()).unwrap_or(0)
        } else {
            let short = u64::try_from(magnitude).unwrap_or(0);
            short * 10_u64.pow(excess.unsigned_abs() as u32)
        }
    }
}

/// SQLSTATE 22012.
pub(crate) fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

pub(super) fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

fn field_overflow(detail: String) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(detail)
}

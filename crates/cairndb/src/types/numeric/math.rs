//! Roots, powers, exponentials and logarithms, in fixed-point big integers with guard digits, rounded to the scales
//! that PostgreSQL gives its results.

use num_bigint::{BigInt, Sign};

use super::Numeric;
use super::arith::{DISPLAY_SCALE_MAX, INTEGER_DIGITS_MAX, SIGNIFICANT_DIGITS_MIN, Wide, div_round_big, overflow};
use super::repr::pow10;
use crate::{Error, Result, SqlState};

/// Digits kept beyond those asked for.
const GUARD_DIGITS: i32 = 12;
const LOG10_E: f64 = std::f64::consts::LOG10_E;

impl Numeric {
    /// The square root.
    ///
    /// ```
    /// use cairndb::Numeric;
    ///
    /// let two = Numeric::from(2);
    /// assert!(two.sqrt()?.to_string().starts_with("1.41421356"));
    /// assert!(two.exp()?.ln()?.sub(&two)?.abs() < Numeric::small(1, 10));
    /// assert_eq!(two.power(&Numeric::from(10))?, Numeric::from(1024));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.signum() < 0 {
            return Err(invalid_power("cannot take square root of a negative number"));
        }
        let (weight, _) = self.weight_and_first_digit();
        let digits = (weight + 1) * 2 - 1;
        Ok(self.sqrt_to_scale(result_scale(digits as i32, &[self])))
    }

    /// The square root of a value that is not negative, rounded to `result_scale` digits.
    pub(crate) fn sqrt_to_scale(&self, result_scale: u16) -> Numeric {
        let Some((mantissa, scale)) = self.to_big() else { return self.clone() };
        // Twice the digits plus one more pair, then round.
        let shift = 2 * (i64::from(result_scale) + 1) - i64::from(scale);
        let widened = if shift >= 0 { mantissa * pow10(shift as u32) } else { mantissa / pow10(-shift as u32) };
        Wide { mantissa: widened.sqrt(), scale: i64::from(result_scale) + 1 }.rounded(result_scale.into())
    }

    /// e to the power of `self`.
    pub fn exp(&self) -> Result<Numeric> {
        if !self.is_finite() {
            return Ok(if self.signum() < 0 { Numeric::ZERO } else { self.clone() });
        }
        let magnitude = (self.to_f64() * LOG10_E).clamp(-2000.0, 2000.0);
        if self.to_f64() > 6000.0 {
            return Err(overflow());
        }
        let scale = result_scale(magnitude as i32, &[self]);
        if self.to_f64() < -6000.0 {
            return Ok(Numeric::ZERO.with_scale(scale));
        }
        self.exp_to_scale(scale)
    }

    fn exp_to_scale(&self, scale: u16) -> Result<Numeric> {
        let whole_digits = (self.to_f64() * LOG10_E).max(0.0) as i32;
        let digits = i32::from(scale) + whole_digits + GUARD_DIGITS;
        let Some(fixed) = self.to_fixed(digits) else { return Ok(Numeric::NAN) };
        Wide { mantissa: exp_fixed(&fixed, digits), scale: digits.into() }.rounded(scale.into()).checked()
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Numeric> {
        self.check_logarithm()?;
        if !self.is_finite() {
            return Ok(self.clone());
        }
        self.ln_to_scale(result_scale(self.ln_weight(), &[self]).into())
    }

    fn ln_to_scale(&self, scale: i32) -> Result<Numeric> {
        let digits = scale + GUARD_DIGITS;
        Ok(Wide { mantissa: ln_fixed(self, digits), scale: digits.into() }.rounded(scale.into()))
    }

    /// The logarithm of `self` to `base`.
    ///
    /// ```
    /// use cairndb::Numeric;
    ///
    /// assert_eq!(Numeric::from(1000).log(&Numeric::from(10))?, Numeric::from(3));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if self.is_nan() || base.is_nan() {
            return Ok(Numeric::NAN);
        }
        base.check_logarithm()?;
        self.check_logarithm()?;
        if *base == Numeric::ONE {
            return Err(super::division_by_zero());
        }
        match (base.is_finite(), self.is_finite()) {
            (false, false) => return Ok(Numeric::NAN),
            (false, true) => return Ok(Numeric::ZERO),
            (true, false) => return Ok(Numeric::infinity_of(if *base > Numeric::ONE { 1 } else { -1 })),
            _ => {}
        }
        let (base_weight, self_weight) = (base.ln_weight(), self.ln_weight());
        let scale = result_scale(self_weight - base_weight, &[base, self]);
        // Both logarithms need as many significant digits as the quotient has.
        let digits = i32::from(scale) + GUARD_DIGITS + base_weight.abs() + self_weight.abs();
        let (a, b) = (ln_fixed(self, digits), ln_fixed(base, digits));
        if b == BigInt::ZERO {
            return Err(super::division_by_zero());
        }
        Ok(Numeric::from_big(div_round_big(a * pow10(scale.into()), &b), scale))
    }

    fn check_logarithm(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message));
        match self.signum() {
            _ if self.is_nan() => Ok(()),
            0 => refuse("cannot take logarithm of zero"),
            ..0 => refuse("cannot take logarithm of a negative number"),
            _ => Ok(()),
        }
    }

    /// PostgreSQL's `estimate_ln_dweight`: the power of ten of the logarithm's first digit, roughly.
    fn ln_weight(&self) -> i32 {
        let near_one = *self >= Numeric::small(9, 1) && *self <= Numeric::small(11, 1);
        if near_one {
            let distance = self.sub(&Numeric::ONE).unwrap_or(Numeric::ZERO);
            let (weight, first) = distance.weight_and_first_digit();
            return if first == 0 { 0 } else { weight as i32 * 4 + first.ilog10() as i32 };
        }
        self.ln_estimate().abs().log10() as i32
    }

    /// The natural logarithm as a float, for any size of value.
    fn ln_estimate(&self) -> f64 {
        let Some(exponent) = self.leading_exponent() else { return 0.0 };
        (self.leading_digits(17) as f64).ln() + (exponent - 16) as f64 * std::f64::consts::LN_10
    }

    /// `self` to the power of `exponent`.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if !self.is_finite() || !exponent.is_finite() {
            return self.power_special(exponent);
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(invalid_power("zero raised to a negative power is undefined"));
        }
        let whole = exponent.trunc(0) == *exponent;
        if self.signum() < 0 && !whole {
            return Err(invalid_power("a negative number raised to a non-integer power yields a complex result"));
        }
        match exponent.to_i64().and_then(|n| i32::try_from(n).ok()).filter(|_| whole) {
            Some(n) => self.power_whole(n, exponent),
            None => self.power_real(exponent),
        }
    }

    fn power_special(&self, exponent: &Numeric) -> Result<Numeric> {
        let float = self.to_f64().powf(exponent.to_f64());
        if *self == Numeric::ONE || exponent.is_zero() {
            return Ok(Numeric::ONE);
        }
        if self.is_nan() || exponent.is_nan() {
            return Ok(Numeric::NAN);
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(invalid_power("zero raised to a negative power is undefined"));
        }
        if self.signum() < 0 && exponent.is_finite() && exponent.trunc(0) != *exponent {
            return Err(invalid_power("a negative number raised to a non-integer power yields a complex result"));
        }
        Ok(Numeric::from_f64(float))
    }

    fn power_whole(&self, n: i32, exponent: &Numeric) -> Result<Numeric> {
        let magnitude = if self.is_zero() { 0.0 } else { f64::from(n) * self.abs().ln_estimate() * LOG10_E };
        if magnitude > (INTEGER_DIGITS_MAX + 4) as f64 {
            return Err(overflow());
        }
        if magnitude + 1.0 < f64::from(-DISPLAY_SCALE_MAX) {
            return Ok(Numeric::ZERO.with_scale(result_scale(0, &[self, exponent])));
        }
        let scale = result_scale(0, &[self, exponent]);
        match n {
            0 => Ok(Numeric::ONE.with_scale(scale)),
            1 => Ok(self.with_scale(scale)),
            _ => self.power_by_squaring(n, scale, magnitude as i64),
        }
    }

    /// Squares and multiplies, keeping only as many digits as the result shows, plus guard.
    fn power_by_squaring(&self, n: i32, scale: u16, magnitude: i64) -> Result<Numeric> {
        let Some((mantissa, base_scale)) = self.to_big() else { return Ok(Numeric::NAN) };
        let kept = (i64::from(scale) + magnitude.abs() + i64::from(GUARD_DIGITS) + 16) as u32;
        let mut square = Wide { mantissa, scale: base_scale.into() };
        let mut result = Wide { mantissa: BigInt::from(1), scale: 0 };
        let mut bits = n.unsigned_abs();
        while bits > 0 {
            if bits & 1 == 1 {
                result = product(&result, &square, kept);
            }
            bits >>= 1;
            if bits > 0 {
                square = product(&square, &square, kept);
            }
        }
        if n > 0 {
            return result.rounded(scale.into()).checked();
        }
        reciprocal(&result, scale)
    }

    fn power_real(&self, exponent: &Numeric) -> Result<Numeric> {
        if self.is_zero() {
            return Ok(Numeric::small(0, SIGNIFICANT_DIGITS_MIN as u16));
        }
        let negative = self.signum() < 0 && exponent.div_parity();
        let base = self.abs();
        let estimate = base.ln_estimate() * exponent.to_f64();
        if estimate.abs() > 6020.0 {
            return if estimate > 0.0 { Err(overflow()) } else { Ok(Numeric::small(0, DISPLAY_SCALE_MAX as u16)) };
        }
        let magnitude = (estimate * LOG10_E) as i32;
        let scale = result_scale(magnitude, &[self, exponent]);
        let exponent_digits = exponent.integer_digits() as i32;
        let digits = i32::from(scale) + magnitude.max(0) + exponent_digits + 2 * GUARD_DIGITS;
        let logarithm = Numeric::from_big(ln_fixed(&base, digits), digits as u16);
        let result = logarithm.mul(exponent)?.exp_to_scale(scale)?;
        Ok(if negative { result.neg() } else { result })
    }

    /// A whole number that is odd.
    fn div_parity(&self) -> bool {
        self.rem(&Numeric::small(2, 0)).is_ok_and(|remainder| !remainder.is_zero())
    }

    /// `self * 10^digits`, cut.
    fn to_fixed(&self, digits: i32) -> Option<BigInt> {
        let (mantissa, scale) = self.to_big()?;
        let shift = i64::from(digits) - i64::from(scale);
        Some(if shift >= 0 { mantissa * pow10(shift as u32) } else { mantissa / pow10(-shift as u32) })
    }
}

/// The scale that shows 16 significant digits of a result of this decimal magnitude, at least the operands' own.
fn result_scale(magnitude: i32, operands: &[&Numeric]) -> u16 {
    let operands = operands.iter().map(|operand| i32::from(operand.scale())).max().unwrap_or(0);
    (SIGNIFICANT_DIGITS_MIN - magnitude).max(operands).clamp(0, DISPLAY_SCALE_MAX) as u16
}

/// `a * b` to `kept` significant digits.
fn product(a: &Wide, b: &Wide, kept: u32) -> Wide {
    let mantissa = &a.mantissa * &b.mantissa;
    let scale = a.scale + b.scale;
    let excess = super::arith::decimal_digits(&mantissa) - i64::from(kept);
    if excess <= 64 {
        return Wide { mantissa, scale };
    }
    Wide { mantissa: div_round_big(mantissa, &pow10(excess as u32)), scale: scale - excess }
}

/// `1 / value` at `scale`.
fn reciprocal(value: &Wide, scale: u16) -> Result<Numeric> {
    let shift = value.scale + i64::from(scale);
    if value.mantissa == BigInt::ZERO || shift < 0 {
        return Ok(Numeric::ZERO.with_scale(scale));
    }
    Numeric::from_big(div_round_big(pow10(shift as u32), &value.mantissa), scale).checked()
}

/// e^(x/10^digits) * 10^digits: halve until small, sum the series, square back.
fn exp_fixed(x: &BigInt, digits: i32) -> BigInt {
    // Each squaring doubles the relative error, hence the extra digits.
    let extra = 16_i32;
    let one = pow10((digits + extra) as u32);
    let negative = x.sign() == Sign::Minus;
    let mut reduced = BigInt::from_biguint(Sign::Plus, x.magnitude().clone()) * pow10(extra as u32);
    let mut halvings = 0;
    while &reduced * 256 > one {
        reduced /= 2;
        halvings += 1;
    }
    let mut sum: BigInt = &one + &reduced;
    let mut term = reduced.clone();
    let mut n = 2;
    while term != BigInt::ZERO {
        term = &term * &reduced / &one / n;
        sum += &term;
        n += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &one;
    }
    let result = if negative { &one * &one / sum } else { sum };
    result / pow10(extra as u32)
}

/// ln(value) * 10^digits for a positive finite value: Newton steps on [`exp_fixed`] from a float's guess would need
/// exponentials; halving the logarithm by square roots and the atanh series needs none.
fn ln_fixed(value: &Numeric, digits: i32) -> BigInt {
    let Some((mantissa, scale)) = value.to_big() else { return BigInt::ZERO };
    // value = fraction * 10^exponent with fraction in [0.1, 1) or so: the logarithm of 10 does the rest.
    let exponent = value.leading_exponent().unwrap_or(0);
    let near_one = (-1..=0).contains(&exponent);
    let exponent = if near_one { 0 } else { exponent };
    let working = digits + 20;
    let shift = i64::from(working) - i64::from(scale) - exponent;
    let fixed = if shift >= 0 { mantissa * pow10(shift as u32) } else { mantissa / pow10(-shift as u32) };
    let mut result = ln_near_one(fixed, working);
    if exponent != 0 {
        result += ln_near_one(BigInt::from(10) * pow10(working as u32), working) * exponent;
    }
    result / pow10(20)
}

/// ln(x/10^digits) * 10^digits for x in about [0.1, 10].
fn ln_near_one(mut x: BigInt, digits: i32) -> BigInt {
    let one = pow10(digits as u32);
    let mut doublings = 0_u32;
    let close = |x: &BigInt| BigInt::from_biguint(Sign::Plus, (x - &one).magnitude().clone()) * 64 < one;
    while !close(&x) {
        x = (x * &one).sqrt();
        doublings += 1;
    }
    // ln x = 2 atanh((x-1)/(x+1))
    let ratio: BigInt = (&x - &one) * &one / (&x + &one);
    let square: BigInt = &ratio * &ratio / &one;
    let (mut sum, mut power, mut n) = (ratio.clone(), ratio, 3);
    while power != BigInt::ZERO {
        power = power * &square / &one;
        sum += &power / n;
        n += 2;
    }
    (sum * 2) << doublings
}

fn invalid_power(message: &str) -> Error {
    Error::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

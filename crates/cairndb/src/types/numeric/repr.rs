//! The representation of [`Numeric`]: small values inline, large ones on the heap; comparison and hashing.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, Sign};

/// Digits after the decimal point that a value may have (PostgreSQL's limit).
pub const SCALE_MAX: u16 = 16383;

/// An arbitrary-precision decimal with a display scale (`1.0` and `1.00` are equal and shown differently), NaN or an
/// infinity.
///
/// ```
/// use cairndb::Numeric;
///
/// let (price, count) = (Numeric::parse("9.99")?, Numeric::from(3));
/// let sum = price.mul(&count)?;
/// assert_eq!(sum.to_string(), "29.97");
/// assert_eq!(sum.add(&Numeric::ONE)?.sub(&price)?, Numeric::parse("20.980")?);
/// assert_eq!((sum.div(&count)?.round(2), sum.rem(&Numeric::from(4))?.to_f64()), (price.clone(), 1.97));
/// assert_eq!(sum.div_trunc(&Numeric::from(4))?.to_i64(), Some(7));
/// assert_eq!((sum.neg().abs(), sum.signum(), sum.scale()), (sum.clone(), 1, 2));
/// assert_eq!((sum.ceil(), sum.floor(), sum.trunc(1)), (30.into(), 29.into(), Numeric::small(299, 1)));
/// assert_eq!(sum.with_scale(4).to_string(), "29.9700");
/// assert!(sum.fit(2, 1).is_err() && !sum.is_zero() && sum.is_finite() && Numeric::NAN.is_nan());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Numeric(pub(super) Repr);

#[derive(Clone, Debug)]
pub(super) enum Repr {
    /// `mantissa / 10^scale`. Every value whose mantissa fits is kept so.
    Small {
        mantissa: i64,
        scale: u16,
    },
    Big(Box<Big>),
    NegativeInfinity,
    Infinity,
    NaN,
}

#[derive(Clone, Debug)]
pub(super) struct Big {
    pub mantissa: BigInt,
    pub scale: u16,
}

impl Numeric {
    /// Not a number: equal to itself, greater than all others.
    pub const NAN: Numeric = Numeric(Repr::NaN);
    /// Greater than every number.
    pub const INFINITY: Numeric = Numeric(Repr::Infinity);
    /// Less than every number.
    pub const NEGATIVE_INFINITY: Numeric = Numeric(Repr::NegativeInfinity);
    /// 0
    pub const ZERO: Numeric = Numeric::small(0, 0);
    /// 1
    pub const ONE: Numeric = Numeric::small(1, 0);

    /// `mantissa / 10^scale`.
    pub const fn small(mantissa: i64, scale: u16) -> Numeric {
        Numeric(Repr::Small { mantissa, scale })
    }

    /// `mantissa / 10^scale`; accumulators of small values keep an `i128`.
    ///
    /// ```
    /// assert_eq!(cairndb::Numeric::from_i128(i128::MAX, 38).to_string(), "1.70141183460469231731687303715884105727");
    /// ```
    pub fn from_i128(mantissa: i128, scale: u16) -> Numeric {
        match i64::try_from(mantissa) {
            Ok(mantissa) => Numeric::small(mantissa, scale),
            Err(_) => Numeric(Repr::Big(Box::new(Big { mantissa: mantissa.into(), scale }))),
        }
    }

    /// `mantissa / 10^scale`, whatever its size.
    pub fn from_big(mantissa: BigInt, scale: u16) -> Numeric {
        match i64::try_from(&mantissa) {
            Ok(mantissa) => Numeric::small(mantissa, scale),
            Err(_) => Numeric(Repr::Big(Box::new(Big { mantissa, scale }))),
        }
    }

    /// Mantissa and scale, where the value is held inline: what vector kernels work on.
    ///
    /// ```
    /// assert_eq!(cairndb::Numeric::small(999, 2).as_small(), Some((999, 2)));
    /// assert_eq!(cairndb::Numeric::INFINITY.as_small(), None);
    /// ```
    pub fn as_small(&self) -> Option<(i64, u16)> {
        match self.0 {
            Repr::Small { mantissa, scale } => Some((mantissa, scale)),
            _ => None,
        }
    }

    /// Mantissa and scale of a finite value whose mantissa fits.
    pub(crate) fn as_i128(&self) -> Option<(i128, u16)> {
        match &self.0 {
            Repr::Small { mantissa, scale } => Some(((*mantissa).into(), *scale)),
            Repr::Big(big) => Some((i128::try_from(&big.mantissa).ok()?, big.scale)),
            _ => None,
        }
    }

    /// About how many bytes it takes besides itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Big(big) => size_of::<Big>() + big.mantissa.bits() as usize / 8,
            _ => 0,
        }
    }

    /// Mantissa and scale of a finite value.
    ///
    /// ```
    /// use cairndb::Numeric;
    ///
    /// let (mantissa, scale) = Numeric::small(999, 2).to_big().expect("it is a number");
    /// assert_eq!(Numeric::from_big(mantissa, scale).to_string(), "9.99");
    /// ```
    pub fn to_big(&self) -> Option<(BigInt, u16)> {
        match &self.0 {
            Repr::Small { mantissa, scale } => Some(((*mantissa).into(), *scale)),
            Repr::Big(big) => Some((big.mantissa.clone(), big.scale)),
            _ => None,
        }
    }

    /// Digits after the decimal point as shown (0 for NaN and infinities).
    pub fn scale(&self) -> u16 {
        match &self.0 {
            Repr::Small { scale, .. } => *scale,
            Repr::Big(big) => big.scale,
            _ => 0,
        }
    }

    /// Not a number.
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    /// Neither NaN nor an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self.0, Repr::Small { .. } | Repr::Big(_))
    }

    /// Equal to zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Small { mantissa: 0, .. })
    }

    /// -1, 0 or 1; NaN has 0.
    pub fn signum(&self) -> i32 {
        match &self.0 {
            Repr::Small { mantissa, .. } => mantissa.signum() as i32,
            Repr::Big(big) if big.mantissa.sign() == Sign::Minus => -1,
            Repr::Big(_) | Repr::Infinity => 1,
            Repr::NegativeInfinity => -1,
            Repr::NaN => 0,
        }
    }

    fn rank(&self) -> u8 {
        match self.0 {
            Repr::NegativeInfinity => 0,
            Repr::Small { .. } | Repr::Big(_) => 1,
            Repr::Infinity => 2,
            Repr::NaN => 3,
        }
    }
}

/// 10^`exponent`.
pub(super) fn pow10(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        if let (Repr::Small { mantissa: a, scale: s }, Repr::Small { mantissa: b, scale: t }) = (&self.0, &other.0) {
            if s == t {
                return a.cmp(b);
            }
            if let Some(order) = compare_small((*a).into(), *s, (*b).into(), *t) {
                return order;
            }
        }
        match (self.to_big(), other.to_big()) {
            (Some((a, s)), Some((b, t))) => compare_big(a, s, b, t),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Compares after bringing both to the larger scale; `None` where that would not fit.
pub(super) fn compare_small(a: i128, s: u16, b: i128, t: u16) -> Option<Ordering> {
    let factor = 10_i128.checked_pow(s.abs_diff(t).into())?;
    Some(if s < t { a.checked_mul(factor)?.cmp(&b) } else { a.cmp(&b.checked_mul(factor)?) })
}

fn compare_big(a: BigInt, s: u16, b: BigInt, t: u16) -> Ordering {
    // Signs decide most pairs, without scaling.
    if a.sign() != b.sign() {
        return a.sign().cmp(&b.sign());
    }
    match s.cmp(&t) {
        Ordering::Equal => a.cmp(&b),
        Ordering::Less => (a * pow10(u32::from(t - s))).cmp(&b),
        Ordering::Greater => a.cmp(&(b * pow10(u32::from(s - t)))),
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Numeric {}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.residue());
    }
}

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::small(value, 0)
    }
}
impl From<i32> for Numeric {
    fn from(value: i32) -> Numeric {
        Numeric::small(value.into(), 0)
    }
}

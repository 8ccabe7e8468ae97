//! Decimals lent: by their parts where these lie apart, as columns hold them.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::Numeric;
use super::repr::{Repr, compare_small};

/// A borrowed [`Numeric`].
///
/// ```
/// use cairndb::{Numeric, NumericRef};
///
/// let lent = NumericRef::Small { mantissa: 999, scale: 2 };
/// assert_eq!(lent.to_numeric(), Numeric::parse("9.99")?);
/// assert_eq!(lent.to_cow().to_string(), "9.99");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum NumericRef<'a> {
    /// `mantissa / 10^scale`
    Small {
        /// All digits as one number.
        mantissa: i64,
        /// How many of them are behind the point.
        scale: u16,
    },
    /// The same, of more digits.
    Wide {
        /// All digits as one number.
        mantissa: &'a i128,
        /// How many of them are behind the point.
        scale: u16,
    },
    /// Any value.
    Whole(&'a Numeric),
}

impl<'a> NumericRef<'a> {
    /// The value, copied only where it is put together from its parts.
    pub fn to_cow(self) -> Cow<'a, Numeric> {
        match self {
            NumericRef::Small { mantissa, scale } => Cow::Owned(Numeric::small(mantissa, scale)),
            NumericRef::Wide { mantissa, scale } => Cow::Owned(Numeric::from_i128(*mantissa, scale)),
            NumericRef::Whole(value) => Cow::Borrowed(value),
        }
    }

    /// A copy.
    pub fn to_numeric(self) -> Numeric {
        self.to_cow().into_owned()
    }

    /// Mantissa and scale of a finite value whose mantissa fits.
    #[inline]
    pub fn parts(self) -> Option<(i128, u16)> {
        match self {
            NumericRef::Small { mantissa, scale } => Some((mantissa.into(), scale)),
            NumericRef::Wide { mantissa, scale } => Some((*mantissa, scale)),
            NumericRef::Whole(value) => value.as_i128(),
        }
    }

    /// SQL's order.
    #[inline]
    pub(crate) fn compare(self, other: NumericRef<'_>) -> Ordering {
        match (self, other) {
            (NumericRef::Small { mantissa: a, scale: s }, NumericRef::Small { mantissa: b, scale: t }) if s == t => {
                a.cmp(&b)
            }
            _ => self.compare_scaled(other),
        }
    }

    fn compare_scaled(self, other: NumericRef<'_>) -> Ordering {
        let parts = self.parts().zip(other.parts());
        let order = parts.and_then(|((a, s), (b, t))| compare_small(a, s, b, t));
        order.unwrap_or_else(|| self.to_cow().cmp(&other.to_cow()))
    }
}

impl<'a> From<&'a Numeric> for NumericRef<'a> {
    #[inline]
    fn from(value: &'a Numeric) -> NumericRef<'a> {
        match value.0 {
            Repr::Small { mantissa, scale } => NumericRef::Small { mantissa, scale },
            _ => NumericRef::Whole(value),
        }
    }
}

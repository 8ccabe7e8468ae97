//! A number by which equal decimals hash alike, whatever their scales, without taking their zeros away.
//!
//! `mantissa / 10^scale` is computed modulo the prime 2^61 - 1, in which 10 has an inverse: 1.0 and 1.00 give the same,
//! and a column of one scale needs one multiplication for each value.

use num_bigint::{BigInt, Sign};

use super::Numeric;
use super::repr::Repr;

const PRIME: u64 = (1 << 61) - 1;

/// By Fermat's little theorem.
const TENTH: u64 = power(10, PRIME - 2);

/// What no number gives.
const NAN: u64 = PRIME;
const INFINITY: u64 = PRIME + 1;
const NEGATIVE_INFINITY: u64 = PRIME + 2;

const fn product(a: u64, b: u64) -> u64 {
    reduced(a as u128 * b as u128)
}

const fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        exponent >>= 1;
    }
    result
}

/// 2^61 is 1, so that the groups of 61 bits add up.
#[inline]
const fn reduced(value: u128) -> u64 {
    let sum = (value as u64 & PRIME) + ((value >> 61) as u64 & PRIME) + (value >> 122) as u64;
    let sum = (sum & PRIME) + (sum >> 61);
    if sum >= PRIME { sum - PRIME } else { sum }
}

#[inline]
const fn signed(residue: u64, negative: bool) -> u64 {
    if negative && residue != 0 { PRIME - residue } else { residue }
}

/// Residues of the mantissas of one scale.
#[derive(Clone, Copy)]
pub(crate) struct Residues(u64);

impl Residues {
    pub(crate) fn of_scale(scale: u16) -> Residues {
        Residues(power(TENTH, scale.into()))
    }

    #[inline]
    pub(crate) fn of(self, mantissa: i64) -> u64 {
        signed(product(reduced(mantissa.unsigned_abs() as u128), self.0), mantissa < 0)
    }

    #[inline]
    pub(crate) fn of_wide(self, mantissa: i128) -> u64 {
        signed(product(reduced(mantissa.unsigned_abs()), self.0), mantissa < 0)
    }

    fn of_big(self, mantissa: &BigInt) -> u64 {
        let residue = u64::try_from(&(mantissa.magnitude() % PRIME)).unwrap_or_default();
        signed(product(residue, self.0), mantissa.sign() == Sign::Minus)
    }
}

impl Numeric {
    /// The same for all equal values.
    pub(crate) fn residue(&self) -> u64 {
        match &self.0 {
            Repr::Small { mantissa, scale } => Residues::of_scale(*scale).of(*mantissa),
            Repr::Big(big) => Residues::of_scale(big.scale).of_big(&big.mantissa),
            Repr::NaN => NAN,
            Repr::Infinity => INFINITY,
            Repr::NegativeInfinity => NEGATIVE_INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tenths_are_one() {
        assert_eq!(product(10, TENTH), 1);
        assert_eq!(reduced(u128::MAX), (u128::MAX % u128::from(PRIME)) as u64);
    }

    #[test]
    fn equal_values_have_one_residue_in_every_width_and_scale() {
        for mantissa in
            [0, 1, -1, 7, -15, 99_999, i64::from(i32::MAX), -(1 << 53), 92_233_720_368_547_758, i64::MIN / 100]
        {
            for scale in [0, 1, 2, 9, 40] {
                let expected = Residues::of_scale(scale).of(mantissa);
                let wide = i128::from(mantissa);
                for more in [0, 1, 2, 18] {
                    let factor = 10_i128.pow(more);
                    let scale = scale + more as u16;
                    let longer = BigInt::from(wide * factor) * BigInt::from(10).pow(30);
                    assert_eq!(Residues::of_scale(scale).of_wide(wide * factor), expected, "{mantissa} {scale}");
                    assert_eq!(Residues::of_scale(scale + 30).of_big(&longer), expected, "{mantissa} {scale}");
                    assert_eq!(Numeric::from_i128(wide * factor, scale).residue(), expected, "{mantissa} {scale}");
                }
            }
        }
    }

    #[test]
    fn values_that_differ_mostly_differ() {
        let mut residues: Vec<u64> = (-500..500)
            .flat_map(|mantissa| (0..3).map(move |scale| (mantissa, scale)))
            .filter(|&(mantissa, scale)| scale == 0 || mantissa % 10 != 0)
            .map(|(mantissa, scale)| Numeric::small(mantissa, scale).residue())
            .chain([&Numeric::NAN, &Numeric::INFINITY, &Numeric::NEGATIVE_INFINITY].map(Numeric::residue))
            .collect();
        let count = residues.len();
        residues.sort_unstable();
        residues.dedup();
        assert_eq!(residues.len(), count);
    }
}

//! An exact sum of numerics that stays in a machine integer while it can.

use std::cmp::Ordering;

use crate::Result;
use crate::types::Numeric;

/// An exact running sum. Its scale is the largest of its terms'.
#[derive(Clone, Debug, Default)]
pub struct NumericSum {
    mantissa: i128,
    scale: u16,
    /// How many terms have that scale.
    widest: u64,
    /// What did not fit in the mantissa: large values, NaN, infinities.
    rest: Option<Numeric>,
}

impl NumericSum {
    /// Adds a value.
    pub fn add(&mut self, value: &Numeric) -> Result<()> {
        match value.as_small() {
            Some((mantissa, scale)) => self.add_small(mantissa.into(), scale),
            None => self.add_rest(value.clone()),
        }
    }

    /// Adds `mantissa / 10^scale`.
    pub fn add_small(&mut self, mantissa: i128, scale: u16) -> Result<()> {
        if scale == self.scale
            && let Some(sum) = self.mantissa.checked_add(mantissa)
        {
            self.mantissa = sum;
            self.widest += 1;
            return Ok(());
        }
        self.add_rescaled(mantissa, scale)
    }

    /// Takes back a value that was added; false: the sum of the others has to be computed anew, for its scale is not known
    /// any more, or a large value, which may have swallowed the others, was among them.
    #[must_use]
    pub fn subtract(&mut self, value: &Numeric) -> bool {
        value.as_small().is_some_and(|(mantissa, scale)| self.subtract_small(mantissa.into(), scale))
    }

    /// As [`NumericSum::subtract`], of `mantissa / 10^scale`.
    #[must_use]
    pub fn subtract_small(&mut self, mantissa: i128, scale: u16) -> bool {
        let is_widest = scale == self.scale;
        if self.rest.is_some() || scale > self.scale || is_widest && scale > 0 && self.widest <= 1 {
            return false;
        }
        let rescaled = 10_i128.checked_pow((self.scale - scale).into()).and_then(|factor| mantissa.checked_mul(factor));
        let Some(rest) = rescaled.and_then(|mantissa| self.mantissa.checked_sub(mantissa)) else { return false };
        self.mantissa = rest;
        self.widest -= u64::from(is_widest);
        true
    }

    fn add_rescaled(&mut self, mantissa: i128, scale: u16) -> Result<()> {
        let common = self.scale.max(scale);
        let at_common = |mantissa: i128, scale: u16| {
            10_i128.checked_pow((common - scale).into()).and_then(|factor| mantissa.checked_mul(factor))
        };
        let sum =
            at_common(self.mantissa, self.scale).zip(at_common(mantissa, scale)).and_then(|(a, b)| a.checked_add(b));
        match sum {
            Some(sum) => {
                self.widest = match scale.cmp(&self.scale) {
                    Ordering::Less => self.widest,
                    Ordering::Equal => self.widest + 1,
                    Ordering::Greater => 1,
                };
                (self.mantissa, self.scale) = (sum, common);
                Ok(())
            }
            None => self.add_rest(Numeric::from_i128(mantissa, scale)),
        }
    }

    fn add_rest(&mut self, value: Numeric) -> Result<()> {
        self.rest = Some(match &self.rest {
            Some(rest) => rest.add(&value)?,
            None => value,
        });
        Ok(())
    }

    /// The sum so far.
    pub fn total(&self) -> Result<Numeric> {
        let sum = Numeric::from_i128(self.mantissa, self.scale);
        match &self.rest {
            Some(rest) => rest.add(&sum),
            None => Ok(sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_whatever_the_scales_and_sizes() {
        let mut sum = NumericSum::default();
        for text in ["1.5", "0.25", "1e37", "123456789012345678901234567890.5", "-1e37", "-2"] {
            sum.add(&Numeric::parse(text).unwrap()).unwrap();
        }
        assert_eq!(sum.total().unwrap().to_string(), "123456789012345678901234567890.25");
    }
    #[test]
    fn what_is_taken_back_leaves_the_sum_and_the_scale_of_the_others() {
        let numeric = |text| Numeric::parse(text).unwrap();
        let mut sum = NumericSum::default();
        for text in ["1.5", "0.25", "7", "0.50"] {
            sum.add(&numeric(text)).unwrap();
        }
        assert!(sum.subtract(&numeric("1.5")) && sum.subtract(&numeric("0.25")));
        assert_eq!(sum.total().unwrap().to_string(), "7.50");
        assert!(!sum.clone().subtract(&numeric("0.50")), "what is left has another scale");
        sum.add(&numeric("1e40")).unwrap();
        assert!(!sum.subtract(&numeric("7")), "large values are added apart");
    }
}

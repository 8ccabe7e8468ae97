//! An exact sum of numerics that stays in a machine integer while it can.

use crate::Result;
use crate::types::Numeric;

/// An exact running sum. Its scale is the largest of its terms'.
#[derive(Clone, Debug, Default)]
pub struct NumericSum {
    mantissa: i128,
    scale: u16,
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
            return Ok(());
        }
        self.add_rescaled(mantissa, scale)
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
}

//! `numeric` in a row: one byte that tells the kind and most scales, then the mantissa.
//!
//! | first byte | then |
//! |---|---|
//! | 0 to 127 | the scale; mantissa as two's complement, little endian, as short as possible (zero: no bytes) |
//! | 128 | scale as `u16`, little endian; mantissa as above |
//! | 129, 130, 131 | nothing: NaN, Infinity, -Infinity |

use num_bigint::BigInt;

use super::repr::Repr;
use super::{Numeric, SCALE_MAX};

const LONG_SCALE: u8 = 128;
const NAN: u8 = 129;
const INFINITY: u8 = 130;
const NEGATIVE_INFINITY: u8 = 131;

impl Numeric {
    /// Appends the bytes kept in rows.
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::NaN => out.push(NAN),
            Repr::Infinity => out.push(INFINITY),
            Repr::NegativeInfinity => out.push(NEGATIVE_INFINITY),
            Repr::Small { mantissa, scale } => {
                write_scale(*scale, out);
                let bytes = mantissa.to_le_bytes();
                out.extend_from_slice(&bytes[..significant_bytes(*mantissa)]);
            }
            Repr::Big(big) => {
                write_scale(big.scale, out);
                out.extend_from_slice(&big.mantissa.to_signed_bytes_le());
            }
        }
    }

    /// How many bytes [`write_bytes`](Numeric::write_bytes) appends.
    pub fn byte_len(&self) -> usize {
        let scale_bytes = |scale: u16| if scale < u16::from(LONG_SCALE) { 1 } else { 3 };
        match &self.0 {
            Repr::NaN | Repr::Infinity | Repr::NegativeInfinity => 1,
            Repr::Small { mantissa, scale } => scale_bytes(*scale) + significant_bytes(*mantissa),
            Repr::Big(big) => scale_bytes(big.scale) + big.mantissa.to_signed_bytes_le().len(),
        }
    }

    /// Reads what [`write_bytes`](Numeric::write_bytes) wrote; `None`: something else did.
    pub fn from_bytes(bytes: &[u8]) -> Option<Numeric> {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            0..LONG_SCALE => Some(read_mantissa(rest, kind.into())),
            LONG_SCALE => {
                let (scale, rest) = rest.split_first_chunk::<2>()?;
                let scale = u16::from_le_bytes(*scale);
                (scale <= SCALE_MAX).then(|| read_mantissa(rest, scale))
            }
            NAN if rest.is_empty() => Some(Numeric::NAN),
            INFINITY if rest.is_empty() => Some(Numeric::INFINITY),
            NEGATIVE_INFINITY if rest.is_empty() => Some(Numeric::NEGATIVE_INFINITY),
            _ => None,
        }
    }
}

fn write_scale(scale: u16, out: &mut Vec<u8>) {
    match u8::try_from(scale) {
        Ok(short @ 0..LONG_SCALE) => out.push(short),
        _ => {
            out.push(LONG_SCALE);
            out.extend_from_slice(&scale.to_le_bytes());
        }
    }
}

/// Bytes of the shortest two's complement form; none for zero.
fn significant_bytes(mantissa: i64) -> usize {
    if mantissa == 0 {
        return 0;
    }
    // Bits that only repeat the sign, all but one, are left out.
    let repeated = (if mantissa < 0 { !mantissa } else { mantissa }).leading_zeros() as usize;
    8 - (repeated - 1) / 8
}

fn read_mantissa(bytes: &[u8], scale: u16) -> Numeric {
    if bytes.len() > 8 {
        return Numeric::from_big(BigInt::from_signed_bytes_le(bytes), scale);
    }
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut full = [if negative { 0xff } else { 0 }; 8];
    full[..bytes.len()].copy_from_slice(bytes);
    Numeric::small(i64::from_le_bytes(full), scale)
}

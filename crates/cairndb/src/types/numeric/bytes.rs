//! `numeric` in a row: one byte that tells the kind and most scales, then the mantissa.
//!
//! | first byte | then |
//! |---|---|
//! | 0 to 127 | the scale; mantissa as two's complement, little endian, as short as possible (zero: no bytes) |
//! | 128 | scale as `u16`, little endian; mantissa as above |
//! | 129, 130, 131 | nothing: NaN, Infinity, -Infinity |

use num_bigint::BigInt;

use super::repr::Repr;
use super::{Numeric, NumericRef, SCALE_MAX};

const LONG_SCALE: u8 = 128;
const NAN: u8 = 129;
const INFINITY: u8 = 130;
const NEGATIVE_INFINITY: u8 = 131;

impl Numeric {
    /// Appends the bytes kept in rows.
    ///
    /// ```
    /// use cairndb::Numeric;
    ///
    /// let mut bytes = Vec::new();
    /// Numeric::parse("-12.50")?.write_bytes(&mut bytes);
    /// assert_eq!(Numeric::parse("-12.50")?.byte_len(), bytes.len());
    /// assert_eq!(Numeric::from_bytes(&bytes).expect("it is one").to_string(), "-12.50");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::NaN => out.push(NAN),
            Repr::Infinity => out.push(INFINITY),
            Repr::NegativeInfinity => out.push(NEGATIVE_INFINITY),
            Repr::Small { mantissa, scale } => write_mantissa((*mantissa).into(), *scale, out),
            Repr::Big(big) => {
                write_scale(big.scale, out);
                out.extend_from_slice(&big.mantissa.to_signed_bytes_le());
            }
        }
    }

    /// How many bytes [`write_bytes`](Numeric::write_bytes) appends.
    pub fn byte_len(&self) -> usize {
        match &self.0 {
            Repr::NaN | Repr::Infinity | Repr::NegativeInfinity => 1,
            Repr::Small { mantissa, scale } => scale_bytes(*scale) + significant_bytes((*mantissa).into()),
            Repr::Big(big) => scale_bytes(big.scale) + big.mantissa.to_signed_bytes_le().len(),
        }
    }

    /// Mantissa and scale of what [`write_bytes`](Numeric::write_bytes) wrote of most values; `None`: it wrote another, or
    /// something else did.
    #[inline]
    pub(crate) fn small_from_bytes(bytes: &[u8]) -> Option<(i64, u16)> {
        match bytes.split_first()? {
            (&scale, rest) if scale < LONG_SCALE && rest.len() <= 8 => Some((read_small(rest), scale.into())),
            _ => None,
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

impl NumericRef<'_> {
    /// As [`Numeric::write_bytes`].
    pub(crate) fn write_bytes(self, out: &mut Vec<u8>) {
        match self {
            NumericRef::Small { mantissa, scale } => write_mantissa(mantissa.into(), scale, out),
            NumericRef::Wide { mantissa, scale } => write_mantissa(*mantissa, scale, out),
            NumericRef::Whole(value) => value.write_bytes(out),
        }
    }

    /// As [`Numeric::byte_len`].
    pub(crate) fn byte_len(self) -> usize {
        match self {
            NumericRef::Small { mantissa, scale } => scale_bytes(scale) + significant_bytes(mantissa.into()),
            NumericRef::Wide { mantissa, scale } => scale_bytes(scale) + significant_bytes(*mantissa),
            NumericRef::Whole(value) => value.byte_len(),
        }
    }
}

fn scale_bytes(scale: u16) -> usize {
    if scale < u16::from(LONG_SCALE) { 1 } else { 3 }
}

fn write_mantissa(mantissa: i128, scale: u16, out: &mut Vec<u8>) {
    write_scale(scale, out);
    out.extend_from_slice(&mantissa.to_le_bytes()[..significant_bytes(mantissa)]);
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
fn significant_bytes(mantissa: i128) -> usize {
    if mantissa == 0 {
        return 0;
    }
    // Bits that only repeat the sign, all but one, are left out.
    let repeated = (if mantissa < 0 { !mantissa } else { mantissa }).leading_zeros() as usize;
    16 - (repeated - 1) / 8
}

fn read_mantissa(bytes: &[u8], scale: u16) -> Numeric {
    if bytes.len() > 8 {
        return Numeric::from_big(BigInt::from_signed_bytes_le(bytes), scale);
    }
    Numeric::small(read_small(bytes), scale)
}

/// Two's complement of at most 8 bytes.
#[inline]
fn read_small(bytes: &[u8]) -> i64 {
    let word = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // Two words that overlap where there are fewer than 8 bytes.
        (Some(low), Some(high)) => {
            u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << (8 * (bytes.len() - 4))
        }
        _ => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    let unused = 64 - 8 * bytes.len() as u32;
    (word.checked_shl(unused).unwrap_or(0) as i64).checked_shr(unused).unwrap_or(0)
}

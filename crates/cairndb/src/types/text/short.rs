//! Texts of numbers, dates and times, made on the stack: their few digits are there sooner than the formatting machinery has begun.
//!
//! They are ASCII, and none is longer than [`Short::ROOM`].

/// 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + at as u8 / 10, b'0' + at as u8 % 10];
        at += 1;
    }
    pairs
};

/// A text that is short.
#[derive(Debug)]
pub(crate) struct Short {
    bytes: [u8; Short::ROOM],
    length: usize,
}

impl Short {
    /// A `numeric` of 19 digits with [`Short::SCALE_MAX`] behind the point, sign and point.
    const ROOM: usize = 64;
    /// Digits behind the point of the numbers that are written here.
    pub(crate) const SCALE_MAX: u16 = 40;

    #[inline]
    pub(crate) fn new() -> Short {
        Short { bytes: [0; Short::ROOM], length: 0 }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    #[inline]
    pub(crate) fn put(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Two digits of a number below 100.
    #[inline]
    pub(crate) fn two(&mut self, number: u32) {
        self.put(&PAIRS[number as usize % 100]);
    }

    /// A number, with zeros before it where it has fewer than four digits.
    #[inline]
    pub(crate) fn four(&mut self, number: u64) {
        match number {
            0..10_000 => {
                self.two(number as u32 / 100);
                self.two(number as u32 % 100);
            }
            _ => self.number(number),
        }
    }

    /// Six digits of a number below 1,000,000.
    #[inline]
    pub(crate) fn six(&mut self, number: u32) {
        self.two(number / 10_000);
        self.two(number / 100 % 100);
        self.two(number % 100);
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        let digits = Digits::of(number);
        self.put(digits.as_bytes());
    }

    #[inline]
    pub(crate) fn integer(&mut self, number: i64) {
        if number < 0 {
            self.push(b'-');
        }
        self.number(number.unsigned_abs());
    }

    /// `mantissa / 10^scale`; the scale is at most [`Short::SCALE_MAX`].
    #[inline]
    pub(crate) fn decimal(&mut self, mantissa: i64, scale: u16) {
        if mantissa < 0 {
            self.push(b'-');
        }
        let digits = Digits::of(mantissa.unsigned_abs());
        let (digits, scale) = (digits.as_bytes(), usize::from(scale));
        if scale == 0 {
            return self.put(digits);
        }
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        self.put(if whole.is_empty() { b"0" } else { whole });
        self.push(b'.');
        (fraction.len()..scale).for_each(|_| self.push(b'0'));
        self.put(fraction);
    }

    /// Takes zeros away that stand at the end.
    #[inline]
    pub(crate) fn trim_zeros(&mut self) {
        while self.as_bytes().ends_with(b"0") {
            self.length -= 1;
        }
    }
}

/// The digits of a number.
struct Digits {
    /// From `start` on.
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    #[inline]
    fn of(mut number: u64) -> Digits {
        let mut digits = Digits { bytes: [0; 20], start: 20 };
        while number >= 100 {
            digits.before(PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        if number >= 10 {
            digits.before(PAIRS[number as usize]);
        } else {
            digits.before([b'0' + number as u8]);
        }
        digits
    }

    #[inline]
    fn before<const N: usize>(&mut self, these: [u8; N]) {
        self.start -= N;
        self.bytes[self.start..self.start + N].copy_from_slice(&these);
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(make: impl FnOnce(&mut Short)) -> String {
        let mut short = Short::new();
        make(&mut short);
        short.as_str().to_owned()
    }

    #[test]
    fn integers_are_written_as_they_always_are() {
        let mut numbers = vec![0, i64::MIN, i64::MAX];
        for digits in 0..19 {
            let power = 10_i64.pow(digits);
            numbers.extend([power - 1, power, power + 1, -power, 7 * (power / 3)]);
        }
        for number in numbers {
            assert_eq!(made(|short| short.integer(number)), number.to_string());
        }
    }

    #[test]
    fn decimals_have_their_point_where_the_scale_says() {
        for (mantissa, scale, text) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 3, "0.005"),
            (-150, 2, "-1.50"),
            (-5, 1, "-0.5"),
            (i64::MIN, 19, "-0.9223372036854775808"),
            (i64::MIN, Short::SCALE_MAX, "-0.0000000000000000000009223372036854775808"),
        ] {
            assert_eq!(made(|short| short.decimal(mantissa, scale)), text);
        }
    }

    #[test]
    fn parts_of_times_keep_their_zeros() {
        assert_eq!(made(|short| short.four(44)), "0044");
        assert_eq!(made(|short| short.four(294_276)), "294276");
        let fraction = made(|short| {
            short.six(7_890);
            short.trim_zeros();
        });
        assert_eq!(fraction, "00789");
    }
}

//! Texts of numbers, dates and times, written digit by digit where they are wanted: they are there before the formatting machinery has begun.
//!
//! They are ASCII. Made apart and copied, they took longer to copy than to make: a processor that reads many small writes as one long
//! read waits for them.

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

/// 10 to the power of 0 to 18.
const POWERS: [u64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// A text that is short, written where it is wanted.
pub(crate) struct Short<'b> {
    bytes: &'b mut [u8; ROOM],
    length: usize,
}

/// No text is longer: not a `numeric` with its sign, and [`Short::SCALE_MAX`] digits behind the point.
const ROOM: usize = 64;

impl Short<'_> {
    /// Digits behind the point of the numbers that are written here.
    pub(crate) const SCALE_MAX: u16 = 40;

    /// Appends what `put` writes, and what that says.
    #[inline]
    pub(crate) fn append_to<T>(out: &mut Vec<u8>, put: impl FnOnce(&mut Short<'_>) -> T) -> T {
        let start = out.len();
        out.extend_from_slice(&[0; ROOM]);
        let (said, length) = match out.last_chunk_mut::<ROOM>() {
            Some(bytes) => Short::within(bytes, put),
            None => unreachable!("it was made above"),
        };
        out.truncate(start + length);
        said
    }

    /// The same of a text.
    #[inline]
    pub(crate) fn push_to<T>(out: &mut String, put: impl FnOnce(&mut Short<'_>) -> T) -> T {
        Short::shown(put, |text, said| {
            out.push_str(text);
            said
        })
    }

    /// Lends what `put` writes, and what that says.
    #[inline]
    pub(crate) fn shown<T, U>(put: impl FnOnce(&mut Short<'_>) -> T, take: impl FnOnce(&str, T) -> U) -> U {
        let mut bytes = [0; ROOM];
        let (said, length) = Short::within(&mut bytes, put);
        take(std::str::from_utf8(&bytes[..length]).unwrap_or_default(), said)
    }

    #[inline]
    fn within<T>(bytes: &mut [u8; ROOM], put: impl FnOnce(&mut Short<'_>) -> T) -> (T, usize) {
        let mut short = Short { bytes, length: 0 };
        let said = put(&mut short);
        (said, short.length)
    }

    /// The next bytes, to be written.
    #[inline]
    pub(crate) fn next<const N: usize>(&mut self) -> &mut [u8; N] {
        let start = self.length;
        self.length += N;
        match self.bytes[start..].first_chunk_mut::<N>() {
            Some(next) => next,
            None => unreachable!("short texts have room"),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        *self.next() = [byte];
    }

    #[inline]
    pub(crate) fn put(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Two digits of a number below 100.
    #[inline]
    pub(crate) fn two(&mut self, number: u32) {
        *self.next() = pair(number);
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
        let [a, b] = pair(number / 10_000);
        let [c, d] = pair(number / 100 % 100);
        let [e, f] = pair(number % 100);
        *self.next() = [a, b, c, d, e, f];
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
        self.digits(number, digits);
    }

    /// So many digits of a number, which has no more.
    #[inline]
    fn digits(&mut self, mut number: u64, digits: usize) {
        let room = &mut self.bytes[self.length..self.length + digits];
        self.length += digits;
        let mut pairs = room.rchunks_exact_mut(2);
        for two in pairs.by_ref() {
            two.copy_from_slice(&PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        if let [first] = pairs.into_remainder() {
            *first = b'0' + (number % 10) as u8;
        }
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
        let (number, scale) = (mantissa.unsigned_abs(), usize::from(scale));
        if scale == 0 {
            return self.number(number);
        }
        // Of more digits than a number has, the first are zeros.
        let power = POWERS.get(scale).copied();
        let (whole, fraction) = power.map_or((0, number), |power| (number / power, number % power));
        self.number(whole);
        self.push(b'.');
        self.digits(fraction, scale);
    }

    /// Takes zeros away that stand at the end.
    #[inline]
    pub(crate) fn trim_zeros(&mut self) {
        while self.length > 0 && self.bytes[self.length - 1] == b'0' {
            self.length -= 1;
        }
    }
}

#[inline]
pub(crate) fn pair(number: u32) -> [u8; 2] {
    PAIRS[number as usize % 100]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(make: impl FnOnce(&mut Short<'_>)) -> String {
        let mut text = String::new();
        Short::push_to(&mut text, make);
        text
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
            (i64::MIN, 18, "-9.223372036854775808"),
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

//! One bit per row: which values of a vector are not NULL.

/// A growable bitmap.
///
/// ```
/// use cairndb::Bitmap;
///
/// let mut bits = Bitmap::from_words(vec![0b101], 3);
/// bits.push(true);
/// bits.clear(0);
/// bits.set(1);
/// assert_eq!((bits.words(), bits.len(), bits.get(3), bits.count()), (&[0b1110][..], 4, true, 3));
/// assert!(Bitmap::filled(70, true).all() && Bitmap::filled(0, true).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all `bit`. Bits past the end are always zero.
    pub fn filled(len: usize, bit: bool) -> Bitmap {
        let mut bitmap = Bitmap { words: vec![if bit { u64::MAX } else { 0 }; len.div_ceil(64)], len };
        bitmap.clear_tail();
        bitmap
    }

    /// `len` bits, 64 to a word, lowest first. Words that are missing are zero.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Bitmap {
        words.resize(len.div_ceil(64), 0);
        let mut bitmap = Bitmap { words, len };
        bitmap.clear_tail();
        bitmap
    }

    /// The bits, 64 to a word, lowest first; those past the end are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn clear_tail(&mut self) {
        if let (Some(last), used @ 1..) = (self.words.last_mut(), self.len % 64) {
            *last &= (1 << used) - 1;
        }
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit at `index`; false past the end.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    /// Appends the lowest `count` bits of a word, at most 64; the others are zero.
    #[inline]
    pub(crate) fn push_word(&mut self, word: u64, count: usize) {
        debug_assert!(count <= 64 && (count == 64 || word >> count == 0));
        let used = self.len % 64;
        self.len += count;
        match self.words.last_mut().filter(|_| used > 0) {
            Some(last) => {
                *last |= word << used;
                if used + count > 64 {
                    self.words.push(word >> (64 - used));
                }
            }
            None if count > 0 => self.words.push(word),
            None => {}
        }
    }

    /// Appends `count` equal bits.
    pub(crate) fn extend_with(&mut self, count: usize, bit: bool) {
        let (start, end) = (self.len, self.len + count);
        self.words.resize(end.div_ceil(64), if bit { u64::MAX } else { 0 });
        if let (true, Some(first)) = (bit, self.words.get_mut(start / 64)) {
            *first |= u64::MAX << (start % 64);
        }
        self.len = end;
        self.clear_tail();
    }

    /// Takes the bits from `at` on away.
    pub(crate) fn split_off(&mut self, at: usize) -> Bitmap {
        let mut rest = Bitmap::default();
        (at..self.len).for_each(|index| rest.push(self.get(index)));
        self.len = self.len.min(at);
        self.words.truncate(self.len.div_ceil(64));
        self.clear_tail();
        rest
    }

    /// Clears the bit at `index`.
    pub fn clear(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// Sets the bit at `index`, which must exist.
    pub fn set(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64).filter(|_| index < self.len) {
            *word |= 1 << (index % 64);
        }
    }

    /// Keeps the bits that are also set in `other`.
    pub(crate) fn intersect(&mut self, other: &Bitmap) {
        debug_assert_eq!(self.len, other.len);
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Whether every bit is set.
    pub fn all(&self) -> bool {
        self.count() == self.len
    }

    /// How many bits are set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::Bitmap;

    #[test]
    fn pushed_bits_read_back_across_words() {
        let mut bitmap = Bitmap::default();
        (0..200).for_each(|i| bitmap.push(i % 3 == 0));
        assert!((0..200).all(|i| bitmap.get(i) == (i % 3 == 0)));
        assert_eq!((bitmap.len(), bitmap.count(), bitmap.get(200)), (200, 67, false));
    }

    #[test]
    fn words_are_pushed_as_their_bits_are() {
        let (mut words, mut bits) = (Bitmap::default(), Bitmap::default());
        for (at, count) in [3, 64, 0, 61, 1, 63, 64, 2].into_iter().enumerate() {
            let word =
                0x9d3a_5c71_e8b2_460f_u64.rotate_left(at as u32 * 7) & u64::MAX.checked_shr(64 - count).unwrap_or(0);
            words.push_word(word, count as usize);
            (0..count).for_each(|bit| bits.push(word >> bit & 1 == 1));
            assert_eq!(words, bits, "{at}");
        }
        assert_eq!(words.len(), 258);
    }

    #[test]
    fn a_full_bitmap_has_no_bits_past_its_end() {
        let mut bitmap = Bitmap::filled(70, true);
        assert!(bitmap.all());
        bitmap.push(false);
        assert_eq!((bitmap.count(), bitmap.all()), (70, false));
    }

    #[test]
    fn intersect_keeps_common_bits() {
        let mut a = Bitmap::filled(3, true);
        let mut b = Bitmap::filled(3, true);
        a.clear(0);
        b.clear(2);
        a.intersect(&b);
        assert_eq!([a.get(0), a.get(1), a.get(2)], [false, true, false]);
    }
}

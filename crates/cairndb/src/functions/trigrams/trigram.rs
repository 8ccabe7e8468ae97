//! The trigrams of a text, as `pg_trgm` has them: of each word, in small letters, with two blanks before and one behind it.
//!
//! A trigram is three bytes: those of its letters where these are ASCII, else three of a checksum of them.

use std::cmp::Ordering;

use crate::types::lower;

/// One of them. They are ordered as PostgreSQL orders them where `char` has a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trigram([u8; 3]);

impl Ord for Trigram {
    fn cmp(&self, other: &Trigram) -> Ordering {
        self.0.map(u8::cast_signed).cmp(&other.0.map(u8::cast_signed))
    }
}

impl PartialOrd for Trigram {
    fn partial_cmp(&self, other: &Trigram) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Trigram {
    fn of(letters: [char; 3]) -> Trigram {
        if letters.iter().all(char::is_ascii) {
            return Trigram(letters.map(|c| c as u8));
        }
        let text: String = letters.iter().collect();
        let [a, b, c, _] = checksum(text.as_bytes()).to_le_bytes();
        Trigram([a, b, c])
    }

    /// Its letters, or the number of a checksum.
    fn shown(self) -> String {
        match self.0.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ') {
            true => self.0.iter().map(|byte| char::from(*byte)).collect(),
            false => format!("0x{:02x}{:02x}{:02x}", self.0[0], self.0[1], self.0[2]),
        }
    }
}

/// CRC-32 as PostgreSQL once computed it, from the wrong end of its table; trigrams have it to this day.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| TABLE[((crc >> 24) as u8 ^ byte) as usize] ^ (crc << 8);
    !bytes.iter().fold(u32::MAX, step)
}

/// Of the reflected polynomial of CRC-32.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// A text's trigrams one after another, and which of them begin and end a word.
#[derive(Default)]
pub(super) struct Written {
    pub(super) trigrams: Vec<Trigram>,
    pub(super) begins: Vec<bool>,
    pub(super) ends: Vec<bool>,
}

impl Written {
    pub(super) fn of(text: &str) -> Written {
        let mut written = Written::default();
        let mut letters = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            letters.clear();
            letters.extend([' ', ' ']);
            letters.extend(word.chars().map(lower));
            letters.push(' ');
            written.add(&letters);
        }
        written
    }

    fn add(&mut self, letters: &[char]) {
        let count = letters.len().saturating_sub(2);
        let each = letters.windows(3).map(|three| Trigram::of([three[0], three[1], three[2]]));
        self.trigrams.extend(each);
        self.begins.extend((0..count).map(|at| at == 0));
        self.ends.extend((0..count).map(|at| at + 1 == count));
    }
}

/// A text's trigrams in order, each once.
pub(super) struct Trigrams(Vec<Trigram>);

impl Trigrams {
    pub(super) fn of(text: &str) -> Trigrams {
        let mut all = Written::of(text).trigrams;
        all.sort_unstable();
        all.dedup();
        Trigrams(all)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn has(&self, trigram: &Trigram) -> bool {
        self.0.binary_search(trigram).is_ok()
    }

    /// How many both have.
    pub(super) fn common(&self, other: &Trigrams) -> usize {
        let (mut ours, mut theirs, mut count) = (self.0.as_slice(), other.0.as_slice(), 0);
        while let ([a, more @ ..], [b, others @ ..]) = (ours, theirs) {
            let order = a.cmp(b);
            count += usize::from(order.is_eq());
            ours = if order.is_le() { more } else { ours };
            theirs = if order.is_ge() { others } else { theirs };
        }
        count
    }

    /// As `show_trgm()` says them.
    pub(super) fn shown(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|trigram| trigram.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_are_of_words_in_small_letters() {
        let shown = |text: &str| Trigrams::of(text).shown().collect::<Vec<_>>().join("|");
        assert_eq!(shown("Cat"), "  c| ca|at |cat");
        assert_eq!(shown("foo|bar"), "  b|  f| ba| fo|ar |bar|foo|oo ");
        assert_eq!((shown(""), shown("--")), (String::new(), String::new()));
    }
}

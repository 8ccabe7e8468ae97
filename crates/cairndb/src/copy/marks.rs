//! Where bytes that mean something stand: eight are looked at at once, and a word that has several gives one after the other.

const WORD: usize = 8;
/// The low bits of each byte, and its high one.
const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The places of three bytes, ascending.
pub(super) struct Marks<'b> {
    bytes: &'b [u8],
    /// Each in all bytes of a word.
    wanted: [u64; 3],
    /// Where the next word begins.
    next: usize,
    /// Those of the word before that are still to come: the high bit of each.
    found: u64,
}

impl<'b> Marks<'b> {
    /// From a place on.
    pub(super) fn new(bytes: &'b [u8], wanted: [u8; 3], from: usize) -> Marks<'b> {
        Marks { bytes, wanted: wanted.map(|byte| u64::from(byte) * 0x0101_0101_0101_0101), next: from, found: 0 }
    }

    /// The next one.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            let rest = self.bytes.get(self.next..).filter(|rest| !rest.is_empty())?;
            self.found = match rest.first_chunk() {
                Some(word) => self.look(u64::from_le_bytes(*word)),
                None => self.look_at_last(rest),
            };
            self.next += WORD;
        }
        let place = self.next - WORD + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(place)
    }

    /// The next one from a place on, which is behind the last one.
    #[inline]
    pub(super) fn pass_to(&mut self, place: usize) {
        match place.checked_sub(self.next.saturating_sub(WORD)) {
            Some(passed) if passed < WORD && place < self.next => self.found &= u64::MAX << (8 * passed),
            _ => (self.next, self.found) = (place, 0),
        }
    }

    #[inline]
    fn look(&self, word: u64) -> u64 {
        let [a, b, c] = self.wanted.map(|wanted| {
            let differs = word ^ wanted;
            // The high bit of each byte that is not 0.
            ((differs & LOW) + LOW) | differs
        });
        !(a & b & c) & !LOW
    }

    #[cold]
    fn look_at_last(&self, rest: &[u8]) -> u64 {
        let mut word = [0; WORD];
        word[..rest.len()].copy_from_slice(rest);
        self.look(u64::from_le_bytes(word)) & !(u64::MAX << (8 * rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_stand() {
        let mut seed = 1u32;
        for length in 0..60 {
            for round in 0..200 {
                let mut draw = |bound: u32| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 16) % bound
                };
                let alphabet: &[u8] = if round % 2 == 0 { b"\0\x01,;:\xac\x2d~" } else { b",aaaaaaaaaaaaaaa;" };
                let bytes: Vec<u8> = (0..length).map(|_| alphabet[draw(alphabet.len() as u32) as usize]).collect();
                let from = draw(length + 1) as usize;
                let mut marks = Marks::new(&bytes, *b",;,", from);
                let mut at = from;
                loop {
                    let expected = (at..bytes.len()).find(|&at| matches!(bytes[at], b',' | b';'));
                    assert_eq!(marks.next(), expected, "{bytes:?} from {from}");
                    let Some(found) = expected else { break };
                    at = found + 1;
                    if draw(3) == 0 {
                        at += draw(12) as usize;
                        marks.pass_to(at);
                    }
                }
            }
        }
    }
}

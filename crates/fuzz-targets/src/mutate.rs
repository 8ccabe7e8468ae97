//! Small deterministic changes to seeds, for machines without `cargo fuzz`: not guided by coverage, and so no
//! replacement for it, but the same inputs everywhere.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream that depends on the seed alone.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 where there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }
}

/// Makes inputs from seeds.
pub struct Mutator<'a> {
    seeds: &'a [Vec<u8>],
    random: Random,
}

/// Inputs are cut here.
const LENGTH_MAX: usize = 4096;

impl<'a> Mutator<'a> {
    /// Changes to these seeds.
    pub fn new(seeds: &'a [Vec<u8>], seed: u64) -> Mutator<'a> {
        Mutator { seeds, random: Random::new(seed) }
    }

    /// The next input: a seed with one to four changes.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.seed().to_vec();
        for _ in 0..=self.random.below(4) {
            self.change(&mut input);
        }
        input.truncate(LENGTH_MAX);
        input
    }

    fn seed(&mut self) -> &'a [u8] {
        self.seeds.get(self.random.below(self.seeds.len())).map_or(&[], Vec::as_slice)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len());
        match self.random.below(7) {
            0 if !input.is_empty() => input[at] ^= 1 << self.random.below(8),
            1 if !input.is_empty() => input[at] = self.random.bits() as u8,
            2 => input.insert(at, self.random.bits() as u8),
            3 => drop(input.drain(at..(at + 1 + self.random.below(8)).min(input.len()))),
            4 => {
                let piece = self.piece_of(input.clone());
                input.splice(at..at, piece);
            }
            _ => {
                let piece = self.piece_of(self.seeds[self.random.clone().below(self.seeds.len())].clone());
                let end = (at + self.random.below(piece.len())).min(input.len());
                input.splice(at..end, piece);
            }
        }
    }

    fn piece_of(&mut self, mut from: Vec<u8>) -> Vec<u8> {
        let start = self.random.below(from.len());
        let end = (start + 1 + self.random.below(40)).min(from.len());
        from.truncate(end);
        from.split_off(start.min(end))
    }
}

//! Small deterministic randomness (SplitMix64).

/// A stream of numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A stream of its own for each pair, so that the choice for one thing does not depend on how many came before.
    pub(super) fn of(seed: u64, thing: u64) -> Random {
        Random(Random(seed ^ thing.wrapping_mul(0xd6e8_feb8_6659_fd93)).next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True in `parts` of `whole` cases.
    pub(super) fn chance(&mut self, parts: u64, whole: u64) -> bool {
        self.below(whole) < parts
    }
}

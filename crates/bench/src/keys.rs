//! Keys by a seeded generator: every engine meets the same ones.

/// SplitMix64: small, quick, and good enough for keys.
#[derive(Debug, Clone)]
pub struct Keys {
    state: u64,
}

impl Keys {
    pub fn new(seed: u64) -> Keys {
        Keys { state: seed }
    }

    /// The next random number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A key of a table of `rows` rows.
    pub fn below(&mut self, rows: i64) -> i64 {
        (self.draw() % rows.max(1) as u64) as i64
    }
}

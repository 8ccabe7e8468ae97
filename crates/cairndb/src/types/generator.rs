//! Random numbers of a session.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What a session's `random()` draws from: begun by the system, so that no session's values tell another's, or by `setseed`.
/// (splitmix64; not for secrets.)
#[derive(Debug, Default)]
pub(crate) struct Generator {
    /// Zero: not seeded yet.
    state: AtomicU64,
}

impl Generator {
    /// How far the state moves at each step.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Uniform in [0, 1).
    pub(crate) fn unit(&self) -> f64 {
        if self.state.load(Relaxed) == 0 {
            let seed = getrandom::u64().unwrap_or(1) | 1;
            // (Whoever else seeded it meanwhile did as well.)
            let _ = self.state.compare_exchange(0, seed, Relaxed, Relaxed);
        }
        mixed(self.state.fetch_add(Generator::STEP, Relaxed).wrapping_add(Generator::STEP))
    }

    /// The same values follow the same seed.
    pub(crate) fn seed(&self, seed: f64) {
        // Zero and minus zero are one seed.
        self.state.store((seed + 0.0).to_bits() | 1, Relaxed);
    }

    /// Begins anew, by the system: for another user.
    pub(crate) fn forget(&self) {
        self.state.store(0, Relaxed);
    }
}

/// A number in [0, 1) made of all bits of another.
pub(crate) fn mixed(state: u64) -> f64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

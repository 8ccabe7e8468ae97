//! How large the range of addresses is in which a cache has its frames: what there may be of memory for it.
//!
//! What must hold:
//! - A size is address space: memory is taken when a frame is first used, so a share costs nothing before that.
//! - A size that somebody chose is what he chose. Otherwise a cache has room for all the memory that it takes part in, where
//!   addresses are plenty and memory can be given back (a 64-bit Linux, without `ulimit -v`).
//! - Where they are not, all shares of a process together are at most a third of the memory that it may use, but for the least that
//!   each has. The first is a quarter; a later one is half of what is left of the third, so that however many databases are opened,
//!   each finds some. A share is given back when its cache goes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::budget::{Memory, usable};
use crate::system_memory;

/// The least that a share is.
const LEAST: u64 = 16 << 20;

/// The part of the memory that all shares have together, and that the first has.
const ALL: u64 = 3;
const FIRST: u64 = 4;

/// What the shares that live now have together. (No lock, which a thread might have while another one forks.)
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A cache's size while the cache lives.
#[derive(Debug)]
pub(super) struct Share {
    bytes: u64,
    is_chosen: bool,
    /// It is counted, and given back at the end.
    is_counted: bool,
}

impl Share {
    /// Of so many bytes, or of what there is of the memory where that is 0.
    pub(super) fn new(chosen: usize, memory: Option<&Memory>) -> Share {
        let all = memory.map_or(u64::MAX, |memory| memory.bytes() as u64);
        if chosen > 0 {
            return Share { bytes: all.min(chosen as u64), is_chosen: true, is_counted: false };
        }
        if !is_space_scarce() {
            return Share { bytes: all, is_chosen: false, is_counted: false };
        }
        let mut bytes = 0;
        update(|taken| {
            bytes = share_of(usable(), taken).min(all);
            taken + bytes
        });
        Share { bytes, is_chosen: false, is_counted: true }
    }

    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }

    /// Whether a smaller one will do where there is no room for this.
    pub(super) fn halve(&mut self) -> bool {
        if self.is_chosen || self.bytes / 2 < LEAST {
            return false;
        }
        let left = self.bytes / 2;
        if self.is_counted {
            give_back(self.bytes - left);
        }
        self.bytes = left;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.is_counted {
            give_back(self.bytes);
        }
    }
}

/// Whether addresses are few, or memory stays where it was used once.
fn is_space_scarce() -> bool {
    static IS_SCARCE: OnceLock<bool> = OnceLock::new();
    let is_plenty = cfg!(all(target_os = "linux", target_pointer_width = "64", not(miri)));
    !is_plenty || *IS_SCARCE.get_or_init(|| system_memory::is_space_limited(&system_memory::read))
}

fn give_back(bytes: u64) {
    update(|taken| taken.saturating_sub(bytes));
}

fn update(mut change: impl FnMut(u64) -> u64) {
    let _ = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| Some(change(taken)));
}

/// What the next gets of so much memory.
fn share_of(memory: u64, taken: u64) -> u64 {
    let share = match taken {
        0 => memory / FIRST,
        _ => (memory / ALL).saturating_sub(taken) / 2,
    };
    // In an address space of 32 bits there is less room than memory.
    (share >> 20 << 20).clamp(LEAST, if cfg!(target_pointer_width = "64") { u64::MAX } else { 256 << 20 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_takes_a_quarter_and_all_together_a_third() {
        const MEMORY: u64 = 24 << 30;
        let mut taken = 0;
        let mut shares = Vec::new();
        for _ in 0..20 {
            shares.push(share_of(MEMORY, taken));
            taken += shares[shares.len() - 1];
        }
        assert_eq!(shares[..3], [6 << 30, 1 << 30, 512 << 20]);
        assert_eq!(shares[19], LEAST);
        assert!(taken <= MEMORY / 3 + 20 * LEAST);
        assert_eq!(share_of(1 << 20, 0), LEAST);
    }

    #[test]
    fn a_share_is_given_back_and_a_chosen_size_is_none() {
        let chosen = Share::new(5 << 20, None);
        assert_eq!(chosen.bytes(), 5 << 20);
        assert_eq!(Share::new(5 << 20, Some(&Memory::shared(4 << 20))).bytes(), 4 << 20);
        let mut share = Share { bytes: 64 << 20, is_chosen: false, is_counted: true };
        assert!(share.halve() && share.halve() && !share.halve());
        assert_eq!(share.bytes(), 16 << 20);
        std::mem::forget(share);
        assert!(!Share::new(64 << 20, None).halve());
        let mut share = Share { bytes: 64 << 20, is_chosen: false, is_counted: false };
        assert!(share.halve() && share.bytes() == 32 << 20);
    }
}

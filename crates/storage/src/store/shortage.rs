//! A cache shrinks while memory is short: before the system kills somebody for it, or has others' programs read anew.
//!
//! Memory is short where less than an eighth is left, of the machine's (at most 1 GiB) or of one of the process's control groups'.
//! Then chunks go back until there is twice as much, at most half of what the cache has at a time, and the cache does not grow
//! before there is three times as much.

use std::time::Duration;

use crate::engine::Engine;
use crate::page::LARGE;
use crate::system_memory::MemoryLeft;

/// The part of all memory that is to be left, and its most.
const PART: u64 = 8;
const MOST: u64 = 1 << 30;

/// How often it is looked at how much is left: where there is enough, and where it may soon be short.
const SELDOM: Duration = Duration::from_secs(1);
const OFTEN: Duration = Duration::from_millis(50);

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measures {
    release: u64,
    /// `None`: as before.
    may_grow: Option<bool>,
    look_again: Duration,
}

impl Measures {
    fn for_what_is(MemoryLeft { left, all }: MemoryLeft) -> Measures {
        let enough = (all / PART).min(MOST);
        let is_short = left < enough;
        Measures {
            release: if is_short { 2 * enough - left } else { 0 },
            may_grow: if is_short { Some(false) } else { (left > 3 * enough).then_some(true) },
            look_again: if left < 4 * enough { OFTEN } else { SELDOM },
        }
    }
}

/// When the house thread looked, and when it will.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    next: Option<Duration>,
}

impl Engine {
    /// Gives memory back if it is short; how long until that is to be asked again, if it is.
    pub(super) fn shrink_if_short(&self, shortage: &mut Shortage) -> Option<Duration> {
        if !self.pages.is_large() {
            return None;
        }
        let now = self.env.host.now();
        if let Some(next) = shortage.next.filter(|next| *next > now) {
            return Some(next - now);
        }
        let measures = Measures::for_what_is(self.env.host.memory_left()?);
        measures.may_grow.into_iter().for_each(|may| self.pages.let_grow(may));
        let taken = self.pages.memory_taken();
        if measures.release > 0 && taken > LARGE {
            let most = usize::try_from(measures.release).unwrap_or(usize::MAX).min(taken / 2);
            // What can not be written now is not in the way of who waits for the house to be kept.
            let _ = self.pages.release_memory(most);
        }
        shortage.next = Some(now + measures.look_again);
        Some(measures.look_again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_back_before_it_is_gone_and_comes_again_when_there_is_plenty() {
        let of = |left: u64, all: u64| Measures::for_what_is(MemoryLeft { left: left << 20, all: all << 20 });
        let nothing = Measures { release: 0, may_grow: None, look_again: OFTEN };
        assert_eq!(of(100, 1024), Measures { release: 156 << 20, may_grow: Some(false), look_again: OFTEN });
        assert_eq!(of(0, 1024), Measures { release: 256 << 20, may_grow: Some(false), look_again: OFTEN });
        assert_eq!(of(128, 1024), nothing);
        assert_eq!(of(384, 1024), nothing);
        assert_eq!(of(385, 1024), Measures { may_grow: Some(true), ..nothing });
        assert_eq!(of(600, 1024), Measures { may_grow: Some(true), look_again: SELDOM, release: 0 });
        // Of a large machine's a gibibyte is enough.
        assert_eq!(of(2048, 64 << 10), nothing);
        assert_eq!(of(1000, 64 << 10).release, 1048 << 20);
    }
}

//! How large a cache is where nobody says it: a share of the memory that the process may use.
//!
//! What must hold:
//! - A size is address space: memory is taken when a frame is first used, so a share costs nothing before that.
//! - All shares of a process together are at most a third of the memory that it may use, but for the least that each has. The first
//!   is a quarter; a later one is half of what is left of the third, so that however many databases are opened, each finds some.
//!   A share is given back when its cache goes. Sizes that somebody chose are no shares, and are not counted.
//! - What the process may use is the least of the machine's memory, of what its control groups let it have (version 1 and 2,
//!   and those around its own), and of its address space (`ulimit -v`), of which its other mappings take a part.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The least that a share is.
const LEAST: u64 = 16 << 20;

/// Where it can not be learned how much memory there is.
const UNKNOWN: u64 = 1 << 30;

/// The part of the memory that all shares have together, and that the first has.
const ALL: u64 = 3;
const FIRST: u64 = 4;

/// What the shares that live now have together. (No lock, which a thread might have while another one forks.)
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A cache's size while the cache lives.
#[derive(Debug)]
pub(super) struct Share {
    bytes: u64,
    /// It is counted, and given back at the end.
    is_counted: bool,
}

impl Share {
    /// Of so many bytes, or of the process's memory where that is 0.
    pub(super) fn new(chosen: usize) -> Share {
        if chosen > 0 {
            return Share { bytes: chosen as u64, is_counted: false };
        }
        static LIMIT: OnceLock<u64> = OnceLock::new();
        let limit = *LIMIT.get_or_init(|| usable_memory(&|path| std::fs::read_to_string(path).ok()));
        let mut bytes = 0;
        update(|taken| {
            bytes = share_of(limit, taken);
            taken + bytes
        });
        Share { bytes, is_counted: true }
    }

    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }

    /// Whether a smaller one will do where there is no room for this.
    pub(super) fn halve(&mut self) -> bool {
        if !self.is_counted || self.bytes / 2 < LEAST {
            return false;
        }
        let left = self.bytes / 2;
        give_back(self.bytes - left);
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

/// The memory that the process may use, as files say it.
fn usable_memory(read: &dyn Fn(&Path) -> Option<String>) -> u64 {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| kibibytes(&text, "MemTotal:"));
    let groups = read(Path::new("/proc/self/cgroup")).map(|text| group_limit(&text, read)).unwrap_or(u64::MAX);
    let space = read(Path::new("/proc/self/limits")).and_then(|text| address_space(&text)).unwrap_or(u64::MAX);
    machine.unwrap_or(UNKNOWN).min(groups).min(space)
}

/// The value of a line of `/proc/meminfo`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The limit of the address space, in `/proc/self/limits`; none where it says "unlimited".
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The least limit of the process's control groups and of those that they lie in.
fn group_limit(groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> u64 {
    let mut least = u64::MAX;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (mount, file) = match controllers.split(',').any(|controller| controller == "memory") {
            true => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            false if controllers.is_empty() => ("/sys/fs/cgroup", "memory.max"),
            false => continue,
        };
        let group = PathBuf::from(group.trim_start_matches('/'));
        // In a container the group's name may be that of outside, which is not there: then the mount itself is its group.
        for around in group.ancestors() {
            let limit = read(&Path::new(mount).join(around).join(file)).and_then(|text| text.trim().parse().ok());
            least = least.min(limit.unwrap_or(u64::MAX));
        }
    }
    least
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
        let chosen = Share::new(5 << 20);
        assert_eq!(chosen.bytes(), 5 << 20);
        let mut share = Share { bytes: 64 << 20, is_counted: true };
        assert!(share.halve() && share.halve() && !share.halve());
        assert_eq!(share.bytes(), 16 << 20);
        std::mem::forget(share);
        assert!(!Share::new(5 << 20).halve());
    }

    fn said(files: &[(&str, &str)]) -> u64 {
        let text =
            |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string());
        usable_memory(&text)
    }

    #[test]
    fn the_least_of_machine_groups_and_address_space_counts() {
        let machine = ("/proc/meminfo", "MemTotal:       24576000 kB\nMemFree: 1 kB\n");
        let unlimited =
            ("/proc/self/limits", "Limit  Soft\nMax address space         unlimited            unlimited  bytes\n");
        assert_eq!(said(&[]), UNKNOWN);
        assert_eq!(said(&[machine, unlimited]), 24_576_000 << 10);
        let limited =
            ("/proc/self/limits", "Max address space         4294967296           unlimited            bytes\n");
        assert_eq!(said(&[machine, limited]), 4 << 30);
        // Version 2: of the group around it.
        let two = ("/proc/self/cgroup", "0::/user/app\n");
        let of_app = ("/sys/fs/cgroup/user/app/memory.max", "max\n");
        let of_user = ("/sys/fs/cgroup/user/memory.max", "1073741824\n");
        assert_eq!(said(&[machine, two, of_app, of_user]), 1 << 30);
        // Version 1, in a container that sees its own group only.
        let one = ("/proc/self/cgroup", "3:cpu:/x\n2:memory:/docker/abc\n");
        let of_mount = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
        assert_eq!(said(&[machine, one, of_mount]), 512 << 20);
    }
}

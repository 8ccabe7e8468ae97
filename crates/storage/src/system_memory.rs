//! How much memory the process may use, and how much of that is left, as the system's files say.

use std::path::{Path, PathBuf};

/// Where it can not be learned how much memory there is.
const UNKNOWN: u64 = 1 << 30;

/// Memory that is not in use by anybody who needs it, of all that there is: bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// What is left.
    pub left: u64,
    /// Of so much.
    pub all: u64,
}

/// A file's text.
pub(crate) fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The memory that the process may use: the least of the machine's, of what its control groups let it have, and of its address
/// space.
pub(crate) fn usable(read: &dyn Fn(&Path) -> Option<String>) -> u64 {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| kibibytes(&text, "MemTotal:"));
    let groups = groups(read).iter().map(|group| group.limit).min().unwrap_or(u64::MAX);
    let space = read(Path::new("/proc/self/limits")).and_then(|text| address_space(&text)).unwrap_or(u64::MAX);
    machine.unwrap_or(UNKNOWN).min(groups).min(space)
}

/// Whether the process may have only so many addresses (`ulimit -v`).
pub(crate) fn is_space_limited(read: &dyn Fn(&Path) -> Option<String>) -> bool {
    read(Path::new("/proc/self/limits")).is_some_and(|text| address_space(&text).is_some())
}

/// What is left for the process where there is least for it: on the machine, or in one of its control groups. What files have of
/// memory, and nobody used for a while, is left. `None`: the system does not say.
pub(crate) fn left(read: &dyn Fn(&Path) -> Option<String>) -> Option<MemoryLeft> {
    let text = read(Path::new("/proc/meminfo"))?;
    let machine = MemoryLeft { left: kibibytes(&text, "MemAvailable:")?, all: kibibytes(&text, "MemTotal:")? };
    let of_groups = groups(read).into_iter().filter(|group| group.limit < machine.all);
    let all = of_groups.filter_map(|group| group.left(read)).chain([machine]);
    all.min_by_key(|memory| memory.left)
}

/// The value of a line of `/proc/meminfo`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    number(text, name)?.checked_mul(1024)
}

/// The number of a line that begins with a name.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The limit of the address space, in `/proc/self/limits`; none where it says "unlimited".
fn address_space(text: &str) -> Option<u64> {
    number(text, "Max address space")
}

/// A control group with a limit of memory.
struct Group {
    path: PathBuf,
    is_first_version: bool,
    limit: u64,
}

impl Group {
    fn left(&self, read: &dyn Fn(&Path) -> Option<String>) -> Option<MemoryLeft> {
        let [used, inactive] = match self.is_first_version {
            true => ["memory.usage_in_bytes", "total_inactive_file "],
            false => ["memory.current", "inactive_file "],
        };
        let used = read(&self.path.join(used))?.trim().parse::<u64>().ok()?;
        let files = read(&self.path.join("memory.stat")).and_then(|text| number(&text, inactive)).unwrap_or(0);
        Some(MemoryLeft { left: self.limit.saturating_sub(used.saturating_sub(files)), all: self.limit })
    }
}

/// The process's control groups and those that they lie in, as far as they have a limit.
fn groups(read: &dyn Fn(&Path) -> Option<String>) -> Vec<Group> {
    let mut found = Vec::new();
    for line in read(Path::new("/proc/self/cgroup")).unwrap_or_default().lines() {
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
            let path = Path::new(mount).join(around);
            if let Some(limit) = read(&path.join(file)).and_then(|text| text.trim().parse().ok()) {
                found.push(Group { path, is_first_version: file != "memory.max", limit });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(files: &[(&str, &str)]) -> u64 {
        let text =
            |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string());
        usable(&text)
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

    #[test]
    fn what_is_left_is_least_in_the_tightest_group() {
        let left_of = |files: &[(&str, &str)]| {
            left(&|path: &Path| {
                files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string())
            })
        };
        assert_eq!(left_of(&[]), None);
        let machine = ("/proc/meminfo", "MemTotal:  1000 kB\nMemAvailable:  400 kB\n");
        assert_eq!(left_of(&[machine]), Some(MemoryLeft { left: 400 << 10, all: 1000 << 10 }));
        let two = ("/proc/self/cgroup", "0::/user/app\n");
        let of_app = [
            ("/sys/fs/cgroup/user/app/memory.max", "500000\n"),
            ("/sys/fs/cgroup/user/app/memory.current", "450000\n"),
            ("/sys/fs/cgroup/user/app/memory.stat", "active_file 7\ninactive_file 100000\n"),
            ("/sys/fs/cgroup/user/memory.max", "max\n"),
        ];
        let all = [&[machine, two][..], &of_app].concat();
        assert_eq!(left_of(&all), Some(MemoryLeft { left: 150_000, all: 500_000 }));
        let one = ("/proc/self/cgroup", "2:memory:/a\n");
        let of_a = [
            ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000\n"),
            ("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "310000\n"),
            ("/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 9\ntotal_inactive_file 20000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let all = [&[machine, one][..], &of_a].concat();
        assert_eq!(left_of(&all), Some(MemoryLeft { left: 10_000, all: 300_000 }));
    }
}

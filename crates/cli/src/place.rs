//! Where a file is and how it is written: a durable commit costs what the disk under it costs.

use std::path::Path;

use cairndb::SyncMethod;

/// How commits reach the medium, and which file system that is: `one write with RWF_DSYNC, ext4 on /dev/sda1`.
pub fn medium(path: &Path, method: Option<SyncMethod>) -> String {
    let method = match method {
        Some(SyncMethod::DirectDsync) => "one O_DIRECT write with RWF_DSYNC",
        Some(SyncMethod::Dsync) => "one write with RWF_DSYNC",
        Some(SyncMethod::WriteSync) => "a write and fdatasync",
        Some(SyncMethod::FullFsync) => "a write and F_FULLFSYNC",
        Some(SyncMethod::MemoryFile) => "one write; the file is in memory",
        Some(SyncMethod::Auto) | None => "an unknown way of writing",
    };
    format!("{method}, {}", file_system(path))
}

/// The file system's type and device, as far as the operating system says: `ext4 on /dev/sda1`.
fn file_system(path: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    find(&mounts, &path).unwrap_or_else(|| "an unknown file system".to_string())
}

fn find(mounts: &str, path: &Path) -> Option<String> {
    let mount = |line: &str| {
        let mut words = line.split(' ').map(str::to_string);
        Some((words.next()?, words.next()?.replace("\\040", " "), words.next()?))
    };
    let under = mounts.lines().filter_map(mount).filter(|(_, place, _)| path.starts_with(place));
    // Of mounts on the same place the last hides the others.
    let (device, _, kind) = under.max_by_key(|(_, place, _)| place.len())?;
    Some(format!("{kind} on {device}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_above_the_file_counts() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/sdb /my\\040disk xfs rw 0 0\n";
        assert_eq!(find(mounts, Path::new("/home/x")).unwrap(), "ext4 on /dev/sda1");
        assert_eq!(find(mounts, Path::new("/tmp/x")).unwrap(), "tmpfs on tmpfs");
        assert_eq!(find(mounts, Path::new("/my disk/x")).unwrap(), "xfs on /dev/sdb");
        assert_eq!(find("", Path::new("/x")), None);
    }
}

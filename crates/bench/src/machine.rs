//! What the numbers were measured on.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A machine and its system; empty where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: usize,
    pub processor: String,
    pub memory_mib: u64,
    pub system: String,
    pub kernel: String,
}

impl Machine {
    pub fn here() -> Machine {
        let memory_kib = line_of("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok());
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_string()),
            memory_mib: memory_kib.map_or(0, |kib: u64| kib / 1024),
            system: std::env::consts::OS.to_string(),
            kernel: kernel.trim().to_string(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cores, processor, memory_mib, system, kernel } = self;
        write!(to, "{cores} cores, {processor}, {memory_mib} MiB, {system} {kernel}")
    }
}

/// How many processes ran or wanted to, on average over the last minute: a busy machine measures badly.
pub fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// The type of the file system that a folder is on.
pub fn filesystem_of(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?.to_string(), words.next()?.to_string());
        dir.starts_with(&point).then_some((point, kind))
    };
    // The innermost mount is the one that holds the folder; of two at one place, the later hides the earlier.
    mounts.lines().filter_map(mount).max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind)
}

/// What follows `name:` in a file of such lines.
fn line_of(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_string())
}

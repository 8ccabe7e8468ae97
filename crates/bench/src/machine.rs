//! What the numbers were measured on.

/// The machine and its system, in one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_string());
    let memory = line_of("/proc/meminfo", "MemTotal").unwrap_or_else(|| "memory unknown".to_string());
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let system = std::env::consts::OS;
    format!("{cores} cores, {model}, {memory}, {system} {}; cairndb {}", kernel.trim(), env!("CARGO_PKG_VERSION"))
}

/// What follows `name:` in a file of such lines.
fn line_of(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_string())
}

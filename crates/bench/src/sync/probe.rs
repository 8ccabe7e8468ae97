//! Durable writes for a while, timed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::method::{Method, Space};
use crate::Result;
use crate::latency::Latencies;

/// The largest write.
const LARGEST: usize = 64 << 10;
/// Space of each thread.
const REGION: u64 = 8 << 20;

/// Memory as `O_DIRECT` wants it.
#[repr(C, align(4096))]
struct Block([u8; LARGEST]);

/// Writes of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    pub method: Method,
    pub space: Space,
    pub bytes: usize,
    pub threads: usize,
}

/// What they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    pub p50_us: f64,
    pub p99_us: f64,
    /// Of all threads together.
    pub per_second: f64,
}

/// Where files to write into are, and for how long each probe runs.
#[derive(Debug)]
pub struct Medium {
    dir: PathBuf,
    seconds: f64,
    /// Written before, for all probes of that kind.
    written: PathBuf,
}

impl Medium {
    pub fn new(dir: &Path, seconds: f64, threads: usize) -> Result<Medium> {
        let written = dir.join("written");
        Space::Written.create(&written, REGION * threads as u64)?;
        Ok(Medium { dir: dir.to_path_buf(), seconds, written })
    }

    /// An error where the method does not work here.
    pub fn time(&self, probe: Probe) -> Result<Took> {
        let path = self.file(probe)?;
        let outcome = self.in_threads(&path, probe);
        if path != self.written {
            std::fs::remove_file(&path)?;
        }
        outcome
    }

    fn file(&self, probe: Probe) -> Result<PathBuf> {
        if probe.space == Space::Written {
            return Ok(self.written.clone());
        }
        let path = self.dir.join("space");
        probe.space.create(&path, REGION * probe.threads as u64)?;
        Ok(path)
    }

    fn in_threads(&self, path: &Path, probe: Probe) -> Result<Took> {
        let one = |thread: usize| self.writes(path, probe, REGION * thread as u64);
        let done: Vec<Result<(Latencies, Duration)>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..probe.threads).map(|thread| scope.spawn(move || one(thread))).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|_| Err("a thread panicked".into())))
                .collect()
        });
        let mut all = Latencies::new()?;
        let mut per_second = 0.0;
        for one in done {
            let (latencies, took) = one?;
            per_second += latencies.count() as f64 / took.as_secs_f64();
            all.merge(&latencies)?;
        }
        Ok(Took { p50_us: all.quantile_us(0.5), p99_us: all.quantile_us(0.99), per_second })
    }

    /// Writes one after the other from `start`; until the time is over or, where each place counts only once, the space.
    fn writes(&self, path: &Path, probe: Probe, start: u64) -> Result<(Latencies, Duration)> {
        let file = probe.method.open(path)?;
        let mut block = Box::new(Block([0x5a; LARGEST]));
        let mut latencies = Latencies::new()?;
        let places = REGION / probe.bytes as u64;
        let began = Instant::now();
        let mut at = 0;
        while began.elapsed().as_secs_f64() < self.seconds && (at < places || probe.space == Space::Written) {
            block.0[..8].copy_from_slice(&(at + 1).to_le_bytes());
            let offset = start + at % places * probe.bytes as u64;
            latencies.time(|| probe.method.write(&file, &block.0[..probe.bytes], offset))?;
            at += 1;
        }
        Ok((latencies, began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_space_is_measured_by_some_method() {
        let dir = tempfile::tempdir().unwrap();
        let medium = Medium::new(dir.path(), 0.02, 2).unwrap();
        for space in Space::ALL {
            let probe = Probe { method: Method::Fdatasync, space, bytes: 4096, threads: 2 };
            let took = medium.time(probe).unwrap();
            assert!(took.p50_us > 0.0 && took.p99_us >= took.p50_us && took.per_second > 0.0, "{space:?}: {took:?}");
        }
    }
}

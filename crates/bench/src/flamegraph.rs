//! Where the time went: our own threads' stacks, sampled by a timer signal while the workloads run, drawn as a flame graph.
//!
//! Needs no root and no other program. Samples are taken while a thread runs (the timer counts processor time, the kernel's
//! on our behalf included), so waiting does not show; what is inside the system's clock page is left out.

use std::path::Path;

use crate::Result;

/// Stacks that were seen, as a tree from the threads down.
#[derive(Debug, Default)]
pub struct Stacks {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    samples: u64,
    /// In the order in which they were first seen.
    callees: Vec<(String, Node)>,
}

impl Stacks {
    /// Adds a stack that was seen this often, from the outermost frame to the innermost.
    pub fn add(&mut self, frames: impl Iterator<Item = String>, samples: u64) {
        let mut node = &mut self.root;
        node.samples += samples;
        for frame in frames {
            node = node.callee(frame);
            node.samples += samples;
        }
    }

    pub fn samples(&self) -> u64 {
        self.root.samples
    }

    /// As a picture, the outermost frames at the bottom.
    pub fn picture(&self, title: &str) -> String {
        draw::picture(&self.root, title)
    }
}

impl Node {
    fn callee(&mut self, name: String) -> &mut Node {
        let at = self.callees.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.callees.push((name, Node::default()));
            self.callees.len() - 1
        });
        &mut self.callees[at].1
    }

    /// Frames on top of each other, those left out that are too small to see.
    fn depth(&self, least: u64) -> usize {
        let deepest = self.callees.iter().filter(|(_, node)| node.samples >= least).map(|(_, node)| node.depth(least));
        1 + deepest.max().unwrap_or(0)
    }
}

/// Runs `work` with the sampler, and writes the picture; without a file, just runs it.
pub fn around<T>(file: Option<&Path>, title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(file) = file else { return work() };
    let sampler = sampler::start()?;
    let outcome = work()?;
    let stacks = sampler::stop(sampler)?;
    if stacks.samples() == 0 {
        return Err("the sampler saw nothing: the run was too short".into());
    }
    std::fs::write(file, stacks.picture(title)).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("\n{} samples in {}", stacks.samples(), file.display());
    Ok(outcome)
}

#[cfg(unix)]
mod sampler {
    use pprof::{ProfilerGuard, ProfilerGuardBuilder};

    use pprof::Symbol;

    use super::{Stacks, begin_of_work, qualified};
    use crate::Result;

    /// Samples per second of processor time; not a round number, so as not to beat with what is periodic.
    const FREQUENCY: i32 = 997;

    pub fn start() -> Result<ProfilerGuard<'static>> {
        Ok(ProfilerGuardBuilder::default().frequency(FREQUENCY).blocklist(&["vdso"]).build()?)
    }

    pub fn stop(sampler: ProfilerGuard<'static>) -> Result<Stacks> {
        let report = sampler.report().build()?;
        drop(sampler);
        let mut stacks = Stacks::default();
        let mut seen: Vec<_> = report.data.iter().collect();
        // A map's order is random; a picture's should not be.
        seen.sort_by_cached_key(|(frames, _)| format!("{frames:?}"));
        for (frames, count) in seen {
            let calls = frames.frames.iter().rev().flat_map(|frame| frame.iter().rev());
            let calls: Vec<String> = calls.map(name_of).collect();
            let calls = calls[begin_of_work(&calls)..].iter().cloned();
            stacks.add(std::iter::once(frames.thread_name_or_id()).chain(calls), (*count).max(0) as u64);
        }
        Ok(stacks)
    }

    fn name_of(symbol: &Symbol) -> String {
        let file = symbol.filename.as_ref().map(|file| file.to_string_lossy()).unwrap_or_default();
        qualified(&symbol.name(), &file)
    }
}

/// What a thread begins with, up to here, is the same for all.
fn begin_of_work(calls: &[String]) -> usize {
    calls.iter().rposition(|call| call.contains("__rust_begin_short_backtrace")).map_or(0, |at| at + 1)
}

/// A function's path without generic arguments. Of inlined functions the debug information has the bare name: the crate
/// and module are read from the source file.
fn qualified(name: &str, file: &str) -> String {
    let name = if name.starts_with('<') { name.to_string() } else { without_arguments(name) };
    match module_of(file) {
        Some(module) if !name.contains("::") => format!("{module}::{name}"),
        _ => name,
    }
}

fn without_arguments(name: &str) -> String {
    let (mut out, mut depth, mut last) = (String::new(), 0, ' ');
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
        last = c;
    }
    out.trim_end_matches(':').replace("::::", "::")
}

/// `crates/storage/src/tree/read.rs` is `cairn_storage::tree::read`; of other crates the name alone.
fn module_of(file: &str) -> Option<String> {
    let (before, path) = file.rsplit_once("/src/").or_else(|| file.split_once("src/"))?;
    let folder = before.trim_end_matches('/').rsplit('/').next()?;
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
    let is_ours = before.trim_end_matches(folder).trim_end_matches('/').ends_with("crates");
    let (name, version) = folder.rsplit_once('-').unwrap_or((folder, ""));
    Some(match (is_ours, folder) {
        (true, "cairndb") => format!("cairndb::{path}"),
        (true, _) => format!("cairn_{folder}::{path}"),
        (false, _) if version.starts_with(|c: char| c.is_ascii_digit()) => name.replace('-', "_"),
        (false, _) => return None,
    })
}

#[cfg(not(unix))]
mod sampler {
    use super::Stacks;
    use crate::Result;

    pub fn start() -> Result<()> {
        Err("--flamegraph works on Unix only".into())
    }

    pub fn stop(_: ()) -> Result<Stacks> {
        Ok(Stacks::default())
    }
}

mod draw {
    use super::Node;
    use crate::page::{Anchor, Svg, style_of_picture};

    const WIDTH: f64 = 1400.0;
    const ROW: f64 = 17.0;
    const TOP: f64 = 34.0;
    /// Of a letter, about.
    const LETTER: f64 = 6.3;
    /// Frames narrower than this are left out.
    const NARROWEST: f64 = 0.6;

    pub fn picture(root: &Node, title: &str) -> String {
        let per_sample = WIDTH / root.samples.max(1) as f64;
        let least = (NARROWEST / per_sample).ceil() as u64;
        let height = TOP + ROW * root.depth(least) as f64;
        let mut svg = Svg::new(WIDTH, height);
        svg.text((4.0, 20.0), Anchor::Start, "title", title);
        let mut flames = Flames { svg, total: root.samples, per_sample, least };
        flames.frame("all", root, 0.0, height - ROW);
        flames.svg.file(&style_of_picture())
    }

    struct Flames {
        svg: Svg,
        total: u64,
        per_sample: f64,
        least: u64,
    }

    impl Flames {
        fn frame(&mut self, name: &str, node: &Node, x: f64, y: f64) {
            let width = node.samples as f64 * self.per_sample;
            let share = node.samples as f64 / self.total.max(1) as f64 * 100.0;
            let title = format!("{name}: {} samples, {share:.2} %", node.samples);
            self.svg.rect((x, y), (width - 0.5, ROW - 1.0), class_of(name), &title);
            let letters = ((width - 6.0) / LETTER) as usize;
            if letters >= 3 {
                self.svg.text((x + 3.0, y + 12.0), Anchor::Start, "flame", &shortened(name, letters));
            }
            let mut left = x;
            let mut callees: Vec<_> = node.callees.iter().collect();
            callees.sort_by(|a, b| a.0.cmp(&b.0));
            for (callee, below) in callees {
                if below.samples >= self.least {
                    self.frame(callee, below, left, y - ROW);
                }
                left += below.samples as f64 * self.per_sample;
            }
        }
    }

    /// Ours apart from the other engines' and the system's.
    fn class_of(name: &str) -> &'static str {
        let ours = ["cairndb::", "cairn_storage::"].iter().any(|krate| name.contains(krate));
        let bench = name.contains("cairn_bench::");
        if ours {
            "flame ours"
        } else if bench {
            "flame bench"
        } else {
            "flame"
        }
    }

    /// The end of a path says more than its beginning.
    fn shortened(name: &str, letters: usize) -> String {
        let count = name.chars().count();
        if count <= letters {
            return name.to_string();
        }
        let end: String = name.chars().skip(count - letters + 1).collect();
        format!("\u{2026}{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> impl Iterator<Item = String> {
        text.split(' ').map(str::to_string).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn stacks_with_a_common_beginning_share_its_frames() {
        let mut stacks = Stacks::default();
        stacks.add(words("main commit write"), 30);
        stacks.add(words("main commit encode"), 10);
        stacks.add(words("main read"), 60);
        let picture = stacks.picture("a test");
        for frame in ["all: 100 samples, 100.00 %", "commit: 40 samples, 40.00 %", "encode: 10 samples, 10.00 %"] {
            assert_eq!(picture.matches(frame).count(), 1, "{frame}");
        }
        assert_eq!(stacks.root.depth(1), 4);
        assert_eq!(stacks.root.depth(50), 3);
    }

    #[test]
    fn frames_have_their_modules_and_no_arguments() {
        let ours = "/home/me/cairn/crates/storage/src/tree/read.rs";
        assert_eq!(qualified("get", ours), "cairn_storage::tree::read::get");
        assert_eq!(qualified("cairndb::api::run", "crates/cairndb/src/api/mod.rs"), "cairndb::api::run");
        assert_eq!(qualified("run", "crates/cairndb/src/api/mod.rs"), "cairndb::api::run");
        assert_eq!(qualified("call_once<fn() -> u8, (u8,)>", ""), "call_once");
        assert_eq!(qualified("std::thread::spawn::<fn() -> u8>", ""), "std::thread::spawn");
        assert_eq!(qualified("put", "/cargo/registry/src/index/heed-0.22.1/src/database.rs"), "heed::put");
        assert_eq!(qualified("sqlite3_step", "/cargo/sqlite3/sqlite3.c"), "sqlite3_step");
    }

    #[test]
    fn what_comes_before_the_work_is_left_out() {
        let calls = ["main", "std::sys::__rust_begin_short_backtrace", "work"].map(str::to_string);
        assert_eq!((begin_of_work(&calls), begin_of_work(&calls[2..])), (2, 0));
    }

    #[cfg(unix)]
    #[inline(never)]
    fn burn_in_a_named_function(seconds: f64) -> u64 {
        let start = std::time::Instant::now();
        let mut sum = 0u64;
        while start.elapsed().as_secs_f64() < seconds {
            sum = (0..10_000u64).fold(sum, |sum, at| std::hint::black_box(sum.wrapping_mul(31) ^ at));
        }
        sum
    }

    #[cfg(unix)]
    #[test]
    fn the_sampler_resolves_our_own_frames() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("flames.svg");
        around(Some(&file), "a test", || Ok(burn_in_a_named_function(0.5))).unwrap();
        let picture = std::fs::read_to_string(file).unwrap();
        assert!(picture.contains("burn_in_a_named_function"), "{picture}");
    }
}

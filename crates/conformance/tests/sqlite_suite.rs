//! The sample of SQLite's own logic tests, as PostgreSQL passes them.
//!
//! An unoptimised build takes every query of the small scripts and every n-th of the others, always the same ones, and
//! all statements; an optimised one (`cargo test --release`) takes all, and so does `CAIRN_SLT=all`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cairn_conformance::engine::CairnEngine;
use cairn_conformance::slt::{Dialect, FileReport, Sample, SampleFile, Selection, Summary, run_script};

const THREADS: usize = 2;
/// Scripts up to this size run whole.
const SMALL_BYTES: usize = 50_000;
const EVERY: usize = if cfg!(debug_assertions) { 40 } else { 1 };

#[test]
fn what_postgresql_passes_of_sqlites_suite_passes_here() {
    let folder = Sample::folder();
    let Some(sample) = Sample::read(&folder).unwrap() else {
        println!("skipped: {} is not present", folder.display());
        return;
    };
    let started = Instant::now();
    let summary = run_all(&sample.files);
    println!("{}{summary} in {:.1?}", summary.per_file(), started.elapsed());
    assert_eq!(summary.failed(), 0, "{}\n{summary}", summary.categories());
    assert!(summary.passed() > 60_000, "only {} records ran", summary.passed());
}

fn run_all(files: &[SampleFile]) -> Summary {
    let (summary, next) = (Mutex::new(Summary::default()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run(file);
                    summary.lock().unwrap().add(file.name.clone(), report);
                }
            });
        }
    });
    summary.into_inner().unwrap()
}

fn run(file: &SampleFile) -> FileReport {
    let all = file.text.len() <= SMALL_BYTES || std::env::var("CAIRN_SLT").is_ok_and(|value| value == "all");
    let selection = Selection { known_failures: file.known_failures.clone(), every: if all { 1 } else { EVERY } };
    let engine = CairnEngine::create().unwrap();
    let report = run_script(&file.text, "postgresql", Dialect::Classic, &selection, &engine);
    report.unwrap_or_else(|error| panic!("{}: {error}", file.name))
}

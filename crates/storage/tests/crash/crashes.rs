//! Crash tests: whatever was acknowledged is there, what was in flight is there whole or not at all, in order.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::explore::{AGAIN, Depth, IMAGES, explore_all};
use super::workload::{Shape, run};

/// Crash images of the ordinary test run, those included that are the same as another; `CAIRN_CRASH_IMAGES` asks for more.
const IMAGES_WANTED: u64 = 1_000_000;

fn images_wanted() -> u64 {
    let asked = std::env::var("CAIRN_CRASH_IMAGES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(IMAGES_WANTED)
}

fn judged() -> u64 {
    IMAGES.load(Ordering::Relaxed) + AGAIN.load(Ordering::Relaxed)
}

#[test]
fn every_crash_of_random_work_leaves_a_prefix_of_its_commits() {
    let began = Instant::now();
    let first = std::env::var("CAIRN_CRASH_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let wanted = images_wanted();
    let seeds = (first..).take_while(|_| judged() < wanted);
    explore_all(seeds.map(|seed| run(seed, Shape::of(seed))), Depth { random: 4, nested: 60 });
    let (all, opened) = (judged(), IMAGES.load(Ordering::Relaxed));
    println!("{all} crash images judged, {opened} of them opened, in {:?}", began.elapsed());
}

#[test]
fn random_work_without_crashes_loses_no_page() {
    for seed in 1000..1100 {
        run(seed, Shape { steps: 150, ..Shape::of(seed) });
    }
}

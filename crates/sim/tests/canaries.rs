//! The engine without one of the things that keep data safe: the simulation must notice each.
//!
//! `cargo test -p cairn-sim --test canaries -- --nocapture` prints how long each took.

use std::time::Duration;

use cairn_sim::fleet::{Fleet, Tally};
use cairn_storage::broken::Broken;

/// Switches that were seen to be noticed within the ordinary share.
const CANARIES: [Broken; 10] = [
    Broken::AcknowledgeEarly,
    Broken::AnswerEarly,
    Broken::CheckpointUndurable,
    Broken::DropConflicts,
    Broken::DroppedUnderSnapshot,
    Broken::DropsUnlisted,
    Broken::EmptyRanges,
    Broken::EpochUnannounced,
    Broken::ExtensionUnsynced,
    Broken::FramesUnderReaders,
];

/// Switches that are rarer to notice, or were not yet run to the end: looked for only when asked (`-- --ignored`).
const RARE: [Broken; 28] = [
    Broken::FailureUntold,
    Broken::FreedInFlight,
    Broken::LogRemovedFirst,
    Broken::LogReset,
    Broken::LogUnnamed,
    Broken::MetaBeforePages,
    Broken::MetaFallback,
    Broken::MetaInPlace,
    Broken::NoNextLeader,
    Broken::NoRecheck,
    Broken::PartsReleased,
    Broken::PublishBeforeSync,
    Broken::Reads,
    Broken::RecoveryUnsettled,
    Broken::ReplayTooMuch,
    Broken::ReuseTooEarly,
    Broken::ReuseUnderSnapshot,
    Broken::SavepointKeepsOperations,
    Broken::SavepointKeepsTrees,
    Broken::SchemaVersions,
    Broken::SealedChanged,
    Broken::StaleBatches,
    Broken::SyncErrors,
    Broken::SyncRetried,
    Broken::TailUnsealed,
    Broken::TornBatches,
    Broken::UndoForgotten,
    Broken::WakeBeforePublish,
];

/// The most seeds that a canary may take.
const SEEDS: u64 = 6000;

fn hunt(broken: Broken) -> Tally {
    let fleet = Fleet { first: 1, steps: 2000, threads: 2, broken: Some(broken) };
    fleet.run(|begun, failed| begun < SEEDS && failed == 0)
}

#[test]
fn every_canary_is_noticed() {
    hunt_all(&CANARIES);
}

#[test]
#[ignore = "takes minutes, and is not known to notice all"]
fn rare_canaries_are_noticed() {
    hunt_all(&RARE);
}

fn hunt_all(canaries: &[Broken]) {
    let mut missed = Vec::new();
    let mut all = Duration::ZERO;
    for &broken in canaries {
        let tally = hunt(broken);
        all += tally.took;
        match tally.failures.first() {
            Some((seed, failure)) => {
                let what: String = failure.lines().next().unwrap_or_default().chars().take(110).collect();
                println!("{broken:?}: noticed after {:.2?}, {} seeds (seed {seed}): {what}", tally.took, tally.seeds);
            }
            None => missed.push(broken),
        }
    }
    println!("{} canaries, {} noticed, in {all:.1?}", canaries.len(), canaries.len() - missed.len());
    assert_eq!(missed, [], "not noticed within {SEEDS} seeds");
}

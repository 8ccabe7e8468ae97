//! The engine without one of the things that keep data safe: the simulation must notice each.
//!
//! `cargo test -p cairn-sim --test canaries -- --nocapture` prints how long each took. `CAIRN_CANARY=LogReset` looks for
//! one only, `CAIRN_SIM_FIRST=N` begins with another seed, `CAIRN_SIM_SECONDS=N` gives each so long at most.

use std::time::{Duration, Instant};

use cairn_sim::fleet::{Fleet, Tally, any};
use cairn_sim::shape::Shape;
use cairn_storage::broken::Broken;

/// Switches that are noticed within seconds, and the most seeds that each may take: many times what it took from
/// several first seeds, so that a change of the engine, which changes all runs, does not make the test miss one by chance.
const CANARIES: [(Broken, u64); 94] = [
    (Broken::LineReversed, MANY),
    (Broken::LockRemovedByName, FEW),
    (Broken::PromiseKept, MANY),
    (Broken::RoomForEver, FEW),
    (Broken::CutInUse, MANY),
    (Broken::CutUnnoted, MANY),
    (Broken::LogKeepsAll, MANY),
    (Broken::AppendsUntold, MANY),
    (Broken::CopiesLimited, MANY),
    (Broken::LogLimitAsAsked, MANY),
    (Broken::BackupUnlocked, MANY),
    (Broken::CommitGivenUp, MANY),
    (Broken::LogUnkept, MANY),
    (Broken::OpeningKept, MANY),
    (Broken::PagesAsAsked, MANY),
    (Broken::PanicsSpread, MANY),
    (Broken::PositionsBare, MANY),
    (Broken::ReadOnlyWrites, MANY),
    (Broken::SegmentsAsAsked, MANY),
    (Broken::WakersKept, MANY),
    (Broken::WakersSpread, MANY),
    (Broken::AppendsMisplaced, FEW),
    (Broken::AppendsUndurable, MANY),
    (Broken::SavepointKeepsAppends, FEW),
    (Broken::AddsAgain, FEW),
    (Broken::AddsForget, FEW),
    (Broken::AddsMerged, FEW),
    (Broken::SumsUnread, MANY),
    (Broken::WatchersForgotten, FEW),
    (Broken::WatcherMovedPast, FEW),
    (Broken::WatchedUndurable, MANY),
    (Broken::Checksums, MANY),
    (Broken::DurablePosition, MANY),
    (Broken::EndedUntold, MANY),
    (Broken::LateBytes, MANY),
    (Broken::OlderMeta, MANY),
    (Broken::PassedOver, MANY),
    (Broken::RecoveryUnsettled, MANY),
    (Broken::BackupOverwrites, FEW),
    (Broken::FreshUnlocked, MANY),
    (Broken::MetaUnreadable, MANY),
    (Broken::RemovedByName, FEW),
    // (Of these runs only those are begun in which it can show: see `leaning`.)
    (Broken::WrittenUnchecked, RAREST),
    (Broken::AcknowledgeEarly, FEW),
    (Broken::AheadUnchecked, MANY),
    (Broken::BackupShort, FEW),
    (Broken::BackupTorn, MANY),
    (Broken::CompactRootKept, FEW),
    (Broken::CutTooShort, FEW),
    (Broken::EvictedDirty, FEW),
    (Broken::GivenUpUnnoticed, MANY),
    (Broken::SavepointForgetsReads, MANY),
    (Broken::TicketEarly, MANY),
    (Broken::AnswerEarly, MANY),
    (Broken::CheckpointAfterClose, MANY),
    (Broken::CheckpointUndurable, MANY),
    (Broken::DropConflicts, FEW),
    (Broken::DroppedUnderSnapshot, FEW),
    (Broken::DropsUnlisted, FEW),
    (Broken::EmptyRanges, MANY),
    (Broken::EngineWithoutSlots, MANY),
    (Broken::EpochUnannounced, FEW),
    (Broken::FramesUnderReaders, FEW),
    (Broken::ChunkInUse, FEW),
    (Broken::TreesUnderSnapshot, MANY),
    (Broken::FreedInFlight, FEW),
    (Broken::FullDiskFailsReads, MANY),
    (Broken::LogRemovedFirst, FEW),
    (Broken::LogReset, MANY),
    (Broken::LogUnnamed, FEW),
    (Broken::MetaBeforePages, MANY),
    (Broken::MetaFallback, FEW),
    (Broken::NoNextLeader, FEW),
    (Broken::NoRecheck, MANY),
    (Broken::PartsReleased, MANY),
    (Broken::PublishBeforeSync, MANY),
    (Broken::ReadersStarved, MANY),
    (Broken::Reads, FEW),
    (Broken::ReplayTooMuch, FEW),
    (Broken::ReuseTooEarly, FEW),
    (Broken::ReuseUnderSnapshot, FEW),
    (Broken::SavepointKeepsList, FEW),
    (Broken::SavepointKeepsOperations, FEW),
    (Broken::SavepointKeepsTrees, FEW),
    (Broken::SchemaVersions, FEW),
    (Broken::SealedChanged, FEW),
    (Broken::StaleBatches, MANY),
    (Broken::SyncErrors, FEW),
    (Broken::SyncRetried, MANY),
    (Broken::TailUnsealed, FEW),
    (Broken::ThreadsLeft, FEW),
    (Broken::TornBatches, MANY),
    (Broken::UndoForgotten, FEW),
    (Broken::WakeBeforePublish, MANY),
];

/// Switches that take too long for every day.
const RARE: [(Broken, u64); 7] = [
    // What it breaks panics in the middle of things, and now and then once more in what is dropped then: that ends the process.
    (Broken::EndedUnpinned, RAREST),
    // A test beside the code notices it every time, and so does `loom`.
    (Broken::AnothersFrame, RAREST),
    (Broken::ExtensionUnsynced, RAREST),
    // Needs a thread that was just woken to lead, two more that wait behind it, and a checkpoint that fails between.
    // `scenarios.rs` has a test of its own for it, and for `UndurablePublished`.
    (Broken::FailureUntold, RAREST),
    (Broken::HalfRetired, RAREST),
    (Broken::UndurablePublished, RAREST),
    // `scenarios.rs` notices it, within a few hundred schedules.
    (Broken::VerifiedUnburied, RAREST),
];

/// Switches that no seed was seen to notice.
const UNNOTICED: [(Broken, u64); 1] = [
    // Can not show on this disk: what a meta page holds is less than a sector, and a sector is old or new.
    (Broken::MetaInPlace, FEW),
];

const FEW: u64 = 600;
const MANY: u64 = 6_000;
const RAREST: u64 = 20_000;

fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The runs in which a rare one can show at all: it is looked for in those only.
fn leaning(broken: Broken) -> fn(&Shape) -> bool {
    match broken {
        Broken::AppendsUndurable => |shape| shape.company.listens && shape.weak,
        Broken::BackupUnlocked => |shape| shape.backups && shape.company.twice,
        Broken::EngineWithoutSlots => |shape| shape.company.idles || shape.company.holds,
        Broken::LogUnkept => |shape| shape.company.huge || shape.company.room,
        Broken::WrittenUnchecked => |shape| shape.faults.flips,
        _ => any,
    }
}

fn hunt(broken: Broken, seeds: u64) -> Tally {
    let fleet = Fleet {
        first: asked("CAIRN_SIM_FIRST", 1),
        steps: 2000,
        threads: 2,
        broken: Some(broken),
        only: leaning(broken),
    };
    let longest = Duration::from_secs(asked("CAIRN_SIM_SECONDS", 3600));
    let began = Instant::now();
    fleet.run(|begun, failed| begun < seeds && failed == 0 && began.elapsed() < longest)
}

#[test]
fn every_canary_is_noticed() {
    let (missed, seeds) = hunt_all(&CANARIES);
    assert_eq!(missed, [], "not noticed; looked for in {seeds} seeds");
}

#[test]
#[ignore = "takes minutes"]
fn rare_canaries_are_noticed() {
    let (missed, seeds) = hunt_all(&RARE);
    assert_eq!(missed, [], "not noticed; looked for in {seeds} seeds");
}

/// Tells when one of these is noticed after all: then it belongs to the others.
#[test]
#[ignore = "takes minutes"]
fn no_other_canary_is_noticed() {
    let (missed, seeds) = hunt_all(&UNNOTICED);
    let left = UNNOTICED.iter().filter(|(broken, _)| is_asked(*broken)).count();
    assert_eq!(missed.len(), left, "one is noticed; looked for in {seeds} seeds");
}

fn is_asked(broken: Broken) -> bool {
    std::env::var("CAIRN_CANARY").map_or(true, |only| only == format!("{broken:?}"))
}

/// Returns those that were not noticed, and the seeds that all took.
fn hunt_all(canaries: &[(Broken, u64)]) -> (Vec<Broken>, u64) {
    let asked = canaries.iter().filter(|(broken, _)| is_asked(*broken));
    let (mut missed, mut seeds, mut count, began) = (Vec::new(), 0, 0, Instant::now());
    for &(broken, most) in asked {
        let tally = hunt(broken, most);
        count += 1;
        seeds += tally.seeds;
        if !tell(broken, &tally) {
            missed.push(broken);
        }
    }
    println!("{count} canaries, {} noticed, in {:.1?} and {seeds} seeds", count - missed.len(), began.elapsed());
    (missed, seeds)
}

/// Prints what came of a hunt; returns whether the canary was noticed.
fn tell(broken: Broken, tally: &Tally) -> bool {
    let (took, seeds) = (tally.took, tally.seeds);
    match tally.failures.first() {
        Some((seed, failure)) => {
            let what: String = failure.lines().next().unwrap_or_default().chars().take(110).collect();
            println!("{broken:?}: noticed after {took:.2?}, {seeds} seeds (seed {seed}): {what}");
            true
        }
        None => {
            println!("{broken:?}: not noticed in {took:.1?}, {seeds} seeds");
            false
        }
    }
}

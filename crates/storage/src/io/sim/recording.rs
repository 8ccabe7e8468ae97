//! The operations of one run, and the disk after a crash at any of them.

use super::crash::{CrashStrategy, DiskImage};
use super::state::{DiskState, Operation};

/// What a run did to a disk, operation by operation.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(super) initial: DiskState,
    /// The number of the first operation.
    pub(super) first: u64,
    pub(super) operations: Vec<Operation>,
}

impl Recording {
    /// How many operations were recorded.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether the run changed nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// What the operation of this number was, for messages.
    pub fn describe(&self, number: u64) -> String {
        match number.checked_sub(self.first).and_then(|index| self.operations.get(index as usize)) {
            Some(operation) => operation.to_string(),
            None => "no operation".to_owned(),
        }
    }

    /// All points where the run could have crashed: at each operation, and after the last.
    pub fn crash_points(self) -> CrashPoints {
        CrashPoints { number: self.first, state: self.initial.clone(), in_flight: None, recording: self.into() }
    }
}

/// Walks through the points of a recording where a crash could have happened. A clone walks on by itself.
#[derive(Clone, Debug)]
pub struct CrashPoints {
    recording: std::sync::Arc<Recording>,
    /// The next operation.
    number: u64,
    /// The disk before the next operation.
    state: DiskState,
    /// The disk at the current point.
    in_flight: Option<DiskState>,
}

impl CrashPoints {
    /// Moves to the next point and returns the number of the operation that is in flight there; all before it returned
    /// (also those before the recording began). The last point's number is that of the operation after the recording.
    pub fn advance(&mut self) -> Option<u64> {
        let index = (self.number - self.recording.first) as usize;
        if index > self.recording.len() {
            self.in_flight = None;
            return None;
        }
        let number = self.number;
        let mut in_flight = self.state.clone();
        if let Some(operation) = self.recording.operations.get(index) {
            in_flight.begin(number, operation);
            self.state.apply(number, operation);
        }
        self.in_flight = Some(in_flight);
        self.number += 1;
        Some(number)
    }

    /// Moves on so that the next point is the one of operation `number`, without stopping in between.
    pub fn skip_to(&mut self, number: u64) {
        let recording = self.recording.clone();
        while self.number < number
            && let Some(operation) = recording.operations.get((self.number - recording.first) as usize)
        {
            self.state.apply(self.number, operation);
            self.number += 1;
        }
        self.in_flight = None;
    }

    /// The disk that a crash at the current point leaves. Before the first point, the disk before the recording.
    pub fn image(&self, strategy: CrashStrategy) -> DiskImage {
        self.in_flight.as_ref().unwrap_or(&self.state).crash(strategy)
    }

    /// How many operations a crash at the current point may undo; with none, all strategies leave the same disk.
    pub fn unsynced(&self) -> usize {
        self.in_flight.as_ref().unwrap_or(&self.state).unsynced().len()
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }
}

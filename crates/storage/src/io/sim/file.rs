//! What a simulated file remembers: what a crash cannot take, what it may, and what a reader sees meanwhile.
//!
//! Invariants:
//! - `durable` plus all of `pending`, in order, has the length of `cached`, and without a failed sync its bytes.
//! - The forced changes of length are the first ones among the changes of length.
//! - The first of `pending` is not forced: forced changes before which nothing may be lost are durable already.

use std::collections::VecDeque;
use std::sync::Arc;

use super::content::Content;
use super::crash::Chooser;
use super::random::Random;

/// A change since the last sync. A forced one survives a crash, but has its place in the order of those that may not.
#[derive(Clone, Debug)]
struct Pending {
    operation: u64,
    forced: bool,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Write {
        offset: u64,
        bytes: Arc<[u8]>,
    },
    Length(u64),
    /// A hole from `offset` on.
    GivenBack {
        offset: u64,
        length: u64,
    },
}

impl Change {
    fn apply(&self, content: &mut Content) {
        match self {
            Change::Write { offset, bytes } => content.write_within(*offset, bytes),
            Change::Length(len) => content.set_len(*len),
            Change::GivenBack { offset, length } => content.clear(*offset, *length as usize),
        }
    }

    /// Whether it can come after a write up to `end` without touching it.
    fn spares(&self, start: u64, end: u64) -> bool {
        match self {
            Change::Write { offset, bytes } => *offset >= end || offset + bytes.len() as u64 <= start,
            Change::Length(len) => *len >= end,
            Change::GivenBack { offset, length } => *offset >= end || offset + length <= start,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct SimContent {
    pub(super) cached: Content,
    durable: Content,
    pending: VecDeque<Pending>,
}

impl SimContent {
    pub(super) fn at_rest(content: Content) -> SimContent {
        SimContent { cached: content.clone(), durable: content, pending: VecDeque::new() }
    }

    pub(super) fn write(&mut self, operation: u64, offset: u64, bytes: &Arc<[u8]>) {
        self.reach(operation, offset + bytes.len() as u64);
        self.cached.write(offset, bytes);
        self.push(operation, false, Change::Write { offset, bytes: bytes.clone() });
    }

    pub(super) fn set_len(&mut self, operation: u64, len: u64) {
        if len != self.cached.len() {
            self.cached.set_len(len);
            self.push(operation, false, Change::Length(len));
        }
    }

    pub(super) fn give_back(&mut self, operation: u64, offset: u64, length: u64) {
        self.cached.clear(offset, length as usize);
        self.push(operation, false, Change::GivenBack { offset, length });
    }

    pub(super) fn write_durable(&mut self, operation: u64, offset: u64, bytes: &Arc<[u8]>) {
        self.reach(operation, offset + bytes.len() as u64);
        self.cached.write(offset, bytes);
        self.force(operation, offset, bytes);
    }

    /// Of a durable write that failed, some sectors reached the disk; a reader may see the rest or not.
    pub(super) fn fail_write_durable(&mut self, operation: u64, offset: u64, bytes: &Arc<[u8]>, seed: u64) {
        self.reach(operation, offset + bytes.len() as u64);
        if Random::new(seed).chance(1, 2) {
            self.cached.write(offset, bytes);
        }
        Chooser::Random { seed }.kept_pieces(operation, offset, bytes, |offset, piece| {
            self.cached.write(offset, piece);
            self.force(operation, offset, &piece.into());
        });
    }

    pub(super) fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            pending.change.apply(&mut self.durable);
        }
    }

    /// Data that a failed sync did not write is never written: the pages count as clean now, and are dropped some day.
    /// The length is metadata, which the system keeps and may still write.
    pub(super) fn fail_sync(&mut self, file: u64, seed: u64) {
        let chooser = Chooser::Random { seed };
        let kept = self.lengths_kept(file, chooser);
        self.durable = self.after_crash(file, chooser);
        let is_length = |pending: &Pending| matches!(pending.change, Change::Length(_));
        self.pending.retain(is_length);
        self.pending.drain(..kept);
        if Random::new(seed).chance(1, 2) {
            let len = self.cached.len();
            self.cached = self.durable.clone();
            self.cached.set_len(len);
        }
    }

    /// The content that a crash leaves.
    pub(super) fn after_crash(&self, file: u64, chooser: Chooser) -> Content {
        let mut lengths_left = self.lengths_kept(file, chooser);
        let mut content = self.durable.clone();
        for pending in &self.pending {
            match &pending.change {
                Change::Write { offset, bytes } if !pending.forced => {
                    chooser.kept_pieces(pending.operation, *offset, bytes, |at, piece| content.write_within(at, piece));
                }
                Change::GivenBack { offset, length } if !pending.forced => {
                    let zeros = vec![0; *length as usize];
                    chooser.kept_pieces(pending.operation, *offset, &zeros, |at, piece| content.clear(at, piece.len()));
                }
                Change::Length(len) if lengths_left > 0 => {
                    lengths_left -= 1;
                    content.set_len(*len);
                }
                Change::Length(_) => {}
                forced => forced.apply(&mut content),
            }
        }
        content
    }

    /// The operations that a crash may undo.
    pub(super) fn unsynced(&self) -> impl Iterator<Item = u64> {
        self.pending.iter().filter(|pending| !pending.forced).map(|pending| pending.operation)
    }

    /// Inverts a bit wherever the file has it; false if it ends before.
    pub(super) fn flip_bit(&mut self, bit: u64) -> bool {
        self.durable.flip_bit(bit);
        self.cached.flip_bit(bit)
    }

    fn lengths_kept(&self, file: u64, chooser: Chooser) -> usize {
        let lengths = || self.pending.iter().filter(|pending| matches!(pending.change, Change::Length(_)));
        let forced = lengths().filter(|pending| pending.forced).count();
        let optional: Vec<u64> = lengths().skip(forced).map(|pending| pending.operation).collect();
        forced + chooser.lengths_kept(file, &optional)
    }

    fn push(&mut self, operation: u64, forced: bool, change: Change) {
        self.pending.push_back(Pending { operation, forced, change });
    }

    fn reach(&mut self, operation: u64, end: u64) {
        if end > self.cached.len() {
            self.set_len(operation, end);
        }
    }

    /// Makes a range within the length durable, and as little else as that needs.
    fn force(&mut self, operation: u64, offset: u64, bytes: &Arc<[u8]>) {
        let end = offset + bytes.len() as u64;
        self.force_lengths(end);
        self.harden();
        let undisturbed = self.pending.iter().all(|pending| pending.change.spares(offset, end));
        if undisturbed && end <= self.durable.len() {
            self.durable.write_within(offset, bytes);
        } else {
            self.push(operation, true, Change::Write { offset, bytes: bytes.clone() });
        }
    }

    /// Forces the fewest changes of length after which the file reaches `end` and no later one can undo that.
    fn force_lengths(&mut self, end: u64) {
        let mut len = self.durable.len();
        let mut needed = 0;
        for (index, pending) in self.pending.iter().enumerate() {
            if let Change::Length(next) = pending.change {
                if len < end {
                    needed = index + 1;
                }
                len = next;
            }
        }
        for pending in self.pending.iter_mut().take(needed) {
            pending.forced |= matches!(pending.change, Change::Length(_));
        }
    }

    fn harden(&mut self) {
        while let Some(first) = self.pending.front().filter(|first| first.forced) {
            first.change.apply(&mut self.durable);
            self.pending.pop_front();
        }
    }
}

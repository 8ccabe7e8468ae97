//! The log: records in batches, in reused segments of one file.

mod batch;
pub(crate) mod format;
mod give_back;
mod kept;
mod pieces;
mod scan;
mod segments;

pub(crate) use batch::{NoRoom, OpenBatch, SealedBatch};
pub(crate) use format::RecordKind;
pub(crate) use kept::{InLine, KeptSegments, Taker, Waited};
pub(crate) use pieces::Pieces;
pub(crate) use scan::{
    Epoch, Scan, ScanEnd, Visited, has_later_epoch, later_epochs, live_segments, noted_places, places, rewrite_end,
    scan, scan_damaged,
};
pub(crate) use segments::{Segments, log_path};

//! An open database: the engine, its background, and the public handle.

mod apply;
mod background;
mod backup;
mod checkpoint;
mod commit;
mod compact;
mod copies;
mod drops;
mod ending;
mod engine;
mod handle;
#[cfg(feature = "broken-for-tests")]
mod invariants;
mod lists;
mod log_room;
mod meta;
mod open;
mod pending;
mod publisher;
mod replay;
mod salvage;
mod stage;
mod verify;
mod writer;

pub(crate) use background::Signal;
pub(crate) use commit::WriterGuard;
pub(crate) use engine::Engine;
pub(crate) use handle::Handle;
pub use handle::Store;
pub use salvage::{Doubt, Loss, Lost, Salvage, Uncertain, UncertainEntry, salvage, salvage_with};
pub use verify::Verified;
pub(crate) use writer::{SPILL, Writer};

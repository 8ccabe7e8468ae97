//! A database as a whole: opening and closing, its background, copies, checks and salvage, and the public handle.

mod background;
mod backup;
mod beside;
mod compact;
mod create;
mod duties;
mod ending;
mod gate;
mod handle;
#[cfg(feature = "broken-for-tests")]
mod invariants;
mod measure;
mod open;
mod pending;
mod progress;
mod replay;
mod salvage;
mod shortage;
mod transfer;
mod verify;

pub use handle::Store;
pub use measure::TreeSize;
pub use salvage::{Doubt, Fault, Loss, Lost, Reasons, Salvage, Uncertain, UncertainEntry, salvage, salvage_with};
pub use verify::Verified;

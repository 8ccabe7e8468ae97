//! The engines, one file each, behind two small traits.

mod cairn;
mod face;
mod fjall;
mod kind;
mod lmdb;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;

pub use face::{Engine, Session, Work};
pub use kind::Kind;

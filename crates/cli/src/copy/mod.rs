//! `\copy`: CSV in and out, read and written by the shell itself.

mod bytes;
mod command;
mod export;
mod import;
mod reader;

pub use bytes::{copy_from, copy_to};
pub use command::{Copy, Direction};
pub use export::export;
pub use import::import;

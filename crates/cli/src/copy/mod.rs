//! `\copy`: CSV in and out, from and to files of the shell's, by COPY from and to the client.

mod bytes;
mod command;
mod data;
mod export;
mod import;

pub use bytes::{copy_from, copy_to};
pub use command::{Copy, Direction};
pub use data::Data;
pub use export::{Noting, copy_out, export};
pub use import::import;

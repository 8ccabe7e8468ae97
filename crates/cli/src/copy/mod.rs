//! `\copy`: COPY from and to the client, where the shell has the files and programs.

mod bytes;
mod command;
mod data;
mod export;
mod import;

pub use bytes::{copy_from, copy_to};
pub use command::{Copy, Direction, End};
pub use data::Data;
pub use export::{Noting, copy_out, export, export_program};
pub use import::{copy_in, import, import_program};

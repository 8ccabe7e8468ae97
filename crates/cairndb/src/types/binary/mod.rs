//! Values in PostgreSQL's binary format, as its send and receive functions write and read them.
//!
//! Whatever the bytes are, reading them gives a value that its type allows, or an error; memory is taken for what is there,
//! not for what a length announces.

mod numeric;
mod read;
mod write;

pub use read::read_binary;
pub use write::write_binary;

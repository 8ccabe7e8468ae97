//! What can go wrong: whatever an engine, a file or the command line says.

/// Any of their errors; the program shows its text and ends.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T, E = Error> = std::result::Result<T, E>;

//! The examples are in `examples`, one program each:
//!
//! - `store`: what a web service keeps: people and their notes, read as structs;
//! - `job_queue`: workers that take jobs from a table, each once;
//! - `load`: a CSV file's rows, appended from a Rust iterator.

//! `cairn bench`: the benchmark program, where it was built in.

use std::ffi::OsString;
use std::process::ExitCode;

/// Hands the words to the benchmark program.
#[cfg(feature = "bench")]
pub fn run(words: Vec<OsString>) -> ExitCode {
    cairn_bench::main(&["cairn", "bench"], words.into_iter())
}

/// Says how to build it in. The other databases take minutes to compile, so an ordinary build is without it.
#[cfg(not(feature = "bench"))]
pub fn run(_: Vec<OsString>) -> ExitCode {
    use crate::report::warn;
    warn("cairn: this build has no benchmarks; in CairnDB's source folder, build one that has:");
    warn("    cargo build --release -p cairndb-cli --features bench");
    ExitCode::FAILURE
}

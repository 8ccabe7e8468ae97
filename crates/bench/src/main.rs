//! The benchmark program on its own; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cairn_bench::main(&["cairn-bench"], std::env::args_os().skip(1))
}

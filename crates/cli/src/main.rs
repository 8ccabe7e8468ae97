//! `cairn`: CairnDB's shell and tools.

fn main() -> std::process::ExitCode {
    cairn_cli::run()
}

//! A pager for what is longer than the screen: `CAIRN_PAGER`, `PAGER`, or `less` where there is one.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::report::Failure;

/// Writes the text through a pager if the screen is too small for it; otherwise, or where there is none, to `out`.
pub fn show(out: &mut dyn Write, text: &[u8], screen: (usize, usize)) -> Result<(), Failure> {
    if !exceeds(text, screen) || !page(text) {
        out.write_all(text)?;
    }
    Ok(())
}

/// Whether the text has more lines than the screen.
fn exceeds(text: &[u8], (lines, _): (usize, usize)) -> bool {
    text.iter().filter(|byte| **byte == b'\n').count() >= lines
}

/// Runs the pager with the text; false where there is none.
fn page(text: &[u8]) -> bool {
    let command = ["CAIRN_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let command = command.unwrap_or_else(|| "less".to_string());
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut run = Command::new(program);
    run.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Lines are cut, not folded; a table keeps its columns, and what was shown stays.
        run.env("LESS", "-SRFX");
    }
    let Ok(mut child) = run.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Who leaves it early has seen enough.
        let _ = input.write_all(text);
    }
    child.wait().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_written_as_it_is() {
        let mut out = Vec::new();
        show(&mut out, b"a\nb\n", (3, 80)).unwrap();
        assert_eq!(out, b"a\nb\n");
        assert!(exceeds(b"a\nb\nc\n", (3, 80)));
    }
}

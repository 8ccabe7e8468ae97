//! A pager for what is longer or wider than the screen: `CAIRN_PAGER`, `PAGER`, or `less` where there is one.

use std::io::Write;
use std::process::{Command, Stdio};

use unicode_width::UnicodeWidthStr;

use crate::report::Failure;

/// Writes the text through a pager if the screen is too small for it; otherwise, or where there is none, to `out`.
pub fn show(out: &mut dyn Write, text: &[u8], screen: (usize, usize)) -> Result<(), Failure> {
    let wide = is_wider(text, screen.1);
    if !(wide || is_longer(text, screen.0)) || !page(text, wide) {
        out.write_all(text)?;
    }
    Ok(())
}

fn is_longer(text: &[u8], lines: usize) -> bool {
    text.iter().filter(|byte| **byte == b'\n').count() >= lines
}

fn is_wider(text: &[u8], columns: usize) -> bool {
    // One line per column: what is too long goes on in the next line, and nothing has to stand below something else.
    if text.starts_with(b"-[ RECORD") {
        return false;
    }
    text.split(|byte| *byte == b'\n').any(|line| {
        // No line has more columns than bytes.
        line.len() > columns && str::from_utf8(line).map_or(line.len(), UnicodeWidthStr::width) > columns
    })
}

/// Runs the pager with the text; false where there is none.
fn page(text: &[u8], wide: bool) -> bool {
    let command = ["CAIRN_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let command = command.unwrap_or_else(|| "less".to_string());
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut run = Command::new(program);
    run.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Lines are cut, not folded: a table keeps its columns. What was shown stays. What has no line too many leaves at once (F),
        // unless something is cut.
        run.env("LESS", if wide { "-SRX" } else { "-SRFX" });
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
        assert!(is_longer(b"a\nb\nc\n", 3));
        assert!(!is_wider(b"-[ RECORD 1 ]\na | bcd\n", 5));
        assert!(is_wider(b"a\nbcd\n", 2) && !is_wider(b"a\nbcd\n", 3));
        // Two columns each, and three bytes.
        let wide = "\u{6f22}\u{5b57}".as_bytes();
        assert!(is_wider(wide, 3) && !is_wider(wide, 4));
    }
}

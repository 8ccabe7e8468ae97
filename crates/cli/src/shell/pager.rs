//! A pager for what is longer or wider than the screen: `CAIRN_PAGER`, `PAGER`, or `less` where there is one.

use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

/// Lines that are longer go on in the next one; no more of a line is waited for.
const LINE_BYTES: usize = 1 << 20;

/// What is written goes to `out` if the screen is large enough for all of it, and else through a pager as it comes.
pub struct Paged<'o> {
    out: &'o mut dyn Write,
    /// Lines and columns.
    screen: (usize, usize),
    state: State,
    /// How long somebody was waited for who reads.
    waited: Duration,
}

enum State {
    /// What came so far has room on the screen.
    Fits(Vec<u8>),
    Pager(Child, BufWriter<ChildStdin>),
    /// There is none.
    None,
    /// Who left it early has seen enough.
    Left,
}

impl<'o> Paged<'o> {
    pub fn new(out: &'o mut dyn Write, screen: (usize, usize)) -> Paged<'o> {
        Paged { out, screen, state: State::Fits(Vec::new()), waited: Duration::ZERO }
    }

    /// Nothing that is written from now on will be seen.
    pub fn is_left(&self) -> bool {
        matches!(self.state, State::Left)
    }

    /// Waits until the pager is left. Gives how long it was waited for in all.
    pub fn finish(mut self) -> io::Result<Duration> {
        match std::mem::replace(&mut self.state, State::Left) {
            State::Fits(text) => self.out.write_all(&text)?,
            State::Pager(child, input) => self.wait(child, input),
            State::None | State::Left => {}
        }
        Ok(self.waited)
    }

    fn wait(&mut self, mut child: Child, mut input: BufWriter<ChildStdin>) {
        let started = Instant::now();
        // The end of its input is what it waits for. How much of it was read, and how it ended, is of no interest.
        let _ = input.flush();
        drop(input.into_parts());
        let _ = child.wait();
        self.waited += started.elapsed();
    }

    /// Begins the pager if this has no room any more.
    fn look(&mut self) -> io::Result<()> {
        let State::Fits(text) = &mut self.state else { return Ok(()) };
        let is_wide = is_wider(text, self.screen.1);
        if !(is_wide || is_longer(text, self.screen.0)) {
            return Ok(());
        }
        let text = std::mem::take(text);
        match begin(is_wide) {
            Some((child, input)) => {
                self.state = State::Pager(child, input);
                self.feed(|input| input.write_all(&text).and_then(|()| input.flush()));
                Ok(())
            }
            None => {
                self.state = State::None;
                self.out.write_all(&text)
            }
        }
    }

    fn feed(&mut self, feed: impl FnOnce(&mut BufWriter<ChildStdin>) -> io::Result<()>) {
        let State::Pager(_, input) = &mut self.state else { return };
        let started = Instant::now();
        let fed = feed(input);
        self.waited += started.elapsed();
        if fed.is_err()
            && let State::Pager(child, input) = std::mem::replace(&mut self.state, State::Left)
        {
            self.wait(child, input);
        }
    }
}

impl Write for Paged<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Fits(text) => {
                text.extend_from_slice(bytes);
                // Whole lines are looked at.
                if bytes.contains(&b'\n') || text.len() > LINE_BYTES {
                    self.look()?;
                }
            }
            State::Pager(..) => self.feed(|input| input.write_all(bytes)),
            State::None => self.out.write_all(bytes)?,
            State::Left => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.state {
            State::None => self.out.flush(),
            _ => Ok(()),
        }
    }
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

/// The pager, waiting for text.
fn begin(is_wide: bool) -> Option<(Child, BufWriter<ChildStdin>)> {
    let command = ["CAIRN_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let command = command.unwrap_or_else(|| "less".to_string());
    let mut words = command.split_whitespace();
    let mut run = Command::new(words.next()?);
    run.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Lines are cut, not folded: a table keeps its columns. What was shown stays. What has no line too many leaves at once (F),
        // unless something is cut.
        run.env("LESS", if is_wide { "-SRX" } else { "-SRFX" });
    }
    let mut child = run.spawn().ok()?;
    let input = BufWriter::new(child.stdin.take()?);
    Some((child, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_written_as_it_is() {
        let mut out = Vec::new();
        let mut paged = Paged::new(&mut out, (3, 80));
        paged.write_all(b"a\nb\n").unwrap();
        paged.finish().unwrap();
        assert_eq!(out, b"a\nb\n");
        assert!(is_longer(b"a\nb\nc\n", 3));
        assert!(!is_wider(b"-[ RECORD 1 ]\na | bcd\n", 5));
        assert!(is_wider(b"a\nbcd\n", 2) && !is_wider(b"a\nbcd\n", 3));
        // Two columns each, and three bytes.
        let wide = "\u{6f22}\u{5b57}".as_bytes();
        assert!(is_wider(wide, 3) && !is_wider(wide, 4));
    }
}

//! The data that stands behind a COPY FROM STDIN in a script: up to a line of `\.`, which is the script's.

use std::io::{self, BufRead, Read};

/// See the module.
pub struct Data<'i, R> {
    input: &'i mut R,
    line: Vec<u8>,
    at: usize,
    lines: usize,
    done: bool,
}

impl<'i, R: BufRead> Data<'i, R> {
    pub fn new(input: &'i mut R) -> Data<'i, R> {
        Data { input, line: Vec::new(), at: 0, lines: 0, done: false }
    }

    /// Passes over what nobody read, so that none of it is taken for statements; how many lines there were.
    pub fn finish(mut self) -> io::Result<usize> {
        while !self.done {
            self.next_line()?;
        }
        Ok(self.lines)
    }

    fn next_line(&mut self) -> io::Result<()> {
        (self.at, self.done) = (0, true);
        self.line.clear();
        if self.input.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(());
        }
        self.lines += 1;
        self.done = matches!(self.line.as_slice(), b"\\.\n" | b"\\.\r\n" | b"\\.");
        if self.done {
            self.line.clear();
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Data<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() && !self.done {
            self.next_line()?;
        }
        let rest = &self.line[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_its_mark_and_leaves_what_is_behind() {
        let mut input = &b"a\n\\.b\n\\.\nSELECT 1;\n"[..];
        let mut data = Data::new(&mut input);
        let mut text = String::new();
        data.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), data.finish().unwrap()), ("a\n\\.b\n", 3));
        assert_eq!(input, b"SELECT 1;\n");
        let mut input = &b"x\ny\n\\.\nz"[..];
        assert_eq!(Data::new(&mut input).finish().unwrap(), 3);
        assert_eq!(input, b"z");
    }
}

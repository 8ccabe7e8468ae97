//! Data in another encoding, as UTF-8.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::Error;
use crate::types::Decoder;

/// Reads text. What is no text is told where it stands, behind all that comes before it: the error is this crate's, within the one of reading.
pub(crate) struct Decoded<'i> {
    input: &'i mut dyn BufRead,
    decoder: Decoder,
    text: String,
    at: usize,
    is_done: bool,
    failed: Option<Error>,
}

impl<'i> Decoded<'i> {
    pub(crate) fn new(input: &'i mut dyn BufRead, decoder: Decoder) -> Decoded<'i> {
        Decoded { input, decoder, text: String::new(), at: 0, is_done: false, failed: None }
    }

    /// Reads more, until there is text or the end.
    fn read_on(&mut self) -> io::Result<()> {
        self.text.clear();
        self.at = 0;
        while self.text.is_empty() && !self.is_done {
            if let Some(error) = self.failed.take() {
                self.is_done = true;
                return Err(io::Error::other(error));
            }
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let count = bytes.len();
            self.failed = self.decoder.decode(bytes, count == 0, &mut self.text).err();
            self.is_done = count == 0 && self.failed.is_none();
            self.input.consume(count);
        }
        Ok(())
    }
}

impl BufRead for Decoded<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.text.len() {
            self.read_on()?;
        }
        Ok(self.text.as_bytes().get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.text.len().min(self.at + count);
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::types::Encoding;

    fn read(name: &str, bytes: &[u8], capacity: usize) -> (String, Option<String>) {
        let mut input = BufReader::with_capacity(capacity, bytes);
        let mut decoded = Decoded::new(&mut input, Encoding::of(name).unwrap().decoder().unwrap().unwrap());
        let mut text = Vec::new();
        let failed = decoded.read_to_end(&mut text).err();
        let message = |error: io::Error| error.downcast::<Error>().unwrap().message().to_owned();
        (String::from_utf8(text).unwrap(), failed.map(message))
    }

    #[test]
    fn text_comes_up_to_what_is_none() {
        for capacity in [1, 2, 3, 64] {
            assert_eq!(read("WIN1252", b"\x80,\xe9\n", capacity), ("€,é\n".to_owned(), None));
            assert_eq!(read("SJIS", b"\x93\xfa\n", capacity), ("日\n".to_owned(), None));
            let (text, failed) = read("WIN1252", b"a\x81b", capacity);
            assert_eq!((&*text, failed.is_some()), ("a", true));
            let (text, failed) = read("SJIS", b"a\x93", capacity);
            assert_eq!((&*text, failed.is_some()), ("a", true));
        }
    }
}

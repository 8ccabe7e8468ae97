//! Rows that are kept for whoever looks at them: in memory while they are few, in a temporary file without a name otherwise.
//!
//! They lie as the page gets them: texts of JSON arrays with commas between them, in blocks. A value that is long has its beginning there, and lies
//! whole before the block that it is of; so looking at rows never costs more than what is shown of them.

use std::io::{Read, Seek, SeekFrom, Write};

use cairndb::{Error, EvalContext, Rows, SqlState, Value};
use serde::{Deserialize, Serialize};
use tempfile::SpooledTempFile;

/// What is kept in memory of a result.
const MEMORY_BYTES: usize = 32 << 10;
/// A block is over when it has so many rows, or bytes.
const BLOCK_ROWS: usize = 256;
const BLOCK_BYTES: usize = 64 << 10;
/// A value that is longer is not shown whole.
const SHOWN_BYTES: usize = 2048;
/// The beginning of it that is.
const BEGINNING_BYTES: usize = 256;

/// A value as it is kept.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Text(String),
    /// The beginning of a long one, where all of it is, and how many bytes that are.
    Long {
        text: String,
        at: u64,
        bytes: u64,
    },
}

/// See the module.
pub(super) struct Spool {
    file: SpooledTempFile,
    bytes: u64,
    rows: u64,
    blocks: Vec<Block>,
}

/// Where rows lie.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) row: u64,
    at: u64,
    bytes: usize,
}

impl Spool {
    pub(super) fn new() -> Spool {
        Spool { file: SpooledTempFile::new(MEMORY_BYTES), bytes: 0, rows: 0, blocks: Vec::new() }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes rows that are there already, until there are `bytes_max`; whether all were taken.
    ///
    /// # Errors
    ///
    /// 58030 and 53100 where they can not be kept.
    pub(super) fn take(&mut self, mut rows: Rows, bytes_max: u64) -> Result<bool, Error> {
        let (mut block, mut count) = (String::new(), 0);
        while let Some(row) = rows.next()? {
            let (begins, mut has_room) = (block.len(), true);
            block.push_str(if count > 0 { ",[" } else { "[" });
            for at in 0..row.columns().len() {
                block.push_str(if at > 0 { "," } else { "" });
                has_room &= self.push_cell(&mut block, row.value(at), bytes_max)?;
            }
            block.push(']');
            if !has_room || self.bytes + block.len() as u64 > bytes_max {
                block.truncate(begins);
                self.end_block(&block, count)?;
                return Ok(false);
            }
            count += 1;
            if count == BLOCK_ROWS || block.len() >= BLOCK_BYTES {
                self.end_block(&block, count)?;
                block.clear();
                count = 0;
            }
        }
        self.end_block(&block, count)?;
        Ok(true)
    }

    /// Whether there was room for it.
    fn push_cell(&mut self, block: &mut String, value: &Value, bytes_max: u64) -> Result<bool, Error> {
        if matches!(value, Value::Null) {
            block.push_str("null");
            return Ok(true);
        }
        let text = cairndb::to_text(value, &EvalContext::default());
        let cell = match text.len() > SHOWN_BYTES {
            false => Cell::Text(text),
            true => {
                let (at, bytes) = (self.bytes, text.len() as u64);
                if at + bytes + block.len() as u64 > bytes_max {
                    return Ok(false);
                }
                self.write(text.as_bytes())?;
                Cell::Long { text: beginning(&text).to_owned(), at, bytes }
            }
        };
        let text =
            serde_json::to_string(&cell).map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()));
        block.push_str(&text?);
        Ok(true)
    }

    fn end_block(&mut self, block: &str, count: usize) -> Result<(), Error> {
        if count > 0 {
            self.blocks.push(Block { row: self.rows, at: self.bytes, bytes: block.len() });
            self.write(block.as_bytes())?;
            self.rows += count as u64;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(bytes)).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The block that a row is in; that behind it begins where this one ends.
    pub(super) fn block_of(&self, row: u64) -> Option<usize> {
        (row < self.rows).then(|| self.blocks.partition_point(|block| block.row <= row) - 1)
    }

    /// A block's rows, as they lie.
    pub(super) fn block(&mut self, place: usize) -> Result<Option<(Block, String)>, Error> {
        let Some(block) = self.blocks.get(place).copied() else { return Ok(None) };
        Ok(Some((block, self.read(block.at, block.bytes)?)))
    }

    /// The same, and how many blocks there are.
    pub(super) fn block_and_count(&mut self, place: usize) -> Result<(Option<(Block, String)>, usize), Error> {
        Ok((self.block(place)?, self.blocks.len()))
    }

    /// All of a long value, or as much of it.
    ///
    /// # Errors
    ///
    /// 22023 where there is none.
    pub(super) fn read(&mut self, at: u64, bytes: usize) -> Result<String, Error> {
        if at.checked_add(bytes as u64).is_none_or(|end| end > self.bytes) {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "the result has no such value"));
        }
        let mut text = vec![0; bytes];
        self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(&mut text)).map_err(failed)?;
        // (A range that a client made up may cut a character.)
        Ok(String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

fn beginning(text: &str) -> &str {
    let end = (0..=BEGINNING_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

fn failed(error: std::io::Error) -> Error {
    let code = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    };
    Error::new(code, format!("the result could not be kept: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sql: &str) -> Rows {
        let connection = cairndb::Database::open_in_memory().unwrap().connect().unwrap();
        let mut rows = connection.query(sql, ()).unwrap();
        rows.ahead(usize::MAX, std::time::Duration::MAX).unwrap().rows
    }

    fn all(spool: &mut Spool) -> Vec<Vec<Option<Cell>>> {
        let mut all = Vec::new();
        for place in 0.. {
            let Some((block, text)) = spool.block(place).unwrap() else { return all };
            assert_eq!(block.row, all.len() as u64);
            all.extend(serde_json::from_str::<Vec<Vec<Option<Cell>>>>(&format!("[{text}]")).unwrap());
        }
        unreachable!()
    }

    #[test]
    fn rows_come_back_as_they_were_in_memory_and_on_disk() {
        let mut spool = Spool::new();
        assert!(
            spool
                .take(rows("SELECT n, NULL, '{\"at\": 1}'::jsonb FROM generate_series(1, 9000) AS n"), u64::MAX)
                .unwrap()
        );
        let all = all(&mut spool);
        assert_eq!((all.len(), spool.rows()), (9000, 9000));
        for (place, row) in all.iter().enumerate() {
            let [Some(Cell::Text(n)), None, Some(Cell::Text(json))] = row.as_slice() else { panic!("{row:?}") };
            assert_eq!((n.as_str(), json.as_str()), ((place + 1).to_string().as_str(), "{\"at\": 1}"));
        }
        let block = spool.block_of(4321).unwrap();
        assert!(spool.block(block).unwrap().unwrap().0.row <= 4321 && spool.block_of(9000).is_none());
    }

    #[test]
    fn a_long_value_lies_beside_its_beginning() {
        let mut spool = Spool::new();
        spool.take(rows("SELECT repeat('\u{e4}b', 100000), 'x'"), u64::MAX).unwrap();
        let all = all(&mut spool);
        let [Some(Cell::Long { text, at, bytes }), Some(Cell::Text(_))] = all[0].as_slice() else { panic!("{all:?}") };
        assert!(text.len() <= BEGINNING_BYTES && text.starts_with("\u{e4}b"));
        assert_eq!(spool.read(*at, *bytes as usize).unwrap(), "\u{e4}b".repeat(100_000));
        assert_eq!(spool.read(*at, usize::MAX).unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    }

    #[test]
    fn what_is_too_long_is_kept_as_far_as_it_may_be() {
        let mut spool = Spool::new();
        assert!(!spool.take(rows("SELECT n FROM generate_series(1, 100000) AS n"), 10_000).unwrap());
        assert!(spool.bytes() <= 10_000 && spool.rows() > 500, "{} {}", spool.bytes(), spool.rows());
        let mut spool = Spool::new();
        assert!(!spool.take(rows("SELECT n, repeat('x', n) FROM generate_series(4999, 9999) AS n"), 10_000).unwrap());
        assert!(spool.bytes() <= 10_000 && all(&mut spool).len() == 1, "{} {}", spool.bytes(), spool.rows());
    }
}

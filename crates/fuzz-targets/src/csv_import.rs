//! CSV imported as `\copy` does.
//!
//! ```text
//! dialect u8 | the rest is CSV
//! ```
//! Promised besides: an import takes all rows or none; fields are those that a plain reading of the whole text finds,
//! however the bytes arrive; what was imported, exported and imported again, is the same.

use std::io::BufReader;
use std::sync::LazyLock;

use cairn_cli::{Failure, copy_from, copy_to};
use cairn_storage::io::{DiskImage, SimDisk};
use cairndb::Connection;

use crate::machine::{assert_typed, connect, lines, open_database};
use crate::sql_text::image;

const PAGE_BYTES: usize = 4096;
const SCHEMA: &str = "
    CREATE TABLE typed (i int, n numeric(9,2), b bytea, ts timestamp, f real);
    CREATE TABLE typed_again (i int, n numeric(9,2), b bytea, ts timestamp, f real);
    CREATE TABLE texts (a text, b text, c text);
    CREATE TABLE texts_again (a text, b text, c text)";

static IMAGE: LazyLock<DiskImage> = LazyLock::new(|| image(PAGE_BYTES, SCHEMA));

/// How the CSV is written.
#[derive(Clone, Copy)]
struct Dialect {
    delimiter: u8,
    quote: u8,
    null: &'static str,
    header: bool,
}

const DIALECTS: [Dialect; 4] = [
    Dialect { delimiter: b',', quote: b'"', null: "", header: false },
    Dialect { delimiter: b';', quote: b'\'', null: "NULL", header: false },
    Dialect { delimiter: b'|', quote: b'"', null: "\\N", header: true },
    Dialect { delimiter: b'\t', quote: b'`', null: "n", header: false },
];

impl Dialect {
    fn arguments(self, table: &str, direction: &str) -> String {
        let word = |byte: u8| format!("'{}'", char::from(byte)).replace("'''", "''''");
        let header = if self.header { "header" } else { "" };
        let (delimiter, quote, null) = (word(self.delimiter), word(self.quote), self.null);
        format!("{table} {direction} 'bytes' csv {header} delimiter {delimiter} quote {quote} null '{null}'")
    }
}

/// The target.
pub fn csv_import(data: &[u8]) {
    let Some((choice, csv)) = data.split_first() else { return };
    let dialect = DIALECTS[usize::from(*choice) % DIALECTS.len()];
    let disk = SimDisk::from_image(&IMAGE, 1);
    let database = open_database(&disk, PAGE_BYTES).expect("an undamaged database opens");
    let connection = connect(&database).expect("a connection");
    round_trip(&connection, dialect, "typed", csv);
    if round_trip(&connection, dialect, "texts", csv) {
        assert_plain(&connection, dialect, csv);
    }
}

/// Imports, exports, imports again; whether the first import succeeded.
fn round_trip(connection: &Connection, dialect: Dialect, table: &str, csv: &[u8]) -> bool {
    let arguments = dialect.arguments(table, "from");
    let imported = copy_from(connection, &arguments, csv);
    let rows = rows(connection, table);
    let Ok(count) = imported else {
        imported.err().iter().for_each(assert_failure);
        assert!(rows.is_empty(), "a failed import leaves {rows:?}");
        return false;
    };
    assert_eq!(count, rows.len() as u64);
    connection.execute(&format!("DELETE FROM {table}"), ()).expect("rows go");
    // Byte by byte.
    let again = copy_from(connection, &arguments, BufReader::with_capacity(1, csv));
    assert!(again.is_ok_and(|again| again == count), "the count of rows depends on how bytes arrive");
    assert_eq!(self::rows(connection, table), rows, "rows depend on how bytes arrive");

    let mut out = Vec::new();
    copy_to(connection, &dialect.arguments(table, "to"), &mut out).expect("rows are exported");
    let other = format!("{table}_again");
    copy_from(connection, &dialect.arguments(&other, "from"), out.as_slice())
        .unwrap_or_else(|error| panic!("{:?}: {error}", String::from_utf8_lossy(&out)));
    assert_eq!(self::rows(connection, &other), rows, "{:?}", String::from_utf8_lossy(&out));
    true
}

fn rows(connection: &Connection, table: &str) -> Vec<String> {
    lines(connection, &format!("SELECT * FROM {table}")).expect("a table answers")
}

fn assert_failure(failure: &Failure) {
    match failure {
        Failure::Sql { error, .. } => assert_typed(error, "import"),
        Failure::Message(message) => panic!("the arguments or the bytes cannot be read: {message}"),
        Failure::Told | Failure::BrokenPipe => panic!("{failure:?}"),
    }
}

/// The table of texts holds what a plain reading finds.
fn assert_plain(connection: &Connection, dialect: Dialect, csv: &[u8]) {
    // A header is skipped unread: it may be anything.
    let records = records(csv, dialect).into_iter().skip(usize::from(dialect.header));
    let mut expected: Vec<Vec<Option<String>>> = records.map(|record| fields(&record, dialect)).collect();
    let row = |row: cairndb::Row<'_>| (0..3).map(|column| row.get::<Option<String>>(column)).collect();
    let found = connection.query_map("SELECT a, b, c FROM texts", (), row).expect("a table answers");
    let mut found: Vec<Vec<Option<String>>> = found.collect::<Result<_, _>>().expect("a table answers");
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

/// Records of a text that is known to be valid, read with no thought for speed: lines first, joined while a quote is open.
fn records(csv: &[u8], dialect: Dialect) -> Vec<Vec<u8>> {
    let quotes = |line: &[u8]| line.iter().filter(|byte| **byte == dialect.quote).count();
    let (mut records, mut pending) = (Vec::new(), Vec::new());
    let end = line_end(csv, dialect);
    for line in csv.split_inclusive(|byte| *byte == end) {
        if pending.is_empty() && line.trim_ascii_end() == b"\\." {
            break;
        }
        pending.extend_from_slice(line);
        // Doubled quotes count twice, so an even number means that none is open.
        if quotes(&pending).is_multiple_of(2) {
            records.push(std::mem::take(&mut pending));
        }
    }
    records
}

/// What lines end with: a carriage return, where the first is one on its own.
fn line_end(csv: &[u8], dialect: Dialect) -> u8 {
    let mut open = false;
    for (at, byte) in csv.iter().enumerate() {
        open ^= *byte == dialect.quote;
        match byte {
            b'\n' if !open => return b'\n',
            b'\r' if !open && csv.get(at + 1) != Some(&b'\n') => return b'\r',
            _ => {}
        }
    }
    b'\n'
}

fn fields(record: &[u8], dialect: Dialect) -> Vec<Option<String>> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
    let mut open = false;
    for byte in record {
        open ^= *byte == dialect.quote;
        match pieces.last_mut() {
            Some(_) if *byte == dialect.delimiter && !open => pieces.push(Vec::new()),
            Some(piece) => piece.push(*byte),
            None => {}
        }
    }
    pieces.iter().map(|piece| field(piece, dialect)).collect()
}

/// A field with its quotes still on.
fn field(piece: &[u8], dialect: Dialect) -> Option<String> {
    if piece == dialect.null.as_bytes() {
        return None;
    }
    let (mut text, mut open, mut at) = (Vec::new(), false, 0);
    while let Some(byte) = piece.get(at) {
        let doubled = open && piece.get(at + 1) == Some(&dialect.quote);
        match *byte == dialect.quote {
            true if doubled => {
                text.push(*byte);
                at += 1;
            }
            true => open = !open,
            false => text.push(*byte),
        }
        at += 1;
    }
    Some(String::from_utf8(text).expect("an import that succeeded is UTF-8"))
}

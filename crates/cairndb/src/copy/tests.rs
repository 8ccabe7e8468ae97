//! Records of text and CSV, read together however they come.

use std::io::BufReader;

use super::{Force, Format, Lines, Records};

type Found = Vec<Vec<Option<String>>>;

/// All records up to what is wrong, with its message, its line, and what stands there.
fn read(input: impl std::io::BufRead, format: &Format) -> (Found, Option<(String, u64, String)>) {
    let (mut lines, mut records) = (Lines::new(input, format.clone()), Records::default());
    let mut found = Vec::new();
    while !lines.is_done() {
        let bad = lines.fill(&mut records);
        let whole = records.len() - usize::from(bad.is_some());
        let texts = records.texts();
        let field = |record, at| texts.field(record, at, Force::default()).unwrap().map(str::to_owned);
        found.extend((0..whole).map(|record| (0..records.width(record)).map(|at| field(record, at)).collect()));
        if let Some(bad) = bad {
            assert_eq!(records.width(whole), 0);
            return (found, Some((bad.error.message().to_owned(), records.line(whole), records.shown(whole))));
        }
    }
    (found, None)
}

fn records(text: &[u8], csv: bool) -> Found {
    let (found, bad) = read(text, &Format::new(csv));
    assert_eq!(bad, None);
    found
}

fn failure(text: &[u8], csv: bool) -> (String, u64) {
    let (_, bad) = read(text, &Format::new(csv));
    bad.map(|(message, line, _)| (message, line)).expect("a failure")
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn text_has_escapes_and_its_null() {
    let expected = [vec![some("a\tb"), None, some("")], vec![some("\\N\u{8}\n"), some("A!"), some("xg")]];
    assert_eq!(records(b"a\\tb\t\\N\t\n\\\\N\\b\\\n\t\\101\\x21\t\\xg", false), expected);
    assert_eq!(records(b"a\r\nb\r\n", false), [[some("a")], [some("b")]]);
    assert_eq!(records(b"a\n\\.\nb\n", false), [[some("a")]]);
    assert_eq!(records(b"a\rb\r\r", false), [[some("a")], [some("b")], [some("")]]);
    assert_eq!(records(b"a\\\r\rb", false), [[some("a\r")], [some("b")]]);
    assert_eq!(records(b"a\r\\.\rb\r", false), [[some("a")]]);
    assert_eq!(records(b"", false), Found::new());
    assert_eq!(records(b"\n", false), [[some("")]]);
    assert_eq!(records(b"a\\", false), [[some("a")]]);
    assert_eq!(records(b"\\x4\\x41B\\1\\0123z\\x\n", false), [[some("\u{4}AB\u{1}\n3zx")]]);
}

#[test]
fn csv_has_quotes_over_lines() {
    let expected = [vec![some("a"), None, some("")], vec![some("x,\"y\"\n z"), some("b c"), None]];
    assert_eq!(records(b"a,,\"\"\n\"x,\"\"y\"\"\n z\",b\" \"c,", true), expected);
    assert_eq!(records(b"\"a\r\nb\"\r\nc\r\n", true), [[some("a\r\nb")], [some("c")]]);
    assert_eq!(records(b"\"a\rb\"\rc\r", true), [[some("a\rb")], [some("c")]]);
    assert_eq!(records(b"\"a\rb\"\r\nc\r\n", true), [[some("a\rb")], [some("c")]]);
    assert_eq!(records(b"\"a\rb\"\nc\n", true), [[some("a\rb")], [some("c")]]);
    assert_eq!(records(b"a\r\"b\nc\"\r", true), [[some("a")], [some("b\nc")]]);
    assert_eq!(records(b"a\n\\.\nb\n", true), [[some("a")]]);
    let other = Format { quote: b'\'', escape: b'\\', ..Format::new(true) };
    let (found, bad) = read(&b"'a\\'b\\\\',x\\y,'c\\d'\n"[..], &other);
    assert_eq!((found, bad), (vec![vec![some("a'b\\"), some("x\\y"), some("c\\d")]], None));
}

#[test]
fn what_is_broken_is_told_with_its_line() {
    assert_eq!(failure(b"a\nb\rc\n", false), ("literal carriage return found in data".to_owned(), 2));
    assert_eq!(failure(b"a\r\nb\n", false), ("literal newline found in data".to_owned(), 2));
    assert_eq!(failure(b"a\\.b\n", false), ("end-of-copy marker corrupt".to_owned(), 1));
    assert_eq!(failure(b"ok\n\"open\nmore\n", true), ("unterminated CSV quoted field".to_owned(), 4));
    assert_eq!(failure(b"a\nb\rc\n", true), ("unquoted carriage return found in data".to_owned(), 2));
    let (mut lines, mut records) = (Lines::new(&b"a\xc3(\tb\n"[..], Format::new(false)), Records::default());
    assert!(lines.fill(&mut records).is_none());
    let field = |at| records.texts().field(0, at, Force::default());
    assert!(field(0).unwrap_err().message().ends_with(": 0xc3 0x28"));
    assert_eq!(field(1).unwrap(), Some("b"));
}

/// Half a character in one field and the rest in the next are none.
#[test]
fn a_character_ends_with_its_field() {
    let (mut lines, mut records) =
        (Lines::new(&b"\\xc3\t\\xa9\n\xc3\n\xa9\n"[..], Format::new(false)), Records::default());
    assert!(lines.fill(&mut records).is_none());
    let field = |record, at| records.texts().field(record, at, Force::default());
    for (record, at, byte) in [(0, 0, "0xc3"), (0, 1, "0xa9"), (1, 0, "0xc3"), (2, 0, "0xa9")] {
        assert!(field(record, at).unwrap_err().message().ends_with(byte), "{record} {at}");
    }
}

/// As PostgreSQL describes its formats, byte by byte: fields of one record, or what is wrong with it.
fn plainly(record: &[u8], format: &Format, stray: u8) -> Result<Vec<Option<Vec<u8>>>, &'static str> {
    let (mut fields, mut value, mut begin, mut at) = (Vec::new(), Vec::new(), 0, 0);
    let (mut quoted, mut was_quoted) = (false, false);
    while at <= record.len() {
        let next = record.get(at + 1).copied();
        match record.get(at).copied() {
            None if quoted => return Err("unterminated CSV quoted field"),
            Some(byte)
                if quoted
                    && byte == format.escape
                    && next.is_some_and(|next| next == format.quote || next == format.escape) =>
            {
                value.extend(next);
                at += 1;
            }
            Some(byte) if quoted && byte == format.quote => quoted = false,
            Some(byte) if quoted => value.push(byte),
            None => {
                fields.push(
                    (was_quoted || record[begin..at] != *format.null.as_bytes()).then(|| std::mem::take(&mut value)),
                );
            }
            Some(byte) if byte == format.delimiter => {
                let is_null = !was_quoted && record[begin..at] == *format.null.as_bytes();
                fields.push((!is_null).then(|| value.clone()));
                (value, begin, was_quoted) = (Vec::new(), at + 1, false);
            }
            Some(byte) if format.csv && byte == format.quote => (quoted, was_quoted) = (true, true),
            Some(byte) if byte == stray => {
                return Err(match (format.csv, stray) {
                    (true, b'\n') => "unquoted newline found in data",
                    (true, _) => "unquoted carriage return found in data",
                    (false, b'\n') => "literal newline found in data",
                    (false, _) => "literal carriage return found in data",
                });
            }
            Some(b'\\') if !format.csv => {
                let digits = |from: usize, radix: u32, most: usize| {
                    let rest = record[from.min(record.len())..].iter().take(most);
                    rest.map_while(|digit| char::from(*digit).to_digit(radix)).collect::<Vec<u32>>()
                };
                let number = |digits: &[u32], radix: u32| digits.iter().fold(0, |sum, digit| sum * radix + digit) as u8;
                let (octal, hex) = (digits(at + 1, 8, 3), digits(at + 2, 16, 2));
                match next {
                    None => {}
                    Some(b'.') => return Err("end-of-copy marker corrupt"),
                    Some(b'0'..=b'7') => value.push(number(&octal, 8)),
                    Some(b'x') if !hex.is_empty() => value.push(number(&hex, 16)),
                    Some(byte) => value.push(match byte {
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'v' => 11,
                        other => other,
                    }),
                }
                at += match next {
                    Some(b'0'..=b'7') => octal.len(),
                    Some(b'x') => 1 + hex.len(),
                    _ => 1,
                };
            }
            Some(byte) => value.push(byte),
        }
        at += 1;
    }
    Ok(fields)
}

/// Random bytes of few kinds, so that what means something stands beside itself and at the ends of what is read at a time.
#[test]
fn records_are_what_they_are_read_as_byte_by_byte_however_they_come() {
    let mut random = crate::types::testing::Random::new(35);
    let mut failed = 0;
    for round in 0..4000 {
        let csv = round % 2 == 0;
        let mut format = Format::new(csv);
        if round % 3 == 0 {
            (format.delimiter, format.null) = (b'|', ["", "-", "NULL"][random.below(3) as usize].to_owned());
        }
        if csv && round % 5 == 0 {
            (format.quote, format.escape) = (b'\'', [b'\'', b'\\', b'e'][random.below(3) as usize]);
        }
        let end: &[u8] = [&b"\n"[..], b"\r\n", b"\r"][random.below(3) as usize];
        let stray = if end == b"\r" { b'\n' } else { b'\r' };
        let alphabet =
            [format.delimiter, format.quote, format.escape, b'\\', b'N', b'x', b'1', b'a', b'-', b't', 0xc3, 0xa9];
        let (mut data, mut expected, mut bad) = (Vec::new(), Vec::new(), None);
        for _ in 0..1 + random.below(6) {
            let length = if random.below(20) == 0 { 300 } else { random.below(24) };
            let mut record: Vec<u8> = (0..length).map(|_| alphabet[random.below(12) as usize]).collect();
            // (The first line says how lines end.)
            if random.below(40) == 0 && !data.is_empty() {
                record.extend([b'a', stray, b'a']);
            }
            // What would go on on the next line, or end the data, is another test's.
            let fields = plainly(&record, &format, stray);
            let goes_on = fields == Err("unterminated CSV quoted field")
                || !csv && record.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
            if goes_on || record == b"\\." {
                continue;
            }
            data.extend_from_slice(&record);
            data.extend_from_slice(end);
            match fields {
                Ok(fields) => expected.push(fields),
                Err(message) => {
                    bad = Some(message);
                    break;
                }
            }
        }
        for capacity in [1, 2, 3, 7, 64, 4096] {
            let (mut lines, mut records) =
                (Lines::new(BufReader::with_capacity(capacity, &data[..]), format.clone()), Records::default());
            let failed = lines.fill(&mut records);
            assert_eq!(failed.as_ref().map(|bad| bad.error.message()), bad, "{data:?}");
            let whole = records.len() - usize::from(failed.is_some());
            let found: Vec<Vec<_>> = (0..whole)
                .map(|record| {
                    (0..records.width(record)).map(|at| records.bytes(record, at).map(<[u8]>::to_vec)).collect()
                })
                .collect();
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&data));
            let texts = records.texts();
            for (record, fields) in expected.iter().enumerate() {
                for (at, field) in fields.iter().enumerate() {
                    let text =
                        texts.field(record, at, Force::default()).map(|text| text.map(str::as_bytes)).map_err(drop);
                    let is_text = field.as_ref().is_none_or(|field| std::str::from_utf8(field).is_ok());
                    assert_eq!(text, if is_text { Ok(field.as_deref()) } else { Err(()) });
                }
            }
        }
        failed += usize::from(bad.is_some());
    }
    assert!(failed > 100, "{failed}");
}

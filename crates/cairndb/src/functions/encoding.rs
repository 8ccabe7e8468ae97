//! `convert_to`, `convert_from`: texts in another encoding's bytes.

use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue
        .add("convert_to", &[TEXT, TEXT], DataType::Bytea, call!((Text a, Text name) convert_to(a, name)))
        .stable_in_name();
    catalogue
        .add("convert_from", &[DataType::Bytea, TEXT], TEXT, call!((Bytea a, Text name) convert_from(a, name)))
        .stable_in_name();
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Latin1,
    /// Bytes are taken for what they are.
    SqlAscii,
}

/// PostgreSQL's other encodings, as `spelled` writes their names.
const OTHERS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "johab",
    "koi8",
    "koi8r",
    "koi8u",
    "latin10",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "muleinternal",
    "shiftjis2004",
    "sjis",
    "uhc",
    "win",
    "win1250",
    "win1251",
    "win1252",
    "win1253",
    "win1254",
    "win1255",
    "win1256",
    "win1257",
    "win1258",
    "win866",
    "win874",
];

/// A name without case and without what is no letter and no digit.
fn spelled(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether PostgreSQL knows an encoding of this name; `None`: it does not, `Some(true)`: it is UTF-8.
pub(crate) fn is_utf8(name: &str) -> Option<bool> {
    match spelled(name).as_str() {
        "utf8" | "unicode" => Some(true),
        "latin1" | "iso88591" | "sqlascii" => Some(false),
        other => OTHERS.contains(&other).then_some(false),
    }
}

fn encoding(name: &str, which: &str) -> Result<Encoding> {
    match spelled(name).as_str() {
        "utf8" | "unicode" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        "sqlascii" => Ok(Encoding::SqlAscii),
        other if OTHERS.contains(&other) => {
            let error = Error::unsupported(format!("the encoding {}", name.to_uppercase()));
            Err(error.with_hint("Use UTF8, LATIN1 or SQL_ASCII."))
        }
        _ => Err(invalid_parameter(format!("invalid {which} encoding name \"{name}\""))),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn convert_to(text: &str, name: &str) -> Result<Value> {
    let bytes = match encoding(name, "destination")? {
        Encoding::Utf8 | Encoding::SqlAscii => text.as_bytes().to_vec(),
        Encoding::Latin1 => text.chars().map(latin1).collect::<Result<_>>()?,
    };
    Ok(Value::Bytea(bytes.into()))
}

/// SQLSTATE 22P05 for a character that the encoding does not have.
fn latin1(character: char) -> Result<u8> {
    u8::try_from(u32::from(character)).map_err(|_| {
        let bytes = hexadecimal(character.encode_utf8(&mut [0; 4]).as_bytes());
        let message = format!(
            "character with byte sequence {bytes} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
        );
        Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message)
    })
}

fn convert_from(bytes: &[u8], name: &str) -> Result<Value> {
    let encoding = encoding(name, "source")?;
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(invalid(&bytes[at..=at]));
    }
    match encoding {
        Encoding::Latin1 => {
            check_length(bytes.len() * 2)?;
            Ok(Value::from(bytes.iter().map(|byte| char::from(*byte)).collect::<String>()))
        }
        Encoding::Utf8 | Encoding::SqlAscii => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::text(text)),
            Err(error) => {
                let rest = &bytes[error.valid_up_to()..];
                // As many bytes as the first of them promises.
                let wanted = match rest.first() {
                    Some(0xc0..=0xdf) => 2,
                    Some(0xe0..=0xef) => 3,
                    Some(0xf0..=0xf7) => 4,
                    _ => 1,
                };
                Err(invalid(&rest[..wanted.min(rest.len())]))
            }
        },
    }
}

/// SQLSTATE 22021.
fn invalid(bytes: &[u8]) -> Error {
    Error::new(
        SqlState::INVALID_BYTE_SEQUENCE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", hexadecimal(bytes)),
    )
}

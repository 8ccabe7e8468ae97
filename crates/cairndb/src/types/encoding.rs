//! Encodings of texts other than UTF-8, by PostgreSQL's names: <https://www.postgresql.org/docs/15/multibyte.html>.
//!
//! What their bytes mean is the [WHATWG's Encoding Standard](https://encoding.spec.whatwg.org) that says, but for what stands in these
//! places in PostgreSQL: the bytes 0x80 to 0x9f are controls in ISO's encodings of one byte, and in Windows' those that are not given out
//! are nothing.

use std::sync::OnceLock;

use encoding_rs::{DecoderResult, EncoderResult};

use crate::{Error, Result, SqlState};

/// An encoding that PostgreSQL knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoding(&'static Known);

#[derive(Debug)]
struct Known {
    /// As PostgreSQL calls it.
    name: &'static str,
    /// Other names, without what is no letter and no digit, in small letters.
    also: &'static [&'static str],
    how: How,
}

#[derive(Debug)]
enum How {
    /// UTF-8, or bytes that are taken for it.
    Utf8,
    /// One byte a character; those below 0x80 are ASCII.
    Bytes(UpperHalf),
    /// One or more bytes a character.
    Characters(&'static encoding_rs::Encoding),
    /// It is PostgreSQL's alone; what to take instead.
    Missing(&'static str),
}

/// What the bytes 0x80 to 0x9f are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upper {
    /// Controls.
    Controls,
    /// What is given out; the others are nothing.
    Given,
}

use How::{Bytes, Characters, Missing, Utf8};
use Upper::{Controls, Given};

const INSTEAD: &str = "Convert the bytes to UTF8 before.";

static ENCODINGS: [Known; 42] = {
    use encoding_rs as e;

    const fn bytes(of: &'static encoding_rs::Encoding, upper: Upper) -> How {
        Bytes(UpperHalf { of, upper, meaning: OnceLock::new() })
    }

    const fn known(name: &'static str, also: &'static [&'static str], how: How) -> Known {
        Known { name, also, how }
    }

    [
        known("UTF8", &["unicode"], Utf8),
        known("SQL_ASCII", &["sqlascii"], Utf8),
        known("LATIN1", &["iso88591"], bytes(&e::WINDOWS_1252_INIT, Controls)),
        known("LATIN2", &["iso88592"], bytes(&e::ISO_8859_2_INIT, Controls)),
        known("LATIN3", &["iso88593"], bytes(&e::ISO_8859_3_INIT, Controls)),
        known("LATIN4", &["iso88594"], bytes(&e::ISO_8859_4_INIT, Controls)),
        known("LATIN5", &["iso88599"], bytes(&e::WINDOWS_1254_INIT, Controls)),
        known("LATIN6", &["iso885910"], bytes(&e::ISO_8859_10_INIT, Controls)),
        known("LATIN7", &["iso885913"], bytes(&e::ISO_8859_13_INIT, Controls)),
        known("LATIN8", &["iso885914"], bytes(&e::ISO_8859_14_INIT, Controls)),
        known("LATIN9", &["iso885915"], bytes(&e::ISO_8859_15_INIT, Controls)),
        known("LATIN10", &["iso885916"], bytes(&e::ISO_8859_16_INIT, Controls)),
        known("ISO_8859_5", &["iso88595"], bytes(&e::ISO_8859_5_INIT, Controls)),
        known("ISO_8859_6", &["iso88596"], bytes(&e::ISO_8859_6_INIT, Controls)),
        known("ISO_8859_7", &["iso88597"], bytes(&e::ISO_8859_7_INIT, Controls)),
        known("ISO_8859_8", &["iso88598"], bytes(&e::ISO_8859_8_INIT, Controls)),
        known("WIN1250", &["windows1250"], bytes(&e::WINDOWS_1250_INIT, Given)),
        known("WIN1251", &["windows1251", "win"], bytes(&e::WINDOWS_1251_INIT, Given)),
        known("WIN1252", &["windows1252"], bytes(&e::WINDOWS_1252_INIT, Given)),
        known("WIN1253", &["windows1253"], bytes(&e::WINDOWS_1253_INIT, Given)),
        known("WIN1254", &["windows1254"], bytes(&e::WINDOWS_1254_INIT, Given)),
        known("WIN1255", &["windows1255"], bytes(&e::WINDOWS_1255_INIT, Given)),
        known("WIN1256", &["windows1256"], bytes(&e::WINDOWS_1256_INIT, Given)),
        known("WIN1257", &["windows1257"], bytes(&e::WINDOWS_1257_INIT, Given)),
        known("WIN1258", &["windows1258", "abc", "tcvn", "tcvn5712", "vscii"], bytes(&e::WINDOWS_1258_INIT, Given)),
        known("WIN866", &["windows866", "alt"], bytes(&e::IBM866_INIT, Given)),
        known("WIN874", &["windows874"], bytes(&e::WINDOWS_874_INIT, Given)),
        known("KOI8R", &["koi8"], bytes(&e::KOI8_R_INIT, Given)),
        known("KOI8U", &[], bytes(&e::KOI8_U_INIT, Given)),
        known("BIG5", &["win950", "windows950"], Characters(&e::BIG5_INIT)),
        known("EUC_JP", &["eucjp"], Characters(&e::EUC_JP_INIT)),
        known("GB18030", &[], Characters(&e::GB18030_INIT)),
        known("GBK", &["win936", "windows936"], Characters(&e::GBK_INIT)),
        known("SJIS", &["shiftjis", "mskanji", "win932", "windows932"], Characters(&e::SHIFT_JIS_INIT)),
        known("UHC", &["win949", "windows949"], Characters(&e::EUC_KR_INIT)),
        known("EUC_CN", &["euccn"], Missing("Use GBK, which has all of it.")),
        known("EUC_KR", &["euckr"], Missing("Use UHC, which has all of it.")),
        known("EUC_JIS_2004", &["eucjis2004"], Missing(INSTEAD)),
        known("EUC_TW", &["euctw"], Missing(INSTEAD)),
        known("JOHAB", &[], Missing(INSTEAD)),
        known("MULE_INTERNAL", &["muleinternal"], Missing(INSTEAD)),
        known("SHIFT_JIS_2004", &["shiftjis2004"], Missing(INSTEAD)),
    ]
};

/// Whether two names differ in case and in what is no letter and no digit alone.
fn is_spelled(one: &str, other: &str) -> bool {
    let letters =
        |name| str::bytes(name).filter(u8::is_ascii_alphanumeric).map(|letter: u8| letter.to_ascii_lowercase());
    letters(one).eq(letters(other))
}

/// What the bytes from 0x80 on mean, where they do.
#[derive(Debug)]
struct UpperHalf {
    of: &'static encoding_rs::Encoding,
    upper: Upper,
    meaning: OnceLock<Box<[Option<char>; 128]>>,
}

impl UpperHalf {
    /// Of the byte that is so many above 0x7f.
    fn meaning(&self) -> &[Option<char>; 128] {
        self.meaning.get_or_init(|| {
            let bytes: [u8; 128] = std::array::from_fn(|at| 0x80 + at as u8);
            let (text, _) = self.of.decode_without_bom_handling(&bytes);
            let mut meaning = Box::new([None; 128]);
            for ((byte, character), meaning) in bytes.iter().zip(text.chars()).zip(meaning.iter_mut()) {
                *meaning = match character {
                    _ if *byte < 0xa0 && self.upper == Controls => Some(char::from(*byte)),
                    char::REPLACEMENT_CHARACTER | '\u{80}'..='\u{9f}' => None,
                    character => Some(character),
                };
            }
            meaning
        })
    }
}

impl Encoding {
    pub(crate) const UTF8: Encoding = Encoding(&ENCODINGS[0]);

    /// The encoding of this name; `None`: PostgreSQL knows none.
    pub(crate) fn of(name: &str) -> Option<Encoding> {
        let is_it = |known: &&Known| [known.name].iter().chain(known.also).any(|one| is_spelled(one, name));
        ENCODINGS.iter().find(is_it).map(Encoding)
    }

    /// Whether it is UTF-8 by name.
    pub(crate) fn is_utf8(self) -> bool {
        self.0.name == Encoding::UTF8.0.name
    }

    /// SQLSTATE 22021: these bytes are nothing in it.
    pub(crate) fn invalid(self, bytes: &[u8]) -> Error {
        invalid_bytes(bytes, self.0.name)
    }

    /// What makes text of its bytes; `None`: nothing has to, they are UTF-8. SQLSTATE 0A000 for one that is not there.
    pub(crate) fn decoder(self) -> Result<Option<Decoder>> {
        let Encoding(Known { name, how, .. }) = self;
        Ok(match how {
            Utf8 => None,
            Bytes(upper) => Some(Decoder(Decodes::Bytes(name, upper.meaning()))),
            Characters(of) => Some(Decoder(Decodes::Characters(name, of.new_decoder_without_bom_handling()))),
            Missing(instead) => return Err(missing(name, instead)),
        })
    }

    /// What makes its bytes of text; otherwise as [`Encoding::decoder`].
    pub(crate) fn encoder(self) -> Result<Option<Encoder>> {
        let Encoding(Known { name, how, .. }) = self;
        Ok(match how {
            Utf8 => None,
            Bytes(upper) => Some(Encoder(Encodes::Bytes(name, upper.meaning()))),
            Characters(of) => Some(Encoder(Encodes::Characters(name, of.new_encoder()))),
            Missing(instead) => return Err(missing(name, instead)),
        })
    }
}

fn missing(name: &str, instead: &str) -> Error {
    Error::unsupported(format!("the encoding {name}")).with_hint(instead)
}

/// Makes text of an encoding's bytes, however they come.
pub(crate) struct Decoder(Decodes);

enum Decodes {
    Bytes(&'static str, &'static [Option<char>; 128]),
    Characters(&'static str, encoding_rs::Decoder),
}

impl Decoder {
    /// Appends what the next bytes mean. `is_last`: no more come. At an error, what stands before it is appended: SQLSTATE 22021 for what is no
    /// character, 22P05 for one that Unicode does not have.
    pub(crate) fn decode(&mut self, bytes: &[u8], is_last: bool, text: &mut String) -> Result<()> {
        match &mut self.0 {
            Decodes::Bytes(name, upper) => {
                text.reserve(bytes.len());
                for &byte in bytes {
                    let meaning = match byte.checked_sub(0x80) {
                        None => Some(char::from(byte)),
                        Some(at) => upper[usize::from(at)],
                    };
                    text.push(meaning.ok_or_else(|| without_equivalent(&[byte], name, "UTF8"))?);
                }
                Ok(())
            }
            Decodes::Characters(name, decoder) => {
                let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
                text.reserve(room.unwrap_or(bytes.len()));
                match decoder.decode_to_string_without_replacement(bytes, text, is_last) {
                    (DecoderResult::InputEmpty, _) => Ok(()),
                    (DecoderResult::OutputFull, _) => Err(Error::internal("a decoded text has no room")),
                    (DecoderResult::Malformed(length, behind), read) => {
                        let end = read.saturating_sub(behind.into());
                        let shown = bytes.get(end.saturating_sub(length.into())..end).unwrap_or_default();
                        Err(invalid_bytes(shown, name))
                    }
                }
            }
        }
    }
}

/// Makes an encoding's bytes of text.
pub(crate) struct Encoder(Encodes);

enum Encodes {
    Bytes(&'static str, &'static [Option<char>; 128]),
    Characters(&'static str, encoding_rs::Encoder),
}

impl Encoder {
    /// Appends a text's bytes. SQLSTATE 22P05 for a character that the encoding does not have.
    pub(crate) fn encode(&mut self, text: &str, bytes: &mut Vec<u8>) -> Result<()> {
        let unmappable = |character: char, name: &str| {
            without_equivalent(character.encode_utf8(&mut [0; 4]).as_bytes(), "UTF8", name)
        };
        match &mut self.0 {
            Encodes::Bytes(name, upper) => {
                bytes.reserve(text.len());
                for character in text.chars() {
                    let byte = match u8::try_from(character) {
                        Ok(byte @ ..0x80) => Some(byte),
                        // (There are 128 of them.)
                        _ => upper.iter().position(|of| *of == Some(character)).map(|at| 0x80 + at as u8),
                    };
                    bytes.push(byte.ok_or_else(|| unmappable(character, name))?);
                }
                Ok(())
            }
            Encodes::Characters(name, encoder) => {
                let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
                bytes.reserve(room.unwrap_or(text.len()));
                match encoder.encode_from_utf8_to_vec_without_replacement(text, bytes, false) {
                    (EncoderResult::InputEmpty, _) => Ok(()),
                    (EncoderResult::OutputFull, _) => Err(Error::internal("an encoded text has no room")),
                    (EncoderResult::Unmappable(character), _) => Err(unmappable(character, name)),
                }
            }
        }
    }
}

/// SQLSTATE 22P05.
fn without_equivalent(bytes: &[u8], from: &str, to: &str) -> Error {
    let bytes = hexadecimal(bytes);
    let message =
        format!("character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\"");
    Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message)
}

/// SQLSTATE 22021.
fn invalid_bytes(bytes: &[u8], encoding: &str) -> Error {
    let message = format!("invalid byte sequence for encoding \"{encoding}\": {}", hexadecimal(bytes));
    Error::new(SqlState::INVALID_BYTE_SEQUENCE, message)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(name: &str, pieces: &[&[u8]]) -> Result<String> {
        let mut decoder = Encoding::of(name).unwrap().decoder()?.unwrap();
        let mut text = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            decoder.decode(piece, at + 1 == pieces.len(), &mut text)?;
        }
        Ok(text)
    }

    fn encoded(name: &str, text: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Encoding::of(name).unwrap().encoder()?.unwrap().encode(text, &mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn names_are_known_however_they_are_spelled() {
        for (name, known) in [
            ("Latin-1", Some("LATIN1")),
            ("iso_8859-15", Some("LATIN9")),
            ("windows-1252", Some("WIN1252")),
            ("UTF-8", Some("UTF8")),
            ("Shift_JIS", Some("SJIS")),
            ("ebcdic", None),
        ] {
            assert_eq!(Encoding::of(name).map(|of| of.0.name), known, "{name}");
        }
    }

    #[test]
    fn characters_may_come_in_pieces() {
        assert_eq!(decoded("SJIS", &[b"a\x93", b"\xfa\x96", b"\x7b"]).unwrap(), "a日本");
        assert_eq!(decoded("SJIS", &[b"a\x93"]).unwrap_err().sqlstate(), SqlState::INVALID_BYTE_SEQUENCE);
        assert_eq!(decoded("WIN1252", &[b"\x80 \xe9"]).unwrap(), "€ é");
        assert_eq!(decoded("LATIN1", &[b"\x80 \xe9"]).unwrap(), "\u{80} é");
    }

    #[test]
    fn what_an_encoding_does_not_have_is_told() {
        let error = decoded("WIN1252", &[b"a\x81"]).unwrap_err();
        let message =
            "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\"";
        assert_eq!((error.sqlstate(), error.message()), (SqlState::UNTRANSLATABLE_CHARACTER, message));
        for name in ["LATIN1", "SJIS"] {
            let error = encoded(name, "aş").unwrap_err();
            let message = format!(
                "character with byte sequence 0xc5 0x9f in encoding \"UTF8\" has no equivalent in encoding \"{name}\""
            );
            assert_eq!((error.sqlstate(), error.message()), (SqlState::UNTRANSLATABLE_CHARACTER, &*message));
        }
        let error = Encoding::of("EUC_KR").unwrap().decoder().err().unwrap();
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    }

    #[test]
    fn what_is_decoded_is_encoded_to_the_same_bytes() {
        let every: Vec<u8> = (0..=255).collect();
        for known in ENCODINGS.iter().filter(|known| matches!(known.how, Bytes(..))) {
            let mut meant = 0;
            for byte in every.chunks(1) {
                if let Ok(text) = decoded(known.name, &[byte]) {
                    assert_eq!(encoded(known.name, &text).unwrap(), byte, "{}", known.name);
                    meant += 1;
                }
            }
            assert!(meant > 200, "{} {meant}", known.name);
        }
    }
}

//! Entries that are a text: schemas and comments.

use crate::Result;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::version::Version;

/// An entry of nothing but a text: a schema's name, a comment.
pub(in crate::catalog) fn encode_text(text: &str, change: u64) -> Vec<u8> {
    let mut w = Writer::entry(Version::Plain);
    w.text(1, text);
    w.number(2, change);
    w.finish()
}

pub(in crate::catalog) fn decode_text(bytes: &[u8]) -> Result<String> {
    let mut name = String::new();
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        if tag == 1 {
            name = codec::text(value)?;
        }
    }
    Ok(name)
}

//! Entries of extensions that were made.

use crate::Result;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::objects::MadeExtension;
use crate::catalog::schema::ObjectId;
use crate::catalog::version::Version;

pub(in crate::catalog) fn encode_extension(made: &MadeExtension, change: u64) -> Vec<u8> {
    let mut w = Writer::entry(Version::Extensions);
    w.text(1, &made.name);
    w.number(2, change);
    w.number(3, u64::from(made.schema.0));
    w.finish()
}

pub(in crate::catalog) fn decode_extension(id: ObjectId, bytes: &[u8]) -> Result<MadeExtension> {
    let (mut name, mut schema) = (String::new(), ObjectId::PUBLIC);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => name = codec::text(value)?,
            3 => schema = ObjectId(codec::number(value)?),
            _ => {}
        }
    }
    Ok(MadeExtension { id, name, schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_come_back() {
        let made = MadeExtension { id: ObjectId(77), name: "uuid-ossp".to_owned(), schema: ObjectId(12_345) };
        let bytes = encode_extension(&made, 5);
        assert_eq!(decode_extension(ObjectId(77), &bytes).expect("readable"), made);
        for end in 0..bytes.len() {
            // No panic, whatever is read.
            let _ = decode_extension(ObjectId(77), &bytes[..end]);
        }
    }
}

//! Sequences.

use crate::Result;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::schema::{ObjectId, Sequence};
use crate::catalog::user_types::Types;
use crate::catalog::version::{Features, Version};
use crate::types::DataType;

pub(in crate::catalog) fn encode_sequence(sequence: &Sequence, change: u64) -> Vec<u8> {
    let features: &Features<Sequence> = &[(Version::Restart, |sequence| sequence.restarted.is_some())];
    let mut w = Writer::entry(Version::of(sequence, features));
    w.text(1, &sequence.name);
    w.signed(2, sequence.start);
    w.signed(3, sequence.increment);
    w.signed(4, sequence.min);
    w.signed(5, sequence.max);
    w.flag(6, sequence.cycle);
    if let Some((table, column)) = sequence.owner {
        w.number(7, table.0.into());
        w.number(8, column as u64);
    }
    w.number(9, change);
    w.number(10, sequence.generation);
    w.number(11, sequence.schema.0.into());
    w.data_type(12, sequence.data_type);
    if let Some(first) = sequence.restarted {
        w.signed(13, first);
    }
    w.finish()
}

pub(in crate::catalog) fn decode_sequence(id: ObjectId, bytes: &[u8]) -> Result<Sequence> {
    let mut sequence = Sequence {
        id,
        schema: ObjectId::PUBLIC,
        name: String::new(),
        data_type: DataType::Unknown,
        start: 1,
        restarted: None,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
        generation: 0,
        change: 0,
    };
    let (mut table, mut column) = (None, 0);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => sequence.name = codec::text(value)?,
            2 => sequence.start = codec::signed(value)?,
            3 => sequence.increment = codec::signed(value)?,
            4 => sequence.min = codec::signed(value)?,
            5 => sequence.max = codec::signed(value)?,
            6 => sequence.cycle = true,
            7 => table = Some(ObjectId(codec::number(value)?)),
            8 => column = codec::number(value)?,
            9 => sequence.change = codec::number(value)?,
            10 => sequence.generation = codec::number(value)?,
            11 => sequence.schema = ObjectId(codec::number(value)?),
            12 => sequence.data_type = codec::data_type(value, &Types::default())?,
            13 => sequence.restarted = Some(codec::signed(value)?),
            _ => {}
        }
    }
    if sequence.data_type == DataType::Unknown {
        sequence.data_type = type_within(sequence.min, sequence.max);
    }
    sequence.owner = table.map(|table| (table, column));
    Ok(sequence)
}

/// The type of a sequence whose entry does not say it: one that ends where a type does is of that.
pub(super) fn type_within(min: i64, max: i64) -> DataType {
    let ends = |least: i64, greatest: i64| min == least || max == greatest;
    match () {
        () if ends(i16::MIN.into(), i16::MAX.into()) => DataType::SmallInt,
        () if ends(i32::MIN.into(), i32::MAX.into()) => DataType::Integer,
        () => DataType::BigInt,
    }
}

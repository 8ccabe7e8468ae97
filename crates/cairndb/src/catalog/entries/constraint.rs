//! CHECK and FOREIGN KEY.

use super::definition::{decode_references, encode_definition};
use crate::Result;
use crate::catalog::Definition;
use crate::catalog::codec::{self, Fields, Writer, corrupt};
use crate::catalog::schema::{Check, Deferral, ForeignKey, ObjectId, ReferentialAction};

pub(in crate::catalog) fn encode_check(check: &Check, w: &mut Writer) {
    w.text(1, &check.name);
    encode_definition(&check.condition, (2, 3), w);
    w.number(4, check.id.0.into());
    for &column in &check.columns {
        w.number(5, column.into());
    }
    w.flag(6, !check.valid);
}

pub(in crate::catalog) fn decode_check(bytes: &[u8]) -> Result<Check> {
    let (id, name, condition) = (ObjectId(0), String::new(), Definition::default());
    let mut check = Check { id, name, condition, columns: Vec::new(), valid: true };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => check.name = codec::text(value)?,
            2 => check.condition.text = codec::text(value)?,
            3 => check.condition.references = decode_references(value)?,
            4 => check.id = ObjectId(codec::number(value)?),
            5 => check.columns.push(codec::number(value)?),
            6 => check.valid = false,
            _ => {}
        }
    }
    Ok(check)
}

pub(super) fn encode_foreign_key(key: &ForeignKey, w: &mut Writer) {
    w.text(1, &key.name);
    w.numbers(2, &key.columns);
    w.number(3, key.referenced_table.0.into());
    w.numbers(4, &key.referenced_columns);
    w.number(5, encode_action(key.on_delete));
    w.number(6, encode_action(key.on_update));
    w.number(7, key.id.0.into());
    encode_deferral(key.deferral, 8, w);
    w.flag(9, !key.valid);
    w.flag(10, key.full);
    if !key.set_on_delete.is_empty() {
        w.numbers(11, &key.set_on_delete);
    }
}

pub(super) fn decode_foreign_key(bytes: &[u8]) -> Result<ForeignKey> {
    let mut key = ForeignKey {
        id: ObjectId(0),
        name: String::new(),
        columns: Vec::new(),
        referenced_table: ObjectId(0),
        referenced_columns: Vec::new(),
        on_delete: ReferentialAction::NoAction,
        set_on_delete: Vec::new(),
        on_update: ReferentialAction::NoAction,
        full: false,
        deferral: Deferral::Never,
        valid: true,
    };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => key.name = codec::text(value)?,
            2 => key.columns = codec::numbers(value)?,
            3 => key.referenced_table = ObjectId(codec::number(value)?),
            4 => key.referenced_columns = codec::numbers(value)?,
            5 => key.on_delete = decode_action(codec::number(value)?)?,
            6 => key.on_update = decode_action(codec::number(value)?)?,
            7 => key.id = ObjectId(codec::number(value)?),
            8 => key.deferral = decode_deferral(codec::number(value)?)?,
            9 => key.valid = false,
            10 => key.full = true,
            11 => key.set_on_delete = codec::numbers(value)?,
            _ => {}
        }
    }
    Ok(key)
}

pub(super) fn encode_deferral(deferral: Deferral, tag: u8, w: &mut Writer) {
    match deferral {
        Deferral::Never => {}
        Deferral::Immediate => w.number(tag, 1),
        Deferral::Deferred => w.number(tag, 2),
    }
}

pub(super) fn decode_deferral(number: u64) -> Result<Deferral> {
    match number {
        1 => Ok(Deferral::Immediate),
        2 => Ok(Deferral::Deferred),
        _ => Err(corrupt("unknown time of a constraint")),
    }
}

pub(super) fn encode_action(action: ReferentialAction) -> u64 {
    match action {
        ReferentialAction::NoAction => 0,
        ReferentialAction::Restrict => 1,
        ReferentialAction::Cascade => 2,
        ReferentialAction::SetNull => 3,
        ReferentialAction::SetDefault => 4,
    }
}

pub(super) fn decode_action(number: u64) -> Result<ReferentialAction> {
    Ok(match number {
        0 => ReferentialAction::NoAction,
        1 => ReferentialAction::Restrict,
        2 => ReferentialAction::Cascade,
        3 => ReferentialAction::SetNull,
        4 => ReferentialAction::SetDefault,
        _ => return Err(corrupt("unknown referential action")),
    })
}

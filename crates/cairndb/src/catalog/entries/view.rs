//! Views.

use std::sync::Arc;

use super::definition::{decode_references, encode_definition};
use crate::Result;
use crate::catalog::Definition;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::schema::{CheckOption, ObjectId, View};
use crate::catalog::trigger::{decode_trigger, encode_trigger};
use crate::catalog::version::{Features, Version};

pub(in crate::catalog) fn encode_view(view: &View, change: u64) -> Vec<u8> {
    let features: &Features<View> = &[
        (Version::ViewRules, |view| !view.triggers.is_empty() || view.check.is_some()),
        (Version::ViewDefaults, |view| !view.defaults.is_empty()),
    ];
    let mut w = Writer::entry(Version::of(view, features)).temporary(view.id.is_temporary());
    w.text(1, &view.name);
    for column in &view.columns {
        w.text(2, column);
    }
    encode_definition(&view.query, (3, 5), &mut w);
    w.number(4, change);
    w.number(6, view.schema.0.into());
    for trigger in &view.triggers {
        w.record(7, |w| encode_trigger(trigger, w));
    }
    if let Some(check) = view.check {
        w.number(8, u64::from(check == CheckOption::Cascaded));
    }
    for (place, default) in &view.defaults {
        w.record(9, |w| {
            w.number(1, *place as u64);
            encode_definition(default, (2, 3), w);
        });
    }
    w.finish()
}

pub(in crate::catalog) fn decode_view(id: ObjectId, bytes: &[u8]) -> Result<View> {
    let mut view = View::new(id, ObjectId::PUBLIC, String::new());
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => view.name = codec::text(value)?,
            2 => view.columns.push(codec::text(value)?),
            3 => view.query.text = codec::text(value)?,
            4 => view.change = codec::number(value)?,
            5 => view.query.references = decode_references(value)?,
            6 => view.schema = ObjectId(codec::number(value)?),
            7 => view.triggers.push(Arc::new(decode_trigger(value)?)),
            8 if codec::number::<u32>(value)? == 0 => view.check = Some(CheckOption::Local),
            8 => view.check = Some(CheckOption::Cascaded),
            9 => view.defaults.extend([decode_view_default(value)?]),
            _ => {}
        }
    }
    Ok(view)
}

pub(super) fn decode_view_default(bytes: &[u8]) -> Result<(usize, Definition)> {
    let (mut place, mut default) = (0, Definition::default());
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => place = codec::number(value)?,
            2 => default.text = codec::text(value)?,
            3 => default.references = decode_references(value)?,
            _ => {}
        }
    }
    Ok((place, default))
}

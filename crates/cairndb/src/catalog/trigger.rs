//! Triggers of a table, as parts of its entry.

use super::codec::{self, Fields, Writer, corrupt};
use super::{KnownColumn, ObjectId};
use crate::Result;

/// A trigger of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub(crate) id: ObjectId,
    /// Its name; those of a table run in the order of their names.
    pub name: String,
    /// The function that it calls.
    pub(crate) routine: ObjectId,
    /// BEFORE; otherwise AFTER.
    pub(crate) before: bool,
    /// FOR EACH ROW; otherwise for each statement.
    pub(crate) per_row: bool,
    pub(crate) events: Vec<TriggerEvent>,
    /// UPDATE OF: numbers of columns; none: any.
    pub(crate) columns: Vec<u32>,
    /// The condition over OLD and NEW.
    pub(crate) when: Option<String>,
    /// The columns as the condition knows them.
    pub(crate) known: Vec<KnownColumn>,
    pub(crate) args: Vec<String>,
    pub(crate) enabled: bool,
}

/// What a trigger is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriggerEvent {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl TriggerEvent {
    const ALL: [TriggerEvent; 4] =
        [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete, TriggerEvent::Truncate];

    /// As TG_OP has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

impl Trigger {
    /// Whether it runs at this time for this event, whatever the row.
    pub(crate) fn is_for(&self, event: TriggerEvent, before: bool, per_row: bool) -> bool {
        self.enabled && self.before == before && self.per_row == per_row && self.events.contains(&event)
    }
}

pub(super) fn encode_trigger(trigger: &Trigger, w: &mut Writer) {
    w.number(1, trigger.id.0.into());
    w.text(2, &trigger.name);
    w.number(3, trigger.routine.0.into());
    w.flag(4, trigger.before);
    w.flag(5, trigger.per_row);
    for event in &trigger.events {
        w.number(6, TriggerEvent::ALL.iter().position(|known| known == event).unwrap_or(0) as u64);
    }
    trigger.columns.iter().for_each(|column| w.number(7, (*column).into()));
    if let Some(when) = &trigger.when {
        w.text(8, when);
    }
    for column in &trigger.known {
        w.record(9, |w| {
            w.number(1, column.number.into());
            w.text(2, &column.name);
            w.flag(3, column.used);
        });
    }
    trigger.args.iter().for_each(|arg| w.text(10, arg));
    w.flag(11, !trigger.enabled);
}

pub(super) fn decode_trigger(bytes: &[u8]) -> Result<Trigger> {
    let mut trigger = Trigger {
        id: ObjectId(0),
        name: String::new(),
        routine: ObjectId(0),
        before: false,
        per_row: false,
        events: Vec::new(),
        columns: Vec::new(),
        when: None,
        known: Vec::new(),
        args: Vec::new(),
        enabled: true,
    };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => trigger.id = ObjectId(codec::number(value)?),
            2 => trigger.name = codec::text(value)?,
            3 => trigger.routine = ObjectId(codec::number(value)?),
            4 => trigger.before = true,
            5 => trigger.per_row = true,
            6 => {
                let event = TriggerEvent::ALL.get(codec::number::<usize>(value)?);
                trigger.events.push(*event.ok_or_else(|| corrupt("trigger"))?);
            }
            7 => trigger.columns.push(codec::number(value)?),
            8 => trigger.when = Some(codec::text(value)?),
            9 => trigger.known.push(super::entries::decode_known_column(value)?),
            10 => trigger.args.push(codec::text(value)?),
            11 => trigger.enabled = false,
            _ => {}
        }
    }
    Ok(trigger)
}

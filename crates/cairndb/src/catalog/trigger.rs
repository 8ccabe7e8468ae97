//! Triggers of a table or a view, as parts of its entry.

use std::sync::Arc;

use super::codec::{self, Fields, Writer, corrupt};
use super::{Catalog, Deferral, KnownColumn, ObjectId, Relation, Table, View};
use crate::Result;
use crate::functions::TriggerEvent;

/// A trigger of a table or a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub(crate) id: ObjectId,
    /// Its name; those of a relation run in the order of their names.
    pub name: String,
    /// The function that it calls.
    pub(crate) routine: ObjectId,
    pub(crate) timing: Timing,
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
    pub(crate) enabled: Enabled,
    /// REFERENCING: what the rows of the whole statement are called.
    pub(crate) old_table: Option<String>,
    pub(crate) new_table: Option<String>,
    /// Of a CONSTRAINT TRIGGER, which may run when the transaction commits.
    pub(crate) deferral: Option<Deferral>,
}

/// When a trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    Before,
    After,
    /// Of a view: it does what the statement would do.
    InsteadOf,
}

/// Whether a trigger runs: a session is never a replica's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enabled {
    Yes,
    No,
    /// ENABLE REPLICA.
    OnReplica,
    Always,
}

/// What triggers may be of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Triggered<'c> {
    Table(&'c Arc<Table>),
    View(&'c Arc<View>),
}

impl<'c> Triggered<'c> {
    pub(crate) fn of(relation: &'c Relation) -> Option<Triggered<'c>> {
        match relation {
            Relation::Table(table) => Some(Triggered::Table(table)),
            Relation::View(view) => Some(Triggered::View(view)),
            _ => None,
        }
    }

    pub(crate) fn id(self) -> ObjectId {
        match self {
            Triggered::Table(table) => table.id,
            Triggered::View(view) => view.id,
        }
    }

    pub(crate) fn schema(self) -> ObjectId {
        match self {
            Triggered::Table(table) => table.schema,
            Triggered::View(view) => view.schema,
        }
    }

    pub(crate) fn name(self) -> &'c str {
        match self {
            Triggered::Table(table) => &table.name,
            Triggered::View(view) => &view.name,
        }
    }

    pub(crate) fn triggers(self) -> &'c [Arc<Trigger>] {
        match self {
            Triggered::Table(table) => &table.triggers,
            Triggered::View(view) => &view.triggers,
        }
    }

    /// The columns that UPDATE OF names.
    pub(crate) fn columns_of(self, trigger: &Trigger) -> Vec<&'c str> {
        let name = |number: u32| match self {
            Triggered::Table(table) => {
                table.columns.iter().find(|column| column.number == number).map(|column| column.name.as_str())
            }
            Triggered::View(view) => {
                (1..).zip(&view.columns).find(|(at, _)| *at == number).map(|(_, name)| name.as_str())
            }
        };
        trigger.columns.iter().filter_map(|number| name(*number)).collect()
    }
}

impl View {
    /// Whether triggers do what a statement of this kind would do.
    pub(crate) fn has_instead_of(&self, event: TriggerEvent) -> bool {
        self.triggers.iter().any(|trigger| trigger.timing == Timing::InsteadOf && trigger.events.contains(&event))
    }
}

impl Catalog {
    /// All that may have triggers.
    pub(crate) fn triggered(&self) -> impl Iterator<Item = Triggered<'_>> {
        self.relations().filter_map(Triggered::of)
    }

    /// Every trigger, and what it is of.
    pub(crate) fn triggers(&self) -> impl Iterator<Item = (Triggered<'_>, &Arc<Trigger>)> {
        self.triggered().flat_map(|of| of.triggers().iter().map(move |trigger| (of, trigger)))
    }
}

impl Timing {
    /// As TG_WHEN has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Timing::Before => "BEFORE",
            Timing::After => "AFTER",
            Timing::InsteadOf => "INSTEAD OF",
        }
    }
}

impl Enabled {
    /// As `pg_trigger` has it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Enabled::Yes => "O",
            Enabled::No => "D",
            Enabled::OnReplica => "R",
            Enabled::Always => "A",
        }
    }
}

impl Trigger {
    /// Whether it runs at this time for this event, whatever the row.
    pub(crate) fn is_for(&self, event: TriggerEvent, timing: Timing, per_row: bool) -> bool {
        let runs = matches!(self.enabled, Enabled::Yes | Enabled::Always);
        runs && self.timing == timing && self.per_row == per_row && self.events.contains(&event)
    }

    /// Whether the first triggers that were written down could not be such.
    pub(super) fn is_of_later_kind(&self) -> bool {
        self.sees_tables()
            || self.deferral.is_some()
            || self.timing == Timing::InsteadOf
            || matches!(self.enabled, Enabled::OnReplica | Enabled::Always)
    }

    /// Whether it sees all rows of a statement.
    pub(crate) fn sees_tables(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }
}

const DEFERRALS: [Deferral; 3] = [Deferral::Never, Deferral::Immediate, Deferral::Deferred];

pub(super) fn encode_trigger(trigger: &Trigger, w: &mut Writer) {
    w.number(1, trigger.id.0.into());
    w.text(2, &trigger.name);
    w.number(3, trigger.routine.0.into());
    w.flag(4, trigger.timing == Timing::Before);
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
    w.flag(11, trigger.enabled == Enabled::No);
    w.flag(12, trigger.timing == Timing::InsteadOf);
    w.flag(13, trigger.enabled == Enabled::OnReplica);
    w.flag(14, trigger.enabled == Enabled::Always);
    for (tag, name) in [(15, &trigger.old_table), (16, &trigger.new_table)] {
        if let Some(name) = name {
            w.text(tag, name);
        }
    }
    if let Some(deferral) = trigger.deferral {
        w.number(17, DEFERRALS.iter().position(|known| *known == deferral).unwrap_or(0) as u64 + 1);
    }
}

pub(super) fn decode_trigger(bytes: &[u8]) -> Result<Trigger> {
    let mut trigger = Trigger {
        id: ObjectId(0),
        name: String::new(),
        routine: ObjectId(0),
        timing: Timing::After,
        per_row: false,
        events: Vec::new(),
        columns: Vec::new(),
        when: None,
        known: Vec::new(),
        args: Vec::new(),
        enabled: Enabled::Yes,
        old_table: None,
        new_table: None,
        deferral: None,
    };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => trigger.id = ObjectId(codec::number(value)?),
            2 => trigger.name = codec::text(value)?,
            3 => trigger.routine = ObjectId(codec::number(value)?),
            4 => trigger.timing = Timing::Before,
            5 => trigger.per_row = true,
            6 => {
                let event = TriggerEvent::ALL.get(codec::number::<usize>(value)?);
                trigger.events.push(*event.ok_or_else(|| corrupt("trigger"))?);
            }
            7 => trigger.columns.push(codec::number(value)?),
            8 => trigger.when = Some(codec::text(value)?),
            9 => trigger.known.push(super::entries::decode_known_column(value)?),
            10 => trigger.args.push(codec::text(value)?),
            11 => trigger.enabled = Enabled::No,
            12 => trigger.timing = Timing::InsteadOf,
            13 => trigger.enabled = Enabled::OnReplica,
            14 => trigger.enabled = Enabled::Always,
            15 => trigger.old_table = Some(codec::text(value)?),
            16 => trigger.new_table = Some(codec::text(value)?),
            17 => {
                let deferral = codec::number::<usize>(value)?.checked_sub(1).and_then(|at| DEFERRALS.get(at));
                trigger.deferral = Some(*deferral.ok_or_else(|| corrupt("trigger"))?);
            }
            _ => {}
        }
    }
    Ok(trigger)
}

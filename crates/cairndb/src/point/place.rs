//! Where a point write happens: under the commit lock, as a statement of its own, or in the open transaction.

use cairn_storage::{Acknowledge, Session, Ticket, Transaction, TreeId};

use super::{Miss, general, missed};
use crate::dml::row::{Stop, Trees};

/// What a point write does to the trees; whether it affected a row. May be run again from its start.
pub(super) type Work<'w> = &'w mut dyn FnMut(&mut dyn Trees) -> Result<bool, Stop>;

/// See above.
pub(crate) enum Place<'a> {
    Alone(&'a mut Session, Acknowledge),
    In(&'a Transaction),
}

impl Place<'_> {
    /// Runs `work` where the catalog's stamp is the one that the plan rests on. The ticket: of a commit of its own.
    pub(super) fn write(self, stamp: u64, work: Work<'_>) -> Result<(u64, Option<Ticket>), Miss> {
        let mut checked = |current: u64, trees: &mut dyn Trees| match current == stamp {
            true => work(trees).map(u64::from).map_err(Stop::in_write),
            false => general(),
        };
        match self {
            Place::Alone(session, acknowledge) => {
                let written = session.write_unless::<u64, Miss>(acknowledge, &|| true, |writer| {
                    checked(writer.tree_stamp(TreeId::CATALOG), writer)
                });
                written.map(|(affected, ticket)| (affected, Some(ticket))).map_err(missed)
            }
            Place::In(transaction) => {
                let mut writer = transaction.writer()?;
                let current = writer.tree_stamp(TreeId::CATALOG)?;
                checked(current, &mut writer).map(|affected| (affected, None)).map_err(missed)
            }
        }
    }
}

impl Place<'_> {
    /// No work at all, where the catalog's stamp is the one that the plan rests on.
    pub(crate) fn nothing(self, stamp: u64) -> Result<(u64, Option<Ticket>), Miss> {
        let current = match self {
            Place::Alone(session, _) => {
                let read = session.read::<u64, Miss>(|state| Ok(state.tree_stamp(TreeId::CATALOG)));
                read.map_err(missed)?
            }
            Place::In(transaction) => transaction.reader().tree_stamp(TreeId::CATALOG)?,
        };
        if current == stamp { Ok((0, None)) } else { Err(Miss::General) }
    }
}

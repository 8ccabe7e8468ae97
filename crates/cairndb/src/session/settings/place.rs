//! Where the value of a setting that changes something is in force.

use std::time::Duration;

use super::Settings;
use crate::settings::Checked;
use crate::{Error, Result};

/// The place of a value.
pub(in crate::session) enum Place<'a> {
    Boolean(&'a mut bool),
    Rows(&'a mut usize),
    Memory(&'a mut usize),
    Bytes(&'a mut u64),
    Limit(&'a mut Option<u64>),
    Time(&'a mut Option<Duration>),
    Word(&'a mut &'static str),
}

impl Settings {
    /// A setting that changes something is an arm here. (Those whose texts have meanings of their own are arms of `put`.)
    pub(in crate::session) fn place(&mut self, name: &str) -> Option<Place<'_>> {
        let limits = &mut self.limits;
        Some(match name {
            "batch_rows" => Place::Rows(&mut self.optimizer.batch_rows),
            "client_min_messages" => Place::Word(&mut self.min_messages),
            "default_transaction_read_only" => Place::Boolean(&mut self.default_read_only),
            "idle_in_transaction_session_timeout" => Place::Time(&mut limits.idle_in_transaction),
            "idle_session_timeout" => Place::Time(&mut limits.idle_session),
            "lock_timeout" => Place::Time(&mut self.lock_timeout),
            "statement_mem" => Place::Memory(&mut limits.statement_mem),
            "statement_timeout" => Place::Time(&mut self.statement_timeout),
            "temp_file_limit" => Place::Limit(&mut limits.temp_file_limit),
            "temp_table_limit" => Place::Bytes(&mut limits.temp_table_limit),
            "transaction_timeout" => Place::Time(&mut limits.transaction_timeout),
            "work_mem" => Place::Memory(&mut limits.work_mem),
            _ => Place::Boolean(self.optimizer.switch(name)?),
        })
    }
}

impl Place<'_> {
    pub(in crate::session) fn get(&self) -> Checked {
        match self {
            Place::Boolean(value) => Checked::Boolean(**value),
            Place::Rows(value) => Checked::Integer(i64::try_from(**value).unwrap_or(i64::MAX)),
            Place::Memory(value) => Checked::Bytes(Some(**value as u64)),
            Place::Bytes(value) => Checked::Bytes(Some(**value)),
            Place::Limit(value) => Checked::Bytes(**value),
            Place::Time(value) => Checked::Time(**value),
            Place::Word(value) => Checked::Word(value),
        }
    }

    /// What is too large for the place is as large as it may be. SQLSTATE XX000 for what is no value of the place's kind.
    pub(in crate::session) fn put(self, value: Checked) -> Result<()> {
        match (self, value) {
            (Place::Boolean(place), Checked::Boolean(value)) => *place = value,
            (Place::Rows(place), Checked::Integer(value)) => *place = usize::try_from(value).unwrap_or(0),
            (Place::Memory(place), Checked::Bytes(Some(value))) => {
                *place = usize::try_from(value).unwrap_or(usize::MAX);
            }
            (Place::Bytes(place), Checked::Bytes(Some(value))) => *place = value,
            (Place::Limit(place), Checked::Bytes(value)) => *place = value,
            (Place::Time(place), Checked::Time(value)) => *place = value,
            (Place::Word(place), Checked::Word(value)) => *place = value,
            (_, value) => return Err(Error::internal(format!("a setting's value is of another kind: {value}"))),
        }
        Ok(())
    }
}

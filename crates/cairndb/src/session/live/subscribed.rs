//! The rows of SUBSCRIBE: a live query's changes, row by row, for as long as somebody asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LiveChange, LiveQuery};
use crate::clock::check_statement;
use crate::exec::{NoAnswer, Step};
use crate::interrupt::Interrupt;
use crate::plan::Field;
use crate::result::EndlessRows;
use crate::session::next::Next;
use crate::sync;
use crate::{DataType, Value};

/// How long it may take until an interrupt is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// See the module.
pub(crate) struct SubscribedRows {
    live: LiveQuery,
    /// The change that was taken last, and how many of its rows were told.
    change: Option<(LiveChange, usize)>,
    row: Vec<Value>,
    interrupt: Arc<Interrupt>,
    deadline: Option<Instant>,
}

impl SubscribedRows {
    pub(crate) fn new(live: LiveQuery, interrupt: Arc<Interrupt>, deadline: Option<Instant>) -> SubscribedRows {
        SubscribedRows { live, change: None, row: vec![], interrupt, deadline }
    }

    /// The next row of the change that was taken last; false: there is none.
    fn tell_next(&mut self) -> bool {
        let Some((change, told)) = &mut self.change else { return false };
        let Some((what, row)) = change.told(*told) else { return false };
        self.row.clear();
        self.row.extend([Value::text(change.position().to_string()), Value::text(what)]);
        self.row.extend_from_slice(row);
        *told += 1;
        true
    }
}

impl EndlessRows for SubscribedRows {
    /// The result's columns behind the two that tell of the change.
    fn fields(&self) -> Vec<Field> {
        let field = |name: &str, data_type| Field { name: name.to_owned(), data_type };
        let told = [field("position", DataType::Text), field("change", DataType::Text)];
        told.into_iter().chain(self.live.columns().iter().cloned()).collect()
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn step(&mut self, time: Option<Duration>) -> Step<bool> {
        let until = time.and_then(|time| sync::now().checked_add(time));
        loop {
            check_statement(&self.interrupt, self.deadline)?;
            if self.tell_next() {
                return Ok(true);
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(sync::now()).min(LOOK));
            match self.live.next_change_within(left)? {
                Next::Item(change) => self.change = Some((change, 0)),
                Next::End => return Ok(false),
                Next::NotYet if until.is_some_and(|until| until <= sync::now()) => return Err(NoAnswer::NotYet),
                Next::NotYet => {}
            }
        }
    }
}

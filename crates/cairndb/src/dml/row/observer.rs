//! Who hears of a row that is written.

use std::sync::Arc;

use super::{Lookup, Rules, Stop, Trees, Violation};
use crate::catalog::{Table, TriggerEvent};
use crate::{Error, Result, Value};

/// Who is told of a row that changes: when the rows that it refers to are looked for, and those that refer to it; keys that several
/// rows may have for a while; triggers.
pub(crate) trait RowObserver {
    /// The row that is about to be written under `key` refers so.
    fn refers(&mut self, trees: &mut dyn Trees, rules: &Rules, key: &[u8], lookups: &[Lookup]) -> Result<(), Stop>;

    /// A row that others may refer to, or that triggers are to see, was replaced, or deleted (`None`). `assigned`: by values for
    /// these columns.
    fn replaced(&mut self, table: &Arc<Table>, old: Vec<Value>, new: Option<Vec<Value>>, assigned: &Arc<[usize]>);

    /// A row has come to these columns of the index at a position, which no other may have in the end.
    fn guarded(&mut self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<(), Stop>;

    /// A row that triggers are to see was inserted.
    fn inserted(&mut self, _table: &Arc<Table>, _new: Vec<Value>) {}

    /// BEFORE ROW triggers: what the row becomes; `None`: nothing happens to it.
    fn before(
        &mut self,
        _table: &Arc<Table>,
        _event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        _assigned: &[usize],
    ) -> Result<Option<Vec<Value>>, Stop> {
        Ok(new.or(old))
    }
}

/// At once: for a statement of one row, to which nothing refers.
pub(crate) struct ObservedAtOnce;

impl RowObserver for ObservedAtOnce {
    fn refers(&mut self, trees: &mut dyn Trees, rules: &Rules, _: &[u8], lookups: &[Lookup]) -> Result<(), Stop> {
        for (&at, lookup) in rules.references.iter().zip(lookups) {
            if !rules.target.references[at].is_kept(trees, lookup)? {
                return Err(Violation::Missing(at).into());
            }
        }
        Ok(())
    }

    fn replaced(&mut self, _: &Arc<Table>, _: Vec<Value>, _: Option<Vec<Value>>, _: &Arc<[usize]>) {}

    fn guarded(&mut self, _: &Arc<Table>, _: usize, _: &[u8]) -> Result<(), Stop> {
        Err(Error::internal("a key that may wait is looked at by a statement of one row").into())
    }
}

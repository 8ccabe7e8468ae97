//! Rows that were written before columns came or went.
//!
//! A row says under which version of its table's layout it was written. ADD COLUMN and DROP COLUMN begin a new version and
//! leave the rows as they are: a column that a row does not have is read as the value that its default had when it was
//! added, and one that is not there any more is passed over. A row gets the layout of now when it is changed.
//!
//! - The columns of a version are those whose `since` is no later and whose `until` is later, by their numbers.
//! - There are [`VERSIONS`] versions, as many as rows can tell apart. A table that used them up is written anew and begins
//!   again with version 0; so is one that is written anew for any other reason.
//! - Which columns lie in the key does not change: a table whose primary key comes or goes is written anew.

use super::layout::ColumnPlace;
use super::schema::{DroppedColumn, Table};
use super::type_id;
use crate::types::DataType;
use crate::types::row::{RowLayout, VERSIONS};

/// An earlier version of a table's row layout.
#[derive(Clone, Debug)]
pub(crate) struct PastLayout {
    pub(crate) row: RowLayout,
    /// By stored column of now, where it lies in such a row; `None`: nowhere.
    pub(crate) places: Box<[Option<usize>]>,
}

impl PastLayout {
    /// Of every version before that of now. `places`: where the columns of now lie.
    pub(super) fn all_of(table: &Table, places: &[ColumnPlace]) -> Box<[PastLayout]> {
        (0..table.layout_version.min(VERSIONS - 1)).map(|version| PastLayout::of(table, places, version)).collect()
    }

    fn of(table: &Table, places: &[ColumnPlace], version: u32) -> PastLayout {
        let is_stored = |place: &ColumnPlace| matches!(place, ColumnPlace::Row(_));
        let stored = table.columns.iter().zip(places).filter(|(_, place)| is_stored(place)).map(|(column, _)| column);
        let mut columns: Vec<(u32, DataType, Option<usize>)> = stored
            .enumerate()
            .filter(|(_, column)| column.since <= version)
            .map(|(at, column)| (column.number, column.data_type, Some(at)))
            .collect();
        let was_there = |column: &&DroppedColumn| (column.since..column.until).contains(&version);
        columns.extend(table.dropped.iter().filter(was_there).map(|column| (column.number, column.data_type, None)));
        columns.sort_by_key(|(number, ..)| *number);
        let types: Vec<DataType> = columns.iter().map(|(_, data_type, _)| *data_type).collect();
        let mut places = vec![None; places.iter().filter(|place| is_stored(place)).count()];
        for (place, (.., at)) in columns.iter().enumerate() {
            if let Some(at) = *at {
                places[at] = Some(place);
            }
        }
        PastLayout { row: RowLayout::with_version(&types, version), places: places.into() }
    }
}

impl Table {
    /// Begins a new version of the row layout; whether there is one left. Otherwise the rows must be written anew.
    pub(crate) fn begin_layout(&mut self) -> bool {
        let is_left = self.layout_version + 1 < VERSIONS;
        self.layout_version += u32::from(is_left);
        is_left
    }

    /// No row is there that was not written by the layout of now.
    pub(crate) fn forget_layouts(&mut self) {
        self.layout_version = 0;
        self.dropped.clear();
        for column in &mut self.columns {
            (column.since, column.missing) = (0, None);
        }
    }

    /// Takes a column out of rows written from now on, the version of which was begun for that. Its description is taken out
    /// by the caller.
    pub(crate) fn drop_from_rows(&mut self, position: usize) {
        let (column, until) = (&self.columns[position], self.layout_version);
        if column.since < until {
            // Rows may outlive a type that users made: what lies in them as its values do stands for it.
            let data_type = match column.data_type {
                DataType::Enum(_) => DataType::BigInt,
                of if type_id(of).is_some() => DataType::Bytea,
                of => of,
            };
            let (number, since) = (column.number, column.since);
            self.dropped.push(DroppedColumn { number, data_type, since, until });
        }
    }
}

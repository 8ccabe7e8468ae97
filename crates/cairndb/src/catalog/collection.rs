//! A collection: a table whose rows are documents.
//!
//! What holds of one that has the mark:
//!
//! - `id` is its primary key, a `text`, a `uuid` or a `bigint`; `doc` is a `jsonb` that is not NULL. Every further column is generated,
//!   so that a row is given by its id and its document.
//! - `version` is drawn from a counter that belongs to the collection, by the row program, whenever a row is written: by INSERT
//!   with the other defaults, by whatever changes a row in `dml/row/version.rs`. Nobody says a version, and none comes
//!   twice: the counter only rises, and nobody sets it. (Numbers may be left out.)
//!
//! ALTER TABLE leaves a collection one, or is refused; the mark is what goes first.

use std::sync::Arc;

use super::{Catalog, Column, Sequence, Table, TableKind};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// The columns that make a row a document.
pub(crate) const ID: &str = "id";
pub(crate) const DOC: &str = "doc";
pub(crate) const VERSION: &str = "version";

impl Table {
    /// The position of the column that a collection's rows have their versions in.
    pub(crate) fn version_column(&self) -> Option<usize> {
        if self.is_collection { self.column_position(VERSION) } else { None }
    }
}

impl Catalog {
    /// What a collection's versions are drawn from.
    pub(crate) fn counter_of(&self, table: &Table) -> Option<&Arc<Sequence>> {
        self.sequence_by_id(table.columns[table.version_column()?].identity?.sequence)
    }

    /// The collection whose versions are drawn from the sequence.
    pub(crate) fn counted_by(&self, sequence: &Sequence) -> Option<&Arc<Table>> {
        let (table, column) = sequence.owner?;
        self.table_by_id(table).filter(|table| table.version_column() == Some(column))
    }

    /// SQLSTATE 55000 where a collection's versions are drawn from the sequence.
    pub(crate) fn refuse_counter(&self, sequence: &Sequence) -> Result<()> {
        let Some(table) = self.counted_by(sequence) else { return Ok(()) };
        let message = format!("sequence \"{}\" counts the versions of collection \"{}\"", sequence.name, table.name);
        Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .with_hint("No version may come twice: leave it as it is, or say ALTER TABLE ... SET (collection = off)."))
    }

    /// SQLSTATE 42P16 where not all holds that has to hold of a collection.
    pub(crate) fn check_collection(&self, table: &Table) -> Result<()> {
        let Some(flaw) = self.flaw_of_collection(table) else { return Ok(()) };
        let (message, hint) = match table.is_collection {
            true => ("would be no collection any more", "Say ALTER TABLE ... SET (collection = off) before."),
            false => {
                ("can not be a collection", "CREATE TABLE name () WITH (collection = on) makes one that is whole.")
            }
        };
        let message = format!("table \"{}\" {message}", table.name);
        Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).with_detail(flaw).with_hint(hint))
    }

    fn flaw_of_collection(&self, table: &Table) -> Option<String> {
        if !matches!(table.kind, TableKind::Table) {
            return Some("It is no table.".to_owned());
        }
        let is_plain = |column: &Column| column.domain.is_none() && column.generated.is_none();
        let of = |name: &str, is: &dyn Fn(&Column) -> bool| {
            table.columns.iter().any(|column| column.name == name && is_plain(column) && is(column))
        };
        let id = table.column_position(ID);
        let is_key = table.primary.as_ref().is_some_and(|key| key.positions().eq(id));
        let further = |column: &&Column| ![ID, DOC, VERSION].contains(&&*column.name) && column.generated.is_none();
        match () {
            () if !of(ID, &|id| is_id(id.data_type)) => {
                Some("Its column \"id\" has to be of type text, uuid or bigint.".to_owned())
            }
            () if !is_key => Some("Its PRIMARY KEY has to be \"id\" alone, and not DEFERRABLE.".to_owned()),
            () if !of(DOC, &|doc| doc.data_type == DataType::Jsonb && doc.not_null) => {
                Some("Its column \"doc\" has to be jsonb NOT NULL.".to_owned())
            }
            () if !of(VERSION, &|version| self.is_version(version)) => Some(
                "Its column \"version\" has to be bigint GENERATED ALWAYS AS IDENTITY, of numbers that rise."
                    .to_owned(),
            ),
            () => table.columns.iter().find(further).map(|column| {
                format!("Its column \"{}\" is not generated: what a document has is in \"doc\".", column.name)
            }),
        }
    }

    fn is_version(&self, column: &Column) -> bool {
        let sequence = column.identity.filter(|identity| identity.always);
        let sequence = sequence.and_then(|identity| self.sequence_by_id(identity.sequence));
        column.data_type == DataType::BigInt
            && sequence.is_some_and(|sequence| sequence.increment > 0 && !sequence.cycle)
    }
}

/// Whether documents can be told apart by values of the type.
fn is_id(data_type: DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Uuid | DataType::BigInt)
}

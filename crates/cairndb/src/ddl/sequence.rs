//! CREATE SEQUENCE, and the sequences of SERIAL and identity columns.

use cairn_parser::{BaseType, Id, Tree, TypeName};

use super::context::Ddl;
use super::names::missing_column;
use crate::catalog::{ObjectId, Sequence};
use crate::command::{CreateSequence, OwnSequence, SequenceOptions};
use crate::sql::name_text;
use crate::types::DataType;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState};

/// The type of a SERIAL pseudo-type.
pub(super) fn serial_type(tree: &Tree<'_>, data_type: Id<TypeName>) -> Option<DataType> {
    let data_type = tree.get(data_type);
    let plain = data_type.modifiers.is_empty() && data_type.bounds.is_empty() && !data_type.set_of;
    if data_type.base != BaseType::Named || !plain || tree.len(data_type.names) != 1 {
        return None;
    }
    match name_text(tree, tree.nth(data_type.names, 0)?) {
        "smallserial" | "serial2" => Some(DataType::SmallInt),
        "serial" | "serial4" => Some(DataType::Integer),
        "bigserial" | "serial8" => Some(DataType::BigInt),
        _ => None,
    }
}

impl SequenceOptions {
    /// Fills in PostgreSQL's defaults; SQLSTATE 22023 where the options contradict each other.
    pub(super) fn build(&self, name: String, data_type: DataType) -> Result<Sequence> {
        let invalid = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        let increment = self.increment.unwrap_or(1);
        if increment == 0 {
            return invalid("INCREMENT must not be zero".to_string());
        }
        let (type_min, type_max) = match data_type {
            DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
            DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        let min = self.min.unwrap_or(if increment > 0 { 1 } else { type_min });
        let max = self.max.unwrap_or(if increment > 0 { type_max } else { -1 });
        if min >= max {
            return invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
        }
        let start = self.start.unwrap_or(if increment > 0 { min } else { max });
        if start < min {
            return invalid(format!("START value ({start}) cannot be less than MINVALUE ({min})"));
        }
        if start > max {
            return invalid(format!("START value ({start}) cannot be greater than MAXVALUE ({max})"));
        }
        let (id, cycle, generation) = (ObjectId(0), self.cycle, new_generation());
        Ok(Sequence {
            id,
            schema: ObjectId::PUBLIC,
            name,
            start,
            increment,
            min,
            max,
            cycle,
            owner: None,
            generation,
            change: 0,
        })
    }
}

/// A number that no sequence of this database had: ids may come back after a rollback, times do not.
pub(super) fn new_generation() -> u64 {
    clock_micros().cast_unsigned()
}

impl Ddl<'_> {
    pub(super) fn create_sequence(&mut self, create: &CreateSequence) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, create.temporary)?;
        if !self.is_free(schema, &create.name.name, create.if_not_exists)? {
            return Ok("CREATE SEQUENCE");
        }
        let data_type = create.data_type.map_or(Ok(DataType::BigInt), |name| self.data_type(name))?;
        let mut sequence = create.options.build(create.name.name.clone(), data_type)?;
        sequence.schema = schema;
        sequence.id = self.store.allocate_id(schema)?;
        self.store.put_sequence(&sequence)?;
        Ok("CREATE SEQUENCE")
    }
}

impl Ddl<'_> {
    /// ALTER SEQUENCE .. OWNED BY: it goes with the column from now on.
    pub(super) fn own_sequence(&mut self, own: &OwnSequence) -> Result<&'static str> {
        let tag = "ALTER SEQUENCE";
        if self.is_skipped(&own.name, own.if_exists)? {
            return Ok(tag);
        }
        self.relation(&own.name)?;
        let sequence = self.catalog.find_sequence(&own.name)?.clone();
        let is_identity = |&(table, position): &(ObjectId, usize)| {
            let table = self.catalog.table_by_id(table);
            table.and_then(|table| table.columns.get(position)).is_some_and(|column| column.identity.is_some())
        };
        if sequence.owner.as_ref().is_some_and(is_identity) {
            let message = "cannot change ownership of identity sequence";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let owner = match &own.owner {
            None => None,
            Some((table, column)) => {
                let table = self.table(table)?;
                if table.schema != sequence.schema {
                    let message = "sequence must be in same schema as table it is linked to";
                    return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                let position = table.column_position(column).ok_or_else(|| missing_column(&table, column))?;
                Some((table.id, position))
            }
        };
        self.store.put_sequence(&Sequence { owner, ..Sequence::clone(&sequence) })?;
        Ok(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_type_and_direction() {
        let up = SequenceOptions::default().build("s".into(), DataType::SmallInt).unwrap();
        assert_eq!((up.start, up.min, up.max), (1, 1, 32767));
        let down = SequenceOptions { increment: Some(-1), ..SequenceOptions::default() };
        let down = down.build("s".into(), DataType::BigInt).unwrap();
        assert_eq!((down.start, down.min, down.max), (-1, i64::MIN, -1));
    }

    #[test]
    fn contradictions_are_refused() {
        let bad = SequenceOptions { start: Some(5), max: Some(3), ..SequenceOptions::default() };
        assert_eq!(bad.build("s".into(), DataType::BigInt).unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
        let zero = SequenceOptions { increment: Some(0), ..SequenceOptions::default() };
        assert!(zero.build("s".into(), DataType::BigInt).is_err());
    }
}

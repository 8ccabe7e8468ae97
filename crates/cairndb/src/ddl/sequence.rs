//! CREATE SEQUENCE, ALTER SEQUENCE, and the sequences of SERIAL and identity columns.

use cairn_parser::{BaseType, Id, Tree, TypeName};

use super::context::Ddl;
use super::names::missing_column;
use crate::catalog::{ObjectId, Sequence};
use crate::command::{AlterSequence, CreateSequence, SequenceOptions, SequenceOwner};
use crate::exec::SequenceState;
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
    /// A sequence with these options, and PostgreSQL's defaults; SQLSTATE 22023 where they contradict each other.
    pub(super) fn build(&self, name: String, data_type: DataType) -> Result<Sequence> {
        let mut sequence = Sequence {
            id: ObjectId(0),
            schema: ObjectId::PUBLIC,
            name,
            data_type,
            start: 0,
            restarted: None,
            increment: 1,
            min: 0,
            max: 0,
            cycle: false,
            owner: None,
            generation: new_generation(),
            change: 0,
        };
        let all = SequenceOptions { min: Some(self.min.flatten()), max: Some(self.max.flatten()), ..*self };
        all.set_range(&mut sequence, (false, false))?;
        sequence.start = self.start.unwrap_or(if sequence.increment > 0 { sequence.min } else { sequence.max });
        self.restart(&mut sequence);
        check_within(&sequence, sequence.start, "START")?;
        check_within(&sequence, sequence.restarted.unwrap_or(sequence.start), "RESTART")?;
        Ok(sequence)
    }

    /// The sequence with what is said of it; the rest stays. `last`: the value that it gave last. SQLSTATE 22023.
    fn change(&self, before: &Sequence, data_type: Option<DataType>, state: SequenceState) -> Result<Sequence> {
        let mut sequence = Sequence { data_type: data_type.unwrap_or(before.data_type), ..before.clone() };
        let (least, greatest) = limits(before.data_type);
        // A limit that was the old type's becomes the new one's.
        let of_type = match sequence.data_type == before.data_type {
            true => (false, false),
            false => (before.min == least, before.max == greatest),
        };
        self.set_range(&mut sequence, of_type)?;
        sequence.start = self.start.unwrap_or(before.start);
        self.restart(&mut sequence);
        check_within(&sequence, sequence.start, "START")?;
        let now = match self.restart {
            Some(value) => value.unwrap_or(sequence.start),
            // (Entries of older libraries have what comes before the first value.)
            None if state.is_called && !(before.min..=before.max).contains(&state.last_value) => {
                state.last_value.saturating_add(before.increment)
            }
            None => state.last_value,
        };
        check_within(&sequence, now, "RESTART")?;
        // Until it gave a value, START alone does not say what the first one is.
        if !state.is_called && self.restart.is_none() && self.start.is_some() {
            sequence.restarted = Some(now);
        }
        Ok(sequence)
    }

    fn restart(&self, sequence: &mut Sequence) {
        if let Some(value) = self.restart {
            (sequence.restarted, sequence.generation) = (value, new_generation());
        }
    }

    /// Increment and limits. `of_type`: the least and the greatest value are the type's.
    fn set_range(&self, sequence: &mut Sequence, of_type: (bool, bool)) -> Result<()> {
        let invalid = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        sequence.increment = self.increment.unwrap_or(sequence.increment);
        sequence.cycle = self.cycle.unwrap_or(sequence.cycle);
        if sequence.increment == 0 {
            return invalid("INCREMENT must not be zero".to_string());
        }
        let (least, greatest) = limits(sequence.data_type);
        let ascends = sequence.increment > 0;
        sequence.max = match self.max {
            Some(Some(max)) => max,
            None if !of_type.1 => sequence.max,
            _ if ascends || of_type.1 => greatest,
            _ => -1,
        };
        if !(least..=greatest).contains(&sequence.max) {
            let (max, of) = (sequence.max, sequence.data_type);
            return invalid(format!("MAXVALUE ({max}) is out of range for sequence data type {of}"));
        }
        sequence.min = match self.min {
            Some(Some(min)) => min,
            None if !of_type.0 => sequence.min,
            _ if !ascends || of_type.0 => least,
            _ => 1,
        };
        let (min, max) = (sequence.min, sequence.max);
        if !(least..=greatest).contains(&min) {
            return invalid(format!("MINVALUE ({min}) is out of range for sequence data type {}", sequence.data_type));
        }
        if min >= max {
            return invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
        }
        Ok(())
    }
}

/// The least and the greatest value of a type that sequences may have.
fn limits(data_type: DataType) -> (i64, i64) {
    match data_type {
        DataType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        DataType::Integer => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

fn check_within(sequence: &Sequence, value: i64, what: &str) -> Result<()> {
    let (min, max) = (sequence.min, sequence.max);
    let message = match () {
        () if value < min => format!("{what} value ({value}) cannot be less than MINVALUE ({min})"),
        () if value > max => format!("{what} value ({value}) cannot be greater than MAXVALUE ({max})"),
        () => return Ok(()),
    };
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
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
        let data_type = create.data_type.map(|name| self.sequence_type(name)).transpose()?;
        let built = create.options.build(create.name.name.clone(), data_type.unwrap_or(DataType::BigInt))?;
        let mut sequence = Sequence { schema, id: self.store.allocate_id(schema)?, ..built };
        sequence.owner = self.sequence_owner(&sequence, &create.owner)?;
        self.store.put_sequence(&sequence)?;
        Ok("CREATE SEQUENCE")
    }

    pub(super) fn alter_sequence(&mut self, alter: &AlterSequence) -> Result<&'static str> {
        let tag = "ALTER SEQUENCE";
        if self.is_skipped(&alter.name, alter.if_exists)? {
            return Ok(tag);
        }
        self.relation(&alter.name)?;
        let sequence = self.catalog.find_sequence(&alter.name)?.clone();
        let data_type = alter.data_type.map(|name| self.sequence_type(name)).transpose()?;
        let mut altered = self.altered(&sequence, &alter.options, data_type)?;
        if let Some(owner) = &alter.owner {
            if self.is_of_identity(&sequence) {
                let message = "cannot change ownership of identity sequence";
                let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(match self.owner_of(&sequence) {
                    Some(table) => {
                        error.with_detail(format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name))
                    }
                    None => error,
                });
            }
            altered.owner = self.sequence_owner(&sequence, owner)?;
        }
        self.store.put_sequence(&altered)?;
        Ok(tag)
    }

    /// Sets options of the sequence of an identity column.
    pub(super) fn alter_identity_sequence(&mut self, id: ObjectId, options: &SequenceOptions) -> Result<()> {
        let sequence = self.catalog.sequence_by_id(id).cloned().ok_or_else(|| Error::internal("no sequence"))?;
        let altered = self.altered(&sequence, options, None)?;
        self.store.put_sequence(&altered)
    }

    fn altered(&self, sequence: &Sequence, options: &SequenceOptions, data_type: Option<DataType>) -> Result<Sequence> {
        self.catalog.refuse_counter(sequence)?;
        let values = self.session.sequences(&self.catalog);
        let state = values.state(&self.catalog.shown(sequence.schema, &sequence.name))?;
        options.change(sequence, data_type, state)
    }

    fn sequence_type(&self, name: Id<TypeName>) -> Result<DataType> {
        match self.data_type(name)? {
            data_type @ (DataType::SmallInt | DataType::Integer | DataType::BigInt) => Ok(data_type),
            _ => {
                let message = "sequence type must be smallint, integer, or bigint";
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
            }
        }
    }

    fn is_of_identity(&self, sequence: &Sequence) -> bool {
        let column = sequence.owner.and_then(|(table, position)| {
            let table = self.catalog.table_by_id(table);
            table.and_then(|table| table.columns.get(position))
        });
        column.is_some_and(|column| column.identity.is_some())
    }

    fn owner_of(&self, sequence: &Sequence) -> Option<&str> {
        self.catalog.table_by_id(sequence.owner?.0).map(|table| table.name.as_str())
    }

    /// OWNED BY: the column that the sequence goes with.
    fn sequence_owner(&self, sequence: &Sequence, owner: &SequenceOwner) -> Result<Option<(ObjectId, usize)>> {
        let Some((table, column)) = owner else { return Ok(None) };
        let table = self.table(table)?;
        if table.schema != sequence.schema {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let position = table.column_position(column).ok_or_else(|| missing_column(&table, column))?;
        Ok(Some((table.id, position)))
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
        let bad = SequenceOptions { start: Some(5), max: Some(Some(3)), ..SequenceOptions::default() };
        assert_eq!(bad.build("s".into(), DataType::BigInt).unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
        let zero = SequenceOptions { increment: Some(0), ..SequenceOptions::default() };
        assert!(zero.build("s".into(), DataType::BigInt).is_err());
    }
}

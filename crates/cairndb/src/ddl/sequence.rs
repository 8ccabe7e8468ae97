//! CREATE SEQUENCE, and the sequences of SERIAL and identity columns.

use sqlparser::ast;

use super::context::Ddl;
use super::names::{already_exists, relation_name};
use crate::catalog::{ObjectId, Sequence};
use crate::types::DataType;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState};

/// The options of a sequence, as given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Definition {
    start: Option<i64>,
    increment: Option<i64>,
    min: Option<i64>,
    max: Option<i64>,
    cycle: bool,
}

/// The type of a SERIAL pseudo-type.
pub(super) fn serial_type(data_type: &ast::DataType) -> Option<DataType> {
    let ast::DataType::Custom(name, modifiers) = data_type else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match name.to_string().to_lowercase().as_str() {
        "smallserial" | "serial2" => Some(DataType::SmallInt),
        "serial" | "serial4" => Some(DataType::Integer),
        "bigserial" | "serial8" => Some(DataType::BigInt),
        _ => None,
    }
}

impl Definition {
    pub(super) fn from_options(options: &[ast::SequenceOptions]) -> Result<Definition> {
        use ast::SequenceOptions as O;
        let mut definition = Definition::default();
        for option in options {
            match option {
                O::IncrementBy(expr, _) => definition.increment = Some(integer(expr)?),
                O::MinValue(expr) => definition.min = expr.as_ref().map(integer).transpose()?,
                O::MaxValue(expr) => definition.max = expr.as_ref().map(integer).transpose()?,
                O::StartWith(expr, _) => definition.start = Some(integer(expr)?),
                O::Cache(_) => {}
                // The parser's flag says "NO CYCLE".
                O::Cycle(no) => definition.cycle = !no,
            }
        }
        Ok(definition)
    }

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
        Ok(Sequence { id, name, start, increment, min, max, cycle, owner: None, generation })
    }
}

/// A number that no sequence of this database had: ids may come back after a rollback, times do not.
pub(super) fn new_generation() -> u64 {
    clock_micros().cast_unsigned()
}

fn integer(expr: &ast::Expr) -> Result<i64> {
    let text = expr.to_string();
    text.parse().map_err(|_| Error::new(SqlState::SYNTAX_ERROR, format!("invalid number \"{text}\" for a sequence")))
}

impl Ddl<'_> {
    pub(super) fn create_sequence(&mut self, statement: &ast::Statement) -> Result<&'static str> {
        let ast::Statement::CreateSequence { if_not_exists, name, data_type, sequence_options, .. } = statement else {
            return Err(Error::internal("not a CREATE SEQUENCE"));
        };
        let name = relation_name(name)?;
        if self.catalog.relation_kind(&name).is_some() {
            if !if_not_exists {
                return Err(already_exists(&name));
            }
            self.notice(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
            return Ok("CREATE SEQUENCE");
        }
        let data_type = data_type.as_ref().map_or(Ok(DataType::BigInt), DataType::from_ast)?;
        let mut sequence = Definition::from_options(sequence_options)?.build(name, data_type)?;
        sequence.id = self.store.allocate_id()?;
        self.store.put_sequence(&sequence)?;
        Ok("CREATE SEQUENCE")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_type_and_direction() {
        let up = Definition::default().build("s".into(), DataType::SmallInt).unwrap();
        assert_eq!((up.start, up.min, up.max), (1, 1, 32767));
        let down = Definition { increment: Some(-1), ..Definition::default() };
        let down = down.build("s".into(), DataType::BigInt).unwrap();
        assert_eq!((down.start, down.min, down.max), (-1, i64::MIN, -1));
    }

    #[test]
    fn contradictions_are_refused() {
        let bad = Definition { start: Some(5), max: Some(3), ..Definition::default() };
        assert_eq!(bad.build("s".into(), DataType::BigInt).unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
        let zero = Definition { increment: Some(0), ..Definition::default() };
        assert!(zero.build("s".into(), DataType::BigInt).is_err());
    }
}

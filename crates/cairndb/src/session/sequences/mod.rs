//! Sequence values.

mod reserved;
mod statement;
mod values;

pub(crate) use statement::{SessionSequences, StatementSequences};
pub(crate) use values::SequenceValues;

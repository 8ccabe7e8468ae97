//! LIMIT of a point SELECT.

use cairn_storage::WriteError;

use super::{Miss, general};
use crate::dml::row::{Env, Operand};
use crate::plan::Expr;
use crate::types::{DataType, ValueRef};

/// How many rows are wanted at most.
#[derive(Debug)]
pub(super) struct Limit(Operand);

impl Limit {
    /// `None`: it has to be computed.
    pub(super) fn of(limit: &Expr) -> Option<Limit> {
        Operand::of(limit, DataType::BigInt).map(Limit)
    }

    /// The rows that are wanted; NULL is all. What is no count is the general path's, which words the error.
    pub(super) fn rows(&self, env: Env<'_>) -> Result<usize, WriteError<Miss>> {
        match self.0.value(env.params) {
            Some(ValueRef::Null) => Ok(usize::MAX),
            Some(ValueRef::BigInt(rows @ 0..)) => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
            _ => general(),
        }
    }
}

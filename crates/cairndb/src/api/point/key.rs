//! Keys made of operands.

use super::operand::Operand;
use crate::api::Params;
use crate::catalog::{Index, Table};
use crate::plan::Expr;
use crate::types::{DataType, ValueRef, key};

/// One column of a key.
#[derive(Clone, Debug)]
struct Part {
    operand: Operand,
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

/// A whole key of a tree.
#[derive(Clone, Debug)]
pub(super) struct KeyTemplate(Box<[Part]>);

impl KeyTemplate {
    /// The primary key, or a unique index's, from one expression per column.
    pub(super) fn of(table: &Table, index: Option<&Index>, exprs: &[Expr]) -> Option<KeyTemplate> {
        let plain = |&column: &usize| (column, false, false);
        let columns: Vec<(usize, bool, bool)> = match index {
            None => table.primary_key.iter().map(plain).collect(),
            Some(index) => index.columns.iter().map(|part| (part.column, part.descending, part.nulls_first)).collect(),
        };
        if columns.is_empty() || columns.len() != exprs.len() {
            return None;
        }
        let part = |((column, descending, nulls_first), expr): ((usize, bool, bool), &Expr)| {
            let data_type = table.columns.get(column)?.data_type;
            Some(Part { operand: Operand::of(expr, data_type)?, data_type, descending, nulls_first })
        };
        columns.into_iter().zip(exprs).map(part).collect::<Option<_>>().map(KeyTemplate)
    }

    /// Writes the key over `out`; `None`: a value needs converting, or is NULL.
    #[inline]
    pub(super) fn encode(&self, params: &dyn Params, out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        for part in &self.0 {
            let value = part.operand.value(params)?;
            if value.is_null() {
                return None;
            }
            key::encode_ref(value, part.data_type, part.descending, part.nulls_first, out);
        }
        Some(())
    }

    /// The value of one column of the key.
    pub(super) fn value<'v>(&'v self, at: usize, params: &'v dyn Params) -> Option<ValueRef<'v>> {
        self.0.get(at)?.operand.value(params)
    }
}

//! Keys made of operands.

use crate::catalog::{Index, IndexColumn, Table};
use crate::dml::row::Operand;
use crate::plan::Expr;
use crate::types::Params;
use crate::types::{DataType, key};

/// The columns of the primary key, or of a unique index's.
pub(super) fn key_columns<'t>(table: &'t Table, index: Option<&'t Index>) -> &'t [IndexColumn] {
    index.map_or_else(|| table.row_key(), |index| &index.columns)
}

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
        let columns = key_columns(table, index);
        if columns.is_empty() || columns.len() != exprs.len() {
            return None;
        }
        // (As many as there are: each statement that comes as text makes one.)
        let mut parts = Vec::with_capacity(exprs.len());
        for (&IndexColumn { column, descending, nulls_first }, expr) in columns.iter().zip(exprs) {
            let data_type = table.key_type(column)?;
            parts.push(Part { operand: Operand::of(expr, data_type)?, data_type, descending, nulls_first });
        }
        Some(KeyTemplate(parts.into()))
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
}

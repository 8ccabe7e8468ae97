//! What a point statement is run with: its parameters, fitted to their types, and values drawn from sequences.

use std::sync::Arc;

use super::Miss;
use crate::Value;
use crate::catalog::{Catalog, Sequence};
use crate::plan::{Expr, SequenceOp};
use crate::types::{self, DataType, EvalContext, Params, ValueRef};

/// Parameters, then the drawn values.
pub(crate) struct Arguments<'a> {
    pub(crate) given: &'a dyn Params,
    /// Empty where all fit as they came; else one per parameter, NULL where it fits.
    pub(crate) fitted: &'a [Value],
    pub(crate) drawn: &'a [i64],
}

impl Params for Arguments<'_> {
    fn count(&self) -> usize {
        self.given.count() + self.drawn.len()
    }

    fn value(&self, index: usize) -> ValueRef<'_> {
        match self.fitted.get(index) {
            Some(value) if !value.is_null() => value.into(),
            _ => match index.checked_sub(self.given.count()) {
                None => self.given.value(index),
                Some(at) => self.drawn.get(at).map_or(ValueRef::Null, |&value| ValueRef::BigInt(value)),
            },
        }
    }
}

/// Whether every parameter is of its type as it came.
#[inline]
pub(crate) fn all_fit(params: &dyn Params, types: &[DataType]) -> bool {
    types.iter().enumerate().all(|(index, &data_type)| {
        let value = params.value(index);
        value.is_of(data_type) || value.fit(data_type).is_some()
    })
}

/// Converts the parameters that need it.
pub(crate) fn fit(
    params: &dyn Params,
    types: &[DataType],
    eval: &EvalContext,
    out: &mut Vec<Value>,
) -> Result<(), Miss> {
    for (index, &data_type) in types.iter().enumerate() {
        let value = params.value(index);
        out.push(match value.fit(data_type) {
            Some(_) => Value::Null,
            None => types::fit(value, data_type, eval).map_err(|_| Miss::General)?,
        });
    }
    Ok(())
}

/// Replaces `nextval` of known sequences, where it is a whole value or one that is only converted, by a parameter beyond
/// the statement's own `count`; `None` for sequences in other places.
pub(crate) fn draws(exprs: &mut [Expr], count: usize, catalog: &Catalog) -> Option<Vec<Arc<Sequence>>> {
    let mut drawn = Vec::new();
    for expr in exprs {
        let value = match expr {
            Expr::Cast { input, .. } => &mut **input,
            expr => expr,
        };
        let Expr::Sequence { op, name, .. } = &*value else { continue };
        let (SequenceOp::Next, Expr::Literal { value: Value::Text(name), .. }) = (op, &**name) else { return None };
        let sequence = catalog.find_sequence(&crate::sql::relation_name(name).ok()?).ok()?;
        *value = Expr::parameter(count + drawn.len(), DataType::BigInt);
        drawn.push(sequence.clone());
    }
    Some(drawn)
}

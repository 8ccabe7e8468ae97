//! What rows of a sample have for the expressions of their table's indexes.

use std::sync::Arc;

use crate::catalog::{Index, ObjectId, Table};
use crate::plan::expressions::expr::{Expr, SequenceOp};
use crate::plan::expressions::row_eval::{EvalEnv, eval};
use crate::plan::scans::indexes::{BoundIndex, BoundIndexes};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

/// Those of ordered indexes: of what is in documents as wholes an inverted one is not asked.
#[derive(Debug, Default)]
pub(crate) struct KeyExpressions {
    indexes: Vec<OfIndex>,
    /// A row for which one fails is taken to have no entry.
    is_lenient: bool,
}

#[derive(Debug)]
struct OfIndex {
    id: ObjectId,
    expressions: Vec<(usize, Expr)>,
    /// Rows for which it is not true have no entry.
    predicate: Option<Expr>,
    of_users: bool,
}

impl KeyExpressions {
    /// Of a table.
    pub(crate) fn of(table: &Table, bound: Option<&BoundIndexes>) -> KeyExpressions {
        let bound = bound.into_iter().flat_map(|bound| &bound.kept);
        let known = table.indexes.iter().zip(bound);
        let known = known.filter(|(index, bound)| !index.is_inverted() && !bound.expressions.is_empty());
        let of_index = |(index, bound): (&Arc<Index>, &BoundIndex)| OfIndex {
            id: index.id,
            expressions: bound.expressions.clone(),
            predicate: bound.predicate.clone(),
            of_users: bound.of_users,
        };
        KeyExpressions { indexes: known.map(of_index).collect(), is_lenient: false }
    }

    /// For who plans a statement, which does not fail of it and calls no functions that users made.
    pub(super) fn for_planning(self) -> KeyExpressions {
        let indexes = self.indexes.into_iter().filter(|index| !index.of_users).collect();
        KeyExpressions { indexes, is_lenient: true }
    }

    /// What stands for each in a key, and its type.
    pub(super) fn keys(&self) -> impl Iterator<Item = ((ObjectId, usize), DataType)> {
        let of = |index: &OfIndex| {
            let id = index.id;
            index.expressions.iter().map(move |(column, expr)| ((id, *column), expr.data_type())).collect::<Vec<_>>()
        };
        self.indexes.iter().flat_map(of)
    }

    /// A row's value for each; `None`: it has no entry in the index.
    ///
    /// # Errors
    ///
    /// Those of the expressions.
    pub(super) fn of_row(&self, row: &[Value], context: &EvalContext) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::new();
        for index in &self.indexes {
            match index.of_row(row, context) {
                Ok(of_index) => values.extend(of_index),
                Err(_) if self.is_lenient => values.extend(index.expressions.iter().map(|_| None)),
                Err(error) => return Err(error),
            }
        }
        Ok(values)
    }
}

impl OfIndex {
    fn of_row(&self, row: &[Value], context: &EvalContext) -> Result<Vec<Option<Value>>> {
        let value = |expr| eval(expr, &row, Stored(context));
        let is_there =
            self.predicate.as_ref().map_or(Ok(true), |predicate| Ok::<_, Error>(value(predicate)?.is_true()))?;
        let values =
            self.expressions.iter().map(|(_, expr)| Ok(if is_there { Some(value(expr)?.into_value()) } else { None }));
        values.collect()
    }
}

/// There is nothing but the row.
#[derive(Clone, Copy)]
struct Stored<'a>(&'a EvalContext);

impl<'a> EvalEnv<'a> for Stored<'a> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'a>> {
        Err(Error::internal(format!("parameter {index} in an index")))
    }

    fn eval(self) -> &'a EvalContext {
        self.0
    }

    fn sequence(self, _: SequenceOp, _: &Value, _: Option<&Value>) -> Result<Value> {
        Err(Error::internal("a sequence in an index"))
    }

    fn missed(error: Error) -> Error {
        error
    }
}

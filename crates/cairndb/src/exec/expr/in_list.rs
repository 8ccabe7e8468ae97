//! `IN (list)`: a hash set where the list is constant, comparisons in turn otherwise.

use std::sync::Arc;

use super::evaluator::{Evaluator, Frame};
use crate::columns::{Bitmap, Data, HashTable, NO_ROW, Operand, Vector, hash_rows, row_number, values_equal};
use crate::exec::context::Cx;
use crate::functions::Function;
use crate::types::DataType;
use crate::{Result, Value};

/// `input IN` constants of the input's own type.
pub(super) struct InSet {
    input: Evaluator,
    elements: Vector,
    table: HashTable,
    /// The list has a NULL: what is not found is NULL, not false.
    has_null: bool,
}

impl InSet {
    pub(super) fn new(input: Evaluator, list: &[Value]) -> Result<InSet> {
        let mut elements = Vector::new(input.data_type);
        list.iter().filter(|value| !value.is_null()).try_for_each(|value| elements.push(value))?;
        let table = HashTable::build(hash_rows(&[&elements], elements.len()), |_| false);
        Ok(InSet { input, has_null: elements.len() < list.len(), elements, table })
    }

    pub(super) fn input(&self) -> &Evaluator {
        &self.input
    }

    pub(super) fn input_mut(&mut self) -> &mut Evaluator {
        &mut self.input
    }

    pub(super) fn eval(&mut self, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
        let input = self.input.vector(frame, cx)?;
        let hashes = hash_rows(std::slice::from_ref(&input), frame.len);
        let found: Vec<bool> = hashes
            .iter()
            .enumerate()
            .map(|(row, &hash)| {
                self.table.find(hash, |entry| values_equal(&input, row, &self.elements, entry as usize)) != NO_ROW
            })
            .collect();
        let validity = validity(&input, &found, self.has_null);
        Ok(Vector::from_parts(DataType::Boolean, Data::Bool(found), validity).into())
    }
}

fn validity(input: &Arc<Vector>, found: &[bool], has_null: bool) -> Option<Bitmap> {
    if !has_null {
        return input.validity().cloned();
    }
    let mut bits = Bitmap::default();
    found.iter().enumerate().for_each(|(row, &found)| bits.push(found && !input.is_null(row)));
    Some(bits)
}

/// Compares with one element after the other; an element is not evaluated on rows that an earlier one decided.
pub(super) fn eval_list(
    input: &mut Evaluator,
    list: &mut [Evaluator],
    equal: &Arc<Function>,
    frame: Frame<'_>,
    cx: Cx<'_>,
) -> Result<Operand> {
    let input = input.eval(frame, cx)?;
    let mut results = vec![Value::Boolean(false); frame.len];
    let mut rest: Vec<u32> = (0..row_number(frame.len)).collect();
    for element in list {
        let columns = frame.narrowed(element, &rest);
        let values = element.eval(Frame { columns: &columns, len: rest.len() }, cx)?;
        let mut undecided = Vec::with_capacity(rest.len());
        for (position, &row) in rest.iter().enumerate() {
            let pair = [input.value(row as usize), values.value(position)];
            match equal.call(&pair, &cx.context().eval)? {
                Value::Boolean(false) => undecided.push(row),
                Value::Boolean(true) => results[row as usize] = Value::Boolean(true),
                _ => {
                    results[row as usize] = Value::Null;
                    undecided.push(row);
                }
            }
        }
        rest = undecided;
        if rest.is_empty() {
            break;
        }
    }
    Ok(Vector::from_values(DataType::Boolean, &results)?.into())
}

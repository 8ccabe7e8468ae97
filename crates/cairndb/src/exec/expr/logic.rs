//! Three-valued logic over vectors.

use super::evaluator::{Evaluator, Frame};
use super::native::is_null_constant;
use crate::columns::{Bitmap, Data, Operand, Vector, row_number, values_equal};
use crate::exec::context::Cx;
use crate::types::DataType;
use crate::{Error, Result, Value};

fn boolean(values: Vec<bool>, validity: Option<Bitmap>) -> Operand {
    Vector::from_parts(DataType::Boolean, Data::Bool(values), validity).into()
}

fn bools(vector: &Vector) -> Result<&[bool]> {
    match vector.data() {
        Data::Bool(values) => Ok(values),
        _ => Err(Error::internal("a condition that is not boolean")),
    }
}

/// Rows on which a condition is true.
pub(super) fn true_rows(condition: &Operand, len: usize) -> Vec<u32> {
    match condition {
        Operand::Constant(Value::Boolean(true)) => (0..row_number(len)).collect(),
        Operand::Constant(_) => vec![],
        Operand::Vector(vector) => {
            let Data::Bool(values) = vector.data() else { return vec![] };
            // Written without a branch: conditions are often true for some unpredictable half of the rows.
            let mut rows = vec![0; values.len()];
            let mut count = 0;
            for (row, &value) in values.iter().enumerate() {
                rows[count] = row_number(row);
                count += usize::from(value);
            }
            rows.truncate(count);
            if vector.validity().is_some() {
                rows.retain(|&row| !vector.is_null(row as usize));
            }
            rows
        }
    }
}

/// What AND or OR knows so far.
struct Fold {
    /// AND: some argument was false. OR: some was true.
    decided: Vec<bool>,
    /// Some argument was NULL.
    unknown: Option<Vec<bool>>,
    decisive: bool,
}

impl Fold {
    /// Takes an argument's value for one row.
    fn see(&mut self, row: usize, value: Option<bool>) {
        match value {
            Some(value) => self.decided[row] |= value == self.decisive,
            None => {
                let len = self.decided.len();
                self.unknown.get_or_insert_with(|| vec![false; len])[row] = true;
            }
        }
    }

    /// Takes an argument evaluated on all rows.
    fn see_all(&mut self, result: &Operand) -> Result<()> {
        match result {
            Operand::Constant(value) => {
                let value = value.as_bool();
                (0..self.decided.len()).for_each(|row| self.see(row, value));
            }
            Operand::Vector(vector) if vector.validity().is_none() => {
                for (decided, value) in self.decided.iter_mut().zip(bools(vector)?) {
                    *decided |= *value == self.decisive;
                }
            }
            Operand::Vector(vector) => {
                for (row, &value) in bools(vector)?.iter().enumerate() {
                    self.see(row, (!vector.is_null(row)).then_some(value));
                }
            }
        }
        Ok(())
    }

    /// Takes an argument evaluated on the given rows only.
    fn see_rows(&mut self, result: &Operand, rows: &[u32]) {
        for (position, &row) in rows.iter().enumerate() {
            self.see(row as usize, result.value(position).as_bool());
        }
    }

    fn finish(self) -> Operand {
        let decisive = self.decisive;
        let validity = self.unknown.map(|unknown| {
            let mut bits = Bitmap::filled(unknown.len(), true);
            let nulls = unknown.iter().zip(&self.decided).enumerate();
            nulls.filter(|(_, (unknown, decided))| **unknown && !**decided).for_each(|(row, _)| bits.clear(row));
            bits
        });
        boolean(self.decided.into_iter().map(|decided| decided == decisive).collect(), validity)
    }
}

/// AND or OR. Each argument sees only the rows that are still undecided.
pub(super) fn fold(args: &mut [Evaluator], decisive: bool, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
    let mut fold = Fold { decided: vec![false; frame.len], unknown: None, decisive };
    for (position, arg) in args.iter_mut().enumerate() {
        if position == 0 {
            fold.see_all(&arg.eval(frame, cx)?)?;
            continue;
        }
        let rows: Vec<u32> = (0..row_number(frame.len)).filter(|&row| !fold.decided[row as usize]).collect();
        if rows.is_empty() {
            break;
        }
        // Narrowing copies; a cheap condition over most rows is better evaluated on all.
        if rows.len() == frame.len || (arg.total && rows.len() >= frame.len / 4) {
            fold.see_all(&arg.eval(frame, cx)?)?;
        } else {
            let columns = frame.narrowed(arg, &rows);
            let result = arg.eval(Frame { columns: &columns, len: rows.len() }, cx)?;
            fold.see_rows(&result, &rows);
        }
    }
    Ok(fold.finish())
}

/// NOT: NULL stays NULL.
pub(super) fn not(input: Operand, len: usize) -> Result<Operand> {
    if is_null_constant(&input) {
        return Ok(input);
    }
    let input = input.into_vector(DataType::Boolean, len)?;
    Ok(boolean(bools(&input)?.iter().map(|value| !value).collect(), input.validity().cloned()))
}

/// IS NULL.
pub(super) fn is_null(input: &Operand, len: usize) -> Operand {
    match input {
        Operand::Constant(value) => Operand::Constant(Value::Boolean(value.is_null())),
        Operand::Vector(vector) => boolean((0..len).map(|row| vector.is_null(row)).collect(), None),
    }
}

/// IS NOT DISTINCT FROM: NULL is like NULL.
pub(super) fn is_not_distinct(left: Operand, right: Operand, types: [DataType; 2], len: usize) -> Result<Operand> {
    let left = left.into_vector(types[0], len)?;
    let right = right.into_vector(types[1], len)?;
    Ok(boolean((0..len).map(|row| values_equal(&left, row, &right, row)).collect(), None))
}

//! CASE and COALESCE: each branch is evaluated on its own rows only.

use super::evaluator::{Evaluator, Frame};
use crate::Result;
use crate::columns::{NO_ROW, Operand, Vector, row_number};
use crate::exec::context::Cx;
use crate::types::DataType;

/// A compiled CASE.
pub(super) struct Case {
    pub(super) branches: Vec<(Evaluator, Evaluator)>,
    pub(super) otherwise: Option<Evaluator>,
}

/// A result put together from parts, each for some of the rows.
struct Assembly {
    values: Vector,
    /// By row: where its value is in `values`.
    places: Vec<u32>,
}

impl Assembly {
    fn new(data_type: DataType, len: usize) -> Assembly {
        Assembly { values: Vector::with_capacity(data_type, len), places: vec![NO_ROW; len] }
    }

    /// The values of `part` are those of the given rows.
    fn add(&mut self, rows: &[u32], part: Operand) -> Result<()> {
        let base = self.values.len();
        self.values.append(part.into_vector(self.values.data_type(), rows.len())?.as_ref());
        for (position, &row) in rows.iter().enumerate() {
            self.places[row as usize] = row_number(base + position);
        }
        Ok(())
    }

    /// Rows without a value are NULL.
    fn finish(self) -> Operand {
        self.values.gather(&self.places).into()
    }
}

/// Evaluates on the given rows of the frame, or on the frame itself if these are all.
fn eval_on(evaluator: &mut Evaluator, rows: &[u32], frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
    if rows.len() == frame.len {
        return evaluator.eval(frame, cx);
    }
    let columns = frame.narrowed(evaluator, rows);
    evaluator.eval(Frame { columns: &columns, len: rows.len() }, cx)
}

impl Case {
    pub(super) fn eval(&mut self, data_type: DataType, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
        let mut rest: Vec<u32> = (0..row_number(frame.len)).collect();
        let mut assembly = Assembly::new(data_type, frame.len);
        for (condition, result) in &mut self.branches {
            if rest.is_empty() {
                break;
            }
            let condition = eval_on(condition, &rest, frame, cx)?;
            let (taken, left) = split(&rest, |position| condition.is_true(position));
            if taken.len() == frame.len {
                return result.eval(frame, cx);
            }
            if !taken.is_empty() {
                assembly.add(&taken, eval_on(result, &taken, frame, cx)?)?;
            }
            rest = left;
        }
        match &mut self.otherwise {
            Some(otherwise) if rest.len() == frame.len => return otherwise.eval(frame, cx),
            Some(otherwise) if !rest.is_empty() => assembly.add(&rest, eval_on(otherwise, &rest, frame, cx)?)?,
            _ => {}
        }
        Ok(assembly.finish())
    }
}

/// The first argument that is not NULL.
pub(super) fn coalesce(args: &mut [Evaluator], data_type: DataType, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
    let mut rest: Vec<u32> = (0..row_number(frame.len)).collect();
    let mut assembly = Assembly::new(data_type, frame.len);
    for arg in args {
        if rest.is_empty() {
            break;
        }
        let result = eval_on(arg, &rest, frame, cx)?;
        let (_, left) = split(&rest, |position| !result.is_null(position));
        if rest.len() == frame.len && left.is_empty() {
            return Ok(result);
        }
        // NULLs are added too; a later argument's values then take their rows over.
        assembly.add(&rest, result)?;
        rest = left;
    }
    Ok(assembly.finish())
}

/// Divides rows by what holds at their positions.
fn split(rows: &[u32], holds: impl Fn(usize) -> bool) -> (Vec<u32>, Vec<u32>) {
    let (mut yes, mut no) = (vec![], vec![]);
    for (position, &row) in rows.iter().enumerate() {
        if holds(position) { yes.push(row) } else { no.push(row) }
    }
    (yes, no)
}

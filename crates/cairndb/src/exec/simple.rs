//! Operators that keep nothing: values, filter, projection, concatenation.

use std::sync::Arc;

use super::context::Cx;
use super::expr::{Evaluator, Frame, rebind_all};
use super::operator::{BoxOperator, Operator, Step};
use super::scan::keep_true;
use crate::columns::{Batch, Vector};
use crate::{DataType, Result, Value};

/// Rows of expressions.
pub(crate) struct Values {
    rows: Vec<Vec<Evaluator>>,
    types: Vec<DataType>,
    /// A row at a time.
    one_by_one: bool,
    next: usize,
}

impl Values {
    pub(crate) fn new(rows: Vec<Vec<Evaluator>>, types: Vec<DataType>, one_by_one: bool) -> Values {
        Values { rows, types, one_by_one, next: 0 }
    }
}

impl Operator for Values {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.check()?;
        let count = if self.one_by_one { 1 } else { cx.context().batch_sizes.max.max(1) };
        let end = self.rows.len().min(self.next + count);
        let rows = self.rows.get_mut(self.next..end).filter(|rows| !rows.is_empty());
        let Some(rows) = rows else { return Ok(None) };
        let len = rows.len();
        let mut columns: Vec<Vector> =
            self.types.iter().map(|&data_type| Vector::with_capacity(data_type, len)).collect();
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                match value.as_constant() {
                    Some(value) => column.push(value)?,
                    None => column.push(&value.scalar(cx)?)?,
                }
            }
        }
        self.next = end;
        Ok(Some(Batch::new(columns.into_iter().map(Arc::new).collect(), len)))
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.next = 0;
    }
}

/// Rows for which a predicate is true.
pub(crate) struct Filter {
    input: BoxOperator,
    predicate: Evaluator,
}

impl Filter {
    pub(crate) fn new(input: BoxOperator, predicate: Evaluator) -> Filter {
        Filter { input, predicate }
    }
}

impl Operator for Filter {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let read = batch.len();
            let batch = keep_true(batch, &mut self.predicate, cx)?;
            cx.shared.note_removed(read - batch.as_ref().map_or(0, Batch::len));
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
    }

    fn park(&mut self) -> bool {
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.predicate.rebind(parameters) && self.input.rebind(parameters)
    }
}

/// Its input's rows, one at a time, or as many together as are wanted in all.
pub(crate) struct OneByOne {
    input: BoxOperator,
    /// What was read, and how many rows of it were given.
    read: Option<(Batch, usize)>,
    /// How many rows are still wanted; `None`: that is not known, or one at a time is what is wanted.
    wanted: Option<usize>,
    takes_wanted: bool,
}

impl OneByOne {
    pub(crate) fn new(input: BoxOperator) -> OneByOne {
        OneByOne { input, read: None, wanted: None, takes_wanted: false }
    }

    pub(crate) fn or_wanted(input: BoxOperator) -> OneByOne {
        OneByOne { takes_wanted: true, ..OneByOne::new(input) }
    }
}

impl Operator for OneByOne {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            if let Some((batch, given)) = &mut self.read
                && *given < batch.len()
            {
                let rows = batch.slice(*given, self.wanted.unwrap_or(1).max(1));
                *given += rows.len();
                self.wanted.iter_mut().for_each(|wanted| *wanted -= rows.len().min(*wanted));
                return Ok(Some(rows));
            }
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            self.read = Some((batch, 0));
        }
    }

    fn want(&mut self, rows: usize) {
        if self.takes_wanted {
            self.wanted = Some(rows);
        }
        self.input.want(rows);
    }

    fn reset(&mut self, cx: Cx<'_>) {
        (self.read, self.wanted) = (None, None);
        self.input.reset(cx);
    }

    fn park(&mut self) -> bool {
        (self.read, self.wanted) = (None, None);
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.input.rebind(parameters)
    }
}

/// One expression per output column.
pub(crate) struct Project {
    input: BoxOperator,
    exprs: Vec<Evaluator>,
}

impl Project {
    pub(crate) fn new(input: BoxOperator, exprs: Vec<Evaluator>) -> Project {
        Project { input, exprs }
    }
}

impl Operator for Project {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else { return Ok(None) };
        let frame = Frame::from(&batch);
        let columns = self.exprs.iter_mut().map(|expr| expr.vector(frame, cx)).collect::<Result<_>>()?;
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn skip(&mut self, rows: usize, cx: Cx<'_>) -> Step<usize> {
        let is_told = |expr: &Evaluator| expr.is_column() || expr.as_constant().is_some();
        if self.exprs.iter().all(is_told) { self.input.skip(rows, cx) } else { Ok(0) }
    }

    fn want(&mut self, rows: usize) {
        self.input.want(rows);
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
    }

    fn park(&mut self) -> bool {
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.exprs, parameters) && self.input.rebind(parameters)
    }
}

/// The rows of each input in turn.
pub(crate) struct Append {
    inputs: Vec<BoxOperator>,
    current: usize,
}

impl Append {
    pub(crate) fn new(inputs: Vec<BoxOperator>) -> Append {
        Append { inputs, current: 0 }
    }
}

impl Operator for Append {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        while let Some(input) = self.inputs.get_mut(self.current) {
            if let Some(batch) = input.next(cx)? {
                return Ok(Some(batch));
            }
            self.current += 1;
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.inputs.iter_mut().for_each(|input| input.reset(cx));
        self.current = 0;
    }

    fn park(&mut self) -> bool {
        self.current = 0;
        self.inputs.iter_mut().all(|input| input.park())
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.inputs.iter_mut().all(|input| input.rebind(parameters))
    }
}

//! Subqueries in expressions: run per row of the enclosing query, with answers kept per values they depend on.
//!
//! Invariants: a subquery sees the row it is evaluated on as outer level 1; one that depends on nothing runs at most
//! once (it is not run at all if no row needs it); kept answers are dropped when a WITH result that they may rest on
//! can have changed.

use std::collections::HashMap;
use std::sync::Arc;

use super::compile::{Compiler, common_type};
use super::evaluator::{Evaluator, Frame};
use crate::columns::{HashTable, NO_ROW, Operand, Vector, hash_rows, values_equal};
use crate::exec::build::build_asked;
use crate::exec::context::{Charge, Cx};
use crate::exec::facts::Facts;
use crate::exec::operator::{BoxOperator, next_now};
use crate::functions::{Function, Operator};
use crate::plan::{PhysicalPlan, QuantifiedOp, Subplan, SubqueryKind};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// Answers kept at most; beyond, all are dropped and collected anew.
const KEPT_MAX: usize = 10_000;

/// A compiled subquery.
pub(super) struct SubplanEvaluator {
    plan: Arc<PhysicalPlan>,
    kind: SubqueryKind,
    /// `Quantified`: what is compared.
    left: Vec<Evaluator>,
    depends_on: Vec<(usize, usize)>,
    facts: Facts,
    /// Built when first needed.
    operator: Option<BoxOperator>,
    kept: HashMap<Vec<Value>, Answer>,
    /// When `kept` began, by [`Shared::with_version`](crate::exec::context::Shared::with_version).
    with_version: u64,
    charge: Charge,
}

#[derive(Clone)]
enum Answer {
    Value(Value),
    Rows(Arc<RowSet>),
}

impl SubplanEvaluator {
    pub(super) fn new(subplan: &Subplan, compiler: &mut Compiler<'_>) -> Result<SubplanEvaluator> {
        let left = match &subplan.kind {
            SubqueryKind::Quantified { left, .. } => compiler.compile_list(left)?,
            _ => vec![],
        };
        Ok(SubplanEvaluator {
            plan: subplan.plan.clone(),
            kind: subplan.kind.clone(),
            left,
            depends_on: subplan.depends_on.clone(),
            facts: Facts::of_plan(&subplan.plan),
            operator: None,
            kept: HashMap::new(),
            with_version: 0,
            charge: Charge::default(),
        })
    }

    /// The columns of the row it is evaluated on that the subquery uses.
    pub(super) fn outer_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.depends_on.iter().filter(|(level, _)| *level == 1).map(|(_, index)| *index)
    }

    pub(super) fn left(&self) -> &[Evaluator] {
        &self.left
    }

    pub(super) fn eval(&mut self, data_type: DataType, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
        let left = self.left.iter_mut().map(|left| left.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        if self.facts.with && self.with_version != cx.shared.with_version() {
            self.forget(cx);
        }
        let mut result = Vector::with_capacity(data_type, frame.len);
        for row in 0..frame.len {
            cx.check()?;
            let value = match self.answer(frame, row, cx)? {
                Answer::Value(value) => value,
                Answer::Rows(rows) => self.compare(&rows, &left, row, cx)?,
            };
            if self.depends_on.is_empty() && left.is_empty() && !self.facts.volatile {
                return Ok(Operand::Constant(value));
            }
            result.push(&value)?;
        }
        Ok(result.into())
    }

    fn forget(&mut self, cx: Cx<'_>) {
        self.kept.clear();
        self.charge.clear(cx.shared);
    }

    /// The subquery's answer for one row, kept or computed.
    fn answer(&mut self, frame: Frame<'_>, row: usize, cx: Cx<'_>) -> Result<Answer> {
        let key = self.key(frame, row, cx)?;
        if let Some(answer) = self.kept.get(&key) {
            return Ok(answer.clone());
        }
        let answer = self.run(&key, cx)?;
        self.with_version = cx.shared.with_version();
        // Without dependencies it is evaluated once even if volatile, as PostgreSQL does.
        if !self.facts.volatile || self.depends_on.is_empty() {
            if self.kept.len() >= KEPT_MAX {
                self.forget(cx);
            }
            self.charge.add(size_of_val(key.as_slice()) + answer.memory_bytes(), cx.shared)?;
            self.kept.insert(key, answer.clone());
        }
        Ok(answer)
    }

    fn key(&self, frame: Frame<'_>, row: usize, cx: Cx<'_>) -> Result<Vec<Value>> {
        let value = |&(level, index): &(usize, usize)| match level {
            1 => {
                let column = frame.columns.get(index);
                column.map(|column| column.value(row)).ok_or_else(|| Error::internal("no such outer column"))
            }
            _ => cx.outer_value(level - 1, index).cloned(),
        };
        let mut key = self.depends_on.iter().map(value).collect::<Result<Vec<Value>>>()?;
        for position in 0..key.len() {
            add_identity(position, &mut key);
        }
        Ok(key)
    }

    /// Runs the subquery under the row whose used columns `key` begins with.
    fn run(&mut self, key: &[Value], cx: Cx<'_>) -> Result<Answer> {
        let width = self.outer_columns().max().map_or(0, |last| last + 1);
        let mut values = vec![Value::Null; width];
        for (&(level, index), value) in self.depends_on.iter().zip(key) {
            if level == 1 {
                values[index] = value.clone();
            }
        }
        let outer = cx.push(values);
        let cx = cx.under(&outer);
        let operator = match &mut self.operator {
            Some(operator) => {
                operator.reset(cx);
                operator
            }
            none => {
                let stops = !matches!(self.kind, SubqueryKind::Quantified { .. });
                none.insert(build_asked(&self.plan, cx.shared, stops)?)
            }
        };
        match &self.kind {
            SubqueryKind::Exists => Ok(Answer::Value(Value::Boolean(next_now(operator, cx)?.is_some()))),
            SubqueryKind::Scalar { .. } => scalar(operator, cx).map(Answer::Value),
            SubqueryKind::Quantified { ops, quantifier, .. } => {
                let types = self.left.iter().map(Evaluator::data_type).collect::<Vec<_>>();
                RowSet::collect(operator, &self.plan, &types, ops, *quantifier, cx)
                    .map(|rows| Answer::Rows(Arc::new(rows)))
            }
        }
    }

    fn compare(&self, rows: &RowSet, left: &[Arc<Vector>], row: usize, cx: Cx<'_>) -> Result<Value> {
        let SubqueryKind::Quantified { ops, quantifier, .. } = &self.kind else {
            return Err(Error::internal("rows of a subquery that is not quantified"));
        };
        match &rows.table {
            Some(table) => Ok(rows.probe(table, left, row, *quantifier)),
            None => rows.compare_each(left, row, ops, *quantifier, cx),
        }
    }
}

/// Appends what tells a value apart from those that only compare equal to it: an answer may show it.
fn add_identity(position: usize, key: &mut Vec<Value>) {
    match key[position] {
        Value::Numeric(ref number) => key.push(Value::Integer(number.scale().into())),
        Value::Real(number) => key.push(Value::BigInt(number.to_bits().into())),
        Value::Double(number) => key.push(Value::BigInt(number.to_bits().cast_signed())),
        Value::Interval(interval) => {
            key.push(Value::Integer(interval.months));
            key.push(Value::Integer(interval.days));
        }
        _ => {}
    }
}

impl Answer {
    fn memory_bytes(&self) -> usize {
        match self {
            Answer::Value(_) => size_of::<Answer>(),
            Answer::Rows(rows) => rows.columns.iter().map(Vector::memory_bytes).sum(),
        }
    }
}

fn scalar(operator: &mut BoxOperator, cx: Cx<'_>) -> Result<Value> {
    let Some(batch) = next_now(operator, cx)? else { return Ok(Value::Null) };
    if batch.len() > 1 || next_now(operator, cx)?.is_some() {
        return Err(Error::new(
            SqlState::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        ));
    }
    Ok(batch.value(0, 0))
}

/// The rows of a quantified subquery.
struct RowSet {
    columns: Vec<Vector>,
    len: usize,
    has_nulls: bool,
    /// For `= ANY` and `<> ALL` over one column, without its NULLs.
    table: Option<HashTable>,
}

impl RowSet {
    fn collect(
        operator: &mut BoxOperator,
        plan: &PhysicalPlan,
        left: &[DataType],
        ops: &[Arc<Function>],
        quantifier: QuantifiedOp,
        cx: Cx<'_>,
    ) -> Result<RowSet> {
        let mut columns: Vec<Vector> = plan.fields.iter().map(|field| Vector::new(field.data_type)).collect();
        let mut len = 0;
        let mut charge = Charge::default();
        while let Some(batch) = next_now(operator, cx)? {
            charge.add(batch.memory_bytes(), cx.shared)?;
            columns.iter_mut().zip(batch.columns()).for_each(|(to, from)| to.append(from));
            len += batch.len();
        }
        // The answer as a whole is charged where it is kept.
        charge.clear(cx.shared);
        let hashable = matches!((ops, quantifier), ([op], QuantifiedOp::Any) if op.op == Some(Operator::Equal))
            || matches!((ops, quantifier), ([op], QuantifiedOp::All) if op.op == Some(Operator::NotEqual));
        let same_type = matches!((left, columns.as_slice()), ([left], [column])
            if common_type(*left, column.data_type()).is_some_and(|_| left.base() == column.data_type().base()));
        let table = (hashable && same_type).then(|| {
            let hashes = hash_rows(&columns, len);
            HashTable::build(hashes, |row| columns[0].is_null(row))
        });
        // A validity bitmap alone is no proof of a NULL.
        let has_nulls = columns.iter().any(|column| (0..len).any(|row| column.is_null(row)));
        Ok(RowSet { columns, len, has_nulls, table })
    }

    /// `= ANY` or `<> ALL` by hash.
    fn probe(&self, table: &HashTable, left: &[Arc<Vector>], row: usize, quantifier: QuantifiedOp) -> Value {
        let ([left], [column]) = (left, self.columns.as_slice()) else { return Value::Null };
        let one = left.gather(&[crate::columns::row_number(row)]);
        let found = !one.is_null(0)
            && table.find(hash_rows(&[&one], 1)[0], |entry| values_equal(&one, 0, column, entry as usize)) != NO_ROW;
        let any = if found {
            Some(true)
        } else if self.len > 0 && (one.is_null(0) || self.has_nulls) {
            None
        } else {
            Some(false)
        };
        any.map_or(Value::Null, |any| Value::Boolean(any == (quantifier == QuantifiedOp::Any)))
    }

    /// Any quantified comparison, row by row.
    fn compare_each(
        &self,
        left: &[Arc<Vector>],
        row: usize,
        ops: &[Arc<Function>],
        quantifier: QuantifiedOp,
        cx: Cx<'_>,
    ) -> Result<Value> {
        let decisive = quantifier == QuantifiedOp::Any;
        let mut unknown = false;
        for entry in 0..self.len {
            if entry % 1024 == 1023 {
                cx.check()?;
            }
            match self.compare_row(left, row, entry, ops, cx)? {
                Some(value) if value == decisive => return Ok(Value::Boolean(decisive)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::Boolean(!decisive) })
    }

    /// One row's comparison: all columns must agree.
    fn compare_row(
        &self,
        left: &[Arc<Vector>],
        row: usize,
        entry: usize,
        ops: &[Arc<Function>],
        cx: Cx<'_>,
    ) -> Result<Option<bool>> {
        let mut all = Some(true);
        for ((left, column), op) in left.iter().zip(&self.columns).zip(ops) {
            let pair = [left.value(row), column.value(entry)];
            match op.call(&pair, &cx.context().eval)?.as_bool() {
                Some(false) => return Ok(Some(false)),
                Some(true) => {}
                None => all = None,
            }
        }
        Ok(all)
    }
}

//! The compiled form of an expression, and its evaluation over the rows of a batch.
//!
//! Invariants: an expression is evaluated on exactly the rows on which PostgreSQL would evaluate it, so that
//! `CASE WHEN x <> 0 THEN 1 / x END` cannot fail; only evaluators that are `total` (they cannot fail and cost next to
//! nothing) may also run on other rows. Nothing is evaluated on an empty frame.

use std::sync::Arc;

use super::branch::Case;
use super::in_list::InSet;
use super::native::is_null_constant;
use super::subplan::SubplanEvaluator;
use super::{arithmetic, comparison, convert, logic};
use crate::columns::{Batch, Data, Operand, Representation, Vector};
use crate::exec::context::Cx;
use crate::exec::row_eval;
use crate::functions::matching::Matcher;
use crate::functions::{Function, Operator, characters};
use crate::plan::SequenceOp;
use crate::types::DataType;
use crate::{Error, Result, Value};

/// The rows that an expression is evaluated on.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) columns: &'a [Arc<Vector>],
    pub(crate) len: usize,
}

impl<'a> From<&'a Batch> for Frame<'a> {
    fn from(batch: &'a Batch) -> Frame<'a> {
        Frame { columns: batch.columns(), len: batch.len() }
    }
}

impl Frame<'_> {
    /// The columns with those that `evaluator` uses cut down to the given rows; the others are left as they are.
    pub(crate) fn narrowed(&self, evaluator: &Evaluator, rows: &[u32]) -> Vec<Arc<Vector>> {
        let mut columns = self.columns.to_vec();
        for &index in &evaluator.columns {
            if let Some(column) = columns.get_mut(index) {
                *column = Arc::new(column.gather(rows));
            }
        }
        columns
    }
}

/// A compiled expression. Not shared: it holds buffers and the results of its subqueries.
pub(crate) struct Evaluator {
    pub(super) node: Node,
    pub(super) data_type: DataType,
    /// The input columns it uses.
    pub(super) columns: Vec<usize>,
    /// Cannot fail, and is cheap: may be evaluated on rows that do not need it.
    pub(super) total: bool,
}

pub(super) enum Node {
    Constant(Value),
    /// With its value in this execution.
    Parameter {
        index: usize,
        value: Value,
    },
    Column(usize),
    Outer {
        level: usize,
        index: usize,
    },
    Compare {
        op: Operator,
        representation: Representation,
        blank_padded: bool,
        args: Box<[Evaluator; 2]>,
    },
    Arithmetic {
        op: Operator,
        args: Box<[Evaluator; 2]>,
    },
    Matches {
        matcher: Box<Matcher>,
        input: Box<Evaluator>,
        /// The pattern was made from a parameter.
        given: bool,
    },
    /// The characters of a text from one place to another.
    Substring {
        input: Box<Evaluator>,
        from: usize,
        to: usize,
    },
    Call {
        function: Arc<Function>,
        args: Vec<Evaluator>,
    },
    /// A conversion with a kernel: no value is out of the target's range.
    Widen(Box<Evaluator>),
    /// Strings of `char(n)` without their padding.
    Unpad(Box<Evaluator>),
    /// The same values under another type's name.
    Relabel(Box<Evaluator>),
    Cast(Box<Evaluator>),
    /// AND (`decisive` is false) or OR (true).
    Logic {
        decisive: bool,
        args: Vec<Evaluator>,
    },
    Not(Box<Evaluator>),
    IsNull(Box<Evaluator>),
    IsNotDistinct(Box<[Evaluator; 2]>),
    Case(Box<Case>),
    Coalesce(Vec<Evaluator>),
    InSet {
        set: Box<InSet>,
        /// It was made from parameters.
        given: bool,
    },
    InList {
        input: Box<Evaluator>,
        list: Vec<Evaluator>,
        equal: Arc<Function>,
    },
    /// The value is column `slot` of the rows that the body is evaluated on; neither uses that column, nor any behind it.
    Let {
        slot: usize,
        value: Box<Evaluator>,
        body: Box<Evaluator>,
    },
    Subplan(Box<SubplanEvaluator>),
    Sequence {
        op: SequenceOp,
        name: Box<Evaluator>,
        value: Option<Box<Evaluator>>,
    },
}

impl Evaluator {
    pub(crate) fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The value of a literal or parameter.
    pub(crate) fn as_constant(&self) -> Option<&Value> {
        match &self.node {
            Node::Constant(value) | Node::Parameter { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is a column of the row as it is.
    pub(crate) fn is_column(&self) -> bool {
        matches!(self.node, Node::Column(_))
    }

    pub(super) fn is_parameter(&self) -> bool {
        matches!(self.node, Node::Parameter { .. })
    }

    /// The input column that it is, where it is one.
    pub(crate) fn as_column(&self) -> Option<usize> {
        match &self.node {
            Node::Column(index) => Some(*index),
            _ => None,
        }
    }

    /// Whether it looks at an input column.
    pub(crate) fn uses(&self, column: usize) -> bool {
        self.columns.binary_search(&column).is_ok()
    }

    /// Evaluates to a vector of `frame.len` values.
    pub(crate) fn vector(&mut self, frame: Frame<'_>, cx: Cx<'_>) -> Result<Arc<Vector>> {
        let data_type = self.data_type;
        self.eval(frame, cx)?.into_vector(data_type, frame.len)
    }

    /// The value of an expression without columns.
    pub(crate) fn scalar(&mut self, cx: Cx<'_>) -> Result<Value> {
        Ok(self.eval(Frame { columns: &[], len: 1 }, cx)?.value(0))
    }

    /// Rows on which a condition is true.
    pub(crate) fn true_rows(&mut self, frame: Frame<'_>, cx: Cx<'_>) -> Result<Vec<u32>> {
        Ok(logic::true_rows(&self.eval(frame, cx)?, frame.len))
    }

    pub(crate) fn eval(&mut self, frame: Frame<'_>, cx: Cx<'_>) -> Result<Operand> {
        let data_type = self.data_type;
        match &mut self.node {
            _ if frame.len == 0 => Ok(Vector::new(data_type).into()),
            Node::Constant(value) | Node::Parameter { value, .. } => Ok(Operand::Constant(value.clone())),
            Node::Column(index) => column(frame, *index),
            Node::Outer { level, index } => Ok(Operand::Constant(cx.outer_value(*level, *index)?.clone())),
            Node::Compare { op, representation, blank_padded, args } => {
                let [left, right] = eval_pair(args, frame, cx)?;
                comparison::compare(*op, *representation, *blank_padded, &left, &right, frame.len)
            }
            Node::Arithmetic { op, args } => {
                let [left, right] = eval_pair(args, frame, cx)?;
                arithmetic::compute(*op, data_type, &left, &right, frame.len)
            }
            Node::Matches { matcher, input, .. } => matches(matcher, input.eval(frame, cx)?, frame.len),
            Node::Call { function, args } => eval_call(function, args, data_type, frame, cx),
            Node::Widen(input) => convert::widen(input.eval(frame, cx)?, data_type),
            Node::Unpad(input) => convert::unpad(input.eval(frame, cx)?, data_type, frame.len),
            Node::Substring { input, from, to } => {
                let (from, to) = (*from, *to);
                convert::map_strings(input.eval(frame, cx)?, data_type, frame.len, |text| characters(text, from, to))
            }
            Node::Relabel(input) => Ok(convert::relabel(input.eval(frame, cx)?, data_type)),
            Node::Cast(input) => {
                let from = input.data_type;
                convert::cast(input.eval(frame, cx)?, from, data_type, frame.len, cx)
            }
            Node::Logic { decisive, args } => logic::fold(args, *decisive, frame, cx),
            Node::Not(input) => logic::not(input.eval(frame, cx)?, frame.len),
            Node::IsNull(input) => Ok(logic::is_null(&input.eval(frame, cx)?, frame.len)),
            Node::IsNotDistinct(args) => {
                let [left, right] = eval_pair(args, frame, cx)?;
                let types = [args[0].data_type, args[1].data_type];
                logic::is_not_distinct(left, right, types, frame.len)
            }
            Node::Case(case) => case.eval(data_type, frame, cx),
            Node::Coalesce(args) => super::branch::coalesce(args, data_type, frame, cx),
            Node::InSet { set, .. } => set.eval(frame, cx),
            Node::InList { input, list, equal } => super::in_list::eval_list(input, list, equal, frame, cx),
            Node::Let { slot, value, body } => {
                let columns = with_shared(frame, *slot, value.vector(frame, cx)?)?;
                body.eval(Frame { columns: &columns, len: frame.len }, cx)
            }
            Node::Subplan(subplan) => subplan.eval(data_type, frame, cx),
            Node::Sequence { op, name, value } => eval_sequence(*op, name, value.as_deref_mut(), frame, cx),
        }
    }
}

/// The columns before `slot`, and in it the value.
fn with_shared(frame: Frame<'_>, slot: usize, value: Arc<Vector>) -> Result<Vec<Arc<Vector>>> {
    let columns =
        frame.columns.get(..slot).ok_or_else(|| Error::internal("a row without the columns that are used"))?;
    Ok(columns.iter().cloned().chain([value]).collect())
}

fn column(frame: Frame<'_>, index: usize) -> Result<Operand> {
    let column = frame.columns.get(index).ok_or_else(|| Error::internal(format!("no input column {index}")))?;
    Ok(Operand::Vector(column.clone()))
}

fn eval_pair(args: &mut [Evaluator; 2], frame: Frame<'_>, cx: Cx<'_>) -> Result<[Operand; 2]> {
    let [left, right] = args;
    Ok([left.eval(frame, cx)?, right.eval(frame, cx)?])
}

fn matches(matcher: &mut Matcher, input: Operand, len: usize) -> Result<Operand> {
    if is_null_constant(&input) {
        return Ok(input);
    }
    let input = input.into_vector(DataType::Text, len)?;
    let Data::Bytes(strings) = input.data() else {
        return Err(Error::internal("a pattern met something other than text"));
    };
    let is_valid = |row| input.validity().is_none_or(|validity| validity.get(row));
    let tell = |row| if is_valid(row) { matcher.tell(strings.get(row)) } else { Ok(false) };
    let matches = (0..len).map(tell).collect::<Result<_>>()?;
    Ok(Vector::from_parts(DataType::Boolean, Data::Bool(matches), input.validity().cloned()).into())
}

/// Not by an iterator: see `Compiler::compile_list`.
fn eval_all(args: &mut [Evaluator], frame: Frame<'_>, cx: Cx<'_>) -> Result<Vec<Operand>> {
    let mut operands = Vec::with_capacity(args.len());
    for arg in args {
        operands.push(arg.eval(frame, cx)?);
    }
    Ok(operands)
}

fn eval_call(
    function: &Arc<Function>,
    args: &mut [Evaluator],
    data_type: DataType,
    frame: Frame<'_>,
    cx: Cx<'_>,
) -> Result<Operand> {
    let operands = eval_all(args, frame, cx)?;
    let mut values = Vec::with_capacity(operands.len());
    let same_for_all =
        !function.is_volatile() && operands.iter().all(|operand| matches!(operand, Operand::Constant(_)));
    let len = if same_for_all { 1 } else { frame.len };
    let mut result = Vector::with_capacity(data_type, len);
    for row in 0..len {
        values.clear();
        values.extend(operands.iter().map(|operand| operand.value(row)));
        let value = function.call(&values, &cx.context().eval)?;
        if same_for_all {
            return Ok(Operand::Constant(value));
        }
        result.push(&value)?;
    }
    Ok(result.into())
}

fn eval_sequence(
    op: SequenceOp,
    name: &mut Evaluator,
    value: Option<&mut Evaluator>,
    frame: Frame<'_>,
    cx: Cx<'_>,
) -> Result<Operand> {
    // One after the other, but asked for together: the sequence is looked up and locked once.
    if let (SequenceOp::Next, Some(Value::Text(name)), 2..) = (op, name.as_constant(), frame.len) {
        let mut drawn = Vec::with_capacity(frame.len);
        row_eval::draw(name, frame.len, cx.context(), &mut drawn)?;
        return Ok(Vector::from_parts(op.data_type(), Data::I64(drawn), None).into());
    }
    let name = name.eval(frame, cx)?;
    let value = value.map(|value| value.eval(frame, cx)).transpose()?;
    let mut result = Vector::with_capacity(op.data_type(), frame.len);
    for row in 0..frame.len {
        let value = value.as_ref().map(|value| value.value(row));
        result.push(&row_eval::sequence(op, &name.value(row), value.as_ref(), cx.context())?)?;
    }
    Ok(result.into())
}

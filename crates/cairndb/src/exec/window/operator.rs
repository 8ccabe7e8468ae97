//! Window functions over sorted rows.
//!
//! Rows come in batches, and leave in the same ones, with the answers behind their columns. Beside the input's columns the
//! buffer has, for each row, whether it begins a group of peers, what RANGE frames measure, and the calls' arguments, so
//! that nothing is evaluated twice. Rows are answered one after the other, as soon as what is known of their partition
//! tells the answer: for `row_number` and running sums at once, for a frame up to the partition's end when that is there.
//! What no answer to come looks at is let go of, so memory is bounded by what frames span, and that spills.

use std::collections::VecDeque;
use std::sync::Arc;

use super::aggregate::Aggregated;
use super::buffer::{Buffer, Cursor};
use super::call::{Call, told};
use super::frame::{Frame, FrameParts, Rows};
use super::place::{Peers, Place};
use crate::columns::{Batch, Data, NO_ROW, Vector, row_number, rows_equal};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame as ExprFrame};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::functions::{Aggregate, WindowFunction};
use crate::{DataType, Result};

/// Rows between two looks at whether the statement goes on: an answer may be an array as long as its frame.
const CHECKED_AFTER: u64 = 64;

/// What an operator is made of.
pub(crate) struct WindowParts {
    pub(crate) input: BoxOperator,
    /// How many columns the input has.
    pub(crate) width: usize,
    pub(crate) partition_by: Vec<Evaluator>,
    pub(crate) order_by: Vec<Evaluator>,
    pub(crate) frames: Vec<FrameParts>,
    pub(crate) calls: Vec<CallParts>,
}

/// A call that was compiled.
pub(crate) struct CallParts {
    pub(crate) function: CalledFunction,
    pub(crate) args: Vec<Evaluator>,
    pub(crate) filter: Option<Evaluator>,
    /// Which of the frames.
    pub(crate) frame: usize,
}

pub(crate) enum CalledFunction {
    Window(Arc<WindowFunction>),
    Aggregate(Arc<Aggregate>),
}

/// Arguments that become columns of the buffer, and the condition under which they are evaluated.
struct Arguments {
    args: Vec<Evaluator>,
    filter: Option<Evaluator>,
}

/// See the module.
pub(crate) struct Window {
    input: BoxOperator,
    width: usize,
    partition_by: Vec<Evaluator>,
    order_by: Vec<Evaluator>,
    arguments: Vec<Arguments>,
    calls: Vec<Call>,
    returns: Vec<DataType>,
    frames: Vec<Frame>,
    peers: Peers,
    /// The offsets of frames are evaluated.
    begun: bool,
    /// The input has come to its end.
    ended: bool,
    buffer: Buffer,
    /// The keys of the batch that was read last: partition's, then order's.
    last: Option<(Vec<Arc<Vector>>, usize)>,
    /// Where the partitions behind the current one begin.
    starts: VecDeque<u64>,
    /// The last row that is known to begin a group of peers.
    last_group: u64,
    place: Place,
    /// The row to be answered next; those before have their answers in `answers`, or were put out.
    next: u64,
    /// The first row that was not put out.
    shown: u64,
    /// Where the batches end that are to be put out.
    batches: VecDeque<u64>,
    answers: Vec<Vector>,
    out: Cursor,
}

impl Window {
    pub(crate) fn new(parts: WindowParts) -> Window {
        let WindowParts { input, width, partition_by, order_by, frames, calls } = parts;
        let group_column = width;
        let mut column = width + 1;
        let key_column = column;
        column += usize::from(frames.iter().any(|frame| frame.key.is_some()));
        let frames: Vec<Frame> =
            frames.into_iter().map(|frame| Frame::new(frame, (key_column, group_column))).collect();
        let (mut arguments, mut made, mut returns) = (vec![], vec![], vec![]);
        for CallParts { function, mut args, filter, frame } in calls {
            let first = column;
            made.push(match function {
                CalledFunction::Window(function) => {
                    returns.push(function.returns);
                    let default = (args.len() > 2).then(|| args.pop()).flatten();
                    Call::of_function(&function, &args, default, (frame, first))
                }
                CalledFunction::Aggregate(aggregate) => {
                    returns.push(aggregate.returns);
                    let columns = first..first + args.len();
                    let filter = filter.as_ref().map(|_| columns.end);
                    let only_grows = frames[frame].only_grows();
                    Call::of_aggregate(Aggregated::new(aggregate, columns, filter, only_grows), (frame, first))
                }
            });
            column += args.len() + usize::from(filter.is_some());
            arguments.push(Arguments { args, filter });
        }
        let looked_at = |call: &Call| call.looks_at_frame() && frames[call.frame].asks_for_peers();
        let ends = made.iter().any(|call| call.asks_for_peers() || looked_at(call));
        let answers = returns.iter().map(|&data_type| Vector::new(data_type)).collect();
        Window {
            input,
            width,
            partition_by,
            order_by,
            arguments,
            calls: made,
            returns,
            frames,
            peers: Peers::new(group_column, ends),
            begun: false,
            ended: false,
            buffer: Buffer::default(),
            last: None,
            starts: VecDeque::new(),
            last_group: 0,
            place: Place::default(),
            next: 0,
            shown: 0,
            batches: VecDeque::new(),
            answers,
            out: Cursor::default(),
        }
    }

    fn begin(&mut self, cx: Cx<'_>) -> Result<()> {
        for frame in &mut self.frames {
            frame.begin(cx)?;
        }
        self.begun = true;
        Ok(())
    }

    /// Takes a batch into the buffer, with the columns that are computed of it.
    fn take(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let frame = ExprFrame::from(batch);
        let keys = self.partition_by.iter_mut().chain(&mut self.order_by);
        let keys = keys.map(|key| key.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(self.group_starts(&keys, batch.len())));
        if self.frames.iter().any(Frame::measures) {
            columns.extend(keys.get(self.partition_by.len()).cloned());
        }
        for arguments in &mut self.arguments {
            arguments.evaluate(frame, &mut columns, cx)?;
        }
        self.last = Some((keys, batch.len() - 1));
        self.buffer.push(Batch::new(columns, batch.len()), cx)?;
        self.batches.push_back(self.buffer.end());
        Ok(())
    }

    /// Which rows begin a group of peers. Notes where partitions begin.
    fn group_starts(&mut self, keys: &[Arc<Vector>], len: usize) -> Vector {
        let (first, parts) = (self.buffer.end(), self.partition_by.len());
        let mut flags = vec![false; len];
        for (row, flag) in flags.iter_mut().enumerate() {
            let same = |keys: &[Arc<Vector>], last: &[Arc<Vector>], at: usize| rows_equal(keys, row, last, at);
            let (new_partition, new_group) = match (row, &self.last) {
                (0, None) => (true, true),
                (0, Some((last, at))) => match same(&keys[..parts], &last[..parts], *at) {
                    true => (false, !same(&keys[parts..], &last[parts..], *at)),
                    false => (true, true),
                },
                (row, _) => match same(&keys[..parts], &keys[..parts], row - 1) {
                    true => (false, !same(&keys[parts..], &keys[parts..], row - 1)),
                    false => (true, true),
                },
            };
            if new_partition {
                self.starts.push_back(first + row as u64);
            }
            if new_group {
                *flag = true;
                self.last_group = first + row as u64;
            }
        }
        Vector::from_parts(DataType::Boolean, Data::Bool(flags), None)
    }

    /// Answers rows, as far as they are told, up to the end of the first batch that is to be put out.
    fn answer_rows(&mut self, cx: Cx<'_>) -> Result<()> {
        let Some(&end) = self.batches.front() else { return Ok(()) };
        while self.next < end {
            if self.next.is_multiple_of(CHECKED_AFTER) {
                cx.check()?;
            }
            if self.starts.front() == Some(&self.next) {
                self.starts.pop_front();
                self.enter_partition();
            }
            let known = self.starts.front().copied();
            let known = known.or_else(|| self.ended.then(|| self.buffer.end()));
            if known.is_none() && !self.is_told(self.next) {
                return Ok(());
            }
            (self.place.row, self.place.end) = (self.next, known.unwrap_or(self.buffer.end()));
            self.answer_row(cx)?;
            self.next += 1;
        }
        Ok(())
    }

    fn enter_partition(&mut self) {
        self.place = Place { start: self.next, row: self.next, ..Place::default() };
        self.calls.iter_mut().for_each(Call::enter);
        self.frames.iter_mut().for_each(|frame| frame.enter(self.next));
    }

    /// Whether the row's answers are the same whatever may still come.
    fn is_told(&self, row: u64) -> bool {
        let known = self.buffer.end();
        self.calls.iter().all(|call| {
            let frame = !call.looks_at_frame() || told(&self.frames, call.frame, row, known, self.last_group);
            frame && call.is_told(row, known)
        })
    }

    fn answer_row(&mut self, cx: Cx<'_>) -> Result<()> {
        self.peers.advance(&mut self.place, &self.buffer, cx)?;
        let mut framed: Option<(usize, Rows)> = None;
        for (call, answers) in self.calls.iter_mut().zip(&mut self.answers) {
            let rows = match framed {
                _ if !call.looks_at_frame() => Rows::default(),
                Some((frame, rows)) if frame == call.frame => rows,
                _ => {
                    let rows = self.frames[call.frame].rows(&self.place, &self.buffer, cx)?;
                    framed = Some((call.frame, rows));
                    rows
                }
            };
            answers.push(&call.answer(&self.place, &rows, &self.buffer, cx)?)?;
        }
        Ok(())
    }

    /// The first batch whose rows are all answered.
    fn put_out(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        let Some(end) = self.batches.front().copied().filter(|end| *end <= self.next) else { return Ok(None) };
        self.batches.pop_front();
        let (columns, _) = self.out.at(self.shown, &self.buffer, cx)?;
        let mut columns = columns[..self.width].to_vec();
        let fresh = self.returns.iter().map(|&data_type| Vector::new(data_type)).collect();
        columns.extend(std::mem::replace(&mut self.answers, fresh).into_iter().map(Arc::new));
        let batch = Batch::new(columns, (end - self.shown) as usize);
        self.shown = end;
        self.let_go(cx);
        Ok(Some(batch))
    }

    /// Lets go of the rows that nobody will look at again.
    fn let_go(&mut self, cx: Cx<'_>) {
        let begins_new = self.starts.front() == Some(&self.next);
        let looks = match begins_new {
            true => self.next,
            false => {
                let calls = self.calls.iter().map(|call| call.looks_from(&self.place));
                let frames = self.frames.iter().map(|frame| frame.looks_from(&self.place));
                calls.chain(frames).fold(self.place.row, u64::min)
            }
        };
        self.buffer.drop_before(looks.min(self.shown), cx);
    }

    fn forget(&mut self, cx: Cx<'_>) {
        self.buffer.clear(cx);
        self.calls.iter_mut().for_each(Call::forget);
        self.peers.forget();
        self.starts.clear();
        self.batches.clear();
        self.answers = self.returns.iter().map(|&data_type| Vector::new(data_type)).collect();
        (self.last, self.place, self.out) = (None, Place::default(), Cursor::default());
        (self.begun, self.ended) = (false, false);
        (self.next, self.shown, self.last_group) = (0, 0, 0);
    }
}

impl Arguments {
    /// Adds the arguments' columns, and that of the condition. Where it is not true, nothing is evaluated.
    fn evaluate(&mut self, frame: ExprFrame<'_>, columns: &mut Vec<Arc<Vector>>, cx: Cx<'_>) -> Result<()> {
        let Some(filter) = &mut self.filter else {
            for arg in &mut self.args {
                columns.push(arg.vector(frame, cx)?);
            }
            return Ok(());
        };
        let kept = filter.true_rows(frame, cx)?;
        let (mut flags, mut places) = (vec![false; frame.len], vec![NO_ROW; frame.len]);
        for (place, &row) in kept.iter().enumerate() {
            (flags[row as usize], places[row as usize]) = (true, row_number(place));
        }
        let narrow: Vec<Arc<Vector>> = frame.columns.iter().map(|column| Arc::new(column.gather(&kept))).collect();
        for arg in &mut self.args {
            let values = arg.vector(ExprFrame { columns: &narrow, len: kept.len() }, cx)?;
            columns.push(Arc::new(values.gather(&places)));
        }
        columns.push(Arc::new(Vector::from_parts(DataType::Boolean, Data::Bool(flags), None)));
        Ok(())
    }
}

impl Operator for Window {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if !self.begun {
            self.begin(cx)?;
        }
        loop {
            self.answer_rows(cx)?;
            if let Some(batch) = self.put_out(cx)? {
                return Ok(Some(batch));
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.next(cx)? {
                Some(batch) => self.take(&batch, cx)?,
                None => self.ended = true,
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.forget(cx);
    }
}

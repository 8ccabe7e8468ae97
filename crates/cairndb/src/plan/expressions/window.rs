//! Calls of window functions, and the frames that they look at.

use std::sync::Arc;

use super::expr::Expr;
use crate::functions::{Aggregate, WindowFunction};
use crate::types::DataType;

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Which, resolved.
    pub function: Windowed,
    /// The arguments.
    pub args: Vec<Expr>,
    /// FILTER (WHERE ..), of aggregates.
    pub filter: Option<Expr>,
    /// The rows around each row that it looks at.
    pub frame: WindowFrame,
}

/// What is called over a window.
#[derive(Clone, Debug)]
pub enum Windowed {
    /// A function that is for windows only.
    Function(Arc<WindowFunction>),
    /// An aggregate, over the frame's rows.
    Aggregate(Arc<Aggregate>),
}

impl Windowed {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Windowed::Function(function) => function.name,
            Windowed::Aggregate(aggregate) => &aggregate.name,
        }
    }

    /// The type of the answer.
    pub fn returns(&self) -> DataType {
        match self {
            Windowed::Function(function) => function.returns,
            Windowed::Aggregate(aggregate) => aggregate.returns,
        }
    }
}

/// Rows around a row of a partition.
#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// What offsets count.
    pub unit: FrameUnit,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// What is left out.
    pub exclusion: FrameExclusion,
}

/// What a frame's offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Distances of values.
    Range,
    /// Rows.
    Rows,
    /// Groups of peers.
    Groups,
}

/// An end of a frame. Offsets have no columns; they are `bigint`, or (`Range`) what in-range comparison takes.
#[derive(Clone, Debug)]
pub enum FrameBound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Expr),
    /// The current row, and (but for `Rows`) its peers.
    CurrentRow,
    /// So far behind the current row.
    Following(Expr),
    /// The partition's last row.
    UnboundedFollowing,
}

/// What of a frame is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    /// Nothing.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// It and its peers.
    Group,
    /// Its peers.
    Ties,
}

impl Default for WindowFrame {
    /// `RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW`.
    fn default() -> WindowFrame {
        WindowFrame {
            unit: FrameUnit::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: FrameExclusion::NoOthers,
        }
    }
}

impl FrameBound {
    /// The offset, where it has one.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        }
    }

    fn offset_mut(&mut self) -> Option<&mut Expr> {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

impl WindowCall {
    /// `count(*)`
    pub(crate) fn is_star(&self) -> bool {
        matches!(&self.function, Windowed::Aggregate(aggregate) if aggregate.args.is_empty())
    }

    /// Its expressions over the input's row.
    pub(crate) fn row_exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter)
    }

    /// All its expressions.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.row_exprs().chain(self.frame.start.offset()).chain(self.frame.end.offset())
    }

    /// As [`WindowCall::exprs`], to change them.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let WindowFrame { start, end, .. } = &mut self.frame;
        self.args.iter_mut().chain(&mut self.filter).chain(start.offset_mut()).chain(end.offset_mut())
    }
}

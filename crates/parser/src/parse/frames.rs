//! What is open while an expression is read.

use super::Parser;
use super::power::{AND, AT, IS, MATCH, OR, OVERLAPS, Power};
use crate::syntax::{CallForm, Expr, Matching, Name, Operator, SpecialForm};
use crate::tree::{Id, List};

/// Which of the grammar's kinds of expressions is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `a_expr`: everything.
    Full,
    /// `b_expr`: without AND, NOT, IN, LIKE, BETWEEN and what else begins like something that follows it.
    Restricted,
    /// `c_expr`: no operators.
    Simple,
    /// `func_expr_windowless`: no operators, and nothing behind a call's arguments.
    Windowless,
}

impl Mode {
    /// Whether operators belong to the expression.
    pub(super) fn has_operators(self) -> bool {
        matches!(self, Mode::Full | Mode::Restricted)
    }
}

/// A complete expression and where it begins, parentheses around it included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(super) id: Id<Expr>,
    pub(super) start: u32,
}

/// What a list in brackets belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Items {
    Row,
    Array,
    Grouping,
    Special(SpecialForm),
    In { left: Value, negated: bool },
}

/// Where a CASE is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CasePart {
    Operand,
    /// `start`: of WHEN.
    Condition {
        start: u32,
    },
    Result {
        start: u32,
        condition: Id<Expr>,
    },
    Otherwise,
}

/// Something that waits for an expression to be complete.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame {
    /// `NOT` (without an operator), a sign or another operator before its operand.
    Prefix {
        operator: Option<Id<Operator>>,
        start: u32,
        power: Power,
    },
    /// An operator with its left operand.
    Infix {
        operator: Id<Operator>,
        left: Value,
        power: Power,
    },
    /// The operands so far are in the scratch list.
    And {
        mark: u32,
        start: u32,
    },
    Or {
        mark: u32,
        start: u32,
    },
    IsDistinct {
        left: Value,
        negated: bool,
    },
    BetweenLow {
        left: Value,
        negated: bool,
        symmetric: bool,
        mode: Mode,
    },
    BetweenHigh {
        left: Value,
        low: Id<Expr>,
        negated: bool,
        symmetric: bool,
    },
    Like {
        left: Value,
        matching: Matching,
        negated: bool,
    },
    LikeEscape {
        left: Value,
        pattern: Id<Expr>,
        matching: Matching,
        negated: bool,
    },
    AtTimeZone {
        left: Value,
    },
    Overlaps {
        left: Value,
    },
    /// `(`: an expression, a row, or a query in more parentheses.
    Paren {
        start: u32,
        mark: u32,
        mode: Mode,
    },
    Items {
        items: Items,
        start: u32,
        mark: u32,
        mode: Mode,
    },
    Quantified {
        left: Value,
        operator: Id<Operator>,
        all: bool,
        mode: Mode,
    },
    Call {
        start: u32,
        mark: u32,
        name: List<Name>,
        form: CallForm,
        argument: Option<Id<Name>>,
        mode: Mode,
    },
    Case {
        part: CasePart,
        operand: Option<Id<Expr>>,
        start: u32,
        mark: u32,
        mode: Mode,
    },
    /// `CAST (`, `TREAT (`
    Cast {
        treat: bool,
        start: u32,
        mode: Mode,
    },
}

impl Frame {
    /// How tightly it holds on to the expression that it waits for.
    #[inline]
    pub(super) fn power(&self) -> Power {
        match self {
            Frame::Prefix { power, .. } | Frame::Infix { power, .. } => *power,
            Frame::And { .. } => AND,
            Frame::Or { .. } => OR,
            Frame::IsDistinct { .. } => IS,
            Frame::BetweenHigh { .. } | Frame::Like { .. } | Frame::LikeEscape { .. } => MATCH,
            Frame::AtTimeZone { .. } => AT,
            Frame::Overlaps { .. } => OVERLAPS,
            _ => 0,
        }
    }
}

impl Parser<'_> {
    /// Begins something in brackets: whatever is read in it is a full expression.
    pub(super) fn open(&mut self, frame: impl FnOnce(u32, Mode) -> Frame) {
        let mark = self.mark() as u32;
        let frame = frame(mark, self.mode);
        self.mode = Mode::Full;
        self.frames.push(frame);
    }
}

//! Windows, and the order of rows.

use super::Parser;
use crate::error::{ParseError, Result, WINDOWING_ERROR};
use crate::syntax::{
    Direction, Exclusion, Frame, FrameBound, FrameUnit, NullsOrder, SortKey, WindowDefinition, WindowSpec,
};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

impl Parser<'_> {
    /// `WINDOW w AS (...), ...` if it is there.
    pub(super) fn window_clause(&mut self) -> Result<List<WindowDefinition>> {
        if self.eat(T::Window) { self.comma_list(Self::window_definition) } else { Ok(List::EMPTY) }
    }

    fn window_definition(&mut self) -> Result<Id<WindowDefinition>> {
        let start = self.start();
        let name = self.name()?;
        self.expect(T::As)?;
        let spec = self.window_spec()?;
        self.node(start, WindowDefinition { name, spec })
    }

    /// `(base PARTITION BY ... ORDER BY ... ROWS ...)`
    pub(super) fn window_spec(&mut self) -> Result<Id<WindowSpec>> {
        let start = self.start();
        self.expect(T::LeftParen)?;
        let clause = matches!(self.kind(), T::Partition | T::Range | T::Rows | T::Groups);
        let base = if self.kind().is_column_name() && !clause { Some(self.name()?) } else { None };
        let mut partition_by = List::EMPTY;
        if self.eat(T::Partition) {
            self.expect(T::By)?;
            partition_by = self.exprs()?;
        }
        let order_by = self.optional_order_by()?;
        let frame = self.frame()?;
        self.expect(T::RightParen)?;
        self.node(start, WindowSpec { base, partition_by, order_by, frame })
    }

    fn frame(&mut self) -> Result<Option<Id<Frame>>> {
        let unit = match self.kind() {
            T::Range => FrameUnit::Range,
            T::Rows => FrameUnit::Rows,
            T::Groups => FrameUnit::Groups,
            _ => return Ok(None),
        };
        let begin = self.start();
        self.advance();
        let between = self.eat(T::Between);
        let start = self.frame_bound()?;
        let mut end = None;
        if between {
            self.expect(T::And)?;
            end = Some(self.frame_bound()?);
        }
        self.check_frame(start, end)?;
        let exclusion = self.exclusion()?;
        self.node(begin, Frame { unit, start, end, exclusion }).map(Some)
    }

    fn frame_bound(&mut self) -> Result<Id<FrameBound>> {
        let start = self.start();
        if self.at(T::Unbounded) && matches!(self.peek(), T::Preceding | T::Following) {
            self.advance();
            let preceding = self.advance().kind == T::Preceding;
            let bound = if preceding { FrameBound::UnboundedPreceding } else { FrameBound::UnboundedFollowing };
            return self.node(start, bound);
        }
        if self.eat_two(T::Current, T::Row) {
            return self.node(start, FrameBound::CurrentRow);
        }
        let offset = self.expr()?;
        let bound = match self.kind() {
            T::Preceding => FrameBound::Preceding { offset },
            T::Following => FrameBound::Following { offset },
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.node(start, bound)
    }

    /// Refuses frames that end before they begin.
    fn check_frame(&self, start: Id<FrameBound>, end: Option<Id<FrameBound>>) -> Result<()> {
        use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        let last = end.map(|end| self.tree.get(end));
        let wrong = match (self.tree.get(start), last) {
            (UnboundedFollowing, _) => (start, "frame start cannot be UNBOUNDED FOLLOWING"),
            (Following { .. }, None) => (start, "frame starting from following row cannot end with current row"),
            (_, Some(UnboundedPreceding)) => (end.unwrap_or(start), "frame end cannot be UNBOUNDED PRECEDING"),
            (CurrentRow, Some(Preceding { .. })) => {
                (end.unwrap_or(start), "frame starting from current row cannot have preceding rows")
            }
            (Following { .. }, Some(Preceding { .. } | CurrentRow)) => {
                (end.unwrap_or(start), "frame starting from following row cannot have preceding rows")
            }
            _ => return Ok(()),
        };
        Err(ParseError::new(WINDOWING_ERROR, wrong.1, self.tree.span(wrong.0).start))
    }

    fn exclusion(&mut self) -> Result<Option<Exclusion>> {
        if !self.eat(T::Exclude) {
            return Ok(None);
        }
        let exclusion = match self.kind() {
            T::Current => {
                self.advance();
                self.expect(T::Row)?;
                return Ok(Some(Exclusion::CurrentRow));
            }
            T::No => {
                self.advance();
                self.expect(T::Others)?;
                return Ok(Some(Exclusion::NoOthers));
            }
            T::Group => Exclusion::Group,
            T::Ties => Exclusion::Ties,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Some(exclusion))
    }

    /// `ORDER BY ...` if it is there.
    pub(crate) fn optional_order_by(&mut self) -> Result<List<SortKey>> {
        if self.at(T::Order) { self.order_by() } else { Ok(List::EMPTY) }
    }

    /// `ORDER BY ...`
    pub(crate) fn order_by(&mut self) -> Result<List<SortKey>> {
        self.expect_all(&[T::Order, T::By])?;
        self.comma_list(Self::sort_key)
    }

    fn sort_key(&mut self) -> Result<Id<SortKey>> {
        let start = self.start();
        let expr = self.expr()?;
        let operator = if self.eat(T::Using) { Some(self.qualified_operator()?) } else { None };
        let direction = if operator.is_none() { self.direction() } else { None };
        let nulls = self.nulls_order()?;
        self.node(start, SortKey { expr, direction, operator, nulls })
    }

    /// `ASC`, `DESC`
    pub(crate) fn direction(&mut self) -> Option<Direction> {
        let direction = match self.kind() {
            T::Asc => Direction::Ascending,
            T::Desc => Direction::Descending,
            _ => return None,
        };
        self.advance();
        Some(direction)
    }

    /// `NULLS FIRST`, `NULLS LAST`
    pub(crate) fn nulls_order(&mut self) -> Result<Option<NullsOrder>> {
        if !self.at(T::Nulls) || !matches!(self.peek(), T::First | T::Last) {
            return Ok(None);
        }
        self.advance();
        let first = self.advance().kind == T::First;
        Ok(Some(if first { NullsOrder::First } else { NullsOrder::Last }))
    }
}

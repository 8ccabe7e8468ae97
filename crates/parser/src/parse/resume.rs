//! What goes on when an expression that something waited for is complete.

use super::Parser;
use super::expr::After;
use super::frames::{CasePart, Frame, Items, Mode, Value};
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{Expr, SpecialForm, When};
use crate::token::TokenKind as T;
use crate::tree::Id;

impl Parser<'_> {
    /// Hands `value` to the frame, which is no longer on the stack.
    pub(super) fn resume(&mut self, frame: Frame, value: Value) -> Result<After> {
        match frame {
            Frame::Prefix { .. } | Frame::Infix { .. } | Frame::And { .. } | Frame::Or { .. } => {
                self.resume_operator(frame, value.id)
            }
            Frame::Paren { start, mark, mode } => self.resume_paren(value, start, mark, mode),
            Frame::Items { items, start, mark, mode } => self.resume_items(value, items, start, mark, mode),
            Frame::Call { .. } => self.resume_call(frame, value.id),
            Frame::Case { .. } => self.resume_case(frame, value.id),
            Frame::Cast { treat, start, mode } => self.resume_cast(value.id, treat, start, mode),
            Frame::Quantified { .. } => self.resume_quantified(frame, value),
            Frame::BetweenLow { left, negated, symmetric, mode } => {
                self.expect(T::And)?;
                self.mode = mode;
                self.frames.push(Frame::BetweenHigh { left, low: value.id, negated, symmetric });
                Ok(After::Operand)
            }
            _ => self.resume_predicate(frame, value),
        }
    }

    fn resume_operator(&mut self, frame: Frame, operand: Id<Expr>) -> Result<After> {
        match frame {
            Frame::Infix { operator, left, .. } => {
                self.value(left.start, Expr::Binary { operator, left: left.id, right: operand })
            }
            Frame::Prefix { operator: Some(operator), start, .. } => {
                self.value(start, Expr::Unary { operator, operand })
            }
            Frame::And { mark, start } => {
                self.push(operand);
                let operands = self.list_since(mark as usize);
                self.value(start, Expr::And { operands })
            }
            Frame::Or { mark, start } => {
                self.push(operand);
                let operands = self.list_since(mark as usize);
                self.value(start, Expr::Or { operands })
            }
            Frame::Prefix { start, .. } => self.value(start, Expr::Not { operand }),
            _ => Err(self.unexpected()),
        }
    }

    fn resume_predicate(&mut self, frame: Frame, value: Value) -> Result<After> {
        let right = value.id;
        match frame {
            Frame::IsDistinct { left, negated } => {
                self.value(left.start, Expr::IsDistinct { left: left.id, right, negated })
            }
            Frame::BetweenHigh { left, low, negated, symmetric } => {
                self.value(left.start, Expr::Between { operand: left.id, low, high: right, symmetric, negated })
            }
            Frame::Like { left, matching, negated } => {
                let (operand, pattern) = (left.id, right);
                self.value(left.start, Expr::Like { operand, pattern, escape: None, matching, negated })
            }
            Frame::LikeEscape { left, pattern, matching, negated } => {
                let (operand, escape) = (left.id, Some(right));
                self.value(left.start, Expr::Like { operand, pattern, escape, matching, negated })
            }
            Frame::AtTimeZone { left } => self.value(left.start, Expr::AtTimeZone { operand: left.id, zone: right }),
            Frame::Overlaps { left } => self.resume_overlaps(left, value),
            _ => Err(self.unexpected()),
        }
    }

    /// `OVERLAPS` behind a row that was read by itself.
    pub(super) fn overlaps(&mut self, start: u32, left: Id<Expr>) -> Result<Id<Expr>> {
        if !matches!(self.tree.get(left), Expr::Row { .. }) {
            return Err(self.unexpected());
        }
        self.advance();
        if !matches!(self.kind(), T::LeftParen | T::Row) {
            return Err(self.unexpected());
        }
        let right = Value { start: self.start(), id: self.simple_expr()? };
        let node = self.overlapping(Value { id: left, start }, right)?;
        self.node(start, node)
    }

    fn resume_overlaps(&mut self, left: Value, right: Value) -> Result<After> {
        let node = self.overlapping(left, right)?;
        self.value(left.start, node)
    }

    fn overlapping(&mut self, left: Value, right: Value) -> Result<Expr> {
        for (side, value) in [("left", left), ("right", right)] {
            let Expr::Row { items, .. } = self.tree.get(value.id) else { return Err(self.unexpected()) };
            if self.tree.len(items) != 2 {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(ParseError::new(SYNTAX_ERROR, message, value.start));
            }
        }
        Ok(Expr::Overlaps { left: left.id, right: right.id })
    }

    /// Behind an expression in a parenthesis.
    fn resume_paren(&mut self, value: Value, start: u32, mark: u32, mode: Mode) -> Result<After> {
        if self.eat(T::Comma) {
            self.push(value.id);
            self.frames.push(Frame::Paren { start, mark, mode });
            return Ok(After::Operand);
        }
        if let Some(value) = self.longer_query(value, mark)? {
            self.frames.push(Frame::Paren { start, mark, mode });
            return Ok(After::Value(value));
        }
        self.expect(T::RightParen)?;
        self.mode = mode;
        if self.mark() > mark as usize {
            self.push(value.id);
            return self.row(start, mark as usize, false);
        }
        self.indirection_behind(Value { id: value.id, start }).map(After::Value)
    }

    /// Where the only thing in a parenthesis is a query in parentheses, it may turn out to be a query's beginning.
    fn longer_query(&mut self, value: Value, mark: u32) -> Result<Option<Value>> {
        let goes_on = self.continues_query();
        if !goes_on || self.mark() > mark as usize {
            return Ok(None);
        }
        let Expr::Subquery { query } = self.tree.get(value.id) else { return Ok(None) };
        let start = value.start;
        let query = self.enter(|parser| parser.query_after(start, query))?;
        let id = self.node(start, Expr::Subquery { query })?;
        Ok(Some(Value { id, start }))
    }

    fn resume_items(&mut self, value: Value, items: Items, start: u32, mark: u32, mode: Mode) -> Result<After> {
        if matches!(items, Items::In { .. })
            && let Some(value) = self.longer_query(value, mark)?
        {
            self.frames.push(Frame::Items { items, start, mark, mode });
            return Ok(After::Value(value));
        }
        let pairs_up = matches!(items, Items::Special(SpecialForm::NullIf));
        let first = self.mark() == mark as usize;
        if self.at(T::Comma) && (!pairs_up || first) {
            self.advance();
            self.push(value.id);
            self.frames.push(Frame::Items { items, start, mark, mode });
            return Ok(After::Operand);
        }
        if pairs_up && first {
            return Err(self.unexpected());
        }
        let close = if matches!(items, Items::Array) { T::RightBracket } else { T::RightParen };
        self.expect(close)?;
        self.mode = mode;
        self.push(value.id);
        self.finish_items(value, items, start, mark as usize)
    }

    fn finish_items(&mut self, value: Value, items: Items, start: u32, mark: usize) -> Result<After> {
        if let Items::Row = items {
            return self.row(start, mark, true);
        }
        let list = self.list_since(mark);
        let node = match items {
            Items::Row | Items::Array => Expr::Array { items: list },
            Items::Grouping => Expr::Grouping { args: list },
            Items::Special(form) => Expr::Special { form, args: list },
            Items::In { left, negated } => {
                return match (self.tree.get(value.id), self.tree.len(list)) {
                    (Expr::Subquery { query }, 1) => {
                        self.value(left.start, Expr::InQuery { operand: left.id, query, negated })
                    }
                    _ => self.value(left.start, Expr::InList { operand: left.id, items: list, negated }),
                };
            }
        };
        self.value(start, node)
    }

    /// A row is complete; OVERLAPS may follow it.
    pub(super) fn row(&mut self, start: u32, mark: usize, explicit: bool) -> Result<After> {
        let items = self.list_since(mark);
        let id = self.node(start, Expr::Row { items, explicit })?;
        let left = Value { id, start };
        if !self.at(T::Overlaps) || self.mode != Mode::Full {
            return Ok(After::Value(left));
        }
        self.advance();
        if !matches!(self.kind(), T::LeftParen | T::Row) {
            return Err(self.unexpected());
        }
        self.frames.push(Frame::Overlaps { left });
        Ok(After::Operand)
    }

    fn resume_quantified(&mut self, frame: Frame, value: Value) -> Result<After> {
        let Frame::Quantified { left, operator, all, mode } = frame else { return Err(self.unexpected()) };
        let mark = self.mark() as u32;
        if let Some(value) = self.longer_query(value, mark)? {
            self.frames.push(frame);
            return Ok(After::Value(value));
        }
        self.expect(T::RightParen)?;
        self.mode = mode;
        let (left, start) = (left.id, left.start);
        match self.tree.get(value.id) {
            Expr::Subquery { query } => self.value(start, Expr::QuantifiedQuery { left, operator, all, query }),
            _ => self.value(start, Expr::Quantified { left, operator, all, right: value.id }),
        }
    }

    fn resume_cast(&mut self, operand: Id<Expr>, treat: bool, start: u32, mode: Mode) -> Result<After> {
        self.expect(T::As)?;
        let data_type = self.type_name()?;
        self.expect(T::RightParen)?;
        self.mode = mode;
        match treat {
            true => self.value(start, Expr::Treat { operand, data_type }),
            false => self.value(start, Expr::Cast { operand, data_type }),
        }
    }

    fn resume_case(&mut self, frame: Frame, value: Id<Expr>) -> Result<After> {
        let Frame::Case { part, mut operand, start, mark, mode } = frame else { return Err(self.unexpected()) };
        let part = match part {
            CasePart::Operand => {
                operand = Some(value);
                CasePart::Condition { start: self.expect(T::When)?.start }
            }
            CasePart::Condition { start } => {
                self.expect(T::Then)?;
                CasePart::Result { start, condition: value }
            }
            CasePart::Result { start: when_start, condition } => {
                let when = self.node(when_start, When { condition, result: value })?;
                self.push(when);
                let part = match self.kind() {
                    T::When => CasePart::Condition { start: self.start() },
                    T::Else => CasePart::Otherwise,
                    _ => return self.finish_case(operand, None, start, mark, mode),
                };
                self.advance();
                part
            }
            CasePart::Otherwise => return self.finish_case(operand, Some(value), start, mark, mode),
        };
        self.frames.push(Frame::Case { part, operand, start, mark, mode });
        Ok(After::Operand)
    }

    fn finish_case(
        &mut self,
        operand: Option<Id<Expr>>,
        otherwise: Option<Id<Expr>>,
        start: u32,
        mark: u32,
        mode: Mode,
    ) -> Result<After> {
        self.expect(T::End)?;
        self.mode = mode;
        let whens = self.list_since(mark as usize);
        self.value(start, Expr::Case { operand, whens, otherwise })
    }
}

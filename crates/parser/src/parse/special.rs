//! Functions with a syntax of their own.

use super::Parser;
use super::frames::{Frame, Items, Value};
use crate::error::Result;
use crate::syntax::{CallForm, Expr, Name, SpecialForm};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// A complete operand, or none where something was opened.
type Operand = Option<Value>;

impl<'a> Parser<'a> {
    /// The function that the keyword at hand names, a parenthesis being behind it; none if it is like any other.
    pub(super) fn special_function(&mut self, start: u32) -> Result<Option<Operand>> {
        let items = match self.kind() {
            T::Coalesce => Items::Special(SpecialForm::Coalesce),
            T::Greatest => Items::Special(SpecialForm::Greatest),
            T::Least => Items::Special(SpecialForm::Least),
            T::Nullif => Items::Special(SpecialForm::NullIf),
            T::Xmlconcat => Items::Special(SpecialForm::XmlConcat),
            T::Grouping => Items::Grouping,
            T::Cast | T::Treat => {
                let treat = self.advance().kind == T::Treat;
                self.advance();
                self.open(|_, mode| Frame::Cast { treat, start, mode });
                return Ok(Some(None));
            }
            _ => return self.special_syntax(start),
        };
        self.advance();
        self.advance();
        self.open_items(items, start).map(Some)
    }

    /// Functions whose arguments have words between them.
    fn special_syntax(&mut self, start: u32) -> Result<Option<Operand>> {
        let read: super::xml::Reader<'a> = match self.kind() {
            T::Extract => Self::extract,
            T::Normalize => Self::normalize,
            T::Overlay => Self::overlay,
            T::Position => Self::position,
            T::Substring => Self::substring,
            T::Trim => Self::trim,
            _ => match self.xml_function() {
                Some(read) => read,
                None => return Ok(None),
            },
        };
        let name = self.advance();
        self.advance();
        let function = self.name_of(name)?;
        let expr = read(self, start, function)?;
        let id = self.node(start, expr)?;
        Ok(Some(Some(Value { id, start })))
    }

    /// Whether the keyword at hand is a function that is no name of a function.
    pub(super) fn at_special_function(&mut self) -> bool {
        let listed = matches!(
            self.kind(),
            T::Coalesce
                | T::Greatest
                | T::Least
                | T::Nullif
                | T::Xmlconcat
                | T::Cast
                | T::Treat
                | T::Extract
                | T::Normalize
                | T::Overlay
                | T::Position
                | T::Substring
                | T::Trim
        );
        listed || self.xml_function().is_some()
    }

    fn close(&mut self, expr: Expr) -> Result<Expr> {
        self.expect(T::RightParen)?;
        Ok(expr)
    }

    /// Pushes an argument.
    fn argument(&mut self) -> Result<()> {
        let argument = self.expr()?;
        self.push(argument);
        Ok(())
    }

    /// The arguments pushed since `mark`, and the closing parenthesis.
    fn close_special(&mut self, form: SpecialForm, mark: usize) -> Result<Expr> {
        let args = self.list_since(mark);
        self.close(Expr::Special { form, args })
    }

    fn extract(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let word = matches!(
            self.kind(),
            T::Ident | T::Year | T::Month | T::Day | T::Hour | T::Minute | T::Second | T::StringConst
        );
        if !word {
            return Err(self.unexpected());
        }
        let field = self.any_name_token()?;
        self.expect(T::From)?;
        let source = self.expr()?;
        self.close(Expr::Extract { field, source })
    }

    fn normalize(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let operand = self.expr()?;
        let mut form = None;
        if self.eat(T::Comma) {
            form = self.normal_form();
            if form.is_none() {
                return Err(self.unexpected());
            }
        }
        self.close(Expr::Normalize { operand, form })
    }

    fn position(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let mark = self.mark();
        let needle = self.restricted_expr()?;
        self.push(needle);
        self.expect(T::In)?;
        let hay = self.restricted_expr()?;
        self.push(hay);
        self.close_special(SpecialForm::Position, mark)
    }

    fn overlay(&mut self, start: u32, function: Id<Name>) -> Result<Expr> {
        let mark = self.mark();
        if !self.first_argument(mark)? || !self.at(T::Placing) {
            return self.ordinary_call(start, function, mark);
        }
        self.advance();
        self.argument()?;
        self.expect(T::From)?;
        self.argument()?;
        if self.eat(T::For) {
            self.argument()?;
        }
        self.close_special(SpecialForm::Overlay, mark)
    }

    fn substring(&mut self, start: u32, function: Id<Name>) -> Result<Expr> {
        let mark = self.mark();
        if !self.first_argument(mark)? {
            return self.ordinary_call(start, function, mark);
        }
        match self.kind() {
            T::From => {
                self.advance();
                self.argument()?;
                if !self.eat(T::For) {
                    return self.close_special(SpecialForm::SubstringFrom, mark);
                }
                self.argument()?;
                self.close_special(SpecialForm::SubstringFromFor, mark)
            }
            T::For => self.substring_for(mark),
            T::Similar => {
                self.advance();
                self.argument()?;
                self.expect(T::Escape)?;
                self.argument()?;
                self.close_special(SpecialForm::SubstringSimilar, mark)
            }
            _ => self.ordinary_call(start, function, mark),
        }
    }

    /// `SUBSTRING (a FOR b)`, `SUBSTRING (a FOR b FROM c)`
    fn substring_for(&mut self, mark: usize) -> Result<Expr> {
        self.advance();
        let length = self.expr()?;
        if !self.eat(T::From) {
            self.push(length);
            return self.close_special(SpecialForm::SubstringFor, mark);
        }
        self.argument()?;
        self.push(length);
        self.close_special(SpecialForm::SubstringFromFor, mark)
    }

    /// Pushes the first argument, if there is one. Whether it has no name, so that a word may follow.
    fn first_argument(&mut self, mark: usize) -> Result<bool> {
        if self.at(T::RightParen) {
            return Ok(false);
        }
        let argument = self.call_argument()?;
        self.push(argument);
        debug_assert_eq!(self.mark(), mark + 1);
        Ok(!matches!(self.tree.get(argument), Expr::NamedArgument { .. }))
    }

    /// The rest of a call that has nothing special: `func_arg_list_opt`.
    fn ordinary_call(&mut self, _: u32, function: Id<Name>, mark: usize) -> Result<Expr> {
        while self.mark() > mark && self.eat(T::Comma) {
            let argument = self.call_argument()?;
            self.push(argument);
        }
        let args = self.list_since(mark);
        self.push(function);
        let name = self.list_since(mark);
        self.close(Expr::Call { name, form: CallForm::Plain, args, tail: None })
    }

    fn trim(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let form = match self.kind() {
            T::Leading => SpecialForm::TrimLeading,
            T::Trailing => SpecialForm::TrimTrailing,
            _ => SpecialForm::TrimBoth,
        };
        if matches!(self.kind(), T::Leading | T::Trailing | T::Both) {
            self.advance();
        }
        let mark = self.mark();
        if self.eat(T::From) {
            self.comma_items(Self::expr)?;
            return self.close_special(form, mark);
        }
        let first = self.expr()?;
        if self.eat(T::From) {
            self.comma_items(Self::expr)?;
            self.push(first);
        } else {
            self.push(first);
            if self.eat(T::Comma) {
                self.comma_items(Self::expr)?;
            }
        }
        self.close_special(form, mark)
    }

    /// Expressions behind a comma, if there is one.
    pub(super) fn optional_more_exprs(&mut self) -> Result<List<Expr>> {
        if self.eat(T::Comma) { self.exprs() } else { Ok(List::EMPTY) }
    }
}

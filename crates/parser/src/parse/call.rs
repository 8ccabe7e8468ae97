//! Calls of functions.

use super::Parser;
use super::expr::After;
use super::frames::{Frame, Mode, Value};
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{CallForm, CallTail, Expr, Name, Over, SortKey};
use crate::token::{KeywordClass, TokenKind as T};
use crate::tree::{Id, List};

impl Parser<'_> {
    /// A call, from the parenthesis behind its name on.
    pub(super) fn call(&mut self, start: u32, name: List<Name>) -> Result<Option<Value>> {
        self.expect(T::LeftParen)?;
        match self.kind() {
            T::RightParen => {
                self.advance();
                return self.finish_call(start, name, CallForm::Plain, List::EMPTY, List::EMPTY).map(Some);
            }
            T::Star => {
                self.advance();
                self.expect(T::RightParen)?;
                return self.finish_call(start, name, CallForm::Star, List::EMPTY, List::EMPTY).map(Some);
            }
            _ => {}
        }
        let form = match self.kind() {
            T::All => CallForm::All,
            T::Distinct => CallForm::Distinct,
            T::Variadic => CallForm::Variadic,
            _ => CallForm::Plain,
        };
        if form != CallForm::Plain {
            self.advance();
        }
        let argument = self.argument_name()?;
        self.open(|mark, mode| Frame::Call { start, mark, name, form, argument, mode });
        Ok(None)
    }

    /// `name =>`
    fn argument_name(&mut self) -> Result<Option<Id<Name>>> {
        if !self.kind().is_function_name() || !matches!(self.peek(), T::ColonEqual | T::EqualGreater) {
            return Ok(None);
        }
        let name = self.any_name_token()?;
        self.advance();
        Ok(Some(name))
    }

    /// An argument with or without a name: `func_arg_expr`.
    pub(super) fn call_argument(&mut self) -> Result<Id<Expr>> {
        let start = self.start();
        match self.argument_name()? {
            Some(name) => {
                let value = self.expr()?;
                self.node(start, Expr::NamedArgument { name, value })
            }
            None => self.expr(),
        }
    }

    /// Behind an argument.
    pub(super) fn resume_call(&mut self, frame: Frame, value: Id<Expr>) -> Result<After> {
        let Frame::Call { start, mark, name, mut form, argument, mode } = frame else { return Err(self.unexpected()) };
        let value = match argument {
            Some(name) => {
                let from = self.tree.span(name).start;
                self.node(from, Expr::NamedArgument { name, value })?
            }
            None => value,
        };
        self.push(value);
        if form != CallForm::Variadic && self.eat(T::Comma) {
            if form == CallForm::Plain && self.eat(T::Variadic) {
                form = CallForm::Variadic;
            }
            let argument = self.argument_name()?;
            self.frames.push(Frame::Call { start, mark, name, form, argument, mode });
            return Ok(After::Operand);
        }
        let args = self.list_since(mark as usize);
        let order_by = self.optional_order_by()?;
        self.expect(T::RightParen)?;
        self.mode = mode;
        if self.at(T::StringConst) && form == CallForm::Plain && mode != Mode::Windowless {
            return self.modified_type_constant(start, name, args, order_by);
        }
        self.finish_call(start, name, form, args, order_by).map(After::Value)
    }

    /// `varchar (3) 'text'`, for types that the grammar does not know.
    fn modified_type_constant(
        &mut self,
        start: u32,
        name: List<Name>,
        args: List<Expr>,
        order_by: List<SortKey>,
    ) -> Result<After> {
        if let Some(key) = self.tree.nth(order_by, 0) {
            let position = self.tree.span(key).start;
            return Err(ParseError::new(SYNTAX_ERROR, "type modifier cannot have ORDER BY", position));
        }
        match self.named_type_constant(start, name, args)? {
            Some(value) => Ok(After::Value(value)),
            None => Err(self.unexpected()),
        }
    }

    /// What may stand behind a call's arguments.
    fn finish_call(
        &mut self,
        start: u32,
        name: List<Name>,
        form: CallForm,
        args: List<Expr>,
        order_by: List<SortKey>,
    ) -> Result<Value> {
        let tail = self.call_tail(start, form, order_by)?;
        let id = self.node(start, Expr::Call { name, form, args, tail })?;
        Ok(Value { id, start })
    }

    fn call_tail(&mut self, start: u32, form: CallForm, order_by: List<SortKey>) -> Result<Option<Id<CallTail>>> {
        let behind = self.mode != Mode::Windowless && matches!(self.kind(), T::Within | T::Filter | T::Over);
        if order_by.is_empty() && !behind {
            return Ok(None);
        }
        let tail_start = self.start();
        let mut tail = CallTail { order_by, within_group: List::EMPTY, filter: None, over: None };
        if behind {
            tail.within_group = self.within_group(start, form, order_by)?;
            tail.filter = self.filter()?;
            tail.over = self.over()?;
        }
        self.node(tail_start.min(self.end()), tail).map(Some)
    }

    fn within_group(&mut self, start: u32, form: CallForm, order_by: List<SortKey>) -> Result<List<SortKey>> {
        if !self.eat(T::Within) {
            return Ok(List::EMPTY);
        }
        self.expect_all(&[T::Group, T::LeftParen])?;
        let keys = self.order_by()?;
        self.expect(T::RightParen)?;
        let wrong = match form {
            _ if !order_by.is_empty() => "cannot use multiple ORDER BY clauses with WITHIN GROUP",
            CallForm::Distinct => "cannot use DISTINCT with WITHIN GROUP",
            CallForm::Variadic => "cannot use VARIADIC with WITHIN GROUP",
            _ => return Ok(keys),
        };
        Err(ParseError::new(SYNTAX_ERROR, wrong, start))
    }

    fn filter(&mut self) -> Result<Option<Id<Expr>>> {
        if !self.eat(T::Filter) {
            return Ok(None);
        }
        self.expect_all(&[T::LeftParen, T::Where])?;
        let condition = self.expr()?;
        self.expect(T::RightParen)?;
        Ok(Some(condition))
    }

    fn over(&mut self) -> Result<Option<Id<Over>>> {
        if !self.eat(T::Over) {
            return Ok(None);
        }
        let start = self.start();
        let over = match self.at(T::LeftParen) {
            true => Over::Spec { spec: self.window_spec()? },
            false => Over::Window { name: self.name()? },
        };
        self.node(start, over).map(Some)
    }

    /// A function in FROM or in an index, where nothing may follow its arguments: `func_expr_windowless`.
    pub(crate) fn windowless_function(&mut self) -> Result<Id<Expr>> {
        let value = self.kind().class() == Some(KeywordClass::Reserved) && !self.at_function_keyword();
        if value || !self.kind().is_label() {
            return Err(self.unexpected());
        }
        let expr = self.expression(Mode::Windowless, None, false)?;
        self.expect_function(expr)
    }

    /// Whether a reserved word is a function here.
    fn at_function_keyword(&self) -> bool {
        use T::{
            Cast, CurrentCatalog, CurrentDate, CurrentRole, CurrentTime, CurrentTimestamp, CurrentUser, Localtime,
            Localtimestamp, SessionUser, User,
        };
        matches!(
            self.kind(),
            Cast | CurrentCatalog
                | CurrentDate
                | CurrentRole
                | CurrentTime
                | CurrentTimestamp
                | CurrentUser
                | Localtime
                | Localtimestamp
                | SessionUser
                | User
        )
    }

    /// The same, its name being read already.
    pub(crate) fn windowless_call(&mut self, start: u32, name: List<Name>) -> Result<Id<Expr>> {
        let outer = std::mem::replace(&mut self.mode, Mode::Windowless);
        let base = self.frames.len();
        let first = self.call(start, name)?;
        let value = match first {
            Some(value) => value,
            None => self.enter(|parser| parser.complete(base))?,
        };
        self.mode = outer;
        self.expect_function(value.id)
    }

    fn expect_function(&mut self, expr: Id<Expr>) -> Result<Id<Expr>> {
        match self.tree.get(expr) {
            Expr::Call { .. }
            | Expr::Special { .. }
            | Expr::Extract { .. }
            | Expr::Normalize { .. }
            | Expr::SessionValue { .. }
            | Expr::Cast { .. }
            | Expr::Treat { .. }
            | Expr::XmlElement { .. }
            | Expr::XmlForest { .. }
            | Expr::XmlParse { .. }
            | Expr::XmlPi { .. }
            | Expr::XmlRoot { .. }
            | Expr::XmlSerialize { .. }
            | Expr::XmlExists { .. } => Ok(expr),
            _ => Err(self.unexpected()),
        }
    }
}

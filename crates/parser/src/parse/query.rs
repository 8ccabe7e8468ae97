//! Queries: what stands around SELECT.
//!
//! A query in parentheses may be the beginning of a longer one, and what is behind the parentheses then belongs to it
//! as if they were not there: `((SELECT 1) ORDER BY 1)` is one query. So a query is handed around as its view, which
//! becomes a node when it is complete.

use super::Parser;
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{Expr, LimitForm, LockStrength, LockWait, Locking, Query, QueryBody, Row, SetOperation, With};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// A query that may still become longer, and where it begins.
#[derive(Clone, Copy)]
pub(super) struct OpenQuery {
    start: u32,
    query: Query,
    /// The node that is the same query, if there is one.
    node: Option<Id<Query>>,
}

/// How many rows are wanted, and from which on.
#[derive(Default)]
struct Limits {
    /// Where it was said, how many, and how they are counted.
    limit: Option<(u32, Option<Id<Expr>>, LimitForm)>,
    offset: Option<Id<Expr>>,
}

/// A set operation that waits for its right side.
type Waiting = Option<(OpenQuery, SetOperation, bool)>;

impl Parser<'_> {
    /// Whether a query begins here that is not in parentheses.
    #[inline]
    pub(crate) fn at_query(&mut self) -> bool {
        matches!(self.kind(), T::Select | T::With | T::Table) || self.at_two(T::Values, T::LeftParen)
    }

    /// A query, in parentheses or not: `SelectStmt`.
    pub(crate) fn query(&mut self) -> Result<Id<Query>> {
        self.enter(Self::query_id)
    }

    /// A query, its parentheses being open already.
    pub(super) fn query_id(&mut self) -> Result<Id<Query>> {
        let query = self.open_query()?;
        self.close_query(query)
    }

    /// A query that begins with `with`, which was read.
    pub(crate) fn query_with(&mut self, start: u32, with: Id<With>) -> Result<Id<Query>> {
        let query = self.open_query_with(start, with)?;
        self.close_query(query)
    }

    fn open_query_with(&mut self, start: u32, with: Id<With>) -> Result<OpenQuery> {
        let first = self.query_operand()?;
        let query = self.set_operations(first)?;
        let query = self.behind_set_operations(query)?;
        self.with_before(query, start, with)
    }

    /// The rest of a query that begins with another in parentheses.
    pub(super) fn query_after(&mut self, start: u32, first: Id<Query>) -> Result<Id<Query>> {
        let first = OpenQuery { start, query: self.tree.get(first), node: Some(first) };
        let query = self.rest_of_query(first)?;
        self.close_query(query)
    }

    /// `(SELECT ...)`: `select_with_parens`.
    pub(crate) fn query_in_parentheses(&mut self) -> Result<Id<Query>> {
        let query = self.enter(Self::parenthesized_query)?;
        self.close_query(query)
    }

    fn open_query(&mut self) -> Result<OpenQuery> {
        let start = self.start();
        if self.at(T::With) {
            let with = self.with_clause()?;
            return self.open_query_with(start, with);
        }
        let first = self.query_operand()?;
        self.rest_of_query(first)
    }

    fn with_before(&self, mut query: OpenQuery, start: u32, with: Id<With>) -> Result<OpenQuery> {
        if query.query.with.is_some() {
            return Err(ParseError::new(SYNTAX_ERROR, "multiple WITH clauses not allowed", start));
        }
        query.query.with = Some(with);
        query.start = start;
        query.node = None;
        Ok(query)
    }

    fn close_query(&mut self, query: OpenQuery) -> Result<Id<Query>> {
        match query.node {
            Some(node) => Ok(node),
            None => self.node(query.start, query.query),
        }
    }

    /// A query in parentheses, its leading ones read in a loop: each may hold a longer query than the one in it.
    fn parenthesized_query(&mut self) -> Result<OpenQuery> {
        let mark = self.mark();
        while self.at(T::LeftParen) {
            let start = self.start();
            self.advance();
            self.scratch.push(start);
        }
        if self.mark() == mark || !(self.at_query() || self.at(T::Values)) {
            return Err(self.unexpected());
        }
        let mut query = self.open_query()?;
        while let Some(start) = self.scratch.pop() {
            self.expect(T::RightParen)?;
            if query.node.is_none() {
                query.node = Some(self.node(query.start, query.query)?);
            }
            query.start = start;
            if self.mark() == mark {
                break;
            }
            query = self.rest_of_query(query)?;
        }
        Ok(query)
    }

    /// SELECT, VALUES, TABLE, or a query in parentheses: `select_clause`.
    fn query_operand(&mut self) -> Result<OpenQuery> {
        if self.at(T::LeftParen) {
            return self.enter(Self::parenthesized_query);
        }
        let start = self.start();
        let body = match self.kind() {
            T::Select => self.select()?,
            T::Values => self.values()?,
            T::Table => self.table()?,
            _ => return Err(self.unexpected()),
        };
        let body = self.node(start, body)?;
        Ok(OpenQuery { start, query: bare(body), node: None })
    }

    fn values(&mut self) -> Result<QueryBody> {
        self.expect(T::Values)?;
        let rows = self.comma_list(Self::values_row)?;
        Ok(QueryBody::Values { rows })
    }

    fn values_row(&mut self) -> Result<Id<Row>> {
        let start = self.start();
        let values = self.parenthesized(Self::expr)?;
        self.node(start, Row { values })
    }

    fn table(&mut self) -> Result<QueryBody> {
        self.expect(T::Table)?;
        let relation = self.relation()?;
        Ok(QueryBody::Table { relation })
    }

    /// Set operations, ORDER BY, LIMIT and locking behind a query's first part.
    fn rest_of_query(&mut self, first: OpenQuery) -> Result<OpenQuery> {
        let query = self.set_operations(first)?;
        self.behind_set_operations(query)
    }

    /// ORDER BY, LIMIT and locking; that none of them is said twice, inside the parentheses and behind them, is seen
    /// when all are read.
    fn behind_set_operations(&mut self, mut query: OpenQuery) -> Result<OpenQuery> {
        let keys = self.optional_order_by()?;
        let mut locks = self.locking()?;
        let limits = self.limits()?;
        if locks.is_none() {
            locks = self.locking()?;
        }
        if let Some(first) = self.tree.nth(keys, 0) {
            self.set_once(query.query.order_by.is_empty(), "ORDER BY", self.tree.get(first).expr)?;
            query = changed(query, |query| query.order_by = keys);
        }
        if let Some(locks) = locks.filter(|locks| !locks.is_empty()) {
            let locking = self.joined(query.query.locking, locks);
            query = changed(query, |query| query.locking = locking);
        }
        self.set_limits(query, limits)
    }

    /// A list and another behind it.
    fn joined<N>(&mut self, first: List<N>, second: List<N>) -> List<N> {
        let mark = self.mark();
        for list in [first, second] {
            self.scratch.extend(self.tree.list(list).map(|item| item.0.get()));
        }
        self.list_since(mark)
    }

    fn set_limits(&mut self, mut query: OpenQuery, limits: Limits) -> Result<OpenQuery> {
        if let Some(offset) = limits.offset {
            self.set_once(query.query.offset.is_none(), "OFFSET", offset)?;
            query = changed(query, |query| query.offset = Some(offset));
        }
        let Some((place, limit, form)) = limits.limit else { return Ok(query) };
        if query.query.limit.is_some() || query.query.limit_form != LimitForm::Plain {
            let position = limit.map_or(place, |limit| self.tree.span(limit).start);
            return Err(ParseError::new(SYNTAX_ERROR, "multiple LIMIT clauses not allowed", position));
        }
        query = changed(query, |query| (query.limit, query.limit_form) = (limit, form));
        self.check_ties(&query, place)?;
        Ok(query)
    }

    fn set_once(&self, unset: bool, what: &str, place: Id<Expr>) -> Result<()> {
        let error = || {
            ParseError::new(SYNTAX_ERROR, format!("multiple {what} clauses not allowed"), self.tree.span(place).start)
        };
        if unset { Ok(()) } else { Err(error()) }
    }

    /// UNION and EXCEPT from left to right, INTERSECT before them.
    fn set_operations(&mut self, first: OpenQuery) -> Result<OpenQuery> {
        let mut query = first;
        let mut waiting: Waiting = None;
        loop {
            let operation = match self.kind() {
                T::Union => SetOperation::Union,
                T::Except => SetOperation::Except,
                T::Intersect => SetOperation::Intersect,
                _ => return self.combine_waiting(waiting, query),
            };
            self.advance();
            let all = self.eat(T::All);
            if !all {
                self.eat(T::Distinct);
            }
            if operation == SetOperation::Intersect {
                let right = self.query_operand()?;
                query = self.combine(query, operation, all, right)?;
            } else {
                let left = self.combine_waiting(waiting, query)?;
                waiting = Some((left, operation, all));
                query = self.query_operand()?;
            }
        }
    }

    fn combine_waiting(&mut self, waiting: Waiting, right: OpenQuery) -> Result<OpenQuery> {
        match waiting {
            Some((left, operation, all)) => self.combine(left, operation, all, right),
            None => Ok(right),
        }
    }

    fn combine(&mut self, left: OpenQuery, operation: SetOperation, all: bool, right: OpenQuery) -> Result<OpenQuery> {
        let start = left.start;
        let left_end = self.tree.span(left.query.body).end;
        let left = match left.node {
            Some(node) => node,
            None => self.node_to(start, left_end, left.query)?,
        };
        let right = self.close_query(right)?;
        let body = self.node(start, QueryBody::SetOperation { operation, all, left, right })?;
        Ok(OpenQuery { start, query: bare(body), node: None })
    }

    /// `LIMIT`, `OFFSET` and `FETCH`.
    fn limits(&mut self) -> Result<Limits> {
        let mut limits = Limits::default();
        loop {
            let place = self.start();
            match self.kind() {
                T::Limit if limits.limit.is_none() => {
                    self.advance();
                    let (limit, form) = self.limit(place)?;
                    limits.limit = Some((place, limit, form));
                }
                T::Fetch if limits.limit.is_none() => {
                    let (limit, form) = self.fetch()?;
                    limits.limit = Some((place, limit, form));
                }
                T::Offset if limits.offset.is_none() => {
                    self.advance();
                    limits.offset = Some(self.offset()?);
                }
                _ => return Ok(limits),
            }
        }
    }

    /// An offset; ROWS may stand behind one without operators.
    fn offset(&mut self) -> Result<Id<Expr>> {
        let start = self.start();
        if matches!(self.kind(), T::Not | T::Op | T::Operator | T::Default | T::Unique) {
            return self.expr();
        }
        let rows = if matches!(self.kind(), T::Plus | T::Minus) {
            let number = matches!(self.peek(), T::IntegerConst | T::NumberConst);
            let rows = self.expr()?;
            let alone = matches!(self.tree.get(rows), Expr::Unary { operand, .. } if self.tree.depth(operand) == 1);
            if !number || !alone {
                return Ok(rows);
            }
            rows
        } else {
            self.simple_expr()?
        };
        if matches!(self.kind(), T::Row | T::Rows) {
            self.advance();
            return Ok(rows);
        }
        let rows = if self.at(T::Overlaps) { self.overlaps(start, rows)? } else { rows };
        self.expr_from(start, rows)
    }

    fn limit(&mut self, position: u32) -> Result<(Option<Id<Expr>>, LimitForm)> {
        if self.eat(T::All) {
            return Ok((None, LimitForm::All));
        }
        let limit = self.expr()?;
        if self.eat(T::Comma) {
            self.expr()?;
            let error = ParseError::new(SYNTAX_ERROR, "LIMIT #,# syntax is not supported", position);
            return Err(error.with_hint(crate::hints::LIMIT_COMMA));
        }
        Ok((Some(limit), LimitForm::Plain))
    }

    fn fetch(&mut self) -> Result<(Option<Id<Expr>>, LimitForm)> {
        self.expect(T::Fetch)?;
        if !matches!(self.kind(), T::First | T::Next) {
            return Err(self.unexpected());
        }
        self.advance();
        let limit = match self.kind() {
            // Both may be columns, too, and begin a row.
            T::Row | T::Rows if matches!(self.peek(), T::Only | T::With) => self.one_row()?,
            T::Plus | T::Minus => self.signed_number()?,
            _ => self.simple_expr()?,
        };
        if !matches!(self.kind(), T::Row | T::Rows) {
            return Err(self.unexpected());
        }
        self.advance();
        if self.eat(T::Only) {
            return Ok((Some(limit), LimitForm::Plain));
        }
        self.expect_all(&[T::With, T::Ties])?;
        Ok((Some(limit), LimitForm::WithTies))
    }

    /// `FETCH FIRST ROW ONLY` says 1 without writing it.
    fn one_row(&mut self) -> Result<Id<Expr>> {
        let place = self.end();
        let text = self.unwritten_text("1", place);
        self.node_to(place, place, Expr::Integer { text })
    }

    fn check_ties(&self, open: &OpenQuery, position: u32) -> Result<()> {
        let query = &open.query;
        if query.limit_form != LimitForm::WithTies {
            return Ok(());
        }
        if query.order_by.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(ParseError::new(SYNTAX_ERROR, message, position));
        }
        let skips = |lock: Id<Locking>| self.tree.get(lock).wait == Some(LockWait::SkipLocked);
        if self.tree.list(query.locking).any(skips) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(ParseError::new(SYNTAX_ERROR, message, position));
        }
        Ok(())
    }

    /// `FOR UPDATE ...`, any number of them, or `FOR READ ONLY`, which is an empty list.
    fn locking(&mut self) -> Result<Option<List<Locking>>> {
        if !self.at(T::For) {
            return Ok(None);
        }
        if self.peek() == T::Read {
            self.advance();
            self.expect_all(&[T::Read, T::Only])?;
            return Ok(Some(List::EMPTY));
        }
        let mark = self.mark();
        while self.at(T::For) {
            let lock = self.lock()?;
            self.push(lock);
        }
        Ok(Some(self.list_since(mark)))
    }

    fn lock(&mut self) -> Result<Id<Locking>> {
        let start = self.start();
        self.expect(T::For)?;
        let strength = match self.kind() {
            T::Update => LockStrength::Update,
            T::Share => LockStrength::Share,
            T::No => {
                self.advance();
                self.expect(T::Key)?;
                LockStrength::NoKeyUpdate
            }
            T::Key => {
                self.advance();
                LockStrength::KeyShare
            }
            _ => return Err(self.unexpected()),
        };
        match strength {
            LockStrength::Update | LockStrength::NoKeyUpdate => self.expect(T::Update)?,
            _ => self.expect(T::Share)?,
        };
        let tables = if self.eat(T::Of) { self.comma_list(Self::qualified_name)? } else { List::EMPTY };
        let wait = self.lock_wait()?;
        self.node(start, Locking { strength, tables, wait })
    }

    fn lock_wait(&mut self) -> Result<Option<LockWait>> {
        if self.eat(T::Nowait) {
            return Ok(Some(LockWait::NoWait));
        }
        if !self.eat(T::Skip) {
            return Ok(None);
        }
        self.expect(T::Locked)?;
        Ok(Some(LockWait::SkipLocked))
    }
}

/// A query that is nothing but its body.
fn bare(body: Id<QueryBody>) -> Query {
    Query {
        with: None,
        body,
        order_by: List::EMPTY,
        limit: None,
        limit_form: LimitForm::Plain,
        offset: None,
        locking: List::EMPTY,
    }
}

/// The query with something more to it, which no node is yet.
fn changed<T>(mut open: OpenQuery, change: impl FnOnce(&mut Query) -> T) -> OpenQuery {
    change(&mut open.query);
    open.node = None;
    open
}

//! FROM.

use super::Parser;
use crate::error::Result;
use crate::syntax::{
    Alias, Expr, FunctionColumn, FunctionItem, JoinKind, Name, Query, Relation, TableRef, TableSample,
};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// What a parenthesis in FROM turned out to hold.
enum Parenthesis {
    /// A query; an alias may follow.
    Query(Id<Query>),
    /// Joined tables.
    Tables(Id<TableRef>),
}

/// A join that waits for its condition.
struct WaitingJoin {
    start: u32,
    kind: JoinKind,
    left: Id<TableRef>,
}

impl Parser<'_> {
    /// `a, b JOIN c ON ..., ...`: `from_list`.
    pub(crate) fn table_refs(&mut self) -> Result<List<TableRef>> {
        self.comma_list(Self::table_ref)
    }

    /// An item with its joins: `table_ref`.
    pub(crate) fn table_ref(&mut self) -> Result<Id<TableRef>> {
        let start = self.start();
        let first = self.table_primary()?;
        self.joins(start, first)
    }

    /// Joins from left to right; conditions belong to the innermost join that has none.
    fn joins(&mut self, start: u32, first: Id<TableRef>) -> Result<Id<TableRef>> {
        let mut waiting: Vec<WaitingJoin> = Vec::new();
        let (mut start, mut current) = (start, first);
        loop {
            match self.kind() {
                T::Cross => {
                    self.advance();
                    self.expect(T::Join)?;
                    current = self.unconditional_join(start, current, JoinKind::Cross, false)?;
                }
                T::Natural => {
                    self.advance();
                    let kind = self.join_kind()?;
                    current = self.unconditional_join(start, current, kind, true)?;
                }
                T::Join | T::Inner | T::Left | T::Right | T::Full => {
                    let kind = self.join_kind()?;
                    waiting.push(WaitingJoin { start, kind, left: current });
                    start = self.start();
                    current = self.table_primary()?;
                }
                T::On | T::Using if !waiting.is_empty() => {
                    if let Some(join) = waiting.pop() {
                        start = join.start;
                        current = self.join_condition(join, current)?;
                    }
                }
                _ if waiting.is_empty() => return Ok(current),
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn join_kind(&mut self) -> Result<JoinKind> {
        let kind = match self.kind() {
            T::Left => JoinKind::Left,
            T::Right => JoinKind::Right,
            T::Full => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        if kind != JoinKind::Inner {
            self.advance();
            self.eat(T::Outer);
        } else {
            self.eat(T::Inner);
        }
        self.expect(T::Join)?;
        Ok(kind)
    }

    fn unconditional_join(
        &mut self,
        start: u32,
        left: Id<TableRef>,
        kind: JoinKind,
        natural: bool,
    ) -> Result<Id<TableRef>> {
        let right = self.table_primary()?;
        self.join(start, kind, natural, left, right, None, (List::EMPTY, None))
    }

    #[allow(clippy::too_many_arguments, reason = "what a join consists of")]
    fn join(
        &mut self,
        start: u32,
        kind: JoinKind,
        natural: bool,
        left: Id<TableRef>,
        right: Id<TableRef>,
        on: Option<Id<Expr>>,
        (using, using_alias): (List<Name>, Option<Id<Name>>),
    ) -> Result<Id<TableRef>> {
        self.node(start, TableRef::Join { kind, natural, left, right, on, using, using_alias, alias: None })
    }

    fn join_condition(&mut self, join: WaitingJoin, right: Id<TableRef>) -> Result<Id<TableRef>> {
        let WaitingJoin { start, kind, left } = join;
        if self.eat(T::On) {
            let condition = self.expr()?;
            return self.join(start, kind, false, left, right, Some(condition), (List::EMPTY, None));
        }
        self.expect(T::Using)?;
        let using = self.parenthesized(Self::name)?;
        let alias = if self.eat(T::As) { Some(self.name()?) } else { None };
        self.join(start, kind, false, left, right, None, (using, alias))
    }

    /// An item without joins.
    fn table_primary(&mut self) -> Result<Id<TableRef>> {
        let start = self.start();
        match self.kind() {
            T::LeftParen => match self.enter(Self::parenthesis_in_from)? {
                Parenthesis::Query(query) => self.subquery(start, query, false),
                Parenthesis::Tables(tables) => self.aliased_join(start, tables),
            },
            T::Lateral => self.lateral(start),
            T::Only => self.plain_table(start),
            T::Rows if self.peek() == T::From => self.rows_from(start, false),
            T::Xmltable if self.peek() == T::LeftParen => self.xml_table_ref(start, false),
            _ => self.named_item(start),
        }
    }

    fn lateral(&mut self, start: u32) -> Result<Id<TableRef>> {
        self.expect(T::Lateral)?;
        match self.kind() {
            T::LeftParen => {
                let query = self.query_in_parentheses()?;
                self.subquery(start, query, true)
            }
            T::Rows if self.peek() == T::From => self.rows_from(start, true),
            T::Xmltable if self.peek() == T::LeftParen => self.xml_table_ref(start, true),
            _ => self.table_function(start, true),
        }
    }

    fn subquery(&mut self, start: u32, query: Id<Query>, lateral: bool) -> Result<Id<TableRef>> {
        let alias = self.alias()?;
        self.node(start, TableRef::Subquery { query, lateral, alias })
    }

    /// What a parenthesis holds, which only what follows the innermost of them tells.
    fn parenthesis_in_from(&mut self) -> Result<Parenthesis> {
        self.expect(T::LeftParen)?;
        let start = self.start();
        if self.at_query() {
            let query = self.query_id()?;
            self.expect(T::RightParen)?;
            return Ok(Parenthesis::Query(query));
        }
        let first = match self.at(T::LeftParen) {
            false => self.table_primary()?,
            true => match self.enter(Self::parenthesis_in_from)? {
                Parenthesis::Query(query) if self.at(T::RightParen) => {
                    self.advance();
                    return Ok(Parenthesis::Query(query));
                }
                Parenthesis::Query(query) if self.continues_query() => {
                    let query = self.query_after(start, query)?;
                    self.expect(T::RightParen)?;
                    return Ok(Parenthesis::Query(query));
                }
                Parenthesis::Query(query) => self.subquery(start, query, false)?,
                Parenthesis::Tables(tables) => self.aliased_join(start, tables)?,
            },
        };
        let tables = self.joins(start, first)?;
        if !matches!(self.tree.get(tables), TableRef::Join { alias: None, .. }) {
            return Err(self.unexpected());
        }
        self.expect(T::RightParen)?;
        Ok(Parenthesis::Tables(tables))
    }

    /// Whether a query goes on behind its parentheses.
    pub(super) fn continues_query(&self) -> bool {
        matches!(self.kind(), T::Union | T::Intersect | T::Except | T::Order | T::Limit | T::Offset | T::Fetch | T::For)
    }

    /// Joined tables in parentheses, which may have a name together.
    fn aliased_join(&mut self, start: u32, tables: Id<TableRef>) -> Result<Id<TableRef>> {
        let Some(name) = self.alias()? else { return Ok(tables) };
        let TableRef::Join { kind, natural, left, right, on, using, using_alias, alias: None } = self.tree.get(tables)
        else {
            return Err(self.unexpected());
        };
        self.node(start, TableRef::Join { kind, natural, left, right, on, using, using_alias, alias: Some(name) })
    }

    /// A table or a function: what begins with a name.
    fn named_item(&mut self, start: u32) -> Result<Id<TableRef>> {
        let next = self.peek();
        let name = self.kind().is_column_name();
        let call = next == T::LeftParen && (self.kind().is_function_name() || self.at_special_function());
        if name && !call && next != T::Dot && !self.at_two(T::Collation, T::For) {
            return self.plain_table(start);
        }
        if !name || next != T::Dot {
            return self.table_function(start, false);
        }
        let mark = self.mark();
        let first = self.name()?;
        self.push(first);
        self.more_parts()?;
        if !self.at(T::LeftParen) {
            let name = self.qualified_since(start, mark)?;
            self.eat(T::Star);
            return self.table_behind_name(start, name, false);
        }
        let name = self.list_since(mark);
        let function = self.windowless_call(start, name)?;
        self.function_ref(start, function, false)
    }

    fn plain_table(&mut self, start: u32) -> Result<Id<TableRef>> {
        let (name, only) = self.relation_name()?;
        self.table_behind_name(start, name, only)
    }

    fn table_behind_name(
        &mut self,
        start: u32,
        name: Id<crate::syntax::QualifiedName>,
        only: bool,
    ) -> Result<Id<TableRef>> {
        let alias = self.alias()?;
        let sample = if self.at(T::Tablesample) { Some(self.table_sample()?) } else { None };
        self.node(start, TableRef::Table { name, only, alias, sample })
    }

    /// `ONLY t`, `ONLY (t)`, `t *`: `relation_expr`. Whether ONLY was said.
    pub(crate) fn relation_name(&mut self) -> Result<(Id<crate::syntax::QualifiedName>, bool)> {
        if !self.eat(T::Only) {
            let name = self.qualified_name()?;
            self.eat(T::Star);
            return Ok((name, false));
        }
        let parenthesis = self.eat(T::LeftParen);
        let name = self.qualified_name()?;
        if parenthesis {
            self.expect(T::RightParen)?;
        }
        Ok((name, true))
    }

    /// A table without an alias: `relation_expr`.
    pub(crate) fn relation(&mut self) -> Result<Id<Relation>> {
        let start = self.start();
        let (name, only) = self.relation_name()?;
        self.node(start, Relation { name, only, alias: None })
    }

    fn table_sample(&mut self) -> Result<Id<TableSample>> {
        let start = self.start();
        self.expect(T::Tablesample)?;
        let method = self.function_name()?;
        let args = self.parenthesized(Self::expr)?;
        let mut repeatable = None;
        if self.eat(T::Repeatable) {
            self.expect(T::LeftParen)?;
            repeatable = Some(self.expr()?);
            self.expect(T::RightParen)?;
        }
        self.node(start, TableSample { method, args, repeatable })
    }

    fn table_function(&mut self, start: u32, lateral: bool) -> Result<Id<TableRef>> {
        let function = self.windowless_function()?;
        self.function_ref(start, function, lateral)
    }

    fn function_ref(&mut self, start: u32, function: Id<Expr>, lateral: bool) -> Result<Id<TableRef>> {
        let mark = self.mark();
        let item = self.node(start, FunctionItem { function, columns: List::EMPTY })?;
        self.push(item);
        let functions = self.list_since(mark);
        self.functions_behind(start, functions, false, lateral)
    }

    fn functions_behind(
        &mut self,
        start: u32,
        functions: List<FunctionItem>,
        rows_from: bool,
        lateral: bool,
    ) -> Result<Id<TableRef>> {
        let ordinality = self.eat_two(T::With, T::Ordinality);
        let alias = self.function_alias()?;
        self.node(start, TableRef::Function { functions, rows_from, ordinality, lateral, alias })
    }

    fn rows_from(&mut self, start: u32, lateral: bool) -> Result<Id<TableRef>> {
        self.expect_all(&[T::Rows, T::From])?;
        let functions = self.parenthesized(Self::rows_from_item)?;
        self.functions_behind(start, functions, true, lateral)
    }

    fn rows_from_item(&mut self) -> Result<Id<FunctionItem>> {
        let start = self.start();
        let function = self.windowless_function()?;
        let columns = if self.eat(T::As) { self.parenthesized(Self::function_column)? } else { List::EMPTY };
        self.node(start, FunctionItem { function, columns })
    }

    /// A column that a function returns: `TableFuncElement`.
    pub(crate) fn function_column(&mut self) -> Result<Id<FunctionColumn>> {
        let start = self.start();
        let name = self.name()?;
        self.function_column_behind(start, name)
    }

    fn function_column_behind(&mut self, start: u32, name: Id<Name>) -> Result<Id<FunctionColumn>> {
        let data_type = self.type_name()?;
        let collation = if self.eat(T::Collate) { self.dotted_name()? } else { List::EMPTY };
        self.node(start, FunctionColumn { name, data_type, collation })
    }

    fn xml_table_ref(&mut self, start: u32, lateral: bool) -> Result<Id<TableRef>> {
        let table = self.xml_table()?;
        let alias = self.alias()?;
        self.node(start, TableRef::Xml { table, lateral, alias })
    }

    /// `AS name (columns)` if it is there: `opt_alias_clause`.
    pub(super) fn alias(&mut self) -> Result<Option<Id<Alias>>> {
        let start = self.start();
        if !self.eat(T::As) && !self.kind().is_column_name() {
            return Ok(None);
        }
        let name = Some(self.name()?);
        let columns = self.optional_parenthesized(Self::name)?;
        self.node(start, Alias { name, columns, definitions: List::EMPTY }).map(Some)
    }

    /// An alias that may say which columns a function returns: `func_alias_clause`.
    fn function_alias(&mut self) -> Result<Option<Id<Alias>>> {
        let start = self.start();
        let said = self.eat(T::As);
        if said && self.at(T::LeftParen) {
            let definitions = self.parenthesized(Self::function_column)?;
            return self.node(start, Alias { name: None, columns: List::EMPTY, definitions }).map(Some);
        }
        if !said && !self.kind().is_column_name() {
            return Ok(None);
        }
        let name = Some(self.name()?);
        let (mut columns, mut definitions) = (List::EMPTY, List::EMPTY);
        if self.eat(T::LeftParen) {
            let first_start = self.start();
            let first = self.name()?;
            let typed = !matches!(self.kind(), T::Comma | T::RightParen);
            let mark = self.mark();
            if typed {
                let first = self.function_column_behind(first_start, first)?;
                self.push(first);
                self.more_items(Self::function_column)?;
                definitions = self.list_since(mark);
            } else {
                self.push(first);
                self.more_items(Self::name)?;
                columns = self.list_since(mark);
            }
            self.expect(T::RightParen)?;
        }
        self.node(start, Alias { name, columns, definitions }).map(Some)
    }

    /// Pushes items behind commas.
    fn more_items<N>(&mut self, read: impl FnMut(&mut Self) -> Result<Id<N>>) -> Result<()> {
        if self.eat(T::Comma) { self.comma_items(read) } else { Ok(()) }
    }
}

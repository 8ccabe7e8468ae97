//! Operators of two operands: logic, comparison (of rows too), arithmetic, patterns, BETWEEN, IN lists.

use cairn_parser::{self as ast, Id, List, Span, Tree};

use super::expr::{conjunction, not};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::plan::{Expr, StandIn, Version, is_volatile, used_columns};
use crate::sql::{dotted, name_text, plain_name};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// Rows of so many columns are compared by halves.
const LONG_ROW: usize = 32;

impl Binder<'_> {
    pub(super) fn binary(
        &mut self,
        left: Id<ast::Expr>,
        operator: Id<ast::Operator>,
        right: Id<ast::Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let place = tree.span(operator);
        let symbol = self.symbol(operator).map_err(|error| self.at(error, place))?;
        match (row_of(tree, left), row_of(tree, right), tree.get(right)) {
            (Some(lefts), Some(rights), _) => {
                self.row_comparison(lefts, symbol, rights, place, context).map_err(|error| self.at(error, place))
            }
            (Some(lefts), None, ast::Expr::Subquery { query }) => {
                self.row_subquery(lefts, symbol, query, context).map_err(|error| self.at(error, place))
            }
            _ if let Some(is_new) = self.is_new_row(left, symbol, right, context) => Ok(is_new),
            _ => {
                let operands = vec![self.operand(left, context)?, self.operand(right, context)?];
                self.operator(symbol, operands, Some(place))
            }
        }
    }

    /// `xmax = 0` in the RETURNING of an INSERT, as it is written to ask whether the row is new, or was there and ON CONFLICT changed
    /// it. Nothing else is known of `xmax`.
    fn is_new_row(&self, left: Id<ast::Expr>, symbol: &str, right: Id<ast::Expr>, context: &Context) -> Option<Expr> {
        let inserts = self.inserts.as_deref().filter(|_| context.clause == Clause::Returning)?;
        let is_xmax = |expr| {
            let ast::Expr::Column { names } = self.tree.get(expr) else { return false };
            let names: Vec<&str> = self.tree.list(names).map(|name| name_text(self.tree, name)).collect();
            match names.as_slice() {
                ["xmax"] => true,
                [table, "xmax"] => *table == inserts,
                _ => false,
            }
        };
        let is_zero = |expr| matches!(self.tree.get(expr), ast::Expr::Integer { text } if self.tree.text(text) == "0");
        if !(is_xmax(left) && is_zero(right)) {
            return None;
        }
        let was_there = StandIn::Present(Version::Old).column();
        let was_there = Expr::Column { index: was_there, data_type: DataType::Boolean };
        let is_new = Expr::IsNull(Box::new(was_there));
        match symbol {
            "=" => Some(is_new),
            "<>" => Some(Expr::Not(Box::new(is_new))),
            _ => None,
        }
    }

    /// A chain of AND or OR, with those within it that are of the same kind.
    pub(in crate::bind) fn chain(
        &mut self,
        chain: Id<ast::Expr>,
        operands: List<ast::Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let conjunction = matches!(tree.get(chain), ast::Expr::And { .. });
        let (mut pending, mut bound): (Vec<Id<ast::Expr>>, _) = (tree.list(operands).rev().collect(), vec![]);
        while let Some(next) = pending.pop() {
            match tree.get(next) {
                ast::Expr::And { operands } if conjunction => pending.extend(tree.list(operands).rev()),
                ast::Expr::Or { operands } if !conjunction => pending.extend(tree.list(operands).rev()),
                _ => {
                    let (operand, span) = self.operand(next, context)?;
                    bound.push(self.condition(operand, if conjunction { "AND" } else { "OR" }, span)?);
                }
            }
        }
        Ok(if conjunction { Expr::And(bound) } else { Expr::Or(bound) })
    }

    /// `(a, b) = (c, d)` and the orderings, from the left.
    fn row_comparison(
        &mut self,
        lefts: List<ast::Expr>,
        symbol: &str,
        rights: List<ast::Expr>,
        place: Span,
        context: &mut Context,
    ) -> Result<Expr> {
        let (lefts, rights) = (self.row_items(lefts, context)?, self.row_items(rights, context)?);
        if lefts.len() != rights.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        self.compare_rows(symbol, lefts.into_iter().zip(rights).collect(), Some(place))
    }

    pub(in crate::bind) fn compare_rows(
        &mut self,
        symbol: &str,
        pairs: Vec<(Operand, Operand)>,
        place: Option<Span>,
    ) -> Result<Expr> {
        match symbol {
            "=" | "<>" => {
                let mut parts = Vec::with_capacity(pairs.len());
                for (left, right) in pairs {
                    parts.push(self.operator(symbol, vec![left, right], place)?);
                }
                Ok(if symbol == "=" { conjunction(parts) } else { Expr::Or(parts) })
            }
            "<" | "<=" | ">" | ">=" => self.order_rows(symbol, pairs, place),
            _ => Err(Error::unsupported(format!("operator {symbol} for rows"))),
        }
    }

    /// `(a, b) < (c, d)`: `a < c OR (a = c AND b < d)`, built from the last pair.
    fn order_rows(&mut self, symbol: &str, mut pairs: Vec<(Operand, Operand)>, place: Option<Span>) -> Result<Expr> {
        let strict = symbol.trim_end_matches('=').to_owned();
        let is_any_volatile = pairs.iter().any(|(left, right)| is_volatile(&left.0) || is_volatile(&right.0));
        if pairs.len() >= LONG_ROW && !is_any_volatile {
            return self.order_long_rows([&strict, symbol], &pairs, place);
        }
        let Some((left, right)) = pairs.pop() else { return Err(Error::internal("a row without columns")) };
        let mut result = self.operator(symbol, vec![left, right], place)?;
        while let Some((left, right)) = pairs.pop() {
            let (left, right) = (self.once(left), self.once(right));
            let pair = vec![self.use_of(&left)?, self.use_of(&right)?];
            let before = self.operator(&strict, pair, place)?;
            let pair = vec![self.use_of(&left)?, self.use_of(&right)?];
            let equal = self.operator("=", pair, place)?;
            result = left.around(right.around(Expr::Or(vec![before, Expr::And(vec![equal, result])])));
        }
        Ok(result)
    }

    /// As [`Self::order_rows`], not as deep as the rows are long: the first halves decide, or they are equal and the last ones do.
    fn order_long_rows(
        &mut self,
        [strict, symbol]: [&str; 2],
        pairs: &[(Operand, Operand)],
        place: Option<Span>,
    ) -> Result<Expr> {
        if let [(left, right)] = pairs {
            let pair = vec![self.copy(left)?, self.copy(right)?];
            return self.operator(symbol, pair, place);
        }
        let (first, last) = pairs.split_at(pairs.len() / 2);
        let before = self.order_long_rows([strict, strict], first, place)?;
        let mut ways = Vec::with_capacity(first.len() + 1);
        for (left, right) in first {
            let pair = vec![self.copy(left)?, self.copy(right)?];
            ways.push(self.operator("=", pair, place)?);
        }
        ways.push(self.order_long_rows([strict, symbol], last, place)?);
        Ok(Expr::Or(vec![before, Expr::And(ways)]))
    }

    pub(in crate::bind) fn between(
        &mut self,
        input: Id<ast::Expr>,
        negated: bool,
        [low, high]: [Id<ast::Expr>; 2],
        context: &mut Context,
    ) -> Result<Expr> {
        if row_of(self.tree, input).is_some() {
            return self.row_between(input, negated, [low, high], context);
        }
        let (input, span) = self.operand(input, context)?;
        let copy = self.duplicate(&input)?;
        let low = self.operand(low, context)?;
        let above = self.operator(if negated { "<" } else { ">=" }, vec![(input, span), low], None)?;
        let high = self.operand(high, context)?;
        let below = self.operator(if negated { ">" } else { "<=" }, vec![(copy, span), high], None)?;
        Ok(if negated { Expr::Or(vec![above, below]) } else { Expr::And(vec![above, below]) })
    }

    /// Of a row: two comparisons, as they would be written.
    fn row_between(
        &mut self,
        input: Id<ast::Expr>,
        negated: bool,
        [low, high]: [Id<ast::Expr>; 2],
        context: &mut Context,
    ) -> Result<Expr> {
        let above = self.compared(input, if negated { "<" } else { ">=" }, low, context)?;
        let below = self.compared(input, if negated { ">" } else { "<=" }, high, context)?;
        Ok(if negated { Expr::Or(vec![above, below]) } else { Expr::And(vec![above, below]) })
    }

    /// `left symbol right`, column by column where both are rows.
    fn compared(
        &mut self,
        left: Id<ast::Expr>,
        symbol: &str,
        right: Id<ast::Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        if let (Some(lefts), Some(rights)) = (row_of(self.tree, left), row_of(self.tree, right)) {
            let span = self.tree.span(left);
            let compared = self.row_comparison(lefts, symbol, rights, NOWHERE, context);
            return compared.map_err(|error| self.at_behind(error, span));
        }
        let operands = vec![self.operand(left, context)?, self.operand(right, context)?];
        self.operator(symbol, operands, None)
    }

    /// `a BETWEEN SYMMETRIC b AND c`: between them whichever is less.
    pub(super) fn between_symmetric(
        &mut self,
        input: Id<ast::Expr>,
        negated: bool,
        [low, high]: [Id<ast::Expr>; 2],
        context: &mut Context,
    ) -> Result<Expr> {
        if row_of(self.tree, input).is_some() {
            let ways = [[low, high], [high, low]].map(|bounds| self.row_between(input, negated, bounds, context));
            let ways = ways.into_iter().collect::<Result<_>>()?;
            return Ok(if negated { Expr::And(ways) } else { Expr::Or(ways) });
        }
        let input = self.operand(input, context)?;
        let bounds = [self.operand(low, context)?, self.operand(high, context)?];
        let mut ways = Vec::with_capacity(2);
        for (low, high) in [(0, 1), (1, 0)] {
            let above = [self.copy(&input)?, self.copy(&bounds[low])?];
            let below = [self.copy(&input)?, self.copy(&bounds[high])?];
            let above = self.operator(if negated { "<" } else { ">=" }, above.into(), None)?;
            let below = self.operator(if negated { ">" } else { "<=" }, below.into(), None)?;
            ways.push(if negated { Expr::Or(vec![above, below]) } else { Expr::And(vec![above, below]) });
        }
        Ok(if negated { Expr::And(ways) } else { Expr::Or(ways) })
    }

    fn copy(&mut self, (expr, span): &Operand) -> Result<Operand> {
        Ok((self.duplicate(expr)?, *span))
    }

    /// LIKE and ILIKE; with ESCAPE the operator has a third operand.
    pub(in crate::bind) fn like(
        &mut self,
        [input, pattern]: [Id<ast::Expr>; 2],
        escape: Option<Id<ast::Expr>>,
        symbol: &str,
        context: &mut Context,
    ) -> Result<Expr> {
        let mut operands = vec![self.operand(input, context)?, self.operand(pattern, context)?];
        if let Some(escape) = escape {
            operands.push(self.operand(escape, context)?);
        }
        self.operator(symbol, operands, None)
    }

    /// SIMILAR TO: the pattern as a regular expression.
    pub(super) fn similar(
        &mut self,
        [input, pattern]: [Id<ast::Expr>; 2],
        escape: Option<Id<ast::Expr>>,
        symbol: &str,
        context: &mut Context,
    ) -> Result<Expr> {
        let input = self.operand(input, context)?;
        let span = self.tree.span(pattern);
        let mut written = vec![self.operand(pattern, context)?];
        if let Some(escape) = escape {
            written.push(self.operand(escape, context)?);
        }
        let pattern = self.call("similar_to_escape", written, span)?;
        self.operator(symbol, vec![input, (pattern, span)], None)
    }

    pub(super) fn in_list(
        &mut self,
        input: Id<ast::Expr>,
        list: List<ast::Expr>,
        negated: bool,
        context: &mut Context,
    ) -> Result<Expr> {
        let found = match row_of(self.tree, input) {
            Some(row) => {
                let span = self.tree.span(input);
                self.row_in_list(row, list, context).map_err(|error| self.at_behind(error, span))?
            }
            None => self.scalar_in_list(input, list, context)?,
        };
        Ok(if negated { not(found) } else { found })
    }

    fn row_in_list(&mut self, row: List<ast::Expr>, list: List<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        let mut parts = Vec::with_capacity(tree.len(list));
        for element in tree.list(list) {
            let Some(other) = row_of(tree, element) else {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
            };
            parts.push(self.row_comparison(row, "=", other, NOWHERE, context)?);
        }
        Ok(if parts.len() == 1 { conjunction(parts) } else { Expr::Or(parts) })
    }

    fn scalar_in_list(&mut self, input: Id<ast::Expr>, list: List<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        let input = self.operand(input, context)?;
        let mut elements = Vec::with_capacity(tree.len(list));
        for element in tree.list(list) {
            elements.push(self.operand(element, context)?);
        }
        self.any_of(input, elements, None)
    }

    /// `input IN (elements)`: one comparison where the elements agree on a type, else one for each. As in PostgreSQL, an element that
    /// looks at the row is compared on its own, and so is one that is alone.
    pub(super) fn any_of(&mut self, input: Operand, elements: Vec<Operand>, place: Option<Span>) -> Result<Expr> {
        let base = input.0.data_type().base();
        let is_alike = |(element, _): &Operand| [base, DataType::Unknown].contains(&element.data_type().base());
        if elements.iter().all(is_alike) {
            return self.any_of_alike(input, elements, place);
        }
        let (mut together, mut apart): (Vec<_>, Vec<_>) =
            elements.into_iter().partition(|(element, _)| used_columns(element).is_empty());
        if together.len() < 2 {
            apart.splice(0..0, together.drain(..));
        }
        let mut parts = Vec::with_capacity(1 + apart.len());
        if !together.is_empty() {
            let copy = (self.duplicate(&input.0)?, input.1);
            parts.push(self.any_of_alike(copy, together, place)?);
        }
        parts.extend(self.equal_to_each(input, apart, place)?);
        Ok(if parts.len() == 1 { conjunction(parts) } else { Expr::Or(parts) })
    }

    fn any_of_alike(&mut self, input: Operand, elements: Vec<Operand>, place: Option<Span>) -> Result<Expr> {
        let mut types = vec![(input.0.data_type(), input.1)];
        types.extend(elements.iter().map(|(element, span)| (element.data_type(), *span)));
        match self.common_type("IN", &types) {
            Ok(common) => self.in_list_of(input, elements, common, place),
            Err(_) => self.equal_to_each(input, elements, place).map(Expr::Or),
        }
    }

    /// `input = ANY (ARRAY[elements])`: the array has a type of its own, unless nothing in it has one.
    pub(in crate::bind) fn any_of_array(
        &mut self,
        input: Operand,
        elements: Vec<Operand>,
        place: Option<Span>,
    ) -> Result<Expr> {
        let is_untyped = elements.iter().all(|(element, _)| element.data_type() == DataType::Unknown);
        // An array of nothing but strings is one of texts, whose blanks count, and whose case.
        if is_untyped && !matches!(input.0.data_type(), DataType::Char(_) | DataType::Citext(_)) {
            return self.any_of_alike(input, elements, place);
        }
        let types: Vec<_> = elements.iter().map(|(element, span)| (element.data_type(), *span)).collect();
        let common = self.common_type("ARRAY", &types)?;
        self.in_list_of(input, elements, common, place)
    }

    /// The elements of an array that has no type but that of its strings: texts. (Beside a `char(n)` a string alone would be one, too.)
    pub(in crate::bind) fn texts_of_strings(&mut self, elements: Vec<Operand>) -> Result<Vec<Operand>> {
        if !elements.iter().all(|(element, _)| element.data_type() == DataType::Unknown) {
            return Ok(elements);
        }
        let text = |(element, span)| Ok((self.implicit(element, DataType::Text, span)?, span));
        elements.into_iter().map(text).collect()
    }

    fn in_list_of(
        &mut self,
        input: Operand,
        elements: Vec<Operand>,
        common: DataType,
        place: Option<Span>,
    ) -> Result<Expr> {
        let probe = Expr::Literal { value: Value::Null, data_type: common };
        let sides = [input, (probe, NOWHERE)];
        let equal = self.find_operator("=", &sides, place)?;
        let [(input, span), _] = sides;
        let input = self.argument(input, equal.args.first().copied(), span)?;
        let mut list = Vec::with_capacity(elements.len());
        for (element, span) in elements {
            let element = self.implicit(element, common, span)?;
            list.push(self.argument(element, equal.args.get(1).copied(), span)?);
        }
        Ok(Expr::InList { input: Box::new(input), list, equal })
    }

    fn equal_to_each(&mut self, input: Operand, elements: Vec<Operand>, place: Option<Span>) -> Result<Vec<Expr>> {
        let mut parts = Vec::with_capacity(elements.len());
        for element in elements {
            let copy = (self.duplicate(&input.0)?, input.1);
            parts.push(self.operator("=", vec![copy, element], place)?);
        }
        Ok(parts)
    }
}

/// An operand and its place.
pub(in crate::bind) type Operand = (Expr, Span);

/// The parts of `(a, b)` or `ROW(a, b)`.
pub(in crate::bind) fn row_of(tree: &Tree<'_>, expr: Id<ast::Expr>) -> Option<List<ast::Expr>> {
    match tree.get(expr) {
        ast::Expr::Row { items, .. } => Some(items),
        _ => None,
    }
}

/// PostgreSQL's operators that work on no type that the engine has.
const MISSING: &[&str] = &[
    "->", "->>", "#>", "#>>", "#-", "@>", "<@", "@?", "@@", "@@@", "?", "?|", "?&", "?-", "?#", "?-|", "?||", "&&",
    "&&&", "&<", "&>", "<<|", "|>>", "&<|", "|&>", "<<=", ">>=", "<->", "<^", ">^", "##", "~=", "-|-", "!!", "@-@",
    "#",
];

impl<'a> Binder<'a> {
    /// The catalogue's name of an operator.
    pub(in crate::bind) fn symbol(&self, operator: Id<ast::Operator>) -> Result<&'a str> {
        let tree = self.tree;
        let symbol = match tree.get(operator) {
            ast::Operator::Plain { text } => tree.text(text),
            ast::Operator::Qualified { names } => {
                let said: Vec<&str> = tree.list(names).map(|name| name_text(tree, name)).collect();
                match (plain_name(tree, names), said.as_slice()) {
                    (Some((symbol, _)), _) => symbol,
                    (None, [schema, symbol]) if self.is_operator_of_extension(schema, symbol) => symbol,
                    (None, _) => {
                        let message = format!("operator does not exist: {}", dotted(tree, names));
                        return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
                    }
                }
            }
            ast::Operator::Like => "~~",
            ast::Operator::NotLike => "!~~",
            ast::Operator::ILike => "~~*",
            ast::Operator::NotILike => "!~~*",
        };
        // The operators that there are hold one of few characters in first place.
        let common =
            matches!(symbol.as_bytes(), [b'=' | b'<' | b'>' | b'+' | b'-' | b'*' | b'/'] | [b'<' | b'>', b'=' | b'>']);
        match !common && MISSING.contains(&symbol) && crate::functions::overloads(symbol).is_empty() {
            true => Err(Error::unsupported(format!("operator {symbol}"))),
            false => Ok(symbol),
        }
    }
}

//! Scalar expressions: the dispatcher, and the forms that fit a few lines.

use cairn_parser::{self as ast, Id, Indirection, IsTest, List, Matching, Name, Operator, Span};

use super::coerce::{boolean, null, text};
use super::composite::{attribute_at, attributes_of};
use super::operators::{Operand, row_of};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::variables::{Conflict, Variables};
use crate::error::Feature;
use crate::plan::Expr;
use crate::sql::{list_span, name_text};
use crate::types::{COLLATION_HINT, DataType, TypeCategory, is_known_collation};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    /// Binds an expression. What is still untyped in the result takes its type from where it stands.
    pub(in crate::bind) fn expr(&mut self, expr: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let bound = self.bound_expr(expr, context);
        if let (Some(_), Ok(bound)) = (&self.facts, &bound) {
            self.know_type(expr, bound.data_type());
        }
        bound
    }

    #[inline(always)]
    fn bound_expr(&mut self, expr: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        use ast::Expr as E;
        match self.tree.get(expr) {
            E::Column { names } => self.column(names, context),
            E::Integer { text } | E::Number { text } => self.number(self.tree.text(text), self.tree.span(expr)),
            E::String { text } => {
                self.note(|noted| noted.add_string(self.tree.span(expr), self.tree.text(text)));
                Ok(self.string(text))
            }
            E::Null => Ok(null(crate::types::DataType::Unknown)),
            E::Boolean { value } => Ok(boolean(value)),
            E::Parameter { number } => self.parameter(number),
            E::TypedString { data_type, literal } => self.typed_string(data_type, literal),
            E::Binary { left, .. } if self.goes_on(left) => self.long_chain(expr, context),
            E::Binary { operator, left, right } => self.binary(left, operator, right, context),
            E::Unary { operator, operand } => self.unary(operator, operand, context),
            E::And { operands } | E::Or { operands } => self.chain(expr, operands, context),
            E::Not { operand } => self.negation(operand, context),
            E::Call { name, form, args, tail } => self.function(name, form, args, tail, context),
            E::Special { form, args } => self.special(form, args, self.tree.span(expr), context),
            E::Cast { operand, data_type } => self.cast(expr, operand, data_type, context),
            E::Case { operand, whens, otherwise } => self.case(operand, whens, otherwise, context),
            E::Subquery { .. } | E::Exists { .. } | E::InQuery { .. } => self.subquery(expr, context),
            E::Quantified { .. } | E::QuantifiedQuery { .. } => self.quantified(expr, context),
            E::InList { operand, items, negated } => self.in_list(operand, items, negated, context),
            E::Is { operand, test, negated } => self.is(expr, operand, test, negated, context),
            E::IsDistinct { left, right, negated } => self.is_distinct(left, right, negated, context),
            E::Between { operand, low, high, symmetric, negated } => {
                let between = if symmetric { Self::between_symmetric } else { Self::between };
                between(self, operand, negated, [low, high], context)
            }
            E::Like { operand, pattern, escape, matching, negated } => match matching {
                Matching::Like => self.like([operand, pattern], escape, if negated { "!~~" } else { "~~" }, context),
                Matching::ILike => self.like([operand, pattern], escape, if negated { "!~~*" } else { "~~*" }, context),
                Matching::SimilarTo => {
                    self.similar([operand, pattern], escape, if negated { "!~" } else { "~" }, context)
                }
            },
            E::Extract { field, source } => self.extract(field, source, self.tree.span(expr), context),
            E::AtTimeZone { operand, zone } => {
                self.call_on("timezone", &[zone, operand], context, self.tree.span(expr))
            }
            E::Collate { operand, collation } => self.collate(operand, collation, context),
            E::SessionValue { value, precision } => self.session_value(value, precision, self.tree.span(expr)),
            E::Grouping { args } => self.grouping(args, self.tree.span(expr), context),
            E::Indirection { base, steps } => self.indirection(base, steps, context),
            E::Default => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "DEFAULT is not allowed in this context");
                Err(self.at(error, self.tree.span(expr)))
            }
            E::IsNormalized { operand, .. } => Err(self.refuse_behind("IS NORMALIZED", operand)),
            E::IsJson { operand, .. } => Err(self.refuse_behind("IS JSON", operand)),
            E::Overlaps { left, right } => self.overlaps([left, right], expr, context),
            E::Row { items, .. } => self.row(items, context),
            E::All { qualifier } if qualifier.is_empty() => self.refuse("`*` as a value", expr),
            E::All { qualifier } => self.whole_row_of(qualifier, context),
            E::Array { items } => self.array(expr, items, None, context),
            E::ArrayQuery { query } => self.array_query(expr, query, context),
            E::BitString { .. } | E::HexString { .. } => {
                Err(self.at(Error::lacking(Feature::BitStrings, "a bit string"), self.place(expr)))
            }
            E::NamedArgument { .. } => self.refuse("a named argument", expr),
            E::Treat { .. } => self.refuse("TREAT", expr),
            E::Normalize { .. } => self.refuse("NORMALIZE", expr),
            E::XmlElement { .. } => self.refuse("XMLELEMENT", expr),
            E::XmlForest { .. } => self.refuse("XMLFOREST", expr),
            E::XmlParse { .. } => self.refuse("XMLPARSE", expr),
            E::XmlPi { .. } => self.refuse("XMLPI", expr),
            E::XmlRoot { .. } => self.refuse("XMLROOT", expr),
            E::XmlSerialize { .. } => self.refuse("XMLSERIALIZE", expr),
            E::XmlExists { .. } => self.refuse("XMLEXISTS", expr),
        }
    }

    /// An expression and its place.
    pub(in crate::bind) fn operand(&mut self, expr: Id<ast::Expr>, context: &mut Context) -> Result<(Expr, Span)> {
        Ok((self.expr(expr, context)?, self.place(expr)))
    }

    /// Where PostgreSQL says that an expression stands: at its first word, whatever parentheses are before it, and of
    /// `date '2026-01-01'` at the string.
    pub(in crate::bind) fn place(&self, expr: Id<ast::Expr>) -> Span {
        let tree = self.tree;
        let (mut first, mut span) = (expr, tree.span(expr));
        loop {
            let node = tree.get(first);
            if let ast::Expr::TypedString { literal, .. } = node {
                return tree.span(literal);
            }
            match first_operand(tree, node) {
                Some(operand) if tree.source().as_bytes().get(span.start as usize) == Some(&b'(') => first = operand,
                _ => return span,
            }
            span.start = tree.span(first).start;
        }
    }

    /// What the engine lacks, at its place.
    pub(in crate::bind) fn refuse<T>(&self, what: &str, expr: Id<ast::Expr>) -> Result<T> {
        Err(self.at(Error::unsupported(what), self.place(expr)))
    }

    /// Texts are ordered by their bytes: under any other name the order would not be what was asked for.
    pub(in crate::bind) fn check_collation(&self, collation: List<ast::Name>) -> Result<()> {
        let name: Vec<&str> = self.tree.list(collation).map(|part| name_text(self.tree, part)).collect();
        if name.is_empty() || is_known_collation(&name) {
            return Ok(());
        }
        let message = format!("collation \"{}\" for encoding \"UTF8\" does not exist", name.join("."));
        let error = Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(COLLATION_HINT);
        Err(self.at(error, list_span(self.tree, collation).unwrap_or(NOWHERE)))
    }

    fn collate(&mut self, operand: Id<ast::Expr>, collation: List<ast::Name>, context: &mut Context) -> Result<Expr> {
        self.check_collation(collation)?;
        let operand = self.expr(operand, context)?;
        let data_type = operand.data_type();
        match data_type.element().unwrap_or(data_type) {
            DataType::Unknown => Ok(operand),
            text if text.category() == TypeCategory::String => Ok(operand),
            _ => {
                let message = format!("collations are not supported by type {data_type}");
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message);
                Err(self.at(error, list_span(self.tree, collation).unwrap_or(NOWHERE)))
            }
        }
    }

    fn refuse_behind(&self, what: &str, operand: Id<ast::Expr>) -> Error {
        self.at_behind(Error::unsupported(what), self.tree.span(operand))
    }

    /// `(a, b) OVERLAPS (c, d)`: each a time, and another one or how long it is to it.
    fn overlaps(&mut self, sides: [Id<ast::Expr>; 2], expr: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let span = self.place(expr);
        let (mut times, mut starts) = (Vec::with_capacity(4), Vec::with_capacity(2));
        for (side, name) in sides.into_iter().zip(["left", "right"]) {
            let items = row_of(self.tree, side).unwrap_or(List::EMPTY);
            let pair = <[Operand; 2]>::try_from(self.operands_of(items, context)?);
            let Ok([start, end]) = pair else {
                let message = format!("wrong number of parameters on {name} side of OVERLAPS expression");
                return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
            };
            if end.0.data_type().base() != DataType::INTERVAL {
                times.extend([start, end]);
                continue;
            }
            let (at, start) = (start.1, self.once(start));
            let begun = self.use_of(&start)?;
            times.extend([self.use_of(&start)?, (self.call("+", vec![begun, end], span)?, at)]);
            starts.push(start);
        }
        let overlap = self.call("overlaps", times, span)?;
        Ok(starts.into_iter().rfold(overlap, |body, start| start.around(body)))
    }

    fn indirection(&mut self, base: Id<ast::Expr>, steps: List<Indirection>, context: &mut Context) -> Result<Expr> {
        let is_subscript = |step| matches!(self.tree.get(step), Indirection::Index { .. } | Indirection::Slice { .. });
        let steps: Vec<Id<Indirection>> = self.tree.list(steps).collect();
        let mut value = self.operand(base, context)?;
        let mut left = steps.as_slice();
        let mut called = match self.tree.get(base) {
            ast::Expr::Column { names } => self.tree.list(names).next_back().map(|name| name_text(self.tree, name)),
            _ => None,
        };
        while let Some((first, rest)) = left.split_first() {
            let subscripts = left.iter().position(|step| !is_subscript(*step)).unwrap_or(left.len());
            (value.0, left) = match self.tree.get(*first) {
                Indirection::Field { name } => (self.field(value.clone(), name, called)?, rest),
                Indirection::All => return Err(self.at(Error::unsupported("a row's fields in this place"), value.1)),
                _ => (self.subscripts(value.clone(), &left[..subscripts], context)?, &left[subscripts..]),
            };
            called = None;
        }
        Ok(value.0)
    }

    pub(super) fn refuse_step(&self, steps: &[Id<Indirection>]) -> Error {
        self.at(Error::unsupported("a field of a row in this place"), self.place_of_steps(steps))
    }

    pub(super) fn place_of_steps(&self, steps: &[Id<Indirection>]) -> Span {
        match (steps.first(), steps.last()) {
            (Some(first), Some(last)) => Span { start: self.tree.span(*first).start, end: self.tree.span(*last).end },
            _ => NOWHERE,
        }
    }

    fn column(&mut self, names: List<Name>, context: &mut Context) -> Result<Expr> {
        if context.clause == Clause::Default {
            let message = format!("cannot use column reference in {}", context.clause.place());
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(self.at(error, list_span(self.tree, names).unwrap_or(NOWHERE)));
        }
        let bound = match self.parameters.variables.clone().filter(|_| self.definition.is_none()) {
            None => self.column_or_row(names, context)?,
            Some(variables) => self.column_or_variable(names, context, &*variables)?,
        };
        if !context.in_aggregate && context.clause != Clause::Where {
            context.mention(&bound, list_span(self.tree, names).unwrap_or(NOWHERE));
        }
        Ok(bound)
    }

    fn column_of(&self, names: List<Name>, context: &Context) -> Result<Expr> {
        let mut parts = self.tree.list(names);
        let column = match (parts.next(), parts.next()) {
            (Some(only), None) => self.resolve(context.env, only),
            _ => self.resolve_qualified(context.env, names),
        };
        if self.facts.is_some() && column.is_ok() {
            self.know_owner(names, context);
        }
        column
    }

    /// A column, or the whole row of a relation of this name.
    fn column_or_row(&mut self, names: List<Name>, context: &mut Context) -> Result<Expr> {
        let column = self.column_of(names, context);
        match (&column, self.tree.len(names)) {
            (Err(error), 1) if error.sqlstate() == SqlState::UNDEFINED_COLUMN => {
                self.whole_row_of(names, context).or(column)
            }
            (Err(error), 2..) if error.sqlstate() == SqlState::UNDEFINED_COLUMN => {
                self.computed_column(names, context)?.map_or(column, Ok)
            }
            _ => column,
        }
    }

    /// In a function's body.
    fn column_or_variable(
        &mut self,
        names: List<Name>,
        context: &mut Context,
        variables: &dyn Variables,
    ) -> Result<Expr> {
        let written: Vec<&str> = self.tree.list(names).map(|name| name_text(self.tree, name)).collect();
        if let Some(row) = self.variable_value(names)? {
            return Ok(row);
        }
        if variables.conflict() == Conflict::Variable
            && let Ok(Some((index, data_type))) = variables.find(&written)
        {
            return Ok(Expr::parameter(index, self.parameters.variable(index, data_type)));
        }
        let column = self.column_or_row(names, context);
        if column.is_ok() && variables.conflict() == Conflict::Column {
            return column;
        }
        match (variables.find(&written)?, column) {
            (None, Err(error)) => {
                let row = written.split_last().map(|(field, row)| (field, variables.find(row)));
                match row {
                    Some((field, Ok(Some((index, DataType::Composite(of)))))) if of.place_of(field).is_some() => {
                        let data_type = self.parameters.variable(index, DataType::Composite(of));
                        let at = of.place_of(field).unwrap_or_default();
                        Ok(attribute_at(Expr::parameter(index, data_type), of, at))
                    }
                    Some((_, Ok(Some((index, data_type @ DataType::Composite(_)))))) => {
                        let row = Expr::parameter(index, self.parameters.variable(index, data_type));
                        let place = list_span(self.tree, names).unwrap_or(NOWHERE);
                        let name = self.tree.list(names).last();
                        let computed = name.map(|name| self.computed((row, place), name)).transpose()?.flatten();
                        computed.ok_or(error)
                    }
                    _ => Err(error),
                }
            }
            (None, column) => column,
            (Some(_), Ok(_)) => {
                let message = format!("column reference \"{}\" is ambiguous", written.join("."));
                let detail = "It could refer to either a PL/pgSQL variable or a table column.";
                let error = Error::new(SqlState::AMBIGUOUS_COLUMN, message).with_detail(detail);
                Err(self.at(error, list_span(self.tree, names).unwrap_or(NOWHERE)))
            }
            (Some((index, data_type)), Err(_)) => {
                Ok(Expr::parameter(index, self.parameters.variable(index, data_type)))
            }
        }
    }

    fn unary(&mut self, operator: Id<Operator>, operand: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let name = self.symbol(operator).map_err(|error| self.at(error, self.tree.span(operator)))?;
        if let Some(number) = self.signed_number(name, operand) {
            return number;
        }
        let bound = self.operand(operand, context)?;
        self.operator(name, vec![bound], Some(self.tree.span(operator)))
    }

    fn negation(&mut self, operand: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let (bound, span) = self.operand(operand, context)?;
        Ok(not(self.condition(bound, "NOT", span)?))
    }

    fn cast(
        &mut self,
        cast: Id<ast::Expr>,
        operand: Id<ast::Expr>,
        to: Id<ast::TypeName>,
        context: &mut Context,
    ) -> Result<Expr> {
        let (to, domain) = self.column_type(to)?;
        let (bound, span) = match self.tree.get(operand) {
            // Its elements are what is cast.
            ast::Expr::Array { items } if to.is_array() => {
                (self.array(operand, items, Some(to), context)?, self.place(operand))
            }
            _ => self.operand(operand, context)?,
        };
        // Behind the operand: at the `::`.
        let place = self.is_cast_call(cast, operand).then(|| self.tree.span(cast));
        let value = self.cast_to(bound, to, span, place)?;
        match domain {
            Some(domain) => self.of_domain(value, &domain),
            None => Ok(value),
        }
    }

    /// Whether it is `CAST (a AS b)`, and not `a::b`.
    fn is_cast_call(&self, cast: Id<ast::Expr>, operand: Id<ast::Expr>) -> bool {
        let begins = self.tree.written(cast).get(..4).is_some_and(|word| word.eq_ignore_ascii_case("cast"));
        begins && self.tree.span(cast).start != self.tree.span(operand).start
    }

    /// `x IS TRUE`, `IS NULL` and the like: never NULL themselves.
    fn is(
        &mut self,
        expr: Id<ast::Expr>,
        operand: Id<ast::Expr>,
        test: IsTest,
        negated: bool,
        context: &mut Context,
    ) -> Result<Expr> {
        let tested = match (test, negated) {
            (IsTest::Null, _) => return self.null_test(operand, negated, context),
            (IsTest::True, false) => self.truth_test(operand, Some(true), "IS TRUE", context)?,
            (IsTest::True, true) => self.truth_test(operand, Some(true), "IS NOT TRUE", context)?,
            (IsTest::False, false) => self.truth_test(operand, Some(false), "IS FALSE", context)?,
            (IsTest::False, true) => self.truth_test(operand, Some(false), "IS NOT FALSE", context)?,
            (IsTest::Unknown, false) => self.truth_test(operand, None, "IS UNKNOWN", context)?,
            (IsTest::Unknown, true) => self.truth_test(operand, None, "IS NOT UNKNOWN", context)?,
            (IsTest::Document, _) => return self.refuse("IS DOCUMENT", expr),
        };
        Ok(if negated { not(tested) } else { tested })
    }

    fn truth_test(
        &mut self,
        operand: Id<ast::Expr>,
        value: Option<bool>,
        name: &str,
        context: &mut Context,
    ) -> Result<Expr> {
        let (bound, span) = self.operand(operand, context)?;
        let bound = Box::new(self.condition(bound, name, span)?);
        Ok(match value {
            Some(value) => Expr::IsNotDistinct(bound, Box::new(boolean(value))),
            None => Expr::IsNull(bound),
        })
    }

    fn is_distinct(
        &mut self,
        left: Id<ast::Expr>,
        right: Id<ast::Expr>,
        negated: bool,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let same = match (row_of(tree, left), row_of(tree, right)) {
            (Some(lefts), Some(rights)) => {
                let (lefts, rights) = (self.row_items(lefts, context)?, self.row_items(rights, context)?);
                self.rows_not_distinct(lefts, rights)?
            }
            _ => {
                let operands = [self.operand(left, context)?, self.operand(right, context)?];
                match (attributes_of(&operands[0].0), attributes_of(&operands[1].0)) {
                    // No row is made of what is compared one by one.
                    (Some(lefts), Some(rights)) if lefts.len() == rights.len() => {
                        let values = |all: &[Expr]| all.iter().map(|value| (value.clone(), NOWHERE)).collect();
                        self.rows_not_distinct(values(lefts), values(rights))?
                    }
                    _ => self.not_distinct(operands.into())?,
                }
            }
        };
        Ok(if negated { same } else { not(same) })
    }

    fn rows_not_distinct(&mut self, lefts: Vec<(Expr, Span)>, rights: Vec<(Expr, Span)>) -> Result<Expr> {
        if lefts.len() != rights.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        let mut parts = Vec::with_capacity(lefts.len());
        for (left, right) in lefts.into_iter().zip(rights) {
            parts.push(self.not_distinct(vec![left, right])?);
        }
        Ok(conjunction(parts))
    }

    fn not_distinct(&mut self, operands: Vec<(Expr, Span)>) -> Result<Expr> {
        // `=` decides which types compare and how both sides are converted.
        let equal = self.operator("=", operands, None)?;
        let Expr::Call { args, .. } = equal else { return Err(Error::internal("a comparison is a call")) };
        let Ok([left, right]) = <[Expr; 2]>::try_from(args) else {
            return Err(Error::internal("a comparison of two"));
        };
        Ok(Expr::IsNotDistinct(Box::new(left), Box::new(right)))
    }
}

/// What an expression begins with, where that is an expression.
fn first_operand(tree: &ast::Tree<'_>, expr: ast::Expr) -> Option<Id<ast::Expr>> {
    use ast::Expr as E;
    match expr {
        E::Binary { left: operand, .. }
        | E::Quantified { left: operand, .. }
        | E::QuantifiedQuery { left: operand, .. }
        | E::Is { operand, .. }
        | E::IsDistinct { left: operand, .. }
        | E::IsNormalized { operand, .. }
        | E::IsJson { operand, .. }
        | E::Between { operand, .. }
        | E::Like { operand, .. }
        | E::InList { operand, .. }
        | E::InQuery { operand, .. }
        | E::AtTimeZone { operand, .. }
        | E::Collate { operand, .. }
        | E::Cast { operand, .. }
        | E::Indirection { base: operand, .. } => Some(operand),
        E::And { operands } | E::Or { operands } => tree.nth(operands, 0),
        _ => None,
    }
}

/// Logical negation.
pub(in crate::bind) fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

/// The conjunction of conditions; none is true.
pub(in crate::bind) fn conjunction(mut conditions: Vec<Expr>) -> Expr {
    match (conditions.pop(), conditions.is_empty()) {
        (None, _) => boolean(true),
        (Some(only), true) => only,
        (Some(last), false) => {
            conditions.push(last);
            Expr::And(conditions)
        }
    }
}

/// A keyword argument, such as EXTRACT's field.
pub(super) fn keyword(name: &str) -> Expr {
    text(&name.to_lowercase())
}

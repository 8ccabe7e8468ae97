//! Expressions with a syntax of their own: CASE, EXTRACT, SUBSTRING, TRIM, POSITION, OVERLAY, COALESCE, CURRENT_DATE.
//! Most are calls of ordinary functions.

use cairn_parser::{self as ast, Id, List, SessionValue, Span, SpecialForm};

use super::expr::keyword;
use super::once::Once;
use super::operators::Operand;
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::plan::Expr;
use crate::sql::name_text;
use crate::types::DataType;
use crate::types::datetime::DIGITS_MAX;
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn special(
        &mut self,
        form: SpecialForm,
        args: List<ast::Expr>,
        span: Span,
        context: &mut Context,
    ) -> Result<Expr> {
        let around = context.conditional;
        if form == SpecialForm::Coalesce {
            context.conditional = Some("COALESCE");
        }
        let bound = self.operands_of(args, context);
        context.conditional = around;
        let mut bound = bound?;
        match form {
            SpecialForm::Coalesce => {
                let (args, data_type) = self.unify("COALESCE", bound)?;
                Ok(Expr::Coalesce { args, data_type })
            }
            SpecialForm::NullIf => self.nullif(bound, span),
            SpecialForm::Greatest => self.extreme("greatest", bound, span),
            SpecialForm::Least => self.extreme("least", bound, span),
            SpecialForm::Overlay => self.call("overlay", bound, span),
            SpecialForm::Position => {
                bound.reverse();
                self.call("position", bound, span)
            }
            SpecialForm::SubstringFrom | SpecialForm::SubstringFromFor | SpecialForm::SubstringSimilar => {
                self.call("substring", bound, span)
            }
            SpecialForm::SubstringFor => {
                bound.insert(1, (self.number("1", span)?, span));
                self.call("substring", bound, span)
            }
            SpecialForm::TrimBoth => self.call("btrim", bound, span),
            SpecialForm::TrimLeading => self.call("ltrim", bound, span),
            SpecialForm::TrimTrailing => self.call("rtrim", bound, span),
            SpecialForm::CollationFor => Err(self.at(Error::unsupported("COLLATION FOR"), span)),
            SpecialForm::XmlConcat => Err(self.at(Error::unsupported("XMLCONCAT"), span)),
        }
    }

    pub(in crate::bind) fn operands_of(
        &mut self,
        exprs: List<ast::Expr>,
        context: &mut Context,
    ) -> Result<Vec<Operand>> {
        let tree = self.tree;
        let mut operands = Vec::with_capacity(tree.len(exprs));
        for expr in tree.list(exprs) {
            operands.push(self.operand(expr, context)?);
        }
        Ok(operands)
    }

    /// A call of an ordinary function.
    pub(super) fn call_on(
        &mut self,
        name: &str,
        args: &[Id<ast::Expr>],
        context: &mut Context,
        span: Span,
    ) -> Result<Expr> {
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            bound.push(self.operand(*arg, context)?);
        }
        self.call(name, bound, span)
    }

    pub(in crate::bind) fn extract(
        &mut self,
        field: Id<ast::Name>,
        source: Id<ast::Expr>,
        span: Span,
        context: &mut Context,
    ) -> Result<Expr> {
        let field = (keyword(name_text(self.tree, field)), self.tree.span(field));
        let source = self.operand(source, context)?;
        self.call("extract", vec![field, source], span)
    }

    /// `CASE WHEN a = b THEN NULL ELSE a END`, where `a` is as it was compared: an untyped one has the type of `b`.
    fn nullif(&mut self, args: Vec<Operand>, span: Span) -> Result<Expr> {
        let Expr::Call { function, args } = self.operator("=", args, Some(span))? else {
            return Err(Error::internal("a comparison is a call"));
        };
        let Ok([left, right]) = <[Expr; 2]>::try_from(args) else {
            return Err(Error::internal("NULLIF takes two arguments"));
        };
        let left = self.once((left, span));
        let (compared, result) = (self.use_of(&left)?.0, self.use_of(&left)?.0);
        // A varchar was compared as text.
        let taken = function.args.first().copied();
        let data_type = taken.filter(|taken| *taken != result.data_type().base()).unwrap_or(result.data_type());
        let result = self.implicit(result, data_type, span)?;
        let equal = Expr::Call { function, args: vec![compared, right] };
        let branches = vec![(equal, super::coerce::null(data_type))];
        Ok(left.around(Expr::Case { branches, otherwise: Some(Box::new(result)), data_type }))
    }

    /// GREATEST, LEAST.
    fn extreme(&mut self, name: &str, args: Vec<Operand>, span: Span) -> Result<Expr> {
        let (args, common) = self.unify(&name.to_uppercase(), args)?;
        // Texts among varchars are one representation, but the name of the result's type is at stake.
        let labelled = |arg: Expr| match arg.data_type().base() == common.base() {
            true => arg,
            false => Expr::Cast { input: Box::new(arg), to: common.base() },
        };
        self.call(name, args.into_iter().map(|arg| (labelled(arg), span)).collect(), span)
    }

    /// `CURRENT_DATE` and the like: the SQL standard's names for parts of `now()` and of the session.
    pub(super) fn session_value(
        &mut self,
        value: SessionValue,
        precision: Option<Id<ast::Expr>>,
        span: Span,
    ) -> Result<Expr> {
        // More digits than there are, however many, are all of them.
        let written = precision.map(|precision| self.tree.written(precision).parse().unwrap_or(DIGITS_MAX));
        let digits = written.map(|digits| digits.min(DIGITS_MAX));
        let name = match value {
            SessionValue::CurrentDate => return self.clock(DataType::Date, span),
            SessionValue::CurrentTimestamp => return self.clock(DataType::TimestampTz(digits), span),
            SessionValue::LocalTimestamp => return self.clock(DataType::Timestamp(digits), span),
            SessionValue::LocalTime => return self.clock(DataType::Time(digits), span),
            SessionValue::CurrentTime => return self.clock(DataType::TimeTz(digits), span),
            SessionValue::CurrentRole => "current_role",
            SessionValue::CurrentUser => "current_user",
            SessionValue::SessionUser => "session_user",
            SessionValue::User => "user",
            SessionValue::CurrentCatalog => "current_catalog",
            SessionValue::CurrentSchema => return Ok(self.current_schema()),
        };
        self.call(name, vec![], span)
    }

    fn clock(&mut self, data_type: DataType, span: Span) -> Result<Expr> {
        let now = self.call("now", vec![], span)?;
        self.explicit(now, data_type, span)
    }

    pub(in crate::bind) fn case(
        &mut self,
        operand: Option<Id<ast::Expr>>,
        conditions: List<ast::When>,
        otherwise: Option<Id<ast::Expr>>,
        context: &mut Context,
    ) -> Result<Expr> {
        let around = context.conditional.replace("CASE");
        let bound = self.case_within(operand, conditions, otherwise, context);
        context.conditional = around;
        bound
    }

    fn case_within(
        &mut self,
        operand: Option<Id<ast::Expr>>,
        conditions: List<ast::When>,
        otherwise: Option<Id<ast::Expr>>,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let operand = match operand {
            Some(operand) => {
                let (bound, span) = self.operand(operand, context)?;
                let operand = (self.known(bound)?, span);
                Some(self.once(operand))
            }
            None => None,
        };
        let mut whens = Vec::with_capacity(tree.len(conditions));
        // PostgreSQL looks at ELSE first when it decides on the type.
        let mut results = vec![];
        if let Some(otherwise) = otherwise {
            results.push(self.operand(otherwise, context)?);
        }
        for when in tree.list(conditions) {
            whens.push(self.when(operand.as_ref(), when, context)?);
            results.push(self.operand(tree.get(when).result, context)?);
        }
        let (mut results, data_type) = self.unify("CASE", results)?;
        let otherwise = otherwise.map(|_| Box::new(results.remove(0)));
        let case = Expr::Case { branches: whens.into_iter().zip(results).collect(), otherwise, data_type };
        Ok(match operand {
            Some(operand) => operand.around(case),
            None => case,
        })
    }

    fn when(&mut self, operand: Option<&Once>, when: Id<ast::When>, context: &mut Context) -> Result<Expr> {
        let (bound, span) = self.operand(self.tree.get(when).condition, context)?;
        match operand {
            Some(operand) => {
                let operand = self.use_of(operand)?;
                self.operator("=", vec![operand, (bound, span)], Some(self.tree.span(when)))
            }
            None => self.condition(bound, "CASE/WHEN", span),
        }
    }
}

//! Function calls: which is meant, and what the entry chosen makes of its call: a value, an aggregate's or a window's column, rows.

use std::cell::Cell;
use std::sync::Arc;

use cairn_parser::{self as ast, CallForm, Id, List, Span};

use super::named_arguments::{Arguments, Bound, Within};
use super::ordered_sets::without_group;
use super::overload::{Choice, choose, no_function};
use super::routine::{Meant, Named, no_such, returned_row};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context, SetCall};
use crate::bind::expressions::coerce::text;
use crate::bind::expressions::composite::attribute_at;
use crate::bind::expressions::operators::Operand;
use crate::bind::queries::grouping::raise;
use crate::bind::queries::windows::without_over;
use crate::bind::relations::from_functions::set_fields;
use crate::catalog::Returns;
use crate::functions::composite::zones_written;
use crate::functions::json::{Populate, populated};
use crate::functions::{ANY, Aggregate, AggregateKind, Function, Hypothetical, Special, overloads, window_overloads};
use crate::plan::{AggregateCall, Expr, Field, SequenceOp, SortKey, StandIn, is_volatile, same_expr};
use crate::sql::list_span;
use crate::system;
use crate::types::{CastContext, CompositeType, DataType, can_cast};
use crate::{Error, Result, SqlState, Value};

/// A call's syntax, taken apart.
pub(in crate::bind) struct Call<'t> {
    pub(in crate::bind) schema: Option<&'t str>,
    /// See [`Named`].
    pub(in crate::bind) built_in: bool,
    pub(in crate::bind) name: &'t str,
    pub(in crate::bind) span: Span,
    pub(in crate::bind) args: List<ast::Expr>,
    /// The arguments, where it took their types to tell that a built-in function is meant.
    pub(in crate::bind) bound: Cell<Option<Bound<'t>>>,
    /// The aggregate, where it is known that one of the schema's is meant; it is asked for once.
    pub(in crate::bind) stored: Cell<Option<Arc<Aggregate>>>,
    /// `f(a, VARIADIC b)`
    pub(in crate::bind) variadic: bool,
    /// `count(*)`.
    pub(in crate::bind) star: bool,
    pub(in crate::bind) distinct: bool,
    pub(in crate::bind) order_by: List<ast::SortKey>,
    pub(in crate::bind) filter: Option<Id<ast::Expr>>,
    pub(super) within_group: List<ast::SortKey>,
    pub(in crate::bind) over: Option<Id<ast::Over>>,
}

impl<'t> Call<'t> {
    pub(in crate::bind) fn named(&self) -> Named<'t> {
        Named { schema: self.schema, built_in: self.built_in, name: self.name, span: self.span }
    }

    /// Its arguments, which are asked for once.
    pub(in crate::bind) fn arguments(&self) -> Arguments<'t> {
        let bound = self.bound.take();
        bound.map_or(Arguments::Written(self.args), |bound| Arguments::Bound(bound.given))
    }

    /// `name(a, b)` and no more.
    fn is_plain(&self) -> bool {
        let lists = self.order_by.is_empty() && self.within_group.is_empty();
        let clauses = self.filter.is_some() || self.over.is_some();
        lists && !clauses && self.schema.is_none() && !self.variadic && !self.star && !self.distinct
    }
}

/// `timetz(a)`: the type that is called like a function, where a value may become one.
fn type_called(call: &Call, args: &[Operand]) -> Option<DataType> {
    let [(arg, _)] = args else { return None };
    let to = DataType::from_name(call.name).filter(|to| call.is_plain() && to.catalog_name() == call.name)?;
    let from = arg.data_type();
    let is_row_as_text = matches!(from, DataType::Composite(_)) && to.is_string();
    (!is_row_as_text && can_cast(from, to, CastContext::Explicit)).then_some(to)
}

impl<'a> Binder<'a> {
    /// What MERGE did with the row. SQLSTATE 42601 elsewhere.
    fn merge_action(&self, span: Span) -> Result<Expr> {
        let column = self.merge_action.map(|index| Expr::Column { index, data_type: DataType::Text });
        column.ok_or_else(|| {
            let message = "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command";
            self.at(Error::new(SqlState::SYNTAX_ERROR, message), span)
        })
    }

    pub(in crate::bind) fn function(
        &mut self,
        name: List<ast::Name>,
        form: CallForm,
        args: List<ast::Expr>,
        tail: Option<Id<ast::CallTail>>,
        context: &mut Context,
    ) -> Result<Expr> {
        let call = self.take_apart(name, form, args, tail)?;
        if !call.within_group.is_empty() {
            return self.ordered_set(&call, context);
        }
        let stored = self.stored(call.named())?;
        if !stored.is_empty()
            && let Some(called) = self.routine_called(&call, &stored, context)?
        {
            return Ok(called);
        }
        if call.schema.is_some() {
            let given = self.given(call.args, context)?;
            return Err(self.at(no_such(call.named(), &given), call.span));
        }
        self.built_in(&call, context)
    }

    /// The call, if it means one of the schema's functions.
    fn routine_called(
        &mut self,
        call: &Call<'a>,
        stored: &[Arc<Function>],
        context: &mut Context,
    ) -> Result<Option<Expr>> {
        let mentioned = context.mentions.len();
        let given = self.given(call.args, context)?;
        let (function, args) = match self.meant(call.named(), stored, given, call.variadic)? {
            Meant::Routine(function, args) => (function, args),
            Meant::Aggregate(function, given) => {
                let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
                call.bound.set(Some(Bound { given, mentioned }));
                return self.stored_aggregate_called(call, &function, &types, context).map(Some);
            }
            Meant::BuiltIn(given) => {
                call.bound.set(Some(Bound { given, mentioned }));
                return Ok(None);
            }
        };
        self.refuse_aggregate_syntax(call, true)?;
        match function.routine().is_some_and(|routine| routine.set) {
            true => self.stored_rows_in_select(call, function, args, context).map(Some),
            false => self.stored_value(function, args, call.span).map(Some),
        }
    }

    /// The call of an aggregate that SQL made.
    fn stored_aggregate_called(
        &mut self,
        call: &Call<'a>,
        function: &Arc<Function>,
        types: &[DataType],
        context: &mut Context,
    ) -> Result<Expr> {
        if call.variadic {
            return Err(self.at(no_function(call.name, types), call.span));
        }
        let aggregate = self.stored_aggregate(function, types, call.span)?;
        call.stored.set(Some(aggregate));
        match call.over {
            Some(over) => self.window_call(call, over, context),
            None => self.aggregate(call, context),
        }
    }

    /// A built-in function as a value: of one that returns rows the column that these stand in as.
    fn built_in(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        match self.built_in_call(call, context)? {
            Expr::Call { function, args } if function.returns_rows() => {
                self.rows_in_select((call, function, args), context)
            }
            value => Ok(value),
        }
    }

    /// What a call means that means none of the schema's functions: what the entry chosen says. Its rows, if it returns some, are left
    /// to where it stands.
    pub(in crate::bind) fn built_in_call(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        let windows_only = !window_overloads(call.name).is_empty();
        let is_aggregate = !windows_only && !self.aggregate_overloads(call.name).is_empty();
        match call.over {
            Some(over) if windows_only || is_aggregate => return self.window_call(call, over, context),
            None if windows_only && !call.args.is_empty() && hypothetical(call.name).is_some() => {
                return Err(self.at(without_group(call.name), call.span));
            }
            None if windows_only => return Err(self.at(without_over(call.name), call.span)),
            None if is_aggregate => return self.aggregate(call, context),
            _ => {}
        }
        if call.variadic {
            return self.variadic_call(call, context);
        }
        self.refuse_aggregate_syntax(call, false)?;
        if let Some(special) = special(call.name) {
            return self.made_of_call(special, call, context);
        }
        if !system::entries(call.name).is_empty() && self.overloads(call.name).is_empty() {
            return self.system_call(call, context);
        }
        let args = self.arguments(call.named(), call.arguments(), context)?;
        let attribute = self.attribute_called(call, &args);
        let converted = type_called(call, &args).map(|to| (to, args[0].clone()));
        match self.call(call.name, args, call.span) {
            Err(error) if error.sqlstate() == SqlState::UNDEFINED_FUNCTION => match (attribute, converted) {
                (Some(attribute), _) => attribute,
                (None, Some((to, (arg, span)))) => self.cast_to(arg, to, span, Some(call.span)),
                (None, None) => Err(error),
            },
            called => called,
        }
    }

    /// What is made of a call whose entries say that it is none.
    fn made_of_call(&mut self, special: Special, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        match special {
            Special::NextValue => self.sequence(SequenceOp::Next, call, context),
            Special::CurrentValue => self.sequence(SequenceOp::Current, call, context),
            Special::SetValue => self.sequence(SequenceOp::Set, call, context),
            Special::TypeOf => self.type_name(call, context),
            Special::Populate(populate) => self.populated_row(populate, call, context),
            Special::LastValue | Special::MergeAction | Special::CurrentSchema if !call.args.is_empty() => {
                let args = self.operands(call.arguments(), context)?;
                let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
                Err(self.at(no_function(call.name, &types), call.span))
            }
            Special::LastValue => Ok(Expr::Sequence { op: SequenceOp::Last, name: Box::new(text("")), value: None }),
            Special::MergeAction => self.merge_action(call.span),
            Special::CurrentSchema => Ok(self.current_schema()),
        }
    }

    /// `id(p)`, where no function takes the row `p`: its attribute of this name. SQLSTATE 0A000 in a definition, which outlives
    /// the name.
    fn attribute_called(&self, call: &Call, args: &[Operand]) -> Option<Result<Expr>> {
        let [(row, _)] = args else { return None };
        let DataType::Composite(of) = row.data_type() else { return None };
        let at = of.place_of(call.name).filter(|_| call.is_plain())?;
        if self.noted.is_some() && !of.is_record() {
            let error = Error::unsupported(format!("the attribute \"{0}\" as {0}() in a definition", call.name));
            return Some(Err(self.at(error.with_hint("Write it behind a point."), call.span)));
        }
        Some(Ok(attribute_at(row.clone(), of, at)))
    }

    /// `json_populate_record(base, document)` as a value.
    fn populated_row(&mut self, populate: Populate, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        if populate.set || !populate.has_base {
            let error = Error::unsupported(format!("{}() outside of FROM", call.name));
            return Err(self.at(error.with_hint("Call it in FROM."), call.span));
        }
        let args = self.populate_arguments(call, populate, context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = |binder: &Self| binder.at(no_function(call.name, &types), call.span);
        let Ok([(base, _), (document, span)]) = <[Operand; 2]>::try_from(args) else { return Err(none(self)) };
        let DataType::Composite(of) = base.data_type() else {
            let message = format!("first argument of {} must be a row type", call.name);
            return Err(self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), call.span));
        };
        let document = self.coerce(document, populate.document, CastContext::Implicit, span)?;
        let document = document.ok_or_else(|| none(self))?;
        Ok(Expr::Call { function: populated(of, populate.document), args: vec![base, document] })
    }

    /// The arguments of such a call. Those of `json` have a third in PostgreSQL, which says nothing any more.
    pub(in crate::bind) fn populate_arguments(
        &mut self,
        call: &Call<'a>,
        populate: Populate,
        context: &mut Context,
    ) -> Result<Vec<Operand>> {
        let mut args = self.arguments(call.named(), call.arguments(), context)?;
        let takes_third = populate.has_base && populate.document == DataType::Json;
        if let ([_, _, (third, _)], true) = (&args[..], takes_third)
            && matches!(third.data_type(), DataType::Boolean | DataType::Unknown)
        {
            args.truncate(2);
        }
        Ok(args)
    }

    pub(in crate::bind) fn take_apart(
        &self,
        names: List<ast::Name>,
        form: CallForm,
        args: List<ast::Expr>,
        tail: Option<Id<ast::CallTail>>,
    ) -> Result<Call<'a>> {
        let tree = self.tree;
        let Named { schema, built_in, name, span } = self.called(names, list_span(tree, names).unwrap_or(NOWHERE))?;
        let variadic = form == CallForm::Variadic;
        let (star, distinct) = (form == CallForm::Star, form == CallForm::Distinct);
        let (order_by, filter, over) = (List::EMPTY, None, None);
        let within_group = List::EMPTY;
        let mut call = Call {
            schema,
            built_in,
            name,
            span,
            args,
            bound: Cell::default(),
            stored: Cell::default(),
            variadic,
            star,
            distinct,
            order_by,
            filter,
            within_group,
            over,
        };
        if let Some(tail) = tail.map(|tail| tree.get(tail)) {
            (call.order_by, call.filter, call.over) = (tail.order_by, tail.filter, tail.over);
            call.within_group = tail.within_group;
        }
        Ok(call)
    }

    /// `f(a, VARIADIC b)` of a built-in function.
    fn variadic_call(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        self.refuse_aggregate_syntax(call, false)?;
        let mut args = self.operands(call.arguments(), context)?;
        let given: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let (Some((array, span)), Some(last)) = (args.pop(), given.last()) else {
            return Err(self.at(no_function(call.name, &given), call.span));
        };
        let element = last.element().unwrap_or(*last);
        let types = [&given[..args.len()], &[element]].concat();
        // Those two are expressions of their own in PostgreSQL.
        let is_one = |function: &Arc<Function>| function.variadic && !function.syntax;
        let all: Vec<Arc<Function>> = self.overloads(call.name).iter().filter(|one| is_one(one)).cloned().collect();
        let Choice::One(function) = choose(&all, &types, false) else {
            return Err(self.at(no_function(call.name, &given), call.span));
        };
        let wanted = match function.args.last() {
            Some(&ANY) if last.element().is_none() => {
                let message = "VARIADIC argument must be an array";
                return Err(self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span));
            }
            Some(&ANY) | None => *last,
            Some(repeated) => repeated.array().ok_or_else(|| Error::internal("no array of a built-in type"))?,
        };
        args.push((array, span));
        self.convert_arguments(Arc::new(Function::spread(function, wanted)), args)
    }

    /// DISTINCT, FILTER, ORDER BY and `*` are for aggregates.
    fn refuse_aggregate_syntax(&self, call: &Call, is_stored: bool) -> Result<()> {
        let what = match call {
            Call { distinct: true, .. } => "DISTINCT",
            Call { filter: Some(_), .. } => "FILTER",
            Call { order_by, .. } if !order_by.is_empty() => "ORDER BY",
            Call { star: true, .. } => return Err(self.at(no_function(call.name, &[]), call.span)),
            Call { over: Some(_), .. } => "OVER",
            _ => return Ok(()),
        };
        match self.overloads(call.name).is_empty() && system::entries(call.name).is_empty() && !is_stored {
            // Its call tells that there is no such function, with its arguments' types.
            true if what == "OVER" => return Ok(()),
            true => {
                let bound = call.bound.take().map_or(vec![], |bound| bound.given);
                let types: Vec<DataType> = bound.iter().map(|given| given.value.data_type()).collect();
                return Err(self.at(no_function(call.name, &types), call.span));
            }
            false => {}
        }
        let wanted =
            if what == "OVER" { "a window function nor an aggregate function" } else { "an aggregate function" };
        let message = format!("{what} specified, but {} is not {wanted}", call.name);
        Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), call.span))
    }

    fn aggregate(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        let was_in_aggregate = std::mem::replace(&mut context.in_aggregate, true);
        let bound = self.aggregate_call(call, context);
        context.in_aggregate = was_in_aggregate;
        self.added(bound?, call.span, context)
    }

    /// The call as a column of the query to which it belongs.
    pub(in crate::bind) fn added(&mut self, mut bound: AggregateCall, span: Span, context: &Context) -> Result<Expr> {
        let data_type = bound.aggregate.returns;
        let level = raise(bound.exprs_mut()).map_err(|error| self.at(error, span))?;
        self.owned(level, data_type, context, span, |context| context.add_aggregate(bound))
    }

    /// An aggregate, or a GROUPING, as a column of the query so many levels outwards to which it belongs.
    fn owned(
        &self,
        level: usize,
        data_type: DataType,
        context: &Context,
        span: Span,
        add: impl FnOnce(&Context) -> Result<usize>,
    ) -> Result<Expr> {
        if level == 0 {
            let index = add(context).map_err(|error| self.at(error, span))?;
            return Ok(Expr::Column { index, data_type });
        }
        let owner = context.env.and_then(|env| env.out(level)).and_then(|env| env.within);
        let added = owner.map_or_else(
            || {
                let message = "aggregate functions are not allowed in FROM clause of their own query level";
                Err(Error::new(SqlState::GROUPING_ERROR, message))
            },
            add,
        );
        let index = added.map_err(|error| self.at(error, span))?;
        Ok(Expr::Outer { level, index, data_type })
    }

    fn aggregate_call(&mut self, call: &Call<'a>, context: &mut Context) -> Result<AggregateCall> {
        let args = self.operands_within(call, Within::Aggregate, context)?;
        let stored = call.stored.take();
        if args.is_empty() && !call.star && (stored.is_some() || self.counts_rows(call.name)) {
            let message = format!("{}(*) must be used to call a parameterless aggregate function", call.name);
            let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(self.at(error, call.span));
        }
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let aggregate = match stored {
            Some(stored) => stored,
            None => self.find_aggregate(call.name, &types, call.span)?,
        };
        if aggregate.direct.is_some() {
            return Err(self.at(without_group(call.name), call.span));
        }
        let args = self.written_zones(&aggregate, args)?;
        let mut converted = Vec::with_capacity(args.len());
        for (i, (arg, span)) in args.into_iter().enumerate() {
            let arg = self.argument(arg, aggregate.args.get(i).copied(), span)?;
            if call.distinct {
                self.check_equality(arg.data_type(), span)?;
            }
            converted.push(arg);
        }
        let filter = match call.filter {
            Some(filter) => Some(self.filter_clause(filter, context)?),
            None => None,
        };
        let mut order_by = self.sort_keys(call.order_by, context)?;
        let unlisted = |key: &SortKey| !converted.iter().any(|arg| same_expr(arg, &key.expr));
        if call.distinct && order_by.iter().any(unlisted) {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            let tree = self.tree;
            let span = tree.nth(call.order_by, 0).map_or(call.span, |key| tree.span(tree.get(key).expr));
            return Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), span));
        }
        // PostgreSQL finds what is equal by sorting, and people count on it.
        if call.distinct && aggregate.kind == AggregateKind::Other {
            let unsorted = converted.iter().filter(|arg| !order_by.iter().any(|key| same_expr(arg, &key.expr)));
            let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
            let rest: Vec<SortKey> = unsorted.map(key).collect();
            order_by.extend(rest);
        }
        Ok(AggregateCall { aggregate, args: converted, distinct: call.distinct, filter, order_by })
    }

    /// Whether this aggregate without arguments is called with `*`.
    fn counts_rows(&self, name: &str) -> bool {
        self.aggregate_overloads(name).iter().any(|aggregate| aggregate.kind == AggregateKind::CountRows)
    }

    /// Aggregates that write their arguments as JSON know nothing of the session's time zone and of the catalog: what needs them is written
    /// first.
    pub(in crate::bind) fn written_zones(&self, aggregate: &Aggregate, args: Vec<Operand>) -> Result<Vec<Operand>> {
        if !matches!(aggregate.returns, DataType::Json | DataType::Jsonb) {
            return Ok(args);
        }
        let mut written = Vec::with_capacity(args.len());
        for (at, (arg, span)) in args.into_iter().enumerate() {
            let is_key = at == 0 && aggregate.args.len() == 2;
            if is_key && arg.data_type().is_reg() {
                written.push((Expr::Cast { input: Box::new(arg), to: DataType::Text }, span));
                continue;
            }
            written.push(match zones_written(arg.data_type()).filter(|_| !is_key) {
                Some(function) => (Expr::Call { function, args: vec![arg] }, span),
                None => (arg, span),
            });
        }
        Ok(written)
    }

    /// FILTER's condition.
    pub(in crate::bind) fn filter_clause(&mut self, filter: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let clause = std::mem::replace(&mut context.clause, Clause::Filter);
        let bound = self.operand(filter, context);
        context.clause = clause;
        let (bound, span) = bound?;
        self.condition(bound, "FILTER", span)
    }

    /// A function that returns rows in the select list. Its column stands behind those of the query's row.
    fn rows_in_select(
        &mut self,
        (call, function, args): (&Call<'a>, Arc<Function>, Vec<Expr>),
        context: &mut Context,
    ) -> Result<Expr> {
        self.refuse_set_call(call.span, context)?;
        let fields = set_fields(&function, call.name, None);
        let row = match fields.len() {
            1 => None,
            _ => Some(CompositeType::record(fields.iter().map(|field| (field.name.clone(), field.data_type)))?),
        };
        Ok(Self::one_set_call(SetCall { call: Expr::Call { function, args }, fields, row }, context))
    }

    fn refuse_set_call(&self, span: Span, context: &Context) -> Result<()> {
        let listed = matches!(context.clause, Clause::Select | Clause::OrderBy | Clause::OnlyRow);
        if !listed || context.in_aggregate || context.in_window || context.conditional.is_some() {
            let place = match context.conditional.filter(|_| listed) {
                _ if context.in_aggregate => {
                    "aggregate function calls cannot contain set-returning function calls".to_owned()
                }
                _ if context.in_window => {
                    "window function calls cannot contain set-returning function calls".to_owned()
                }
                Some(form) => format!("set-returning functions are not allowed in {form}"),
                None => format!("set-returning functions are not allowed in {}", context.clause.name()),
            };
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, place);
            let hint = "You might be able to move the set-returning function into a LATERAL FROM item.";
            return Err(self.at(error.with_hint(hint), span));
        }
        Ok(())
    }

    /// As `rows_in_select`, of a function of the schema's.
    fn stored_rows_in_select(
        &mut self,
        call: &Call,
        function: Arc<Function>,
        args: Vec<Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        self.refuse_set_call(call.span, context)?;
        let row = match function.routine() {
            Some(routine) => returned_row(routine, self.catalog).map_err(|error| self.at(error, call.span))?,
            None => None,
        };
        let any = function.routine().is_some_and(|routine| routine.returns == Returns::Record);
        if let (true, Some(of)) = (any, row) {
            // Each is a value that says what it is.
            function.routine().into_iter().for_each(|routine| self.parameters.note_call(routine));
            let fields = vec![Field { name: call.name.to_owned(), data_type: DataType::Composite(of) }];
            let call = Expr::Call { function, args };
            return Ok(Self::one_set_call(SetCall { call, fields, row: None }, context));
        }
        let (call, fields) = self.stored_rows(function, args, None)?;
        Ok(Self::one_set_call(SetCall { call, fields, row }, context))
    }

    /// The column that the call stands in as; equal calls are one.
    fn one_set_call(call: SetCall, context: &mut Context) -> Expr {
        let fixed = !is_volatile(&call.call);
        let same = |other: &SetCall| fixed && same_expr(&other.call, &call.call);
        let known = context.series.iter().position(same);
        let data_type = call.data_type();
        let at = known.unwrap_or_else(|| {
            context.series.push(call);
            context.series.len() - 1
        });
        Expr::Column { index: StandIn::Rows(at).column(), data_type }
    }

    /// `GROUPING(a, b)`: which of the groups the row's grouping set lacks.
    pub(in crate::bind) fn grouping(
        &mut self,
        args: List<ast::Expr>,
        span: Span,
        context: &mut Context,
    ) -> Result<Expr> {
        if self.tree.len(args) >= 32 {
            let error = Error::new(SqlState::TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments");
            return Err(self.at(error, span));
        }
        let mut args = self.operands_of(args, context)?;
        let level = raise(args.iter_mut().map(|(arg, _)| arg)).map_err(|error| self.at(error, span))?;
        self.owned(level, DataType::Integer, context, span, |context| context.add_grouping(args))
    }

    /// `pg_typeof(x)` is known at once.
    fn type_name(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Expr> {
        match self.operands(call.arguments(), context)?.as_slice() {
            [(arg, _)] => Ok(self.type_of(arg)),
            _ => Err(self.at(no_function(call.name, &[]), call.span)),
        }
    }

    /// The first schema of the path that there is: a plan rests on the path.
    pub(in crate::bind) fn current_schema(&self) -> Expr {
        let schema = self.catalog.current_schema().and_then(|schema| self.catalog.schema_name(schema));
        let value = schema.map_or(Value::Null, Value::text);
        Expr::Literal { value, data_type: DataType::Name }
    }

    /// Sort keys that are plain expressions (no output names): inside aggregates and windows.
    pub(in crate::bind) fn sort_keys(
        &mut self,
        keys: List<ast::SortKey>,
        context: &mut Context,
    ) -> Result<Vec<crate::plan::SortKey>> {
        let tree = self.tree;
        let mut bound = Vec::with_capacity(tree.len(keys));
        for key in tree.list(keys) {
            let expr = self.expr(tree.get(key).expr, context)?;
            let expr = self.known(expr)?;
            bound.push(self.sort_key(expr, key)?);
        }
        Ok(bound)
    }
}

/// The hypothetical-set aggregate of this name: a window function that may be called WITHIN GROUP.
pub(in crate::bind) fn hypothetical(name: &str) -> Option<Hypothetical> {
    window_overloads(name).first().and_then(|function| Hypothetical::of_window(function.kind))
}

/// What binding makes of calls of this name, if its entries say so.
pub(in crate::bind) fn special(name: &str) -> Option<Special> {
    overloads(name).first().and_then(|function| function.special())
}

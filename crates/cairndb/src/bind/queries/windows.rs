//! Window functions: their calls while a SELECT is bound, and then the windows that they are over.
//!
//! A call is bound where it is met, and stands in as a column ([`StandIn`]). What its window is, is told when
//! all clauses are bound, for WINDOW comes behind them: first the definitions of WINDOW, then those of OVER, in the order
//! in which they were met, as PostgreSQL does. A window's expressions are over the same row as the call's arguments: FROM's,
//! or the groups'.

use cairn_parser::{self as ast, Id, List, Name, Over, Span, WindowDefinition, WindowSpec};

use crate::bind::binder::Binder;
use crate::bind::calls::functions::Call;
use crate::bind::calls::named_arguments::Within;
use crate::bind::calls::ordered_sets::without_group;
use crate::bind::calls::overload::{Choice, ambiguous_function, choose, no_function, undecided};
use crate::bind::context::{Clause, Context};
use crate::functions::{WindowFunction, in_range_offsets, window_overloads};
use crate::plan::{
    Expr, Field, FrameBound, FrameExclusion, FrameUnit, LogicalPlan, SortKey, StandIn, WindowCall, WindowFrame,
    Windowed, is_volatile, same_expr, walk,
};
use crate::sql::name_text;
use crate::types::{CastContext, DataType, can_cast};
use crate::{Error, Result, SqlState};

/// The windows and the calls of a SELECT, as far as they were met.
#[derive(Default)]
pub(in crate::bind) struct Windows {
    definitions: Vec<Definition>,
    calls: Vec<MetCall>,
}

/// What WINDOW or OVER says.
struct Definition {
    name: Option<Id<Name>>,
    spec: Id<WindowSpec>,
}

struct MetCall {
    function: Windowed,
    args: Vec<Expr>,
    filter: Option<Expr>,
    /// Which definition.
    window: usize,
}

/// A window that is bound.
#[derive(Clone)]
struct Window {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
    frame: WindowFrame,
    /// It says a frame.
    framed: bool,
}

impl Window {
    /// What is partitioned and ordered by.
    fn keys_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.partition_by.iter_mut().chain(self.order_by.iter_mut().map(|key| &mut key.expr))
    }
}

/// The calls of a SELECT, each with its window.
pub(super) struct BoundWindows {
    windows: Vec<Window>,
    calls: Vec<MetCall>,
}

impl Windows {
    /// With the definitions of WINDOW.
    pub(in crate::bind) fn new(tree: &ast::Tree<'_>, list: List<WindowDefinition>) -> Windows {
        let definition = |id| {
            let WindowDefinition { name, spec } = tree.get(id);
            Definition { name: Some(name), spec }
        };
        Windows { definitions: tree.list(list).map(definition).collect(), calls: vec![] }
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The column that a call stands in as; equal calls are one.
    fn add(&mut self, call: MetCall) -> usize {
        let known = self.calls.iter().position(|other| same_call(other, &call));
        known.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        })
    }
}

fn same_call(left: &MetCall, right: &MetCall) -> bool {
    let same_function = match (&left.function, &right.function) {
        (Windowed::Function(a), Windowed::Function(b)) => a.kind == b.kind && a.args == b.args,
        (Windowed::Aggregate(a), Windowed::Aggregate(b)) => a.is_same(b),
        _ => false,
    };
    let exprs = |call: &MetCall| call.args.iter().chain(&call.filter).cloned().collect::<Vec<_>>();
    let (lefts, rights) = (exprs(left), exprs(right));
    same_function
        && left.window == right.window
        && (left.args.len(), lefts.len()) == (right.args.len(), rights.len())
        && !lefts.iter().any(is_volatile)
        && lefts.iter().zip(&rights).all(|(a, b)| same_expr(a, b))
}

fn windowing_error(message: String) -> Error {
    Error::new(SqlState::WINDOWING_ERROR, message)
}

impl<'a> Binder<'a> {
    /// `f(...) OVER ...`
    pub(in crate::bind) fn window_call(
        &mut self,
        call: &Call<'a>,
        over: Id<Over>,
        context: &mut Context,
    ) -> Result<Expr> {
        if let Some(error) = context.refuse_window() {
            return Err(self.at(error, call.span));
        }
        context.in_window = true;
        let bound = self.windowed(call, context);
        context.in_window = false;
        let (function, args, filter) = bound?;
        let window = self.window_of(over, context)?;
        let data_type = function.returns();
        let met = MetCall { function, args, filter, window };
        let index = StandIn::Window(context.windows.get_or_insert_default().add(met)).column();
        Ok(Expr::Column { index, data_type })
    }

    /// The function, its arguments and its filter.
    fn windowed(&mut self, call: &Call<'a>, context: &mut Context) -> Result<(Windowed, Vec<Expr>, Option<Expr>)> {
        let args = self.operands_within(call, Within::Window, context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let stored = call.stored.take();
        let is_aggregate = stored.is_some() || window_overloads(call.name).is_empty();
        let function = match stored {
            Some(stored) => Windowed::Aggregate(stored),
            None if is_aggregate => Windowed::Aggregate(self.find_aggregate(call.name, &types, call.span)?),
            None => Windowed::Function(self.find_window_function(call, &types)?),
        };
        self.refuse_in_window(call, is_aggregate)?;
        if matches!(&function, Windowed::Aggregate(aggregate) if aggregate.direct.is_some()) {
            return Err(self.at(without_group(call.name), call.span));
        }
        let args = match &function {
            Windowed::Aggregate(aggregate) => self.written_zones(aggregate, args)?,
            Windowed::Function(_) => args,
        };
        let declared = match &function {
            Windowed::Function(function) => &function.args,
            Windowed::Aggregate(aggregate) => &aggregate.args,
        };
        let mut converted = Vec::with_capacity(args.len());
        for (i, (arg, span)) in args.into_iter().enumerate() {
            converted.push(self.argument(arg, declared.get(i).copied(), span)?);
        }
        let filter = call.filter.map(|filter| self.filter_clause(filter, context)).transpose()?;
        Ok((function, converted, filter))
    }

    fn find_window_function(&self, call: &Call, types: &[DataType]) -> Result<std::sync::Arc<WindowFunction>> {
        match choose(window_overloads(call.name), types, false) {
            Choice::One(function) => function.resolve(types).ok_or_else(|| self.at(undecided(), call.span)),
            Choice::None => Err(self.at(no_function(call.name, types), call.span)),
            Choice::Several => Err(self.at(ambiguous_function(call.name, types), call.span)),
        }
    }

    /// What a call may have, but not over a window.
    fn refuse_in_window(&self, call: &Call, is_aggregate: bool) -> Result<()> {
        let refused = match call {
            Call { distinct: true, .. } => "DISTINCT is not implemented for window functions",
            Call { star: false, args, .. } if is_aggregate && args.is_empty() => {
                let message = format!("{}(*) must be used to call a parameterless aggregate function", call.name);
                return Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), call.span));
            }
            Call { order_by, .. } if !order_by.is_empty() => {
                "aggregate ORDER BY is not implemented for window functions"
            }
            Call { filter: Some(_), .. } if !is_aggregate => {
                "FILTER is not implemented for non-aggregate window functions"
            }
            _ => return Ok(()),
        };
        Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, refused), call.span))
    }

    /// Which definition OVER means; its own is added, unless one says the same.
    fn window_of(&mut self, over: Id<Over>, context: &mut Context) -> Result<usize> {
        let tree = self.tree;
        let windows = context.windows.get_or_insert_default();
        match tree.get(over) {
            Over::Window { name } => {
                let known = windows.definitions.iter().position(|known| self.is_called(known, name));
                known.ok_or_else(|| self.no_window(name, tree.span(name)))
            }
            Over::Spec { spec } => {
                let written = tree.reference(spec);
                let same =
                    |known: &Definition| known.name.is_none() && tree.same(tree.reference(known.spec), tree, written);
                Ok(windows.definitions.iter().position(same).unwrap_or_else(|| {
                    windows.definitions.push(Definition { name: None, spec });
                    windows.definitions.len() - 1
                }))
            }
        }
    }

    fn is_called(&self, definition: &Definition, name: Id<Name>) -> bool {
        definition.name.is_some_and(|known| name_text(self.tree, known) == name_text(self.tree, name))
    }

    fn no_window(&self, name: Id<Name>, place: Span) -> Error {
        let message = format!("window \"{}\" does not exist", name_text(self.tree, name));
        self.at(Error::new(SqlState::UNDEFINED_OBJECT, message), place)
    }

    /// The windows that were met, bound; all other clauses are.
    pub(super) fn bind_windows(&mut self, context: &mut Context) -> Result<BoundWindows> {
        let Windows { definitions, calls } = context.windows.take().unwrap_or_default();
        let mut windows: Vec<Window> = Vec::with_capacity(definitions.len());
        for (at, definition) in definitions.iter().enumerate() {
            let earlier = &definitions[..at];
            if let Some(name) = definition.name
                && earlier.iter().any(|known| self.is_called(known, name))
            {
                let message = format!("window \"{}\" is already defined", name_text(self.tree, name));
                return Err(self.at(windowing_error(message), self.tree.span(definition.spec)));
            }
            let base = match self.tree.get(definition.spec).base {
                Some(base) => {
                    let known = earlier.iter().position(|known| self.is_called(known, base));
                    let known = known.ok_or_else(|| self.no_window(base, self.tree.span(definition.spec)))?;
                    Some((windows[known].clone(), name_text(self.tree, base)))
                }
                None => None,
            };
            windows.push(self.bind_window(definition, base, context)?);
        }
        Ok(BoundWindows { windows, calls })
    }

    fn bind_window(
        &mut self,
        definition: &Definition,
        base: Option<(Window, &str)>,
        context: &mut Context,
    ) -> Result<Window> {
        let tree = self.tree;
        let WindowSpec { partition_by, order_by, frame, .. } = tree.get(definition.spec);
        let place = tree.span(definition.spec);
        context.clause = Clause::WindowOrder;
        let order = self.sort_keys(order_by, context)?;
        context.clause = Clause::WindowPartition;
        let mut partition = Vec::with_capacity(tree.len(partition_by));
        for expr in tree.list(partition_by) {
            let bound = self.expr(expr, context)?;
            let bound = self.known(bound)?;
            self.check_equality(bound.data_type(), tree.span(expr))?;
            partition.push(bound);
        }
        let mut window =
            Window { partition_by: partition, order_by: order, frame: WindowFrame::default(), framed: frame.is_some() };
        if let Some((base, name)) = base {
            self.extend_window(&mut window, base, name, definition.name.is_some(), place)?;
        }
        if let Some(frame) = frame {
            window.frame = self.frame(frame, &window.order_by, place, context)?;
        }
        Ok(window)
    }

    /// Completes a window by the one that it names.
    fn extend_window(&self, window: &mut Window, base: Window, name: &str, named: bool, place: Span) -> Result<()> {
        let refuse = |message: String| Err(self.at(windowing_error(message), place));
        if !window.partition_by.is_empty() {
            return refuse(format!("cannot override PARTITION BY clause of window \"{name}\""));
        }
        if !window.order_by.is_empty() && !base.order_by.is_empty() {
            return refuse(format!("cannot override ORDER BY clause of window \"{name}\""));
        }
        if base.framed {
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            if named || !window.order_by.is_empty() || window.framed {
                return refuse(message);
            }
            let error = windowing_error(message).with_hint("Omit the parentheses in this OVER clause.");
            return Err(self.at(error, place));
        }
        window.partition_by = base.partition_by;
        if window.order_by.is_empty() {
            window.order_by = base.order_by;
        }
        Ok(())
    }

    fn frame(
        &mut self,
        frame: Id<ast::Frame>,
        order: &[SortKey],
        place: Span,
        context: &Context,
    ) -> Result<WindowFrame> {
        let ast::Frame { unit, start, end, exclusion } = self.tree.get(frame);
        let unit = match unit {
            ast::FrameUnit::Range => FrameUnit::Range,
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Groups => FrameUnit::Groups,
        };
        let exclusion = match exclusion {
            None | Some(ast::Exclusion::NoOthers) => FrameExclusion::NoOthers,
            Some(ast::Exclusion::CurrentRow) => FrameExclusion::CurrentRow,
            Some(ast::Exclusion::Group) => FrameExclusion::Group,
            Some(ast::Exclusion::Ties) => FrameExclusion::Ties,
        };
        let has_offset = |bound: Id<ast::FrameBound>| {
            matches!(self.tree.get(bound), ast::FrameBound::Preceding { .. } | ast::FrameBound::Following { .. })
        };
        let offsets = has_offset(start) || end.is_some_and(has_offset);
        if unit == FrameUnit::Range && offsets && order.len() != 1 {
            let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(self.at(windowing_error(message.to_owned()), place));
        }
        if unit == FrameUnit::Groups && order.is_empty() {
            let message = "GROUPS mode requires an ORDER BY clause";
            return Err(self.at(windowing_error(message.to_owned()), place));
        }
        let start = self.frame_bound(start, unit, order, context)?;
        let end = end.map_or(Ok(FrameBound::CurrentRow), |end| self.frame_bound(end, unit, order, context))?;
        Ok(WindowFrame { unit, start, end, exclusion })
    }

    fn frame_bound(
        &mut self,
        bound: Id<ast::FrameBound>,
        unit: FrameUnit,
        order: &[SortKey],
        context: &Context,
    ) -> Result<FrameBound> {
        Ok(match self.tree.get(bound) {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Preceding { offset } => {
                FrameBound::Preceding(self.frame_offset(offset, unit, order, context)?)
            }
            ast::FrameBound::Following { offset } => {
                FrameBound::Following(self.frame_offset(offset, unit, order, context)?)
            }
        })
    }

    fn frame_offset(
        &mut self,
        offset: Id<ast::Expr>,
        unit: FrameUnit,
        order: &[SortKey],
        around: &Context,
    ) -> Result<Expr> {
        let (clause, name) = match unit {
            FrameUnit::Range => (Clause::WindowRange, "RANGE"),
            FrameUnit::Rows => (Clause::WindowRows, "ROWS"),
            FrameUnit::Groups => (Clause::WindowGroups, "GROUPS"),
        };
        let mut context = Context::new(around.env, clause);
        let (bound, span) = self.operand(offset, &mut context)?;
        let wanted = match (unit, order) {
            (FrameUnit::Range, [key]) => self.range_offset_type(key.expr.data_type(), bound.data_type(), span)?,
            _ => DataType::BigInt,
        };
        let from = bound.data_type();
        let converted = match can_cast(from, wanted, CastContext::Assignment) || from == DataType::Unknown {
            true if unit == FrameUnit::Range || from.is_numeric() || from == DataType::Unknown => {
                self.coerce(bound, wanted, CastContext::Assignment, span)?
            }
            _ => None,
        };
        let converted = converted.ok_or_else(|| {
            let message =
                format!("argument of {name} must be type {}, not type {}", wanted.type_name(), from.type_name());
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span)
        })?;
        if uses_row(&converted) {
            let message = format!("argument of {name} must not contain variables");
            let place = context.mentions.first().map_or(span, |(_, place)| *place);
            return Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), place));
        }
        Ok(converted)
    }

    /// The type that the offset has for a RANGE over values of `column`.
    fn range_offset_type(&self, column: DataType, given: DataType, span: Span) -> Result<DataType> {
        let column = if column.is_string() { DataType::Text } else { column.base() };
        let refuse = |of: String, hint: Option<&str>| {
            let message = format!("RANGE with offset PRECEDING/FOLLOWING {of}");
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            Err(self.at(hint.map_or(error.clone(), |hint| error.with_hint(hint)), span))
        };
        let known = in_range_offsets(column);
        let pair = || format!("for column type {} and offset type {}", column.type_name(), given.type_name());
        if known.is_empty() {
            return refuse(format!("is not supported for column type {}", column.type_name()), None);
        }
        let preferred = if given == DataType::Unknown { column } else { given.base() };
        let fits = |to: &&DataType| given == DataType::Unknown || can_cast(given, **to, CastContext::Implicit);
        let possible: Vec<DataType> = known.iter().filter(fits).copied().collect();
        match possible.as_slice() {
            [] => {
                let hint = "Cast the offset value to an appropriate type.";
                refuse(format!("is not supported {}", pair()), Some(hint))
            }
            [only] => Ok(*only),
            several if several.contains(&preferred) => Ok(preferred),
            _ => {
                let hint = "Cast the offset value to the exact intended type.";
                refuse(format!("has multiple interpretations {}", pair()), Some(hint))
            }
        }
    }
}

/// Whether a column of the query's own row is in it.
fn uses_row(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, depth| {
        found |= match expr {
            Expr::Column { .. } => depth == 0,
            Expr::Outer { level, .. } => depth > 0 && *level == depth,
            _ => false,
        };
    });
    found
}

impl BoundWindows {
    /// The expressions over the row that the windows are over.
    pub(in crate::bind) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let windows = self.windows.iter_mut().flat_map(Window::keys_mut);
        windows.chain(self.calls.iter_mut().flat_map(|call| call.args.iter_mut().chain(&mut call.filter)))
    }

    /// The plan with the calls' answers behind its columns; in `exprs` these take the place of the calls.
    pub(in crate::bind) fn apply<'x>(
        mut self,
        plan: LogicalPlan,
        exprs: impl Iterator<Item = &'x mut Expr>,
    ) -> LogicalPlan {
        if self.calls.is_empty() {
            return plan;
        }
        let plan = self.with_keys(plan);
        let width = plan.fields().len();
        let nodes = self.stacked();
        let mut places = vec![0; self.calls.len()];
        nodes.iter().flat_map(|node| &node.calls).enumerate().for_each(|(at, call)| places[*call] = width + at);
        let plan = nodes.into_iter().fold(plan, |plan, node| self.node(plan, node));
        for expr in exprs {
            walk::rewrite(expr, 0, &mut |expr, depth| match expr {
                Expr::Column { index, data_type } if depth == 0 => match StandIn::of(*index)? {
                    StandIn::Window(call) => Some(Expr::Column { index: places[call], data_type: *data_type }),
                    _ => None,
                },
                _ => None,
            });
        }
        plan
    }

    /// The plan with what is partitioned and ordered by as columns: computed once, for sorting and for comparing.
    fn with_keys(&mut self, plan: LogicalPlan) -> LogicalPlan {
        let mut fields = plan.fields();
        let (width, mut computed) = (fields.len(), Vec::<Expr>::new());
        let keys = self.windows.iter_mut().flat_map(Window::keys_mut);
        for key in keys.filter(|key| !matches!(key, Expr::Column { .. })) {
            let data_type = key.data_type();
            let known = computed.iter().position(|other| !is_volatile(other) && same_expr(other, key));
            let at = known.unwrap_or(computed.len());
            let expr = std::mem::replace(key, Expr::Column { index: width + at, data_type });
            if at == computed.len() {
                fields.push(Field { name: "?column?".to_owned(), data_type });
                computed.push(expr);
            }
        }
        if computed.is_empty() {
            return plan;
        }
        let columns = fields.iter().take(width).enumerate();
        let columns = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type });
        let exprs = columns.chain(computed).collect();
        LogicalPlan::Project { input: Box::new(plan), exprs, fields }
    }

    /// The calls by what their rows have to be sorted by, lowest node first: where one order begins another, it follows
    /// that, and finds its rows sorted.
    fn stacked(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = vec![];
        for (at, call) in self.calls.iter().enumerate() {
            let window = &self.windows[call.window];
            match nodes.iter_mut().find(|node| same_sort(&self.windows[node.window], window)) {
                Some(node) => node.calls.push(at),
                None => nodes.push(Node { window: call.window, calls: vec![at] }),
            }
        }
        let length = |node: &Node| {
            let window = &self.windows[node.window];
            window.partition_by.len() + window.order_by.len()
        };
        nodes.sort_by_key(|node| std::cmp::Reverse(length(node)));
        let mut stacked: Vec<Node> = vec![];
        while !nodes.is_empty() {
            let first = nodes.remove(0);
            let longest = &self.windows[first.window];
            let (follow, rest) = nodes.into_iter().partition(|node| begins(&self.windows[node.window], longest));
            stacked.push(first);
            stacked.extend::<Vec<Node>>(follow);
            nodes = rest;
        }
        stacked
    }

    fn node(&self, input: LogicalPlan, node: Node) -> LogicalPlan {
        let window = &self.windows[node.window];
        let mut fields = input.fields();
        let mut calls = Vec::with_capacity(node.calls.len());
        for call in node.calls {
            let MetCall { function, args, filter, window } = &self.calls[call];
            fields.push(Field { name: function.name().to_owned(), data_type: function.returns() });
            let frame = self.windows[*window].frame.clone();
            calls.push(WindowCall { function: function.clone(), args: args.clone(), filter: filter.clone(), frame });
        }
        let (partition_by, order_by) = (window.partition_by.clone(), window.order_by.clone());
        LogicalPlan::Window { input: Box::new(input), partition_by, order_by, calls, fields }
    }
}

/// Calls over windows of the same partitions and order.
struct Node {
    /// One of the windows.
    window: usize,
    calls: Vec<usize>,
}

fn same_key(left: &SortKey, right: &SortKey) -> bool {
    (left.descending, left.nulls_first) == (right.descending, right.nulls_first) && same_expr(&left.expr, &right.expr)
}

/// Whether the expressions are the same, in whatever order.
fn same_set(left: &[Expr], right: &[Expr]) -> bool {
    let within = |some: &[Expr], others: &[Expr]| some.iter().all(|a| others.iter().any(|b| same_expr(a, b)));
    within(left, right) && within(right, left)
}

fn same_sort(left: &Window, right: &Window) -> bool {
    same_set(&left.partition_by, &right.partition_by)
        && left.order_by.len() == right.order_by.len()
        && left.order_by.iter().zip(&right.order_by).all(|(a, b)| same_key(a, b))
}

/// Whether rows sorted for `longer` are sorted for `window` too.
fn begins(window: &Window, longer: &Window) -> bool {
    let ascending = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
    let keys: Vec<SortKey> = longer.partition_by.iter().map(ascending).chain(longer.order_by.iter().cloned()).collect();
    let (partition, order) = (window.partition_by.len(), window.order_by.len());
    let Some((first, rest)) = keys.split_at_checked(partition) else { return false };
    let first: Vec<Expr> = first.iter().map(|key| key.expr.clone()).collect();
    same_set(&window.partition_by, &first)
        && rest.len() >= order
        && window.order_by.iter().zip(rest).all(|(a, b)| same_key(a, b))
}

/// A call that stands outside OVER though it has to have one.
pub(in crate::bind) fn without_over(name: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("window function {name} requires an OVER clause"))
}
